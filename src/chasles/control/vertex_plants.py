"""Plants at the vertices of what a user declares unknown, frozen along a motion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.control.delayed_hold import DelayedHold, delayed_hold
from chasles.engine.validators import real
from chasles.robot.robot import Robot
from chasles.trajectories import JointTrajectory, Motion

Floats = NDArray[np.float64]

#: Corners of a tetrahedron: the payload's centre lies in these directions from the tool's origin, in its axes.
_CORNERS = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]]) / np.sqrt(3.0)
#: Vertices without payload, which come first: a light one, a late one, one with friction.
UNLOADED = 3
_BALL = 0.04  # m, radius of the payload as a solid ball
_MOST_ERROR = 0.9  # of masses and inertias
_STILL = 1e-3  # rad/s or m/s, largest velocity of joints that count as standing still


@dataclass(frozen=True, kw_only=True)
class Uncertainty:
    """Uncertainty of a control law's model of the plant.

    Attributes
    ----------
    payload
        Largest mass at the tool, kg, from none up.
    payload_radius
        Largest distance of the payload's centre from the tool's origin, m, in any direction.
    model_error
        Largest relative error of the model's masses and inertias.
    unknown_friction
        Largest viscous friction that the model does not have, as a share of each joint's peak torque with the payload,
        reached at its peak velocity.
    jitter
        Largest lateness of a torque beyond the declared delay, in sample periods.
    stiffness_error
        Largest relative error of the stiffness of elastic joints, for laws that know of them.

    Examples
    --------
    >>> Uncertainty(payload=1.5).vertices
    7
    """

    payload: float = 0.0
    payload_radius: float = 0.06
    model_error: float = 0.1
    unknown_friction: float = 0.05
    jitter: float = 0.25
    stiffness_error: float = 0.2

    def __post_init__(self) -> None:
        for name in ("payload", "payload_radius", "unknown_friction"):
            real(getattr(self, name), name, at_least=0.0)
        real(self.model_error, "model_error", at_least=0.0, at_most=_MOST_ERROR)
        real(self.jitter, "jitter", at_least=0.0, at_most=1.0)
        real(self.stiffness_error, "stiffness_error", at_least=0.0, at_most=_MOST_ERROR)

    @property
    def vertices(self) -> int:
        """Number of plants: a light one, a late one, one with friction, and four with the payload if there is one."""
        return UNLOADED + len(_CORNERS) * (self.payload > 0.0)

    def with_model_payload(self, robot: Robot, mass: float) -> Robot:
        """Return a law's model with a mass at the tool whose inertia is that of all directions of its centre."""
        if not mass:
            return robot
        carried = _carried(robot, mass, np.zeros(3), mass * (0.4 * _BALL**2 + 0.5 * self.payload_radius**2) * np.eye(3))
        return robot.with_payload(carried.mass, center_of_mass=carried.center, inertia=carried.inertia)

    def varied(self, robot: Robot, places: Motion) -> dict[str, Floats]:
        """Return the parameters of the vertex plants for ``vary=``, each (vertices, 1, ...)."""
        unloaded = _carried(robot, 0.0, np.zeros(3), np.zeros((3, 3)))
        inertia = self.payload * 0.4 * _BALL**2 * np.eye(3)
        loaded = [_carried(robot, self.payload, self.payload_radius * corner, inertia) for corner in _CORNERS]
        bodies = [*UNLOADED * [unloaded], *loaded][: self.vertices]
        mass, center, inertias = (np.array(part)[:, None] for part in zip(*bodies, strict=True))
        loads = {"payload.mass": mass, "payload.center_of_mass": center, "payload.inertia": inertias}
        rubbing = np.zeros((self.vertices, 1))
        rubbing[2] = 1.0
        return loads | self._frictions(robot, places, rubbing, loads)

    def robots(self, robot: Robot) -> list[Robot]:
        """Return the robots with the masses of the vertex plants: without the payload, and with it at each corner."""
        inertia = self.payload * 0.4 * _BALL**2 * np.eye(3)
        bodies = [_carried(robot, self.payload, self.payload_radius * corner, inertia) for corner in _CORNERS]
        loaded = [robot.with_payload(body.mass, center_of_mass=body.center, inertia=body.inertia) for body in bodies]
        return [robot, *loaded] if self.payload else [robot]

    def drawn(self, robot: Robot, motion: JointTrajectory, count: int, rng: np.random.Generator) -> dict[str, Floats]:
        """Return parameters of drawn plants for ``vary=``, (count, ...), half of them with the payload at its edge."""
        mass, radius = self.payload * rng.uniform(size=count), self.payload_radius * rng.uniform(size=count) ** (1 / 3)
        mass[::2], radius[::2] = self.payload, self.payload_radius
        directions = rng.normal(size=(count, 3))
        centers = radius[:, None] * directions / np.linalg.norm(directions, axis=1, keepdims=True)
        bodies = [_carried(robot, m, c, m * 0.4 * _BALL**2 * np.eye(3)) for m, c in zip(mass, centers, strict=True)]
        total, center, inertias = (np.array(part) for part in zip(*bodies, strict=True))
        loads = {"payload.mass": total, "payload.center_of_mass": center, "payload.inertia": inertias}
        moments = motion(float(motion.start_time) + np.linspace(0.0, motion.duration, 9))
        heaviest = {name: values[None, :1] for name, values in loads.items()}
        return loads | self._frictions(robot, moments, rng.uniform(size=count), heaviest)

    def _frictions(self, robot: Robot, places: Motion, share: Floats, loads: dict[str, Floats]) -> dict[str, Floats]:
        """Viscous friction of each joint with a share of what is unknown."""
        peak = np.abs(robot.inverse_dynamics(*places, vary=loads)).reshape(-1, robot.n).max(axis=0)
        fastest = np.abs(places.qd).max(axis=0)
        further = np.where(fastest > _STILL, self.unknown_friction * peak / np.maximum(fastest, _STILL), 0.0)
        names = [f"joints.{joint}.viscous_friction" for joint in robot.velocity_names]
        return {
            name: float(robot.description.joint(joint).viscous_friction) + share * further[place]
            for place, (name, joint) in enumerate(zip(names, robot.velocity_names, strict=True))
            if name in robot.parameters
        }


