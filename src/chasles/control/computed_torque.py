"""Computed-torque control, with optional integral action."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.control.floating_base import TrackingError, motor_gains, tracking_error
from chasles.control.friction_rate import friction_feedback_warning
from chasles.control.load_friction import friction_change, has_load_friction
from chasles.control.now import Now
from chasles.control.pid import next_integral, saturated
from chasles.control.pole_design import PoleDesign
from chasles.control.robot_controller import RobotController, gains
from chasles.control.supports import Supports
from chasles.engine.program.scalar import Array
from chasles.engine.validators import choice, truth
from chasles.robot.robot import Robot


class ComputedTorque(RobotController):
    """tau = ID(q, qd, qdd_ref + Kd (qd_ref - qd) + Kp (q_ref - q) + Ki ∫(q_ref - q) dt).

    The inverse dynamics ID of an exact model cancels the robot's own, so that in continuous time each joint error of a
    robot without friction obeys the linear equation e''' + Kd e'' + Kp e' + Ki e = 0 (without integral action e'' + Kd
    e' + Kp e = 0); that of a spherical joint to first order. The law requires the full dynamic model.

    By default, model friction is compensated at the reference velocity. At the measured velocity, the compensation of
    viscous friction D would be a positive feedback with the gain D h / M, for a sample period h and an inertia M; for
    light wrists with ordinary gears this gain is far above 1. With the default, the robot's own friction damps the
    error further: M e'' + (M Kd + D) e' + M Kp e = 0.

    A joint's integrator is held while its torque is beyond the model's effort limit and the error would push it
    further.

    Source: Lynch and Park, Modern Robotics, section 11.4, Motion Control with Torque or Force Inputs.

    Parameters
    ----------
    robot
        Controller's model of the robot; it may differ from the plant.
    kp, kd, ki
        Gains of the error equation in 1/s², 1/s and 1/s³, not negative, a scalar or one value per joint. A natural
        frequency w and damping ratio z give ``kp = w**2``, ``kd = 2 * z * w``. Stable for ``ki < kp * kd``.
    feedforward
        Whether the inverse dynamics are computed at the planned motion, ID(q_ref, qd_ref, …): measurement noise does
        not enter the model, and the error equation holds for small errors only.
    friction
        Velocity at which friction is compensated: ``"reference"`` (default) or ``"measured"``. With ``"measured"`` the
        error equation is exact for short periods; `chasles.simulate` warns where the feedback gain exceeds 1.
    supports
        Frames on which a floating base stands. Forces at their origins then accelerate the base as the reference asks;
        see `Supports`. Without supports the base moves in reaction to the joints, and the joint errors obey the same
        equation (Spong, Partial feedback linearization of underactuated mechanical systems, 1994).

    Examples
    --------
    >>> import chasles as ch
    >>> controller = ch.ComputedTorque(ch.load("planar2r"), kp=400.0, kd=40.0)
    """

    name = "computed torque"
    kind = "computed-torque"
    kp: Array
    kd: Array
    ki: Array

    def __init__(
        self,
        robot: Robot,
        *,
        kp: ArrayLike,
        kd: ArrayLike,
        ki: ArrayLike = 0.0,
        feedforward: bool = False,
        friction: str = "reference",
        supports: Sequence[str] = (),
    ) -> None:
        feedback = {"kp": kp, "kd": kd, "ki": ki}
        joint_gains = gains(robot.n, **feedback) if supports else motor_gains(robot, **feedback)
        super().__init__(robot, joint_gains, {"integral": np.zeros(robot.n)})
        self.supports = Supports(robot, supports)
        self.feedforward = truth(feedforward, "feedforward")
        self.friction = choice(friction, "velocity for the compensation of friction", ("reference", "measured"))
        if feedforward:
            self.name = "computed torque, feed-forward"

    @classmethod
    def gains(cls, design: PoleDesign) -> dict[str, Any]:
        """Return gains that give every joint error the dynamics of a unit mass."""
        return design.gains(design.attainable)._asdict()

    def law(self, now: Now) -> Any:
        """Return the torques of the law; the memory is the integral of the error by the rectangle rule."""
        error = tracking_error(self.robot, now.q, now.qd, now.reference)
        integral = now.memory.integral + now.period * error.position
        tau = self._torques(now, error, integral)
        excess = tau - saturated(tau, self.robot.effort_limits)
        now.memory.integral = next_integral(now.memory.integral, error.position, excess, now.period)
        return tau

    def _torques(self, now: Now, error: TrackingError, integral: Any) -> Any:
        """Torques for an integral of the error."""
        feedback = self.kd * error.velocity + self.kp * error.position + self.ki * integral
        if self.feedforward:
            return self.supports.torques(now.reference.q, now.reference.qd, now.reference.qdd + feedback)
        tau = self.supports.torques(now.q, now.qd, error.acceleration + feedback)
        if self.friction == "reference":
            tau = tau + friction_change(self.robot, now.q, now.qd, now.reference.qd, tau)
        return tau

    @property
    def takes_over(self) -> bool:
        """Whether every joint has integral action, and no friction grows with the load."""
        plain = self.robot.nq == self.robot.n and not has_load_friction(self.robot)
        return bool((self.ki > 0.0).all()) and plain

    def take_over(self, now: Now, tau: Any) -> None:
        """Set the integral for the torques tau: M Ki ∫e is what the rest of the law lacks."""
        error = tracking_error(self.robot, now.q, now.qd, now.reference)
        q, qd = (now.reference.q, now.reference.qd) if self.feedforward else (now.q, now.qd)
        rest = self._torques(now, error, np.zeros(self.robot.n))
        missing = self.robot.forward_dynamics(q, qd, tau) - self.robot.forward_dynamics(q, qd, rest)
        now.memory.integral = missing / self.ki - now.period * error.position

    def period_warning(self, period: float) -> str | None:
        """Return a warning if friction at the measured velocity is fed back too strongly."""
        if self.friction == "reference" or self.feedforward:
            return None
        return friction_feedback_warning(self.robot, period, "use friction='reference'")
