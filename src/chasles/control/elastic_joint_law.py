"""What laws of elastic joints share: springs and rotors, the motors' motion, linear models, and vertex plants."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import CubicSpline

from chasles.base.errors import ArgumentError
from chasles.control.linear_model import LinearModel
from chasles.control.load_friction import has_load_friction
from chasles.control.margin_design import Plants
from chasles.control.now import MotorReading
from chasles.control.robot_controller import UNKNOWNS, RobotController
from chasles.control.vertex_plants import FrozenPlants, Uncertainty, frozen_plants
from chasles.engine import Function, trace
from chasles.engine.program.scalar import Array
from chasles.engine.validators import NOT_NEGATIVE, POSITIVE, Bound, reals
from chasles.robot.robot import Robot
from chasles.trajectories import Motion

Floats = NDArray[np.float64]

_ALONE = 3  # vertex plants of the robot without payload


class HigherDerivatives(NamedTuple):
    """Third and fourth derivatives of a motion's positions, each (k, n)."""

    jerk: Floats
    snap: Floats


class ElasticJointLaw(RobotController):
    """Base of the laws for M q̈ + n(q, q̇) = K (θ - q), B θ̈ + K (θ - q) = τ that measure links q and motors θ.

    Friction of the model acts on the links. Viscous friction is part of n. Dry friction, which has no derivatives, is
    compensated at the reference velocity, under the load that the springs transmit.

    Parameters
    ----------
    robot
        Model of the links, without the motors' inertia; see `chasles.ElasticJoints.of_robot`.
    stiffness, rotor_inertia
        K, N·m/rad, and B, kg·m², of the joints, positive, a scalar or one value per joint.
    values
        Further parameters by name.
    memory
        Named parts of the memory at the start.
    """

    measures_motors = True
    uncertainties: ClassVar[tuple[str, ...]] = (*UNKNOWNS, "stiffness_error")
    stiffness: Array
    rotor_inertia: Array
    bounds: Mapping[str, Bound] = {
        "stiffness": POSITIVE,
        "rotor_inertia": POSITIVE,
        "frequency": NOT_NEGATIVE,
        "damping": NOT_NEGATIVE,
    }

    def __init__(
        self,
        robot: Robot,
        *,
        stiffness: ArrayLike,
        rotor_inertia: ArrayLike,
        values: Mapping[str, ArrayLike],
        memory: Mapping[str, Any],
    ) -> None:
        if robot.nq != robot.n:
            raise ArgumentError(f"robot '{robot.name}' has joints of several coordinates; springs act on single ones")
        given = {"stiffness": stiffness, "rotor_inertia": rotor_inertia, **values}
        checked = {name: reals(value, name, (robot.n,), broadcast=True) for name, value in given.items()}
        super().__init__(robot, checked, memory)
        self.smooth = without_dry_friction(robot)

    def dry_friction(self, q: Any, qd: Any, spring: Any) -> Any:
        """Return the model's friction (n,) that has no derivatives, at a velocity, where springs transmit torques."""
        if self.smooth is self.robot:
            return np.zeros(self.robot.n)
        rest = self.smooth.friction_torque(q, qd)
        if not has_load_friction(self.robot):
            return self.robot.friction_torque(q, qd) - rest
        load = self.robot.transmitted_torque(q, qd, spring)
        return self.robot.loaded_friction_torque(q, qd, load) - rest

    def motor_motion(self, motion: Motion, times: Floats | None = None) -> MotorReading:
        """Return motor angles and speeds (k, n) at places of a motion; without times accelerations stay as they are."""
        jerk = np.zeros_like(motion.qdd) if times is None else higher_derivatives(times, motion).jerk
        return self.motors_along(motion, jerk)

    def motors_along(self, motion: Motion, jerk: Floats) -> MotorReading:
        """Return motor angles and speeds (k, n) that give the links a motion: θ = q + (M q̈ + n) / K."""
        first, _ = torque_derivatives(self.smooth)
        torque = self.robot.inverse_dynamics(motion.q, motion.qd, motion.qdd)
        rate = first(motion.q, motion.qd, motion.qdd, jerk)
        return MotorReading(motion.q + torque / self.stiffness, motion.qd + rate / self.stiffness)

    @classmethod
    def springs(cls, stiffness: ArrayLike | None, rotor_inertia: ArrayLike | None) -> tuple[ArrayLike, ArrayLike]:
        """Return stiffness and rotor inertia; raise `ArgumentError` where one is missing."""
        if stiffness is None or rotor_inertia is None:
            missing = "stiffness" if stiffness is None else "rotor_inertia"
            raise ArgumentError(f"{cls.__name__} needs {missing} of the joints")
        return stiffness, rotor_inertia

    @classmethod
    def vertex_plants(cls, settings: Mapping[str, Any]) -> Plants:
        """Return the function that makes vertex plants with elastic joints; see `elastic_vertices`."""
        stiffness, rotors = cls.springs(settings.get("stiffness"), settings.get("rotor_inertia"))

        def plants(robot: Robot, places: Motion, unknown: Uncertainty) -> FrozenPlants:
            K, B = (
                reals(value, name, (robot.n,), broadcast=True, above=0.0)
                for name, value in (("stiffness", stiffness), ("rotor_inertia", rotors))
            )
            return elastic_vertices(robot, places, unknown, K, B)

        return plants


