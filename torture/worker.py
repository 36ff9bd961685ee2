"""One part of the torture in a process of its own: its trials go to a file, one JSON object a line, as they end.

python -m torture.worker torture.sockets:sockets --seconds 60 --seed 0 --out trials.jsonl
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import logging
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from torture.trials import Trial

MOST_DETAIL = 4000  # characters


class SaidAloud(logging.Handler):
    """The last warning of the part itself: where it yields nothing, that is why."""

    def __init__(self, own: str) -> None:
        super().__init__(logging.INFO)
        self._own = own
        self.last = ""

    def emit(self, record: logging.LogRecord) -> None:
        if record.name == self._own or record.name.startswith("torture"):
            self.last = record.getMessage()


def find_part(address: str, seed: int) -> Callable[[float], Iterator[Trial]]:
    """The function at ``module:function``; one that takes a seed is given it."""
    module, _, name = address.partition(":")
    function = getattr(importlib.import_module(module), name)
    return partial(function, seed=seed) if "seed" in inspect.signature(function).parameters else function


def do_trials(part: Callable[[float], Iterator[Trial]], seconds: float, out: TextIO) -> None:
    for trial in part(seconds):
        values = asdict(trial)
        _write(out, {**values, "detail": values["detail"][:MOST_DETAIL]})


def _write(out: TextIO, values: dict[str, Any]) -> None:
    out.write(json.dumps(values) + "\n")
    out.flush()  # whatever ends this process, what was tried is known


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("address")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(arguments)
    said = SaidAloud(options.address.partition(":")[0])
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    logging.getLogger().addHandler(said)
    with options.out.open("w", encoding="utf-8") as out:
        try:
            do_trials(find_part(options.address, options.seed), options.seconds, out)
        except Exception as error:
            where = traceback.format_exc()[-MOST_DETAIL:]
            _write(out, {"what": f"raised {type(error).__name__}", "survived": False, "detail": where})
        _write(out, {"ended": True, "said": said.last})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
