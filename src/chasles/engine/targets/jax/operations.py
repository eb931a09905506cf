"""Programs as operations of ``jax.numpy``, long ones in levels, and loops around them, for accelerators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from chasles.engine.kernels.shapes import Kernel
from chasles.engine.program.operations import OPERATIONS
from chasles.engine.program.program import Program
from chasles.engine.targets.batches import common_batch
from chasles.engine.targets.levels import Levels, is_long, levels

#: Computes a kernel of arrays with leading batch axes.
Run = Callable[[Kernel, Sequence[Any]], Sequence[Any]]


@cache
def translations() -> dict[str, Callable[..., Any]]:
    """Return JAX's functions for the operations of programs."""
    import jax.numpy as jnp

    return {
        "add": jnp.add, "sub": jnp.subtract, "mul": jnp.multiply, "div": jnp.divide, "neg": jnp.negative,
        "power": jnp.power, "abs": jnp.abs, "sqrt": jnp.sqrt, "exp": jnp.exp, "log": jnp.log, "sin": jnp.sin,
        "cos": jnp.cos, "tan": jnp.tan, "asin": jnp.arcsin, "acos": jnp.arccos, "atan": jnp.arctan,
        "atan2": jnp.arctan2, "sinh": jnp.sinh, "cosh": jnp.cosh, "tanh": jnp.tanh, "sign": jnp.sign,
        "floor": jnp.floor, "minimum": jnp.minimum, "maximum": jnp.maximum, "less": jnp.less,
        "less_equal": jnp.less_equal, "equal": jnp.equal, "both": jnp.logical_and, "either": jnp.logical_or,
        "negated": jnp.logical_not, "where": jnp.where,
    }  # fmt: skip


def run_kernel(kernel: Kernel, run_step: Run, arrays: Sequence[Any]) -> list[Any]:
    """Run a kernel: a map by operations, a loop by JAX's around its step."""
    if kernel.shape == "map":
        return run(kernel.program, arrays)
    return (_scan if kernel.shape == "scan" else _solve)(kernel, run_step, arrays)


def _scan(kernel: Kernel, run_step: Run, arrays: Sequence[Any]) -> list[Any]:
    """Run a loop over time by ``lax.scan``."""
    import jax
    import jax.numpy as jnp

    state, given, *parameters = arrays
    batch, once = common_batch(kernel.inputs, arrays), Kernel(kernel.program)
    state = jnp.broadcast_to(state, (*batch, *state.shape[-1:]))
    axis = given.ndim - len(kernel.inputs[1].dims)
    steps = jnp.moveaxis(given, (axis, axis + 1), (0, 1))

    def substep(state: Any, given: Any) -> tuple[Any, list[Any]]:
        following, *samples = run_step(once, [state, given, *parameters])
        if kernel.repeats:
            following, _ = jax.lax.while_loop(
                lambda carry: (carry[1] > 0.0).any(),
                lambda carry: tuple(run_step(once, [carry[0], given, *parameters])[:2]),
                (following, samples[0]),
            )
        return following, samples

    def step(state: Any, given: Any) -> tuple[Any, list[Any]]:
        state, samples = substep(state, given[0])
        state, _ = jax.lax.scan(lambda x, u: (substep(x, u)[0], None), state, given[1:])
        return state, samples

    final, samples = jax.lax.scan(step, state, steps)
    return [final, *(jnp.moveaxis(sample, 0, len(batch)) for sample in samples)]


