"""The JAX target: functions of JAX's arrays under its ``jit``, ``vmap``, ``jvp`` and ``grad``.

A program is one primitive of JAX, whose derivatives are primitives too: those of the program's exact derivative
programs, to any order. On processors it runs as machine code, which XLA calls directly; on accelerators, or where
asked, it is written as operations of ``jax.numpy``. Loops become ``lax.scan``, iterations ``lax.while_loop`` around
their step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from chasles.base.errors import ArgumentTypeError, import_extra
from chasles.engine.arguments import in_order, shown
from chasles.engine.kernels.shapes import Kernel
from chasles.engine.targets.jax.primitive import Call, LoopOf, common_batch


def lower(kernel: Kernel, loop_of: LoopOf | None = None) -> Callable[..., Any]:
    """Return a kernel as a function of JAX's arrays.

    Parameters
    ----------
    kernel
        Program to translate, with the way to run it.
    loop_of
        Function that gives processors machine code; default none: XLA compiles operations of ``jax.numpy`` there too,
        which takes seconds for programs of a thousand operations.

    Returns
    -------
    Callable
        Function of the kernel's arrays, with leading batch axes that broadcast; it computes in the type to which they
        promote, ``float64`` or ``float32``. Several results are a tuple. Derivatives are exact, forward and reverse, to
        any order. Loops are differentiated along JAX's ``scan``; iterations, and loops that repeat steps, only forward.

    Raises
    ------
    MissingExtraError
        If JAX is not installed.

    Examples
    --------
    >>> import jax
    >>> from chasles.engine import sin, trace
    >>> height = lower(Kernel(trace(lambda q, l: l * sin(q), {"q": (), "l": ()}, name="height")))
    >>> jax.grad(height)(0.0, 2.0)
    Array(2., dtype=float32...)
    """
    import_extra("jax", "jax", "writing a program as a function of JAX")
    run = {"map": _map, "scan": _scan, "solve": _solve}[kernel.shape]
    names = [core.name for core in kernel.inputs]
    usage = f"{kernel.program.name}({', '.join(names)})"

    def function(*arguments: Any, **named: Any) -> Any:
        arrays = _arrays(usage, names, in_order(usage, names, arguments, named, {}))
        results = run(kernel, Call(kernel.program, loop_of), arrays)
        return results[0] if len(results) == 1 else tuple(results)

    function.__name__ = function.__qualname__ = kernel.program.name
    return function


def _arrays(usage: str, names: Sequence[str], arguments: Sequence[Any]) -> list[Any]:
    """Return arguments as arrays of the type in which they are computed."""
    import jax.numpy as jnp

    arrays = []
    for name, argument in zip(names, arguments, strict=True):
        try:
            array = jnp.asarray(argument)
        except (TypeError, ValueError) as error:
            raise ArgumentTypeError(f"{usage}: {name} does not turn into an array of JAX: {error}") from None
        if not jnp.issubdtype(array.dtype, jnp.floating) and array.dtype.kind not in "biu":
            raise ArgumentTypeError(f"{usage}: {name} must be an array of real numbers, not {shown(argument)}")
        arrays.append(array)
    dtype = jnp.result_type(*arrays, 1.0)
    return [array.astype(dtype if dtype == jnp.float64 else jnp.float32) for array in arrays]


def _map(kernel: Kernel, call: Call, arrays: Sequence[Any]) -> list[Any]:
    return call.bind(arrays)


def _scan(kernel: Kernel, call: Call, arrays: Sequence[Any]) -> list[Any]:
    """Run a loop over time by ``lax.scan``."""
    import jax
    import jax.numpy as jnp

    state, given, *parameters = arrays
    batch = _batch(kernel, arrays)
    state = jnp.broadcast_to(state, (*batch, *state.shape[-1:]))
    axis = given.ndim - len(kernel.inputs[1].dims)
    steps = jnp.moveaxis(given, (axis, axis + 1), (0, 1))

    def substep(state: Any, given: Any) -> tuple[Any, list[Any]]:
        following, *samples = call.bind([state, given, *parameters])
        if kernel.repeats:
            following, _ = jax.lax.while_loop(
                lambda carry: (carry[1] > 0.0).any(),
                lambda carry: tuple(call.bind([carry[0], given, *parameters])[:2]),
                (following, samples[0]),
            )
        return following, samples

    def step(state: Any, given: Any) -> tuple[Any, list[Any]]:
        state, samples = substep(state, given[0])
        state, _ = jax.lax.scan(lambda x, u: (substep(x, u)[0], None), state, given[1:])
        return state, samples

    final, samples = jax.lax.scan(step, state, steps)
    return [final, *(jnp.moveaxis(sample, 0, len(batch)) for sample in samples)]


def _solve(kernel: Kernel, call: Call, arrays: Sequence[Any]) -> list[Any]:
    """Iterate by ``lax.while_loop`` until each sample is done."""
    import jax
    import jax.numpy as jnp

    state, *parameters, limit = arrays
    batch = _batch(kernel, arrays)

    def running(iterations: Any, done: Any) -> Any:
        return ~(done > 0.0) & (iterations < limit)

    def step(carry: Any) -> Any:
        state, iterations, done = carry
        following, following_done = call.bind([state, *parameters])
        going = running(iterations, done)
        return (
            jnp.where(going[..., None], following, state),
            jnp.where(going, iterations + 1.0, iterations),
            jnp.where(going, following_done, done),
        )

    zeros = jnp.zeros(batch, state.dtype)
    start = (jnp.broadcast_to(state, (*batch, *state.shape[-1:])), zeros, zeros)
    return list(jax.lax.while_loop(lambda carry: running(*carry[1:]).any(), step, start))


def _batch(kernel: Kernel, arrays: Sequence[Any]) -> tuple[int, ...]:
    leading = (x.shape[: x.ndim - len(core.dims)] for x, core in zip(arrays, kernel.inputs, strict=True))
    return common_batch(kernel.program, leading)
