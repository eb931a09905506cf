"""Robots with free joints, which no motor moves, and joints whose positions are quaternions, as control laws see them.

The equation of motion of a floating base (b) and motorised joints (a),

    [M_bb M_ba] [a_b]   [h_b]   [ 0 ]
    [M_ab M_aa] [a_a] + [h_a] = [τ_a],

gives the base's acceleration a_b = -M_bb⁻¹ (M_ba a_a + h_b) as a consequence of that of the joints, and leaves to these
the dynamics of a robot with motors in all joints, M̂ a_a + ĥ = τ_a. A frame's acceleration becomes Ĵ a_a + drift.
Sources: Spong, Partial feedback linearization of underactuated mechanical systems (1994), collocated; Umetani and
Yoshida, Resolved motion rate control of space manipulators with generalized Jacobian matrix (1989), for Ĵ.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.control.pole_design import PoleDesign
from chasles.engine.linear.symmetric import factor, solve
from chasles.engine.program.scalar import Real
from chasles.engine.validators import reals
from chasles.geometry import adjoint, exp_pose, exp_rotation
from chasles.geometry.elementary import Array, cross, twist_cross
from chasles.inverse_kinematics.differential.body_tasks import free_velocities
from chasles.robot.robot import Robot
from chasles.trajectories.motion import Motion

#: Why laws with unknown inertial parameters take no robots with free joints; see `RobotController`.
NONLINEAR_IN_PARAMETERS = (
    "a base without motors makes the equations of the joints nonlinear in the inertial parameters; use ComputedTorque "
    "or WholeBodyTorque, and DisturbanceObserver for what the model lacks"
)
#: Why regulators of the whole state take none.
NO_REGULATOR = (
    "motors cannot hold the momentum of a free base, so no regulator exists; use ComputedTorque, with supports= where "
    "the robot stands, or WholeBodyTorque"
)


def has_motors(robot: Robot) -> NDArray[np.bool_]:
    """Whether each degree of freedom has a motor, (n,): all but those of free joints.

    >>> import chasles as ch
    >>> has_motors(ch.load("planar2r").with_free_base())
    array([False, False, False, False, False, False,  True,  True])
    """
    return ~free_velocities(robot)


def is_floating(robot: Robot) -> bool:
    """Whether the robot has a free joint."""
    return bool(free_velocities(robot).any())


def motor_gains(robot: Robot, standing: bool = False, /, **values: ArrayLike) -> dict[str, NDArray[np.float64]]:
    """Gains by name, each (n,): one value is for all motors, and zero at free joints; (n,) values are for all.

    Raises
    ------
    ArgumentError
        A gain has another shape, is negative or not finite, or is not zero at a free joint of a robot that is not
        `standing` on supports.

    Examples
    --------
    >>> import chasles as ch
    >>> motor_gains(ch.load("planar2r").with_free_base(), kp=4.0)["kp"]
    array([0., 0., 0., 0., 0., 0., 4., 4.])
    """
    motors, gains_of = has_motors(robot), {}
    for name, value in values.items():
        gain = reals(value, name, (robot.n,), broadcast=True, at_least=0.0)
        if np.ndim(value) and standing:
            gains_of[name] = gain
            continue
        if np.ndim(value) and gain[~motors].any():
            joint = robot.velocity_names[int(np.flatnonzero(gain * ~motors)[0])]
            raise ArgumentError(
                f"{name} asks for a torque at {joint}, but no motor moves a free joint: its gain must be 0 (or give "
                "one number for all motors) unless the robot stands on supports"
            )
        gains_of[name] = gain * motors
    return gains_of


def joint_gains(design: PoleDesign, integral: bool = False) -> dict[str, NDArray[np.float64]]:
    """Gains kp, kd and perhaps ki, each (n,), that place the poles of each joint as if it moved alone.

    Free joints have no motor.
    """
    gains = design.gains(design.attainable_alone)._asdict()
    inertia = design.inertia * has_motors(design.model)
    return {name: inertia * gains[name] for name in (("kp", "kd", "ki") if integral else ("kp", "kd"))}


class TrackingError(NamedTuple):
    """Difference between a reference and a state, in the axes in which the robot's velocities are given.

    Attributes
    ----------
    position
        Displacement from q to the reference, (n,); see `Robot.difference`.
    velocity
        Velocity of the reference, seen at q, less qd, (n,).
    acceleration
        Rate of change of the reference's velocity, seen at q, (n,): that of `velocity` is this less q̈.
    """

    position: Array
    velocity: Array
    acceleration: Array


def tracking_error(robot: Robot, q: Array, qd: Array, reference: Motion) -> TrackingError:
    """Difference between a reference and a state, of numbers or traced scalars.

    Spherical and free joints give velocities in the axes of the body that they move. Those of the reference are rotated
    into the axes of the body as it is: by the rotation R, or the adjoint of the pose, from one to the other. In these
    axes, which turn at ω, R ω_ref changes by R ω_ref' - ω × R ω_ref.
    """
    if robot.nq == robot.n:
        return TrackingError(reference.q - q, reference.qd - qd, reference.qdd)
    error = np.asarray(robot.difference(q, reference.q))
    velocity, acceleration = np.array(reference.qd), np.array(reference.qdd)
    for joint in robot.description.coordinates:
        indices = robot.description.velocity_places(joint.name)
        if joint.has_quaternion and indices.stop:
            is_free = joint.kind == "free"
            towards: Any = adjoint(exp_pose(error[indices])) if is_free else exp_rotation(error[indices])
            turned = np.asarray(towards @ velocity[indices])
            turning = (twist_cross if is_free else cross)(qd[indices], turned)
            velocity[indices], acceleration[indices] = turned, towards @ acceleration[indices] - turning
    return TrackingError(error, velocity - qd, acceleration)


def deviation(robot: Robot, q: Array, reference: Motion) -> Array:
    """Displacement (n,) from the reference's configuration to q, of numbers or traced scalars."""
    return np.asarray(q - reference.q if robot.nq == robot.n else robot.difference(reference.q, q))


