"""Closed-loop poles that laws of every kind can be designed for, as far as the sample period allows them.

Gains and weights place them exactly on a unit mass under a force that is held between samples.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.cached import cached_property
from chasles.engine.validators import real
from chasles.robot.robot import Robot
from chasles.trajectories import JointTrajectory
from chasles.trajectories.joint.closed import on_manifold

Floats = NDArray[np.float64]
Complex = NDArray[np.complex128]


def error_poles(frequency: float, damping: float, integral: float = 0.0) -> Complex:
    """Return the roots of (s² + 2 ζ ω s + ω²)(s + κ ω), without the last factor for κ = 0, in 1/s.

    Examples
    --------
    >>> error_poles(10.0, 0.8, 0.5).real.tolist()
    [-8.0, -8.0, -5.0]
    """
    turn = np.sqrt(complex(damping**2 - 1.0))
    pair = [-(damping - turn) * frequency, -(damping + turn) * frequency]
    return np.array([*pair, -integral * frequency] if integral else pair, dtype=np.complex128)


def held_gains(poles: Complex, period: float) -> Floats:
    """Return the feedback of a unit mass whose sampled loop has poles exp(s h).

    The force u = -(k_q q + k_v q̇ + k_z z) is held for a period h, and z[k+1] = z[k] + h q[k]. In the variable w = z - 1
    the loop's polynomial is w³ + (k_q h²/2 + k_v h) w² + (k_q h² + k_z h³/2) w + k_z h³.

    Source: Åström and Wittenmark, Computer-Controlled Systems (3rd ed., 1997), section 4.3, pole placement.

    Parameters
    ----------
    poles
        Poles s, 1/s: two, or three with integral action; complex ones in pairs.
    period
        h, s.

    Returns
    -------
    array
        k_q in 1/s², k_v in 1/s and, for three poles, k_z in 1/s³.

    Examples
    --------
    As the period goes to zero, (s + 10)³ = s³ + 30 s² + 300 s + 1000:

    >>> held_gains(np.array([-10.0, -10.0, -10.0]), 1e-6).round(1)
    array([ 300.,   30., 1000.])
    """
    polynomial = np.poly(np.expm1(np.asarray(poles) * period)).real
    w_2, w_1, w_0 = polynomial[1:] if len(poles) == 3 else (*polynomial[1:], 0.0)
    position = (w_1 - 0.5 * w_0) / period**2
    velocity = (w_2 - 0.5 * position * period**2) / period
    return np.array([position, velocity, w_0 / period**3][: len(poles)])


def held_weights(poles: Complex, period: float) -> Floats:
    """Return the weights of q, q̇ and z, for a weight 1 of u, under which `held_gains` are optimal.

    For a force held over a period h the return difference of the regulator says
    Π (g + x) = x³ + N(x), with x = |exp(jθ) - 1|², g = 4 sinh²(s h/2) for each pole s, and the numerator N of the
    weighted states: q_q h⁴ x (1 - x/4) + q_v h² x² + q_z h⁶ (1 - x/4). Its coefficients are compared. For real poles
    all weights are positive at every period; as h goes to zero, they are those of continuous time.

    Source: Anderson and Moore, Optimal Control: Linear Quadratic Methods (1990), section 5.6 and appendix B, inverse
    problem and return difference, here for the pulse-transfer functions of a held force.

    Parameters
    ----------
    poles, period
        See `held_gains`; pairs of complex poles are damped by 1/√2 at least.

    Examples
    --------
    >>> held_weights(np.array([-10.0, -10.0]), 1e-6).round(3)
    array([10000.,   200.])
    """
    growth = 4.0 * np.sinh(0.5 * np.asarray(poles, dtype=np.complex128) * period) ** 2
    coefficients = np.poly(-growth).real  # x³ + e₁ x² + e₂ x + e₃, or x² + e₁ x + e₂
    e_1, e_2, e_3 = coefficients[1:] if len(poles) == 3 else (*coefficients[1:], 0.0)
    position = e_2 + 0.25 * e_3
    weights = np.array([position / period**4, (e_1 + 0.25 * position) / period**2, e_3 / period**6])
    return np.asarray(np.maximum(weights, 0.0)[: len(poles)])


_SWING = 0.25  # of the rate at which the damping acts, which the swing of the estimates takes
_SWING_WITH_MARGIN = 0.125  # of ω: twice as much loses plants within the margin and errs by a sixth less
_MOMENTS = 50  # samples of the motion


class SampledGains(NamedTuple):
    """Gains kp, kd, ki of u = kp e + kd e' + ki Σ h e, per unit mass, whose sum includes the present error."""

    kp: float
    kd: float
    ki: float


