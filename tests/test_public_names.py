"""What a user may rely on: the exported names, the version, and a quiet import."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import tracking_parts

ROOT = Path(__file__).resolve().parents[1]
PUBLIC_NAMES = {
    "Box",
    "BusyError",
    "ConfigError",
    "CopyError",
    "FormatError",
    "FrameTrace",
    "InvalidBoxError",
    "InvalidFrameError",
    "LearningError",
    "LearningWarning",
    "MultiTracker",
    "NotInitialisedError",
    "OutputError",
    "Result",
    "SourceError",
    "State",
    "StateFileError",
    "TargetNameError",
    "Tracker",
    "TrackerConfig",
    "TrackingPartsError",
    "WeightsError",
    "__version__",
}


def test_exported_names() -> None:
    assert set(tracking_parts.__all__) == PUBLIC_NAMES
    assert all(hasattr(tracking_parts, name) for name in PUBLIC_NAMES)


def test_every_error_is_ours_and_exported() -> None:
    from tracking_parts import errors

    classes = {name: value for name, value in vars(errors).items() if isinstance(value, type)}
    defined = {name for name, value in classes.items() if value.__module__ == errors.__name__}
    assert defined <= PUBLIC_NAMES
    kinds = (tracking_parts.TrackingPartsError, UserWarning)
    assert all(issubclass(getattr(errors, name), kinds) for name in defined)


def test_version_is_the_distributions() -> None:
    written = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert written is not None
    assert tracking_parts.__version__ == written[1]


def test_import_has_no_effects() -> None:
    """No output, no threads changed, no seed set, nothing added to logging."""
    script = """
import logging, random, torch, numpy
threads, state = torch.get_num_threads(), torch.random.get_rng_state()
numpy_state, python_state = numpy.random.get_state()[1].tolist(), random.getstate()
import tracking_parts, tracking_parts.evaluation.runner
assert torch.get_num_threads() == threads and torch.equal(torch.random.get_rng_state(), state)
assert numpy.random.get_state()[1].tolist() == numpy_state and random.getstate() == python_state
assert not logging.getLogger().handlers
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