class ReducedDynamics(NamedTuple):
    """Dynamics that a floating base leaves to the joints with motors: M a_a + h = τ_a.

    Attributes
    ----------
    motors
        Places of the joints with motors in qd, (k,).
    M
        Mass matrix, (k, k).
    h
        Torques at rest of these joints, (k,).
    base_response
        Acceleration of the base per unit of theirs, (b, k), and without any, (b,).
    """

    motors: NDArray[np.intp]
    M: Array
    h: Array
    base_response: tuple[Array, Array]

    @classmethod
    def at(cls, robot: Robot, q: Array, qd: Array, external: Real = 0.0) -> ReducedDynamics:
        """Eliminate the free joints at one state, of numbers or traced scalars; `external` torques (n,) act on all."""
        M = np.asarray(robot.mass_matrix(q))
        h = np.asarray(robot.inverse_dynamics(q, qd, np.zeros(robot.n))) - external
        moved = has_motors(robot)
        a, b = np.flatnonzero(moved), np.flatnonzero(~moved)
        factored = factor(M[np.ix_(b, b)])
        coupling = np.asarray(solve(factored, M[np.ix_(b, a)]))
        falling = np.asarray(solve(factored, h[b]))
        M_ab = M[np.ix_(a, b)]
        return cls(a, M[np.ix_(a, a)] - M_ab @ coupling, h[a] - M_ab @ falling, (-coupling, -falling))

    def jacobian(self, J: Array) -> Array:
        """Columns (m, k) for the joints with motors of a Jacobian (m, n): the base moves as it must."""
        free = np.setdiff1d(np.arange(J.shape[1]), self.motors)
        return np.asarray(J[:, self.motors] + J[:, free] @ self.base_response[0])

    def drift(self, J: Array) -> Array:
        """Acceleration (m,) of a quantity with the Jacobian J (m, n) while the joints with motors do not accelerate."""
        free = np.setdiff1d(np.arange(J.shape[1]), self.motors)
        return np.asarray(J[:, free] @ self.base_response[1])

    def torques(self, acceleration: Array, further: Real = 0.0) -> Array:
        """Torques (n,) for accelerations (k,) of the joints with motors, and further ones; zero at free joints."""
        motor_torques = np.asarray(self.M @ acceleration + self.h + further)
        tau: Any = np.zeros(len(self.motors) + len(self.base_response[1]), dtype=motor_torques.dtype)
        tau[self.motors] = motor_torques
        return np.asarray(tau)


def without_base(robot: Robot, q: Array, tau: Array) -> Array:
    """Torques (n,) of the motors that accelerate the joints as tau (n,) does, when nothing acts on the base.

    They are τ_a - M_ab M_bb⁻¹ τ_b, and zero at free joints.

    Examples
    --------
    >>> import chasles as ch
    >>> robot = ch.load("panda").with_free_base()
    >>> tau = without_base(robot, robot.home, robot.inverse_dynamics(robot.home, np.zeros(13), np.arange(13.0)))
    >>> tau[:6], robot.forward_dynamics(robot.home, np.zeros(13), tau)[6:].round(9)
    (array([0., 0., 0., 0., 0., 0.]), array([ 6.,  7.,  8.,  9., 10., 11., 12.]))
    """
    motors = has_motors(robot)
    M, torques = np.asarray(robot.mass_matrix(q)), np.array(tau)
    base = solve(factor(M[np.ix_(~motors, ~motors)]), torques[~motors])
    torques[motors] = torques[motors] - M[np.ix_(motors, ~motors)] @ np.asarray(base)
    torques[~motors] = 0.0
    return torques
