"""Steps of ordinary differential equations, as plain arithmetic that can be traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def runge_kutta_4(derivative: Callable[[Any], Any], x: Any, h: float) -> Any:
    """Advance x by the classical Runge–Kutta method of order 4.

    Parameters
    ----------
    derivative
        The right-hand side of dx/dt = f(x).
    x
        State, shape (m,).
    h
        Step, s.

    Returns
    -------
    Array
        State at the end of the step, in error by O(h⁵).

    Notes
    -----
    Hairer, Nørsett and Wanner, Solving Ordinary Differential Equations I, section II.1.

    Examples
    --------
    >>> round(runge_kutta_4(lambda x: -x, 1.0, 0.1), 5)  # exp(-0.1)
    0.90484
    """
    k1 = derivative(x)
    k2 = derivative(x + 0.5 * h * k1)
    k3 = derivative(x + 0.5 * h * k2)
    k4 = derivative(x + h * k3)
    return x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
