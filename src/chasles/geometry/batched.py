"""Functions over batches from formulas for one sample, and the kinds of arrays that `check=True` examines."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from chasles.base.errors import ArgumentError, UnknownArgumentError
from chasles.engine import Function, trace
from chasles.engine.family import Family
from chasles.engine.function import OUT
from chasles.engine.program.scalar import boxed
from chasles.engine.program.tracing import checked_shape
from chasles.engine.symbols import exact, is_symbolic

#: Largest distance from the nearest rotation, … that `check=True` lets pass: what sums of rounding errors reach.
CHECK_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Kind:
    """Requirement on an array argument.

    Attributes
    ----------
    shape
        Shape of one sample.
    noun
        Name of such an array; empty if any array of this shape is valid.
    distance
        Function over batches: distance of an array from the nearest valid one.
    remedy
        Advice for an array that does not meet the requirement.
    """

    shape: tuple[int, ...]
    noun: str = ""
    distance: Callable[[Any], Any] | None = None
    remedy: str = ""

    @property
    def shape_text(self) -> str:
        """Shape of a batch of samples, as the docstrings write it: (..., 3, 3)."""
        return f"({', '.join(['...', *map(str, self.shape)])})"

    def check(self, array: object, where: str) -> None:
        """Raise `ArgumentError` with the distance of the worst sample if one is not of this kind.

        NaN passes. Arguments that are not numeric arrays of this shape also pass, as the following call reports them.
        """
        if self.distance is None or not self._fits(array):
            return
        distances = np.asarray(self.distance(array))
        if not np.any(distances > CHECK_TOLERANCE):
            return
        worst = np.unravel_index(np.nanargmax(distances), distances.shape)
        sample = f"sample {tuple(map(int, worst))} of it" if worst else "it"
        raise ArgumentError(
            f"{where} is not a {self.noun}: {sample} is {distances[worst]:.3g} away from one "
            f"(allowed {CHECK_TOLERANCE:g}). {self.remedy}"
        )

    def _fits(self, array: object) -> bool:
        try:
            samples = np.asarray(array)
        except ValueError:  # rows of different lengths
            return False
        return samples.dtype.kind in "biuf" and samples.shape[samples.ndim - len(self.shape) :] == self.shape


def _from_unit(vector: Any) -> Any:
    with np.errstate(over="ignore"):
        return np.abs(np.linalg.norm(np.asarray(vector, dtype=np.float64), axis=-1) - 1.0)


UNIT_QUATERNION = Kind((4,), "unit quaternion", _from_unit, "`normalize_quaternion` makes it one")
UNIT_VECTOR = Kind((3,), "unit vector", _from_unit, "`normalize` makes it one")


Result = TypeVar("Result", covariant=True)


def batched(
    *,
    outputs: Sequence[str] | None = None,
    dtypes: Mapping[str, DTypeLike] | None = None,
    **inputs: Kind | tuple[int, ...],
) -> Callable[[Callable[..., Result]], Batched[Result]]:
    """Make a function over batches from a formula for one sample.

    Parameters
    ----------
    outputs
        Names of the results, for a formula that returns a plain tuple. A named tuple brings its own, and calls return
        such a tuple.
    dtypes
        Types of the results that are flags or codes instead of real numbers.
    **inputs
        Shape of each array argument without batch axes, or its `Kind`. The formula's other arguments are options: each
        combination has its own program, compiled at its first call.

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