def _solve(kernel: Kernel, run_step: Run, arrays: Sequence[Any]) -> list[Any]:
    """Iterate by ``lax.while_loop`` until each sample is done."""
    import jax
    import jax.numpy as jnp

    state, *parameters, limit = arrays
    batch, once = common_batch(kernel.inputs, arrays), Kernel(kernel.program)

    def running(iterations: Any, done: Any) -> Any:
        return ~(done > 0.0) & (iterations < limit)

    def step(carry: Any) -> Any:
        state, iterations, done = carry
        following, following_done = run_step(once, [state, *parameters])
        going = running(iterations, done)
        return (
            jnp.where(going[..., None], following, state),
            jnp.where(going, iterations + 1.0, iterations),
            jnp.where(going, following_done, done),
        )

    zeros = jnp.zeros(batch, state.dtype)
    start = (jnp.broadcast_to(state, (*batch, *state.shape[-1:])), zeros, zeros)
    return list(jax.lax.while_loop(lambda carry: running(*carry[1:]).any(), step, start))


def run(program: Program, arrays: Sequence[Any]) -> list[Any]:
    """Run a program on whole batches: operation by operation, or in levels if it is long."""
    import jax
    import jax.numpy as jnp

    dtype = arrays[0].dtype if arrays else jnp.result_type(float)
    batch: tuple[int, ...] = ()
    scalars: list[Any] = []
    for array, argument in zip(arrays, program.inputs, strict=True):
        leading = array.shape[: array.ndim - len(argument.shape)]
        batch = leading or batch
        flat = array.reshape(*leading, argument.size)
        scalars += [flat[..., k] for k in range(argument.size)]
    if is_long(program):
        rows = _in_levels(levels(program), jnp.stack([jnp.broadcast_to(x, batch) for x in scalars]))
    else:
        results = [jnp.broadcast_to(x, batch) for x in _scalars(program, scalars, dtype)]
        # XLA would compute a whole program anew for each number of the stacked result, 18 times as long.
        rows = jnp.stack(jax.lax.optimization_barrier(results)) if results else jnp.zeros((0, *batch), dtype)
    ends = np.cumsum([a.size for a in program.outputs]).tolist()
    parts = [jnp.moveaxis(rows[end - a.size : end], 0, -1) for a, end in zip(program.outputs, ends, strict=True)]
    return [part.reshape(*batch, *a.shape) for a, part in zip(program.outputs, parts, strict=True)]


def _in_levels(program: Levels, inputs: Any) -> Any:
    """Run a program of rows, by one loop for the products of each stage."""
    import jax
    import jax.numpy as jnp

    dtype, batch = inputs.dtype, inputs.shape[1:]
    constants = program.constants.reshape(-1, *[1] * len(batch))
    row = len(inputs) + len(constants)
    known = [inputs, jnp.broadcast_to(constants, (len(constants), *batch)).astype(dtype)]
    values = jnp.concatenate([*known, jnp.zeros((program.rows - row, *batch), dtype)])

    def products(carry: Any, operands: Any) -> Any:
        values, row = carry
        x, y, z, w = values[operands]
        return (jax.lax.dynamic_update_slice_in_dim(values, x * y + z * w, row, 0), row + len(x)), None

    for stage in program.stages:
        if len(stage.products):
            (values, _), _ = jax.lax.scan(products, (values, row), stage.products)
            row += stage.products.shape[0] * stage.products.shape[2]
        for operation, operands in stage.others:
            kinds = OPERATIONS[operation].takes
            given = [values[x] if kind == "r" else values[x] > 0.0 for x, kind in zip(operands, kinds, strict=True)]
            computed = translations()[operation](*given).astype(dtype)
            values = jax.lax.dynamic_update_slice_in_dim(values, computed, row, 0)
            row += operands.shape[1]
    return values[program.results]


def _scalars(program: Program, inputs: Sequence[Any], dtype: Any) -> list[Any]:
    values: list[Any] = []
    for operation, *rest in program.instructions:
        if operation == "constant":
            values.append(np.asarray(rest[0], dtype))
        elif operation == "input":
            values.append(inputs[rest[0]])
        elif operation == "item":
            values.append(values[rest[0]][rest[1]])
        elif operation == "call":
            values.append(_scalars(program.programs[rest[0]], [values[k] for k in rest[1:]], dtype))
        else:
            values.append(translations()[operation](*[values[k] for k in rest]))
    return [values[k] for k in program.results]
