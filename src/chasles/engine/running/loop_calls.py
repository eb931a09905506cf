"""Calls of a kernel's loop: as a ufunc made by NumPy's C functions, or by ctypes where `cpython` is switched off."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.engine.cpython import switch
from chasles.engine.cpython.gufunc import make_gufunc
from chasles.engine.kernels.shapes import CoreArray
from chasles.engine.targets.arguments import CallArguments, Signature

_LOOP = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)


def loop_call(
    address: int,
    name: str,
    inputs: Sequence[CoreArray],
    outputs: Sequence[CoreArray],
    dtype: str,
    doc: str,
    code: object,
) -> Callable[..., Any]:
    """Return a callable of arrays around a loop in machine code, which broadcasts as NumPy's ufuncs do.

    Parameters
    ----------
    address
        Address of a function ``(char **args, npy_intp *dimensions, npy_intp *steps, void *data)``.
    name, doc
        Name and docstring that error messages and ``help`` show.
    inputs, outputs
        Arrays that it takes and gives.
    dtype
        Type of all arrays, ``"float64"`` or ``"float32"``.
    code
        The owner of the machine code, which the callable keeps alive.
    """
    if not switch.is_on():
        return LoopCall(address, Signature(name, tuple(inputs), tuple(outputs), np.dtype(dtype)), code)
    signature = "->".join(",".join(core.text for core in arrays) for arrays in (inputs, outputs))
    count = {"inputs": len(inputs), "outputs": len(outputs)}
    return make_gufunc(address, **count, signature=signature, dtype=dtype, name=name, doc=doc, code=code)


class LoopCall:
    """A loop in machine code that ctypes calls; the arguments are as for `loop_call`."""

    def __init__(self, address: int, signature: Signature, code: object) -> None:
        self._loop, self._signature, self._code = _LOOP(address), signature, code
        arrays = (*signature.inputs, *signature.outputs)
        self._dims = list(dict.fromkeys(dim for core in arrays for dim in core.dims))

    def __call__(self, *arguments: Any, out: Any = None) -> Any:
        """Compute the outputs of each sample."""
        bound = self._signature.bind(arguments)
        shapes = [self._signature.shape(core, bound) for core in self._signature.outputs]
        results = [np.empty(shape, self._signature.dtype) for shape in shapes]
        count = int(np.prod(bound.batch, dtype=np.int64))
        if count:
            given = zip(bound.arrays, self._signature.inputs, strict=True)
            self._run(count, [_samples(array, core, bound) for array, core in given], results, bound)
        return self._signature.deliver(results, out)

    def _run(
        self, count: int, given: Sequence[NDArray[Any]], results: Sequence[NDArray[Any]], bound: CallArguments
    ) -> None:
        rows = [result.reshape(count, *result.shape[len(bound.batch) :]) for result in results]
        arrays = [*given, *rows]
        sizes = [count, *(dim if isinstance(dim, int) else bound.sizes[dim] for dim in self._dims)]
        steps = [array.strides[0] for array in arrays] + [step for array in arrays for step in array.strides[1:]]
        addresses = [array.__array_interface__["data"][0] for array in arrays]
        self._loop((ctypes.c_void_p * len(addresses))(*addresses), _integers(sizes), _integers(steps), None)


def _integers(values: Sequence[int]) -> ctypes.Array[ctypes.c_ssize_t]:
    return (ctypes.c_ssize_t * len(values))(*values)


def _samples(array: NDArray[Any], core: CoreArray, bound: CallArguments) -> NDArray[Any]:
    """Return an argument with one axis of samples before its core axes."""
    if not array.flags.aligned:
        array = array.copy()
    lead = array.ndim - len(core.dims)
    inner = array.shape[lead:]
    count = int(np.prod(bound.batch, dtype=np.int64))
    if all(size == 1 for size in array.shape[:lead]):
        return np.broadcast_to(array.reshape(inner), (count, *inner))
    return np.broadcast_to(array, (*bound.batch, *inner)).reshape(count, *inner)
