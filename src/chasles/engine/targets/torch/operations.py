"""Programs as operations of PyTorch, and loops around them, for accelerators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from chasles.engine.kernels.shapes import Kernel
from chasles.engine.program.operations import OPERATIONS
from chasles.engine.program.program import Program
from chasles.engine.targets.batches import common_batch
from chasles.engine.targets.levels import Levels, is_long, levels


@cache
def translations() -> dict[str, Callable[..., Any]]:
    """Return PyTorch's functions for the operations of programs."""
    import torch

    return {
        "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "neg": torch.neg, "power": torch.pow,
        "abs": torch.abs, "sqrt": torch.sqrt, "exp": torch.exp, "log": torch.log, "sin": torch.sin, "cos": torch.cos,
        "tan": torch.tan, "asin": torch.asin, "acos": torch.acos, "atan": torch.atan, "atan2": torch.atan2,
        "sinh": torch.sinh, "cosh": torch.cosh, "tanh": torch.tanh,
        "sign": lambda x: torch.where(x == x, torch.sign(x), x),  # PyTorch's sign of NaN is 0
        "floor": torch.floor, "minimum": torch.minimum, "maximum": torch.maximum, "less": torch.lt,
        "less_equal": torch.le, "equal": torch.eq, "both": torch.logical_and, "either": torch.logical_or,
        "negated": torch.logical_not, "where": torch.where,
    }  # fmt: skip


def run_kernel(kernel: Kernel, tensors: Sequence[Any]) -> list[Any]:
    """Run a kernel operation by operation on whole batches, where the tensors are."""
    if kernel.shape == "map":
        return run_operations(kernel.program, tensors)
    return (_scan if kernel.shape == "scan" else _solve)(kernel, tensors)


def _scan(kernel: Kernel, tensors: Sequence[Any]) -> list[Any]:
    import torch

    state, given, *parameters = tensors
    batch = common_batch(kernel.inputs, tensors)
    state = state.expand(*batch, state.shape[-1])
    axis = given.ndim - len(kernel.inputs[1].dims)
    recorded = []
    for row in given.unbind(axis):
        for k, inputs in enumerate(row.unbind(axis)):
            state, *samples = run_operations(kernel.program, [state, inputs, *parameters])
            if k == 0:
                recorded.append(samples)
            again = samples[0] if kernel.repeats else None
            while again is not None and bool((again > 0.0).any()):
                state, again = run_operations(kernel.program, [state, inputs, *parameters])[:2]
    return [state, *(torch.stack(part, len(batch)) for part in zip(*recorded, strict=True))]


def _solve(kernel: Kernel, tensors: Sequence[Any]) -> list[Any]:
    import torch

    state, *parameters, limit = tensors
    batch = common_batch(kernel.inputs, tensors)
    state = state.expand(*batch, state.shape[-1])
    iterations = done = state.new_zeros(batch)
    while bool((going := (done <= 0.0) & (iterations < limit)).any()):
        following, following_done = run_operations(kernel.program, [state, *parameters])
        state = torch.where(going[..., None], following, state)
        iterations = torch.where(going, iterations + 1.0, iterations)
        done = torch.where(going, following_done, done)
    return [state, iterations, done]


def run_operations(program: Program, tensors: Sequence[Any]) -> list[Any]:
    """Run a program on whole batches, where the tensors are: operation by operation, or in levels if it is long."""
    import torch

    kind = {"dtype": tensors[0].dtype, "device": tensors[0].device} if tensors else {}
    batch: tuple[int, ...] = ()
    scalars: list[Any] = []
    for tensor, argument in zip(tensors, program.inputs, strict=True):
        leading = tuple(tensor.shape[: tensor.ndim - len(argument.shape)])
        batch = leading or batch
        scalars += tensor.reshape((*leading, argument.size)).unbind(-1)
    if is_long(program):
        results = _in_levels(levels(program), torch.stack([x.expand(batch) for x in scalars])).unbind(0)
    else:
        results = [x.expand(batch) for x in _run(program, scalars, lambda value: torch.full((), value, **kind))]
    outputs, position = [], 0
    for argument in program.outputs:
        part = results[position : position + argument.size]
        position += argument.size
        stacked = torch.stack(part, -1) if part else torch.zeros((*batch, 0), **kind)
        outputs.append(stacked.reshape((*batch, *argument.shape)))
    return outputs


def _in_levels(program: Levels, inputs: Any) -> Any:
    """Run a program of rows, step by step."""
    import torch

    batch, row = inputs.shape[1:], len(inputs) + len(program.constants)
    values = inputs.new_empty((program.rows, *batch))
    values[: len(inputs)] = inputs
    values[len(inputs) : row] = inputs.new_tensor(program.constants).reshape(-1, *[1] * len(batch))
    for stage in program.stages:
        for operands in torch.as_tensor(stage.products, device=inputs.device):
            x, y, z, w = values[operands]
            torch.addcmul(x * y, z, w, out=values[row : row + len(x)])
            row += len(x)
        for operation, rows in stage.others:
            kinds = OPERATIONS[operation].takes
            given = [values[x] for x in torch.as_tensor(rows, device=inputs.device)]
            given = [x if kind == "r" else x > 0.0 for x, kind in zip(given, kinds, strict=True)]
            values[row : row + rows.shape[1]] = translations()[operation](*given)
            row += rows.shape[1]
    return values[torch.as_tensor(program.results, device=inputs.device)]


def _run(program: Program, inputs: Sequence[Any], constant: Callable[[float], Any]) -> list[Any]:
    values: list[Any] = []
    for operation, *rest in program.instructions:
        if operation == "constant":
            values.append(constant(rest[0]))
        elif operation == "input":
            values.append(inputs[rest[0]])
        elif operation == "item":
            values.append(values[rest[0]][rest[1]])
        elif operation == "call":
            values.append(_run(program.programs[rest[0]], [values[k] for k in rest[1:]], constant))
        else:
            values.append(translations()[operation](*[values[k] for k in rest]))
    return [values[k] for k in program.results]
