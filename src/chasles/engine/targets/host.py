"""Computations that are no program, with their adjoint, for JAX and PyTorch: Python calls them, in main memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.engine.kernels.shapes import CoreArray

Arrays = Sequence[NDArray[Any]]


@dataclass(frozen=True, eq=False)
class HostFunction:
    """A function of arrays with leading batch axes that broadcast, in double precision, and its derivative.

    Attributes
    ----------
    name
        Name for messages.
    inputs, outputs
        What it takes and returns, without batch axes; all dimensions are numbers.
    defaults
        Values of inputs that may be left out.
    run
        Computes the results, with all batch axes.
    adjoints
        Computes the adjoints of the inputs, with all batch axes, from the inputs and the adjoints of the results.
    """

    name: str
    inputs: tuple[CoreArray, ...]
    outputs: tuple[CoreArray, ...]
    defaults: Mapping[str, Any]
    run: Callable[[Arrays], Arrays]
    adjoints: Callable[[Arrays, Arrays], Arrays]

    @property
    def usage(self) -> str:
        """How it is called."""
        return f"{self.name}({', '.join(core.name for core in self.inputs)})"

    def results(self, arrays: Sequence[Any], dtype: str) -> list[NDArray[Any]]:
        """Return the results in a type of numbers."""
        return [np.array(each, dtype) for each in self.run(_doubles(arrays))]

    def pulled(self, arrays: Sequence[Any], of_results: Sequence[Any], dtype: str) -> list[NDArray[Any]]:
        """Return the adjoints of the inputs in a type of numbers."""
        return [np.array(each, dtype) for each in self.adjoints(_doubles(arrays), _doubles(of_results))]


def _doubles(arrays: Sequence[Any]) -> list[NDArray[Any]]:
    return [np.asarray(each, np.float64) for each in arrays]
