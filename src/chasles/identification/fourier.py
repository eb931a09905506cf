"""Periodic joint motions that start and end at rest: finite Fourier series."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import null_space

from chasles.base.errors import ArgumentError
from chasles.engine.validators import real, reals
from chasles.model.placement import FloatArray
from chasles.trajectories.joint.trajectory import JointTrajectory

KNOTS_PER_HARMONIC = 4


class FourierMotion(JointTrajectory):
    """Joint motion q(t) = q₀ + Σ (sₗ sin(l ω t) + cₗ cos(l ω t)), l = 1 … harmonics, with the period 2π/ω.

    Repetitions join smoothly. Outside its time range the motion rests at its start and end.

    Parameters
    ----------
    offset
        Offset q₀, shape (n,), rad (m).
    sines, cosines
        Coefficients sₗ and cₗ, shape (n, harmonics).
    period
        s.
    repetitions
        Number of periods.

    Notes
    -----
    J. Swevers et al., "Optimal robot excitation and identification", IEEE Trans. Robotics and Automation 13(5), 1997.

    Examples
    --------
    >>> motion = FourierMotion([0.5], [[0.0, 0.0]], [[-0.2, 0.05]], period=4.0)
    >>> motion(2.0).q.round(3), float(motion.duration)
    (array([0.75]), 4.0)
    """

    def __init__(
        self, offset: ArrayLike, sines: ArrayLike, cosines: ArrayLike, *, period: float, repetitions: int = 1
    ) -> None:
        self.offset = reals(offset, "offset", ("n",))
        self.sines = reals(sines, "sines", (len(self.offset), "harmonics"))
        self.cosines = reals(cosines, "cosines", self.sines.shape)
        self.period = real(period, "period", above=0.0)
        if not (isinstance(repetitions, int) and repetitions >= 1):
            raise ArgumentError(f"repetitions must be a whole number of at least 1, not {repetitions!r}")
        self.repetitions = repetitions
        count = KNOTS_PER_HARMONIC * self.sines.shape[1] * repetitions
        self.knots = np.linspace(0.0, self.period * repetitions, count + 1)

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.offset)

    def derivatives(self, t: NDArray[np.float64]) -> tuple[Any, Any, Any, Any]:
        """Positions, velocities, accelerations and jerks at times (...), each (..., n)."""
        coefficients = np.hstack([self.sines, self.cosines]).T
        order = self.sines.shape[1]
        states = [columns @ coefficients for columns in harmonics(np.clip(t, 0.0, self.knots[-1]), self.period, order)]
        rests = ((t < 0.0) | (t > self.knots[-1]))[..., None]
        qd, qdd, jerk = (np.where(rests, 0.0, rate) for rate in states[1:])
        return self.offset + states[0], qd, qdd, jerk

    def __repr__(self) -> str:
        return (
            f"FourierMotion({self.n} joints, {self.sines.shape[1]} harmonics, {self.repetitions} × {self.period:.4g} s)"
        )


def harmonics(time: FloatArray, period: float, order: int) -> list[FloatArray]:
    """Sines and cosines of `order` harmonics of 1/period at times (...), and three derivatives, (..., 2 order) each."""
    rates = 2.0 * np.pi / period * np.arange(1, order + 1)
    s, c = np.sin(time[..., None] * rates), np.cos(time[..., None] * rates)
    pairs = ((s, c), (rates * c, -rates * s), (-(rates**2) * s, -(rates**2) * c), (-(rates**3) * c, rates**3 * s))
    return [np.concatenate(pair, axis=-1) for pair in pairs]


def resting(order: int) -> FloatArray:
    """Orthonormal basis of coefficients with zero velocity and acceleration at the ends, (2 order, 2 order - 2)."""
    numbers, nothing = np.arange(1, order + 1), np.zeros(order)
    return np.asarray(null_space(np.block([[numbers, nothing], [nothing, numbers**2]])))
