"""Closed-loop poles that laws of every kind can be designed for, as far as the sample period allows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.arguments import real
from chasles.cached import cached_property
from chasles.control.sampled_poles import Complex, error_poles, held_gains
from chasles.robot import Robot
from chasles.trajectories import JointTrajectory

Floats = NDArray[np.float64]

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
        Third pole of laws with integral action, as a share of the frequency; 0 for no integral action.

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

    def __post_init__(self) -> None:
        for name in ("period", "frequency", "damping", "damping_times_period"):
            real(getattr(self, name), name, above=0.0)
        real(self.integral, "integral", at_least=0.0)

    @cached_property
    def times(self) -> Floats:
        """Some moments of the motion, s."""
        return np.linspace(0.0, self.motion.duration, _MOMENTS)

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
        """Largest torque of each joint in the planned motion, shape (n,); its inertia for a joint that takes none."""
        planned = self.motion(self.times)
        peak = np.abs(self.model.inverse_dynamics(planned.q, planned.qd, planned.qdd)).max(axis=0)
        return np.where(peak > 0.0, peak, self.inertia)

    @property
    def attainable(self) -> float:
        """Natural frequency, rad/s, lowered as far as the sample period asks for."""
        return min(self.frequency, self._limit)

    @cached_property
    def attainable_alone(self) -> float:
        """Natural frequency, rad/s, of gains of single joints: coupling by the mass matrix makes their modes faster."""
        coupling = np.linalg.eigvals(np.linalg.solve(self.mass_matrices, np.diag(self.inertia))).real.max()
        return min(self.frequency, self._limit / float(coupling))

    @property
    def _limit(self) -> float:
        return self.damping_times_period / ((2.0 * self.damping + self.integral) * self.period)

    def poles(self, frequency: float) -> Complex:
        """Poles of the error in 1/s: the roots of (s² + 2 ζ ω s + ω²)(s + κ ω), without the last factor for κ = 0."""
        return error_poles(frequency, self.damping, self.integral)

    def gains(self, frequency: float) -> SampledGains:
        """Gains with which a unit mass under held torques has the poles exp(s h), for a natural frequency, rad/s."""
        position, velocity, *rest = held_gains(self.poles(frequency), self.period).tolist()
        integral = rest[0] if rest else 0.0
        return SampledGains(position - self.period * integral, velocity, integral)
