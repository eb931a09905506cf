"""From a kernel to a ufunc in machine code with its direct call, through the disk cache."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from chasles.engine.cpython import calls, objects
from chasles.engine.kernels.shapes import Kernel, Width, few_samples
from chasles.engine.running.loop_calls import loop_call
from chasles.engine.targets.native import machine
from chasles.engine.targets.native.kernel_writer import ENTRY
from chasles.engine.targets.native.kernels import write_kernel


@dataclass(eq=False)
class CompiledKernel:
    """A kernel in machine code.

    Attributes
    ----------
    width
        Samples that it is for.
    ufunc
        Its loop as a callable of arrays; see `chasles.engine.running.loop_calls`.
    code
        The machine code; the ufunc and each direct call keep it alive.
    result
        Named tuple in which the direct call returns several results, or None for a plain tuple.
    direct_address
        Address of the direct call, if there is one.
    """

    kernel: Kernel
    dtype: str
    width: Width
    ufunc: Callable[..., Any]
    code: machine.LoadedCode
    result: type | None
    direct_address: int | None

    @property
    def loop_address(self) -> int:
        """Address of its loop."""
        return self.code.address(ENTRY)

    @property
    def instance_address(self) -> int:
        """Address of the direct call of an instance of `chasles.engine.cpython.vectorcall.DirectlyCalled`."""
        return self.code.address(calls.INSTANCE_ENTRY)

    def direct_call(self, general: Callable[..., Any]) -> Any:
        """Return a callable that computes single samples and short batches at once and leaves others to ``general``."""
        if self.direct_address is None:
            return general
        return calls.python_function(self.direct_address, general, self.kernel.program.name, (self.code, self.result))


def compile_kernel(
    kernel: Kernel,
    dtype: str,
    doc: str,
    result: type | None = None,
    *,
    width: Width = "any",
    only_loop: bool = False,
) -> CompiledKernel:
    """Compile a kernel, or find it in the disk cache.

    Parameters
    ----------
    kernel, dtype
        Kernel to compile, and its type of numbers.
    doc
        Documentation of the ufunc.
    result
        Named tuple in which several results are returned; default a plain tuple.
    width
        Samples that the code is for. All code computes the same, bit for bit: that for few samples does not wait for
        lanes that nobody looks at.
    only_loop
        Whether Python never calls it, so that a direct call is not needed.
    """
    lanes = few_samples(dtype) if width == "few" else machine.lanes(dtype)
    content = f"{kernel.shape} {dtype} {lanes} {width} {kernel.program.digest}"
    functions, write_beside = [ENTRY], None
    is_direct = calls.has_direct_call(kernel, width) and not only_loop
    if is_direct:
        content += f" {machine.fingerprint(calls.__package__)}"
        functions, write_beside = [ENTRY, calls.ENTRY], partial(calls.write_call, kernel, width)
    code = machine.loaded(content, functions, lambda: write_kernel(kernel, dtype, lanes, width, write_beside))
    name = kernel.program.name
    ufunc = loop_call(code.address(ENTRY), name, kernel.inputs, kernel.outputs, dtype, doc, code)
    direct_address = None
    if is_direct:
        earlier: list[object] = [None, None]
        code.needs.append(earlier)
        calls.fill_table(code.address_of_data(objects.TABLE), dtype, result, earlier)
        direct_address = code.address(calls.ENTRY)
    return CompiledKernel(kernel, dtype, width, ufunc, code, result, direct_address)


@cache
def _loop(kernel: Kernel, dtype: str, width: Width) -> tuple[int, machine.LoadedCode]:
    code = compile_kernel(kernel, dtype, "", width=width, only_loop=True).code
    return code.address(ENTRY), code


def loop_of(kernel: Kernel, dtype: str, samples: int) -> tuple[int, machine.LoadedCode]:
    """Return the address of the loop of a kernel without empty arrays, for so many samples, and its code's owner."""
    if not has_widths(dtype):
        return _loop(kernel, dtype, "any")
    return _loop(kernel, dtype, "few" if samples <= few_samples(dtype) else "many")


def has_widths(dtype: str) -> bool:
    """Whether code for many samples differs from that for few."""
    return machine.lanes(dtype) > few_samples(dtype)


def link(few: CompiledKernel, many: CompiledKernel) -> None:
    """Let direct calls hand what their code is not for to one another."""
    if few.direct_address is None or many.direct_address is None:
        return
    for here, there in ((few, many), (many, few)):
        here.code.needs.append(there.code)
        calls.link(here.code.address_of_data(objects.TABLE), there.direct_address or 0)
