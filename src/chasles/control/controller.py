"""What every controller is: joint torques from time, measured state, reference and its own memory."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.errors import ArgumentError
from chasles.trajectories import Motion


class Controller(Protocol):
    """A sampled control law, the second argument of `chasles.simulate`.

    It is called once a period. Its numbers (gains) are `parameters`, which simulations take as arguments of one
    compiled program; its memory (an integral, an estimate) is a vector that the simulation keeps for it.
    """

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    @property
    def parameters(self) -> Mapping[str, NDArray[np.float64]]:
        """Names and numbers that may be varied."""
        ...

    @property
    def initial_state(self) -> NDArray[np.float64]:
        """Memory at the start, shape (m,); m may be 0."""
        ...

    def law(
        self, t: Any, q: Any, qd: Any, reference: Motion, state: Any, parameters: Mapping[str, Any], period: float
    ) -> tuple[Any, Any]:
        """Torques (n,) from now on and memory (m,) for the next call; arithmetic that can be traced, if possible."""
        ...


class PythonLaw:
    """Controller of a plain Python function ``law(t, q, qd, reference) -> tau``.

    A function with memory and numbers of its own is
    ``law(t, q, qd, reference, state, parameters) -> (tau, next state)``. `chasles.simulate` makes this object by itself
    when it is handed a function without memory.

    Parameters
    ----------
    function
        The law. It is traced and compiled if it can be, and called as it is otherwise.
    initial_state
        Memory at the start, shape (m,).
    parameters
        Numbers that may be varied, by name.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> def hold(t, q, qd, reference):
    ...     return 100.0 * (reference.q - q) - 20.0 * qd
    >>> run = ch.simulate(arm, hold, ch.PointToPoint([0.0, 0.0], [0.5, 0.5], 1.0))
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        initial_state: ArrayLike = (),
        parameters: Mapping[str, ArrayLike] | None = None,
    ) -> None:
        self.function = function
        self.name = getattr(function, "__name__", type(function).__name__)
        self.initial_state = np.array(initial_state, dtype=float).reshape(-1)
        self.parameters = {name: np.array(value, dtype=float) for name, value in (parameters or {}).items()}
        self._arity = _positional_count(function)
        if self._arity not in (4, 6):
            raise ArgumentError(
                f"{self.name} must take (t, q, qd, reference), or (t, q, qd, reference, state, parameters)"
            )
        if self._arity == 4 and (self.initial_state.size or self.parameters):
            raise ArgumentError(f"{self.name} takes no state and no parameters: give it six arguments")

    def law(
        self, t: Any, q: Any, qd: Any, reference: Motion, state: Any, parameters: Mapping[str, Any], period: float
    ) -> tuple[Any, Any]:
        """Call the function."""
        if self._arity == 4:
            return self.function(t, q, qd, reference), state
        tau, state = self.function(t, q, qd, reference, state, parameters)
        return tau, state

    def __repr__(self) -> str:
        return f"PythonLaw({self.name})"


def _positional_count(function: Callable[..., Any]) -> int:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 4
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(1 for p in parameters if p.kind in kinds and p.default is inspect.Parameter.empty)


def gains(value: ArrayLike, n: int, name: str) -> NDArray[np.float64]:
    """Return one gain for each joint from one for all or one for each.

    Parameters
    ----------
    value
        A number, or an array of shape (n,).
    n
        Number of joints.
    name
        What error messages call it.

    Raises
    ------
    ArgumentError
        If it is neither, or not finite.

    Examples
    --------
    >>> gains(400.0, 2, "kp")
    array([400., 400.])
    """
    try:
        array = np.broadcast_to(np.asarray(value, dtype=float), (n,)).copy()
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} must be one number or {n}, one for each joint") from None
    if not np.isfinite(array).all():
        raise ArgumentError(f"{name} must be finite, not {array.tolist()}")
    return array
