"""The PyTorch target: functions of tensors under ``autograd``, ``torch.func.vmap``, ``grad`` and ``jvp``.

A kernel is a ``torch.autograd.Function`` whose derivatives are such functions of further kernels, to any order: exact
derivative programs of a map, a scan backward for a loop over time, the implicit-function rule for an iteration. Tensors
in main memory are computed by machine code, without a copy; tensors on accelerators by operations of PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from chasles.base.errors import ArgumentError, ArgumentTypeError, import_extra
from chasles.engine.arguments import in_order, shown
from chasles.engine.kernels.shapes import Kernel
from chasles.engine.targets.torch.function import MachineCode, bind


def lower(kernel: Kernel, code: MachineCode) -> Callable[..., Any]:
    """Return a kernel as a function of tensors.

    Parameters
    ----------
    kernel
        Program to translate, with the way to run it.
    code
        What computes tensors in main memory.

    Returns
    -------
    Callable
        Function of the kernel's inputs as tensors, with leading batch axes that broadcast. It computes on their
        device, in ``float64`` if one of them is, else in ``float32``; several results are a tuple. Derivatives are
        exact, forward and reverse, to any order. Those of an iteration are the solution's, and NaN where it is not
        done. The gradient of a loop that repeats steps is computed in main memory and has no derivative itself.

    Raises
    ------
    MissingExtraError
        If PyTorch is not installed.
    """
    import_extra("torch", "torch", "writing a program as a function of PyTorch")
    names = [core.name for core in kernel.inputs]
    usage = f"{kernel.program.name}({', '.join(names)})"

    def function(*arguments: Any, **named: Any) -> Any:
        tensors = tensors_of(usage, names, in_order(usage, names, arguments, named, {}))
        results = bind(kernel, code, tensors)
        return results[0] if len(results) == 1 else results

    function.__name__ = function.__qualname__ = kernel.program.name
    return function


def tensors_of(usage: str, names: Sequence[str], arguments: Sequence[Any]) -> list[Any]:
    """Return arguments as tensors of one type on one device."""
    import torch

    device = _device_of(usage, names, arguments)
    tensors, types = [], set()
    for name, argument in zip(names, arguments, strict=True):
        try:
            plain = isinstance(argument, int | float | list | tuple)  # of Python, which takes the others' type
            tensor = torch.as_tensor(argument, dtype=torch.float64 if plain else None, device=device)
        except (TypeError, ValueError, RuntimeError) as error:
            raise ArgumentTypeError(f"{usage}: {name} does not turn into a tensor: {error}") from None
        if tensor.is_complex() or tensor.is_quantized or tensor.layout is not torch.strided:
            raise ArgumentTypeError(f"{usage}: {name} must be a dense tensor of real numbers, not {shown(argument)}")
        tensors.append(tensor)
        types |= {tensor.dtype} if tensor.is_floating_point() and not plain else set()
    dtype = torch.float64 if torch.float64 in (types or {torch.get_default_dtype()}) else torch.float32
    return [x.to(dtype) for x in tensors]


def _device_of(usage: str, names: Sequence[str], arguments: Sequence[Any]) -> Any:
    """Return the device of all tensors, or None where there are none."""
    import torch

    given = {name: x.device for name, x in zip(names, arguments, strict=True) if isinstance(x, torch.Tensor)}
    if len(set(given.values())) > 1:
        where = ", ".join(f"{name} on {device}" for name, device in given.items())
        raise ArgumentError(f"{usage}: the tensors lie on several devices: {where}; move them to one with .to(device)")
    return next(iter(given.values()), None)
