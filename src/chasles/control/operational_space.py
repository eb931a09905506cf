"""Operational-space control: a frame is moved by forces that act on it."""

from __future__ import annotations

from typing import Any

from chasles.base.cached import cached_property
from chasles.control.cartesian_controller import AcceleratedFrame, frame_gains
from chasles.control.floating_base import ReducedDynamics, is_floating
from chasles.control.now import Now
from chasles.control.pole_design import PoleDesign
from chasles.control.task_space import TaskDynamics, force_for, task_dynamics
from chasles.engine import Function, trace
from chasles.engine.program.scalar import Array


class OperationalSpace(AcceleratedFrame):
    """tau = Jᵀ (Λ a + μ + p) + (1 - Jᵀ J̄ᵀ) tau_0 + friction, with the frame acceleration a that makes the error decay.

    Λ = (J M⁻¹ Jᵀ)⁻¹ is the effective inertia at the frame, μ and p are the Coriolis and gravity forces there, and J̄ =
    M⁻¹ Jᵀ Λ is the dynamically consistent inverse: torques tau_0 projected by 1 - Jᵀ J̄ᵀ move the joints of a redundant
    arm without accelerating the frame. Here tau_0 = M z + c + g with z = ks (posture - q) - kn qd. The model's friction
    is compensated whole. The error equations are those of `ResolvedAcceleration`; for arms without redundant joints the
    two laws are the same. Of all joint accelerations that give the frame the acceleration a, those of this law have the
    least (qdd - z)ᵀ M (qdd - z), as Gauss's principle of least constraint says. Near singular configurations a is
    reduced to the acceleration that the damped inverse of `ResolvedAcceleration` achieves.

    A floating base moves in reaction to the joints; Λ, μ, p and J are then those of the actuated joints, as for space
    manipulators (Umetani and Yoshida, 1989). Standing robots need contact forces: use `WholeBodyTorque`.

    It requires the robot's kinematics and full dynamics. Source: Khatib, "A unified approach for motion and force
    control of robot manipulators: the operational space formulation" (1987).

    Parameters
    ----------
    robot
        Controller's model of the robot; it may differ from the plant.
    kp, kd
        Gains in 1/s² and 1/s, not negative, a scalar or one value per world axis.
    kp_orientation, kd_orientation
        Gains of the orientation, in the same units; default the position gains.
    orientation_error
        ``"quaternion"`` or ``"logarithm"``, see `ResolvedAcceleration`.
    **task
        ``target``, ``components``, ``nullspace_damping`` (kn), ``nullspace_stiffness`` (ks), ``posture``,
        ``threshold``, ``largest_damping``: see `CartesianController`.

    Examples
    --------
    >>> import chasles as ch
    >>> import numpy as np
    >>> planar = ch.control.OperationalSpace(ch.load("planar2r"), kp=400.0, kd=40.0, components=("x", "y"))
    >>> planar.dynamics([0.0, np.pi / 2], [0.0, 0.0]).Lambda.diagonal().round(4)  # upper rod, pushed sideways: 5 kg / 3
    array([1.6667, 8.3333])
    """

    name = "operational space"
    kind = "operational-space"

    @classmethod
    def gains(cls, design: PoleDesign) -> dict[str, Any]:
        """Return gains that give the frame error the dynamics of a unit mass."""
        return frame_gains(design)

    def law(self, now: Now) -> Any:
        """Return the torques of the law.

        Written as M z + bias + Jᵀ Λ (a - J' qd - J z) with the accelerations z of the null space, the same law needs
        fewer operations.
        """
        frame, a = self.frame_acceleration(now)
        J, missing, idle = self.task.select(frame.J), self.task.select(a - frame.drift), self.idle(now)
        if is_floating(self.robot):
            reduced = ReducedDynamics.at(self.robot, now.q, now.qd)
            J, missing, idle = reduced.jacobian(J), missing - reduced.drift(J), idle[reduced.motors]
            force = force_for(self.task, reduced.M, J, missing - J @ idle)
            return reduced.torques(idle, J.T @ force)
        force = force_for(self.task, self.robot.mass_matrix(now.q), J, missing - J @ idle)
        return self.robot.inverse_dynamics(now.q, now.qd, idle) + J.T @ force

    def dynamics(self, q: Array, qd: Array) -> TaskDynamics:
        """Dynamics of the controlled components: Lambda a + mu + p = F, and J_bar; over any leading batch axes.

        Lambda is damped near singular configurations, where it would grow without bound.

        Parameters
        ----------
        q, qd
            Joint positions and velocities, shape (..., n).
        """
        return TaskDynamics(*self._dynamics(q, qd))

    @cached_property
    def _dynamics(self) -> Function:
        shapes = {"q": (self.robot.n,), "qd": (self.robot.n,)}
        return Function(trace(lambda q, qd: task_dynamics(self.task, q, qd), shapes, name="task_dynamics"))
