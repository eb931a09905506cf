"""Weighted least squares for the torques of many joints, robust, with intervals for coloured residuals.

The weights of the joints are the inverse deviations of their residuals, found by iteration (IRLS; J. Swevers et al.,
"Optimal robot excitation and identification", IEEE Trans. Robotics and Automation 13(5), 1997); Huber's function bounds
the influence of outliers. A weak prior decides what the data leave open. The covariance is a sandwich: residuals of
each joint are an autoregressive process, and innovations of different joints are correlated, as Den Haan & Levin (A
practitioner's guide to robust covariance matrix estimation, 1997) estimate spectra by autoregressions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.fft import next_fast_len
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.signal import lfilter

from chasles.model.placement import FloatArray

HUBER = 2.5
"""Residuals beyond this many deviations count less."""
OUTLIER = 4.0
"""Residuals beyond this many deviations are called outliers."""
LARGEST_ORDER = 10
"""Largest order of the autoregressions."""
STABLE = 0.999
"""Largest reflection coefficient of the autoregressions."""
SIMULATIONS, CORRECTIONS = 40, 3
"""Simulated errors, and repetitions, that tell what part of the errors the fit takes."""
MOST_FREEDOM = 1e4
"""Largest number of degrees of freedom: beyond it Student's distribution is normal."""
RELATIVE_FLOOR = 1e-9
"""Least residual deviation relative to the efforts."""


@dataclass(frozen=True)
class WeightedFit:
    """Result of a weighted fit.

    Attributes
    ----------
    values
        Coefficients, shape (p,).
    residuals
        Efforts minus fitted efforts, shape (k, n).
    deviations
        Robust standard deviation of each joint's residuals, shape (n,).
    weights
        Weight of each row, shape (k, n); 0 where it was not used.
    information
        Matrix of the normal equations, prior included, shape (p, p).
    """

    values: FloatArray
    residuals: FloatArray
    deviations: FloatArray
    weights: FloatArray
    information: FloatArray


@dataclass(frozen=True)
class Prior:
    """Independent normal distributions of the coefficients: means and deviations, shapes (p,)."""

    mean: FloatArray
    deviation: FloatArray


def weighted_fit(
    A: FloatArray, y: FloatArray, used: NDArray[np.bool_], prior: Prior, deviations: FloatArray
) -> WeightedFit:
    """Solve once with given deviations of the joints, then update deviations and weights of outliers.

    Parameters
    ----------
    A, y
        Regressors (k, n, p) and efforts (k, n).
    used
        Rows that count, shape (k, n).
    prior
        Prior of the coefficients.
    deviations
        Deviation of each joint's residuals as known so far, shape (n,).

    Examples
    --------
    >>> A = np.array([[[1.0]], [[2.0]], [[3.0]]])
    >>> prior = Prior(np.zeros(1), np.array([1e6]))
    >>> fit = weighted_fit(A, np.array([[2.0], [4.0], [6.0]]), np.ones((3, 1), bool), prior, np.ones(1))
    >>> fit.values.round(6)
    array([2.])
    """
    weights = used.astype(np.float64)
    values = prior.mean
    for _ in range(3):
        scale = weights / deviations
        rows = (A * scale[..., None]).reshape(-1, A.shape[2])
        keep = scale.ravel() > 0.0
        sizes = np.sqrt((rows[keep] ** 2).sum(axis=0) + prior.deviation**-2.0)
        stacked = np.vstack([rows[keep], np.diag(1.0 / prior.deviation)]) / sizes
        right = np.concatenate([(y * scale).ravel()[keep], prior.mean / prior.deviation])
        Q, R = np.linalg.qr(stacked)
        values = solve_triangular(R, Q.T @ right) / sizes
        residuals = y - A @ values
        found = robust_deviations(residuals, used, y)
        ratio = np.abs(residuals) / found
        update = np.where(used, np.minimum(1.0, HUBER / np.maximum(ratio, 1e-12)) ** 0.5, 0.0)
        done = np.abs(update - weights).max(initial=0.0) < 1e-3
        weights = update
        if done:
            break
    information = (R * sizes).T @ (R * sizes)
    return WeightedFit(values, residuals, found, scale, information)


