"""Interpret a pickle without unpickling it: values are inert, nothing is imported and nothing is called.

The opcodes are only *listed*, with :func:`pickletools.genops`, which executes nothing. The small machine below follows
them on values that cannot act: a global is its name, a call is a record of that name and its arguments.
"""

from __future__ import annotations

import pickletools
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

_ORDERED_DICT = "collections.OrderedDict"


@dataclass(frozen=True, slots=True, eq=False)
class InertGlobal:
    """A class or function, by its full name."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class InertCall:
    """A call that was not made."""

    name: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False)
class InertReference:
    """A reference to something that lies outside of the pickle: here, a storage."""

    identity: Any


_MARK = object()
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_LITERALS = {
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"),
    *("BINBYTES", "SHORT_BINBYTES"),
}
_IGNORED = {"PROTO", "FRAME"}


def evaluate_inert(stream: IO[bytes], most_bytes: int) -> Any:
    """Interpret one pickle of at most so many bytes with inert values; leaves the stream behind its last byte."""
    machine = _Machine()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a stranger's text with a backslash where Python would have none
        # The listing wants no more of a stream than these three.
        for opcode, argument, _position in pickletools.genops(_Bounded(stream, most_bytes)):  # type: ignore[arg-type]
            if opcode.name == "STOP":
                return machine.pop()
            machine.step(opcode.name, argument)
    raise ValueError("the pickle has no end")


class _Bounded:
    """A stream that gives no more than there is: a pickle names lengths, and room would be made for any of them."""

    def __init__(self, stream: IO[bytes], most_bytes: int) -> None:
        self._stream = stream
        self._left = most_bytes

    def read(self, count: int) -> bytes:
        return self._counted(self._stream.read(min(count, self._left)))

    def readline(self) -> bytes:
        return self._counted(self._stream.readline(self._left))

    def tell(self) -> int:
        return self._stream.tell()

    def _counted(self, content: bytes) -> bytes:
        self._left -= len(content)
        return content


@dataclass(slots=True)
class _Machine:
    """The part of the pickle machine that state dictionaries need."""

    stack: list[Any] = field(default_factory=list)
    memo: dict[int, Any] = field(default_factory=dict)

    def pop(self) -> Any:
        return self.stack.pop()

    def step(self, name: str, argument: Any) -> None:
        if name in _IGNORED:
            return
        if name in _LITERALS:
            self.stack.append(argument)
        elif name in _CONSTANTS:
            self.stack.append(_CONSTANTS[name])
        else:
            action = getattr(self, f"_op_{name.lower()}", None)
            if action is None:
                raise ValueError(f"the pickle uses {name}, which no state dictionary needs")
            action(argument)

    def _since_mark(self) -> list[Any]:
        # From the end: from the start it would take forever on a pickle of nothing but marks.
        start = len(self.stack) - 1
        while self.stack[start] is not _MARK:
            start -= 1
            if start < 0:
                raise ValueError("the pickle's stack has no mark")
        values = self.stack[start + 1 :]
        del self.stack[start:]
        return values

    def _top_n(self, count: int) -> tuple[Any, ...]:
        if len(self.stack) < count:
            raise ValueError("the pickle's stack is too short")
        values = tuple(self.stack[len(self.stack) - count :])
        del self.stack[len(self.stack) - count :]
        return values

    def _list(self) -> list[Any]:
        if not isinstance(self.stack[-1], list):
            raise ValueError("the pickle appends to something that is no list")
        values: list[Any] = self.stack[-1]
        return values

    def _op_mark(self, _: None) -> None:
        self.stack.append(_MARK)

    def _op_pop(self, _: None) -> None:
        self.pop()

    def _op_global(self, argument: str) -> None:
        module, name = argument.split(" ", 1)
        self.stack.append(InertGlobal(f"{module}.{name}"))

    def _op_stack_global(self, _: None) -> None:
        module, name = self._top_n(2)
        if not isinstance(module, str) or not isinstance(name, str):
            raise ValueError("the pickle has a name that is no text")
        self.stack.append(InertGlobal(f"{module}.{name}"))

    def _op_binpersid(self, _: None) -> None:
        self.stack.append(InertReference(self.pop()))

    def _op_reduce(self, _: None) -> None:
        function, arguments = self._top_n(2)
        self.stack.append(_call(function, arguments))

    _op_newobj = _op_reduce

    def _op_build(self, _: None) -> None:
        self.pop()  # attributes, such as the versions of a state dictionary's modules: no numbers among them

    def _op_empty_dict(self, _: None) -> None:
        self.stack.append({})

    def _op_empty_list(self, _: None) -> None:
        self.stack.append([])

    def _op_empty_tuple(self, _: None) -> None:
        self.stack.append(())

    def _op_tuple(self, _: None) -> None:
        self.stack.append(tuple(self._since_mark()))

    def _op_list(self, _: None) -> None:
        self.stack.append(self._since_mark())

    def _op_dict(self, _: None) -> None:
        self.stack.append({_key(key): value for key, value in _pairs(self._since_mark())})

    def _op_tuple1(self, _: None) -> None:
        self.stack.append(self._top_n(1))

    def _op_tuple2(self, _: None) -> None:
        self.stack.append(self._top_n(2))

    def _op_tuple3(self, _: None) -> None:
        self.stack.append(self._top_n(3))

    def _op_append(self, _: None) -> None:
        value = self.pop()
        self._list().append(value)

    def _op_appends(self, _: None) -> None:
        values = self._since_mark()
        self._list().extend(values)

    def _op_setitem(self, _: None) -> None:
        key, value = self._top_n(2)
        self.stack[-1][_key(key)] = value

    def _op_setitems(self, _: None) -> None:
        pairs = _pairs(self._since_mark())
        for key, value in pairs:
            self.stack[-1][_key(key)] = value

    def _op_binput(self, index: int) -> None:
        self.memo[index] = self.stack[-1]

    _op_long_binput = _op_put = _op_binput

    def _op_memoize(self, _: None) -> None:
        self.memo[len(self.memo)] = self.stack[-1]

    def _op_binget(self, index: int) -> None:
        self.stack.append(self.memo[index])

    _op_long_binget = _op_get = _op_binget


def _key(value: Any) -> Any:
    """What a dictionary may have as a key: to hash a tuple of tuples of tuples may take forever, or break the stack."""
    if not isinstance(value, (str, int, float, bytes, type(None))):
        raise ValueError("a dictionary of the pickle has a key that is neither text nor a number")
    return value


def _pairs(values: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    return zip(values[::2], values[1::2], strict=True)


def _call(function: Any, arguments: Any) -> Any:
    if not isinstance(function, InertGlobal) or not isinstance(arguments, tuple):
        raise ValueError("the pickle calls something that is no name")
    if function.name == _ORDERED_DICT:  # the one call that is carried out: it makes a plain dictionary of inert values
        return {_key(key): value for key, value in arguments[0]} if arguments else {}
    return InertCall(function.name, arguments)
