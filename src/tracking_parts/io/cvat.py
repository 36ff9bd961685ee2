"""CVAT for video 1.1: tracks in one XML document.

The closing tags follow the last row at any moment, so the document is always well-formed. Coordinates are continuous
and start at 0, as ours; frames count from 0. Every box is a key frame, because CVAT would otherwise interpolate.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

from tracking_parts.geometry import Box
from tracking_parts.io.result_layout import SequenceInfo
from tracking_parts.result import Result, State

_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def head(info: SequenceInfo) -> str:
    """Everything before the first box of the only track."""
    return document_head(info, [info.label]) + track_head(0, info.label)


def document_head(info: SequenceInfo, labels: Iterable[str]) -> str:
    """Everything before the first track."""
    width, height = info.size_wh
    name = escape(_clean(info.name))
    named = "".join(f"<label><name>{escape(_clean(label))}</name><attributes></attributes></label>" for label in labels)
    size = "" if info.frame_count is None else f"\n      <size>{info.frame_count}</size>"
    return f"""<?xml version="1.0" encoding="utf-8"?>
<annotations>
  <version>1.1</version>
  <meta>
    <task>
      <name>{name}</name>{size}
      <mode>interpolation</mode>
      <original_size><width>{width}</width><height>{height}</height></original_size>
      <labels>{named}</labels>
    </task>
  </meta>
"""


def track_head(number: int, label: str) -> str:
    """What opens a track."""
    return f'  <track id="{number}" label={quoteattr(_clean(label))} source="auto">\n'


def row(index: int, result: Result, first: bool) -> str:
    """One key frame; ``outside`` hides the box while the object is lost."""
    return _box(index, result.box, outside=result.state is State.LOST)


def gone(index: int, result: Result) -> str:
    """Take the box away: CVAT lets a box stand until it is told otherwise."""
    return _box(index, result.box, outside=True)


TRACK_TAIL, DOCUMENT_TAIL = "  </track>\n", "</annotations>\n"


def tail(index: int | None, result: Result | None, info: SequenceInfo) -> str:
    """The closing tags. CVAT lets the last box stand to the end of the video: it is taken away after the last frame."""
    more_frames = index is not None and info.frame_count is not None and index + 1 < info.frame_count
    ending = gone(index + 1, result) if more_frames and index is not None and result else ""
    return f"{ending}{TRACK_TAIL}{DOCUMENT_TAIL}"


def _box(index: int, box: Box, *, outside: bool) -> str:
    left, top, right, bottom = (f"{value:.4f}" for value in box.xyxy)
    return (
        f'    <box frame="{index}" outside="{int(outside)}" occluded="0" keyframe="1" '
        f'xtl="{left}" ytl="{top}" xbr="{right}" ybr="{bottom}" z_order="0"></box>\n'
    )


def _clean(text: str) -> str:
    return _NOT_IN_XML.sub("?", text)
