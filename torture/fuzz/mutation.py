"""The plain engine's changes: bits flipped, bytes lost, pieces repeated and joined, numbers made huge."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Sequence

NUMBERS = (0, 1, 2, 7, 8, 127, 128, 255, 256, 32767, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1)
WORDS = (
    *(b"nan", b"inf", b"-inf", b"1e309", b"-1", b"1e18", b"9" * 400, b"1" * 5000, b"0x", b"null", b"true", b"\x00"),
    *(b"[" * 3000, b'{"a":' * 2000, b"\n" * 2000, b" " * 2000, b",", b";", b"\xff\xfe", b"\xed\xa0\x80", b"\\ud800"),
    *(b"../../x", b"/etc/passwd", b"&a [*a,*a]", b"<<: *a", b"%s%n", b"\r\n"),
)

Change = Callable[[random.Random, bytearray], bytearray]


class Mutator:
    """Makes inputs from seeds, the same ones for the same number."""

    def __init__(self, seeds: Sequence[bytes], largest: int, words: Sequence[bytes] = (), number: int = 0) -> None:
        self._seeds = list(seeds) or [b""]
        self._largest = largest
        self._words = (*words, *words, *WORDS)  # a format's own words come twice as often
        self._random = random.Random(number)
        self._unchanged = list(self._seeds)

    def next(self) -> bytes:
        """The seeds as they are first, then changed ones."""
        if self._unchanged:
            return self._unchanged.pop()[: self._largest]
        content = bytearray(self._random.choice(self._seeds))
        for _ in range(self._random.choice((1, 1, 1, 2, 3, 5, 12))):
            content = self._random.choice(self._changes)(self, content)
        return bytes(content[: self._largest])

    def _place(self, content: bytearray) -> int:
        return self._random.randrange(len(content) + 1)

    def _piece(self, content: bytes | bytearray) -> bytes:
        start, end = sorted((self._random.randrange(len(content) + 1), self._random.randrange(len(content) + 1)))
        return bytes(content[start:end])

    def _flip(self, content: bytearray) -> bytearray:
        if content:
            content[self._random.randrange(len(content))] ^= 1 << self._random.randrange(8)
        return content

    def _set(self, content: bytearray) -> bytearray:
        if content:
            content[self._random.randrange(len(content))] = self._random.choice((0, 255, self._random.randrange(256)))
        return content

    def _cut(self, content: bytearray) -> bytearray:
        return content[: self._place(content)]

    def _lose(self, content: bytearray) -> bytearray:
        start = self._place(content)
        del content[start : start + self._random.choice((1, 2, 4, 16, 256))]
        return content

    def _repeat(self, content: bytearray) -> bytearray:
        place = self._place(content)
        content[place:place] = self._piece(content)[:4096] * self._random.choice((1, 2, 8, 64))
        return content

    def _splice(self, content: bytearray) -> bytearray:
        return bytearray(content[: self._place(content)] + self._piece(self._random.choice(self._seeds)))

    def _insert_word(self, content: bytearray) -> bytearray:
        place = self._place(content)
        content[place : place + self._random.choice((0, 0, 1, 4, 12))] = self._random.choice(self._words)
        return content

    def _insert_noise(self, content: bytearray) -> bytearray:
        place = self._place(content)
        content[place:place] = self._random.randbytes(self._random.choice((1, 4, 64)))
        return content

    def _set_number(self, content: bytearray) -> bytearray:
        size, sign = self._random.choice(((1, "B"), (2, "H"), (4, "I"), (8, "Q")))
        value = self._random.choice(NUMBERS) & ((1 << 8 * size) - 1)
        place = self._place(content)
        content[place : place + size] = struct.pack(self._random.choice("<>") + sign, value)
        return content

    def _change_digits(self, content: bytearray) -> bytearray:
        places = [index for index, value in enumerate(content) if 48 <= value <= 57]
        if places:
            place = self._random.choice(places)
            content[place : place + 1] = self._random.choice((b"-1", b"9" * 20, b"1e400", b"nan", b"", b"0", b"2.5"))
        return content

    _changes = (_flip, _set, _cut, _lose, _repeat, _splice, _insert_word, _insert_noise, _set_number, _change_digits)
