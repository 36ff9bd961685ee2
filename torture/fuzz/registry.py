"""All targets by name. Modules are imported when a target is asked for: some need extras."""

from __future__ import annotations

import importlib
import importlib.util

from torture.fuzz.target import Target

MODULES = {
    "text_targets": (
        *("ground_truth", "sequence_files", "results", "trajectory"),
        *("settings", "protocol", "gate", "run_description"),
    ),
    "packed_targets": (
        *("torch_file", "torch_pickle", "npz", "npy_member", "safetensors"),
        *("trace_file", "trace_arrays", "state_file", "state_values", "state_tensors"),
    ),
    "media_targets": ("video", "image", "container"),
    "studio_targets": ("project_file", "project_json", "inside", "commands", "decoder_pipe"),
}
NAMES = tuple(name for names in MODULES.values() for name in names)


def find_target(name: str) -> Target:
    """A target by its name; ``KeyError`` where there is none."""
    for module, names in MODULES.items():
        if name in names:
            found: tuple[Target, ...] = importlib.import_module(f"torture.fuzz.{module}").TARGETS
            return next(target for target in found if target.name == name)
    raise KeyError(name)


def runnable() -> tuple[str, ...]:
    """The targets whose extras are installed."""
    without = () if importlib.util.find_spec("fastapi") else MODULES["studio_targets"]
    return tuple(name for name in NAMES if name not in without)
