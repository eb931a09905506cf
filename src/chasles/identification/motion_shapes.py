"""Shapes of exciting motions: linear in their coefficients, periodic, at rest at both ends.

Each gives, at chosen times, the matrices that take a joint's coefficients to its positions, velocities, accelerations
and jerks about an offset, and the motion itself. Fourier series: J. Swevers et al., "Optimal robot excitation and
identification" (IEEE Trans. Robotics and Automation 13(5), 1997). B-splines: W. Rackl, R. Lampariello & G. Hirzinger,
"Robot excitation trajectories for dynamic parameter estimation using optimized B-splines" (ICRA 2012).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from scipy.interpolate import BSpline as Basis
from scipy.linalg import null_space

from chasles.identification.fourier import FourierMotion
from chasles.model.placement import FloatArray
from chasles.trajectories.joint.bsplines import BSpline
from chasles.trajectories.joint.trajectory import JointTrajectory

DEGREE = 5
"""Degree of the splines: the jerk is continuous."""
RESTING = 3
"""Equal control points at each end, which make velocity and acceleration zero there."""


class MotionShape(Protocol):
    """Family of motions that is linear in its coefficients."""

    @property
    def size(self) -> int:
        """Number of coefficients of each joint."""
        ...

    def matrices(self, time: FloatArray) -> list[FloatArray]:
        """Positions, velocities, accelerations and jerks of a unit of each coefficient at times, (k, size) each."""
        ...

    def motion(self, offset: FloatArray, coefficients: FloatArray, repetitions: int) -> JointTrajectory:
        """Motion about an offset (n,) with coefficients (n, size)."""
        ...


@dataclass(frozen=True)
class FourierShape:
    """Fourier series with `harmonics` of 1/`period`."""

    period: float
    harmonics: int

    @property
    def size(self) -> int:
        """Number of coefficients of each joint: sines and cosines, less two conditions of rest."""
        return 2 * self.harmonics - 2

    def matrices(self, time: FloatArray) -> list[FloatArray]:
        """Positions, velocities, accelerations and jerks of a unit of each coefficient at times, (k, size) each."""
        rate = 2.0 * np.pi / self.period * np.arange(1, self.harmonics + 1)
        s, c = np.sin(time[:, None] * rate), np.cos(time[:, None] * rate)
        rows = ((s, c), (rate * c, -rate * s), (-(rate**2) * s, -(rate**2) * c), (-(rate**3) * c, rate**3 * s))
        return [np.hstack(pair) @ self._resting for pair in rows]

    def motion(self, offset: FloatArray, coefficients: FloatArray, repetitions: int) -> FourierMotion:
        """Motion about an offset (n,) with coefficients (n, size)."""
        both = coefficients @ self._resting.T
        sines, cosines = both[:, : self.harmonics], both[:, self.harmonics :]
        return FourierMotion(offset, sines, cosines, period=self.period, repetitions=repetitions)

    @property
    def _resting(self) -> FloatArray:
        """Orthonormal basis of sine and cosine coefficients with zero velocity and acceleration at the ends."""
        order = np.arange(1, self.harmonics + 1)
        at_rest = np.zeros((2, 2 * self.harmonics))
        at_rest[0, : self.harmonics], at_rest[1, self.harmonics :] = order, order**2
        return np.asarray(null_space(at_rest))


@dataclass(frozen=True)
class SplineShape:
    """B-spline of degree 5 with `size` free control points, equally spaced in a period of `period` s."""

    period: float
    size: int

    def matrices(self, time: FloatArray) -> list[FloatArray]:
        """Positions, velocities, accelerations and jerks of a unit of each coefficient at times, (k, size) each."""
        count = self.size + 2 * RESTING
        inner = np.linspace(0.0, self.period, count - DEGREE + 1)
        knots = np.concatenate([np.zeros(DEGREE), inner, np.full(DEGREE, self.period)])
        basis = Basis(knots, np.eye(count)[:, RESTING:-RESTING], DEGREE)
        return [np.asarray(basis(time, order)) for order in range(4)]

    def motion(self, offset: FloatArray, coefficients: FloatArray, repetitions: int) -> BSpline:
        """Motion about an offset (n,) with coefficients (n, size)."""
        rest = np.repeat(offset[None], RESTING, axis=0)
        points = np.concatenate([rest, offset + coefficients.T, rest])
        one = BSpline.clamped(points, self.period, DEGREE)
        if repetitions == 1:
            return one
        inner = one.basis_knots[DEGREE + 1 : -DEGREE - 1]
        ends = self.period * np.arange(repetitions + 1)
        knots = [np.full(DEGREE + 1, 0.0)]
        for start, end in pairwise(ends.tolist()):
            knots += [start + inner, np.full(DEGREE if end < float(ends[-1]) else DEGREE + 1, end)]
        repeated = np.concatenate([points[:1], *[points[1:]] * repetitions])
        return BSpline(np.concatenate(knots), repeated, DEGREE)
