"""Gains by one rule for every kind of controller: the same bandwidth, as far as the sample period allows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.cached import cached_property
from chasles.control.linear_quadratic import frequency_weights
from chasles.robot import Robot
from chasles.trajectories import JointTrajectory

Floats = NDArray[np.float64]

_MOMENTS = 50  # of the motion that are looked at


@dataclass(frozen=True)
class Wish:
    """What all controllers of a study are to have in common, and where.

    Attributes
    ----------
    model, motion
        What the controller believes about the robot, and the reference.
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


Rule = Callable[[Wish], dict[str, Any]]


def stiffness(wish: Wish) -> dict[str, Any]:
    """Each joint as if it turned alone."""
    _, kp, kd = wish.polynomial(wish.attainable_alone())
    return {"kp": wish.inertia * kp, "kd": wish.inertia * kd}


def stiffness_with_integral(wish: Wish) -> dict[str, Any]:
    """Each joint as if it turned alone."""
    ki, _, _ = wish.polynomial(wish.attainable_alone())
    return stiffness(wish) | {"ki": wish.inertia * ki}


def error_equation(wish: Wish) -> dict[str, Any]:
    """The error of every joint obeys the equation of a unit mass."""
    ki, kp, kd = wish.polynomial(wish.attainable())
    return {"kp": kp, "kd": kd, "ki": ki}


def quadratic_weights(wish: Wish) -> dict[str, Any]:
    """Weights under which the regulator of the mean mass matrix has the wished poles."""
    mean = wish.mass_matrices.mean(axis=0)
    Q, R = frequency_weights(mean, wish.attainable(), max(wish.damping, 0.5**0.5), wish.integral)
    return {"Q": Q, "R": R}


def perturbation_weights(wish: Wish) -> dict[str, Any]:
    """Errors decay at the wished rate along s = qd error + frequency * q error = 0, which is reached ten times as fast.

    The weight of torques is a tenth of what would do that if each joint turned alone: together they are heavier. The
    constant disturbance, such as a payload's weight, is identified, too.
    """
    frequency = wish.attainable()
    reaching = min(10.0 * frequency * wish.period, 1.0)  # in a period
    weight = 0.1 / (wish.inertia**2 * reaching)
    return {"rate": frequency, "torque_weight": weight, "offset": True, "initial_pose": wish.motion(0.0).q}


def adaptation(wish: Wish) -> dict[str, Any]:
    """Errors decay to s = 0 and along it at the same rate; the estimates follow as fast as the period allows.

    Near s = 0, M s' = Y (theta - true) - Kd s and theta' = -Gamma Yᵀ s. With Gamma_k = w² / (m c_k), where c_k is the
    mean of Y_kᵀ M⁻¹ Y_k, all m parameters together make s swing at the frequency w. Held for a period h, such a swing
    is damped by Kd as long as w² h is well below the rate at which Kd acts: a quarter of it is taken.
    """
    from chasles.control.adaptive.unknowns import Unknowns

    frequency, alone = wish.attainable(), wish.attainable_alone()
    unknowns = Unknowns.of(wish.model, "base")
    excitation = _excitation(wish, unknowns)
    known = excitation > 0.0
    swing = 0.25 * wish.damping_times_period * alone / wish.period
    gain = np.where(known, swing / (known.sum() * np.where(known, excitation, 1.0)), 0.0)
    return {"rate": frequency, "damping": alone * wish.inertia, "adaptation": gain}


def _excitation(wish: Wish, unknowns: Any) -> Floats:
    """Mean of Y_kᵀ M⁻¹ Y_k of each parameter, over the motion and over states as fast as it all around."""
    planned = wish.motion(wish.times)
    spread = np.random.default_rng(0).uniform(-1.0, 1.0, (2, *planned.q.shape))
    around = [share * np.abs(part).max(axis=0) for share, part in zip(spread, (planned.qd, planned.qdd), strict=True)]
    total: Any = 0.0
    for qd, qdd in ((planned.qd, planned.qdd), around):
        Y = wish.model.passivity_regressor(planned.q, qd, qd, qdd)
        Y = Y[..., unknowns.columns] if unknowns.to_columns is None else Y[..., unknowns.columns] @ unknowns.to_columns
        total = total + (Y * np.linalg.solve(wish.mass_matrices, Y)).sum(axis=-2).mean(axis=0)
    return 0.5 * np.asarray(total)
