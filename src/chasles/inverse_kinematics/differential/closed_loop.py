"""Closed-loop inverse kinematics: joint rates that follow a moving pose, and draw its error to zero.

The rates of

    J q̇ = (ω_d + 2 K_o e_o,  v_d + K_p (p_d - p))

with the vector part e_o of the quaternion that leads from the frame's orientation to the desired one (half the angle,
for small ones), solved by damped least squares near singularities. Sources: Siciliano, Sciavicco, Villani and Oriolo,
Robotics: Modelling, Planning and Control (2009), section 3.7; Nakamura and Hanafusa (1986) for the damping.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.cached import cached_property
from chasles.base.sealed import Sealed
from chasles.engine import Function, maximum, sqrt, trace, where
from chasles.engine.linear.symmetric import factor
from chasles.engine.program.scalar import Real
from chasles.engine.validators import choice, real, reals
from chasles.geometry import quaternion_from_rotation
from chasles.geometry.elementary import Array
from chasles.inverse_kinematics.damped_step import damped_step
from chasles.inverse_kinematics.jacobians import selectively_damped_inverse
from chasles.mechanics import Mechanics

Damping = Literal["manipulability", "singular value"]


class Following(NamedTuple):
    """Joint motion of one period.

    Attributes
    ----------
    q
        Configuration at the period's end, shape (..., nq).
    rates
        Joint rates at its beginning, shape (..., n): `previous` of the next call.
    """

    q: NDArray[np.float64]
    rates: NDArray[np.float64]


class ClosedLoopInverseKinematics(Sealed):
    """Joint rates for the motion of a frame: ``rates(q, T_world_desired, twist_desired)``.

    Parameters
    ----------
    robot
        Robot whose frame follows.
    target
        Name of the frame; default the tool.
    position_gain, orientation_gain
        Rates at which errors decay, 1/s: one number, or one for each world axis, (3,).
    damping
        Measure of the distance from singularity: ``"manipulability"``, the product of all singular values of the
        Jacobian, or the smallest ``"singular value"`` (Chiaverini, Siciliano and Egeland, 1994; see
        `selectively_damped_inverse`). The second cannot be traced.
    threshold
        Manipulability, or smallest singular value, below which the inverse is damped; default 0.01 or 0.04.
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
        position_gain: ArrayLike = 10.0,
        orientation_gain: ArrayLike = 10.0,
        damping: Damping = "manipulability",
        threshold: float | None = None,
        largest_damping: float = 0.04,
    ) -> None:
        self.robot, self.target = robot, target
        self.position_gain = reals(position_gain, "position_gain", (3,), broadcast=True, at_least=0)
        self.orientation_gain = reals(orientation_gain, "orientation_gain", (3,), broadcast=True, at_least=0)
        self.damping = choice(damping, "damping", get_args(Damping))
        if self.damping == "manipulability":
            self.threshold = real(0.01 if threshold is None else threshold, "threshold", at_least=0)
        else:
            self.threshold = real(0.04 if threshold is None else threshold, "threshold", above=0)
        self.largest_damping = real(largest_damping, "largest_damping", at_least=0)

    def __call__(self, q: ArrayLike, T_world_desired: ArrayLike, twist_desired: ArrayLike | None = None) -> Any:
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
        twist = np.zeros(6) if twist_desired is None else twist_desired
        if self.damping == "manipulability":
            return self.function(q, T_world_desired, twist)
        wanted, J = self._wanted_twist(q, T_world_desired, twist)
        return (selectively_damped_inverse(J, self.threshold, self.largest_damping) @ wanted[..., None])[..., 0]

    def follow(
        self,
        q: ArrayLike,
        T_world_desired: ArrayLike,
        twist_desired: ArrayLike | None = None,
        *,
        period: float,
        previous: ArrayLike | None = None,
    ) -> Following:
        """Go on by a period, s, with the mean of these rates and the `previous` ones: the trapezoidal rule.

        The memory of ROBOOP's ``Clik`` is `Following`: hand its rates to the next call.

        Examples
        --------
        >>> import chasles as ch
        >>> arm = ch.load("panda")
        >>> clik = ClosedLoopInverseKinematics(arm, position_gain=20.0, orientation_gain=20.0, damping="singular value")
        >>> q, rates, goal = np.array(arm.home), None, arm.forward_kinematics(arm.home + 0.1)
        >>> for _ in range(200):
        ...     q, rates = clik.follow(q, goal, period=0.005, previous=rates)
        >>> bool(np.abs(arm.forward_kinematics(q) - goal).max() < 1e-6)
        True
        """
        rates = np.asarray(self(q, T_world_desired, twist_desired))
        before = rates if previous is None else reals(previous, "previous", (..., self.robot.n))
        step = 0.5 * real(period, "period", above=0) * (rates + before)
        return Following(np.asarray(self.robot.integrate(q, step)), rates)

    @cached_property
    def function(self) -> Function:
        """The compiled law: (q, T_world_desired, twist_desired) -> rates."""
        shapes = {"q": (self.robot.nq,), "T_world_desired": (4, 4), "twist_desired": (6,)}
        return Function(trace(self._law, shapes, name="closed_loop_inverse_kinematics", outputs=["rates"]))

    @cached_property
    def _wanted_twist(self) -> Function:
        """Twist with feedback and Jacobian, compiled."""
        shapes = {"q": (self.robot.nq,), "T_world_desired": (4, 4), "twist_desired": (6,)}
        return Function(trace(self._feedback, shapes, name="wanted_twist", outputs=["twist", "J"]))

    def _law(self, q: Array, T_desired: Array, twist_desired: Array) -> Array:
        twist, J = self._feedback(q, T_desired, twist_desired)
        return damped_step(J, twist, self._damping(J))

    def _feedback(self, q: Array, T_desired: Array, twist_desired: Array) -> tuple[Array, Array]:
        T, J = self.robot.pose_and_jacobian.specialize(frame="world-aligned", target=self.target)(q)
        error = quaternion_from_rotation(T_desired[:3, :3] @ T[:3, :3].T)
        turn = where(error[0] < 0.0, -2.0, 2.0) * error[1:]
        feedback = np.concatenate([self.orientation_gain * turn, self.position_gain * (T_desired[:3, 3] - T[:3, 3])])
        return twist_desired + feedback, J

    def _damping(self, J: Array) -> Real:
        """Squared damping that rises from 0 at the threshold to its largest value in the singularity."""
        smaller = J @ J.T if len(J) <= J.shape[1] else J.T @ J
        pivots = factor(smaller + 1e-14 * np.eye(len(smaller))).reciprocal
        volume = 1.0 / np.prod(np.array([sqrt(maximum(pivot, 0.0)) for pivot in pivots]))
        nearness = maximum(1.0 - volume / self.threshold, 0.0) if self.threshold else 0.0
        return self.largest_damping**2 * nearness**2 + 1e-14
