"""What regulators along a motion share: sampled models, weights, and rows of numbers for each call."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.arguments import reals
from chasles.control.integral_action import next_integral, saturated
from chasles.control.linear_quadratic.algebraic_riccati import continuous_riccati, discrete_riccati
from chasles.control.linear_quadratic.linear_model import LinearModel, discretize, linear_model
from chasles.control.linear_quadratic.weights import Weights, bryson_weights, weight_matrix
from chasles.errors import ArgumentError
from chasles.robot import Robot
from chasles.trajectories import Motion

Floats = NDArray[np.float64]

_UNEVEN = 1e-6  # of a period, by which the times of calls may differ from a grid


def regulator_weights(
    robot: Robot, Q: ArrayLike | None, R: ArrayLike | None, integral_error: ArrayLike | None
) -> Weights:
    """Weights as given, checked, or by Bryson's rule; Q is (3n, 3n) if integrals of the errors count."""
    defaults = bryson_weights(robot)
    n = robot.n
    inputs = defaults.R if R is None else weight_matrix(R, n, "R", definite=True)
    if Q is not None and integral_error is None and np.shape(Q) == (3 * n, 3 * n):
        return Weights(weight_matrix(Q, 3 * n, "Q", definite=False), inputs)
    states = defaults.Q if Q is None else weight_matrix(Q, 2 * n, "Q", definite=False)
    if integral_error is None:
        return Weights(states, inputs)
    joined = np.zeros((3 * n, 3 * n))
    joined[: 2 * n, : 2 * n] = states
    joined[2 * n :, 2 * n :] = np.diag(reals(integral_error, "integral_error", (n,), broadcast=True, above=0.0) ** -2.0)
    return Weights(joined, inputs)


def integral_count(weights: Weights) -> int:
    """Number of integrals of errors that count: one for each joint, or none.

    >>> integral_count(Weights(np.eye(6), np.eye(2)))
    2
    """
    return len(weights.Q) - 2 * len(weights.R)


def period_of(times: Floats) -> float | None:
    """Time between two calls, s; None if there is one call only.

    Raises
    ------
    ArgumentError
        If the times are not evenly spaced.
    """
    if len(times) < 2:
        return None
    steps = np.diff(times)
    period = float((times[-1] - times[0]) / len(steps))
    if not period > 0.0 or np.abs(steps - period).max() > _UNEVEN * period:
        raise ArgumentError("a regulator needs times that are evenly spaced and increase")
    return period


def sampled_model(robot: Robot, motion: Motion, period: float, *, integral: bool) -> LinearModel:
    """Linear models along a motion for held torques; if wanted with integrals, z[k+1] = z[k] + h δq[k], as states."""
    A, B = discretize(*linear_model(robot, motion), period)
    return with_integral(A, B, np.eye(robot.n), period) if integral else LinearModel(A, B)


def with_integral(A: Floats, B: Floats, identity: Floats, rate: float) -> LinearModel:
    """Join states z that sum up positions: z[k+1] = identity z[k] + rate δq[k], or ż alike."""
    n = B.shape[-1]
    joined = np.zeros((*A.shape[:-2], 3 * n, 3 * n))
    joined[..., : 2 * n, : 2 * n] = A
    joined[..., 2 * n :, :n] = rate * np.eye(n)
    joined[..., 2 * n :, 2 * n :] = identity
    return LinearModel(joined, np.concatenate([B, np.zeros((*B.shape[:-2], n, n))], axis=-2))


def stationary_gains(robot: Robot, motion: Motion, weights: Weights, period: float | None) -> Floats:
    """Gains (..., n, 2n or 3n) of the regulator for all time at each place of a motion, as if the robot stayed there.

    For torques held over a period, or, without one, in continuous time.
    """
    integral = len(weights.Q) == 3 * robot.n
    if period is not None:
        model = sampled_model(robot, motion, period, integral=integral)
        return discrete_riccati(*model, weights.Q, weights.R).K
    A, B = linear_model(robot, motion)
    if integral:
        A, B = with_integral(A, B, np.zeros((robot.n, robot.n)), 1.0)
    return continuous_riccati(A, B, weights.Q, weights.R).K


def held_torques(robot: Robot, motion: Motion) -> Floats:
    """Torques (..., k, n) that a motion needs: for each call the mean over the period for which they are held.

    By the trapezoidal rule, so that held torques leave the motion by the square of the period only. The last call has
    its own torque.
    """
    tau: Floats = robot.inverse_dynamics(motion.q, motion.qd, motion.qdd)
    return np.concatenate([0.5 * (tau[..., :-1, :] + tau[..., 1:, :]), tau[..., -1:, :]], axis=-2)


def regulator_rows(robot: Robot, motion: Motion, gains: Floats) -> Floats:
    """Row of each call: nominal torque and gains, shape (..., k, n, 1 + 2n or 1 + 3n)."""
    tau = held_torques(robot, motion)
    return np.concatenate([tau[..., None], np.broadcast_to(gains, (*tau.shape, gains.shape[-1]))], axis=-1)


def regulator_law(
    robot: Robot, row: Any, q: Any, qd: Any, reference: Motion, integral: Any, period: float
) -> tuple[Any, Any]:
    """Torques: nominal ones - K (δq, δq̇, z); and the next integral z of δq = q - q_ref, if there is one."""
    deviation = q - reference.q
    tau = row[:, 0] - row[:, 1:] @ np.concatenate([deviation, qd - reference.qd, integral])
    return tau, next_deviation_integral(robot, integral, deviation, tau, period)


def next_deviation_integral(robot: Robot, integral: Any, deviation: Any, tau: Any, period: float) -> Any:
    """Integral z of q - q_ref one period later, if there is one, with anti-windup at the model's effort limits."""
    if not len(integral):
        return integral
    excess = tau - saturated(tau, robot.effort_limits)
    return next_integral(integral, deviation, -excess, period)
