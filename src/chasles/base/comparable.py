"""Named tuples of arrays that can be compared."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

Tuple = TypeVar("Tuple", bound=tuple[Any, ...])


def comparable(named_tuple: type[Tuple]) -> type[Tuple]:
    """Let ``==`` of two named tuples say whether all their values are the same; NaN equals NaN.

    Python's own comparison raises for tuples of arrays, because the truth value of an array is ambiguous.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> @comparable
    ... class Pair(NamedTuple):
    ...     x: Any
    ...     y: Any
    >>> Pair(np.ones(2), np.nan) == Pair(np.ones(2), np.nan), Pair(np.ones(2), 0) != Pair(np.ones(3), 0)
    (True, True)
    """
    for name, comparison in (("__eq__", _are_same), ("__ne__", _differ)):
        setattr(named_tuple, name, comparison)
    return named_tuple


def _are_same(first: object, second: object) -> bool:
    if isinstance(first, tuple) and isinstance(second, tuple):
        return len(first) == len(second) and all(map(_are_same, first, second))
    if isinstance(first, tuple) or isinstance(second, tuple):
        return False
    arrays = np.asarray(first), np.asarray(second)
    if all(array.dtype.kind in "biuf" for array in arrays):
        return np.array_equal(*arrays, equal_nan=True)
    return np.array_equal(*arrays)


def _differ(first: object, second: object) -> bool:
    return not _are_same(first, second)
