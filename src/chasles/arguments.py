"""Validators of arguments that are not compiled: real arrays, numbers, whole numbers, truth values and names."""

from __future__ import annotations

import math
from collections.abc import Iterable
from types import EllipsisType

import numpy as np
from numpy.typing import NDArray

from chasles.engine.arguments import as_array, shown
from chasles.engine.scalar import Traced
from chasles.errors import ArgumentError, ArgumentTypeError, UnknownNameError

#: Sizes of an array's axes; a name stands for any size, a leading `...` for any batch axes.
Shape = tuple[int | str | EllipsisType, ...]

_FEW = 32


def reals(
    values: object,
    name: str,
    shape: Shape | None = None,
    *,
    broadcast: bool = False,
    at_least: float = -np.inf,
    above: float = -np.inf,
    at_most: float = np.inf,
    infinite: bool = False,
) -> NDArray[np.float64]:
    """Return a copy of real numbers as an array of doubles.

    Parameters
    ----------
    values
        A number, a list, an array, or what turns into one.
    name
        What error messages call it.
    shape
        The expected shape; None for any. A string stands for an axis of any size, a leading ``...`` for any batch axes.
    broadcast
        Whether fewer values that broadcast to `shape`, such as one for all, are repeated.
    at_least, above, at_most
        Bounds of every value.
    infinite
        Whether infinite values are allowed. NaN never is.

    Raises
    ------
    ArgumentTypeError
        If they are complex, text, truth values, or no numbers at all.
    ArgumentError
        If the shape differs, or a value is out of bounds; the message says which.

    Examples
    --------
    >>> reals(400, "kp", (2,), broadcast=True, above=0)
    array([400., 400.])
    >>> reals([1.0, -1.0], "kd", (2,), at_least=0)
    Traceback (most recent call last):
    ...
    chasles.errors.ArgumentError: kd[1] is -1.0; it must be at least 0
    >>> reals([1.0, 2.0], "q", (..., 6))
    Traceback (most recent call last):
    ...
    chasles.errors.ArgumentError: q has shape (2,); expected (..., 6)
    """
    array = doubles(values, name).copy()
    if shape is not None and array.shape != shape and (broadcast or not _is_batch_of(array, shape)):
        array = _of_shape(array, name, shape, broadcast)
    if not _all_finite(array):
        if infinite:
            _require(~np.isnan(array), array, name, "a number")
        else:
            _require(np.isfinite(array), array, name, "finite")
    if above > -np.inf:
        _require(array > above, array, name, "positive" if above == 0.0 else f"above {above:g}")
    if at_least > -np.inf:
        _require(array >= at_least, array, name, f"at least {at_least:g}")
    if at_most < np.inf:
        _require(array <= at_most, array, name, f"at most {at_most:g}")
    return array


def real(
    value: object,
    name: str,
    *,
    at_least: float = -np.inf,
    above: float = -np.inf,
    at_most: float = np.inf,
    infinite: bool = False,
) -> float:
    """Return one real number within bounds, as `reals` does for arrays.

    >>> real(0.004, "period", above=0)
    0.004
    """
    return float(reals(value, name, (), at_least=at_least, above=above, at_most=at_most, infinite=infinite))


def doubles(values: object, name: str) -> NDArray[np.float64]:
    """Return real numbers of any shape as an array of doubles, NaN and infinite values as they are.

    >>> doubles([[1, 2], [3, np.nan]], "A")
    array([[ 1.,  2.],
           [ 3., nan]])
    >>> doubles("one", "A")
    Traceback (most recent call last):
    ...
    chasles.errors.ArgumentTypeError: A must be an array of real numbers, not 'one'
    """
    given = as_array(values, "", name)
    if isinstance(given, Traced) or given.dtype.kind == "O":
        raise ArgumentTypeError(f"{name} must hold numbers, not values that are being traced")
    if given.dtype.kind == "b":
        raise ArgumentTypeError(f"{name} must hold real numbers, not truth values: {shown(values)}")
    return np.asarray(given, dtype=np.float64)


def whole_number(value: object, name: str, at_least: int, at_most: int) -> int:
    """Return a whole number between two bounds.

    >>> whole_number(2.5, "starts", 1, 10)
    Traceback (most recent call last):
    ...
    chasles.errors.ArgumentError: starts must be a whole number from 1 to 10, not 2.5
    """
    if (
        not isinstance(value, int | float | np.integer | np.floating)
        or isinstance(value, bool)
        or not (at_least <= value <= at_most and value == int(value))
    ):
        raise ArgumentError(f"{name} must be a whole number from {at_least:,} to {at_most:,}, not {shown(value)}")
    return int(value)


def truth(value: object, name: str) -> bool:
    """Return True or False; nothing else stands for them.

    >>> truth(1, "check")
    Traceback (most recent call last):
    ...
    chasles.errors.ArgumentError: check must be True or False, not 1
    """
    if not isinstance(value, bool | np.bool_):
        raise ArgumentError(f"{name} must be True or False, not {shown(value)}")
    return bool(value)


def choice(value: object, kind: str, known: Iterable[str]) -> str:
    """Return a name that is one of those known.

    >>> choice("World", "frame", ("space", "body"))
    Traceback (most recent call last):
    ...
    chasles.errors.UnknownNameError: there is no frame 'World'. Existing: space, body
    """
    names = list(known)
    if not (isinstance(value, str) and value in names):
        raise UnknownNameError(kind, value if isinstance(value, str) else shown(value), names)
    return value


def _is_batch_of(array: NDArray[np.float64], shape: Shape) -> bool:
    """Whether the last axes have the sizes that stand behind the batch axes of a shape; decided at once if it is so."""
    return len(shape) > 1 and shape[0] is ... and array.shape[1 - len(shape) :] == shape[1:]


def _all_finite(array: NDArray[np.float64]) -> bool:
    if array.size <= _FEW:  # for a few numbers Python is faster
        return all(map(math.isfinite, array.ravel().tolist()))
    return bool(np.isfinite(array).all())


def _of_shape(array: NDArray[np.float64], name: str, shape: Shape, broadcast: bool) -> NDArray[np.float64]:
    sizes = tuple(size for size in shape if size is not ...)
    batched = len(sizes) < len(shape)
    if broadcast:
        whole = tuple(size for size in sizes if isinstance(size, int))
        try:
            return np.broadcast_to(array, whole).copy()
        except ValueError:
            raise ArgumentError(f"{name} has shape {array.shape}; expected {_written(shape)} or one number") from None
    own = array.shape[max(array.ndim - len(sizes), 0) :]
    fits = array.ndim == len(sizes) or (batched and array.ndim > len(sizes))
    if not fits or any(isinstance(size, int) and size != given for size, given in zip(sizes, own, strict=True)):
        turned = ""
        if batched and own[::-1] == sizes and own != own[::-1]:
            turned = "; is it transposed?"
        expected = "one number" if shape == () else _written(shape)
        raise ArgumentError(f"{name} has shape {array.shape}; expected {expected}{turned}")
    return array


def _written(shape: Shape) -> str:
    text = ", ".join("..." if size is ... else str(size) for size in shape)
    return f"({text},)" if len(shape) == 1 else f"({text})"


def _require(fits: NDArray[np.bool_], array: NDArray[np.float64], name: str, requirement: str) -> None:
    if fits.all():
        return
    index = tuple(int(i) for i in np.argwhere(~fits)[0])
    place = f"[{', '.join(map(str, index))}]" if index else ""
    raise ArgumentError(f"{name}{place} is {float(array[index])!r}; it must be {requirement}")
