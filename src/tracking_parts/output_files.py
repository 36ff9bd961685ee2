"""The files of one run: boxes in every format asked for, annotated video, trace, contact sheet and settings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracking_parts.errors import FormatError
from tracking_parts.io.files import remove_leftovers, write_atomically
from tracking_parts.io.results import RESULT_FORMATS, ResultWriter, SequenceInfo, open_result_writer
from tracking_parts.io.trace_files import TraceWriter
from tracking_parts.io.video import VideoWriter
from tracking_parts.tracking import Step
from tracking_parts.versions import versions
from tracking_parts.viewers.annotate import annotate
from tracking_parts.viewers.contact_sheet import ContactSheet

if TYPE_CHECKING:
    from tracking_parts.integrations.rerun import RerunRecording

FALLBACK_FPS = 25.0  # of the annotated video, where the source has no rate of its own (a folder of images)
_NAMES = {
    "jsonl": "boxes.jsonl",
    "otb": "boxes_otb.txt",
    "vot": "boxes_vot.txt",
    "mot": "boxes_mot.txt",
    "cvat": "boxes_cvat.xml",
    "csv": "boxes.csv",
}


@dataclass(frozen=True, slots=True)
class OutputChoice:
    """Where a run's files go, and which are wanted. The boxes as JSON lines are always written."""

    folder: Path
    formats: tuple[str, ...] = ()
    video: bool = True
    trace: bool = False
    contact_sheet: bool = False
    label: str = "object"
    rerun_file: bool = False
    rerun_viewer: bool = False

    @property
    def rerun(self) -> bool:
        return self.rerun_file or self.rerun_viewer

    def __post_init__(self) -> None:
        for name in self.formats:
            if name not in RESULT_FORMATS:
                raise FormatError(f"unknown format {name!r}: there are {', '.join(RESULT_FORMATS)}")

    def prepare(self) -> None:
        """Make the folder, and find out before any work whether it can be written to, and rerun be used."""
        if self.rerun:
            from tracking_parts.integrations.rerun import check_rerun

            check_rerun(viewer=self.rerun_viewer)
        self.folder.mkdir(parents=True, exist_ok=True)
        remove_leftovers(self.folder)
        probe = self.folder / ".write-test"
        probe.touch()
        probe.unlink()


class OutputFiles:
    """A sink that writes every file as it goes; an interrupted run leaves valid files up to its last frame."""

    def __init__(self, choice: OutputChoice, info: SequenceInfo, keep_traces: bool = False) -> None:
        self._choice = choice
        self._keep_traces = keep_traces  # of the run that this one goes on with
        self._writers: list[ResultWriter] = []
        self._video: VideoWriter | None = None
        self._trace: TraceWriter | None = None
        self._rerun: RerunRecording | None = None
        self._sheet = ContactSheet(name=choice.label) if choice.contact_sheet else None
        self.paths: list[tuple[str, Path]] = []  # what each file is, and where
        with ExitStack() as opened:
            self._open(opened, info)
            self._closing = opened.pop_all()

    def _open(self, opened: ExitStack, info: SequenceInfo) -> None:
        folder = self._choice.folder
        if self._sheet is not None:
            # Pushed first, so that it is written last: a full disk should cost the boxes least.
            path = folder / "contact_sheet.png"
            opened.callback(self._save_sheet, path)
            self.paths.append(("contact sheet", path))
        if self._choice.video:
            path = folder / "annotated.mp4"
            self._video = opened.enter_context(VideoWriter(path, info.fps or FALLBACK_FPS, info.size_wh))
            self.paths.append(("annotated video", path))
        for name in dict.fromkeys(("jsonl", *self._choice.formats)):
            path = folder / _NAMES[name]
            self._writers.append(opened.enter_context(open_result_writer(name, path, info)))
            self.paths.append((f"boxes ({name})", path))
        if self._choice.trace:
            self._trace = opened.enter_context(TraceWriter(folder / "trace", keep=self._keep_traces))
            self.paths.append(("trace", folder / "trace"))
        if self._choice.rerun:
            self._rerun = opened.enter_context(self._open_rerun(info))

    def _open_rerun(self, info: SequenceInfo) -> RerunRecording:
        from tracking_parts.integrations.rerun import RerunRecording

        path = self._choice.folder / "recording.rrd" if self._choice.rerun_file else None
        if path is not None:
            self.paths.append(("rerun recording", path))
        return RerunRecording(info.name, (info.label,), path=path, viewer=self._choice.rerun_viewer, fps=info.fps)

    def write(self, step: Step) -> None:
        for writer in self._writers:
            writer.write(step.index, step.result)
        if self._trace is not None or self._rerun is not None:
            self._write_trace(step)
        if self._video is not None:
            self._video.write(annotate(step.frame, step.result, self._choice.label))
        if self._sheet is not None:
            self._sheet.add(step.index, step.frame, step.result)

    def _write_trace(self, step: Step) -> None:
        # The tracker counts from its own first frame; files count as the source does, like the boxes beside them.
        trace = replace(step.trace(), frame_index=step.index)
        if self._trace is not None:
            self._trace.write(trace)
        if self._rerun is not None:
            self._rerun.write_frame(step.index, step.frame)
            self._rerun.write_target(self._choice.label, trace)

    def close(self) -> None:
        self._closing.close()

    def _save_sheet(self, path: Path) -> None:
        if self._sheet is not None and len(self._sheet):
            self._sheet.save(path)


def write_run_config(path: Path, values: Mapping[str, Any]) -> None:
    """Settings, seed, source and versions beside the results, so that a run can be repeated."""
    content = {**values, "versions": versions()}
    write_atomically(path, (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())
