"""Arguments of the book's functions as arrays, and functions compiled for a number of joints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.engine import Function, trace
from chasles.engine.kernels.shapes import Shape
from chasles.engine.validators import doubles

Dimensions = tuple[int | str, ...]


def book_program(
    name: str,
    formula: Callable[..., Any],
    inputs: Mapping[str, tuple[int, ...]],
    outputs: Sequence[str] | None = None,
    shape: Shape = "map",
) -> Function:
    """Compile a formula for one sample, or one step of a scan or solve."""
    return Function(trace(formula, inputs, name=name, outputs=outputs), shape=shape)


def lead_of(argument: object, dims: Dimensions, function: str, name: str) -> tuple[int, ...]:
    """Return the batch axes of an argument, or raise if it is no array of numbers with these dimensions at its end."""
    shape = numbers(argument, function, name).shape
    lead = shape[: len(shape) - len(dims)]
    sizes = shape[len(lead) :]
    if len(sizes) < len(dims) or any(isinstance(d, int) and d != size for d, size in zip(dims, sizes, strict=True)):
        raise ArgumentError(f"{function}: {name} has shape {shape}; expected {written(dims)}")
    return lead


def numbers(argument: object, function: str, name: str) -> NDArray[np.float64]:
    """Return an argument as an array of floats, or say that it is none."""
    return doubles(argument, f"{function}: {name}")


def written(dims: Dimensions) -> str:
    """Dimensions as messages show them: ``(..., 4, 4)``."""
    return f"({', '.join(['...', *map(str, dims)])})"
