"""The help of the commands' arguments."""

from __future__ import annotations

import inspect
from typing import Any

from typer.core import TyperArgument, TyperCommand
from typer.models import ArgumentInfo


class DescribedCommand(TyperCommand):
    """A command whose help describes its arguments.

    From click 8.5 on, typer's arguments lose their help while they are made (typer 0.24 sets it before click does, to
    nothing). It still stands in the function's signature.
    """

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        assert self.callback is not None
        function = inspect.unwrap(self.callback)
        annotations = {
            name: parameter.annotation
            for name, parameter in inspect.signature(function, eval_str=True).parameters.items()
        }
        for argument in self.params:
            if isinstance(argument, TyperArgument) and argument.help is None:
                notes = getattr(annotations.get(argument.name or ""), "__metadata__", ())
                argument.help = next((note.help for note in notes if isinstance(note, ArgumentInfo)), None)
