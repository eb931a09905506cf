"""The primitive of JAX that programs are, with the rules by which JAX differentiates, batches and compiles it."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from chasles.base.errors import ArgumentError
from chasles.engine import derivatives
from chasles.engine.kernels.shapes import Kernel
from chasles.engine.program.program import Program
from chasles.engine.targets.jax import operations

#: Gives the address of a map's loop in a type of numbers for so many samples, and the owner of that code.
LoopOf = Callable[[Program, str, int], tuple[int, object]]


@dataclass(frozen=True)
class Call:
    """A program as a primitive's parameter.

    Attributes
    ----------
    program
        Program to compute.
    loop_of
        Function that gives processors machine code; None if they run operations.
    base, wrt, is_adjoint
        If it is a derivative of another program, which is linear in its last inputs: that program, the inputs that
        move, and whether it maps adjoints of outputs to adjoints of inputs, or else directions to directions.
    """

    program: Program
    loop_of: LoopOf | None
    base: Program | None = None
    wrt: tuple[str, ...] = ()
    is_adjoint: bool = False

    def bind(self, arrays: Sequence[Any]) -> list[Any]:
        """Compute, with batch axes that broadcast; an array without them serves all samples."""
        import jax.numpy as jnp

        leading = []
        for array, argument in zip(arrays, self.program.inputs, strict=True):
            batch_axes = max(array.ndim - len(argument.shape), 0)
            if array.shape[batch_axes:] != argument.shape:
                expected = ", ".join(["...", *map(str, argument.shape)])
                name = f"{self.program.name}: {argument.name}"
                raise ArgumentError(f"{name} has shape {array.shape}; expected ({expected})")
            leading.append(array.shape[:batch_axes])
        batch = common_batch(self.program, leading)
        ready = [
            jnp.broadcast_to(x, (*batch, *x.shape[len(axes) :])) if axes else x
            for x, axes in zip(arrays, leading, strict=True)
        ]
        if not ready:
            return operations.run(self.program, [])
        results: list[Any] = _primitive().bind(*ready, call=self)
        return results

    def along(self, wrt: tuple[str, ...]) -> Call:
        """Return the derivative along directions of some inputs."""
        return Call(_jvp(self.program, wrt), self.loop_of, self.program, wrt)

    @property
    def transposed(self) -> Call:
        """The transposed linear map of a derivative."""
        assert self.base is not None
        turned = (_jvp if self.is_adjoint else _vjp)(self.base, self.wrt)
        return Call(turned, self.loop_of, self.base, self.wrt, not self.is_adjoint)


_jvp = cache(derivatives.jvp)
_vjp = cache(derivatives.vjp)


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
        batch = _leading(call, arrays)
        return [jax.core.ShapedArray((*batch, *a.shape), arrays[0].dtype) for a in call.program.outputs]

    @cache
    def compiled(call: Call) -> Callable[..., Any]:
        run: Callable[..., Any] = jax.jit(lambda *arrays: primitive.bind(*arrays, call=call))
        return run

    def differentiate(primals: Any, tangents: Any, *, call: Call) -> Any:
        moving = [k for k, tangent in enumerate(tangents) if type(tangent) is not ad.Zero]
        along = call.along(tuple(call.program.inputs[k].name for k in moving))
        return primitive.bind(*primals, call=call), along.bind([*primals, *(tangents[k] for k in moving)])

    def transpose(adjoints: Any, *arrays: Any, call: Call) -> Any:
        assert call.base is not None
        known = arrays[: len(call.base.inputs)]
        linear = [array.aval for array in arrays[len(known) :]]
        results = call.transposed.bind([*known, *map(ad.instantiate_zeros, adjoints)])
        summed = [x.sum(tuple(range(x.ndim - aval.ndim))) for x, aval in zip(results, linear, strict=True)]
        return [None] * len(known) + summed

    def over_axis(arrays: Any, axes: Any, *, call: Call) -> Any:
        inputs = call.program.inputs
        moved = [x if axis is None else jnp.moveaxis(x, axis, 0) for x, axis in zip(arrays, axes, strict=True)]
        outer = [x.shape[: x.ndim - len(a.shape)] for x, a in zip(moved, inputs, strict=True)]
        inner = max(len(batch) - (axis is not None) for batch, axis in zip(outer, axes, strict=True))
        aligned = [  # all mapped arrays have the new axis before as many others
            x if axis is None else x.reshape(batch[0], *(batch[1:] or [1] * inner), *a.shape)
            for x, batch, axis, a in zip(moved, outer, axes, inputs, strict=True)
        ]
        return call.bind(aligned), [0] * len(call.program.outputs)

    def machine_code(context: Any, *operands: Any, call: Call) -> Any:
        if call.loop_of is None or not all(a.size for a in (*call.program.inputs, *call.program.outputs)):
            return in_operations(context, *operands, call=call)
        batch = _leading(call, context.avals_in)
        target = _target(call.program, call.loop_of, context.avals_in[0].dtype.name, math.prod(batch))
        return jax.ffi.ffi_lowering(target)(context, *operands)

    in_operations = mlir.lower_fun(lambda *arrays, call: operations.run(call.program, arrays), multiple_results=True)
    primitive.def_impl(lambda *arrays, call: compiled(call)(*arrays))
    primitive.def_abstract_eval(shapes)
    ad.primitive_jvps[primitive] = differentiate
    ad.primitive_transposes[primitive] = transpose
    batching.primitive_batchers[primitive] = over_axis
    mlir.register_lowering(primitive, in_operations)
    mlir.register_lowering(primitive, machine_code, platform="cpu")
    return primitive


def _leading(call: Call, arrays: Sequence[Any]) -> tuple[int, ...]:
    """Return the batch axes, which all arrays have that have any."""
    shapes = (x.shape[: x.ndim - len(a.shape)] for x, a in zip(arrays, call.program.inputs, strict=True))
    return max(shapes, key=len, default=())


#: Names under which XLA knows machine code, by the loops' addresses, with the handlers, which live as long as XLA.
_TARGETS: dict[int, tuple[str, object]] = {}


def _target(program: Program, loop_of: LoopOf, dtype: str, samples: int) -> str:
    """Return the name under which XLA knows the machine code of a program for so many samples."""
    import jax

    from chasles.engine.targets.native.xla_handler import xla_handler

    loop, owner = loop_of(program, dtype, samples)
    if loop not in _TARGETS:
        handler = xla_handler(Kernel(program), dtype, loop, owner)
        name = f"chasles_{program.digest}_{dtype}_{len(_TARGETS)}"
        pointer = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(handler.address)
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(pointer), platform="cpu")
        _TARGETS[loop] = name, handler
    return _TARGETS[loop][0]


def common_batch(program: Program, batches: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the batch axes to which those of arguments broadcast."""
    given = list(batches)
    try:
        return np.broadcast_shapes(*given)
    except ValueError:
        listing = ", ".join(f"{a.name} {batch}" for a, batch in zip(program.inputs, given, strict=False) if batch)
        message = f"{program.name}: the batch axes of the arguments do not broadcast: {listing}"
        raise ArgumentError(message) from None
