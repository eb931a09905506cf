"""Gains by one rule for every kind of controller: the same bandwidth, as far as the sample period allows it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.cached import cached_property
from chasles.control.linear_quadratic import frequency_weights
from chasles.robot import Robot
from chasles.trajectories import JointTrajectory

Floats = NDArray[np.float64]

_MOMENTS = 50  # of the motion that are looked at


@dataclass(frozen=True)
class PoleDesign:
    """Closed-loop poles that all controllers of a study are to have in common, and for which model, motion and period.

    Attributes
    ----------
    model, motion
        Model that the controller believes in, and the reference.
    period
        Sample period, s.
    frequency, damping
        Natural frequency, rad/s, and damping ratio of the error.
    damping_times_period
        Bound on the rate at which the damping acts, times the period.
    integral
        Third pole of laws with integral action, as a share of the frequency; 0 for no integral action.
    """

    model: Robot
    motion: JointTrajectory
    period: float
    frequency: float
    damping: float
    damping_times_period: float
    integral: float

    @cached_property
    def times(self) -> Floats:
        """Some moments of the motion, s."""
        return np.linspace(0.0, self.motion.duration, _MOMENTS)

    @cached_property
    def mass_matrices(self) -> Floats:
        """Along the motion, shape (k, n, n)."""
        matrices: Floats = self.model.mass_matrix(self.motion(self.times).q)
        return matrices

    @cached_property
    def inertia(self) -> Floats:
        """Mean inertia of each joint along the motion, if it turned alone, shape (n,)."""
        inertia: Floats = np.diagonal(self.mass_matrices, axis1=-2, axis2=-1).mean(axis=0)
        return inertia

    def attainable(self) -> float:
        """Frequency, rad/s, lowered as far as the period asks for: a loop cannot damp much faster than it samples."""
        return min(self.frequency, self.attainable_limit)

    def attainable_alone(self) -> float:
        """The same for gains of single joints, which the coupling by the mass matrix makes faster than each alone."""
        coupling = np.linalg.eigvals(np.linalg.solve(self.mass_matrices, np.diag(self.inertia))).real.max()
        return min(self.frequency, self.attainable_limit / float(coupling))

    @property
    def attainable_limit(self) -> float:
        """Highest frequency, rad/s, that the period allows."""
        return self.damping_times_period / ((2.0 * self.damping + self.integral) * self.period)

    def polynomial(self, frequency: float) -> tuple[float, float, float]:
        """Coefficients ki, kp, kd of the error's polynomial: (s² + 2 ζ ω s + ω²), times (s + κ ω) with an integral."""
        zeta, kappa = self.damping, self.integral
        return kappa * frequency**3, (1.0 + 2.0 * zeta * kappa) * frequency**2, (2.0 * zeta + kappa) * frequency


class Attained(NamedTuple):
    """Poles that a law was given by its rule, for the model it believes in.

    Attributes
    ----------
    wanted
        Natural frequency asked for, rad/s.
    frequency
        Natural frequency designed for: lower than wanted where the sample period is too long, rad/s.
    damping
        Damping ratio.
    integral
        Third pole, rad/s; 0 without integral action.
    stiffness
        Torque per unit of error and inertia, 1/s²: the same for laws with the same poles. NaN for adaptive laws.
    """

    wanted: float
    frequency: float
    damping: float
    integral: float
    stiffness: float

    @property
    def is_lowered(self) -> bool:
        """Whether the sample period did not allow the frequency asked for."""
        return self.frequency < self.wanted * (1.0 - 1e-9)


def attained(rule: Rule, design: PoleDesign) -> Attained:
    """Return the poles that a rule designs for.

    Examples
    --------
    >>> import chasles as ch
    >>> arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 1.0)
    >>> attained(error_equation, PoleDesign(arm, motion, 1 / 30, 20.0, 1.0, 1.0, 0.0)).frequency
    15.0
    """
    frequency = design.attainable_alone() if rule in _OF_SINGLE_JOINTS else design.attainable()
    _, kp, _ = design.polynomial(frequency)
    stiffness = math.nan if rule in _WITHOUT_STIFFNESS else kp
    return Attained(design.frequency, frequency, design.damping, design.integral * frequency, stiffness)


Rule = Callable[[PoleDesign], dict[str, Any]]


def stiffness(design: PoleDesign) -> dict[str, Any]:
    """Each joint as if it turned alone."""
    _, kp, kd = design.polynomial(design.attainable_alone())
    return {"kp": design.inertia * kp, "kd": design.inertia * kd}


def stiffness_with_integral(design: PoleDesign) -> dict[str, Any]:
    """Each joint as if it turned alone."""
    ki, _, _ = design.polynomial(design.attainable_alone())
    return stiffness(design) | {"ki": design.inertia * ki}


def error_equation(design: PoleDesign) -> dict[str, Any]:
    """The error of every joint obeys the equation of a unit mass."""
    ki, kp, kd = design.polynomial(design.attainable())
    return {"kp": kp, "kd": kd, "ki": ki}