def robust_deviations(residuals: FloatArray, used: NDArray[np.bool_], y: FloatArray) -> FloatArray:
    """Standard deviation of each joint's residuals with Huber's bound, shape (n,)."""
    found = np.ones(residuals.shape[1])
    for joint in range(residuals.shape[1]):
        own = residuals[used[:, joint], joint]
        if own.size == 0:
            continue
        middle = 1.4826 * float(np.median(np.abs(own)))
        bound = HUBER * max(middle, 1e-300)
        size = float(np.sqrt(np.mean(np.minimum(np.abs(own), bound) ** 2))) if middle > 0.0 else float(np.std(own))
        found[joint] = max(size, RELATIVE_FLOOR * float(np.abs(y[:, joint]).max(initial=0.0)), 1e-12)
    return found


class Autoregressions(NamedTuple):
    """Autoregressive processes: coefficients (..., orders + 1), the first 1, and deviations of innovations (...)."""

    coefficients: FloatArray
    deviations: FloatArray


@dataclass(frozen=True)
class ErrorModel:
    """Coloured errors of the efforts: an autoregression of each joint, and the correlation of their innovations.

    Attributes
    ----------
    joints
        Autoregressions of the joints, shape (n,).
    root
        Cholesky factor of the correlation of the innovations, shape (n, n).
    replicas, typical
        Autoregressions of the residuals of simulated logs with such errors, shape (simulations, n), and of their mean
        autocovariances, shape (n,).
    """

    joints: Autoregressions
    root: FloatArray
    replicas: Autoregressions
    typical: Autoregressions


def coloured_covariance(
    A: FloatArray, fit: WeightedFit, prior: Prior, segments: tuple[slice, ...], errors: ErrorModel | None = None
) -> FloatArray:
    """Covariance of the coefficients, shape (p, p).

    With the information N = AᵀW²A + P, it is N⁻¹ (AᵀW² Ω W²A + P) N⁻¹, where Ω is the covariance of the errors.
    """
    k, n, p = A.shape
    model = error_model(A, fit, segments) if errors is None else errors
    N = _factor(fit)
    weighted = A * (fit.weights**2)[..., None]
    shaped = np.zeros((k, n, p))
    for joint, (coefficients, deviation) in enumerate(zip(*model.joints, strict=True)):
        for part in segments:
            shaped[part, joint] = lfilter([deviation], coefficients, weighted[part, joint][::-1], axis=0)
    mixed = np.einsum("ij,kip->kjp", model.root, shaped).reshape(-1, p)
    middle = mixed.T @ mixed + np.diag(prior.deviation**-2.0)
    covariance = cho_solve(N, cho_solve(N, middle).T)
    return np.asarray(0.5 * (covariance + covariance.T))


def least_covariance(A: FloatArray, fit: WeightedFit, segments: tuple[slice, ...], errors: ErrorModel) -> FloatArray:
    """Cramér-Rao bound (Aᵀ Ω⁻¹ A)⁻¹: the least covariance of an unbiased estimate from errors of this model, (p, p)."""
    k, n, p = A.shape
    used = fit.weights > 0.0
    whitened = np.zeros((k, n, p))
    for joint, (coefficients, deviation) in enumerate(zip(*errors.joints, strict=True)):
        for part in segments:
            own = np.where(used[part, joint, None], A[part, joint], 0.0)
            whitened[part, joint] = lfilter(coefficients, [max(deviation, 1e-300)], own, axis=0)
    rows = np.linalg.solve(errors.root, whitened).reshape(-1, p)
    sizes = np.linalg.norm(rows, axis=0)
    scale = np.where(sizes > 0.0, sizes, 1.0)
    inverse = np.linalg.pinv((rows / scale).T @ (rows / scale), hermitian=True)
    return np.asarray(inverse / np.outer(scale, scale) + np.diag(np.where(sizes > 0.0, 0.0, np.inf)))


