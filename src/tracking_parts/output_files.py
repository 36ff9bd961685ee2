"""The files of one run: boxes in every format asked for, annotated video, trace, contact sheet and settings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracking_parts.errors import FormatError
from tracking_parts.io.files import remove_leftovers, write_atomically
from tracking_parts.io.results import RESULT_FORMATS, ResultWriter, SequenceInfo, open_result_writer
from tracking_parts.io.trace_files import TraceWriter
from tracking_parts.io.track_files import TRACK_FORMATS
from tracking_parts.io.track_writers import TracksWriter, folder_name, open_tracks_writer
from tracking_parts.io.video import VideoWriter
from tracking_parts.result import Result
from tracking_parts.tracking import Step
from tracking_parts.versions import versions
from tracking_parts.viewers.annotate import annotate_all
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
    "coco": "boxes_coco.json",
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
    labels: tuple[str, ...] = ("object",)
    rerun_file: bool = False
    rerun_viewer: bool = False

    @property
    def rerun(self) -> bool:
        return self.rerun_file or self.rerun_viewer

    def __post_init__(self) -> None:
        for name in self.formats:
            if name not in TRACK_FORMATS:
                raise FormatError(f"unknown format {name!r}: there are {', '.join(TRACK_FORMATS)}")

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
        self._writers: list[TracksWriter] = []
        self._video: VideoWriter | None = None
        self._traces: dict[str, TraceWriter] = {}
        self._rerun: RerunRecording | None = None
        self._sheet = ContactSheet() if choice.contact_sheet else None
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
            writer, paths = self._open_boxes(name, folder / _NAMES[name], info)
            self._writers.append(opened.enter_context(closing(writer)))
            whose = [""] if len(paths) == 1 else [f", {label}" for label in self._choice.labels]
            self.paths += [(f"boxes ({name}){of}", path) for of, path in zip(whose, paths, strict=True)]
        if self._choice.trace:
            for number, label in enumerate(self._choice.labels, start=1):
                alone = len(self._choice.labels) == 1
                place = folder if alone else folder / folder_name(number, label)
                writer_of_one = TraceWriter(place / "trace", keep=self._keep_traces)
                self._traces[label] = opened.enter_context(writer_of_one)
                self.paths.append(("trace" if alone else f"trace, {label}", place / "trace"))
        if self._choice.rerun:
            self._rerun = opened.enter_context(self._open_rerun(info))

    def _open_boxes(self, name: str, path: Path, info: SequenceInfo) -> tuple[TracksWriter, list[Path]]:
        if len(self._choice.labels) == 1 and name in RESULT_FORMATS:
            return _OnlyTarget(open_result_writer(name, path, info)), [path]
        return open_tracks_writer(name, path, info, self._choice.labels)

    def _open_rerun(self, info: SequenceInfo) -> RerunRecording:
        from tracking_parts.integrations.rerun import RerunRecording

        path = self._choice.folder / "recording.rrd" if self._choice.rerun_file else None
        if path is not None:
            self.paths.append(("rerun recording", path))
        return RerunRecording(info.name, self._choice.labels, path=path, viewer=self._choice.rerun_viewer, fps=info.fps)

    def write(self, step: Step) -> None:
        for writer in self._writers:
            writer.write(step.index, step.results)
        if self._traces or self._rerun is not None:
            self._write_traces(step)
        if self._video is not None:
            self._video.write(annotate_all(step.frame, step.results))
        if self._sheet is not None:
            self._sheet.add(step.index, step.frame, step.results)

    def _write_traces(self, step: Step) -> None:
        if self._rerun is not None:
            self._rerun.write_frame(step.index, step.frame)
        for name in step.results:
            # The tracker counts from its own first frame; files count as the source does, like the boxes beside them.
            trace = replace(step.trace(name), frame_index=step.index)
            if name in self._traces:
                self._traces[name].write(trace)
            if self._rerun is not None:
                self._rerun.write_target(name, trace)

    def close(self) -> None:
        self._closing.close()

    def _save_sheet(self, path: Path) -> None:
        if self._sheet is not None and len(self._sheet):
            self._sheet.save(path)


class _OnlyTarget:
    """A file of one object among those of several."""

    def __init__(self, writer: ResultWriter) -> None:
        self._writer = writer

    def write(self, frame_index: int, results: Mapping[str, Result]) -> None:
        for result in results.values():
            self._writer.write(frame_index, result)

    def close(self) -> None:
        self._writer.close()


def write_run_config(path: Path, values: Mapping[str, Any]) -> None:
    """Settings, seed, source and versions beside the results, so that a run can be repeated."""
    content = {**values, "versions": versions()}
    write_atomically(path, (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())
