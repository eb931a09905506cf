"""Smooth motions from recorded samples, with velocities and accelerations that can be trusted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import ArgumentError
from chasles.engine.validators import reals
from chasles.trajectories.joint.continuity import require_continuity
from chasles.trajectories.joint.piecewise import PiecewisePolynomial
from chasles.trajectories.joint.spline_pieces import polynomials_of
from chasles.trajectories.joint.waypoints import checked_times, checked_waypoints
from chasles.trajectories.motion import Floats

_DEGREE = 5
_SMOOTHED = 3  # the derivative that is kept small: the jerk
#: Pieces in the first try; they double while a joint makes use of more than half of them.
_FEWEST_PIECES, _MOST_PIECES = 50, 800
_TRIALS, _HALVINGS = 200, 60
_SINGULAR = 1e-6
#: Share of the samples' size by which the motion may lie elsewhere than the least squares say.
_TRUSTED = 1e-7
_REMEDY = "leave out samples where their times are densest, or ask for fewer pieces"


class SmoothingSpline(PiecewisePolynomial):
    """Smooth motion near recorded samples, with noise removed.

    A quintic spline with continuous derivatives up to the fourth. For each joint it minimises

        mean of w (q(t_k) - q_k)² + λ ∫ jerk² dt

    with a separate λ. It is chosen so that the RMS distance from the samples equals the tolerance or, without one, by
    generalised cross-validation: each sample is predicted best from the others.

    Parameters
    ----------
    times
        Times of the samples, increasing, shape (k,), k at least 6, s.
    samples
        Recorded positions, shape (..., k, n), rad or m.
    tolerance
        RMS distance from the samples, such as the standard deviation of the encoder noise, for all joints or each,
        shape () or (..., n), in the unit of the joint, positive. If it exceeds that of the best parabola, the result is
        this parabola.
    weights
        Weights w of the samples, positive, shape (k,); default equal.
    pieces
        Number of polynomials, from 1 to k - 5. By default it depends on the motion: at most 800, and one for two
        samples, or three for four if the tolerance requires it. The cost grows with its cube.

    Attributes
    ----------
    deviation
        RMS distance from the samples, shape (..., n).

    Raises
    ------
    ArgumentError
        If times do not increase, there are fewer than 6 samples, shapes do not fit, a number is not finite, a tolerance
        or weight is not positive, or a tolerance is too small for the number of pieces.

    See Also
    --------
    QuinticSpline, CubicSpline : exactly through the samples. HermiteSpline : through samples with recorded velocities.

    Notes
    -----
    Craven and Wahba, Smoothing noisy data with spline functions (1979). The joints share the basis of Demmler and
    Reinsch, in which both terms of the sum above are diagonal.

    Examples
    --------
    >>> t = np.linspace(0.0, 2.0, 401)
    >>> noise = 1e-3 * np.random.default_rng(0).standard_normal((401, 1))
    >>> motion = SmoothingSpline(t, np.sin(3.0 * t)[:, None] + noise)
    >>> abs(motion(1.0).qdd - -9.0 * np.sin(3.0)) < 0.1, motion.deviation.round(4)
    (array([ True]), array([0.001]))
    """

    def __init__(
        self,
        times: ArrayLike,
        samples: ArrayLike,
        *,
        tolerance: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        pieces: int | None = None,
    ) -> None:
        t = checked_times(times, least=_DEGREE + 1, what="sample")
        q = checked_waypoints(samples, t, what="sample")
        w = _checked_weights(weights, len(t))
        each_joint = (*q.shape[:-2], q.shape[-1])
        wanted = None if tolerance is None else reals(tolerance, "tolerance", each_joint, broadcast=True, above=0)
        columns = np.moveaxis(q, -2, 0).reshape(len(t), -1)
        for fit in _fits(t, columns, w, pieces, exact=wanted is not None):
            strengths = fit.by_cross_validation() if wanted is None else fit.by_deviation(wanted.ravel())
            if not np.isnan(strengths).any() and fit.suffices(strengths, noisy=wanted is None):
                break
        if np.isnan(strengths).any():
            nearest = fit.deviation(np.zeros(strengths.shape)).reshape(each_joint)
            *_, joint = index = tuple(int(i) for i in np.argwhere(np.isnan(strengths.reshape(each_joint)))[0])
            raise ArgumentError(
                f"the tolerance of joint {joint} is too small: {fit.pieces} pieces miss its samples by "
                f"{nearest[index]:.3g}; more pieces come nearer, and a QuinticSpline goes through all samples"
            )
        from scipy.interpolate import BSpline

        points = fit.control_points(strengths)
        values = points.reshape(len(points), *each_joint)
        super().__init__(*polynomials_of(BSpline(fit.basis_knots, values, _DEGREE)))
        self.deviation = fit.deviation(strengths).reshape(each_joint)
        size = np.abs(q).max(axis=-2, keepdims=True)
        require_continuity(self, _DEGREE - 1, size=size, remedy=_REMEDY)
        self._require_deviation(t, q, w, size)

    def _require_deviation(self, t: Floats, q: Floats, w: Floats, size: Floats) -> None:
        """Raise an error if the polynomials do not lie as near to the samples as the least squares promise."""
        missed = np.moveaxis(self.derivatives(t.reshape(-1, *(1,) * len(self.batch)))[0], 0, -2) - q
        deviation = np.sqrt((w[:, None] * missed**2).mean(axis=-2))
        astray = ~(np.abs(deviation - self.deviation) <= _TRUSTED * (self.deviation + size[..., 0, :]))
        if astray.any():
            *_, joint = index = tuple(int(i) for i in np.argwhere(astray)[0])
            raise ArgumentError(
                f"the motion misses the samples of joint {joint} by {deviation[index]:.3g} in place of "
                f"{self.deviation[index]:.3g}, because double precision loses them; {_REMEDY}"
            )

    def __repr__(self) -> str:
        batch = f", batch {self.batch}" if self.batch else ""
        return (
            f"<SmoothingSpline of {self.n} joints, {len(self.knots) - 1} pieces, from {self.knots[0]:g} to "
            f"{self.knots[-1]:g} s{batch}>"
        )


class _Fit:
    """Least squares in the basis in which the sums of squares of deviation and jerk are both diagonal.

    A smoothing of strength λ keeps these parts of each column's least-squares coordinates: ``1 / (1 + λ γ_i)``; the
    penalties γ_i of the parabolas are 0. The columns are the joints of all trajectories of a batch.
    """

    def __init__(self, t: Floats, columns: Floats, w: Floats, pieces: int) -> None:
        from scipy import linalg
        from scipy.interpolate import BSpline

        ends = np.interp(np.linspace(0.0, len(t) - 1.0, pieces + 1), np.arange(len(t)), t)
        self.basis_knots = np.concatenate([np.full(_DEGREE, t[0]), ends, np.full(_DEGREE, t[-1])])
        basis = BSpline.design_matrix(t, self.basis_knots, _DEGREE)
        weighted = basis.multiply(w[:, None] / len(t)).T.tocsr()
        root = _cholesky((weighted @ basis).toarray())
        if root is None:
            raise ArgumentError(
                f"{pieces} pieces are too many for samples and weights as uneven as these; choose fewer pieces, or a "
                "larger tolerance"
            )
        jerk = _root_of_jerk_integral(self.basis_knots, ends) * (t[-1] - t[0]) ** (_SMOOTHED - 0.5)
        _, singular, right = linalg.svd(linalg.solve_triangular(root, jerk.T, trans="T").T, full_matrices=False)
        self.penalties = singular**2
        self.penalties[-_SMOOTHED:] = 0.0
        self.vectors = linalg.solve_triangular(root, right.T)
        self.coordinates = self.vectors.T @ (weighted @ columns)
        self._samples, self._weights, self._basis = columns, w, basis
        self.pieces = pieces
        self.least = w @ self._missed(np.zeros(columns.shape[1])) ** 2 / len(t)

    def by_cross_validation(self) -> Floats:
        """Strength for each column that predicts samples best from the others."""
        trials = np.geomspace(0.1 / self.penalties[0], 100.0 / self.penalties[-_SMOOTHED - 1], _TRIALS)
        kept = self.kept(trials)
        squares = self.least + ((1.0 - kept) ** 2).T @ self.coordinates**2
        scores = squares / (1.0 - kept.sum(axis=0) / len(self._samples))[:, None] ** 2
        return np.asarray(trials[np.argmin(scores, axis=0)])

    def by_deviation(self, tolerance: Floats) -> Floats:
        """Strength for each column that misses its samples by a tolerance; NaN where that is too small."""
        low = np.full(tolerance.shape, np.log(1e-30 / self.penalties[0]))
        high = np.full(tolerance.shape, np.log(1e30 / self.penalties[-_SMOOTHED - 1]))
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            near = self.deviation(np.exp(middle)) <= tolerance
            low, high = np.where(near, middle, low), np.where(near, high, middle)
        return np.where(self.deviation(np.zeros(tolerance.shape)) <= tolerance, np.exp(low), np.nan)

    def suffices(self, strengths: Floats, *, noisy: bool) -> bool:
        """Whether more pieces would not do better: most of them are smoothed away, and what is missed is noise.

        Noise jumps from sample to sample (von Neumann's ratio is 2), a motion too fast for the pieces does not.
        """
        if self.kept(strengths).sum(axis=0).max(initial=0.0) >= 0.5 * self.pieces:
            return False
        missed = np.sqrt(self._weights)[:, None] * self._missed(strengths)
        return not noisy or bool(((np.diff(missed, axis=0) ** 2).sum(axis=0) >= (missed**2).sum(axis=0)).all())

    def kept(self, strengths: Floats) -> Floats:
        """Part of each coordinate that a smoothing of each of the strengths keeps, (coordinates, strengths)."""
        return np.asarray(1.0 / (1.0 + strengths * self.penalties[:, None]))

    def deviation(self, strengths: Floats) -> Floats:
        """Root mean square of each column's distances from its samples."""
        return np.asarray(np.sqrt(self.least + (((1.0 - self.kept(strengths)) * self.coordinates) ** 2).sum(axis=0)))

    def control_points(self, strengths: Floats) -> Floats:
        """Control points of each column."""
        return np.asarray(self.vectors @ (self.kept(strengths) * self.coordinates))

    def _missed(self, strengths: Floats) -> Floats:
        """Distances from the samples."""
        return np.asarray(self._samples - self._basis @ self.control_points(strengths))


def _cholesky(matrix: Floats) -> Floats | None:
    """Upper triangular root of a matrix, unless it is singular or nearly so."""
    from scipy import linalg

    try:
        root: Floats = linalg.cholesky(matrix)
    except linalg.LinAlgError:
        return None
    diagonal = root.diagonal()
    return root if diagonal.min() > _SINGULAR * diagonal.max() else None


def _root_of_jerk_integral(basis_knots: Floats, ends: Floats) -> Floats:
    """Matrix D with |D c|² the integral of the squared jerk of the B-spline with control points c, by Gauss's rule.

    Rows of zeros make it at least as high as wide.
    """
    from scipy.interpolate import BSpline

    nodes, weights = np.polynomial.legendre.leggauss(_DEGREE - _SMOOTHED + 1)
    half = 0.5 * np.diff(ends)[:, None]
    at = (ends[:-1, None] + half * (nodes + 1.0)).ravel()
    basis = BSpline(basis_knots, np.eye(len(basis_knots) - _DEGREE - 1), _DEGREE)
    rows = np.asarray(np.sqrt(half * weights).reshape(-1, 1) * basis(at, nu=_SMOOTHED))
    return np.concatenate([rows, np.zeros((_SMOOTHED, rows.shape[1]))])


def _fits(t: Floats, columns: Floats, w: Floats, pieces: Any, *, exact: bool) -> Iterator[_Fit]:
    """Fits with the given number of pieces, or with more and more of them as far as samples and weights allow."""
    samples = len(t)
    if pieces is not None:
        if isinstance(pieces, bool) or not isinstance(pieces, int | np.integer) or not 1 <= pieces <= samples - _DEGREE:
            raise ArgumentError(
                f"pieces must be a whole number from 1 to {samples - _DEGREE} for {samples} samples, not {pieces!r}"
            )
        yield _Fit(t, columns, w, int(pieces))
        return
    most = min(samples - _DEGREE, max(10, 3 * samples // 4 - _DEGREE), _MOST_PIECES)
    usual = max(1, min(samples // 2, most))
    counts = [count for count in (_FEWEST_PIECES * 2**i for i in range(5)) if count < usual]
    counts += [usual, most] if exact and most > usual else [usual]
    fitted = False
    while counts:
        count = counts.pop(0)
        try:
            fit = _Fit(t, columns, w, count)
        except ArgumentError:
            if count == 1:
                raise
            counts = [] if fitted else [count // 2]
        else:
            fitted = True
            yield fit


def _checked_weights(weights: ArrayLike | None, samples: int) -> Floats:
    """Return weights whose mean is 1."""
    if weights is None:
        return np.ones(samples)
    w = reals(weights, "weights", (samples,), above=0)
    return np.asarray(w / w.mean())
