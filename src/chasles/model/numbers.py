"""Numbers of a robot: how files write them, and the bound that holds in every format and for robots made in Python.

The bound finds misprints, and it keeps all that is computed from these numbers finite.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ModelError
from chasles.engine.validators import Bound
from chasles.model.record import shortened

#: Largest size of a number of a robot. A limit of a joint beyond it is no limit.
LARGEST_NUMBER = 1e9
#: Largest viscous friction, N·m·s/rad: some models hold a joint by 1e11.
LARGEST_DAMPING = 1e12
#: Smallest size of what others are divided by: the length of a vector with a direction, the velocity of a friction.
SMALLEST_DIVISOR = 1e-9
#: Bound of what has no other.
BOUNDED = Bound(at_least=-LARGEST_NUMBER, at_most=LARGEST_NUMBER)
WITHIN_BOUND = f"must be finite and at most {LARGEST_NUMBER:g} in size"
# Python's float also reads underscores, and the digits of other scripts.
_WRITTEN = re.compile(r"[+-]?((\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?|inf(inity)?|nan)", re.ASCII | re.IGNORECASE)


def written_number(word: str) -> float | None:
    """Return the number that a word of a file says, as C reads it; None if it says none.

    Examples
    --------
    >>> written_number("-1.5e3"), written_number("inf"), written_number("1_000"), written_number("\uff11\uff12")
    (-1500.0, inf, None, None)
    """
    return float(word) if _WRITTEN.fullmatch(word) else None


def is_bounded(values: ArrayLike) -> bool:
    """Whether all numbers are finite and at most 1e9 in size.

    Examples
    --------
    >>> is_bounded([-1e9, 1.0]), is_bounded(1e10), is_bounded(float("nan"))
    (True, False, False)
    """
    return bool(np.logical_and.reduce(np.abs(values) <= LARGEST_NUMBER, axis=None))


def number(value: Any, what: str, *, may_be_infinite: bool = False, largest: float = LARGEST_NUMBER) -> float:
    """Return `value` as a float; a ModelError says that `what` is no number, or none that a robot can have."""
    if isinstance(value, (bool, str, bytes)):
        raise ModelError(f"{what} must be a number, not {shortened(value)}")
    try:
        result = float(value) + 0.0
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{what} must be a number, not {shortened(value)}") from None
    if may_be_infinite:
        if math.isnan(result):
            raise ModelError(f"{what} must be a number, not nan")
    elif not abs(result) <= largest:
        raise ModelError(f"{what} must be finite and at most {largest:g} in size, not {shortened(value)}")
    return result


def frozen_array(value: object, shape: tuple[int | None, ...], what: str) -> NDArray[np.float64]:
    """Return a read-only float copy of `value`; a ModelError says that `what` is no array of such numbers and shape.

    Parameters
    ----------
    value
        Value as given.
    shape
        The shape that it must have, with None for an axis of any length.
    what
        Its name in messages.

    Examples
    --------
    >>> frozen_array([[1, 2], [3, 4], [5, 6]], (None, 2), "points").shape
    (3, 2)
    >>> frozen_array([0.0, 0.0, 1e10], (3,), "gravity")
    Traceback (most recent call last):
        ...
    chasles.base.errors.ModelError: gravity must be finite and at most 1e+09 in size, but element [2] is 10000000000.0
    """
    try:
        given = np.asarray(value)
    except ValueError:  # rows of different lengths
        given = np.asarray(None)
    if given.dtype.kind not in "fiu":
        raise ModelError(f"{what} must be numbers of shape {_shape_text(shape)}, not {shortened(value)}")
    if given.shape != shape and not _is_of_shape(given, shape):
        raise ModelError(f"{what} must have shape {_shape_text(shape)}, not {given.shape}")
    # Adding zero makes a copy and turns -0.0 into 0.0, so that equal records have equal text.
    array: NDArray[np.float64] = np.add(given, 0.0, dtype=np.float64)
    if not is_bounded(array):
        place = tuple(int(index) for index in np.argwhere(~(np.abs(array) <= LARGEST_NUMBER))[0])
        element = f", but element {list(place)} is {array[place]}" if place else f", not {array}"
        raise ModelError(f"{what} {WITHIN_BOUND}{element}")
    array.flags.writeable = False
    return array


def _is_of_shape(array: NDArray[Any], shape: tuple[int | None, ...]) -> bool:
    return array.ndim == len(shape) and all(wanted in (None, n) for wanted, n in zip(shape, array.shape, strict=True))


def _shape_text(shape: tuple[int | None, ...]) -> str:
    return str(shape).replace("None", "n")


def unit_vector(value: ArrayLike, size: int, what: str) -> NDArray[np.float64]:
    """Return a read-only vector of length 1; a ModelError says that `what` is no vector of this size or too short."""
    vector = frozen_array(value, (size,), what)
    length = math.sqrt(float(vector @ vector))
    if length < SMALLEST_DIVISOR:
        raise ModelError(
            f"{what} must be at least {SMALLEST_DIVISOR:g} long to have a direction, not {vector.tolist()}"
        )
    # A vector that is unit to rounding stays as it is: reading back a written description changes no bit.
    return vector if abs(length - 1.0) <= 1e-15 else frozen_array(vector / length, (size,), what)
