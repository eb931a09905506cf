"""Closed-loop inverse kinematics as a controller: a frame's motion becomes one of joints, for a joint controller."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import ArgumentError
from chasles.control.cartesian_controller import CartesianController, TaskOptions, six
from chasles.control.controller import Controller
from chasles.control.now import Now
from chasles.control.pose_feedback import OrientationError, require_orientation_error, velocity_feedback
from chasles.control.python_law import as_controller
from chasles.engine import where
from chasles.engine.program.scalar import Array
from chasles.robot.robot import Robot
from chasles.trajectories.motion import Motion, PoseMotion


class ClosedLoopKinematics(CartesianController):
    """qd_c = J⁺ (twist_ref + K e) for joint positions q_c that a joint controller then follows.

    The commanded positions q_c are the controller's memory; they start at the measured positions. All kinematics are
    evaluated at q_c, so that the lag of the inner loop has no effect: the position error e obeys e' + K e = 0. With
    ``"logarithm"`` the rotation vector of R_ref Rᵀ obeys the same equation; with ``"quaternion"``, ω = ω_ref + K e with
    e = 2 sin(θ/2) axis. The inner controller also receives the derivative of this twist, as qdd_c = J⁺ (twist' - J'
    qd_c), and positions advance by h qd_c + h² qdd_c / 2 per period h. J⁺ is damped near singular configurations.

    It requires the robot's kinematics, in addition to what the inner controller requires. Sources: Siciliano,
    Sciavicco, Villani and Oriolo, Robotics: Modelling, Planning and Control (2009), section 3.7; Chiaverini and
    Siciliano, "The unit quaternion: a useful tool for inverse kinematics of robot manipulators" (1999).

    Parameters
    ----------
    robot
        The model whose kinematics are inverted.
    inner
        Joint controller, which receives q_c, qd_c and qdd_c as its reference. Simulations can vary its parameters as
        ``"controller.inner.kp"``, ….
    gain, orientation_gain
        Decay rates of the position and orientation errors, 1/s, not negative, a scalar or one value per world axis; the
        orientation gain defaults to the position gain.
    orientation_error
        ``"quaternion"`` or ``"logarithm"``.
    **task
        ``target``, ``components``, ``nullspace_damping``, ``nullspace_stiffness``, ``posture``, ``threshold``,
        ``largest_damping``: see `CartesianController`. Redundant joints move to the posture at the rate
        nullspace_stiffness, here in 1/s; nullspace_damping has no effect.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("panda")
    >>> inner = ch.ComputedTorque(arm, kp=900.0, kd=60.0)
    >>> controller = ch.control.ClosedLoopKinematics(arm, inner, gain=20.0)
    """

    name = "closed-loop kinematics"
    gain: Array
    inner: Controller
    refuses_free_joints = (
        "kinematics alone does not tell how the joints move a free base; use ResolvedAcceleration or OperationalSpace, "
        "or chasles.follow and ComputedTorque"
    )

    def __init__(
        self,
        robot: Robot,
        inner: Controller,
        *,
        gain: ArrayLike = 20.0,
        orientation_gain: ArrayLike | None = None,
        orientation_error: OrientationError = "quaternion",
        **task: Unpack[TaskOptions],
    ) -> None:
        require_orientation_error(orientation_error)
        inner = as_controller(inner)
        needs = {
            "a schedule": inner.has_schedule,
            "a measured wrench": inner.measured_wrench is not None,
            "motions of a frame": inner.reference_kind == "pose",
        }
        for need in (name for name, needed in needs.items() if needed):
            raise ArgumentError(f"the inner controller must be one of joints alone; '{inner.name}' needs {need}")
        self.inner = inner
        self.orientation_error: OrientationError = orientation_error
        memory = {"started": np.zeros(()), "commanded": np.zeros(robot.nq), "inner": inner.memory}
        super().__init__(robot, {"gain": six(orientation_gain, gain, "gain")}, memory, **task)
        self.name = f"closed-loop kinematics, {inner.name}"

    def law(self, now: Now) -> Any:
        """Return the torques of the inner law; the memory holds a start flag, q_c and the inner memory."""
        commanded = where(now.memory.started > 0.5, now.memory.commanded, now.q)
        motion = self.rates(commanded, self.wanted(now.reference))
        tau = self.inner.law(now.of("inner", reference=motion))
        step = now.period * motion.qd + 0.5 * now.period**2 * motion.qdd
        following = motion.q + step if self.robot.nq == self.robot.n else self.robot.integrate(motion.q, step)
        now.memory.started, now.memory.commanded = 1.0, following
        return tau

    def rates(self, q: Array, desired: PoseMotion) -> Motion:
        """Return the joint motion at positions q that tracks the frame's reference and makes its error decay."""
        T, J6 = self.robot.pose_and_jacobian(q, frame="world-aligned", target=self.target)
        twist, acceleration = velocity_feedback(np.asarray(T), desired, self.gain, self.orientation_error)
        J, towards = self.task.select(np.asarray(J6)), self.nullspace_stiffness
        qd = self.task.inverted(J, self.task.select(twist), towards * self.towards_posture(q))
        Jdot = np.asarray(self.robot.jacobian_derivative(q, qd, frame="world-aligned", target=self.target))
        qdd = self.task.inverted(J, self.task.select(acceleration - Jdot @ qd), -towards * qd)
        return Motion(q, qd, qdd)