def error_model(A: FloatArray, fit: WeightedFit, segments: tuple[slice, ...]) -> ErrorModel:
    """Error model of a fit's residuals.

    The fit takes a part of the errors away, most of it at the frequencies of the motion. What it takes is found by
    simulation and given back to the autocovariances of the residuals.
    """
    k, n, p = A.shape
    used = fit.weights > 0.0
    count = used.sum(axis=0)
    gain = _gain(A, fit)
    residuals = np.where(used, fit.residuals, 0.0)
    orders = max(0, min(LARGEST_ORDER, int(count.max(initial=0)) // 12))
    observed = _autocovariances(residuals[None], used, segments, orders)[0]
    joints = autoregressions(observed, count)
    white = np.random.default_rng(0).normal(size=(SIMULATIONS, k, n))
    for _ in range(CORRECTIONS):
        root = _innovation_root(residuals, used, joints, segments)
        errors = np.where(used, _coloured(white @ root.T, joints, segments), 0.0)
        taken = ((errors.reshape(SIMULATIONS, -1) @ gain.T) @ A.reshape(-1, p).T).reshape(errors.shape)
        left = _autocovariances(np.where(used, errors - taken, 0.0), used, segments, orders)
        lost = (_autocovariances(errors, used, segments, orders) - left).mean(axis=0)
        joints = autoregressions(observed + lost, count)
    root = _innovation_root(residuals, used, joints, segments)
    return ErrorModel(joints, root, autoregressions(left, count), autoregressions(left.mean(axis=0), count))


def degrees_of_freedom(
    A: FloatArray, fit: WeightedFit, segments: tuple[slice, ...], errors: ErrorModel, rows: FloatArray | None = None
) -> FloatArray:
    """Effective degrees of freedom of the variance of each coefficient, or of each linear combination of them (rows).

    The estimated variance of a coefficient scatters from log to log like a χ² variable with these degrees of freedom
    (F. Satterthwaite, "An approximate distribution of estimates of variance components", Biometrics Bulletin 2(6),
    1946). A coefficient's error, divided by its standard error, is therefore Student's. The variance weighs the spectra
    of the errors with the coefficient's own; how these spectra scatter is known from the replicas of the error model.
    """
    k, n, _ = A.shape
    gain = _gain(A, fit) if rows is None else rows @ _gain(A, fit)
    gain = gain.reshape(-1, k, n)
    length = next_fast_len(2 * max(part.stop - part.start for part in segments), real=True)
    power = sum(np.abs(np.fft.rfft(gain[:, part], length, axis=1)) ** 2 for part in segments)
    joints, replicas, typical = (_spectrum(each, length) for each in (errors.joints, errors.replicas, errors.typical))
    with np.errstate(invalid="ignore", divide="ignore"):
        relative = np.where(typical > 0.0, replicas / typical, 1.0)
    variances = np.einsum("pfn,nf,snf->sp", power, joints, relative, optimize=True)
    mean, spread = variances.mean(axis=0), variances.var(axis=0, ddof=1)
    return np.asarray(2.0 * mean**2 / np.maximum(spread, 2.0 / MOST_FREEDOM * mean**2 + 1e-300))


def _spectrum(processes: Autoregressions, length: int) -> FloatArray:
    """Power spectra at the frequencies of a real Fourier transform of this length, shape (..., frequencies)."""
    response = np.abs(np.fft.rfft(processes.coefficients, length))
    return np.asarray((processes.deviations[..., None] / response) ** 2)


def _gain(A: FloatArray, fit: WeightedFit) -> FloatArray:
    """Derivatives of the coefficients with respect to the efforts, shape (p, k n)."""
    weighted = A * (fit.weights**2)[..., None]
    return np.asarray(cho_solve(_factor(fit), weighted.reshape(-1, A.shape[2]).T))


def _coloured(white: FloatArray, joints: Autoregressions, segments: tuple[slice, ...]) -> FloatArray:
    """Processes of the joints from white innovations, shape (simulations, k, n)."""
    found = np.empty_like(white)
    for joint, (coefficients, deviation) in enumerate(zip(*joints, strict=True)):
        for part in segments:
            start = white[:, part, joint]
            settled = lfilter([deviation], coefficients, np.concatenate([start[:, ::-1], start], axis=1), axis=1)
            found[:, part, joint] = settled[:, start.shape[1] :]
    return found


def _factor(fit: WeightedFit) -> tuple[FloatArray, bool]:
    factor: tuple[FloatArray, bool] = cho_factor(fit.information + 1e-14 * np.diag(np.diag(fit.information)))
    return factor


def _innovation_root(
    residuals: FloatArray, used: NDArray[np.bool_], joints: Autoregressions, segments: tuple[slice, ...]
) -> FloatArray:
    """Cholesky factor of the correlation of the joints' innovations, shape (n, n)."""
    n = residuals.shape[1]
    innovations = np.zeros_like(residuals)
    for joint, coefficients in enumerate(joints.coefficients):
        for part in segments:
            innovations[part, joint] = lfilter(coefficients, [1.0], residuals[part, joint])
    innovations = np.where(used, innovations, 0.0)
    products = innovations.T @ innovations / np.maximum(used.T.astype(np.float64) @ used, 1.0)
    sizes = np.sqrt(np.maximum(np.diag(products), 1e-300))
    correlation = products / np.outer(sizes, sizes)
    np.fill_diagonal(correlation, 1.0)
    lowest = min(0.0, float(np.linalg.eigvalsh(correlation)[0]))  # below 0 for joints that move at different times
    correlation = (correlation - lowest * np.eye(n)) / (1.0 - lowest)
    return np.linalg.cholesky(correlation + 1e-12 * np.eye(n))


def _autocovariances(
    values: FloatArray, used: NDArray[np.bool_], segments: tuple[slice, ...], orders: int
) -> FloatArray:
    """Autocovariances of series (s, k, n) at lags 0 to `orders`, shape (s, orders + 1, n); biased."""
    found = np.zeros((len(values), orders + 1, values.shape[2]))
    for part in segments:
        own = values[:, part]
        for lag in range(min(orders + 1, own.shape[1])):
            found[:, lag] += np.einsum("skn,skn->sn", own[:, lag:], own[:, : own.shape[1] - lag])
    return np.asarray(found / np.maximum(used.sum(axis=0), 1))


def autoregressions(c: FloatArray, count: NDArray[np.intp] | int) -> Autoregressions:
    """Autoregressions that have these autocovariances, each of the order that describes its samples best (BIC).

    Parameters
    ----------
    c
        Autocovariances at lags 0, 1, …, shape (..., orders + 1, n).
    count
        Number of samples that they come from, shape (n,).

    Returns
    -------
    Autoregressions
        Shape (..., n); coefficients beyond the chosen order are 0.

    Examples
    --------
    >>> found = autoregressions(0.8 ** np.arange(5)[:, None] / (1.0 - 0.8**2), 1000)
    >>> found.coefficients.round(3) + 0.0, found.deviations.round(3)
    (array([[ 1. , -0.8,  0. ,  0. ,  0. ]]), array([1.]))
    """
    c = np.moveaxis(c, -2, -1)
    a = np.zeros_like(c)
    a[..., 0] = 1.0
    variance = c[..., 0]
    stable = variance > 0.0
    chosen, smallest = a, np.where(stable, variance, 0.0)
    penalty = np.log(np.maximum(count, 2)) / np.maximum(count, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        best = np.log(variance)
        for order in range(1, c.shape[-1]):  # Levinson and Durbin's recursion
            reflection = -np.sum(a[..., :order] * c[..., order:0:-1], axis=-1) / variance
            stable = stable & (np.abs(reflection) < STABLE)
            a = a.copy()
            a[..., 1 : order + 1] += reflection[..., None] * a[..., order - 1 :: -1][..., :order]
            variance = variance * (1.0 - reflection**2)
            criterion = np.log(variance) + order * penalty
            better = stable & (criterion < best)
            best = np.where(better, criterion, best)
            chosen = np.where(better[..., None], a, chosen)
            smallest = np.where(better, variance, smallest)
    return Autoregressions(chosen, np.sqrt(smallest))
