"""Routines of SpaceLib: formulas for one sample as functions over batches, with codes among their arguments.

`chasles.geometry.batched` compiles the formulas. A `Routine` adds what SpaceLib's users need:

- codes (axes, types of joint) stand anywhere, as in C; a call goes straight to the machine code for its codes;
- a point of three numbers is answered in SpaceLib's words;
- a return value is never OK beside a result that is not finite.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial, wraps
from operator import itemgetter
from typing import Any, TypeVar

import numpy as np

from chasles.base.errors import ArgumentError
from chasles.engine import where
from chasles.engine.function import Function
from chasles.engine.program.scalar import Traced, boxed
from chasles.engine.running.compiling import COMPILING
from chasles.engine.symbols import is_symbolic
from chasles.geometry.batched import Batched
from chasles.geometry.vectors import are_finite
from chasles.interop.spacelib.codes import NOTOK, POINT, plain_code

Result = TypeVar("Result", covariant=True)


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
    """
    return lambda formula: Routine(formula, inputs, codes)


class Routine(Batched[Result]):
    """A routine of SpaceLib, called on arrays over any leading batch axes; see `Batched`."""

    __slots__ = ()

    def __init__(self, formula: Callable[..., Result], inputs: Mapping[str, Any], codes: Sequence[str]) -> None:
        in_order = {name: inputs[name] for name in inspect.signature(formula).parameters if name in inputs}
        guarded = _never_ok_beside_nan(formula) if "rv" in codes else formula
        super().__init__(guarded, in_order | dict(inputs), None, dict.fromkeys(codes, int))
        self._name = formula.__name__.removeprefix("_")
        self._codes = codes
        self._places = self._places_by_count()
        self._direct: dict[Any, Callable[..., Any]] = {}

    def general_call(self, *arguments: Any, out: Any = None, check: bool = False, **keywords: Any) -> Any:
        """Compute, whatever the arguments are; single samples need not come here once the formula is compiled."""
        values_in = [self._examined(*pair) for pair in zip(self._parameters, arguments, strict=False)]
        values_in += arguments[len(self._parameters) :]  # too many, which `Batched` tells
        named = {name: self._examined(name, argument) for name, argument in keywords.items()}
        if out is not None or check:
            return super().general_call(*values_in, out=out, check=check, **named)
        if any(map(is_symbolic, values_in)) or any(map(is_symbolic, named.values())):
            return self._formula_of_symbols(values_in, named)
        values = super().general_call(*values_in, **named)
        self._go_straight(arguments, keywords, type(values))
        return values

    def _examined(self, name: str, argument: Any) -> Any:
        """Return an argument, and a code as a plain number; refuse points without their fourth coordinate."""
        kind = self._kinds.get(name)
        if kind is None:
            return plain_code(argument)
        if kind is POINT and _has_three_coordinates(argument):
            raise ArgumentError(f"{self.usage}: {name} has three coordinates; a point is [x, y, z, 1]")
        return argument

    def _formula_of_symbols(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """Call the formula on traced scalars or symbols; where SymPy cannot, numbers that it holds become floats."""
        try:
            with np.errstate(all="ignore"):  # SymPy's work on a NaN is no event in the caller's arithmetic
                return super().general_call(*arguments, **named)
        except TypeError as error:
            if any(
                isinstance(element, Traced) for values in (arguments, named.values()) for element in _elements(values)
            ):
                raise
            try:
                floats = {name: self._floats(name, value) for name, value in named.items()}
                return super().general_call(*map(self._floats, self._parameters, arguments), **floats)
            except TypeError:
                raise ArgumentError(f"{self.usage}: SymPy finds no formula of these symbols ({error})") from None

    def _floats(self, name: str, argument: Any) -> Any:
        return np.asarray(argument, dtype=np.float64) if name in self._kinds else argument

    def _choose_directly(self, function: Function, options: Mapping[str, Any]) -> None:
        """Leave the choice to `_go_straight`."""

    def _places_by_count(self) -> dict[int, tuple[Callable[..., Any], Callable[..., Any]]]:
        """For each number of arguments by place that have all arrays among them: what picks codes, and arrays."""
        places_of = {}
        for count in range(len(self._parameters) + 1):
            leading, rest = self._parameters[:count], self._parameters[count:]
            allowed = {
                *self._kinds,
                *(name for name, value in self._options.items() if value is inspect.Parameter.empty),
            }
            if allowed.isdisjoint(rest):
                is_array = [name in self._kinds for name in leading]
                places_of[count] = _picked(is_array, False), _picked(is_array, True)
        return places_of

    def _go_straight(self, arguments: Sequence[Any], keywords: Mapping[str, Any], result: Any) -> None:
        """From now on let calls with these codes go straight to machine code."""
        if len(arguments) not in self._places:
            return
        by_name = {**dict(zip(self._parameters, arguments, strict=False)), **keywords}
        options = {name: plain_code(code) for name, code in by_name.items() if name not in self._kinds}
        with COMPILING:
            function = self.specialize(**options)
            if not self._options and not self._codes:
                self._go_directly(function)
                return
            general = partial(self.general_call, **options)
            direct = function.direct_call(general)
            if direct is not general:  # there is machine code
                codes = self._places[len(arguments)][0](arguments)
                self._direct[(codes, *keywords.items()) if keywords else codes] = direct
                code_index = result._fields.index(self._codes[0]) if self._codes else None
                self.__call__ = self._call_by_codes(code_index)  # type: ignore[method-assign]

    def _call_by_codes(self, code_index: int | None) -> Callable[..., Any]:
        """Return the call that looks its codes up; a result's field `whole` becomes a whole number."""
        general, getters, direct_calls = self.general_call, self._places, self._direct

        def call(*arguments: Any, **keywords: Any) -> Any:
            getter = getters.get(len(arguments))
            if getter is None:
                return general(*arguments, **keywords)
            codes = getter[0](arguments)
            try:
                direct = direct_calls.get((codes, *keywords.items()) if keywords else codes)
            except TypeError:  # a code that cannot be looked up, such as an array
                direct = None
            if direct is None:
                return general(*arguments, **keywords)
            result = direct(*getter[1](arguments))
            if code_index is None or result[code_index].__class__ is not np.float64:
                return result
            values = list(result)
            values[code_index] = np.int64(values[code_index])
            return result._make(values)

        return call


def _picked(is_array: Sequence[bool], arrays: bool) -> Callable[..., Any]:
    """Return a getter of the arrays or the codes among arguments by place, as a tuple."""
    indices = [k for k, is_one in enumerate(is_array) if is_one is arrays]
    if not indices or indices[-1] - indices[0] + 1 == len(indices):
        return itemgetter(slice(indices[0], indices[-1] + 1) if indices else slice(0))
    return itemgetter(*indices)


def _has_three_coordinates(argument: Any) -> bool:
    if isinstance(argument, list | tuple):
        last = argument
        while last and isinstance(last[-1], list | tuple):
            last = last[-1]
        return len(last) == 3 and not isinstance(last[-1], np.ndarray)
    return isinstance(argument, np.ndarray) and argument.shape[-1:] == (3,)


def _elements(values: Iterable[Any]) -> Iterator[Any]:
    return (element for value in values for element in boxed(value).flat)


def _never_ok_beside_nan(formula: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(formula)
    def guarded(*arguments: Any, **options: Any) -> Any:
        result = formula(*arguments, **options)
        values = [boxed(value).ravel() for name, value in result._asdict().items() if name != "rv"]
        return result._replace(rv=where(are_finite(*values), result.rv, float(NOTOK)))

    return guarded
