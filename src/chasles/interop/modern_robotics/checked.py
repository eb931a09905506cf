"""Compiled functions whose complaints name the book's argument, its shape, and the one that it must have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from chasles.engine import Function, trace
from chasles.engine.kernels import Shape
from chasles.errors import ArgumentError
from chasles.geometry.batched import Batched
from chasles.geometry.kinds import Kind

Result = TypeVar("Result", covariant=True)
Dimensions = tuple[int | str, ...]


class BookFormula(Batched[Result]):
    """A formula of fixed shapes over batches; see `Batched`."""

    def general_call(self, *arguments: Any, out: Any = None, check: bool = False, **keywords: Any) -> Any:
        """Compute, or say what is wrong with an argument."""
        try:
            return super().general_call(*arguments, out=out, check=check, **keywords)
        except (TypeError, ValueError) as error:
            given = {**dict(zip(self._parameters, arguments, strict=False)), **keywords}
            shapes = {name: kind.shape for name, kind in self._kinds.items() if name in given}
            raise complaint(error, self.__name__, shapes, [given[name] for name in shapes]) from None


class BookProgram(Function):
    """A program whose shapes depend on the number of joints; see `Function`."""

    def general_call(self, *arguments: Any, out: Any = None) -> Any:
        """Compute, or say what is wrong with an argument."""
        try:
            return super().general_call(*arguments, out=out)
        except (TypeError, ValueError) as error:
            shapes = {array.name: array.dims for array in self.kernel.inputs}
            raise complaint(error, self.__name__, shapes, arguments) from None


def book_formula(
    *, outputs: Sequence[str] | None = None, **inputs: Kind | tuple[int, ...]
) -> Callable[[Callable[..., Result]], BookFormula[Result]]:
    """Make a function over batches of a formula for one sample; see `chasles.geometry.batched.batched`."""
    return lambda formula: BookFormula(formula, inputs, outputs, {})


def book_program(
    name: str,
    formula: Callable[..., Any],
    inputs: Mapping[str, tuple[int, ...]],
    outputs: Sequence[str] | None = None,
    shape: Shape = "map",
) -> BookProgram:
    """Compile a formula for one sample, or one step of a scan or solve."""
    return BookProgram(trace(formula, inputs, name=name, outputs=outputs), shape=shape)


def complaint(error: Exception, function: str, shapes: Mapping[str, Dimensions], arguments: Sequence[Any]) -> Exception:
    """What to raise instead of an error: an `ArgumentError` that names an argument, if one is the cause."""
    if isinstance(error, ArgumentError) or len(arguments) != len(shapes):
        return error
    leads = {}
    for (name, dims), argument in zip(shapes.items(), arguments, strict=True):
        try:
            leads[name] = lead_of(argument, dims, function, name)
        except ArgumentError as cause:
            return cause
    try:
        np.broadcast_shapes(*leads.values())
    except ValueError:
        batches = ", ".join(f"{name} {lead}" for name, lead in leads.items() if lead)
        return ArgumentError(f"{function}: the batch axes of the arguments do not broadcast: {batches}")
    return error


def lead_of(argument: Any, dims: Dimensions, function: str, name: str) -> tuple[int, ...]:
    """Return the batch axes of an argument, or raise if it is no array of numbers with these dimensions at its end."""
    shape = numbers(argument, function, name).shape
    lead = shape[: len(shape) - len(dims)]
    sizes = shape[len(lead) :]
    if len(sizes) < len(dims) or any(isinstance(d, int) and d != size for d, size in zip(dims, sizes, strict=True)):
        raise ArgumentError(f"{function}: {name} has shape {shape}, not {written(dims)}")
    return lead


def numbers(argument: Any, function: str, name: str) -> NDArray[np.float64]:
    """Return an argument as an array of floats, or say that it is none."""
    try:
        given = np.asarray(argument)
    except ValueError:
        raise ArgumentError(f"{function}: {name} is a ragged list; it must be an array of numbers") from None
    if given.dtype.kind not in "fiub":
        raise ArgumentError(f"{function}: {name} must be an array of real numbers, not {_shortened(argument)}")
    return given.astype(np.float64, copy=False)


def written(dims: Dimensions) -> str:
    """Dimensions as messages show them: ``(..., 4, 4)``."""
    return f"({', '.join(['...', *map(str, dims)])})"


def _shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
