"""The function of PyTorch's ``autograd`` that kernels are, with the rules by which it is differentiated and mapped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from inspect import signature
from typing import Any

import numpy as np

from chasles.engine.derivatives.kernels import ArrayLibrary, adjoints, tangents
from chasles.engine.kernels.shapes import Kernel
from chasles.engine.targets.batches import with_batch, with_mapped_axis
from chasles.engine.targets.torch.operations import run_kernel

#: Gives the compiled function of a kernel, in a type of numbers: of a list of arrays.
Compile = Callable[[Kernel, str], Callable[[Sequence[Any]], Any]]


def bind(kernel: Kernel, compile_kernel: Compile, tensors: Sequence[Any]) -> tuple[Any, ...]:
    """Compute with batch axes that broadcast; a tensor without them serves all samples."""
    import torch

    if not tensors:
        return tuple(run_kernel(kernel, []))
    ready = with_batch(kernel.program.name, kernel.inputs, tensors, torch.broadcast_to)
    results: tuple[Any, ...] = _function().apply(kernel, compile_kernel, *ready)
    return results


def _library(compile_kernel: Compile) -> ArrayLibrary:
    """Return PyTorch as a library of arrays."""
    import torch

    return ArrayLibrary(torch, lambda kernel, tensors: bind(kernel, compile_kernel, tensors))


@cache
def _function() -> Any:
    """Return the ``torch.autograd.Function`` that computes any kernel."""
    import torch

    class KernelFunction(torch.autograd.Function):  # type: ignore[misc]  # its types are not followed
        @staticmethod
        def forward(kernel: Kernel, compile_kernel: Compile, *tensors: Any) -> tuple[Any, ...]:
            if any(x.device.type != "cpu" for x in tensors):
                return tuple(run_kernel(kernel, tensors))
            dtype = str(tensors[0].dtype).partition(".")[2]
            results = compile_kernel(kernel, dtype)([x.detach().numpy() for x in tensors])
            arrays = results if isinstance(results, tuple) else (results,)
            return tuple(torch.from_numpy(np.asarray(array)) for array in arrays)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.kernel, ctx.compile_kernel, *tensors = inputs
            ctx.save_for_backward(*tensors)
            ctx.save_for_forward(*tensors)

        @staticmethod
        def backward(ctx: Any, *of_results: Any) -> tuple[Any, ...]:
            tensors = ctx.saved_tensors
            wanted = [k for k, needs in enumerate(ctx.needs_input_grad[2:]) if needs]
            wrt = tuple(ctx.kernel.inputs[k].name for k in wanted)
            results = adjoints(ctx.kernel, wrt, tensors, of_results, _library(ctx.compile_kernel))
            gradients: list[Any] = [None] * len(tensors)
            for k, gradient in zip(wanted, results, strict=True):
                gradients[k] = gradient.sum_to_size(tensors[k].shape)
            return (None, None, *gradients)

        @staticmethod
        def jvp(ctx: Any, _kernel: None, _compile: None, *directions: Any) -> tuple[Any, ...]:
            moving = [k for k, direction in enumerate(directions) if direction is not None]
            wrt = tuple(ctx.kernel.inputs[k].name for k in moving)
            moved = [directions[k] for k in moving]
            return tuple(tangents(ctx.kernel, wrt, ctx.saved_tensors, moved, _library(ctx.compile_kernel)))

        @staticmethod
        def vmap(info: Any, in_dims: Any, kernel: Kernel, compile_kernel: Compile, *tensors: Any) -> Any:
            results = bind(kernel, compile_kernel, with_mapped_axis(kernel.inputs, tensors, in_dims[2:], torch.movedim))
            return results, (0,) * len(results)

    # PyTorch binds the arguments of every call to the signature, which takes longer to find than many programs to run.
    forward: Any = KernelFunction.forward
    forward.__signature__ = signature(forward)
    return KernelFunction
