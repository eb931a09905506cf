"""The PyTorch target: functions of tensors under ``autograd``, ``torch.func.vmap``, ``grad`` and ``jvp``.

A program is a ``torch.autograd.Function`` whose derivatives are such functions of the program's exact derivative
programs, to any order. Tensors in main memory are computed by machine code, without a copy; tensors on accelerators by
operations of PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from inspect import signature
from typing import Any

import numpy as np

from chasles.base.errors import ArgumentError, ArgumentTypeError, import_extra
from chasles.engine import derivatives
from chasles.engine.arguments import in_order, shown
from chasles.engine.kernels.shapes import Kernel
from chasles.engine.program.program import Program

#: Gives the compiled function of a program, in a type of numbers: of a list of arrays.
Compile = Callable[[Program, str], Callable[[Sequence[Any]], Any]]


def lower(kernel: Kernel, compile_program: Compile) -> Callable[..., Any]:
    """Return a map as a function of tensors.

    Parameters
    ----------
    kernel
        Program to translate; a map.
    compile_program
        Compiler of programs for tensors in main memory.

    Returns
    -------
    Callable
        Function of the program's inputs as tensors, with leading batch axes that broadcast. It computes on their
        device, in ``float64`` if one of them is, else in ``float32``; several results are a tuple. Derivatives are
        exact, forward and reverse, to any order.

    Raises
    ------
    MissingExtraError
        If PyTorch is not installed.
    ArgumentError
        If the kernel is a loop or an iteration.
    """
    import_extra("torch", "torch", "writing a program as a function of PyTorch")
    program = kernel.program
    if kernel.shape != "map":
        raise ArgumentError(
            f"{program.name} is a {kernel.shape}; export its step to PyTorch and write the loop around it"
        )
    names = [a.name for a in program.inputs]
    usage = f"{program.name}({', '.join(names)})"

    def function(*arguments: Any, **named: Any) -> Any:
        tensors = _tensors(usage, names, in_order(usage, names, arguments, named, {}))
        results = _bind(program, compile_program, tensors)
        return results[0] if len(results) == 1 else results

    function.__name__ = function.__qualname__ = program.name
    return function


def _tensors(usage: str, names: Sequence[str], arguments: Sequence[Any]) -> list[Any]:
    """Return arguments as tensors of one type on one device."""
    import torch

    given = [x for x in arguments if isinstance(x, torch.Tensor)]
    devices = {x.device for x in given}
    if len(devices) > 1:
        where = ", ".join(
            f"{n} on {x.device}" for n, x in zip(names, arguments, strict=True) if isinstance(x, torch.Tensor)
        )
        raise ArgumentError(f"{usage}: the tensors lie on several devices: {where}; move them to one with .to(device)")
    tensors = []
    for name, argument in zip(names, arguments, strict=True):
        try:
            tensor = torch.as_tensor(argument, device=next(iter(devices), None))
        except (TypeError, ValueError, RuntimeError) as error:
            raise ArgumentTypeError(f"{usage}: {name} does not turn into a tensor: {error}") from None
        if tensor.is_complex() or tensor.is_quantized or tensor.layout is not torch.strided:
            raise ArgumentTypeError(f"{usage}: {name} must be a dense tensor of real numbers, not {shown(argument)}")
        tensors.append(tensor)
    types = {x.dtype for x in tensors if x.is_floating_point()} or {torch.get_default_dtype()}
    dtype = torch.float64 if torch.float64 in types else torch.float32
    return [x.to(dtype) for x in tensors]


def _bind(program: Program, compile_program: Compile, tensors: Sequence[Any]) -> tuple[Any, ...]:
    """Compute with batch axes that broadcast; a tensor without them serves all samples."""
    if not tensors:
        return tuple(run_operations(program, []))
    leading = []
    for tensor, argument in zip(tensors, program.inputs, strict=True):
        axes = max(tensor.ndim - len(argument.shape), 0)
        if tuple(tensor.shape[axes:]) != argument.shape:
            expected = ", ".join(["...", *map(str, argument.shape)])
            shape = tuple(tensor.shape)
            raise ArgumentError(f"{program.name}: {argument.name} has shape {shape}; expected ({expected})")
        leading.append(tuple(tensor.shape[:axes]))
    batch = _common(program, leading)
    ready = [
        x.expand(*batch, *x.shape[len(axes) :]) if axes and axes != batch else x
        for x, axes in zip(tensors, leading, strict=True)
    ]
    results: tuple[Any, ...] = _function().apply(program, compile_program, *ready)
    return results


def _common(program: Program, batches: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    if batches.count(batches[0]) == len(batches):
        return batches[0]
    try:
        return np.broadcast_shapes(*batches)
    except ValueError:
        listing = ", ".join(f"{a.name} {batch}" for a, batch in zip(program.inputs, batches, strict=True) if batch)
        message = f"{program.name}: the batch axes of the arguments do not broadcast: {listing}"
        raise ArgumentError(message) from None


_jvp = cache(derivatives.jvp)
_vjp = cache(derivatives.vjp)


@cache
def _function() -> Any:
    """Return the ``torch.autograd.Function`` that computes any program."""
    import torch

    class ProgramFunction(torch.autograd.Function):  # type: ignore[misc]  # its types are not followed
        @staticmethod
        def forward(program: Program, compile_program: Compile, *tensors: Any) -> tuple[Any, ...]:
            if any(x.device.type != "cpu" for x in tensors):
                return tuple(run_operations(program, tensors))
            dtype = str(tensors[0].dtype).partition(".")[2]
            results = compile_program(program, dtype)([x.detach().numpy() for x in tensors])
            arrays = results if isinstance(results, tuple) else (results,)
            return tuple(torch.from_numpy(np.asarray(array)) for array in arrays)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.program, ctx.compile_program, *tensors = inputs
            ctx.save_for_backward(*tensors)
            ctx.save_for_forward(*tensors)

        @staticmethod
        def backward(ctx: Any, *adjoints: Any) -> tuple[Any, ...]:
            tensors = ctx.saved_tensors
            wanted = [k for k, needs in enumerate(ctx.needs_input_grad[2:]) if needs]
            adjoint = _vjp(ctx.program, tuple(ctx.program.inputs[k].name for k in wanted))
            results = _bind(adjoint, ctx.compile_program, [*tensors, *adjoints])
            gradients: list[Any] = [None] * len(tensors)
            for k, gradient in zip(wanted, results, strict=True):
                gradients[k] = gradient.sum_to_size(tensors[k].shape)
            return (None, None, *gradients)

        @staticmethod
        def jvp(ctx: Any, _program: None, _compile: None, *tangents: Any) -> tuple[Any, ...]:
            tensors = ctx.saved_tensors
            moving = [k for k, tangent in enumerate(tangents) if tangent is not None]
            along = _jvp(ctx.program, tuple(ctx.program.inputs[k].name for k in moving))
            return _bind(along, ctx.compile_program, [*tensors, *(tangents[k] for k in moving)])

        @staticmethod
        def vmap(info: Any, in_dims: Any, program: Program, compile_program: Compile, *tensors: Any) -> Any:
            axes, inputs = in_dims[2:], program.inputs
            moved = [x if axis is None else x.movedim(axis, 0) for x, axis in zip(tensors, axes, strict=True)]
            outer = [x.shape[: x.ndim - len(a.shape)] for x, a in zip(moved, inputs, strict=True)]
            inner = max(len(batch) - (axis is not None) for batch, axis in zip(outer, axes, strict=True))
            aligned = [  # all mapped tensors have the new axis before as many others
                x if axis is None else x.reshape(batch[0], *(batch[1:] or [1] * inner), *a.shape)
                for x, batch, axis, a in zip(moved, outer, axes, inputs, strict=True)
            ]
            results = _bind(program, compile_program, aligned)
            return results, (0,) * len(results)

    # PyTorch binds the arguments of every call to the signature, which takes longer to find than many programs to run.
    forward: Any = ProgramFunction.forward
    forward.__signature__ = signature(forward)
    return ProgramFunction


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


def run_operations(program: Program, tensors: Sequence[Any]) -> list[Any]:
    """Run a program operation by operation on whole batches, where the tensors are."""
    import torch

    kind = {"dtype": tensors[0].dtype, "device": tensors[0].device} if tensors else {}
    batch: tuple[int, ...] = ()
    scalars: list[Any] = []
    for tensor, argument in zip(tensors, program.inputs, strict=True):
        leading = tuple(tensor.shape[: tensor.ndim - len(argument.shape)])
        batch = leading or batch
        scalars += tensor.reshape((*leading, argument.size)).unbind(-1)
    results = [x.expand(batch) for x in _run(program, scalars, lambda value: torch.tensor(value, **kind))]
    outputs, position = [], 0
    for argument in program.outputs:
        part = results[position : position + argument.size]
        position += argument.size
        stacked = torch.stack(part, -1) if part else torch.zeros((*batch, 0), **kind)
        outputs.append(stacked.reshape((*batch, *argument.shape)))
    return outputs


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
