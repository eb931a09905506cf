"""The function of PyTorch's ``autograd`` that kernels are, with the rules by which it is differentiated and mapped."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from inspect import signature
from typing import Any, NamedTuple

import numpy as np

from chasles.base.errors import ArgumentError
from chasles.engine.derivatives.kernels import ArrayLibrary, adjoints, tangents
from chasles.engine.kernels.shapes import Kernel
from chasles.engine.targets.batches import with_batch, with_mapped_axis
from chasles.engine.targets.torch.operations import run_kernel


class MachineCode(NamedTuple):
    """What computes tensors in main memory.

    Attributes
    ----------
    compiled
        Gives the compiled function of a kernel, in a type of numbers: of a list of arrays.
    adjoint_of
        Gives the adjoint of a scan to some of its inputs, in a type of numbers: of NumPy's arrays.
    """

    compiled: Callable[[Kernel, str], Callable[[Sequence[Any]], Any]]
    adjoint_of: Callable[[Kernel, Sequence[str], str], Callable[..., Any]]


def bind(kernel: Kernel, code: MachineCode, tensors: Sequence[Any]) -> tuple[Any, ...]:
    """Compute with batch axes that broadcast; a tensor without them serves all samples."""
    import torch

    if not tensors:
        return tuple(run_kernel(kernel, []))
    ready = with_batch(kernel.program.name, kernel.inputs, tensors, torch.broadcast_to)
    results: tuple[Any, ...] = _function().apply(kernel, code, *ready)
    return results


def _library(code: MachineCode) -> ArrayLibrary:
    """Return PyTorch as a library of arrays."""
    import torch

    def repeated(kernel: Kernel, wrt: tuple[str, ...], arguments: Sequence[Any], of_results: Sequence[Any]) -> Any:
        return list(_repeated_adjoint().apply(kernel, wrt, code, *arguments, *of_results))

    return ArrayLibrary(torch, lambda kernel, tensors: bind(kernel, code, tensors), repeated)


@cache
def _function() -> Any:
    """Return the ``torch.autograd.Function`` that computes any kernel."""
    import torch

    class KernelFunction(torch.autograd.Function):  # type: ignore[misc]  # its types are not followed
        @staticmethod
        def forward(kernel: Kernel, code: MachineCode, *tensors: Any) -> tuple[Any, ...]:
            if any(x.device.type != "cpu" for x in tensors):
                return tuple(run_kernel(kernel, tensors))
            _check_not_recorded(kernel)
            return _tensors(code.compiled(kernel, _dtype(tensors))([x.detach().numpy() for x in tensors]))

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.kernel, ctx.code, *tensors = inputs
            ctx.save_for_backward(*tensors)
            ctx.save_for_forward(*tensors)

        @staticmethod
        def backward(ctx: Any, *of_results: Any) -> tuple[Any, ...]:
            tensors = ctx.saved_tensors
            wanted = [k for k, needs in enumerate(ctx.needs_input_grad[2:]) if needs]
            wrt = tuple(ctx.kernel.inputs[k].name for k in wanted)
            results = adjoints(ctx.kernel, wrt, tensors, of_results, _library(ctx.code))
            gradients: list[Any] = [None] * len(tensors)
            for k, gradient in zip(wanted, results, strict=True):
                gradients[k] = gradient.sum_to_size(tensors[k].shape)
            return (None, None, *gradients)

        @staticmethod
        def jvp(ctx: Any, _kernel: None, _code: None, *directions: Any) -> tuple[Any, ...]:
            moving = [k for k, direction in enumerate(directions) if direction is not None]
            wrt = tuple(ctx.kernel.inputs[k].name for k in moving)
            moved = [directions[k] for k in moving]
            return tuple(tangents(ctx.kernel, wrt, ctx.saved_tensors, moved, _library(ctx.code)))

        @staticmethod
        def vmap(info: Any, in_dims: Any, kernel: Kernel, code: MachineCode, *tensors: Any) -> Any:
            results = bind(kernel, code, with_mapped_axis(kernel.inputs, tensors, in_dims[2:], torch.movedim))
            return results, (0,) * len(results)

    # PyTorch binds the arguments of every call to the signature, which takes longer to find than many programs to run.
    forward: Any = KernelFunction.forward
    forward.__signature__ = signature(forward)
    return KernelFunction


@cache
def _repeated_adjoint() -> Any:
    """Return the ``torch.autograd.Function`` that computes adjoints of scans that repeat steps, in main memory."""
    import torch

    class RepeatedAdjoint(torch.autograd.Function):  # type: ignore[misc]  # its types are not followed
        @staticmethod
        def forward(kernel: Kernel, wrt: tuple[str, ...], code: MachineCode, *tensors: Any) -> tuple[Any, ...]:
            adjoint = code.adjoint_of(kernel, wrt, _dtype(tensors))
            results = _tensors(adjoint(*(x.detach().cpu().numpy() for x in tensors)))
            return tuple(x.to(tensors[0].device) for x in results)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.name = inputs[0].program.name

        @staticmethod
        def backward(ctx: Any, *_: Any) -> Any:
            raise ArgumentError(
                f"{ctx.name} repeats steps until an error estimate accepts them: its gradient has no derivative here. "
                "Take torch.func.jacrev(torch.func.jacfwd(...)) for second derivatives, or steps of a fixed length"
            )

        jvp = backward

        @staticmethod
        def vmap(
            info: Any, in_dims: Any, kernel: Kernel, wrt: tuple[str, ...], code: MachineCode, *tensors: Any
        ) -> Any:
            moved = with_mapped_axis([*kernel.inputs, *kernel.outputs], tensors, in_dims[3:], torch.movedim)
            results = RepeatedAdjoint.apply(kernel, wrt, code, *moved)
            return results, (0,) * len(results)

    return RepeatedAdjoint


def _check_not_recorded(kernel: Kernel) -> None:
    """Refuse machine code where PyTorch records operations, which would take its results for constants."""
    recording = sys.modules.get("torch.fx.experimental.proxy_tensor")
    if recording is not None and recording.get_proxy_mode() is not None:
        raise ArgumentError(
            f"{kernel.program.name} runs machine code, which torch.export and make_fx cannot record; torch.compile can "
            "call it. For a program of its own take to_c()"
        )


def _dtype(tensors: Sequence[Any]) -> str:
    """Return NumPy's name of the type of tensors."""
    return str(tensors[0].dtype).partition(".")[2]


def _tensors(results: Any) -> tuple[Any, ...]:
    """Return one array or several as tensors on the same memory."""
    import torch

    arrays = results if isinstance(results, tuple) else (results,)
    return tuple(torch.from_numpy(np.asarray(array)) for array in arrays)