class Batched(Family, Generic[Result]):
    """A formula that is called on arrays, over any leading batch axes.

    Compiled code computes arrays of numbers. In a function that is being traced, the formula becomes part of the trace.
    SymPy symbols give formulas. Every call takes two more keywords:

    ``out``
        An array, or a tuple of arrays, for the results.
    ``check``
        True to check arguments that must be rotations, poses, unit quaternions or unit vectors: an `ArgumentError`
        names the invalid sample and its distance from a valid one. Samples with NaN pass; their results are NaN.

    Attributes
    ----------
    formula, reference
        The plain Python function for one sample.
    """

    __slots__ = ()
    if TYPE_CHECKING:

        def __call__(self, *arguments: Any, out: Any = None, check: bool = False, **named: Any) -> Result:
            """Compute the results for each sample."""

    def __init__(
        self,
        formula: Callable[..., Result],
        inputs: Mapping[str, Kind | tuple[int, ...]],
        outputs: Sequence[str] | None,
        dtypes: Mapping[str, DTypeLike],
    ) -> None:
        parameters = inspect.signature(formula).parameters
        super().__init__(formula.__name__, tuple(inputs), parameters=tuple(parameters), reference=formula)
        self.formula = self.__wrapped__ = formula
        self.__module__, self.__qualname__ = formula.__module__, formula.__qualname__
        for name in inputs:
            if name not in parameters:
                raise ArgumentError(f"batched: {self.usage} has no argument {name}")
        self._kinds = {
            name: kind if isinstance(kind, Kind) else Kind(checked_shape(name, kind)) for name, kind in inputs.items()
        }
        self._options = {name: parameters[name].default for name in parameters if name not in inputs}
        self._outputs = outputs
        self._dtypes = dict(dtypes)

    def general_call(self, *arguments: Any, out: Any = None, check: bool = False, **keywords: Any) -> Any:
        """Compute for any arguments; single samples bypass this method once the formula is compiled."""
        arrays, options = self._sorted(arguments, keywords)
        if any(map(is_symbolic, arrays)):
            if check or out is not None:
                raise ArgumentError(f"{self._name}: traced values and symbols go without `check` and `out`")
            return self._symbolic(arrays, self.completed(options))
        if check:
            for array, (name, kind) in zip(arrays, self._kinds.items(), strict=True):
                kind.check(array, f"{self._name}: {name}")
        function = self._chosen(options)
        result = function._runner.call(arrays, out)
        if self._dtypes:
            return self._converted(result, function)
        if arrays is arguments and not check and out is None:
            self._choose_directly(function, options)
        return result

    def general_of(self, function: Function, options: Mapping[str, Any]) -> Callable[..., Any]:
        """Return what calls with these options are left to: symbols come here, too."""
        return partial(self.general_call, **options)

    def option_names(self) -> Sequence[str]:
        """Names of the formula's arguments that are not arrays."""
        return tuple(self._options)

    def completed(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return options completed by defaults; raise an error if any is invalid."""
        for name in options:
            if name not in self._options:
                raise UnknownArgumentError(f"argument of {self.usage}", name, [*self._parameters, "out", "check"])
        chosen = {**self._options, **options}
        missing = [name for name, value in chosen.items() if value is inspect.Parameter.empty]
        if missing:
            raise TypeError(f"{self.usage} misses {', '.join(missing)}")
        return chosen

    def make(self, options: Mapping[str, Any]) -> Function:
        """Return the function for one complete choice of options."""
        shapes = {name: kind.shape for name, kind in self._kinds.items()}
        named = None

        def compute(*arrays: Any) -> Any:
            nonlocal named
            returned = self.formula(**dict(zip(shapes, arrays, strict=True)), **options)
            named = type(returned) if hasattr(returned, "_fields") else None
            return returned

        program = trace(compute, shapes, name=self._name, outputs=self._outputs)
        return Function(program, reference=self.formula, doc=self.__doc__, result=named)

    def signature_of_call(self) -> inspect.Signature:
        """Return the formula's signature with the two more keywords, as `inspect.signature` gives it."""
        signature = inspect.signature(self.formula)
        check = inspect.Parameter("check", inspect.Parameter.KEYWORD_ONLY, default=False)
        return signature.replace(parameters=[*signature.parameters.values(), OUT, check])

    def __reduce__(self) -> Any:
        return self.__qualname__

    def __repr__(self) -> str:
        return f"<{self.usage} over batches>"

    def _converted(self, values: Any, function: Function) -> Any:
        """Turn results that are flags or codes to their types."""
        several = isinstance(values, tuple)
        turned = [
            np.asarray(value).astype(self._dtypes[output.name])[()] if output.name in self._dtypes else value
            for output, value in zip(function.program.outputs, values if several else (values,), strict=True)
        ]
        if not several:
            return turned[0]
        return type(values)(*turned) if hasattr(values, "_fields") else tuple(turned)

    def _symbolic(self, arrays: Sequence[Any], options: Mapping[str, Any]) -> Any:
        """Call the formula itself for each sample, on traced values or symbols."""
        boxes = [boxed(array) for array in arrays]
        leads = []
        for box, (name, kind) in zip(boxes, self._kinds.items(), strict=True):
            axes = box.ndim - len(kind.shape)
            if axes < 0 or box.shape[axes:] != kind.shape:
                raise ArgumentError(f"{self.usage}: {name} has shape {box.shape}; expected {kind.shape_text}")
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


def _stacked(results: Sequence[Any], lead: tuple[int, ...]) -> Any:
    arrays = [boxed(result) for result in results]
    return np.stack(arrays).reshape(lead + arrays[0].shape)