def quadratic_weights(design: PoleDesign) -> dict[str, Any]:
    """Weights under which the regulator of the mean mass matrix has the designed poles."""
    mean = design.mass_matrices.mean(axis=0)
    Q, R = frequency_weights(mean, design.attainable(), max(design.damping, 0.5**0.5), design.integral)
    return {"Q": Q, "R": R}


def quadratic_weights_at_each_sample(design: PoleDesign) -> dict[str, Any]:
    """The same weights; the stationary regulator of A(k) and B(k) is solved anew at each sample."""
    return quadratic_weights(design) | {"update_period": design.period}


def quadratic_weights_midway(design: PoleDesign) -> dict[str, Any]:
    """The same weights; one K for the pose in the middle of the motion."""
    return quadratic_weights(design) | {"q": design.motion(0.5 * design.motion.duration).q}


def quadratic_weights_and_noise(design: PoleDesign) -> dict[str, Any]:
    """The same weights; unknown torques of a fifth of each joint's peak torque in the planned motion."""
    planned = design.motion(design.times)
    peak = np.abs(design.model.inverse_dynamics(planned.q, planned.qd, planned.qdd)).max(axis=0)
    return quadratic_weights(design) | {"torque_error": 0.2 * np.where(peak > 0.0, peak, design.inertia)}


def observed_error_equation(design: PoleDesign) -> dict[str, Any]:
    """The error of every joint obeys the equation of a unit mass; the observer is as fast as the loop."""
    _, kp, kd = design.polynomial(design.attainable())
    return {"kp": kp, "kd": kd, "bandwidth": design.attainable()}


def perturbation_weights(design: PoleDesign) -> dict[str, Any]:
    """Errors decay at the frequency along s = qd error + frequency * q error = 0, which is reached ten times as fast.

    The weight of torques is a tenth of what would do that if each joint turned alone: together they are heavier. The
    constant disturbance, such as a payload's weight, is identified, too.
    """
    frequency = design.attainable()
    reaching = min(10.0 * frequency * design.period, 1.0)  # in a period
    weight = 0.1 / (design.inertia**2 * reaching)
    return {"rate": frequency, "torque_weight": weight, "offset": True, "initial_pose": design.motion(0.0).q}


def adaptation(design: PoleDesign) -> dict[str, Any]:
    """Errors decay to s = 0 and along it at the same rate; the estimates follow as fast as the period allows.

    Near s = 0, M s' = Y (theta - true) - Kd s and theta' = -Gamma Yᵀ s. With Gamma_k = w² / (m c_k), where c_k is the
    mean of Y_kᵀ M⁻¹ Y_k, all m parameters together make s swing at the frequency w. Held for a period h, such a swing
    is damped by Kd as long as w² h is well below the rate at which Kd acts: a quarter of it is taken.
    """
    from chasles.control.adaptive.unknowns import Unknowns

    frequency, alone = design.attainable(), design.attainable_alone()
    unknowns = Unknowns.of(design.model, "base")
    excitation = _excitation(design, unknowns)
    known = excitation > 0.0
    swing = 0.25 * design.damping_times_period * alone / design.period
    gain = np.where(known, swing / (known.sum() * np.where(known, excitation, 1.0)), 0.0)
    return {"rate": frequency, "damping": alone * design.inertia, "adaptation": gain}


def composite_adaptation(design: PoleDesign) -> dict[str, Any]:
    """The same, and estimates that also follow the prediction error, filtered at the designed frequency."""
    return adaptation(design) | {"bandwidth": design.attainable()}


def _excitation(design: PoleDesign, unknowns: Any) -> Floats:
    """Mean of Y_kᵀ M⁻¹ Y_k of each parameter, over the motion and over states as fast as it all around."""
    planned = design.motion(design.times)
    spread = np.random.default_rng(0).uniform(-1.0, 1.0, (2, *planned.q.shape))
    around = [share * np.abs(part).max(axis=0) for share, part in zip(spread, (planned.qd, planned.qdd), strict=True)]
    total: Any = 0.0
    for qd, qdd in ((planned.qd, planned.qdd), around):
        Y = design.model.passivity_regressor(planned.q, qd, qd, qdd)
        Y = Y[..., unknowns.columns] if unknowns.to_columns is None else Y[..., unknowns.columns] @ unknowns.to_columns
        total = total + (Y * np.linalg.solve(design.mass_matrices, Y)).sum(axis=-2).mean(axis=0)
    return 0.5 * np.asarray(total)


#: Rules that treat each joint as if the others were locked, which leaves less room to the frequency.
_OF_SINGLE_JOINTS = (stiffness, stiffness_with_integral)
#: Rules of laws whose poles depend on what they learn.
_WITHOUT_STIFFNESS = (adaptation, composite_adaptation, perturbation_weights)
