"""Formulas for one sample made functions over batches, compiled when they are first called."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from chasles.engine import Function, Program, trace
from chasles.engine.function import COMPILING, new_dispatcher
from chasles.engine.scalar import boxed
from chasles.engine.symbols import exact, is_symbolic
from chasles.engine.tracing import checked_shape
from chasles.errors import ArgumentError
from chasles.geometry.kinds import Kind

Result = TypeVar("Result", covariant=True)


def batched(
    *, outputs: Sequence[str] | None = None, dtypes: Mapping[str, DTypeLike] | None = None, **inputs: Any
) -> Callable[[Callable[..., Result]], Batched[Result]]:
    """Make a function over batches of a formula for one sample.

    Parameters
    ----------
    outputs
        Names of the results, for a formula that returns a plain tuple. A named tuple brings its own, and calls return
        such a tuple.
    dtypes
        Results that are flags or codes instead of real numbers, with the type to which they are turned.
    **inputs
        Shape of each array argument without batch axes, or its `Kind`. The formula's other arguments are options: each
        choice of them is a program of its own, compiled when it is first called.

    Returns
    -------
    Callable
        A decorator that gives a `Batched`.

    Examples
    --------
    >>> @batched(v=(3,))
    ... def scaled(v, factor=2.0):
    ...     return factor * v
    >>> scaled([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], factor=10.0)
    array([[10., 20., 30.],
           [40., 50., 60.]])
    """
    return lambda formula: Batched(formula, inputs, outputs, dtypes or {})


class Batched(Generic[Result]):
    """A formula that is called on arrays, over any leading batch axes.

    Arrays of numbers are computed by compiled code. In a function that is being traced the formula becomes part of the
    trace, and symbols of SymPy give formulas. Every call takes two more keywords:

    ``out``
        An array, or a tuple of arrays, for the results.
    ``check``
        True to examine the arguments that must be rotations, poses, unit quaternions or unit vectors: an
        `ArgumentError` tells which sample is not, and how far it is from being one. Samples with NaN pass; their
        results are NaN.

    Attributes
    ----------
    formula
        The plain Python function for one sample.
    """

    __slots__ = ("__call__", "__dict__", "__weakref__")
    __call__: Callable[..., Result]

    def __init__(
        self,
        formula: Callable[..., Result],
        inputs: Mapping[str, Any],
        outputs: Sequence[str] | None,
        dtypes: Mapping[str, DTypeLike],
    ) -> None:
        self.formula = self.__wrapped__ = formula
        self.__name__, self.__qualname__ = formula.__name__, formula.__qualname__
        self.__doc__, self.__module__ = formula.__doc__, formula.__module__
        parameters = inspect.signature(formula).parameters
        self._parameters = tuple(parameters)
        for name in inputs:
            if name not in parameters:
                raise ArgumentError(f"batched: {self._usage()} has no argument {name}")
        self._kinds = {
            name: kind if isinstance(kind, Kind) else Kind(checked_shape(name, kind)) for name, kind in inputs.items()
        }
        self._options = {name: parameters[name].default for name in parameters if name not in inputs}
        self._outputs = outputs
        self._dtypes = dict(dtypes)
        self._functions: dict[tuple[Any, ...], tuple[Function, Any]] = {}
        self._dispatcher: Any = None
        self._direct: set[tuple[Any, ...]] = set()
        self.__call__ = self.general_call

    def general_call(self, *arguments: Any, out: Any = None, check: bool = False, **keywords: Any) -> Any:
        """Compute, whatever the arguments are; single samples need not come here once the formula is compiled."""
        arrays, options = self._bound(arguments, keywords)
        if any(map(is_symbolic, arrays)):
            if check or out is not None:
                raise ArgumentError(f"{self.__name__}: traced values and symbols go without `check` and `out`")
            return self._symbolic(arrays, options)
        arrays = [_as_numbers(array) for array in arrays]
        if check:
            for array, (name, kind) in zip(arrays, self._kinds.items(), strict=True):
                kind.check(array, f"{self.__name__}: {name}")
        function, named = self._compiled(options)
        values = function.general_call(*arrays, out=out)
        if named or self._dtypes:
            return self._labelled(values, function, named)
        if out is None and not check and self._parameters[: len(arguments)] == tuple(self._kinds):
            self._choose_directly(function, keywords)
        return values

    def specialize(self, **options: Any) -> Function:
        """Return the compiled function for one choice of options, with its ``program`` and derivatives.

        Examples
        --------
        >>> from chasles.geometry import skew
        >>> skew.specialize().signature
        '(3)->(3,3)'
        """
        return self._compiled(self._complete(options))[0]

    @property
    def program(self) -> Program:
        """The program of the call without options."""
        return self.specialize().program

    def jacobian(self, output: str | None = None, wrt: str | None = None, **options: Any) -> Function:
        """Return the function of the exact partial derivatives; see `chasles.engine.jacobian`."""
        return self.specialize(**options).jacobian(output, wrt)

    def __reduce__(self) -> str:
        return self.__qualname__

    def __repr__(self) -> str:
        return f"<{self._usage()} over batches>"

    def _compiled(self, options: Mapping[str, Any]) -> tuple[Function, Any]:
        """Return the function for a choice of options, and the named tuple that the formula returns, if it does."""
        key = tuple(options.values())
        try:
            known = self._functions.get(key)
        except TypeError:
            raise ArgumentError(
                f"{self._usage()}: options must be plain values, such as tuples in place of lists, not {dict(options)}"
            ) from None
        return known or self._compile(key, options)

    def _compile(self, key: tuple[Any, ...], options: Mapping[str, Any]) -> tuple[Function, Any]:
        shapes = {name: kind.shape for name, kind in self._kinds.items()}
        named = None

        def compute(*arrays: Any) -> Any:
            nonlocal named
            returned = self.formula(**dict(zip(shapes, arrays, strict=True)), **options)
            named = type(returned) if hasattr(returned, "_fields") else None
            return returned

        with COMPILING:
            if key not in self._functions:
                program = trace(compute, shapes, name=self.__name__, outputs=self._outputs)
                self._functions[key] = Function(program, doc=self.__doc__), named
            return self._functions[key]

    def _labelled(self, values: Any, function: Function, named: Any) -> Any:
        several = isinstance(values, tuple)
        turned = [
            np.asarray(value).astype(self._dtypes[output.name])[()] if output.name in self._dtypes else value
            for output, value in zip(function.program.outputs, values if several else (values,), strict=True)
        ]
        if named:
            return named(*turned)
        return tuple(turned) if several else turned[0]

    def _symbolic(self, arrays: Sequence[Any], options: Mapping[str, Any]) -> Any:
        """Call the formula itself for each sample, on traced values or symbols."""
        boxes = [boxed(array) for array in arrays]
        leads = []
        for box, (name, kind) in zip(boxes, self._kinds.items(), strict=True):
            axes = box.ndim - len(kind.shape)
            if axes < 0 or box.shape[axes:] != kind.shape:
                raise ArgumentError(f"{self._usage()}: {name} has shape {box.shape}, not {kind.shape_text}")
            leads.append(box.shape[:axes])
        lead = np.broadcast_shapes(*leads)
        spread = [np.broadcast_to(b, lead + k.shape) for b, k in zip(boxes, self._kinds.values(), strict=True)]

        def sample(index: tuple[int, ...]) -> Any:
            return exact(self.formula(**{n: b[index] for n, b in zip(self._kinds, spread, strict=True)}, **options))

        if not lead:
            return sample(())
        results = [sample(index) for index in np.ndindex(lead)]
        if not isinstance(results[0], tuple):
            return _stacked(results, lead)
        stacks = [_stacked(list(values), lead) for values in zip(*results, strict=True)]
        return type(results[0])(*stacks) if hasattr(results[0], "_fields") else tuple(stacks)

    def _choose_directly(self, function: Function, keywords: Mapping[str, Any]) -> None:
        """From now on let calls with these keywords go straight to machine code."""
        key = tuple(keywords.items())
        if key in self._direct:
            return
        with COMPILING:
            if key in self._direct:
                return
            if not self._options:
                self.__call__ = function.direct_call(self.general_call)
            else:
                self._dispatcher = self._dispatcher or new_dispatcher(self.general_call, self.__name__)
                if self._dispatcher is not None and function.direct_address is not None:
                    general = partial(self.general_call, **keywords)
                    self._dispatcher.add(keywords, function.direct_address, general, function)
                    self.__call__ = self._dispatcher.call
            self._direct.add(key)

    def _bound(self, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return the arrays and the options of a call."""
        if len(arguments) > len(self._parameters):
            raise TypeError(f"{self._usage()} takes at most {len(self._parameters)} arguments, not {len(arguments)}")
        given = dict(zip(self._parameters, arguments, strict=False))
        for name, value in keywords.items():
            if name in given:
                raise TypeError(f"{self._usage()} is given {name} twice")
            given[name] = value
        missing = [name for name in self._kinds if name not in given]
        if missing:
            raise TypeError(f"{self._usage()} misses {', '.join(missing)}")
        arrays = [given.pop(name) for name in self._kinds]
        return arrays, self._complete(given)

    def _complete(self, options: Mapping[str, Any]) -> dict[str, Any]:
        for name in options:
            if name not in self._options:
                raise TypeError(f"{self._usage()} has no argument {name}")
        chosen = {**self._options, **options}
        missing = [name for name, value in chosen.items() if value is inspect.Parameter.empty]
        if missing:
            raise TypeError(f"{self._usage()} misses {', '.join(missing)}")
        return chosen

    def _usage(self) -> str:
        return f"{self.__name__}({', '.join(self._parameters)})"


def _as_numbers(array: Any) -> Any:
    """Turn an array of objects that are numbers, as a part of an array of symbols may be, into one of floats."""
    return array.astype(np.float64) if isinstance(array, np.ndarray) and array.dtype == object else array


def _stacked(results: Sequence[Any], lead: tuple[int, ...]) -> Any:
    arrays = [boxed(result) for result in results]
    return np.stack(arrays).reshape(lead + arrays[0].shape)
