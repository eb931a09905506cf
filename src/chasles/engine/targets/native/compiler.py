"""From a kernel to a ufunc in machine code, through the disk cache."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from chasles.cached import cached_property
from chasles.engine.gufunc import make_gufunc
from chasles.engine.kernels import Kernel
from chasles.engine.targets.native import calls, machine, objects
from chasles.engine.targets.native.kernels import ENTRY, has_direct_call, write_kernel


@dataclass(eq=False)
class CompiledKernel:
    """A kernel in machine code.

    Attributes
    ----------
    ufunc
        The generalized ufunc.
    code
        The machine code; the ufunc and each direct call keep it alive.
    result
        Named tuple in which the direct call returns several results, or None for a plain tuple.
    """

    kernel: Kernel
    dtype: str
    ufunc: np.ufunc
    code: machine.LoadedCode
    result: type | None

    @cached_property
    def direct_address(self) -> int | None:
        """Address of the direct call for single samples, if there is one."""
        if not has_direct_call(self.kernel):
            return None
        calls.fill_table(self.code.address_of_data(objects.TABLE), self.dtype, self.result)
        return self.code.address(calls.ENTRY)

    def direct_call(self, general: Callable[..., Any]) -> Any:
        """Return a callable that computes single samples at once and leaves other calls to ``general``."""
        if self.direct_address is None:
            return general
        return calls.python_function(self.direct_address, general, self.kernel.program.name, (self.code, self.result))


def compile_kernel(
    kernel: Kernel, dtype: str, doc: str, result: type | None = None, most_lanes: int | None = None
) -> CompiledKernel:
    """Compile a kernel, or find it in the disk cache."""
    lanes = machine.lanes(dtype) if most_lanes is None else min(machine.lanes(dtype), most_lanes)
    content = f"{kernel.shape} {dtype} {lanes} {kernel.program.digest}"
    functions = [ENTRY, calls.ENTRY] if has_direct_call(kernel) else [ENTRY]
    code = machine.loaded(content, functions, lambda: write_kernel(kernel, dtype, lanes))
    ufunc = make_gufunc(
        code.address(ENTRY),
        inputs=len(kernel.inputs),
        outputs=len(kernel.outputs),
        signature=kernel.signature,
        dtype=dtype,
        name=kernel.program.name,
        doc=doc,
        code=code,
    )
    return CompiledKernel(kernel, dtype, ufunc, code, result)
