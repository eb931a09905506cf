"""Functions in main memory as functions of JAX's arrays, which XLA calls through Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from chasles.base.errors import import_extra
from chasles.engine.arguments import in_order
from chasles.engine.kernels.shapes import CoreArray
from chasles.engine.targets.batches import common_batch, with_batch
from chasles.engine.targets.host import HostFunction
from chasles.engine.targets.jax import arrays_of


def lower(host: HostFunction) -> Callable[..., tuple[Any, ...]]:
    """Return a function in main memory as one of JAX's arrays, for ``jit``, ``vmap`` and reverse mode.

    Parameters
    ----------
    host
        Function with its adjoint.

    Returns
    -------
    Callable
        Function with leading batch axes that broadcast. Its gradient has no derivative itself.

    Raises
    ------
    MissingExtraError
        If JAX is not installed.
    """
    import_extra("jax", "jax", "writing a plan as a function of JAX")
    import jax
    import jax.numpy as jnp

    def shapes(cores: Sequence[CoreArray], arrays: Sequence[Any]) -> list[Any]:
        batch, dtype = common_batch(host.inputs, arrays), arrays[0].dtype
        return [jax.ShapeDtypeStruct((*batch, *core.dims), dtype) for core in cores]

    def compute(*arrays: Any) -> Any:
        dtype = arrays[0].dtype.name
        wanted = shapes(host.outputs, arrays)
        return tuple(jax.pure_callback(lambda *a: host.results(a, dtype), wanted, *arrays, vmap_method="broadcast_all"))

    call: Any = jax.custom_vjp(compute)

    def forward(*arrays: Any) -> Any:
        return call(*arrays), arrays

    def backward(arrays: Any, of_results: Any) -> Any:
        dtype, count = arrays[0].dtype.name, len(arrays)

        def pull(*a: Any) -> Any:
            return host.pulled(a[:count], a[count:], dtype)

        wanted = shapes(host.inputs, arrays)
        pulled = jax.pure_callback(pull, wanted, *arrays, *of_results, vmap_method="broadcast_all")
        return tuple(x.sum(tuple(range(x.ndim - a.ndim))) for x, a in zip(pulled, arrays, strict=True))

    call.defvjp(forward, backward)
    names = [core.name for core in host.inputs]

    def function(*arguments: Any, **named: Any) -> tuple[Any, ...]:
        arrays = arrays_of(host.usage, names, in_order(host.usage, names, arguments, named, host.defaults))
        results: tuple[Any, ...] = call(*with_batch(host.name, host.inputs, arrays, jnp.broadcast_to))
        return results

    function.__name__ = function.__qualname__ = host.name
    return function
