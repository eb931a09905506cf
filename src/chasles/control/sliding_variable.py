"""The sliding variable of passivity-based and sliding-mode control: a mixture of velocity and position error."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from chasles.control.floating_base import tracking_error
from chasles.control.load_friction import friction_change
from chasles.engine.program.scalar import Array
from chasles.robot.robot import Robot
from chasles.trajectories import Motion


class Sliding(NamedTuple):
    """Terms of the laws of Slotine and Li, each (n,).

    ``variable`` is s = qd - qd_r, with the reference velocity qd_r = qd_ref + rate (q_ref - q) and its derivative
    qdd_r. Where s = 0 every joint's error e obeys e' = -rate e, with one rate for the axes of a spherical joint.
    """

    variable: Array
    qd_reference: Array
    qdd_reference: Array


def sliding(robot: Robot, q: Array, qd: Array, reference: Motion, rate: Array) -> Sliding:
    """Sliding variable and reference velocity of a measured state.

    The error of a spherical joint is the rotation vector e from its orientation to that of the reference, whose
    velocity is rotated into the axes of the joint, R ω_ref. The derivative of qd_r = R ω_ref + rate e in these axes is
    R ω_ref' - ω x R ω_ref + rate e'.

    Parameters
    ----------
    robot
        Robot that the joints belong to.
    q, qd
        Measured joint positions (nq,) and velocities (n,).
    reference
        The planned motion now.
    rate
        Decay rate, 1/s, a scalar or (n,).

    Examples
    --------
    >>> import chasles as ch
    >>> import numpy as np
    >>> planned = Motion(np.array([1.0, 0.0]), np.array([0.5, 0.0]), np.zeros(2))
    >>> q, qd = np.array([0.9, 0.0]), np.array([0.5, 0.0])
    >>> sliding(ch.load("planar2r"), q, qd, planned, 10.0).variable.round(12)  # 0.5 - (0.5 + 10 * 0.1)
    array([-1.,  0.])
    """
    if robot.nq == robot.n:
        qd_reference = reference.qd + rate * (reference.q - q)
        return Sliding(qd - qd_reference, qd_reference, reference.qdd + rate * (reference.qd - qd))
    error = tracking_error(robot, q, qd, reference)
    rates = robot.configuration_rate(q, qd), robot.configuration_rate(reference.q, reference.qd)
    error_rate = robot.difference.specialize().jvp(["q0", "q1"])(q, reference.q, *rates)
    qd_reference = error.velocity + qd + rate * error.position
    return Sliding(qd - qd_reference, qd_reference, error.acceleration + rate * np.asarray(error_rate))


def friction_moved(
    robot: Robot, q: Array, qd: Array, reference: Motion, rate: Array, tau: Array, damping: Any = 0.0
) -> Any:
    """Return the model's friction at the reference velocity of `sliding` less that at the measured one.

    Friction of the load is that of the model's torques, which are the law's `tau` without the feedback -damping s.

    Sampled, compensation of friction at the measured velocity is a positive feedback, unstable for light joints. At the
    reference there is no feedback, and as the model's friction never falls with velocity, s times the difference only
    takes energy away.
    """
    s, qd_reference, _ = sliding(robot, q, qd, reference, rate)
    return friction_change(robot, q, qd, qd_reference, tau + damping * s)
