"""The semi-implicit Euler method of mechanics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from chasles.integrators.integrator import RightHandSide, Step


@dataclass(frozen=True)
class SemiImplicitEuler:
    """Semi-implicit (symplectic) Euler method, of order 1.

    Velocities go first; positions follow with the new velocities, so that energy does not drift away in the long run.
    In `chasles.integrate` the first half of the state holds the positions, the second half the velocities.

    Notes
    -----
    Hairer, Lubich and Wanner, Geometric Numerical Integration, section I.1.2.

    Examples
    --------
    An oscillator y = (position, velocity):

    >>> import chasles as ch
    >>> ch.integrate(lambda t, y: [y[1], -y[0]], [1.0, 0.0], [0.0, 0.1], integrator="semi-implicit-euler").y[-1]
    array([ 0.99, -0.1 ])
    """

    name: str = "semi-implicit-euler"
    order: int = 1
    embedded_order: None = None
    stages: int = 1
    implicit: bool = False

    def step(self, f: RightHandSide, t: Any, y: Any, h: Any) -> Step:
        """Advance the state from t to t + h; on numbers or traced scalars."""
        rates = f(t, y)
        return Step(y + h * f.with_new_velocities(rates, t, y, y + h * rates))
