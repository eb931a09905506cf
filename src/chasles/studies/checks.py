"""Checks of what a study is made of; the messages name the key."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.errors import ArgumentError, UnknownNameError


@contextmanager
def placed(where: str) -> Iterator[None]:
    """Put a place in front of the message of an error raised inside."""
    try:
        yield
    except UnknownNameError as error:
        error.args = (f"{where}: {error}",)
        raise
    except ArgumentError as error:
        raise ArgumentError(f"{where}: {error}") from None


def number(value: Any, name: str, *, least: float = 0.0, above: float | None = None, most: float = 1e9) -> float:
    """Return a finite number within bounds; at least ``least``, or above ``above``."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating | np.integer):
        raise ArgumentError(f"'{name}' must be a number, not {shortened(value)}")
    given = float(value)
    low_enough = given <= most
    high_enough = given >= least if above is None else given > above and given >= least
    if not (low_enough and high_enough):
        bound = f"at least {least:g}" if above is None else f"above {above:g}"
        raise ArgumentError(f"'{name}' must be {bound} and at most {most:g}, not {given:g}")
    return given


def check_whole(value: Any, name: str, least: int, most: int) -> None:
    """Refuse what is not a whole number within bounds."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ArgumentError(f"'{name}' must be a whole number from {least} to {most}, not {shortened(value)}")


def ends(value: Any, name: str, most: float, least: float = 0.0) -> tuple[float, float]:
    """Return the ends of a range, given as two numbers or as one."""
    both = (value, value) if isinstance(value, int | float) else value
    if not isinstance(both, Sequence) or isinstance(both, str) or len(both) != 2:
        raise ArgumentError(f"'{name}' must be a number or a range [from, to], not {shortened(value)}")
    low, high = (number(end, name, least=least, most=most) for end in both)
    if low > high:
        raise ArgumentError(f"'{name}' must go from the lower to the higher number, not from {low:g} to {high:g}")
    return low, high


def positive_ends(value: Any, name: str) -> tuple[float, float]:
    """Return the ends of a range of positive numbers."""
    low, high = ends(value, name, 1e6)
    return number(low, name, above=0.0), high


def sample_rates(value: Any) -> tuple[float, ...]:
    """Return distinct rates in order."""
    return distinct_numbers(value, "rates", "sample rates in Hz", least=1.0, most=1e5)


def distinct_numbers(value: Any, name: str, meaning: str, *, least: float, most: float) -> tuple[float, ...]:
    """Return distinct numbers within bounds in order, of a list or of one number."""
    values = (value,) if isinstance(value, int | float) else value
    if not isinstance(values, Iterable) or isinstance(values, str) or not (listed := list(values)):
        raise ArgumentError(f"'{name}' must be a list of {meaning}, not {shortened(value)}")
    numbers = [number(each, name, least=least, most=most) for each in listed]
    check_distinct(numbers, f"'{name}' has twice")
    return tuple(sorted(numbers))


def array_of(value: Any, shape: tuple[int, ...], name: str) -> NDArray[np.float64]:
    """Return finite numbers of a shape."""
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.asarray(None)
    if array.dtype.kind not in "fiu" or array.shape != shape:
        wanted = " lists of ".join(map(str, shape))
        raise ArgumentError(f"'{name}' must be {wanted} numbers, not {shortened(value)}")
    if not np.isfinite(array).all():
        raise ArgumentError(f"'{name}' must be finite, not {shortened(value)}")
    return array.astype(float)


def line_of_text(value: Any, name: str) -> str:
    """Return a text that is one short line."""
    if not isinstance(value, str) or not value.strip() or len(value) > 200 or re.search(r"[\x00-\x1f\x7f]", value):
        raise ArgumentError(f"'{name}' must be a line of text of at most 200 characters, not {shortened(value)}")
    return value


def check_distinct(values: Sequence[Any], complaint: str) -> None:
    """Refuse values that occur twice."""
    twice = [value for value in values if list(values).count(value) > 1]
    if twice:
        raise ArgumentError(f"{complaint} {shortened(twice[0])}")


def shortened(value: Any) -> str:
    """Return the repr of a value, cut so that a hostile one cannot flood a message."""
    text = repr(value.tolist() if isinstance(value, np.ndarray) else value)
    return text if len(text) <= 80 else text[:77] + "..."
