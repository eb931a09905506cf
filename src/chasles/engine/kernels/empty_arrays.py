"""Kernels with empty arrays, such as the memory of a law that has none: NumPy's ufuncs know no axis of size 0.

Machine code is made for the other arrays alone; what is empty is checked and given here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chasles.base.errors import ArgumentError
from chasles.engine.kernels.shapes import Kernel
from chasles.engine.program.program import Program


def without_empty(kernel: Kernel) -> Kernel | None:
    """Return a kernel without its empty arrays, the same one if there are none; None where nothing would be left."""
    program = kernel.program
    inputs, outputs = ([a for a in arrays if a.size] for arrays in (program.inputs, program.outputs))
    if len(inputs) == len(program.inputs) and len(outputs) == len(program.outputs):
        return kernel
    needed = program.inputs[: {"map": 0, "scan": 2, "solve": 1}[kernel.shape]]
    if not inputs or not outputs or not all(array.size for array in needed):
        return None
    parts = program.instructions, program.results, program.programs
    return Kernel(Program(program.name, tuple(inputs), tuple(outputs), *parts, True), kernel.shape)


class BesideEmpty:
    """A ufunc of the arrays of a kernel that are not empty, called with all of them.

    Parameters
    ----------
    kernel
        The kernel with all its arrays.
    dtype
        Type of new results.
    ufunc
        Computes the kernel of `without_empty`.
    """

    def __init__(self, kernel: Kernel, dtype: str, ufunc: Callable[..., Any]) -> None:
        self._inputs, self._outputs, self._dtype, self._ufunc = kernel.inputs, kernel.outputs, dtype, ufunc
        self._first_rank = next(len(core.dims) for core in kernel.inputs if 0 not in core.dims)

    def __call__(self, *arguments: Any, out: Any = None) -> Any:
        """Compute as NumPy's ufuncs do."""
        arrays = [np.asarray(argument) for argument in arguments]
        batch, sizes = self._batch_and_sizes(arrays)
        full = [array for array, core in zip(arrays, self._inputs, strict=True) if 0 not in core.dims]
        lead = full[0].ndim - self._first_rank
        if full[0].shape[:lead] != batch:
            full[0] = np.broadcast_to(full[0], (*batch, *full[0].shape[lead:]))
        shapes: list[tuple[Any, ...]] = [
            (*batch, *(sizes.get(dim, dim) for dim in core.dims)) for core in self._outputs
        ]
        results = [np.empty(shape, self._dtype) for shape in shapes] if out is None else self._given(out, shapes)
        self._ufunc(*full, out=tuple(r for r, core in zip(results, self._outputs, strict=True) if 0 not in core.dims))
        if out is None:  # as ufuncs do: no arrays of no dimension
            results = [result if result.ndim else result[()] for result in results]
        return results[0] if len(results) == 1 else tuple(results)

    def _batch_and_sizes(self, arrays: list[np.ndarray[Any, Any]]) -> tuple[tuple[int, ...], dict[int | str, int]]:
        """Return the batch shape of arguments, and the sizes of their core axes by name."""
        sizes: dict[int | str, int] = {}
        batches = set()
        for array, core in zip(arrays, self._inputs, strict=True):
            lead = array.ndim - len(core.dims)
            fits = lead >= 0 and array.shape[lead:] == core.dims
            for dim, size in () if fits else zip(core.dims, array.shape[max(lead, 0) :], strict=False):
                if lead < 0 or sizes.setdefault(dim, size if isinstance(dim, str) else dim) != size:
                    raise ArgumentError(f"{core.name} has shape {array.shape}, which does not fit")
            batches.add(array.shape[:lead])
        return batches.pop() if len(batches) == 1 else np.broadcast_shapes(*batches), sizes

    def _given(self, out: Any, shapes: list[tuple[Any, ...]]) -> list[Any]:
        results = list(out) if isinstance(out, tuple) else [out]
        if len(results) != len(shapes) or not all(isinstance(array, np.ndarray) for array in results):
            raise TypeError("'out' must be a tuple of arrays" if len(shapes) > 1 else "return arrays must be arrays")
        for array, core, shape in zip(results, self._outputs, shapes, strict=True):
            if array.shape != shape:
                raise ArgumentError(f"out, for {core.name}, has shape {array.shape}; expected {shape}")
        return results
