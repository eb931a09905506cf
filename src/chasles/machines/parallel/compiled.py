"""Methods that are formulas for one sample, compiled for each object when they are first called."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Self, overload

from chasles.engine import Function, trace


def compiled(
    *, result: type | None = None, **inputs: tuple[int, ...]
) -> Callable[[Callable[..., Any]], CompiledMethod]:
    """Make a method a compiled function over batches.

    Parameters
    ----------
    result
        Named tuple that the method returns, if it returns several results.
    **inputs
        Shape of each argument without batch axes, in order.

    Examples
    --------
    >>> class Spring:
    ...     def __init__(self, stiffness):
    ...         self.stiffness = stiffness
    ...     @compiled(x=(3,))
    ...     def force(self, x):
    ...         return self.stiffness * x
    >>> Spring(10.0).force([[1.0, 2.0, 3.0], [0.0, 0.0, 1.0]])
    array([[10., 20., 30.],
           [ 0.,  0., 10.]])
    """
    return lambda method: CompiledMethod(method, inputs, result)


class CompiledMethod:
    """Descriptor that gives each object its own `Function` of a method."""

    def __init__(self, method: Callable[..., Any], inputs: dict[str, tuple[int, ...]], result: type | None) -> None:
        self.method = method
        self.inputs = inputs
        self.result = result
        self.__doc__ = method.__doc__
        self.__name__ = method.__name__

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Function: ...
    def __get__(self, instance: object | None, owner: type) -> Self | Function:
        """Return the function of an object, made when it is first asked for."""
        if instance is None:
            return self
        formula = self.method.__get__(instance)

        def program() -> Any:
            return trace(formula, self.inputs, name=self.__name__)

        compiled = Function(program, reference=formula, doc=inspect.getdoc(self.method), result=self.result)
        function: Function = instance.__dict__.setdefault(self.__name__, compiled)
        return function
