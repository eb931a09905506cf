"""Robots found again by the content of Mlist, Glist and Slist, so that each is compiled once.

The key is the bytes of the arrays: finding a robot costs about a microsecond, and an array that was changed in place
makes another robot.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.engine import Function
from chasles.interop.modern_robotics.checked import numbers
from chasles.interop.modern_robotics.open_chain import OpenChain, controlled_motion

Dimensions = tuple[int, ...]

#: Robots that are kept; of more, the one that was not asked for longest is forgotten.
MOST_ROBOTS = 128


def open_chain(Mlist: ArrayLike, Glist: ArrayLike, Slist: ArrayLike, function: str) -> OpenChain:
    """The robot of these lists, for a function whose name stands in messages."""
    M, G, S = _floats(Mlist, function, "Mlist"), _floats(Glist, function, "Glist"), _floats(Slist, function, "Slist")
    try:
        return _built(M.tobytes(), G.tobytes(), S.tobytes(), M.shape, G.shape, S.shape)
    except ArgumentError as error:
        raise ArgumentError(f"{function}: {error}") from None


@lru_cache(maxsize=MOST_ROBOTS)
def _built(M: bytes, G: bytes, S: bytes, *shapes: Dimensions) -> OpenChain:
    _check_shapes(*shapes)
    return OpenChain(*(np.frombuffer(part).reshape(shape) for part, shape in zip((M, G, S), shapes, strict=True)))


def _check_shapes(M: Dimensions, G: Dimensions, S: Dimensions) -> None:
    if len(S) != 2 or S[0] != 6 or S[1] == 0:
        raise ArgumentError(f"Slist has shape {S}; expected (6, n) with one screw axis a column")
    n = S[1]
    for name, shape, expected in (("Mlist", M, (n + 1, 4, 4)), ("Glist", G, (n, 6, 6))):
        if shape != expected:
            raise ArgumentError(f"{name} has shape {shape}; expected {expected} as for the {n} axes of Slist")


@lru_cache(maxsize=MOST_ROBOTS)
def control_loop(plant: OpenChain, model: OpenChain) -> Function:
    """A plant under the controller of a model, compiled once for each pair; see `controlled_motion`."""
    return controlled_motion(plant, model)


def forget_robots() -> None:
    """Forget all robots and what was compiled for them."""
    _built.cache_clear()
    control_loop.cache_clear()


def _floats(array: ArrayLike, function: str, name: str) -> NDArray[np.float64]:
    if type(array) is np.ndarray and array.dtype == np.float64:
        return array
    return numbers(array, function, name)
