"""Routines of SpaceLib: formulas for one sample as functions over batches, with codes among their arguments.

`chasles.geometry.batched` compiles the formulas. A `Routine` adds what SpaceLib's users need:

- codes (axes, types of joint) stand anywhere, as in C; a call goes straight to the machine code for its codes;
- what is no array of real numbers of the right shape is refused in the routine's own words;
- a return value is never OK beside a result that is not finite.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial, wraps
from operator import itemgetter
from threading import RLock
from typing import Any, Generic, TypeVar

import numpy as np

from chasles.engine import Function, Program, where
from chasles.engine.scalar import Traced, boxed
from chasles.errors import ArgumentError
from chasles.geometry.batched import batched
from chasles.geometry.directions import are_finite
from chasles.geometry.elementary import Array
from chasles.geometry.kinds import Kind
from chasles.interop.spacelib.codes import NOTOK, POINT, plain_code
from chasles.interop.spacelib.sizes import real_array

Result = TypeVar("Result", covariant=True)

#: Held while machine code is chosen: of two threads at once, one would let go of the code that the other calls.
_CHOOSING = RLock()


def routine(*, codes: Sequence[str] = (), **inputs: Any) -> Callable[[Callable[..., Result]], Routine[Result]]:
    """Make a routine of a formula for one sample.

    Parameters
    ----------
    codes
        Fields of the result that are whole numbers: ``rv``, which is OK only beside finite results, or others.
    **inputs
        Shape of each array argument without batch axes, or its `Kind`. The formula's other arguments are codes and
        sizes.

    Examples
    --------
    >>> @routine(v=(3,))
    ... def component(a, v):
    ...     return v[a]
    >>> component(1, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    array([2., 5.])
    >>> component(1, [1.0, 2.0])
    Traceback (most recent call last):
        ...
    chasles.errors.ArgumentError: component: v has shape (2,), but must be (..., 3)
    """
    return lambda formula: Routine(formula, inputs, codes)


class Routine(Generic[Result]):
    """A routine of SpaceLib, called on arrays over any leading batch axes.

    Every call takes the keywords ``out`` and ``check`` of `chasles.geometry.Batched`.

    Attributes
    ----------
    formula
        The plain Python function for one sample.
    """

    # The call is an attribute of the instance, so that it can be machine code.
    __slots__ = ("__call__", "__dict__", "__weakref__")
    __call__: Callable[..., Result]

    def __init__(self, formula: Callable[..., Result], inputs: Mapping[str, Any], codes: Sequence[str]) -> None:
        self.formula = self.__wrapped__ = formula
        self.__name__, self.__qualname__ = formula.__name__, formula.__qualname__
        self.__doc__, self.__module__ = formula.__doc__, formula.__module__
        self._name = formula.__name__.removeprefix("_")
        parameters = inspect.signature(formula).parameters
        self._parameters = tuple(parameters)
        self._defaults = {name: p.default for name, p in parameters.items() if p.default is not p.empty}
        self._kinds = {
            name: inputs[name] if isinstance(inputs[name], Kind) else Kind(inputs[name])
            for name in parameters
            if name in inputs
        }
        self._codes = codes
        guarded = _never_ok_beside_nan(formula) if "rv" in codes else formula
        self._batched = batched(dtypes=dict.fromkeys(codes, int), **self._kinds)(guarded)
        self._places = self._places_by_count()
        self._direct: dict[Any, Callable[..., Any]] = {}
        self._kept: list[Function] = []
        self.__call__ = self.general_call

    def general_call(self, *arguments: Any, out: Any = None, check: bool = False, **keywords: Any) -> Any:
        """Compute, whatever the arguments are; single samples need not come here once the formula is compiled."""
        arrays: dict[str, Array] = {}
        given = [self._examined(*pair, arrays) for pair in zip(self._parameters, arguments, strict=False)]
        given += arguments[len(self._parameters) :]  # too many, which `Batched` tells
        named = {name: self._examined(name, argument, arrays) for name, argument in keywords.items()}
        self._check_batches(arrays)
        if out is not None or check:
            return self._batched(*given, **named, out=out, check=check)
        if any(array.dtype == object for array in arrays.values()):
            return self._formula_of_symbols(given, named)
        values = self._batched(*given, **named)
        self._choose_directly(arguments, keywords, values)
        return values

    def specialize(self, **options: Any) -> Function:
        """Return the compiled function for one choice of codes, with its ``program`` and derivatives."""
        return self._batched.specialize(**options)

    @property
    def program(self) -> Program:
        """The program of the call without codes."""
        return self._batched.program

    def jacobian(self, output: str | None = None, wrt: str | None = None, **options: Any) -> Function:
        """Return the function of the exact partial derivatives; see `chasles.engine.jacobian`."""
        return self._batched.jacobian(output, wrt, **options)

    def __reduce__(self) -> str:
        return self.__qualname__

    def __repr__(self) -> str:
        return f"<{self._name}({', '.join(self._parameters)}) over batches>"

    def _examined(self, name: str, argument: Any, arrays: dict[str, Array]) -> Any:
        """Return an argument as an array of the right shape, which joins the others, or a code as a plain number."""
        kind = self._kinds.get(name)
        if kind is None:
            return plain_code(argument)
        array = arrays[name] = real_array(argument, self._name, name)
        if array.shape[array.ndim - len(kind.shape) :] != kind.shape or array.ndim < len(kind.shape):
            hint = ": a point is [x, y, z, 1]" if kind is POINT else ""
            raise ArgumentError(f"{self._name}: {name} has shape {array.shape}, but must be {kind.shape_text}{hint}")
        return array

    def _check_batches(self, arrays: Mapping[str, Array]) -> None:
        leads = {name: array.shape[: array.ndim - len(self._kinds[name].shape)] for name, array in arrays.items()}
        try:
            np.broadcast_shapes(*leads.values())
        except ValueError:
            batches = ", ".join(f"{name} {lead}" for name, lead in leads.items() if lead)
            raise ArgumentError(f"{self._name}: the batch axes of the arguments do not broadcast: {batches}") from None

    def _formula_of_symbols(self, given: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """Call the formula on traced scalars or symbols; where SymPy cannot, numbers that it holds become floats."""
        try:
            with np.errstate(all="ignore"):  # SymPy's work on a NaN is no event in the caller's arithmetic
                return self._batched(*given, **named)
        except TypeError as error:
            if any(isinstance(element, Traced) for values in (given, named.values()) for element in _elements(values)):
                raise
            try:
                return self._batched(*map(_floats, given), **{name: _floats(value) for name, value in named.items()})
            except TypeError:
                raise ArgumentError(f"{self._name}: SymPy finds no formula of these symbols ({error})") from None

    def _places_by_count(self) -> dict[int, tuple[Callable[..., Any], Callable[..., Any]]]:
        """For each number of positional arguments that have all arrays among them: what picks codes, and arrays."""
        places = {}
        for count in range(len(self._parameters) + 1):
            given, rest = self._parameters[:count], self._parameters[count:]
            if all(name in given for name in self._kinds) and all(name in self._defaults for name in rest):
                is_array = [name in self._kinds for name in given]
                places[count] = _picked(is_array, False), _picked(is_array, True)
        return places

    def _choose_directly(self, arguments: Sequence[Any], keywords: dict[str, Any], values: Any) -> None:
        """From now on let calls with these codes go straight to machine code."""
        if len(arguments) not in self._places:
            return
        given = dict(zip(self._parameters, arguments, strict=False)) | keywords
        options = self._defaults | {name: plain_code(code) for name, code in given.items() if name not in self._kinds}
        with _CHOOSING:
            function = self._batched.specialize(**options)
            self._kept.append(function)
            fields = getattr(values, "_fields", None)
            if not options and fields is None:
                self.__call__ = function.direct_call(self.general_call)
                return
            general = partial(self._with_options, options)
            direct = function.direct_call(general)
            if direct is not general:  # there is machine code
                codes = self._places[len(arguments)][0](arguments)
                self._direct[(codes, *keywords.items()) if keywords else codes] = direct
                self.__call__ = self._call_by_codes(type(values) if fields else None)

    def _with_options(self, options: Mapping[str, Any], *arrays: Any) -> Any:
        return self.general_call(**dict(zip(self._kinds, arrays, strict=True)), **options)

    def _call_by_codes(self, named: Any) -> Callable[..., Any]:
        """Return the call that looks its codes up; it labels the results of single samples."""
        general, places, known = self.general_call, self._places, self._direct
        whole = [named._fields.index(code) for code in self._codes] if named else []

        def call(*arguments: Any, **keywords: Any) -> Any:
            place = places.get(len(arguments))
            if place is None:
                return general(*arguments, **keywords)
            codes = place[0](arguments)
            try:
                direct = known.get((codes, *keywords.items()) if keywords else codes)
            except TypeError:  # a code that cannot be looked up, such as an array
                direct = None
            if direct is None:
                return general(*arguments, **keywords)
            values = direct(*place[1](arguments))
            if values.__class__ is not tuple:
                return values
            if not whole:
                return named._make(values)
            turned = list(values)
            for k in whole:
                turned[k] = np.int64(turned[k])
            return named._make(turned)

        return call


def _picked(is_array: Sequence[bool], wanted: bool) -> Callable[..., Any]:
    """What picks the arrays or the codes of positional arguments, as a tuple."""
    places = [k for k, which in enumerate(is_array) if which is wanted]
    if not places or places[-1] - places[0] + 1 == len(places):
        return itemgetter(slice(places[0], places[-1] + 1) if places else slice(0))
    return itemgetter(*places)


def _elements(values: Iterable[Any]) -> Iterator[Any]:
    return (element for value in values if isinstance(value, np.ndarray) for element in value.flat)


def _floats(value: Any) -> Any:
    return value.astype(np.float64) if isinstance(value, np.ndarray) else value


def _never_ok_beside_nan(formula: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(formula)
    def guarded(*arguments: Any, **options: Any) -> Any:
        result = formula(*arguments, **options)
        values = [boxed(value).ravel() for name, value in result._asdict().items() if name != "rv"]
        return result._replace(rv=where(are_finite(*values), result.rv, float(NOTOK)))

    return guarded
