"""Validators of arguments that are not compiled: real arrays, numbers, whole numbers, truth values and names."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import EllipsisType, MappingProxyType
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError, ArgumentTypeError, UnknownNameError
from chasles.engine.arguments import as_array, shown
from chasles.engine.program.scalar import Traced

#: Sizes of an array's axes; a name stands for any size, a leading `...` for any batch axes.
Shape = tuple[int | str | EllipsisType, ...]
Name = TypeVar("Name", bound=str)

_FEW = 32


@dataclass(frozen=True, slots=True)
class Bound:
    """Values that a parameter may have: finite ones, or infinite ones too, between limits.

    A class declares the bounds of its parameters by name; its constructor and ``vary=`` of simulations read them.

    Attributes
    ----------
    at_least, above, at_most
        Limits of every value.
    infinite
        Whether infinite values are allowed. NaN never is.
    smallest
        Smallest value above zero; zero itself is allowed.
    """

    at_least: float = -math.inf
    above: float = -math.inf
    at_most: float = math.inf
    infinite: bool = False
    smallest: float = 0.0

    def check(self, array: NDArray[np.float64], name: str, core: int | None = None) -> None:
        """Refuse an array of which an element is not within the bound.

        Parameters
        ----------
        array
            Values.
        name
            Name in error messages.
        core
            Number of the last axes that belong to one run of a batch; default all.

        Raises
        ------
        ArgumentError
            An element is out of bounds; the message says which one of which run.

        Examples
        --------
        >>> Bound(at_least=0.0).check(np.array([[1.0, 2.0], [1.0, -2.0]]), "viscous", core=1)
        Traceback (most recent call last):
        ...
        chasles.base.errors.ArgumentError: viscous[1] is -2.0 in run 1; it must be at least 0
        """
        if self._holds(array):
            return
        if not _all_finite(array):
            if self.infinite:
                _require(~np.isnan(array), array, name, "a number", core)
            else:
                _require(np.isfinite(array), array, name, "finite", core)
        if self.above > -math.inf:
            requirement = "positive" if self.above == 0.0 else f"above {self.above:g}"
            _require(array > self.above, array, name, requirement, core)
        if self.at_least > -math.inf:
            _require(array >= self.at_least, array, name, f"at least {self.at_least:g}", core)
        if self.at_most < math.inf:
            _require(array <= self.at_most, array, name, f"at most {self.at_most:g}", core)
        if self.smallest > 0.0:
            fits = (array <= 0.0) | (array >= self.smallest)
            _require(fits, array, name, f"0 or at least {self.smallest:g}", core)

    def _holds(self, array: NDArray[np.float64]) -> bool:
        """Whether smallest and largest element show that all are within the bound."""
        if array.ndim == 0:
            low = high = float(array)
        elif array.size:
            low, high = float(array.min()), float(array.max())  # NaN if an element is
        else:
            return True
        return (
            self.at_least <= low
            and high <= self.at_most
            and (self.above < low or self.above == -math.inf)
            and (self.infinite or (-math.inf < low and high < math.inf))
            and (self.smallest == 0.0 or low >= self.smallest)
        )


NUMBER = Bound(infinite=True)
FINITE = Bound()
NOT_NEGATIVE = Bound(at_least=0.0)
POSITIVE = Bound(above=0.0)
_bound = lru_cache(maxsize=64)(Bound)


class HasBounds:
    """Base of classes whose parameters have bounds.

    Attributes
    ----------
    bounds
        Bound of each parameter by name; default finite.
    """

    bounds: Mapping[str, Bound] = MappingProxyType({})

    def relations(self, parameters: Mapping[str, NDArray[np.float64]]) -> Iterable[Relation]:
        """Return relations between parameters beyond the bound of each; default none.

        Parameters
        ----------
        parameters
            Values of all parameters by name, each (*batch, *shape).
        """
        return ()

    def replaced(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return all parameters by name, those in `values` replaced."""
        current: Mapping[str, Any] = self.parameters  # type: ignore[attr-defined]
        return {**current, **values}

    def check_parameters(self, parameters: Mapping[str, NDArray[np.float64]]) -> None:
        """Refuse values of a constructor that are out of bounds or contradict each other.

        Raises
        ------
        ArgumentError
            The message names the parameter.
        """
        for name, value in parameters.items():
            self.bounds.get(name, FINITE).check(value, name)
        require(self.relations(parameters))

    def check_varied(self, values: Mapping[str, NDArray[np.float64]], prefix: str) -> None:
        """Refuse values in place of `parameters`, with leading batch axes, that the constructor would refuse.

        Parameters
        ----------
        values
            Values by name, each (*batch, *shape).
        prefix
            Text before the names in messages.

        Raises
        ------
        ArgumentError
            The message names the parameter and the run.
        """
        current: Mapping[str, Any] = self.parameters  # type: ignore[attr-defined]
        for name, value in values.items():
            nominal = np.asarray(current[name], dtype=np.float64)
            default = FINITE if np.isfinite(nominal).all() else NUMBER
            self.bounds.get(name, default).check(value, f"vary['{prefix}.{name}']", nominal.ndim)
        if values:
            which = ", ".join(f"vary['{prefix}.{name}']" for name in values)
            require(self.relations(self.replaced(values)), f"{which}: ")


