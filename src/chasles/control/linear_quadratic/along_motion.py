"""What regulators along a motion share: sampled models, weights, and rows of numbers for each call."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.control.delayed_hold import delayed_hold, pending_count
from chasles.control.floating_base import deviation
from chasles.control.linear_model import LinearModel, linear_model
from chasles.control.linear_quadratic.algebraic_riccati import continuous_riccati, discrete_riccati
from chasles.control.linear_quadratic.gain_slopes import stationary_slopes
from chasles.control.linear_quadratic.weights import Weights, bryson_weights, weight_matrix
from chasles.control.now import Now
from chasles.control.pid import next_integral, saturated
from chasles.engine.cpython.memory import empty
from chasles.engine.linear.pivoted_elimination import solve
from chasles.engine.program.scalar import Array
from chasles.engine.validators import reals
from chasles.robot.robot import Robot
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


def sampled_model(robot: Robot, motion: Motion, period: float, *, integral: bool, delay: float = 0.0) -> LinearModel:
    """Linear models along a motion for held torques, of the states δx, z and u.

    Integrals z[k+1] = z[k] + h δq[k] are states if wanted. Torques u[k-1], u[k-2], … that are still to act are states
    if they take effect `delay` sample periods after their call: as many as it has begun.
    """
    held = delayed_hold(*linear_model(robot, motion), period, delay)
    A, B = held.A, held.B_late[0]
    joined = with_integral(A, B, np.eye(robot.n), period) if integral else LinearModel(A, B)
    return with_pending(joined, held.B_late[1:])


def last_of(model: LinearModel) -> LinearModel:
    """Model of the last place of a motion."""
    return LinearModel(model.A[..., -1, :, :], model.B[..., -1, :, :])


def with_pending(model: LinearModel, B_late: tuple[Floats, ...]) -> LinearModel:
    """Join torques u[k-1], u[k-2], … as states behind those of a model; `B_late` says how each moves the first ones."""
    if not B_late:
        return model
    A, B = model
    known, late = A.shape[-1], len(B_late)
    moved, n = B_late[0].shape[-2:]
    size = known + late * n
    joined, inputs = np.zeros((*A.shape[:-2], size, size)), np.zeros((*A.shape[:-2], size, n))
    joined[..., :known, :known], inputs[..., :known, :] = A, B
    for i, B_i in enumerate(B_late):
        joined[..., :moved, known + i * n : known + (i + 1) * n] = B_i
    joined[..., known + n :, known : size - n] = np.eye((late - 1) * n)
    inputs[..., known : known + n, :] = np.eye(n)
    return LinearModel(joined, inputs)


def with_pending_weights(weights: Weights, delay: float) -> Weights:
    """Extend Q by zeros for the torques that wait to take effect: each has been paid for at its call."""
    n, known = weights.R.shape[-1], weights.Q.shape[-1]
    Q = np.zeros((*weights.Q.shape[:-2], *(known + pending_count(delay) * n,) * 2))
    Q[..., :known, :known] = weights.Q
    return Weights(Q, weights.R)


def weights_of_period(weights: Weights, period: float, delay: float) -> Weights:
    """Weights of the sum over the calls, of the states of `sampled_model`."""
    return Weights(*(period * part for part in with_pending_weights(weights, delay)))


def with_integral(A: Floats, B: Floats, identity: Floats, rate: float) -> LinearModel:
    """Join states z that sum up the first states: z[k+1] = identity z[k] + rate δq[k], or ż alike."""
    states, n = B.shape[-2:]
    joined = np.zeros((*A.shape[:-2], states + n, states + n))
    joined[..., :states, :states] = A
    joined[..., states:, :n] = rate * np.eye(n)
    joined[..., states:, states:] = identity
    return LinearModel(joined, np.concatenate([B, np.zeros((*B.shape[:-2], n, n))], axis=-2))


def stationary_gains(robot: Robot, motion: Motion, weights: Weights, period: float | None) -> Floats:
    """Gains (..., n, 2n or 3n) of the regulator for all time at each place of a motion, as if the robot stayed there.

    For torques held over a period, or, without one, in continuous time.
    """
    integral = integral_count(weights) > 0
    if period is not None:
        model = sampled_model(robot, motion, period, integral=integral)
        return discrete_riccati(*model, weights.Q, weights.R).K
    A, B = linear_model(robot, motion)
    if integral:
        A, B = with_integral(A, B, np.zeros((robot.n, robot.n)), 1.0)
    return continuous_riccati(A, B, weights.Q, weights.R).K


def stationary_gain_slopes(robot: Robot, motion: Motion, weights: Weights, changes: Weights, period: float) -> Floats:
    """Derivatives (p, ..., n, m) of `stationary_gains` for held torques, in p directions of the weights."""
    model = sampled_model(robot, motion, period, integral=integral_count(weights) > 0)
    return stationary_slopes(model, weights.R, discrete_riccati(*model, weights.Q, weights.R), changes)


def held_torques(robot: Robot, motion: Motion, delay: float = 0.0) -> Floats:
    """Torques (..., k, n) that a motion needs: for each call the mean over the period in which they act."""
    return mean_of_periods(robot.inverse_dynamics(motion.q, motion.qd, motion.qdd), delay)


def mean_of_periods(tau: Floats, delay: float) -> Floats:
    """Means of torques (..., k, n), given at the calls, over the period in which each call acts.

    By the trapezoidal rule, so that held torques leave the motion by the square of the period only. They act `delay`
    sample periods after the call. Beyond the last call the torques are its own.
    """
    whole, share = divmod(delay, 1.0)
    first, calls = int(whole), tau.shape[-2]
    reached = np.concatenate([tau, np.repeat(tau[..., -1:, :], first + 2, axis=-2)], axis=-2)
    now, following, last = (reached[..., first + step : first + step + calls, :] for step in (0, 1, 2))
    begin, end = now + share * (following - now), following + share * (last - following)
    return np.asarray(0.5 * (begin + end))


def regulator_rows(robot: Robot, motion: Motion, gains: Floats, delay: float = 0.0) -> Floats:
    """Row of each call: nominal torque and gains, shape (..., k, n, 1 + m) for m states."""
    return joined_rows(held_torques(robot, motion, delay), gains)


def settled_rows(robot: Robot, motion: Motion, gains: Floats) -> Floats:
    """Row of each place of a motion: its torque and gains, shape (..., k, n, 1 + m)."""
    return joined_rows(robot.inverse_dynamics(motion.q, motion.qd, motion.qdd), gains)


def joined_rows(tau: Floats, gains: Floats) -> Floats:
    """Torques (..., n) and gains (..., n, m) side by side."""
    rows = empty((*tau.shape, 1 + gains.shape[-1]), "float64")
    rows[..., 0], rows[..., 1:] = tau, gains
    return rows


def change_of_rows(gains: Floats) -> Floats:
    """Changes of rows whose gains (..., n, m) change, the nominal torques not: shape (..., n, 1 + m)."""
    return joined_rows(np.zeros(gains.shape[:-1]), gains)


def regulator_law(robot: Robot, row: Array, now: Now) -> Any:
    """Return the torques: nominal ones - K (δq, δq̇, z, u), for a row of a nominal torque and K (n, 1 + m).

    The memory's parts are z, the ``integral`` of δq, the displacement from q_ref to q, and u, the ``pending``
    corrections, the latest first; they are empty for a K without.
    """
    memory, away = now.memory, deviation(robot, now.q, now.reference)
    x = np.concatenate([away, now.qd - now.reference.qd, memory.integral, memory.pending])
    tau = row[:, 0] - row[:, 1:] @ x
    memory.integral = next_deviation_integral(robot, memory.integral, away, tau, now.period)
    memory.pending = next_pending(robot, memory.pending, row[:, 0], tau)
    return tau


def regulator_take_over(robot: Robot, row: Array, now: Now, tau: Array) -> None:
    """Set the integral of `regulator_law` for torques tau (n,)."""
    x = np.concatenate([deviation(robot, now.q, now.reference), now.qd - now.reference.qd])
    now.memory.integral = integral_for(tau, row[:, 0], row[:, 1:], x, now.memory.pending)


def integral_for(tau: Array, nominal: Array, gains: Array, x: Array, pending: Array) -> Any:
    """Return the integrals z (n,) for which nominal torques less K (x, z, pending) are tau (n,).

    >>> gains = np.hstack([np.ones((2, 4)), np.diag([4.0, 2.0])])  # of positions, velocities and integrals
    >>> integral_for(np.array([3.0, 3.0]), np.array([1.0, 1.0]), gains, np.zeros(4), np.zeros(0))
    array([-0.5, -1. ])
    """
    first, last = len(x), len(x) + len(tau)
    return solve(gains[:, first:last], nominal - tau - gains[:, :first] @ x - gains[:, last:] @ pending)


def regulator_memory(robot: Robot, weights: Weights, delay: float = 0.0) -> dict[str, Floats]:
    """Return the memory of `regulator_law` at the start, for the weights and the delay that its gains are of."""
    return {"integral": np.zeros(integral_count(weights)), "pending": np.zeros(pending_count(delay) * robot.n)}


def next_pending(robot: Robot, pending: Array, nominal: Array, tau: Array) -> Array:
    """Return the corrections that wait to take effect one period later, the latest first: what limits let through."""
    if not len(pending):
        return pending
    return np.concatenate([saturated(tau, robot.effort_limits) - nominal, pending[: -robot.n]])


def next_deviation_integral(robot: Robot, integral: Array, deviation: Array, tau: Array, period: float) -> Any:
    """Integral z of q - q_ref one period later, if there is one, with anti-windup at the model's effort limits."""
    if not len(integral):
        return integral
    excess = tau - saturated(tau, robot.effort_limits)
    return next_integral(integral, deviation, -excess, period)