def without_dry_friction(robot: Robot) -> Robot:
    """Return a robot whose friction has derivatives: viscous friction alone."""
    dry = any(np.any(joint.coulomb_friction) for joint in robot.description.joints)
    return robot.with_friction(coulomb=0.0, load=0.0) if dry or has_load_friction(robot) else robot


def higher_derivatives(times: Floats, motion: Motion) -> HigherDerivatives:
    """Return third and fourth derivatives of a motion at times (k,), by a spline through its accelerations."""
    if len(times) < 2:
        return HigherDerivatives(np.zeros_like(motion.qdd), np.zeros_like(motion.qdd))
    spline = CubicSpline(times, motion.qdd)
    return HigherDerivatives(spline(times, 1), spline(times, 2))


def elastic_model(
    links: LinearModel, stiffness: Floats, rotor_inertia: Floats, damping: Floats | float = 0.0
) -> LinearModel:
    """Return the linear model of x = (q, θ, q̇, θ̇) and the motor torques, from that of the links.

    Parameters
    ----------
    links
        A (..., 2n, 2n) and B (..., 2n, n) of (q, q̇) and the torques on the links.
    stiffness, rotor_inertia, damping
        K, N·m/rad, B, kg·m², and D, N·m·s/rad, (n,).

    Examples
    --------
    A rod of 1 kg·m² and a rotor of 0.25 kg·m² on a spring of 100 N·m/rad swing at √(100 + 400) rad/s:

    >>> rod = LinearModel(np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0], [1.0]]))
    >>> A, B = elastic_model(rod, np.array([100.0]), np.array([0.25]))
    >>> np.abs(np.linalg.eigvals(A)).max().round(6) == np.sqrt(500.0).round(6)
    np.True_
    """
    A, M_inverse = links.A, links.B[..., links.B.shape[-1] :, :]
    n = M_inverse.shape[-1]
    eye, of_springs, of_dampers = np.eye(n), M_inverse * stiffness, M_inverse * damping
    on_rotors, damped = np.diag(stiffness / rotor_inertia), np.diag(np.broadcast_to(damping, n) / rotor_inertia)
    joined, inputs = np.zeros((*A.shape[:-2], 4 * n, 4 * n)), np.zeros((*A.shape[:-2], 4 * n, n))
    q, motors, rates, speeds = (slice(k * n, (k + 1) * n) for k in range(4))
    joined[..., q, rates] = joined[..., motors, speeds] = eye
    joined[..., rates, q] = A[..., n:, :n] - of_springs
    joined[..., rates, motors] = of_springs
    joined[..., rates, rates], joined[..., rates, speeds] = A[..., n:, n:] - of_dampers, of_dampers
    joined[..., speeds, q], joined[..., speeds, motors] = on_rotors, -on_rotors
    joined[..., speeds, rates], joined[..., speeds, speeds] = damped, -damped
    inputs[..., speeds, :] = np.diag(1.0 / rotor_inertia)
    return LinearModel(joined, inputs)


def elastic_vertices(
    robot: Robot, places: Motion, unknown: Uncertainty, stiffness: Floats, rotor_inertia: Floats
) -> FrozenPlants:
    """Linearise vertex plants with elastic joints at places of a motion.

    They are those of `frozen_plants`, the first with lighter rotors too, on springs of the nominal stiffness; then the
    robot without payload, and with it at each corner, on springs as soft and as stiff as is declared possible.
    """
    links = frozen_plants(robot, places, unknown)
    count = len(links.A)
    which = [*range(_ALONE), *2 * [*range(1), *range(_ALONE, count)]]
    softness = np.ones(len(which))
    half = (len(which) - _ALONE) // 2
    softness[_ALONE : _ALONE + half] -= unknown.stiffness_error
    softness[_ALONE + half :] += unknown.stiffness_error
    rotors = np.tile(rotor_inertia, (len(which), 1))
    rotors[np.array(which) == 0] *= 1.0 - unknown.model_error
    models = [
        elastic_model(LinearModel(links.A[k], links.B[k]), share * stiffness, inertia)
        for k, share, inertia in zip(which, softness.tolist(), rotors, strict=True)
    ]
    torque = links.torque[which] + rotors[:, None] * places.qdd
    return FrozenPlants(
        np.stack([model.A for model in models]), np.stack([model.B for model in models]), torque, links.late[which]
    )


@cache
def torque_derivatives(robot: Robot) -> tuple[Any, Any]:
    """Functions of q and its derivatives: first and second derivative of the inverse dynamics along a motion."""
    n = robot.n
    states = {"q": (n,), "qd": (n,), "qdd": (n,)}
    torque = Function(trace(lambda q, qd, qdd: robot.inverse_dynamics(q, qd, qdd), states, name="torque")).jvp()

    def rate(q: Array, qd: Array, qdd: Array, qddd: Array) -> Any:
        return torque(q, qd, qdd, qd, qdd, qddd)

    first = Function(trace(rate, states | {"qddd": (n,)}, name="torque_rate"))
    moved = first.jvp()

    def second(q: Array, qd: Array, qdd: Array, qddd: Array, v: Array) -> Any:
        return moved(q, qd, qdd, qddd, qd, qdd, qddd, v)

    return first, second
