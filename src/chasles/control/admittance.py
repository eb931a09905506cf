"""Admittance control: a stiff arm that makes way for the forces that it measures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from chasles.control.cartesian_controller import CartesianController, TaskOptions, six
from chasles.control.compliance import Axes, compliance_wrench, moved, require_axes
from chasles.control.compliant_frame import compliant_acceleration, offset_of, stepped
from chasles.control.impedance import COMPLIANT, compliant_gains, measured_in_world
from chasles.control.now import Now
from chasles.control.pose_feedback import OrientationError, acceleration_feedback, require_orientation_error
from chasles.engine.program.scalar import Array
from chasles.engine.validators import Bound
from chasles.robot.robot import Robot


class Admittance(CartesianController):
    """B x'' + D x' + K x = f, solved for a compliant frame that a stiff position loop then follows.

    f is the measured wrench of the environment on the frame, x the offset of the compliant frame from the reference.
    The controller integrates the equation in its memory as `CompliantFrame.step` does, whose energy does not grow, and
    moves the robot's frame along by resolved acceleration, ``tau = ID(q, qd, J⁺ (a_c + kd e' + kp e - J' qd)) - Jᵀ f``.
    At rest K x = f. The equation is that of `Impedance` with an inertia; here the feedback gains are free, and the
    position loop rejects unmodelled friction, which would otherwise appear as compliance. The law needs a good force
    sensor and a soft environment: in contact with a stiff one, the loop delay makes it unstable.

    It requires the robot's kinematics and full dynamics. Source: Lynch and Park, Modern Robotics, section 11.7,
    Impedance Control, for impedance and admittance; the compliant frame as in Caccavale, Natale, Siciliano and Villani,
    "Six-DOF impedance control based on angle/axis representations" (1999).

    Parameters
    ----------
    robot
        Controller's model of the robot; it may differ from the plant.
    stiffness, damping, inertia
        Translational values, N/m, N·s/m and kg; a scalar or one value per axis. The inertia is positive.
    rotational_stiffness, rotational_damping, rotational_inertia
        Rotational values, N·m/rad, N·m·s/rad and kg·m²; required if the orientation is controlled.
    kp, kd, kp_orientation, kd_orientation
        Gains of the inner loop in 1/s² and 1/s, as in `ResolvedAcceleration`.
    axes
        Frame along whose axes stiffness, damping and inertia are given: ``"reference"`` or ``"world"``.
    orientation_error
        Orientation error of the springs and of the inner loop: ``"quaternion"`` or ``"logarithm"``.
    **task
        ``target``, ``components``, ``nullspace_damping``, ``nullspace_stiffness``, ``posture``, ``threshold``,
        ``largest_damping``: see `CartesianController`.

    Examples
    --------
    >>> import chasles as ch
    >>> controller = ch.control.Admittance(
    ...     ch.load("panda"),
    ...     stiffness=400.0,
    ...     damping=80.0,
    ...     inertia=4.0,
    ...     rotational_stiffness=30.0,
    ...     rotational_damping=6.0,
    ...     rotational_inertia=0.3,
    ...     kp=2500.0,
    ...     kd=100.0,
    ... )
    """

    name = "admittance"
    kp: Array
    kd: Array
    bounds: Mapping[str, Bound] = {**CartesianController.bounds, **COMPLIANT}

    def __init__(
        self,
        robot: Robot,
        *,
        stiffness: ArrayLike,
        damping: ArrayLike,
        inertia: ArrayLike,
        kp: ArrayLike,
        kd: ArrayLike,
        rotational_stiffness: ArrayLike | None = None,
        rotational_damping: ArrayLike | None = None,
        rotational_inertia: ArrayLike | None = None,
        kp_orientation: ArrayLike | None = None,
        kd_orientation: ArrayLike | None = None,
        axes: Axes = "reference",
        orientation_error: OrientationError = "quaternion",
        **task: Unpack[TaskOptions],
    ) -> None:
        require_orientation_error(orientation_error)
        require_axes(axes)
        self.orientation_error: OrientationError = orientation_error
        self.axes: Axes = axes
        gains = compliant_gains(
            task.get("components"),
            stiffness=stiffness,
            damping=damping,
            inertia=inertia,
            rotational_stiffness=rotational_stiffness,
            rotational_damping=rotational_damping,
            rotational_inertia=rotational_inertia,
        )
        gains |= {"kp": six(kp_orientation, kp, "kp"), "kd": six(kd_orientation, kd, "kd")}
        at_reference = {"offset": np.zeros(3), "quaternion": np.array([1.0, 0.0, 0.0, 0.0]), "velocity": np.zeros(6)}
        super().__init__(robot, gains, at_reference, **task)
        self.measured_wrench = self.target

    def law(self, now: Now) -> Any:
        """Return the torques of the law; the memory is the compliant frame's offset, quaternion and twist."""
        frame, desired = self.task.motion(now.q, now.qd), self.wanted(now.reference)
        wrench = measured_in_world(frame.pose, now)
        force = compliance_wrench(wrench, desired, self.axes)
        away = offset_of(now.memory)
        a = compliant_acceleration(away, force, self.parameters, self.orientation_error)
        compliant = moved(desired, away, a, self.axes)
        feedback = acceleration_feedback(frame.pose, frame.twist, compliant, self.kp, self.kd, self.orientation_error)
        following = stepped(away, a, self.parameters, now.period)
        now.memory.offset, now.memory.quaternion, now.memory.velocity = following.values()
        return self.accelerating(now, frame, feedback, wrench)
