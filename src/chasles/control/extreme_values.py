"""How often a process passes a threshold, from one record of it: peaks over a high level, extrapolated.

Peaks that are the largest within a correlation time on both sides are one for each excursion. For all common
distributions, their excesses y over a high level have nearly a generalised Pareto distribution (J. Pickands,
"Statistical inference using extreme order statistics", Annals of Statistics 3(1), 1975), and they come like a Poisson
process:

    rate(x) = λ (1 + ξ (x - level) / σ)^(-1/ξ)

Bayes' rule gives λ, σ and ξ with their errors, so that few peaks give high thresholds: the expected rate, as in S.
Coles & E. Powell, "Bayesian methods in extreme value modelling" (International Statistical Review 64(1), 1996).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import maximum_filter1d
from scipy.optimize import brentq

FloatArray = NDArray[np.float64]

FEWEST_PEAKS = 20
"""Peaks without which nothing is extrapolated: some seven of them are above the level."""
SHAPES = np.linspace(-0.5, 0.3, 41)
SHAPE_DEVIATION = 0.1
"""Deviation of ξ from 0 before the record: 0 is the tail of Gaussian noise and of friction's exponential decay; errors
of models are bounded (ξ < 0), mixtures of calm and rough motions have longer tails (ξ > 0)."""
SCALES = np.exp(np.linspace(-2.0, 2.0, 81))
"""Scales σ, relative to the mean excess: seven peaks tell it within a factor of e²."""
LARGEST_FACTOR = 1e4
"""Largest threshold in scales of the excesses."""


def peaks(values: FloatArray, reach: int) -> FloatArray:
    """Values that are the largest within `reach` samples on both sides; -inf does not count.

    >>> peaks(np.array([0.0, 2.0, 1.0, 1.5, 0.0, 0.0, 3.0]), 2)
    array([2., 3.])
    """
    there = (values == maximum_filter1d(values, 2 * reach + 1, mode="nearest")) & np.isfinite(values)
    first = there & ~np.append(False, there[:-1])
    return np.asarray(values[first])


@dataclass(frozen=True)
class ExceedanceRate:
    """Rate at which peaks pass thresholds, with its uncertainty.

    Attributes
    ----------
    level
        Level that peaks were counted from.
    count, duration
        Number of peaks above it, and time of the record.
    shapes, scales, probabilities
        Values of ξ and σ, and their probabilities after the record, shapes (g,).
    """

    level: float
    count: int
    duration: float
    shapes: FloatArray
    scales: FloatArray
    probabilities: FloatArray

    @classmethod
    def of(cls, maxima: FloatArray, duration: float, *, least: float = 0.0) -> Self:
        """Rate from the peaks of a record.

        Parameters
        ----------
        maxima
            Peaks, shape (p,), at least `FEWEST_PEAKS`.
        duration
            Time of the record.
        least
            Number of peaks that at least have to be above the level.

        Notes
        -----
        The level leaves p^(2/3) / log log p peaks, which makes bias and variance of tails small together (M. Loretan &
        P. Phillips, J. Empirical Finance 1(2), 1994).

        Examples
        --------
        An hour of exponential peaks, one a second, tells within a factor of two that a share e⁻⁶ of them passes 6.

        >>> rate = ExceedanceRate.of(np.random.default_rng(0).exponential(size=3600), 3600.0)
        >>> bool(0.5 < rate.rate(6.0) / np.exp(-6.0) < 2.0)
        True
        """
        ordered = np.sort(maxima)[::-1]
        p = len(ordered)
        count = min(int(max(p ** (2.0 / 3.0) / np.log(np.log(p)), least)), p - 1)
        level = float(ordered[count])
        excess = ordered[:count] - level
        mean = max(float(excess.mean()), 1e-300)
        shapes, scales = (grid.ravel() for grid in np.meshgrid(SHAPES, mean * SCALES))
        inside = 1.0 + shapes[:, None] * excess / scales[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            near_zero = np.abs(shapes) < 1e-9
            terms = np.where(
                near_zero,
                excess.sum() / scales,
                (1.0 + 1.0 / np.where(near_zero, 1.0, shapes)) * np.log(inside).sum(axis=1),
            )
        logarithm = -count * np.log(scales) - terms - 0.5 * (shapes / SHAPE_DEVIATION) ** 2
        logarithm = np.where((inside > 0.0).all(axis=1), logarithm, -np.inf)
        likelihood = np.exp(logarithm - logarithm.max())
        return cls(level, count, duration, shapes, scales, likelihood / likelihood.sum())

    def tails(self, threshold: float) -> FloatArray:
        """Share of the peaks above the level that pass a threshold, for each ξ and σ, shape (g,)."""
        y = max(threshold - self.level, 0.0) / self.scales
        near_zero = np.abs(self.shapes) < 1e-9
        shapes = np.where(near_zero, 1.0, self.shapes)
        return np.asarray(np.where(near_zero, np.exp(-y), np.maximum(1.0 + shapes * y, 0.0) ** (-1.0 / shapes)))

    def rate(self, threshold: float) -> float:
        """Expected number of peaks above a threshold in a unit of time."""
        return float(self.probabilities @ self.tails(threshold)) * (self.count + 0.5) / self.duration

    def threshold(self, rate: float) -> float:
        """Threshold that peaks are expected to pass at this rate, at least the level."""

        def excess(factor: float) -> float:
            return float(np.log(max(self.rate(self.level + factor * scale), 1e-300)) - np.log(rate))

        scale = float(self.probabilities @ self.scales)
        if excess(0.0) <= 0.0:
            return self.level
        return self.level + scale * float(brentq(excess, 0.0, LARGEST_FACTOR))

    def draws(self, threshold: float, count: int, seed: int) -> FloatArray:
        """Drawn rates at which peaks may pass a threshold, given the record, shape (count,)."""
        rng = np.random.default_rng(seed)
        tails = self.tails(threshold)[rng.choice(len(self.scales), count, p=self.probabilities)]
        return np.asarray(tails * rng.gamma(self.count + 0.5, 1.0 / self.duration, count))

    def interval(self, threshold: ArrayLike, share: float = 0.9) -> tuple[float, float]:
        """Interval that holds the rate above a threshold with this probability."""
        low, high = np.quantile(
            self.draws(float(np.asarray(threshold)), 4000, 0), [0.5 - 0.5 * share, 0.5 + 0.5 * share]
        )
        return float(low), float(high)
