"""Checks of what a study is made of; the messages name the key."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.engine.validators import doubles, real, reals, whole_number


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


def number(value: object, name: str, *, at_least: float = 0.0, above: float = -np.inf, at_most: float = 1e9) -> float:
    """Return a finite number within bounds, `name` being its key; see `chasles.engine.validators.real`."""
    return real(value, f"'{name}'", at_least=at_least, above=above, at_most=at_most)


def whole(value: object, name: str, at_least: int, at_most: int) -> int:
    """Return a whole number within bounds, `name` being its key."""
    return whole_number(value, f"'{name}'", at_least, at_most)


def ends(value: object, name: str, at_most: float, at_least: float = 0.0) -> tuple[float, float]:
    """Return the ends of a range, given as two numbers or as one."""
    array = doubles(value, f"'{name}'")
    if array.shape not in ((), (2,)):
        raise ArgumentError(f"'{name}' must be a number or a range [from, to], not {shortened(value)}")
    low, high = reals(array, f"'{name}'", (2,), broadcast=True, at_least=at_least, at_most=at_most).tolist()
    if low > high:
        raise ArgumentError(f"'{name}' must go from the lower to the higher number, not from {low:g} to {high:g}")
    return low, high


def positive_ends(value: object, name: str) -> tuple[float, float]:
    """Return the ends of a range of positive numbers."""
    low, high = ends(value, name, 1e6)
    return number(low, name, above=0.0), high


def sample_rates(value: object) -> tuple[float, ...]:
    """Return distinct rates in order."""
    return distinct_numbers(value, "rates", "sample rates in Hz", at_least=1.0, at_most=1e5)


def distinct_numbers(value: object, name: str, meaning: str, *, at_least: float, at_most: float) -> tuple[float, ...]:
    """Return distinct numbers within bounds in order, of a list or of one number."""
    values = list(value) if isinstance(value, Iterable) and not isinstance(value, str | np.ndarray) else value
    listed = np.atleast_1d(doubles(values, f"'{name}'"))
    if listed.ndim != 1 or not listed.size:
        raise ArgumentError(f"'{name}' must be a list of {meaning}, not {shortened(value)}")
    numbers = reals(listed, f"'{name}'", at_least=at_least, at_most=at_most).tolist()
    check_distinct(numbers, f"'{name}' has twice")
    return tuple(sorted(numbers))


def line_of_text(value: object, name: str) -> str:
    """Return a text that is one short line."""
    if not isinstance(value, str) or not value.strip() or len(value) > 200 or re.search(r"[\x00-\x1f\x7f]", value):
        raise ArgumentError(f"'{name}' must be a line of text of at most 200 characters, not {shortened(value)}")
    return value


def check_distinct(values: Sequence[Any], complaint: str) -> None:
    """Refuse values that occur twice."""
    twice = [value for value in values if list(values).count(value) > 1]
    if twice:
        raise ArgumentError(f"{complaint} {shortened(twice[0])}")


def shortened(value: object) -> str:
    """Return the repr of a value, cut so that a hostile one cannot flood a message."""
    text = repr(value.tolist() if isinstance(value, np.ndarray) else value)
    return text if len(text) <= 80 else text[:77] + "..."
