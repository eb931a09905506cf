"""Programs as operations of ``jax.numpy``, for accelerators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from chasles.engine.program.program import Program


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


def run(program: Program, arrays: Sequence[Any]) -> list[Any]:
    """Run a program operation by operation on whole batches."""
    import jax.numpy as jnp

    dtype = arrays[0].dtype if arrays else jnp.result_type(float)
    batch: tuple[int, ...] = ()
    scalars: list[Any] = []
    for array, argument in zip(arrays, program.inputs, strict=True):
        leading = array.shape[: array.ndim - len(argument.shape)]
        batch = leading or batch
        flat = array.reshape(*leading, argument.size)
        scalars += [flat[..., k] for k in range(argument.size)]
    results = [jnp.broadcast_to(x, batch) for x in _scalars(program, scalars, dtype)]
    outputs = []
    position = 0
    for argument in program.outputs:
        part = results[position : position + argument.size]
        position += argument.size
        stacked = jnp.stack(part, axis=-1) if part else jnp.zeros((*batch, 0), dtype)
        outputs.append(stacked.reshape(*batch, *argument.shape))
    return outputs


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
