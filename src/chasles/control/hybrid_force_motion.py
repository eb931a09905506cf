"""Hybrid motion–force control: along some axes a force is controlled, along the others the motion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.control.cartesian_controller import CartesianController, TaskOptions, six
from chasles.control.floating_base import ReducedDynamics, is_floating
from chasles.control.impedance import measured_in_world
from chasles.control.now import Now
from chasles.control.pose_feedback import OrientationError, acceleration_feedback, require_orientation_error
from chasles.control.robot_controller import gains
from chasles.control.task_space import COMPONENTS, force_for
from chasles.engine.program.scalar import Array
from chasles.engine.validators import NOT_NEGATIVE, Bound, choice, reals
from chasles.geometry import rotation_distance
from chasles.robot.robot import Robot


class HybridForceMotion(CartesianController):
    """tau = Jᵀ (Λ a + Aᵀ λ + μ + p), λ = f_d + kf (f_d - f) + kfi ∫(f_d - f) dt - D A twist.

    The rows of A are the force-controlled axes. Along them the frame exerts the force f on its environment, and λ is
    the commanded force. The acceleration a makes the motion error decay; its component along A is removed, so that Λ a
    does not affect the force. With the inertia m = (A Λ⁻¹ Aᵀ)⁻¹ of the frame along an axis, m x'' + D x' = (1 + kf)
    (f_d - f) + kfi ∫(f_d - f) dt: the frame moves until it makes contact, no faster than (1 + kf) f_d / D without kfi,
    and then f converges to f_d, on a springy environment if m kfi < (1 + kf) D (Routh, in continuous time). Motion
    along the other axes obeys the error equations of `ResolvedAcceleration`, disturbed by Λ⁻¹ Aᵀ (λ - f) until the
    force has converged. Λ, μ and p are those of `OperationalSpace`, also on a floating base.

    It requires the robot's kinematics and full dynamics, and the axes that the environment blocks. Sources: Lynch and
    Park, Modern Robotics, section 11.6, Hybrid Motion–Force Control; Raibert and Craig, "Hybrid position/force control
    of manipulators" (1981).

    Parameters
    ----------
    robot
        Controller's model of the robot; it may differ from the plant.
    forces
        Desired forces (N) and moments (N·m) of the frame on the environment, by the motion component that each
        replaces: ``{"z": -20.0}`` presses down. Simulations can vary them as the vector ``"controller.force"``.
    kp, kd, kp_orientation, kd_orientation
        Gains of the motion in 1/s² and 1/s, as in `ResolvedAcceleration`.
    kf, kfi
        Force gains, dimensionless and in 1/s, not negative, a scalar or one value per force-controlled axis.
    force_damping
        Damping D, N·s/m or N·m·s/rad, not negative, a scalar or one value per force-controlled axis.
    R_world_task
        Rotation whose columns are the axes x, y, z of the force components; default the world's.
    orientation_error
        ``"quaternion"`` or ``"logarithm"``.
    **task
        ``target``, ``components``, ``nullspace_damping``, ``nullspace_stiffness``, ``posture``, ``threshold``,
        ``largest_damping``: see `CartesianController`.

    Examples
    --------
    >>> import chasles as ch
    >>> controller = ch.control.HybridForceMotion(
    ...     ch.load("panda"), {"z": -20.0}, kp=100.0, kd=20.0, kf=1.0, kfi=5.0, force_damping=200.0
    ... )
    """

    name = "hybrid force-motion"
    force: Array
    kp: Array
    kd: Array
    kf: Array
    kfi: Array
    force_damping: Array
    bounds: Mapping[str, Bound] = {**CartesianController.bounds, "force_damping": NOT_NEGATIVE}

    def __init__(
        self,
        robot: Robot,
        forces: Mapping[str, float],
        *,
        kp: ArrayLike,
        kd: ArrayLike,
        kf: ArrayLike,
        kfi: ArrayLike = 0.0,
        force_damping: ArrayLike,
        kp_orientation: ArrayLike | None = None,
        kd_orientation: ArrayLike | None = None,
        R_world_task: ArrayLike | None = None,
        orientation_error: OrientationError = "quaternion",
        **task: Unpack[TaskOptions],
    ) -> None:
        require_orientation_error(orientation_error)
        self.orientation_error: OrientationError = orientation_error
        count = len(_checked_forces(forces))
        task_gains = {
            "force": np.array([forces[name] for name in forces], dtype=float),
            "kp": six(kp_orientation, kp, "kp"),
            "kd": six(kd_orientation, kd, "kd"),
            **gains(count, kf=kf, kfi=kfi, force_damping=force_damping),
        }
        super().__init__(robot, task_gains, {"integral": np.zeros(count)}, **task)
        self.axes = _axes(forces, R_world_task)[:, self.task.rows]
        if np.abs(self.axes @ self.axes.T - np.eye(count)).max() > 1e-9:
            raise ArgumentError(
                f"the axes of force are not among the controlled components {', '.join(self.task.components)}"
            )
        self.measured_wrench = self.target

    def law(self, now: Now) -> Any:
        """Return the torques of the law; the memory is the integral of the force error by the rectangle rule."""
        frame, desired, A = self.task.motion(now.q, now.qd), self.wanted(now.reference), self.axes
        a = self.task.select(
            acceleration_feedback(frame.pose, frame.twist, desired, self.kp, self.kd, self.orientation_error)
        )
        short = self.force + A @ self.task.select(measured_in_world(frame.pose, now))
        now.memory.integral = now.memory.integral + now.period * short
        pressing = self.force + self.kf * short + self.kfi * now.memory.integral
        pressing = pressing - self.force_damping * (A @ self.task.select(frame.twist))

        J, idle = self.task.select(frame.J), self.idle(now)
        missing = a - A.T @ (A @ a) - self.task.select(frame.drift)
        if is_floating(self.robot):
            reduced = ReducedDynamics.at(self.robot, now.q, now.qd)
            missing = missing - reduced.drift(J)
            J, idle = reduced.jacobian(J), idle[reduced.motors]
            wrench = force_for(self.task, reduced.M, J, missing - J @ idle) + A.T @ pressing
            return reduced.torques(idle, J.T @ wrench)
        missing = missing - J @ idle
        wrench = force_for(self.task, self.robot.mass_matrix(now.q), J, missing) + A.T @ pressing
        return self.robot.inverse_dynamics(now.q, now.qd, idle) + J.T @ wrench


def _checked_forces(forces: Mapping[str, float]) -> Mapping[str, float]:
    if not forces:
        raise ArgumentError("no axis has a desired force; for motion control alone use OperationalSpace")
    for name, value in forces.items():
        choice(name, "component", COMPONENTS)
        if not np.isfinite(value):
            raise ArgumentError(f"the force along {name} must be finite, not {value!r}")
    return forces


def _axes(forces: Mapping[str, float], R_world_task: ArrayLike | None) -> NDArray[np.float64]:
    """Axes of force as rows (k, 6) in world axes."""
    R = np.eye(3) if R_world_task is None else reals(R_world_task, "R_world_task")
    if R.shape != (3, 3) or not rotation_distance(R) < 1e-9:
        raise ArgumentError("R_world_task must be a rotation, shape (3, 3)")
    rotation6 = np.zeros((6, 6))
    rotation6[:3, :3] = rotation6[3:, 3:] = R.T
    return rotation6[[COMPONENTS.index(name) for name in forces]]
