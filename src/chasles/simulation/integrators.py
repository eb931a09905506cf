"""Steps of ordinary differential equations, as plain arithmetic that can be traced."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Protocol

#: The right-hand side of dx/dt = f(x, t).
Derivative = Callable[[Any, Any], Any]


class Step(Protocol):
    """One step of a method: ``step(derivative, x, t, h)`` gives the state at t + h."""

    def __call__(self, derivative: Derivative, x: Any, t: Any, h: Any) -> Any:
        """Advance x."""
        ...


def euler(derivative: Derivative, x: Any, t: Any, h: Any) -> Any:
    """Advance x by Euler's method, of order 1.

    Parameters
    ----------
    derivative
        The right-hand side of dx/dt = f(x, t).
    x
        State, shape (m,).
    t
        Time, s.
    h
        Step, s.

    Returns
    -------
    Array
        State at the end of the step, in error by O(h²).

    Examples
    --------
    >>> euler(lambda x, t: -x, 1.0, 0.0, 0.1)
    0.9
    """
    return x + h * derivative(x, t)


def runge_kutta_4(derivative: Derivative, x: Any, t: Any, h: Any) -> Any:
    """Advance x by the classical Runge–Kutta method of order 4.

    Parameters
    ----------
    derivative, x, t, h
        As for `euler`.

    Returns
    -------
    Array
        State at the end of the step, in error by O(h⁵).

    Notes
    -----
    Hairer, Nørsett and Wanner, Solving Ordinary Differential Equations I, section II.1.

    Examples
    --------
    >>> round(runge_kutta_4(lambda x, t: -x, 1.0, 0.0, 0.1), 5)  # exp(-0.1)
    0.90484
    """
    middle, end = t + 0.5 * h, t + h
    k1 = derivative(x, t)
    k2 = derivative(x + 0.5 * h * k1, middle)
    k3 = derivative(x + 0.5 * h * k2, middle)
    k4 = derivative(x + h * k3, end)
    return x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)


def semi_implicit_euler(
    derivative: Derivative, x: Any, t: Any, h: Any, *, with_new_rates: Callable[[Any, Any, Any], Any]
) -> Any:
    """Advance x by the semi-implicit (symplectic) Euler method, of order 1.

    Velocities go first; positions follow with the new velocities, so that energy does not drift away in the long run.
    One evaluation of the derivative, as for `euler`.

    Parameters
    ----------
    derivative, x, t, h
        As for `euler`.
    with_new_rates
        ``with_new_rates(dx, x, x_next)``: the derivative with the rates of the positions taken at the velocities of
        ``x_next``.

    Notes
    -----
    Hairer, Lubich and Wanner, Geometric Numerical Integration, section I.1.2.

    Examples
    --------
    An oscillator x = (position, velocity):

    >>> import numpy as np
    >>> step = semi_implicit_euler(
    ...     lambda x, t: np.array([x[1], -x[0]]),
    ...     np.array([1.0, 0.0]),
    ...     0.0,
    ...     0.1,
    ...     with_new_rates=lambda dx, x, x_next: np.array([x_next[1], dx[1]]),
    ... )
    >>> step.round(4)
    array([ 0.99, -0.1 ])
    """
    dx = derivative(x, t)
    return x + h * with_new_rates(dx, x, x + h * dx)


#: Methods with a fixed step, by name; their evaluations of the derivative in a step.
EVALUATIONS: Mapping[str, int] = MappingProxyType({"euler": 1, "semi-implicit-euler": 1, "rk4": 4})
#: Methods of `scipy.integrate.solve_ivp` with a variable step.
ADAPTIVE = ("RK45", "DOP853", "Radau", "LSODA")
#: Every method that a simulation can use.
INTEGRATORS = (*EVALUATIONS, *ADAPTIVE)
