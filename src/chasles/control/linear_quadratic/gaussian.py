"""Linear-quadratic-Gaussian control: the regulator fed by a Kalman filter that sees joint encoders only."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.control.delayed_hold import MOST_DELAY, delayed_hold
from chasles.control.floating_base import NO_REGULATOR, deviation
from chasles.control.linear_model import LinearModel, discretize, linear_model
from chasles.control.linear_quadratic.algebraic_riccati import InfiniteHorizon, discrete_riccati
from chasles.control.linear_quadratic.along_motion import (
    held_torques,
    integral_count,
    integral_for,
    last_of,
    next_deviation_integral,
    next_pending,
    period_of,
    regulator_memory,
    regulator_weights,
    sampled_model,
    weights_of_period,
)
from chasles.control.linear_quadratic.gain_slopes import (
    filter_slopes,
    regulator_slopes,
    stationary_filter_slopes,
    stationary_slopes,
)
from chasles.control.linear_quadratic.kalman import FilterGains, kalman_gains, stationary_kalman_gains
from chasles.control.linear_quadratic.riccati import FiniteHorizon, backward_riccati
from chasles.control.linear_quadratic.weighted_regulator import WeightedRegulator
from chasles.control.linear_quadratic.weights import ENCODER_NOISE, filtered_regulator_gains
from chasles.control.now import Now
from chasles.control.pid import saturated
from chasles.control.pole_design import PoleDesign
from chasles.engine import Record
from chasles.engine.validators import real, reals
from chasles.robot.robot import Robot
from chasles.trajectories import Motion

Floats = NDArray[np.float64]
#: Noises of the filter by whose ratios to the encoders' its gains are designed.
_NOISES = ("torque_error", "lasting_error")


class _Sampled(NamedTuple):
    """Sampled models: the filter's A, B and noise W of (δx, d), and the regulator's with integrals, and weights."""

    A: Floats
    B: Floats
    W: Floats
    regulated: LinearModel
    Q: Floats
    R: Floats


class LinearQuadraticGaussian(WeightedRegulator):
    """tau = ID(q_ref, qd_ref, qdd_ref) - K (x̂, z), with the estimate x̂ of δx = (q - q_ref, qd - qd_ref) from q alone.

    A Kalman filter on the linear model of the perturbations predicts δx from the torques, saturated at the model's
    effort limits, and from an estimate d̂ of lasting unmodelled torques, and corrects both by the encoders. Without d̂ a
    payload's weight would leave an error of the velocities. Measured velocities are not used. The gains of regulator
    and filter vary along the motion or, with ``q``, are constant. It requires the full dynamic model, but only before
    the motion starts.

    Sources: Anderson and Moore, Optimal Control: Linear Quadratic Methods; Pannocchia and Rawlings, AIChE Journal 49
    (2003), for lasting disturbances as states of the filter.

    Parameters
    ----------
    robot
        Controller's model of the robot; it may differ from the plant.
    q
        Pose (n,) whose stationary regulator and filter are used throughout; default None: along the motion.
    Q, R, integral_error
        See `TimeVaryingRegulator`; z is the integral of the measured deviation.
    torque_error
        Standard deviation of unmodelled torques that are held for a period and independent between periods, N·m (N for
        prismatic joints): a scalar or (n,). Default the torques of Bryson's rule. A larger value gives more weight to
        the encoders; far beyond encoder noise · inertia / period² the estimate's errors alternate and decay slowly.
    lasting_error
        Standard deviation of the change of lasting unmodelled torques (payload, friction) from period to period, N·m:
        a scalar or (n,). Default `torque_error`.
    encoder_noise
        Standard deviation of measured positions, rad (m): a scalar or (n,). For an encoder of resolution r it is r /
        √12.
    delay
        See `TimeVaryingRegulator`: the filter predicts with the torques that act, and K accounts for the torques still
        to act.
    initial_position_error, initial_velocity_error
        Standard deviation of the initial deviations, rad and rad/s (m and m/s): scalars or (n,).

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
    kind = "linear-quadratic-gaussian"
    reads_velocity = False
    design_damping = 0.9
    refuses_free_joints = NO_REGULATOR

    def __init__(
        self,
        robot: Robot,
        q: ArrayLike | None = None,
        *,
        Q: ArrayLike | None = None,
        R: ArrayLike | None = None,
        integral_error: ArrayLike | None = None,
        torque_error: ArrayLike | None = None,
        lasting_error: ArrayLike | None = None,
        encoder_noise: ArrayLike = ENCODER_NOISE,
        delay: float = 0.0,
        initial_position_error: ArrayLike = 0.01,
        initial_velocity_error: ArrayLike = 0.1,
    ) -> None:
        n = robot.n
        weights = regulator_weights(robot, Q, R, integral_error)
        self.delay = real(delay, "delay", at_least=0.0, at_most=MOST_DELAY)
        super().__init__(robot, {}, {"prediction": np.zeros(3 * n), **regulator_memory(robot, weights, self.delay)})
        self.q = None if q is None else reals(q, "q", (robot.nq,))
        self.weights = weights
        if integral_count(weights):
            self.name += ", with integral action"
        if self.delay:
            self.name += f", for a delay of {self.delay:g} periods"
        unknown = np.diagonal(self.weights.R) ** -0.5 if torque_error is None else torque_error
        self.torque_error = reals(unknown, "torque_error", (n,), broadcast=True, above=0.0)
        lasting = self.torque_error if lasting_error is None else lasting_error
        self.lasting_error = reals(lasting, "lasting_error", (n,), broadcast=True, above=0.0)
        self.encoder_noise = reals(encoder_noise, "encoder_noise", (n,), broadcast=True, above=0.0)
        first = {"initial_position_error": initial_position_error, "initial_velocity_error": initial_velocity_error}
        parts = [reals(value, name, (n,), broadcast=True, above=0.0) for name, value in first.items()]
        self.initial_error = np.concatenate(parts)

    @classmethod
    def gains(cls, design: PoleDesign, *, filter: float = 10.0, resonance: float = math.inf) -> dict[str, Any]:
        """Return weights and noise by `filtered_regulator_gains`.

        The filter is so many times as fast as the poles, and stays an octave below the lowest resonance, Hz, that the
        model leaves out.
        """
        return filtered_regulator_gains(design, filter, resonance) | {"delay": design.delay}

    def schedule(self, times: Floats, motion: Motion) -> Record:
        """Nominal torque, gains K and L, and sampled model A, B of δx, of every call, each (..., k, *shape)."""
        period = period_of(times)
        if period is None:
            raise ArgumentError("linear-quadratic-Gaussian control needs at least two calls")
        model = self._sampled(motion, period)
        designed = self._along(model) if self.q is None else self._stationary(model)
        return self._rows(held_torques(self.robot, motion, self.delay), model, *designed)

    def settled_schedule(self, motion: Motion, period: float) -> Record:
        """The rows of `schedule` at each place, with the regulator and the filter for all time there."""
        model, torque = self._sampled(motion, period), self.robot.inverse_dynamics(motion.q, motion.qd, motion.qdd)
        return self._rows(torque, model, *self._stationary(model))

    @property
    def design_values(self) -> dict[str, Floats]:
        """Diagonals of the weights, and the errors of torques that the encoders' noise is compared with."""
        return super().design_values | {name: getattr(self, name) for name in _NOISES}

    def design_slopes(self, times: Floats, motion: Motion) -> dict[str, Floats]:
        """Derivatives of K and L of all calls by the elements of `design_values`, each (p, k, *shape)."""
        period = period_of(times)
        if period is None:
            raise ArgumentError("derivatives by weights need at least two calls")
        model, C, V = self._sampled(motion, period), self._encoders, np.diag(self.encoder_noise**2)
        changes = weights_of_period(self._weight_changes, period, self.delay)
        noise, initial = self._noise_changes(model)
        if self.q is None:
            regulator, filter = self._along(model)
            K = regulator_slopes(model.regulated, model.R, regulator, changes, ends_stationary=True)
            L = filter_slopes(model.A, C, V, filter, noise, initial)
        else:
            settled, filter = self._stationary(model)
            K = stationary_slopes(model.regulated, model.R, settled, changes)[:, None]
            L = stationary_filter_slopes(model.A, C, V, filter, noise)[:, None]
        count, weighted, noises = len(times), len(K), len(L)
        by_K, by_L = (np.zeros((weighted + noises, count, *part.shape[2:])) for part in (K, L))
        by_K[:weighted], by_L[weighted:] = K, L
        return {"K": by_K, "L": by_L}

    @property
    def _encoders(self) -> Floats:
        """Positions among the states (δx, d) of the filter."""
        n = self.robot.n
        return np.eye(n, 3 * n)

    def _sampled(self, motion: Motion, period: float) -> _Sampled:
        n = self.robot.n
        where = motion if self.q is None else Motion(self.q, np.zeros(n), np.zeros(n))
        model = linear_model(self.robot, where)
        has_integral = integral_count(self.weights) > 0
        regulated = sampled_model(self.robot, where, period, integral=has_integral, delay=self.delay)
        costs = weights_of_period(self.weights, period, self.delay)
        late, held = delayed_hold(*model, period, self.delay), discretize(*model, period).B
        batch = late.A.shape[:-2]
        A, B, W = (np.zeros((*batch, 3 * n, size)) for size in (3 * n, len(late.B_late) * n, 3 * n))
        A[..., : 2 * n, : 2 * n], A[..., : 2 * n, 2 * n :], A[..., 2 * n :, 2 * n :] = late.A, held, np.eye(n)
        B[..., : 2 * n, :] = np.concatenate(late.B_late, axis=-1)
        scaled = held * self.torque_error
        W[..., : 2 * n, : 2 * n] = scaled @ np.swapaxes(scaled, -1, -2)
        W[..., 2 * n :, 2 * n :] = np.diag(self.lasting_error**2)
        return _Sampled(A, B, W, regulated, *costs)

    def _noise_changes(self, model: _Sampled) -> tuple[Floats, Floats]:
        """Derivatives by both errors' elements of W, (2n, ..., 3n, 3n), and of the initial covariance, (2n, 3n, 3n)."""
        n = self.robot.n
        noise, initial = np.zeros((2 * n, *model.W.shape)), np.zeros((2 * n, 3 * n, 3 * n))
        each = np.arange(n)
        columns = np.moveaxis(model.A[..., : 2 * n, 2 * n :], -1, 0)  # how a torque that is held moves the state
        scale = 2.0 * self.torque_error.reshape(-1, *(1,) * model.W.ndim)
        noise[:n, ..., : 2 * n, : 2 * n] = scale * columns[..., :, None] * columns[..., None, :]
        noise[n + each, ..., 2 * n + each, 2 * n + each] = 2.0 * self.lasting_error.reshape(
            -1, *(1,) * (model.W.ndim - 2)
        )
        initial[each, 2 * n + each, 2 * n + each] = 2.0 * self.torque_error
        return noise, initial

    def _along(self, model: _Sampled) -> tuple[FiniteHorizon, FilterGains]:
        """The regulator and the filter along the motion."""
        last = discrete_riccati(*last_of(model.regulated), model.Q, model.R).P
        first = np.concatenate([self.initial_error, self.torque_error])
        filter = kalman_gains(model.A, self._encoders, model.W, self.encoder_noise**2, first**2)
        return backward_riccati(*model.regulated, model.Q, model.R, last, every_cost=True), filter

    def _stationary(self, model: _Sampled) -> tuple[InfiniteHorizon, FilterGains]:
        """The regulator and the filter for all time."""
        V, size = self.encoder_noise**2, model.A.shape[-1]
        each = zip(model.A.reshape(-1, size, size), model.W.reshape(-1, size, size), strict=True)
        filters = [stationary_kalman_gains(A, self._encoders, W, V) for A, W in each]
        batch = model.A.shape[:-2]
        parts = (np.reshape(part, (*batch, *np.shape(part)[1:])) for part in zip(*filters, strict=True))
        return discrete_riccati(*model.regulated, model.Q, model.R), FilterGains(*parts)

    def _rows(
        self, torque: Floats, model: _Sampled, regulator: FiniteHorizon | InfiniteHorizon, filter: FilterGains
    ) -> Record:
        moving = slice(2 * self.robot.n)  # lasting torques stay as they are
        matrices = {"K": regulator.K, "L": filter.L, "A": model.A[..., moving, :], "B": model.B[..., moving, :]}
        batch = torque.shape[:-1]
        each = {name: np.broadcast_to(part, (*batch, *part.shape[-2:])) for name, part in matrices.items()}
        return Record({"torque": torque, **each})

    def take_over(self, now: Now, tau: Any) -> None:
        """Set the estimate to the measured deviation, and the integral for the torques tau."""
        row, n, reference = now.schedule, self.robot.n, now.reference
        measured = np.concatenate([deviation(self.robot, now.q, reference), now.qd - reference.qd])
        now.memory.prediction = np.concatenate([measured, now.memory.prediction[2 * n :]])
        now.memory.integral = integral_for(tau, row.torque, row.K, measured, now.memory.pending)

    def law(self, now: Now) -> Any:
        """Return the torques; the memory is the prediction of (δx, d), an integral, and corrections still to act."""
        row, memory, n = now.schedule, now.memory, self.robot.n
        away = deviation(self.robot, now.q, now.reference)
        estimate = memory.prediction + row.L @ (away - memory.prediction[:n])
        correction = -row.K @ np.concatenate([estimate[: 2 * n], memory.integral, memory.pending])
        tau = row.torque + correction
        acting = saturated(tau, self.robot.effort_limits) - row.torque
        following = row.A @ estimate + row.B @ np.concatenate([acting, memory.pending])
        memory.prediction = np.concatenate([following, estimate[2 * n :]])
        memory.integral = next_deviation_integral(self.robot, memory.integral, away, tau, now.period)
        memory.pending = next_pending(self.robot, memory.pending, row.torque, tau)
        return tau

    def __repr__(self) -> str:
        where = "along the motion" if self.q is None else self.q.tolist()
        return f"{type(self).__name__}({self.robot!r}, {where})"
