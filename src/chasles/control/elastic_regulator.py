"""State feedback of elastic joints: gains of links and motors along a motion, optimal for the sampled loop."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.control.delayed_hold import MOST_DELAY, delayed_hold, pending_count
from chasles.control.elastic_joint_law import (
    ElasticJointLaw,
    elastic_model,
    higher_derivatives,
    torque_derivatives,
)
from chasles.control.linear_model import LinearModel, linear_model
from chasles.control.linear_quadratic.algebraic_riccati import discrete_riccati
from chasles.control.linear_quadratic.along_motion import (
    integral_for,
    last_of,
    mean_of_periods,
    next_deviation_integral,
    next_pending,
    period_of,
    weights_of_period,
    with_integral,
    with_pending,
)
from chasles.control.linear_quadratic.gain_slopes import regulator_slopes
from chasles.control.linear_quadratic.riccati import FiniteHorizon, backward_riccati
from chasles.control.linear_quadratic.weighted_regulator import WeightedRegulator
from chasles.control.linear_quadratic.weights import Weights, weight_matrix
from chasles.control.now import Now
from chasles.control.pole_design import PoleDesign, error_poles
from chasles.engine import Record
from chasles.engine.validators import real
from chasles.robot.robot import Robot
from chasles.trajectories import Motion

Floats = NDArray[np.float64]

_LEAST_DAMPING = 0.5**0.5  # of a regulator
_FASTEST = 0.5  # rad in a period, of the poles that damp a resonance


class ElasticRegulator(WeightedRegulator, ElasticJointLaw):
    """τ(t_k) = τ_ref(t_k) - K_k (q - q_ref, θ - θ_ref, q̇ - q̇_ref, θ̇ - θ̇_ref, z) with the optimal gain at every sample.

    Links and motors of elastic joints, M q̈ + n = K (θ - q) and B θ̈ + K (θ - q) = τ, are linearised along the motion and
    discretised for held torques. The Riccati recursion then gives the gains that minimise

        Σ h (δxᵀ Q δx + δτᵀ R δτ) + the cost for all time after the motion,

    with the integral z of δq among the states if Q weights it. The feed-forward torque τ_ref, and the motors' motion
    θ_ref = q_ref + K⁻¹ ID(q_ref, q̇_ref, q̈_ref), follow from two derivatives of the inverse dynamics. On line, each call
    is one small matrix product: no accelerations are computed from spring torques, as `ElasticComputedTorque` does.

    Source: Spong, "Modeling and control of elastic joint robots", Journal of Dynamic Systems, Measurement, and Control
    109, 1987; De Luca and Book, "Robots with flexible elements", Springer Handbook of Robotics (2016), section 11.1;
    Anderson and Moore, Optimal Control: Linear Quadratic Methods.

    Parameters
    ----------
    robot, stiffness, rotor_inertia
        See `ElasticComputedTorque`.
    Q
        Weight of the deviations (q, θ, q̇, θ̇), (4n, 4n) or (4n,), or with those of z (5n, 5n) or (5n,); see
        `elastic_weights`.
    R
        Weight of the torques, (n, n), (n,) or a scalar.
    delay, velocity_lag
        See `TimeVaryingRegulator`.

    Examples
    --------
    Joints with resonances at 10 Hz, encoders on both sides, and a payload that the law does not know:

    >>> import chasles as ch
    >>> arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [0.5, 0.3], duration=0.6)
    >>> springs = {"stiffness": [800.0, 100.0], "rotor_inertia": [0.3, 0.05]}
    >>> law = ElasticRegulator.tuned(arm, motion, 0.002, payload=0.5, integral=0.3, **springs)
    >>> law.designed.margin >= 0.3
    True
    >>> plant = ch.Plant(arm.with_payload(0.5), elastic_joints=ch.ElasticJoints(arm, **springs))
    >>> run = ch.simulate(plant, law, motion, duration=1.5, period=0.002)
    >>> float(abs(run.error).max()) < 0.05, float(abs(run.error[-1]).max()) < 0.003
    (True, True)
    """

    kind = "elastic-regulator"
    name = "state feedback of elastic joints"
    design_damping: ClassVar[float] = 0.85

    def __init__(
        self,
        robot: Robot,
        *,
        stiffness: ArrayLike,
        rotor_inertia: ArrayLike,
        Q: ArrayLike,
        R: ArrayLike,
        delay: float = 0.0,
        velocity_lag: float = 0.0,
    ) -> None:
        n = robot.n
        size = 5 * n if len(np.atleast_1d(np.asarray(Q))) == 5 * n else 4 * n
        self.weights = Weights(weight_matrix(Q, size, "Q", definite=False), weight_matrix(R, n, "R", definite=True))
        self.delay = real(delay, "delay", at_least=0.0, at_most=MOST_DELAY)
        self.velocity_lag = real(velocity_lag, "velocity_lag", at_least=0.0, at_most=MOST_DELAY)
        waiting = pending_count(self.delay + self.velocity_lag) * n
        memory = {"integral": np.zeros(size - 4 * n), "pending": np.zeros(waiting)}
        super().__init__(robot, stiffness=stiffness, rotor_inertia=rotor_inertia, values={}, memory=memory)
        self.varies = ()
        if size > 4 * n:
            self.name += ", with integral action"

    @classmethod
    def gains(
        cls,
        design: PoleDesign,
        *,
        stiffness: ArrayLike | None = None,
        rotor_inertia: ArrayLike | None = None,
    ) -> dict[str, Any]:
        """Return weights for the poles of a design, and those of the resonances; see `elastic_weights`."""
        K, B = cls.springs(stiffness, rotor_inertia)
        weights = elastic_weights(
            design.inertia,
            stiffness=K,
            rotor_inertia=B,
            frequency=design.attainable,
            damping=design.damping,
            integral=design.integral,
            period=design.period,
        )
        timing = {"delay": design.delay, "velocity_lag": design.velocity_lag}
        return {"Q": weights.Q, "R": weights.R, "stiffness": K, "rotor_inertia": B} | timing

    def sampled_model(self, motion: Motion, period: float) -> LinearModel:
        """Linear models along a motion for held torques, of the states (q, θ, q̇, θ̇), z and torques still to act."""
        n = self.robot.n
        links = linear_model(self.smooth, motion)
        model = elastic_model(links, np.asarray(self.stiffness), np.asarray(self.rotor_inertia))
        held = delayed_hold(*model, period, self.delay + self.velocity_lag)
        joined = LinearModel(held.A, held.B_late[0])
        if len(self.weights.Q) > 4 * n:
            joined = with_integral(*joined, np.eye(n), period)
        return with_pending(joined, held.B_late[1:])

    def schedule(self, times: Floats, motion: Motion) -> Record:
        """Return nominal torques, the motors' motion, each (k, n), and gains (k, n, m) of all calls."""
        period = period_of(np.asarray(times, dtype=float))
        if period is None:
            raise ArgumentError(f"'{self.name}' needs two calls or more: its gains are those of a sampled loop")
        return self._rows(motion, *higher_derivatives(times, motion), self._along(motion, period)[2].K)

    def _along(self, motion: Motion, period: float) -> tuple[LinearModel, Weights, FiniteHorizon]:
        """Sampled models along a motion, the weights of a period, and the regulator."""
        model = self.sampled_model(motion, period)
        costs = weights_of_period(self.weights, period, self.delay + self.velocity_lag)
        last = discrete_riccati(*last_of(model), *costs).P
        return model, costs, backward_riccati(*model, *costs, last, every_cost=True)

    def design_slopes(self, times: Floats, motion: Motion) -> dict[str, Floats]:
        """Derivatives of the gains by the diagonals of the weights, (p, k, n, m)."""
        period = period_of(times)
        if period is None:
            raise ArgumentError("derivatives by weights need at least two calls")
        model, costs, regulator = self._along(motion, period)
        changes = weights_of_period(self._weight_changes, period, self.delay + self.velocity_lag)
        return {"gains": regulator_slopes(model, costs.R, regulator, changes, ends_stationary=True)}

    def settled_schedule(self, motion: Motion, period: float) -> Record:
        """Return nominal torques, motor positions and stationary gains of each place."""
        costs = weights_of_period(self.weights, period, self.delay + self.velocity_lag)
        gains = discrete_riccati(*self.sampled_model(motion, period), *costs).K
        still = np.zeros_like(motion.qdd)
        return self._rows(motion, still, still, gains, held=False)

    def _rows(self, motion: Motion, jerk: Floats, snap: Floats, gains: Floats, held: bool = True) -> Record:
        """Nominal torques, motors and gains of places of a motion; `held` ones are means over a period."""
        _, second = torque_derivatives(self.smooth)
        motors = self.motors_along(motion, jerk)
        spring = self.stiffness * (motors.q - motion.q)
        acceleration = motion.qdd + second(motion.q, motion.qd, motion.qdd, jerk, snap) / self.stiffness
        torque = self.rotor_inertia * acceleration + spring
        return Record(
            torque=mean_of_periods(torque, self.delay) if held else torque,
            motor_q=motors.q,
            motor_qd=motors.qd,
            gains=gains,
        )

    @property
    def takes_over(self) -> bool:
        """Whether the regulator has integral action."""
        return len(self.weights.Q) > 4 * self.robot.n

    def take_over(self, now: Now, tau: Any) -> None:
        """Set the integral for the torques tau."""
        row, memory = now.schedule, now.memory
        memory.integral = integral_for(tau, row.torque, row.gains, self._deviation(now), memory.pending)

    def _deviation(self, now: Now) -> Any:
        """Deviations (q, θ, q̇, θ̇) of links and motors, (4n,)."""
        if now.motors is None:
            raise ArgumentError(f"'{self.name}' needs the motor sides of elastic joints")
        row, reference, motors = now.schedule, now.reference, now.motors
        places = [now.q - reference.q, motors.q - row.motor_q]
        return np.concatenate([*places, now.qd - reference.qd, motors.qd - row.motor_qd])

    def law(self, now: Now) -> Any:
        """Return the torques; the memory holds the deviation's integral and the corrections still to act."""
        memory, row, x = now.memory, now.schedule, self._deviation(now)
        away = x[: self.robot.n]
        tau = row.torque - row.gains @ np.concatenate([x, memory.integral, memory.pending])
        memory.integral = next_deviation_integral(self.robot, memory.integral, away, tau, now.period)
        memory.pending = next_pending(self.robot, memory.pending, row.torque, tau)
        return tau

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.robot!r}, stiffness={self.stiffness.tolist()})"