def require(relations: Iterable[Relation], before: str = "") -> None:
    """Refuse values of which a relation does not hold.

    Raises
    ------
    ArgumentError
        The message begins with `before` and names the first run of a batch that breaks the relation.

    Examples
    --------
    >>> require([Relation(np.array([True, False]), "a must be below b")])
    Traceback (most recent call last):
    ...
    chasles.base.errors.ArgumentError: a must be below b, but is not in run 1
    """
    for relation in relations:
        holds = np.asarray(relation.holds)
        if not holds.all():
            run = in_run(tuple(int(i) for i in np.argwhere(~holds)[0]))
            raise ArgumentError(f"{before}{relation.requirement}{', but is not' + run if run else ''}")


class Relation(NamedTuple):
    """What must hold between parameters.

    Attributes
    ----------
    holds
        Whether it does, for each run of a batch, (*batch,).
    requirement
        Sentence for messages.
    """

    holds: Any
    requirement: str


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
    bound: Bound | None = None,
) -> NDArray[np.float64]:
    """Return a copy of real numbers as an array of doubles.

    Parameters
    ----------
    values
        A number, a list, an array, or what turns into one.
    name
        Name in error messages.
    shape
        The expected shape; None for any. A string stands for an axis of any size, a leading ``...`` for any batch axes.
    broadcast
        Whether fewer values that broadcast to `shape`, such as one for all, are repeated.
    at_least, above, at_most
        Bounds of every value.
    infinite
        Whether infinite values are allowed. NaN never is.
    bound
        Bound of every value, in place of the four above.

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
    chasles.base.errors.ArgumentError: kd[1] is -1.0; it must be at least 0
    >>> reals([1.0, 2.0], "q", (..., 6))
    Traceback (most recent call last):
    ...
    chasles.base.errors.ArgumentError: q has shape (2,); expected (..., 6)
    """
    array = doubles(values, name).copy()
    if shape is not None and array.shape != shape and (broadcast or not _is_batch_of(array, shape)):
        array = _of_shape(array, name, shape, broadcast)
    (bound or _bound(at_least, above, at_most, infinite)).check(array, name)
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
    chasles.base.errors.ArgumentTypeError: A must be an array of real numbers, not 'one'
    """
    given = as_array(values, "", name)
    if isinstance(given, Traced) or given.dtype.kind == "O":
        raise ArgumentTypeError(f"{name} must hold numbers, not values that are being traced")
    if given.dtype.kind == "b":
        raise ArgumentTypeError(f"{name} must hold real numbers, not truth values: {shown(values)}")
    return np.asarray(given, dtype=np.float64)


def reals_or_traced(values: object, name: str) -> Any:
    """Return real numbers as `reals` does, and traced scalars as they are."""
    array = np.asarray(values)
    return array if any(isinstance(x, Traced) for x in array.flat) else reals(values, name)


def whole_number(value: object, name: str, at_least: int, at_most: int) -> int:
    """Return a whole number between two bounds.

    >>> whole_number(2.5, "starts", 1, 10)
    Traceback (most recent call last):
    ...
    chasles.base.errors.ArgumentError: starts must be a whole number from 1 to 10, not 2.5
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
    chasles.base.errors.ArgumentError: check must be True or False, not 1
    """
    if not isinstance(value, bool | np.bool_):
        raise ArgumentError(f"{name} must be True or False, not {shown(value)}")
    return bool(value)


def choice(value: object, kind: str, known: Iterable[Name]) -> Name:
    """Return a name that is one of those known.

    >>> choice("World", "frame", ("space", "body"))
    Traceback (most recent call last):
    ...
    chasles.base.errors.UnknownNameError: there is no frame 'World'. Existing: space, body
    """
    names = list(known)
    for name in names:
        if isinstance(value, str) and value == name:
            return name
    raise UnknownNameError(kind, value if isinstance(value, str) else shown(value), names)


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
    core_shape = array.shape[max(array.ndim - len(sizes), 0) :]
    fits = array.ndim == len(sizes) or (batched and array.ndim > len(sizes))
    if not fits or any(isinstance(size, int) and size != given for size, given in zip(sizes, core_shape, strict=True)):
        turned = ""
        if batched and core_shape[::-1] == sizes and core_shape != core_shape[::-1]:
            turned = "; is it transposed?"
        expected = "one number" if shape == () else _written(shape)
        raise ArgumentError(f"{name} has shape {array.shape}; expected {expected}{turned}")
    return array


def _written(shape: Shape) -> str:
    text = ", ".join("..." if size is ... else str(size) for size in shape)
    return f"({text},)" if len(shape) == 1 else f"({text})"


def _require(
    fits: NDArray[np.bool_], array: NDArray[np.float64], name: str, requirement: str, core: int | None
) -> None:
    if fits.all():
        return
    index = tuple(int(i) for i in np.argwhere(~fits)[0])
    axes = 0 if core is None else array.ndim - core
    run, element = index[:axes], index[axes:]
    place = f"[{', '.join(map(str, element))}]" if element else ""
    raise ArgumentError(f"{name}{place} is {float(array[index])!r}{in_run(run)}; it must be {requirement}")


def in_run(run: tuple[int, ...]) -> str:
    """Words that say which run of a batch is meant, from its index; none for a run alone.

    >>> in_run((3,)), in_run((0, 2)), in_run(())
    (' in run 3', ' in run (0, 2)', '')
    """
    return f" in run {run[0] if len(run) == 1 else run}" if run else ""
