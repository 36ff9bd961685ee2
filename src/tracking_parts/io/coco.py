"""COCO's detection layout with the fields that video tools have added: ``frame_index``, ``track_id``, ``score``.

Boxes are x, y, width, height in continuous pixels from 0, as ours. Images are named by their frame, from 0; their ids,
and those of categories and annotations, count from 1. Frames in which the object is lost have no annotation.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tracking_parts.io.result_layout import SequenceInfo, Track
from tracking_parts.result import Result, State

DIGITS = 4


def document(info: SequenceInfo, tracks: Sequence[Track]) -> str:
    """The whole file. Only frames with a result are listed as images."""
    width, height = info.size_wh
    frames = sorted({index for track in tracks for index, _ in track.rows})
    images = [
        {"id": index + 1, "file_name": f"{index:06d}.jpg", "width": width, "height": height, "frame_index": index}
        for index in frames
    ]
    names = list(dict.fromkeys(track.name for track in tracks))
    categories = [{"id": number, "name": name, "supercategory": ""} for number, name in enumerate(names, start=1)]
    annotations = [
        _annotation(index, result, track_id, names.index(track.name) + 1)
        for track_id, track in enumerate(tracks, start=1)
        for index, result in track.rows
        if result.state is not State.LOST
    ]
    content = {
        "info": {"description": info.name},
        "licenses": [],
        "categories": categories,
        "images": images,
        "annotations": [{"id": number, **each} for number, each in enumerate(annotations, start=1)],
    }
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def _annotation(index: int, result: Result, track_id: int, category_id: int) -> dict[str, Any]:
    corners = [round(float(value), DIGITS) for point in result.polygon for value in point]
    return {
        "image_id": index + 1,
        "category_id": category_id,
        "track_id": track_id,
        "bbox": [round(value, DIGITS) for value in result.box.xywh],
        "area": round(_area(result), DIGITS),
        "segmentation": [corners],
        "iscrowd": 0,
        "score": round(float(result.confidence), DIGITS),
        "attributes": {"state": str(result.state)},
    }


def _area(result: Result) -> float:
    """Of the polygon (shoelace)."""
    points = result.polygon
    following = (*points[1:], points[0])
    return abs(sum(x * v - u * y for (x, y), (u, v) in zip(points, following, strict=True))) / 2
