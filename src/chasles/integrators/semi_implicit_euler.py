"""The semi-implicit Euler method of mechanics, and the same with implicit friction."""

from __future__ import annotations

from dataclasses import dataclass

from chasles.engine.program.scalar import Array, Real
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

    def step(self, f: RightHandSide, t: Real, y: Array, h: Real) -> Step:
        """Advance the state from t to t + h; on numbers or traced scalars."""
        rates = f(t, y)
        return Step(y + h * f.with_new_velocities(rates, t, y, y + h * rates))


@dataclass(frozen=True)
class ImplicitFrictionEuler:
    """Semi-implicit Euler method, of order 1, in which joint friction is that at the end of the step, linearised.

    Only the slopes of the joints' friction take part, which add to the joints' inertias (`Robot.forward_dynamics`).
    So a step costs little more than the forward dynamics, where `linearly-implicit-euler` needs the Jacobian of all
    that acts. Friction of any stiffness is stable; what else acts is taken at the start of the step. For simulations of
    robots; MuJoCo's ``implicitfast`` is of this kind.
    """

    name: str = "implicit-friction-euler"
    order: int = 1
    embedded_order: None = None
    stages: int = 1
    implicit: bool = False

    def step(self, f: RightHandSide, t: Real, y: Array, h: Real) -> Step:
        """Advance the state from t to t + h; on numbers or traced scalars."""
        rates = f.with_implicit_friction(t, y, h)
        return Step(y + h * f.with_new_velocities(rates, t, y, y + h * rates))
