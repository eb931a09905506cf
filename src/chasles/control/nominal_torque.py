"""Nominal torques of a planned motion: alone, with PD of each joint, or with PID by constant matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.control.floating_base import NO_REGULATOR, motor_gains, tracking_error
from chasles.control.knowledge import Knowledge
from chasles.control.now import Now
from chasles.control.pid import next_integral, saturated
from chasles.control.pole_design import PoleDesign
from chasles.control.robot_controller import RobotController
from chasles.control.supports import Supports
from chasles.engine.program.scalar import Array
from chasles.engine.validators import Bound, reals
from chasles.robot.robot import Robot


class NominalTorque(RobotController):
    """tau = ID(q_ref, qd_ref, qdd_ref) + Kp (q_ref - q) + Kd (qd_ref - qd).

    The first term depends on the planned motion alone. Without feedback (the default gains are 0), the robot follows
    the motion only if it starts on it, matches the model and is not disturbed. It requires the full dynamic model, but
    only before the motion starts.

    Source: the feed-forward part of Mazure's strategy (nominal torques from the Newton–Euler recursion of Luh, Walker
    and Paul, and a regulator on the perturbations); with PD, feed-forward plus feedback control as in Lynch and Park,
    Modern Robotics, chapter 11.

    Parameters
    ----------
    robot
        Controller's model of the robot; it may differ from the plant.
    kp, kd
        Stiffness (N·m/rad) and damping (N·m·s/rad), not negative, a scalar or one value per joint (prismatic joints:
        N/m, N·s/m).
    supports
        Frames on which a floating base stands; see `Supports`. Without supports the base moves in reaction to the
        joints.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=1.0)
    >>> run = ch.simulate(arm, ch.control.NominalTorque(arm), motion)  # nothing in its way
    >>> float(abs(run.error).max()) < 0.01
    True
    """

    name = "nominal torque"
    kind = "nominal-torque"
    knows = Knowledge(beforehand=True)
    kp: Array
    kd: Array

    def __init__(self, robot: Robot, *, kp: ArrayLike = 0.0, kd: ArrayLike = 0.0, supports: Sequence[str] = ()) -> None:
        super().__init__(robot, motor_gains(robot, kp=kp, kd=kd))
        self.supports = Supports(robot, supports)
        if self.kp.any() or self.kd.any():
            self.name = "nominal torque + PD"

    def law(self, now: Now) -> Any:
        """Return the torques of the law."""
        error = tracking_error(self.robot, now.q, now.qd, now.reference)
        feedback = self.kp * error.position + self.kd * error.velocity
        return self.supports.torques(*now.reference) + feedback


class NominalTorquePID(RobotController):
    """tau = ID(q_ref, qd_ref, qdd_ref) + Kp (q_ref - q) + Kd (qd_ref - qd) + Ki ∫(q_ref - q) dt with constant matrices.

    Regulator along the motion without the linearisation along it: `tuned` gives the gains of a unit mass times the mean
    mass matrix of the motion, without A(t), B(t) and a Riccati equation. It requires the full dynamic
    model before the motion only. A joint's integrator is held while its torque is beyond the model's effort limit and
    the error would push it further.

    Source: feed-forward plus feedback control as in Lynch and Park, Modern Robotics, section 11.4, with matrix gains.

    Parameters
    ----------
    robot
        Controller's model of the robot; it may differ from the plant.
    kp, kd, ki
        Gains in N·m/rad, N·m·s/rad and N·m/(rad·s): a scalar or (n,) for joints alone, or a matrix (n, n).

    Examples
    --------
    >>> import chasles as ch
    >>> arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=1.0)
    >>> law = ch.control.NominalTorquePID.tuned(arm, motion, 0.001, frequency=20.0, integral=1.0)
    >>> law.kp.shape
    (2, 2)
    >>> run = ch.simulate(arm.with_payload(1.0), law, motion, duration=2.0)
    >>> float(abs(run.error.isel(time=-1)).max()) < 1e-3
    True
    """

    name = "nominal torque + PID"
    kind = "nominal-torque-pid"
    knows = Knowledge(beforehand=True)
    design_damping = 0.75
    refuses_free_joints = NO_REGULATOR
    bounds: Mapping[str, Bound] = {}
    kp: Array
    kd: Array
    ki: Array

    def __init__(self, robot: Robot, *, kp: ArrayLike, kd: ArrayLike, ki: ArrayLike = 0.0) -> None:
        gains = {name: _matrix(value, name, robot.n) for name, value in (("kp", kp), ("kd", kd), ("ki", ki))}
        super().__init__(robot, gains, {"integral": np.zeros(robot.n)})

    @classmethod
    def gains(cls, design: PoleDesign) -> dict[str, Any]:
        """Return the gains of a unit mass times the mean mass matrix along the motion."""
        mean = design.mass_matrices.mean(axis=0)
        return {name: gain * mean for name, gain in design.gains(design.attainable)._asdict().items()}

    def law(self, now: Now) -> Any:
        """Return the torques of the law; the memory is the integral of the error by the rectangle rule."""
        error = tracking_error(self.robot, now.q, now.qd, now.reference)
        integral = now.memory.integral + now.period * error.position
        feedback = self.kp @ error.position + self.kd @ error.velocity + self.ki @ integral
        tau = self.robot.inverse_dynamics(*now.reference) + feedback
        excess = tau - saturated(tau, self.robot.effort_limits)
        now.memory.integral = next_integral(now.memory.integral, error.position, excess, now.period)
        return tau


def _matrix(value: ArrayLike, name: str, n: int) -> NDArray[np.float64]:
    """Gain as a matrix (n, n): of one number, one for each joint, or a matrix."""
    if np.ndim(value) == 2:
        return reals(value, name, (n, n))
    return np.diag(reals(value, name, (n,), broadcast=True, at_least=0.0))
