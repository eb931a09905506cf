"""ROBOOP's integrators of differential equations (utils.cpp).

They step in Python, as ROBOOP's; `chasles.integrate` is the compiled one. A right-hand
side is a function ``xdot(t, x)`` of a time and a vector (n,), where ROBOOP has columns. Where ROBOOP fills arguments,
results are returned; where it exits the program, an exception is raised.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.engine.validators import real, reals, whole_number
from chasles.interop.roboop.codes import ERRCON, FCOR, MAXSTP, PGROW, PSHRNK, SAFETY, TINY

Vector = NDArray[np.float64]
RightHandSide = Callable[[float, Vector], ArrayLike]


class AdaptiveStep(NamedTuple):
    """Results of `rkqc`.

    Attributes
    ----------
    x, t
        State (n,) and time after the step.
    hdid, hnext
        Length of the step, and of the next one to try.
    """

    x: Vector
    t: float
    hdid: float
    hnext: float


class OdeintResult(NamedTuple):
    """Results of `odeint`.

    Attributes
    ----------
    tout, xout
        Times (k,) and states (n, k), a state a column.
    nok, nbad
        Number of good steps, and of those that were tried again.
    """

    tout: Vector
    xout: Vector
    nok: int
    nbad: int


def Integ_Trap(present: ArrayLike, past: ArrayLike, dt: float) -> tuple[Vector, Vector]:
    """Return ``(past + present) dt / 2``, and `present` for the next call's `past`.

    Examples
    --------
    >>> Integ_Trap([1.0, 2.0], [0.0, 2.0], 0.1)[0]
    array([0.05, 0.2 ])
    """
    now = reals(present, "present")
    return 0.5 * real(dt, "dt") * (reals(past, "past", now.shape) + now), now


def rk4(x: ArrayLike, dxdt: ArrayLike, t: float, h: float, xdot: RightHandSide) -> Vector:
    """Return the state after a step of the classical Runge-Kutta method.

    Examples
    --------
    >>> rk4([1.0], [1.0], 0.0, 0.1, lambda t, x: x).round(6)
    array([1.105171])
    """
    start, k1 = reals(x, "x", ("n",)), reals(dxdt, "dxdt", ("n",))
    k2 = _rate(xdot, t + 0.5 * h, start + 0.5 * h * k1)
    k3 = _rate(xdot, t + 0.5 * h, start + 0.5 * h * k2)
    k4 = _rate(xdot, t + h, start + h * k3)
    return start + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)


def rkqc(
    x: ArrayLike, dxdt: ArrayLike, t: float, htry: float, eps: float, xscal: ArrayLike, xdot: RightHandSide
) -> AdaptiveStep:
    """Return an adaptive step: two halves against a whole, whose difference corrects the result to fifth order.

    Source: Press, Flannery, Teukolsky and Vetterling, Numerical Recipes in C (1988), section 15.2.

    Examples
    --------
    >>> step = rkqc([1.0], [1.0], 0.0, 0.5, 1e-6, [1.0], lambda t, x: x)
    >>> bool(abs(step.x[0] - np.exp(step.hdid)) < 1e-6)
    True
    """
    start, rate, scale = reals(x, "x", ("n",)), reals(dxdt, "dxdt", ("n",)), reals(xscal, "xscal", ("n",), above=0.0)
    h = real(htry, "htry")
    while True:
        half = rk4(start, rate, t, 0.5 * h, xdot)
        twice = rk4(half, _rate(xdot, t + 0.5 * h, half), t + 0.5 * h, 0.5 * h, xdot)
        if t + h == t:
            raise ArgumentError(f"rkqc: the step size is too small at t = {t:g}")
        difference = twice - rk4(start, rate, t, h, xdot)
        error = float(np.abs(difference / scale).max()) / eps
        if error <= 1.0:
            following = SAFETY * h * error**PGROW if error > ERRCON else 4.0 * h
            return AdaptiveStep(twice + difference * FCOR, t + h, h, following)
        h = SAFETY * h * error**PSHRNK


def odeint(
    xdot: RightHandSide, xo: ArrayLike, to: float, tf: float, eps: float, h1: float, hmin: float, dtsav: float
) -> OdeintResult:
    """Integrate with adaptive steps; states are kept more than `dtsav` apart.

    Examples
    --------
    >>> result = odeint(lambda t, x: -x, [1.0], 0.0, 1.0, 1e-6, 0.1, 1e-12, 0.25)
    >>> bool(abs(result.xout[0, -1] - np.exp(-1.0)) < 1e-6)
    True
    """
    x, t, h = reals(xo, "xo", ("n",)), real(to, "to"), abs(real(h1, "h1")) * (1.0 if tf > to else -1.0)
    times, states, nok, nbad = [t], [x], 0, 0
    for _ in range(MAXSTP):
        rate = _rate(xdot, t, x)
        if abs(t - times[-1]) > abs(dtsav):
            times.append(t)
            states.append(x)
        # As in ROBOOP, the error is measured against the step that was due, before it is cut to end at tf.
        scale = np.abs(x) + np.abs(h * rate) + TINY
        if (t + h - tf) * (t + h - to) > 0.0:
            h = tf - t
        step = rkqc(x, rate, t, h, eps, scale, xdot)
        nok, nbad = (nok + 1, nbad) if step.hdid == h else (nok, nbad + 1)
        x, t, h = step.x, step.t, step.hnext
        if (t - tf) * (tf - to) >= 0.0:
            return OdeintResult(np.array([*times, t]), np.array([*states, x]).T, nok, nbad)
        if abs(h) <= hmin:
            raise ArgumentError(f"odeint: the step size {h:g} at t = {t:g} is below hmin = {hmin:g}")
    raise ArgumentError(f"odeint: {MAXSTP} steps do not lead to tf = {tf:g}; they reached t = {t:g}")


def Runge_Kutta4(xdot: RightHandSide, xo: ArrayLike, to: float, tf: float, nsteps: int) -> tuple[Vector, Vector]:
    """Return times (nsteps + 1,) and states (n, nsteps + 1), a state a column, by the classical method.

    Examples
    --------
    >>> tout, xout = Runge_Kutta4(lambda t, x: [x[1], -x[0]], [1.0, 0.0], 0.0, np.pi, 100)
    >>> xout[:, -1].round(6) + 0.0
    array([-1.,  0.])
    """
    steps = whole_number(nsteps, "nsteps", 1, 10_000_000)
    start, end = real(to, "to"), real(tf, "tf")
    x, h = reals(xo, "xo", ("n",)), (end - start) / steps
    states = [x]
    for step in range(steps):
        t = start + step * h
        x = rk4(x, _rate(xdot, t, x), t, h, xdot)
        states.append(x)
    times = start + h * np.arange(steps + 1, dtype=np.float64)
    return np.asarray(times, dtype=np.float64), np.array(states).T


def _rate(xdot: RightHandSide, t: float, x: Vector) -> Vector:
    return reals(xdot(t, x), "the result of xdot", x.shape)
