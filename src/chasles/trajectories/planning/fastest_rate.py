"""The rate at which a path takes the least time, by an interior point method.

The duration T = ∫ dθ / √b is a convex function of the spline b = θ̇², and most limits are linear in it (`path_limits`).
Newton's method minimises T - μ Σ log r over the coefficients, for a barrier μ that falls to zero, with estimates z of
the multipliers μ / r. Second derivatives are banded, for each coefficient acts on a few places. All motions on the way
keep the limits, from the first, slow one on. Where rows and duration are convex, no motion of this kind is faster by
more than Σ r z ≈ rows · μ; with limits of jerks and rates, or friction, the optimum is a local one.

Sources: Boyd and Vandenberghe, Convex Optimization (2004), sections 11.3 and 11.7; Forsgren, Gill and Wright, Interior
methods for nonlinear optimization, SIAM Review 44 (2002).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from chasles.trajectories.motion import Floats
from chasles.trajectories.planning.path_limits import PathLimits
from chasles.trajectories.planning.rate_spline import Samples, samples

#: Share of the duration that may remain to be saved, and to which its gradient vanishes, which friction has by
#: differences.
_GAP, _STATIONARY = 1e-6, 1e-6
_BARRIER_FACTOR, _CENTRED = 0.1, 1.0
_MOST_ITERATIONS, _MOST_HALVINGS = 300, 40
#: Share of the way to a bound that a step may go, and of the decrease promised by the slope that it must bring.
_TO_BOUND, _DECREASE = 0.995, 1e-4
#: Shares of the diagonal of second derivatives that are added where rounding leaves no minimum.
_MORE_CURVATURE = (0.0, 1e-12, 1e-9, 1e-6)
#: Factor by which z may differ from μ / r.
_APART = 1e10
#: Squared rates θ̇², 1/s², beyond which a motion is not sought.
_LOWEST, _HIGHEST = 1e-30, 1e100
#: Lobatto's rule of order 6 on [0, 1].
_POINTS = 0.5 + 0.5 * np.array([-1.0, -np.sqrt(0.2), np.sqrt(0.2), 1.0])
_WEIGHTS = np.array([1.0, 5.0, 5.0, 1.0]) / 12.0


@dataclass(frozen=True)
class Duration:
    """Duration ∫ dθ / √b, by Lobatto's rule between nodes.

    It looks at the nodes too: at one where the rate vanished, rates of torques would have no limit.

    Attributes
    ----------
    at
        The spline at the points of the rule.
    weights
        Weights of these, (k,).
    """

    at: Samples
    weights: Floats

    @classmethod
    def over(cls, nodes: Floats, knots: Floats, degree: int) -> Duration:
        """Duration from the first node to the last."""
        lengths = np.diff(nodes)[:, None]
        return cls(samples(knots, degree, (nodes[:-1, None] + lengths * _POINTS).ravel()), (lengths * _WEIGHTS).ravel())

    def __call__(self, coefficients: Floats) -> float:
        """Duration, s; infinite where the spline is not positive."""
        b = self.at.of(coefficients)[0]
        return float(self.weights @ b**-0.5) if (b > 0.0).all() else np.inf

    def derivatives(self, coefficients: Floats) -> tuple[Floats, Floats]:
        """Gradient, and the bands of the second derivatives."""
        b = self.at.of(coefficients)[0]
        first, second = np.zeros((len(b), 3)), np.zeros((len(b), 3, 3))
        first[:, 0], second[:, 0, 0] = -0.5 * self.weights * b**-1.5, 0.75 * self.weights * b**-2.5
        return self.at.gradient(first), self.at.hessian(second)


class Fastest(NamedTuple):
    """Coefficients of the spline b, and the share of the duration that may remain to be saved."""

    coefficients: Floats
    gap: float


def slow_start(at: Samples, limits: PathLimits) -> Floats | None:
    """Return half of the largest constant rate that keeps the limits; None if none does."""
    ones, scale = np.ones(at.size), 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        while keeps(at, limits, scale * ones) and scale < _HIGHEST:
            scale *= 2.0
        while not keeps(at, limits, scale * ones):
            scale *= 0.5
            if scale < _LOWEST:
                return None
    return 0.5 * scale * ones


def keeps(at: Samples, limits: PathLimits, coefficients: Floats) -> bool:
    """Whether a spline keeps the limits."""
    return bool((limits.values(*at.of(coefficients)) > 0.0).all())


def fastest(duration: Duration, at: Samples, limits: PathLimits, start: Floats, barrier: float = 1.0) -> Fastest:
    """Return the spline of the shortest duration.

    Parameters
    ----------
    duration
        Duration as a function of the coefficients.
    at, limits
        Places, and the limits there.
    start
        Coefficients that keep the limits.
    barrier
        First barrier of all rows together, as a share of the duration: small, if the start is near to the optimum.
    """
    from scipy.linalg import cho_solve_banded

    c, gap = start, np.inf
    r = limits.values(*at.of(c))
    mu = barrier * duration(c) / r.size
    z, is_new = mu / r, True
    for _ in range(_MOST_ITERATIONS):
        T, (of_T, bands) = duration(c), duration.derivatives(c)
        slopes, curvature = limits.rows(*at.of(c))
        error = np.abs(of_T - at.gradient((z[:, None] @ slopes)[:, 0])).max() / np.abs(of_T).max()
        if error <= max(0.1 * r.size * mu / T, _STATIONARY) and np.abs(r * z - mu).max() <= _CENTRED * mu:
            gap = r.size * mu / T
            if gap <= _GAP:
                break
            mu = max(_BARRIER_FACTOR * mu, 0.5 * _GAP * T / r.size)
        gradient = of_T - at.gradient(((mu / r)[:, None] @ slopes)[:, 0])
        factor = _factor(at, bands, slopes, z / r, -z * curvature)
        if factor is None:
            break
        dc = -cho_solve_banded((factor, False), gradient)
        dr = (slopes @ np.stack(at.of(dc), axis=-1)[..., None])[..., 0]
        dz = mu / r - z - z / r * dr
        share = _searched(duration, at, limits, (c, dc), (r, dr), mu, float(gradient @ dc))
        if share == 0.0:
            if is_new:
                break
            z, is_new = mu / r, True
            continue
        c, is_new = c + share * dc, False
        r = limits.values(*at.of(c))
        z = np.clip(z + _share_to_bound(z, dz) * dz, mu / r / _APART, mu / r * _APART)
    return Fastest(c, gap)


def _factor(at: Samples, bands: Floats, slopes: Floats, D: Floats, bend: Floats) -> Floats | None:
    """Cholesky factor of the second derivatives; without the concave part of the rows where these are indefinite.

    What remains is convex; multipliers of very different sizes can leave it indefinite by rounding, which a share added
    to the diagonal outweighs.
    """
    from scipy.linalg import LinAlgError, cholesky_banded

    squared = np.swapaxes(slopes * D[..., None], 1, 2) @ slopes
    for rows_bend, more in ((bend, 0.0), *((np.maximum(bend, 0.0), more) for more in _MORE_CURVATURE)):
        with_bend = squared.copy()
        with_bend[:, 0, 0] += rows_bend.sum(axis=1)
        every = bands + at.hessian(with_bend)
        every[-1] *= 1.0 + more
        try:
            return np.asarray(cholesky_banded(every))
        except LinAlgError:
            continue
    return None


def _share_to_bound(values: Floats, changes: Floats) -> float:
    """Largest share of a change that leaves values positive, at most 1."""
    return float(min(1.0, _TO_BOUND / max(np.max(-changes / values), _TO_BOUND)))


def _searched(
    duration: Duration,
    at: Samples,
    limits: PathLimits,
    step: tuple[Floats, Floats],
    rows: tuple[Floats, Floats],
    mu: float,
    slope: float,
) -> float:
    """Share of a step that lowers the duration with its barrier and keeps the limits, 0 if there is none."""
    (c, dc), (r, dr) = step, rows
    before = duration(c) - mu * np.log(r).sum()
    share = _share_to_bound(r, dr)
    for _ in range(_MOST_HALVINGS):
        after = duration(c + share * dc)
        if np.isfinite(after):
            b, u, p = at.of(c + share * dc)
            r_after = limits.values(b, u, p) if (b > 0.0).all() else np.zeros_like(r)
            if (r_after > 0.5 * (1.0 - _TO_BOUND) * r).all():
                change = after - mu * np.log(r_after).sum() - before
                if change <= _DECREASE * share * slope + 1e-13 * abs(before):
                    return share
        share *= 0.5
    return 0.0
