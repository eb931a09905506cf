"""Functions in main memory as functions of tensors."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from chasles.base.errors import ArgumentError, import_extra
from chasles.engine.arguments import in_order
from chasles.engine.targets.batches import with_batch, with_mapped_axis
from chasles.engine.targets.host import HostFunction
from chasles.engine.targets.torch import tensors_of


def lower(host: HostFunction) -> Callable[..., tuple[Any, ...]]:
    """Return a function in main memory as one of tensors, for ``autograd``, ``torch.func.grad`` and ``vmap``.

    Parameters
    ----------
    host
        Function with its adjoint.

    Returns
    -------
    Callable
        Function with leading batch axes that broadcast; the results lie on the tensors' device. Its gradient has no
        derivative itself.

    Raises
    ------
    MissingExtraError
        If PyTorch is not installed.
    """
    import_extra("torch", "torch", "writing a plan as a function of PyTorch")
    import torch

    names = [core.name for core in host.inputs]

    def function(*arguments: Any, **named: Any) -> tuple[Any, ...]:
        tensors = tensors_of(host.usage, names, in_order(host.usage, names, arguments, named, host.defaults))
        ready = with_batch(host.name, host.inputs, tensors, torch.broadcast_to)
        results: tuple[Any, ...] = _function().apply(host, *ready)
        return results

    function.__name__ = function.__qualname__ = host.name
    return function


@cache
def _function() -> Any:
    """Return the ``torch.autograd.Function`` that calls any function in main memory."""
    import torch

    def called(computes: Callable[..., Any], tensors: Any, *groups: Any) -> tuple[Any, ...]:
        arrays = [[x.detach().cpu().numpy() for x in group] for group in groups]
        results = computes(*arrays, str(tensors[0].dtype).partition(".")[2])
        return tuple(torch.from_numpy(each).to(tensors[0].device) for each in results)

    class Pulled(torch.autograd.Function):  # type: ignore[misc]  # its types are not followed
        @staticmethod
        def forward(host: HostFunction, count: int, *tensors: Any) -> tuple[Any, ...]:
            return called(host.pulled, tensors, tensors[:count], tensors[count:])

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.name = inputs[0].name

        @staticmethod
        def backward(ctx: Any, *_: Any) -> Any:
            raise ArgumentError(f"the gradient of {ctx.name} has no derivative itself")

        @staticmethod
        def vmap(info: Any, in_dims: Any, host: HostFunction, count: int, *tensors: Any) -> Any:
            cores = [*host.inputs, *host.outputs]
            results = Pulled.apply(host, count, *with_mapped_axis(cores, tensors, in_dims[2:], torch.movedim))
            return results, (0,) * len(results)

    class Called(torch.autograd.Function):  # type: ignore[misc]  # its types are not followed
        @staticmethod
        def forward(host: HostFunction, *tensors: Any) -> tuple[Any, ...]:
            return called(host.results, tensors, tensors)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.host, *tensors = inputs
            ctx.save_for_backward(*tensors)

        @staticmethod
        def backward(ctx: Any, *of_results: Any) -> tuple[Any, ...]:
            tensors = ctx.saved_tensors
            pulled = Pulled.apply(ctx.host, len(tensors), *tensors, *of_results)
            return (None, *(each.sum_to_size(x.shape) for each, x in zip(pulled, tensors, strict=True)))

        @staticmethod
        def vmap(info: Any, in_dims: Any, host: HostFunction, *tensors: Any) -> Any:
            results = Called.apply(host, *with_mapped_axis(host.inputs, tensors, in_dims[1:], torch.movedim))
            return results, (0,) * len(results)

    return Called
