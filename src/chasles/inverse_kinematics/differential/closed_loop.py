"""Closed-loop inverse kinematics: joint rates that follow a moving pose, and draw its error to zero.

The rates of

    J q̇ = (ω_d + 2 K_o e_o,  v_d + K_p (p_d - p))

with the vector part e_o of the quaternion that leads from the frame's orientation to the desired one (half the angle,
for small ones), solved by damped least squares near singularities. Sources: Siciliano, Sciavicco, Villani and Oriolo,
Robotics: Modelling, Planning and Control (2009), section 3.7; Nakamura and Hanafusa (1986) for the damping.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.arguments import real
from chasles.cached import cached_property
from chasles.engine import Function, maximum, sqrt, trace, where
from chasles.engine.linear_solve import factor
from chasles.geometry import quaternion_from_rotation
from chasles.geometry.elementary import Array
from chasles.inverse_kinematics.damped_step import damped_step
from chasles.mechanics import Mechanics
from chasles.sealed import Sealed


class ClosedLoopInverseKinematics(Sealed):
    """Joint rates for the motion of a frame: ``rates(q, T_world_desired, twist_desired)``.

    Parameters
    ----------
    robot
        Robot whose frame follows.
    target
        Name of the frame; default the tool.
    position_gain, orientation_gain
        Rates at which errors decay, 1/s.
    threshold
        Manipulability below which the inverse is damped.
    largest_damping
        Damping in a singular configuration.

    Examples
    --------
    >>> import chasles as ch
    >>> import numpy as np
    >>> arm = ch.load("panda")
    >>> rates = ClosedLoopInverseKinematics(arm, position_gain=20.0, orientation_gain=20.0)
    >>> q, goal = np.array(arm.home), arm.forward_kinematics(arm.home + 0.1)
    >>> for _ in range(1000):
    ...     q = q + 0.001 * rates(q, goal)
    >>> np.abs(arm.forward_kinematics(q) - goal).max() < 1e-6
    np.True_
    """

    def __init__(
        self,
        robot: Mechanics,
        *,
        target: str = "tool",
        position_gain: float = 10.0,
        orientation_gain: float = 10.0,
        threshold: float = 0.01,
        largest_damping: float = 0.04,
    ) -> None:
        self.robot, self.target = robot, target
        self.position_gain = real(position_gain, "position_gain", at_least=0)
        self.orientation_gain = real(orientation_gain, "orientation_gain", at_least=0)
        self.threshold = real(threshold, "threshold", at_least=0)
        self.largest_damping = real(largest_damping, "largest_damping", at_least=0)

    def __call__(self, q: Any, T_world_desired: Any, twist_desired: Any = None) -> Any:
        """Joint rates (..., n), rad/s (m/s for prismatic joints); traced values become part of the trace.

        Parameters
        ----------
        q
            Configuration, shape (..., nq); `Robot.integrate` follows the rates where it holds quaternions.
        T_world_desired
            Pose to follow, shape (..., 4, 4).
        twist_desired
            Its twist (ω, v) in world axes, of its origin, shape (..., 6), rad/s and m/s; default at rest.
        """
        return self.function(q, T_world_desired, np.zeros(6) if twist_desired is None else twist_desired)

    @cached_property
    def function(self) -> Function:
        """The compiled law: (q, T_world_desired, twist_desired) -> rates."""
        shapes = {"q": (self.robot.nq,), "T_world_desired": (4, 4), "twist_desired": (6,)}
        return Function(trace(self._law, shapes, name="closed_loop_inverse_kinematics", outputs=["rates"]))

    def _law(self, q: Array, T_desired: Array, twist_desired: Array) -> Array:
        T, J = self.robot.pose_and_jacobian.specialize(frame="world-aligned", target=self.target)(q)
        error = quaternion_from_rotation(T_desired[:3, :3] @ T[:3, :3].T)
        turn = where(error[0] < 0.0, -2.0, 2.0) * error[1:]
        feedback = np.concatenate([self.orientation_gain * turn, self.position_gain * (T_desired[:3, 3] - T[:3, 3])])
        return damped_step(J, twist_desired + feedback, self._damping(J))

    def _damping(self, J: Array) -> Any:
        """Squared damping that rises from 0 at the threshold to its largest value in the singularity."""
        smaller = J @ J.T if len(J) <= J.shape[1] else J.T @ J
        pivots = factor(smaller + 1e-14 * np.eye(len(smaller))).reciprocal
        volume = 1.0 / np.prod(np.array([sqrt(maximum(pivot, 0.0)) for pivot in pivots]))
        nearness = maximum(1.0 - volume / self.threshold, 0.0) if self.threshold else 0.0
        return self.largest_damping**2 * nearness**2 + 1e-14
