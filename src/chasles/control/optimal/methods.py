"""How a step goes from one node to the next: methods that ask for the accelerations at their stages.

A method is written once. On numbers, and where a step is traced as a whole, the accelerations are those of the forward
dynamics. Where a step is differentiated they are inputs: what a method does between them has derivatives of its own,
and each stage has those of the forward dynamics (see `step`).

The methods of mechanics have one stage, and take drives (see `drives`) and, if wanted, friction implicitly:

    q½ = q + σ h q̇,   q̇⁺ = q̇ + h FD(q½, q̇, τ),   q⁺ = q½ + (1 - σ) h q̇⁺.

With σ = ½ it is the leapfrog (position Verlet) method: the acceleration is constant between two nodes, so that the
motion is a parabola through both. With σ = 0 it is the semi-implicit Euler method. Friction may be that at the end of
the step (see `implicit_friction`). All other methods are those of `chasles.integrators` that need no Jacobian.

Source: Hairer, Lubich and Wanner, Geometric Numerical Integration (2006), sections I.1 and I.3.1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np

from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.control.optimal.coordinates import Coordinates
from chasles.control.optimal.drives import Beginning, Drives
from chasles.engine.program.scalar import Array, Real
from chasles.engine.validators import whole_number
from chasles.integrators import INTEGRATORS, Integrator, RungeKutta, Steps, Within, integrator_of
from chasles.integrators.integrator import checked_integrator
from chasles.integrators.semi_implicit_euler import ImplicitFrictionEuler
from chasles.robot.robot import Robot

_MOST_STEPS = 1000


class Stage(NamedTuple):
    """Place at which a method asks for accelerations.

    Attributes
    ----------
    p, qd
        Coordinates of the configuration and velocities, (..., n).
    torque
        Torques on the joints, (..., n), but those of contacts.
    inertia
        What each joint's inertia is beyond the robot's own, (..., n), or None.
    friction_over
        Time, s, over which the accelerations act on friction, which is that at its end; or None.
    """

    p: Array
    qd: Array
    torque: Array
    inertia: Array | None = None
    friction_over: Any = None


Accelerate = Callable[[Stage], Array]


@dataclass(frozen=True)
class System:
    """What a method moves on: coordinates of a robot, and its drives."""

    coordinates: Coordinates
    drives: Drives

    @property
    def n(self) -> int:
        """Number of velocities."""
        return self.coordinates.robot.n


@dataclass(frozen=True)
class OneStage:
    """A method of mechanics.

    Attributes
    ----------
    drift
        Share σ of the step by which positions move before torques act.
    has_implicit_friction
        Whether friction is that at the end of the step.
    """

    drift: float
    has_implicit_friction: bool = False

    stages = 1

    def __call__(
        self, system: System, x: Array, command: Array, span: Any, accelerate: Accelerate, *centres: Array
    ) -> Array:
        """Next positions, velocities and states of drives, (..., 2n + count)."""
        n, coordinates = system.n, system.coordinates
        p, qd, states = x[..., :n], x[..., n : 2 * n], x[..., 2 * n :]
        begin = Beginning(p, qd, states, command, span, self.drift)
        halfway = coordinates.moved(p, self.drift * span * qd, *centres[:1], *centres[:1])
        torque, inertia = system.drives.load(begin)
        qdd = accelerate(Stage(halfway, qd, torque, inertia, span if self.has_implicit_friction else None))
        qd_next = qd + span * qdd
        p_next = coordinates.moved(halfway, (1.0 - self.drift) * span * qd_next, *centres)
        return np.concatenate([p_next, qd_next, system.drives.after(begin, qdd)], axis=-1)


@dataclass(frozen=True)
class Staged:
    """A method of `chasles.integrators` that needs no Jacobian."""

    integrator: Integrator
    has_implicit_friction = False

    @property
    def stages(self) -> int:
        """Number of accelerations that a step asks for."""
        return self.integrator.stages

    def __call__(
        self, system: System, x: Array, command: Array, span: Any, accelerate: Accelerate, *centres: Array
    ) -> Array:
        """Next positions, velocities and states of drives, (..., 2n + count)."""
        return np.asarray(self.integrator.step(_Rates(system, command, span, accelerate), 0.0, x, span).y)


@dataclass(frozen=True)
class Repeated:
    """A number of equal steps of a method between two nodes."""

    method: OneStage | Staged
    count: int

    @property
    def has_implicit_friction(self) -> bool:
        """Whether friction is that at the end of each step."""
        return self.method.has_implicit_friction

    @property
    def stages(self) -> int:
        """Number of accelerations that all steps ask for."""
        return self.count * self.method.stages

    def __call__(
        self, system: System, x: Array, command: Array, span: Any, accelerate: Accelerate, *centres: Array
    ) -> Array:
        """Next positions, velocities and states of drives, (..., 2n + count)."""
        for _ in range(self.count):
            x = self.method(system, x, command, span / self.count, accelerate)
        return x


@dataclass(frozen=True)
class _Rates:
    """Rates of positions, velocities and states of drives under a command, as integrators see them."""

    system: System
    command: Array
    span: Any
    accelerate: Accelerate

    def _at(self, y: Array) -> Beginning:
        n = self.system.n
        return Beginning(y[..., :n], y[..., n : 2 * n], y[..., 2 * n :], self.command, self.span, 0.0)

    def __call__(self, t: Real, y: Array) -> Array:
        at = self._at(y)
        qdd = self.accelerate(Stage(at.q, at.qd, self.system.drives.torque(at)))
        return np.concatenate([at.qd, qdd, self.system.drives.rates(at)], axis=-1)

    def with_new_velocities(self, rates: Array, t: Real, y: Array, y_next: Array) -> Array:
        """Rates with those of the positions taken at later velocities."""
        n = self.system.n
        return np.concatenate([y_next[..., n : 2 * n], rates[..., n:]], axis=-1)

    def with_implicit_friction(self, t: Real, y: Array, h: Real) -> NoReturn:
        """Raise an error: methods that linearise friction are refused."""
        raise ArgumentError("optimal control takes no integrator that linearises friction")

    def linearize(self, t: Real, y: Array) -> NoReturn:
        """Raise an error: methods that need a Jacobian are refused."""
        raise ArgumentError("optimal control takes no integrator that needs a Jacobian")


Method = OneStage | Staged | Repeated
#: Methods of one stage, which take robots with quaternions and loops too.
_ONE_STAGE: Mapping[str, OneStage] = {
    "leapfrog": OneStage(0.5),
    "implicit-friction-leapfrog": OneStage(0.5, has_implicit_friction=True),
    "semi-implicit-euler": OneStage(0.0),
}
#: Methods of `chasles.integrators` with steps of fixed length that need no Jacobian.
_STAGED = tuple(name for name, each in INTEGRATORS.items() if isinstance(each, RungeKutta) and not each.embedded_order)
NAMES = (*_ONE_STAGE, *_STAGED)


def method_of(choice: str | Integrator | Steps, robot: Robot) -> Method:
    """Return the method of a name, an integrator, or a number of its steps.

    Raises
    ------
    ArgumentError
        It needs a Jacobian, chooses its own steps, or does not take the robot.
    UnknownNameError
        There is no method of this name.

    Examples
    --------
    >>> import chasles as ch
    >>> method_of("rk4", ch.load("planar2r")).stages
    4
    """
    if isinstance(choice, Within):
        raise _chooses_steps(choice.method)
    steps = choice if isinstance(choice, Steps) else Steps(choice, 1)
    count = whole_number(steps.count, "count of the integrator's steps", 1, _MOST_STEPS)
    if isinstance(steps.method, str) and steps.method not in (*_ONE_STAGE, *INTEGRATORS):
        raise UnknownNameError("integrator of optimal control", steps.method, NAMES)
    name = steps.method if isinstance(steps.method, str) else checked_integrator(steps.method).name
    if name in _ONE_STAGE:
        method: OneStage | Staged = _ONE_STAGE[name]
    else:
        method = Staged(integrator_of(steps.method))
        if method.integrator.implicit or isinstance(method.integrator, ImplicitFrictionEuler):
            raise ArgumentError(
                f"a step of '{name}' is linearised, and optimal control would need the second derivatives of its "
                "Jacobian; choose 'implicit-friction-leapfrog', which takes friction as it is at the end of a step, or "
                "'rk4' where nothing is stiff"
            )
        if method.integrator.embedded_order is not None and not isinstance(choice, Steps):
            raise _chooses_steps(name)
    if (isinstance(method, Staged) or count > 1) and robot.nq != robot.n:
        raise ArgumentError(
            f"robot '{robot.name}' has quaternions or loops, whose positions cannot be added up; choose one step of "
            f"{', '.join(_ONE_STAGE)} between two nodes"
        )
    return method if count == 1 else Repeated(method, count)


def _chooses_steps(method: str | Integrator) -> ArgumentError:
    name = method if isinstance(method, str) else method.name
    return ArgumentError(
        f"'{name}' chooses its steps by their errors, but between two nodes there is a fixed number: give it, as in "
        f"integrator=chasles.integrators.Steps('{name}', 1), or choose 'rk4'"
    )
