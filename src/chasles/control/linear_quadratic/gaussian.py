"""Linear-quadratic-Gaussian control: the regulator fed by a Kalman filter that sees joint encoders only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.control.integral_action import next_integral
from chasles.control.linear_quadratic.algebraic_riccati import discrete_riccati
from chasles.control.linear_quadratic.along_motion import (
    held_torques,
    period_of,
    regulator_weights,
    with_integral,
)
from chasles.control.linear_quadratic.kalman import encoders, kalman_gains, stationary_kalman_gains
from chasles.control.linear_quadratic.linear_model import LinearModel, discretize, linear_model
from chasles.control.linear_quadratic.riccati import backward_riccati
from chasles.control.robot_controller import RobotController, positive
from chasles.errors import ArgumentError
from chasles.robot import Robot
from chasles.trajectories import Motion

Floats = NDArray[np.float64]


class LinearQuadraticGaussian(RobotController):
    """tau = ID(q_ref, qd_ref, qdd_ref) - K (x̂, z), with the estimate x̂ of δx = (q - q_ref, qd - qd_ref) from q alone.

    A Kalman filter on the linear model of the perturbations predicts δx under the torques applied and corrects it by
    the encoders; measured velocities are not used. Gains of regulator and filter change along the motion, or are those
    of one pose for all time. It needs to know the whole dynamics, but not while it runs.

    Source: Anderson and Moore, Optimal Control: Linear Quadratic Methods.

    Parameters
    ----------
    robot
        The model that the controller believes in; it may differ from the plant.
    q
        Pose (n,) whose stationary regulator and filter are used throughout; default None: along the motion.
    Q, R, integral_error
        As of `TimeVaryingRegulator`; z is the integral of the measured deviation.
    torque_error
        Standard deviation of the torques that the model does not know of (payload, friction), taken as held for a
        period and independent from period to period, N m (N for sliding joints): a number or (n,). Default the torques
        of Bryson's rule. The larger, the more the filter believes its encoders.
    encoder_noise
        Standard deviation of measured positions, rad (m): a number or (n,). An encoder of resolution r has r / √12.
    initial_position_error, initial_velocity_error
        Standard deviation of the deviations at the start, rad and rad/s (m and m/s): numbers or (n,).

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=1.0)
    >>> run = ch.simulate(arm.with_payload(1.0), LinearQuadraticGaussian(arm), motion)
    >>> float(abs(run.error).max()) < 0.05
    True
    """

    name = "linear-quadratic-Gaussian control"

    def __init__(
        self,
        robot: Robot,
        q: ArrayLike | None = None,
        *,
        Q: ArrayLike | None = None,
        R: ArrayLike | None = None,
        integral_error: ArrayLike | None = None,
        torque_error: ArrayLike | None = None,
        encoder_noise: ArrayLike = 1e-4,
        initial_position_error: ArrayLike = 0.01,
        initial_velocity_error: ArrayLike = 0.1,
    ) -> None:
        n = robot.n
        super().__init__(robot, {}, np.zeros(2 * n if integral_error is None else 3 * n))
        self.q = None if q is None else np.array(q, dtype=float)
        if self.q is not None and (self.q.shape != (n,) or not np.isfinite(self.q).all()):
            raise ArgumentError(f"q must be {n} finite numbers, the pose")
        self.weights = regulator_weights(robot, Q, R, integral_error)
        if integral_error is not None:
            self.name += ", with integral action"
        unknown = np.diagonal(self.weights.R) ** -0.5 if torque_error is None else torque_error
        self.torque_error = positive(unknown, (n,), "torque_error")
        self.encoder_noise = positive(encoder_noise, (n,), "encoder_noise")
        self.initial_error = np.concatenate(
            [
                positive(initial_position_error, (n,), "initial_position_error"),
                positive(initial_velocity_error, (n,), "initial_velocity_error"),
            ]
        )

    def schedule(self, times: Floats, motion: Motion) -> Floats:
        """Nominal torque, K, L, A and B of every call in one row, shape (..., k, numbers)."""
        period = period_of(times)
        if period is None:
            raise ArgumentError("linear-quadratic-Gaussian control needs at least two calls")
        n, batch = self.robot.n, np.shape(motion.q)[:-1]
        if self.q is None:
            A, B = discretize(*linear_model(self.robot, motion), period)
        else:
            rest = np.zeros(n)
            A, B = discretize(*linear_model(self.robot, Motion(self.q, rest, rest)), period)
        joined = LinearModel(A, B) if self.initial_state.size == 2 * n else with_integral(A, B, np.eye(n), period)
        Q, R = period * self.weights.Q, period * self.weights.R
        C, V = encoders(n), self.encoder_noise**2
        scaled = B * self.torque_error
        W = scaled @ np.swapaxes(scaled, -1, -2)
        if self.q is None:
            last = discrete_riccati(joined.A[..., -1, :, :], joined.B[..., -1, :, :], Q, R).P
            K = backward_riccati(*joined, Q, R, last).K
            L = kalman_gains(A, C, W, V, self.initial_error**2).L
        else:
            K, L = discrete_riccati(*joined, Q, R).K, stationary_kalman_gains(A, C, W, V).L
        tau = held_torques(self.robot, motion)
        flat = [part.reshape(*part.shape[:-2], -1) for part in (K, L, A, B)]
        return np.concatenate([tau, *(np.broadcast_to(part, (*batch, part.shape[-1])) for part in flat)], axis=-1)

    def law(
        self, t: Any, q: Any, qd: Any, reference: Motion, state: Any, parameters: Mapping[str, Any], period: float
    ) -> tuple[Any, Any]:
        """Torques of the law; the memory is the prediction of δx, and the integral of the measured deviation."""
        n, row = self.robot.n, parameters["schedule"]
        shapes = ((n,), (n, len(state)), (2 * n, n), (2 * n, 2 * n), (2 * n, n))
        cuts = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
        tau, K, L, A, B = (part.reshape(shape) for part, shape in zip(np.split(row, cuts), shapes, strict=True))
        prediction, integral = state[: 2 * n], state[2 * n :]
        deviation = q - reference.q
        estimate = prediction + L @ (deviation - prediction[:n])
        correction = -K @ np.concatenate([estimate, integral])
        following = A @ estimate + B @ correction
        tau = tau + correction
        return tau, np.concatenate([following, next_integral(self.robot, integral, deviation, tau, period)])

    def __repr__(self) -> str:
        where = "along the motion" if self.q is None else self.q.tolist()
        return f"{type(self).__name__}({self.robot!r}, {where})"
