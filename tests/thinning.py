"""Values of a parametrized test of which the default run takes every few and the slow run the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest


def thinned(values: Iterable[Any], keep: int = 2, ids: Iterable[str] | None = None) -> list[Any]:
    """Return test parameters: every `keep`-th value and the last stay in the default run, the others are `slow`.

    The gate runs both. It is for values between which the code takes no other branch: the default run still meets both
    ends and the middle.
    """
    listed = list(values)
    names = [None] * len(listed) if ids is None else list(ids)
    return [
        pytest.param(value, id=name, marks=[pytest.mark.slow] if k % keep and k != len(listed) - 1 else [])
        for k, (value, name) in enumerate(zip(listed, names, strict=True))
    ]


def paired(first: Iterable[Any], second: Iterable[Any]) -> list[Any]:
    """Return all pairs of two lists; each value of either stays in the default run in some pair, the others are `slow`.

    It is for two choices that do not act on one another.
    """
    rows, columns = list(first), list(second)
    pairs = [(i, j) for i in range(len(rows)) for j in range(len(columns))]
    return [
        pytest.param(rows[i], columns[j], marks=[pytest.mark.slow] if _is_repeated(i, j, (rows, columns)) else [])
        for i, j in pairs
    ]


def _is_repeated(i: int, j: int, lists: tuple[Sequence[Any], Sequence[Any]]) -> bool:
    """Whether a pair is off the diagonal that goes on from the start of the shorter list."""
    rows, columns = map(len, lists)
    return i % columns != j if rows > columns else j % rows != i
