"""Files that hold numbers and nothing else, in lines of any length, as C programs read them with `fscanf`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ModelError
from chasles.model.numbers import LARGEST_NUMBER, frozen_array, is_bounded, written_number
from chasles.model.record import shortened

_INTEGER = re.compile(rb"[+-]?\d{1,9}")
_WORD = re.compile(rb"\S+")
_CHARACTERS = b"0123456789+-.eE "
_BLOCKS_AT_ONCE = 1_000


class NumberReader:
    r"""The numbers of a file, read one after the other.

    Numbers are separated by blanks and line breaks, wherever these are; text is not allowed. A Ctrl-Z ends the file, as
    it did in MS-DOS.

    Parameters
    ----------
    data
        Contents of the file.
    file
        Its name in messages.

    Examples
    --------
    >>> reader = NumberReader(b"2  0.5\n1.5 x", "rod.dat")
    >>> reader.integer("number of links", 1, 9), reader.numbers(2, "lengths")
    (2, array([0.5, 1.5]))
    >>> reader.number("gravity")
    Traceback (most recent call last):
        ...
    chasles.base.errors.ModelError: rod.dat: line 2: gravity: expected a number, found 'x'
    """

    def __init__(self, data: bytes, file: str) -> None:
        self._data = data.partition(b"\x1a")[0].removeprefix(b"\xef\xbb\xbf")
        self._words = self._data.split()
        self._taken = 0
        self._file = file

    @property
    def at_end(self) -> bool:
        """Whether all numbers have been taken."""
        return self._taken == len(self._words)

    def integer(self, what: str, low: int, high: int) -> int:
        """Take a whole number from `low` to `high`; `what` it says goes into the message if it is none."""
        expected = f"a whole number from {low} to {high}"
        word = self._next(what, expected)
        if not _INTEGER.fullmatch(word) or not low <= int(word) <= high:
            self.fail(f"{what}: expected {expected}, found {shortened(word.decode(errors='replace'))}")
        return int(word)

    def number(self, what: str, *, positive: bool = False) -> float:
        """Take a number, finite and at most 1e9 in size."""
        expected = "a positive number" if positive else "a number"
        word = self._next(what, expected)
        value = written_number(word.decode(errors="replace"))
        if value is None:
            self.fail(f"{what}: expected {expected}, found {shortened(word.decode(errors='replace'))}")
        if not is_bounded(value) or (positive and value <= 0.0):
            self.fail(f"{what}: expected {expected} of at most {LARGEST_NUMBER:g}, found {shortened(word.decode())}")
        return value

    def numbers(self, count: int, what: str) -> NDArray[np.float64]:
        """Take this many numbers, shape (count,)."""
        values = _values(self._words[self._taken : self._taken + count])
        if values is None or len(values) < count:
            return np.array([self.number(what) for _ in range(count)])  # says which is wrong
        self._taken += count
        return values

    def blocks(self, kind: str, lines: Sequence[str], columns: int) -> NDArray[np.float64]:
        """Take all numbers that are left, at least one block of them.

        Parameters
        ----------
        kind
            Name of a block in messages, which add its index from 0 on.
        lines
            Names of the lines of a block.
        columns
            Number of numbers in a line.

        Returns
        -------
        ndarray
            Shape (blocks, lines, columns).
        """
        size = len(lines) * columns
        parts: list[NDArray[np.float64]] = []
        first = self._taken
        while not (parts and self.at_end):
            values = _values(self._words[self._taken : self._taken + _BLOCKS_AT_ONCE * size])
            if values is None or len(values) % size or not len(values):
                block = (self._taken - first) // size
                values = np.concatenate([self.numbers(columns, f"{kind} {block}: {line}") for line in lines])
            else:
                self._taken += len(values)
            parts.append(values)
        return np.concatenate(parts).reshape(-1, len(lines), columns)

    def finish(self, what: str) -> None:
        """Raise an error unless all numbers have been taken: `what` is complete."""
        if not self.at_end:
            word = self._next(what, "nothing")
            self.fail(
                f"{what} complete: expected the end of the file, found {shortened(word.decode(errors='replace'))}"
            )

    def fail(self, message: str) -> NoReturn:
        """Raise an error that names the file and the line of the number taken last."""
        starts = (word.start() for word in _WORD.finditer(self._data))
        place = next(islice(starts, max(self._taken - 1, 0), None), 0)
        line = self._data.count(b"\n", 0, place) + 1
        raise ModelError(f"{self._file}: line {line}: {message}")

    def _next(self, what: str, expected: str) -> bytes:
        if self.at_end:
            self.fail(f"{what}: expected {expected}, found the end of the file")
        self._taken += 1
        return self._words[self._taken - 1]


def _values(words: list[bytes]) -> NDArray[np.float64] | None:
    """Return the values of words, or None if one is no number: fast, without saying which."""
    if b" ".join(words).translate(None, _CHARACTERS):  # Python's numbers may be written with more, such as nan or 1_000
        return None
    try:
        values = np.array([float(word) for word in words])
    except ValueError:
        return None
    return values if is_bounded(values) else None


def number_text(value: float) -> str:
    """Return the shortest text from which the same number is read.

    Examples
    --------
    >>> number_text(2.0), number_text(0.1), number_text(1e-30)
    ('2', '0.1', '1e-30')
    """
    return repr(float(value)).removesuffix(".0")


def line_text(values: Iterable[float]) -> str:
    """Return the numbers of a line.

    Examples
    --------
    >>> line_text([0.0, -9.8])
    '0 -9.8'
    """
    return " ".join(number_text(value) for value in values)


def frozen_numbers(value: ArrayLike, columns: int, what: str) -> NDArray[np.float64]:
    """Return a read-only copy of rows of numbers that a file can hold, shape (rows, columns).

    Raises
    ------
    ModelError
        `what` has another shape, or numbers that are not finite or larger than 1e9.

    Examples
    --------
    >>> frozen_numbers([[1, 2]], 2, "points")
    array([[1., 2.]])
    """
    return frozen_array(value, (None, columns), what)
