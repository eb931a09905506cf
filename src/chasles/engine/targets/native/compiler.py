"""From a kernel to a ufunc in machine code, through the disk cache."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from chasles import _version
from chasles.engine import cache
from chasles.engine.gufunc import make_gufunc
from chasles.engine.kernels import Kernel
from chasles.engine.targets.native import calls, machine
from chasles.engine.targets.native.kernels import ENTRY, has_direct_call, write_kernel
from chasles.errors import CompileError


@dataclass(frozen=True)
class CompiledKernel:
    """A kernel in machine code.

    Attributes
    ----------
    ufunc
        The generalized ufunc.
    code
        The machine code; it must live as long as the ufunc and the direct call.
    """

    kernel: Kernel
    dtype: str
    ufunc: np.ufunc
    code: machine.LoadedCode
    kept: object

    def direct_call(self, general: Callable[..., Any]) -> Any:
        """Return a callable that computes single samples at once and leaves other calls to ``general``."""
        if not has_direct_call(self.kernel):
            return general
        return calls.make_call(
            self.code.address(calls.ENTRY),
            self.code.address_of_data(calls.TABLE),
            general,
            self.dtype,
            self.kernel.program.name,
        )


def compile_kernel(kernel: Kernel, dtype: str, doc: str) -> CompiledKernel:
    """Compile a kernel, or find it in the disk cache."""
    assembly = write_kernel(kernel, dtype, machine.lanes(dtype))
    key = hashlib.sha256(f"{_version.__version__}\n{machine.host()}\n{assembly}".encode()).hexdigest()
    code = _load_cached(key)
    if code is None:
        compiled = machine.compile_to_object(assembly)
        cache.store(key, compiled)
        code = machine.LoadedCode(compiled)
    ufunc, kept = make_gufunc(
        code.address(ENTRY),
        inputs=len(kernel.inputs),
        outputs=len(kernel.outputs),
        signature=kernel.signature,
        dtype=dtype,
        name=kernel.program.name,
        doc=doc,
    )
    return CompiledKernel(kernel, dtype, ufunc, code, kept)


def _load_cached(key: str) -> machine.LoadedCode | None:
    code = cache.load(key)
    try:
        return None if code is None else machine.LoadedCode(code)
    except CompileError:
        return None