class _Body(NamedTuple):
    """Mass, centre (3,) and inertia (3, 3) about it."""

    mass: float
    center: Floats
    inertia: Floats


def _carried(robot: Robot, mass: float, center: Floats, inertia: Floats) -> _Body:
    """Return the body of a robot's own payload and a further mass."""
    known = robot.description.payload
    total = known.mass + mass
    if not total:
        return _Body(0.0, np.zeros(3), np.zeros((3, 3)))
    middle = (known.mass * known.center_of_mass + mass * center) / total
    about = np.array(known.matrix) + inertia
    for m, c in ((known.mass, known.center_of_mass), (mass, center)):
        d = c - middle
        about = about + m * (d @ d * np.eye(3) - np.outer(d, d))
    return _Body(total, middle, about)


class FrozenPlants(NamedTuple):
    """Vertex plants at places of a motion, in continuous time.

    Attributes
    ----------
    A, B
        Linear models, (vertices, places, 2n, 2n) and (vertices, places, 2n, n).
    torque
        Torques that the motion asks for, (vertices, places, n).
    late
        Lateness of each vertex's torques beyond the delay, in sample periods, (vertices,).
    """

    A: Floats
    B: Floats
    torque: Floats
    late: Floats

    def sampled(self, period: float, delay: float) -> list[DelayedHold]:
        """Return the sampled model of each vertex."""
        return [
            delayed_hold(A, B, period, delay + late)
            for A, B, late in zip(self.A, self.B, self.late.tolist(), strict=True)
        ]


def frozen_plants(robot: Robot, places: Motion, unknown: Uncertainty) -> FrozenPlants:
    """Linearise the vertex plants at places of a motion, each at the torques that it needs there.

    The first has inertia and weight times 1 - ε: the highest loop gain. The second has its torques late, the third has
    the unknown friction, the others the payload at the corners of a tetrahedron about the tool's origin.
    """
    vary: Any = unknown.varied(robot, places)
    torque = robot.inverse_dynamics(*places, vary=vary)
    A, B = (np.array(part) for part in robot.linearize(places.q, places.qd, torque, vary=vary))
    scale = 1.0 - unknown.model_error
    B[0] /= scale
    torque[0] *= scale
    late = np.zeros(unknown.vertices)
    late[1] = unknown.jitter
    return FrozenPlants(A, B, torque, late)
