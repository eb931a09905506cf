"""WebAssembly modules in a real engine, called with arrays."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import wasmtime

from chasles.engine.targets.wasm import WasmProgram


class Loaded:
    """A module that is ready to be called."""

    def __init__(self, program: WasmProgram) -> None:
        self._program = program
        engine = wasmtime.Engine()
        self._store = wasmtime.Store(engine)
        module = wasmtime.Module(engine, program.binary)
        self._exports = wasmtime.Instance(self._store, module, []).exports(self._store)
        self._memory: Any = self._exports["memory"]
        self.free = json.loads(description(program.binary))["free"]

    def call(self, name: str, *arguments: Any) -> list[np.ndarray[Any, Any]]:
        """Results (count, *shape) of a kernel for arguments (count, *shape)."""
        kernel = self._program.kernels[name]
        arrays = [np.asarray(x, dtype=np.float64) for x in arguments]
        count = len(arrays[0])
        steps = list(arrays[1].shape[1:3]) if kernel.shape == "scan" else []
        known = dict(zip("Sk", steps, strict=False))
        shapes = [[known.get(str(dim), dim) for dim in array.dims] for array in kernel.outputs]
        records = np.concatenate([x.reshape(count, -1) for x in arrays], axis=1)
        sizes = [int(np.prod(shape)) for shape in shapes]
        outputs = self.free + records.nbytes
        missing = outputs + 8 * count * sum(sizes) - self._memory.data_len(self._store)
        if missing > 0:
            self._memory.grow(self._store, -(-missing // 65536))
        self._numbers(self.free, records.size)[:] = records.ravel()
        function: Any = self._exports[name]
        function(self._store, count, self.free, outputs, *steps)
        results = self._numbers(outputs, count * sum(sizes)).reshape(count, -1).copy()
        parts = np.split(results, np.cumsum(sizes)[:-1], axis=1)
        return [part.reshape(count, *shape) for part, shape in zip(parts, shapes, strict=True)]

    def again(self, name: str, count: int) -> Callable[[], None]:
        """A call of a kernel on the records that the last call left in the memory."""
        function: Any = self._exports[name]
        kernel = self._program.kernels[name]
        outputs = self.free + 8 * count * sum(int(np.prod(array.dims)) for array in kernel.inputs)
        return lambda: function(self._store, count, self.free, outputs)

    def _numbers(self, address: int, count: int) -> np.ndarray[Any, Any]:
        start = ctypes.addressof(self._memory.data_ptr(self._store).contents)
        return np.ctypeslib.as_array((ctypes.c_double * count).from_address(start + address))


def description(binary: bytes) -> str:
    """The text of the custom section ``chasles``, the last of the module."""
    start = binary.rindex(b"\x07chasles") + 8
    return binary[start:].decode()
