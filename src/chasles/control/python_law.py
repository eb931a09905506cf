"""Plain Python functions as control laws."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, get_args

from chasles.base.errors import ArgumentError
from chasles.control.controller import Controller, ReferenceKind, checked_memory
from chasles.control.now import Now
from chasles.engine.validators import choice, reals


class PythonLaw(Controller):
    """Controller made from a plain Python function ``law(now, *, kp=100.0) -> tau``.

    Keywords of the function are gains that simulations can vary; their defaults are the values. `chasles.simulate`
    wraps functions without memory automatically.

    Parameters
    ----------
    function
        The law; its argument is a `chasles.control.Now`. It is traced and compiled if possible, and otherwise called
        from Python.
    memory
        Named parts of the initial memory; the function assigns to ``now.memory`` for the next call.

    Examples
    --------
    >>> import chasles as ch
    >>> import numpy as np
    >>> def hold(now, *, kp=100.0, ki=50.0):
    ...     error = now.reference.q - now.q
    ...     now.memory.integral += now.period * error
    ...     return kp * error + ki * now.memory.integral - 20.0 * now.qd
    >>> law = ch.PythonLaw(hold, memory={"integral": np.zeros(2)})
    >>> motion = ch.PointToPoint([0.0, 0.0], [0.5, 0.5], 1.0)
    >>> run = ch.simulate(ch.load("planar2r"), law, motion, vary={"controller.kp": [50.0, 100.0]})
    """

    def __init__(self, function: Callable[..., Any], *, memory: Mapping[str, Any] = MappingProxyType({})) -> None:
        self.name = getattr(function, "__name__", type(function).__name__)
        count, gains = _signature(function)
        if count != 1:
            raise ArgumentError(
                f"{self.name} takes {count} positional arguments; a law takes one, now, with now.t, now.q, now.qd, "
                "now.reference, now.memory and now.period, and its gains as keywords: law(now, *, kp=100.0)"
            )
        for name, value in gains.items():
            if value is inspect.Parameter.empty:
                raise ArgumentError(f"the gain '{name}' of {self.name} needs a value: {name}=100.0")
            if hasattr(type(self), name):
                raise ArgumentError(
                    f"'{name}' cannot be the name of a gain: every controller has a member of that name"
                )
        self.function = function
        self.varies = tuple(gains)
        self.memory = checked_memory(memory)
        self.__dict__.update({name: reals(value, name) for name, value in gains.items()})

    def law(self, now: Now) -> Any:
        """Call the function."""
        return self.function(now, **{name: getattr(self, name) for name in self.varies})

    def __repr__(self) -> str:
        return f"PythonLaw({self.name})"


def as_controller(controller: object) -> Controller:
    """Return a controller for the loop; a plain function becomes a `PythonLaw`.

    Raises
    ------
    ArgumentError
        The argument is neither a controller nor a function.

    Examples
    --------
    >>> as_controller(lambda now: now.reference.q - now.q)
    PythonLaw(<lambda>)
    """
    if isinstance(controller, Controller):
        choice(controller.reference_kind, "reference_kind", get_args(ReferenceKind))
        return controller
    if hasattr(controller, "law"):
        raise ArgumentError(
            f"{type(controller).__name__} has a method 'law' but is no controller: let its class inherit "
            "chasles.Controller, which has a default for everything else that a loop asks for"
        )
    if callable(controller):
        return PythonLaw(controller)
    raise ArgumentError(
        f"a controller is an instance of chasles.Controller, or a function law(now), not {controller!r}"
    )


def _signature(function: Callable[..., Any]) -> tuple[int, dict[str, Any]]:
    """Number of positional arguments without a default, and keywords with their defaults."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1, {}
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    count = sum(1 for p in parameters if p.kind in by_place and p.default is inspect.Parameter.empty)
    return count, {p.name: p.default for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}
