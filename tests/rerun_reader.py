"""Read an ``.rrd`` file back with rerun's own reader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

STATIC = -1  # the frame of what holds for all frames

Rows = dict[str, dict[int, dict[str, Any]]]


def read_rrd(path: Path) -> Rows:
    """Per entity and frame: the components by name, as plain lists."""
    chunks = pytest.importorskip("rerun.chunk")
    rows: Rows = {}
    for chunk in chunks.RrdReader(str(path)).stream().to_chunks():
        batch = chunk.to_record_batch()
        names = [name for name in batch.schema.names if name not in ("rerun.controls.RowId", "log_time", "log_tick")]
        columns = {name: batch.column(name).to_pylist() for name in names}
        for row in range(chunk.num_rows):
            values = {name: column[row] for name, column in columns.items() if column[row] is not None}
            frame = values.pop("frame", STATIC)
            rows.setdefault(chunk.entity_path, {}).setdefault(frame, {}).update(values)
    return rows
