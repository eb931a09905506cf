"""Computed torque of fourth order, for robots with elastic joints."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import CubicSpline

from chasles.base.errors import ArgumentError
from chasles.control.load_friction import has_load_friction
from chasles.control.now import Now
from chasles.control.robot_controller import RobotController
from chasles.engine import Function, Record, trace
from chasles.engine.program.scalar import Array
from chasles.engine.validators import NOT_NEGATIVE, POSITIVE, Bound, reals
from chasles.robot.robot import Robot
from chasles.trajectories import Motion

Floats = NDArray[np.float64]


class ElasticComputedTorque(RobotController):
    """τ = B θ̈ + K (θ - q), where θ̈ is that of motors that give the links the fourth derivative v.

        v = q_ref'''' + 4ζω e''' + (2 + 4ζ²) ω² e'' + 4ζω³ e' + ω⁴ e

    For links M q̈ + n(q, q̇) = K (θ - q) behind springs K and motors B θ̈ + K (θ - q) = τ, the motors of a motion are at
    θ = q + K⁻¹ (M q̈ + n), and two more derivatives of the inverse dynamics give θ̈ for v. In continuous time each error
    of an exact model then obeys (s² + 2ζω s + ω²)² e = 0, above the resonance too. The law measures q, q̇, θ and θ̇; q̈
    and q''' follow from the springs' torques and their rates, not from differentiation.

    Source: Spong, "Modeling and control of elastic joint robots", Journal of Dynamic Systems, Measurement, and Control
    109, 1987; De Luca and Book, "Robots with flexible elements", Springer Handbook of Robotics (2016), section 11.1.

    Parameters
    ----------
    robot
        Model of the links, without the motors' inertia; see `chasles.ElasticJoints.of_robot`.
    stiffness, rotor_inertia
        K, N·m/rad, and B, kg·m², of the joints, positive, a scalar or one value per joint.
    frequency, damping
        ω, rad/s, and ζ, positive, a scalar or one value per joint. Sampling bounds ω: keep 4ζω h below
        0.2. At 0.32 the light last joint of a PUMA with springs of 10 Hz moves off slowly, at 0.16 it does not.

    Notes
    -----
    The springs' damping is not compensated; it damps further where it is small. Viscous friction of the links is
    compensated; dry friction, which has no derivatives, must not be in the model.

    Examples
    --------
    Joints with a resonance at 10 Hz, and a law twice as fast as usual laws of the links may be:

    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> law = ElasticComputedTorque(arm, stiffness=[800.0, 100.0], rotor_inertia=[0.3, 0.05], frequency=30.0)
    >>> joints = ch.ElasticJoints(arm, stiffness=[800.0, 100.0], rotor_inertia=[0.3, 0.05])
    >>> motion = ch.PointToPoint([0.0, 0.0], [0.5, 0.3], duration=0.6)
    >>> run = ch.simulate(ch.Plant(arm, elastic_joints=joints), law, motion, duration=1.0)
    >>> float(abs(run.error).max()) < 1e-2
    True
    """

    name = "computed torque of elastic joints"
    measures_motors = True
    stiffness: Array
    rotor_inertia: Array
    frequency: Array
    damping: Array
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
        frequency: ArrayLike,
        damping: ArrayLike = 1.0,
    ) -> None:
        if robot.nq != robot.n:
            raise ArgumentError(f"robot '{robot.name}' has joints of several coordinates; springs act on single ones")
        joints = robot.description.joints
        if has_load_friction(robot) or any(np.any(joint.coulomb_friction) for joint in joints):
            raise ArgumentError(
                f"robot '{robot.name}' has dry friction, which this law cannot differentiate: give it "
                "robot.with_friction(coulomb=0.0) as its model"
            )
        values = {"stiffness": stiffness, "rotor_inertia": rotor_inertia, "frequency": frequency, "damping": damping}
        checked = {name: reals(value, name, (robot.n,), broadcast=True) for name, value in values.items()}
        super().__init__(robot, checked)

    def schedule(self, times: Floats, motion: Motion) -> Record:
        """Return third and fourth derivatives of the reference, each (k, n), by a spline through its accelerations."""
        if len(times) < 2:
            return Record(jerk=np.zeros_like(motion.qdd), snap=np.zeros_like(motion.qdd))
        spline = CubicSpline(times, motion.qdd)
        return Record(jerk=spline(times, 1), snap=spline(times, 2))

    def law(self, now: Now) -> Any:
        """Return the torques of the law."""
        if now.motors is None:
            raise ArgumentError(f"'{self.name}' needs the motor sides of elastic joints")
        q, qd, reference, motors = now.q, now.qd, now.reference, now.motors
        first, second = _derivatives(self.robot)
        still = np.zeros(self.robot.n)
        spring, rate = self.stiffness * (motors.q - q), self.stiffness * (motors.qd - qd)
        unforced = self.robot.forward_dynamics(q, qd, still)
        qdd = self.robot.forward_dynamics(q, qd, spring)
        rest = first(q, qd, qdd, still)  # of the rate of the torques, without M q'''
        jerk = self.robot.forward_dynamics(q, qd, rate - rest) - unforced
        w, z = self.frequency, self.damping
        v = now.schedule.snap + 4.0 * z * w * (now.schedule.jerk - jerk)
        v = v + (2.0 + 4.0 * z * z) * w * w * (reference.qdd - qdd)
        v = v + 4.0 * z * w**3 * (reference.qd - qd) + w**4 * (reference.q - q)
        motor_acceleration = qdd + second(q, qd, qdd, jerk, v) / self.stiffness
        return self.rotor_inertia * motor_acceleration + spring

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.robot!r}, frequency={self.frequency.tolist()})"


@cache
def _derivatives(robot: Robot) -> tuple[Any, Any]:
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