@dataclass(frozen=True)
class PoleDesign:
    """Closed-loop poles for a model, a motion and a sample period, from which the gains of a law follow.

    The poles are those of the sampled loop, whose torques are held between samples: exp(s h) for each pole s.

    Attributes
    ----------
    model, motion
        Controller's model of the robot, and the reference.
    period
        Sample period, s.
    frequency, damping
        Natural frequency, rad/s, and damping ratio of the error.
    damping_times_period
        Upper bound on the rate at which the damping acts, times the period: a sampled loop cannot damp errors much
        faster than it samples.
    integral
        Third pole of laws with integral action, as a fraction of the frequency; 0 for no integral action.
    delay, velocity_lag
        Delay of the torques and lag of the measured velocities, in sample periods, for laws that can know them.

    Examples
    --------
    Gains of a computed-torque law with three poles at 20 rad/s. As the period goes to zero they are those of
    (s + 20)³ = s³ + 60 s² + 1200 s + 8000; 30 Hz allow a lower frequency only:

    >>> import chasles as ch
    >>> arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 1.0)
    >>> design = ch.control.PoleDesign(arm, motion, period=1e-6, frequency=20.0, integral=1.0)
    >>> [round(gain) for gain in design.gains(design.attainable)]
    [1200, 60, 8000]
    >>> ch.control.PoleDesign(arm, motion, period=1 / 30, frequency=20.0).attainable
    15.0
    """

    model: Robot
    motion: JointTrajectory
    period: float
    frequency: float = 20.0
    damping: float = 1.0
    damping_times_period: float = 1.0
    integral: float = 0.0
    delay: float = 0.0
    velocity_lag: float = 0.0

    def __post_init__(self) -> None:
        for name in ("period", "frequency", "damping"):
            real(getattr(self, name), name, above=0.0)
        real(self.damping_times_period, "damping_times_period", above=0.0, infinite=True)
        real(self.integral, "integral", at_least=0.0)
        if isinstance(self.motion, JointTrajectory):  # laws of frames may be given the motion of a frame
            object.__setattr__(self, "motion", on_manifold(self.model, self.motion))

    @cached_property
    def times(self) -> Floats:
        """Sample times along the motion, s."""
        return float(self.motion.start_time) + np.linspace(0.0, self.motion.duration, _MOMENTS)

    @cached_property
    def mass_matrices(self) -> Floats:
        """Mass matrices along the motion, shape (k, n, n)."""
        matrices: Floats = self.model.mass_matrix(self.motion(self.times).q)
        return matrices

    @cached_property
    def inertia(self) -> Floats:
        """Mean inertia of each joint along the motion, the other joints locked, shape (n,)."""
        inertia: Floats = np.diagonal(self.mass_matrices, axis1=-2, axis2=-1).mean(axis=0)
        return inertia

    @cached_property
    def peak_torque(self) -> Floats:
        """Peak torque of each joint in the planned motion, shape (n,); where it is zero, the joint's inertia."""
        planned = self.motion(self.times)
        peak = np.abs(self.model.inverse_dynamics(planned.q, planned.qd, planned.qdd)).max(axis=0)
        return np.where(peak > 0.0, peak, self.inertia)

    @property
    def attainable(self) -> float:
        """Natural frequency, rad/s, lowered as far as the sample period requires."""
        return min(self.frequency, self._limit)

    @cached_property
    def attainable_alone(self) -> float:
        """Natural frequency, rad/s, for gains of single joints, lowered as inertial coupling raises their modes."""
        if np.isinf(self._limit):
            return self.frequency
        coupling = np.linalg.eigvals(np.linalg.solve(self.mass_matrices, np.diag(self.inertia))).real.max()
        return min(self.frequency, self._limit / float(coupling))

    @property
    def _limit(self) -> float:
        return self.damping_times_period / ((2.0 * self.damping + self.integral) * self.period)

    def changed(self, period: float, frequency: float) -> PoleDesign:
        """Return the design for another period and frequency; what is known of model and motion is kept."""
        other = replace(self, period=period, frequency=frequency)
        kept = ("mass_matrices", "inertia", "peak_torque", "excitations")
        other.__dict__.update({name: value for name, value in vars(self).items() if name in kept})
        return other

    @cached_property
    def excitations(self) -> dict[object, Floats]:
        """What adaptive laws have computed of the motion, by the parameters that they estimate."""
        return {}

    def swing(self, frequency: float) -> float:
        """Return the square of the frequency, 1/s², at which the estimates of adaptive laws may swing.

        With damping at a rate ω and torques held for h, it is damped as long as it is well below ω / h: a quarter of
        that. In designs with margins, which hold for the loop as it is and not for one that changes as fast as its
        errors, the estimates swing at an eighth of ω.
        """
        return _SWING * frequency / self.period if np.isfinite(self._limit) else (_SWING_WITH_MARGIN * frequency) ** 2

    def poles(self, frequency: float) -> Complex:
        """Poles of the error in 1/s: the roots of (s² + 2 ζ ω s + ω²)(s + κ ω), without the last factor for κ = 0."""
        return error_poles(frequency, self.damping, self.integral)

    def gains(self, frequency: float) -> SampledGains:
        """Gains that give a unit mass under held torques the poles exp(s h), for a natural frequency, rad/s."""
        position, velocity, *rest = held_gains(self.poles(frequency), self.period).tolist()
        integral = rest[0] if rest else 0.0
        return SampledGains(position - self.period * integral, velocity, integral)
