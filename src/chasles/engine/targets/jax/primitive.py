"""The primitive of JAX that kernels are, with the rules by which JAX differentiates, batches and compiles it."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

import numpy as np

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError
from chasles.engine.derivatives.kernels import ArrayLibrary, adjoints, tangents
from chasles.engine.kernels.shapes import CoreArray, Kernel
from chasles.engine.targets.batches import common_batch, core_shape, core_sizes, with_batch, with_mapped_axis
from chasles.engine.targets.jax import operations

#: Gives the address of a kernel's loop in a type of numbers for so many samples, and the owner of that code.
LoopOf = Callable[[Kernel, str, int], tuple[int, object]]
#: Gives the adjoint of a scan to some of its inputs in a type of numbers: a function of NumPy's arrays.
AdjointOf = Callable[[Kernel, Sequence[str], str], Callable[..., Any]]


@dataclass(frozen=True)
class Call:
    """A kernel, or its derivative, as the primitive's parameter.

    Attributes
    ----------
    kernel
        Kernel to compute.
    loop_of
        Function that gives processors machine code; None if they run operations.
    adjoint_of
        Function that gives the adjoints of scans that repeat steps, which run outside of JAX: XLA's arrays have fixed
        sizes, and the states of a scan that is run backward are as many as its repetitions.
    gives
        Its results, or their directions, or the adjoints of its inputs. A derivative is linear in its last inputs.
    wrt
        Inputs that move, or whose adjoints are given.
    """

    kernel: Kernel
    loop_of: LoopOf | None
    adjoint_of: AdjointOf
    gives: Literal["results", "tangents", "adjoints"] = "results"
    wrt: tuple[str, ...] = ()

    @cached_property
    def inputs(self) -> tuple[CoreArray, ...]:
        """Arrays that it takes."""
        linear = {"results": (), "tangents": self._wanted, "adjoints": self.kernel.outputs}[self.gives]
        return (*self.kernel.inputs, *linear)

    @property
    def outputs(self) -> tuple[CoreArray, ...]:
        """Arrays that it gives."""
        return self._wanted if self.gives == "adjoints" else self.kernel.outputs

    @property
    def _wanted(self) -> tuple[CoreArray, ...]:
        by_name = {core.name: core for core in self.kernel.inputs}
        return tuple(by_name[name] for name in self.wrt)

    @property
    def transposed(self) -> Call:
        """The transposed linear map of a derivative."""
        return replace(self, gives="adjoints" if self.gives == "tangents" else "tangents")

    def bind(self, arrays: Sequence[Any]) -> list[Any]:
        """Compute, with batch axes that broadcast; an array without them serves all samples."""
        import jax.numpy as jnp

        if not arrays:
            return operations.run(self.kernel.program, [])
        ready = with_batch(self.kernel.program.name, self.inputs, arrays, jnp.broadcast_to)
        results: list[Any] = _primitive().bind(*ready, call=self)
        return results

    def compose(self, arrays: Sequence[Any]) -> list[Any]:
        """Compute a derivative by kernels, or a kernel by operations."""
        import jax.numpy as jnp

        def run(kernel: Kernel, given: Sequence[Any]) -> list[Any]:
            return Call(kernel, self.loop_of, self.adjoint_of).bind(given)

        if self.gives == "results":
            return operations.run_kernel(self.kernel, run, arrays)
        library = ArrayLibrary(jnp, run, self._repeated)
        derivative = tangents if self.gives == "tangents" else adjoints
        taken = len(self.kernel.inputs)
        return derivative(self.kernel, self.wrt, arrays[:taken], arrays[taken:], library)

    def _repeated(self, *of: Any) -> list[Any]:
        """Return the adjoints of a scan that repeats steps, by a call from XLA to Python."""
        import jax

        kernel, wrt, arguments, of_results = of
        arrays = [*arguments, *of_results]
        dtype = arrays[0].dtype
        adjoint = self.adjoint_of(kernel, wrt, dtype.name)
        batch, sizes = common_batch(self.inputs, arrays), core_sizes("", self.inputs, arrays)
        shapes = [jax.ShapeDtypeStruct((*batch, *core_shape(core, sizes)), dtype) for core in self.outputs]

        def call(*arrays: Any) -> list[Any]:
            results = adjoint(*map(np.asarray, arrays))
            several = results if isinstance(results, tuple) else (results,)
            return [np.broadcast_to(x, of.shape) for x, of in zip(several, shapes, strict=True)]

        pulled: list[Any] = jax.pure_callback(call, shapes, *arrays)
        return pulled


@cache
def _primitive() -> Any:
    """Return the primitive whose parameter is a call, with JAX's rules for it."""
    import jax
    import jax.numpy as jnp
    from jax.extend.core import Primitive
    from jax.interpreters import ad, batching, mlir

    primitive = Primitive("chasles")
    primitive.multiple_results = True

    def shapes(*arrays: Any, call: Call) -> list[Any]:
        batch, sizes = common_batch(call.inputs, arrays), core_sizes("", call.inputs, arrays)
        return [jax.core.ShapedArray((*batch, *core_shape(core, sizes)), arrays[0].dtype) for core in call.outputs]

    @cache
    def compiled(call: Call) -> Callable[..., Any]:
        run: Callable[..., Any] = jax.jit(lambda *arrays: primitive.bind(*arrays, call=call))
        return run

    def differentiate(primals: Any, directions: Any, *, call: Call) -> Any:
        moving = [k for k, direction in enumerate(directions) if type(direction) is not ad.Zero]
        moved = [directions[k] for k in moving]
        if call.gives == "results":
            along = replace(call, gives="tangents", wrt=tuple(call.inputs[k].name for k in moving))
            return primitive.bind(*primals, call=call), along.bind([*primals, *moved])
        if call.gives == "adjoints" and call.kernel.repeats:
            raise ArgumentError(
                f"{call.kernel.program.name} repeats steps until an error estimate accepts them: its gradient has no "
                "derivative here. Take jax.jacrev(jax.jacfwd(...)) for second derivatives, or steps of a fixed length"
            )

        def of_moving(*arrays: Any) -> Any:
            by_place = dict(enumerate(primals)) | dict(zip(moving, arrays, strict=True))
            return call.compose(list(by_place.values()))

        return jax.jvp(of_moving, [primals[k] for k in moving], moved)

    def transpose(of_results: Any, *arrays: Any, call: Call) -> Any:
        known = arrays[: len(call.kernel.inputs)]
        linear = [array.aval for array in arrays[len(known) :]]
        results = call.transposed.bind([*known, *map(ad.instantiate_zeros, of_results)])
        summed = [x.sum(tuple(range(x.ndim - aval.ndim))) for x, aval in zip(results, linear, strict=True)]
        return [None] * len(known) + summed

    def over_axis(arrays: Any, axes: Any, *, call: Call) -> Any:
        return call.bind(with_mapped_axis(call.inputs, arrays, axes, jnp.moveaxis)), [0] * len(call.outputs)

    def machine_code(context: Any, *operands: Any, call: Call) -> Any:
        sizes = core_sizes("", call.inputs, context.avals_in)
        cores = [*call.inputs, *call.outputs]
        if call.gives != "results" or call.loop_of is None or any(0 in core_shape(core, sizes) for core in cores):
            return composed(context, *operands, call=call)
        samples = math.prod(common_batch(call.inputs, context.avals_in))
        target = _target(call.kernel, sizes, call.loop_of, context.avals_in[0].dtype.name, samples)
        return jax.ffi.ffi_lowering(target)(context, *operands)

    composed = mlir.lower_fun(lambda *arrays, call: call.compose(arrays), multiple_results=True)
    primitive.def_impl(lambda *arrays, call: compiled(call)(*arrays))
    primitive.def_abstract_eval(shapes)
    ad.primitive_jvps[primitive] = differentiate
    ad.primitive_transposes[primitive] = transpose
    batching.primitive_batchers[primitive] = over_axis
    mlir.register_lowering(primitive, composed)
    mlir.register_lowering(primitive, machine_code, platform="cpu")
    return primitive


#: Names under which XLA knows machine code, by the loops' addresses and sizes, with the handlers, which live as long
#: as XLA.
_TARGETS: dict[tuple[int, ...], tuple[str, object]] = {}


def _target(kernel: Kernel, sizes: dict[str, int], loop_of: LoopOf, dtype: str, samples: int) -> str:
    """Return the name under which XLA knows the machine code of a kernel for so many samples."""
    import jax

    from chasles.engine.targets.native.xla_handler import xla_handler

    loop, owner = loop_of(kernel, dtype, samples)
    key = (loop, *sizes.values())
    if key not in _TARGETS:
        handler = xla_handler(kernel, sizes, dtype, loop, owner)
        name = f"chasles_{kernel.program.digest}_{dtype}_{len(_TARGETS)}"
        pointer = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(handler.address)
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(pointer), platform="cpu")
        _TARGETS[key] = name, handler
    return _TARGETS[key][0]
