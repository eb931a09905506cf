"""The JAX target: functions of JAX's arrays under its ``jit``, ``vmap``, ``jvp`` and ``grad``.

A kernel is one primitive of JAX, whose derivatives are further kernels, to any order: exact derivative programs of a
map, a scan backward for a loop over time, the implicit-function rule for an iteration. On processors kernels run as
machine code, which XLA calls directly; on accelerators, or where asked, they are written as operations of
``jax.numpy``, with ``lax.scan`` or ``lax.while_loop`` around them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from chasles.base.errors import ArgumentTypeError, import_extra
from chasles.engine.arguments import in_order, shown
from chasles.engine.kernels.shapes import Kernel
from chasles.engine.targets.jax.primitive import AdjointOf, Call, LoopOf


def lower(kernel: Kernel, adjoint_of: AdjointOf, loop_of: LoopOf | None = None) -> Callable[..., Any]:
    """Return a kernel as a function of JAX's arrays.

    Parameters
    ----------
    kernel
        Program to translate, with the way to run it.
    adjoint_of
        Function that gives the adjoints of scans that repeat steps.
    loop_of
        Function that gives processors machine code; default none: XLA compiles operations of ``jax.numpy`` there too,
        which takes seconds.

    Returns
    -------
    Callable
        Function of the kernel's arrays, with leading batch axes that broadcast; it computes in the type to which they
        promote, ``float64`` or ``float32``. Several results are a tuple. Derivatives are exact, forward and reverse, to
        any order. Those of an iteration are the solution's, and NaN where it is not done. The gradient of a loop that
        repeats steps is computed on the processor, by a call from XLA to Python, and has no derivative itself.

    Raises
    ------
    MissingExtraError
        If JAX is not installed.

    Examples
    --------
    >>> import jax
    >>> from chasles.engine import Function, sin, trace
    >>> height = Function(trace(lambda q, l: l * sin(q), {"q": (), "l": ()}, name="height")).to_jax()
    >>> float(jax.grad(height)(0.0, 2.0))
    2.0
    """
    import_extra("jax", "jax", "writing a program as a function of JAX")
    call = Call(kernel, loop_of, adjoint_of)
    names = [core.name for core in kernel.inputs]
    usage = f"{kernel.program.name}({', '.join(names)})"

    def function(*arguments: Any, **named: Any) -> Any:
        arrays = arrays_of(usage, names, in_order(usage, names, arguments, named, {}))
        results = call.bind(arrays)
        return results[0] if len(results) == 1 else tuple(results)

    function.__name__ = function.__qualname__ = kernel.program.name
    return function


def arrays_of(usage: str, names: Sequence[str], arguments: Sequence[Any]) -> list[Any]:
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