def elastic_weights(
    inertia: ArrayLike,
    *,
    stiffness: ArrayLike,
    rotor_inertia: ArrayLike,
    frequency: float,
    damping: float = 1.0,
    integral: float = 0.0,
    period: float = 0.0,
) -> Weights:
    """Return weights that give the regulator of each elastic joint alone the poles of a link and a damped resonance.

    For a link J and a rotor B on a spring K, with the resonance Ω² = K (1/J + 1/B), they are the roots of (s² + 2ζω s +
    ω²)(s² + 2ζΩ s + Ω²), in continuous time, and -κω with integral action. The weights are those of the link's position
    and its derivatives up to the third, which are those of the spring's torque: with a(s) = s² (s² + Ω²), the
    coefficients of p(s) p(-s) - a(s) a(-s). None is negative for ζ ≥ 1/√2. Where Ω is above half a radian in a period
    the second pair is at that frequency instead, and coefficients below zero are left out: the poles are others then.

    Source: Kalman, "When is a linear control system optimal?", Journal of Basic Engineering 86(1), 1964.

    Parameters
    ----------
    inertia
        J of each joint alone, (n,), kg·m².
    stiffness, rotor_inertia
        K, N·m/rad, and B, kg·m², a scalar or one value per joint.
    frequency, damping, integral
        ω, rad/s, ζ, at least 1/√2 (lower values are raised to it), and κ; κ = 0 for no integral action.
    period
        Sample period, s; 0 in continuous time.

    Examples
    --------
    The regulator of one joint has the poles -10 twice, and those of a resonance of 20 rad/s with ζ = 1:

    >>> from chasles.control.linear_quadratic import continuous_riccati
    >>> from chasles.control.linear_model import LinearModel
    >>> weights = elastic_weights([2.0], stiffness=400.0, rotor_inertia=2.0, frequency=10.0)
    >>> rod = LinearModel(np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0], [0.5]]))
    >>> A, B = elastic_model(rod, np.array([400.0]), np.array([2.0]))
    >>> np.poly(A - B @ continuous_riccati(A, B, *weights).K).round(3)
    array([1.0e+00, 6.0e+01, 1.3e+03, 1.2e+04, 4.0e+04])
    """
    J = np.atleast_1d(np.asarray(inertia, dtype=np.float64))
    n, zeta = len(J), max(real(damping, "damping", above=0.0), _LEAST_DAMPING)
    K, B = (np.broadcast_to(np.asarray(value, dtype=np.float64), n) for value in (stiffness, rotor_inertia))
    orders = 5 if integral else 4
    Q, R = np.zeros((orders, n)), np.zeros(n)
    for k, (j, stiff, rotor) in enumerate(zip(J.tolist(), K.tolist(), B.tolist(), strict=True)):
        resonance = stiff * (1.0 / j + 1.0 / rotor)
        fast = min(resonance**0.5, _FASTEST / period if period else np.inf)
        poles = np.concatenate([error_poles(frequency, zeta, integral), error_poles(fast, zeta)])
        free = np.poly([0.0] * (orders - 2) + 2 * [resonance])
        weights = np.maximum((np.poly(-(poles**2)).real - free)[:0:-1], 0.0)  # of z, q, q̇, q̈, q'''
        size = (j * rotor / stiff) ** 2 / (2.0 * zeta * frequency * (j + rotor))
        Q[:, k], R[k] = size * weights, size * (stiff / (j * rotor)) ** 2
    integrals, (positions, velocities, accelerations, jerks) = Q[: orders - 4], Q[orders - 4 :]
    rates = K / J
    pulled, eye = np.hstack([-np.diag(rates), np.diag(rates)]), np.eye(n)
    joined = np.zeros((orders * n, orders * n))
    joined[:n, :n], joined[2 * n : 3 * n, 2 * n : 3 * n] = np.diag(positions), np.diag(velocities)
    joined[: 2 * n, : 2 * n] += pulled.T @ (accelerations[:, None] * pulled)
    joined[2 * n : 4 * n, 2 * n : 4 * n] += pulled.T @ (jerks[:, None] * pulled)
    if integral:
        joined[4 * n :, 4 * n :] = integrals[0] * eye
    return Weights(joined, np.diag(R))
