"""What happened inside the tracker in one frame, packed for the database and unpacked for the page.

A trace of hundreds of parts takes some kilobytes: maps in 256 steps, points to a hundredth of a cell, the crop as JPEG.
"""

from __future__ import annotations

import base64
import json
import struct
import zlib
from dataclasses import fields
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from tracking_parts.errors import FormatError, one_line
from tracking_parts.geometry import CropWindow
from tracking_parts.io.plain_files import parse_json
from tracking_parts.trace import FloatMap, FrameTrace

VERSION = 1
CROP_QUALITY = 92
FASTEST = 1  # of zlib's levels: the others win little on such data and cost more
MOST_BYTES = 1 << 24  # of an unpacked trace; a project file could claim any size
_PARTS = (  # name, type in the pack, numbers per part
    ("ids", "<i4", 1),
    ("sizes", "<u1", 2),
    ("offsets", "<f2", 2),
    ("roles", "<u1", 1),
    ("votes", "<f2", 2),
    ("strengths", "<f2", 1),
    ("agreed", "<u1", 1),
)
_WINDOW = tuple(field.name for field in fields(CropWindow))
_MAPS = {
    "filter": "filter_votes",
    "convnet": "convnet_votes",
    "colour": "colour_votes",
    "combined": "combined_votes",
}
_OLDER_MAPS = ("filter", "convnet", "combined")  # of what was packed before there were colours


def pack_trace(trace: FrameTrace) -> bytes:
    """A trace in a few kilobytes; loses what no eye would see."""
    window = trace.window
    maps = [_stepped(getattr(trace, name)) for name in _MAPS.values()]
    good, crop = cv2.imencode(".jpg", trace.crop, [cv2.IMWRITE_JPEG_QUALITY, CROP_QUALITY])
    crop_bytes = crop.tobytes() if good else b""
    parts = [np.asarray(getattr(trace.parts, name)).astype(kind).tobytes() for name, kind, _ in _PARTS]
    header = {
        "version": VERSION,
        "window": [getattr(window, name) for name in _WINDOW],
        "cells": list(trace.combined_votes.shape),
        "maps": list(_MAPS),
        "peaks": [peak for _, peak in maps],
        "centres": [_rounded(point) for point in (trace.filter_centre, trace.convnet_centre, trace.centre)],
        "parts": len(trace.parts),
        "crop": len(crop_bytes),
    }
    text = json.dumps(header).encode()
    content = b"".join([struct.pack("<I", len(text)), text, *(steps for steps, _ in maps), *parts])
    return crop_bytes + zlib.compress(content, FASTEST) + struct.pack("<I", len(crop_bytes))


def unpack_trace(packed: bytes) -> dict[str, Any]:
    """Ready for JSON: crop and maps in base 64, parts as lists."""
    try:
        return _unpack(packed)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, struct.error, zlib.error) as error:
        raise FormatError(f"what was kept of this frame is damaged: {one_line(error)}") from error


def _unpack(packed: bytes) -> dict[str, Any]:
    (crop_length,) = struct.unpack("<I", packed[-4:])
    unpacker = zlib.decompressobj()
    content = unpacker.decompress(packed[crop_length:-4], MOST_BYTES)
    (header_length,) = struct.unpack_from("<I", content)
    header = parse_json(content[4 : 4 + header_length])
    place = 4 + header_length
    rows, columns = (int(value) for value in header["cells"])
    maps = []
    for peak in header["peaks"]:
        steps = content[place : place + rows * columns]
        if len(steps) != rows * columns:
            raise ValueError("its maps are cut off")
        maps.append({"peak": peak, "steps": base64.b64encode(steps).decode()})
        place += rows * columns
    parts: dict[str, Any] = {}
    for name, kind, width in _PARTS:
        values = np.frombuffer(content, kind, header["parts"] * width, place)
        place += values.nbytes
        parts[name] = _as_list(values if width == 1 else values.reshape(-1, width))
    return {
        "window": dict(zip(_WINDOW, header["window"], strict=True)),
        "cells": [rows, columns],
        "maps": dict(zip(header.get("maps", _OLDER_MAPS), maps, strict=True)),
        "centres": dict(zip(("filter", "convnet", "combined"), header["centres"], strict=True)),
        "parts": parts,
        "crop": base64.b64encode(packed[:crop_length]).decode(),
    }


def _stepped(votes: FloatMap) -> tuple[bytes, float]:
    """A map in 256 steps between zero and its peak; a map without votes has the peak 0."""
    finite = np.nan_to_num(np.asarray(votes, np.float32), nan=0.0, posinf=0.0, neginf=0.0)
    peak = max(float(finite.max(initial=0.0)), 0.0)
    steps = (
        np.rint(np.clip(finite / peak, 0, 1) * 255).astype(np.uint8) if peak > 0 else np.zeros(votes.shape, np.uint8)
    )
    return steps.tobytes(), peak


def _rounded(point: tuple[float, float]) -> list[float]:
    return [round(float(value), 3) for value in point]


def _as_list(values: NDArray[Any]) -> list[Any]:
    if values.dtype.kind == "f":
        wide = values.astype(np.float64)
        values = np.round(np.where(np.isfinite(wide), wide, -1.0), 2)
    return list(values.tolist())
