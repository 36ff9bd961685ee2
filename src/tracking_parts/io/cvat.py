"""CVAT for video 1.1: one track in one XML document.

The closing tags follow the last row at any moment, so the document is always well-formed. Coordinates are continuous
and start at 0, as ours; frames count from 0. Every box is a key frame, because CVAT would otherwise interpolate.
"""

from __future__ import annotations

import re
from xml.sax.saxutils import escape, quoteattr

from tracking_parts.geometry import Box
from tracking_parts.io.result_layout import SequenceInfo
from tracking_parts.result import Result, State

_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def head(info: SequenceInfo) -> str:
    """Everything before the first box."""
    width, height = info.size_wh
    name, label = escape(_clean(info.name)), _clean(info.label)
    size = "" if info.frame_count is None else f"\n      <size>{info.frame_count}</size>"
    return f"""<?xml version="1.0" encoding="utf-8"?>
<annotations>
  <version>1.1</version>
  <meta>
    <task>
      <name>{name}</name>{size}
      <mode>interpolation</mode>
      <original_size><width>{width}</width><height>{height}</height></original_size>
      <labels><label><name>{escape(label)}</name><attributes></attributes></label></labels>
    </task>
  </meta>
  <track id="0" label={quoteattr(label)} source="auto">
"""


def row(index: int, result: Result, first: bool) -> str:
    """One key frame; ``outside`` hides the box while the object is lost."""
    return _box(index, result.box, outside=result.state is State.LOST)


def tail(index: int | None, result: Result | None, info: SequenceInfo) -> str:
    """The closing tags. CVAT lets the last box stand to the end of the video: it is taken away after the last frame."""
    more_frames = index is not None and info.frame_count is not None and index + 1 < info.frame_count
    ending = _box(index + 1, result.box, outside=True) if more_frames and index is not None and result else ""
    return f"{ending}  </track>\n</annotations>\n"


def _box(index: int, box: Box, *, outside: bool) -> str:
    left, top, right, bottom = (f"{value:.4f}" for value in box.xyxy)
    return (
        f'    <box frame="{index}" outside="{int(outside)}" occluded="0" keyframe="1" '
        f'xtl="{left}" ytl="{top}" xbr="{right}" ybr="{bottom}" z_order="0"></box>\n'
    )


def _clean(text: str) -> str:
    return _NOT_IN_XML.sub("?", text)
