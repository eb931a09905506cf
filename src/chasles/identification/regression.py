"""Weighted least squares for the torques of many joints, robust, with intervals for coloured residuals.

The weights of the joints are the inverse deviations of their residuals, found by iteration (IRLS; J. Swevers et al.,
"Optimal robot excitation and identification", IEEE Trans. Robotics and Automation 13(5), 1997); Huber's function bounds
the influence of outliers. A weak prior decides what the data leave open. The covariance is a sandwich: residuals of
each joint are an autoregressive process, and innovations of different joints are correlated, as Den Haan & Levin (A
practitioner's guide to robust covariance matrix estimation, 1997) estimate spectra by autoregressions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_toeplitz, solve_triangular
from scipy.signal import lfilter

FloatArray = NDArray[np.float64]

HUBER = 2.5
"""Residuals beyond this many deviations count less."""
OUTLIER = 4.0
"""Residuals beyond this many deviations are called outliers."""
LARGEST_ORDER = 10
"""Largest order of the autoregressions."""
STABLE = 0.999
"""Largest pole of the autoregressions."""
SIMULATIONS, CORRECTIONS = 40, 3
"""Simulated errors, and repetitions, that tell what part of the errors the fit takes."""
RELATIVE_FLOOR = 1e-9
"""Least residual deviation relative to the efforts."""


@dataclass(frozen=True)
class Fit:
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


def weighted_fit(A: FloatArray, y: FloatArray, used: NDArray[np.bool_], prior: Prior, deviations: FloatArray) -> Fit:
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
    return Fit(values, residuals, found, scale, information)


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


@dataclass(frozen=True)
class ErrorModel:
    """Coloured errors of the efforts: an autoregression of each joint, and the correlation of their innovations.

    Attributes
    ----------
    autoregressions
        Coefficients (1, a1, …) and deviation of the innovations, for each joint.
    root
        Cholesky factor of the correlation of the innovations, shape (n, n).
    """

    autoregressions: list[tuple[FloatArray, float]]
    root: FloatArray


def coloured_covariance(
    A: FloatArray, fit: Fit, prior: Prior, segments: tuple[slice, ...], errors: ErrorModel | None = None
) -> FloatArray:
    """Covariance of the coefficients, shape (p, p).

    With the information N = AᵀW²A + P, it is N⁻¹ (AᵀW² Ω W²A + P) N⁻¹, where Ω is the covariance of the errors.
    """
    k, n, p = A.shape
    model = error_model(A, fit, segments) if errors is None else errors
    N = _factor(fit)
    weighted = A * (fit.weights**2)[..., None]
    shaped = np.zeros((k, n, p))
    for joint, (coefficients, deviation) in enumerate(model.autoregressions):
        for part in segments:
            shaped[part, joint] = lfilter([deviation], coefficients, weighted[part, joint][::-1], axis=0)
    mixed = np.einsum("ij,kip->kjp", model.root, shaped).reshape(-1, p)
    middle = mixed.T @ mixed + np.diag(prior.deviation**-2.0)
    covariance = cho_solve(N, cho_solve(N, middle).T)
    return np.asarray(0.5 * (covariance + covariance.T))


def least_covariance(A: FloatArray, fit: Fit, segments: tuple[slice, ...], errors: ErrorModel) -> FloatArray:
    """Cramér-Rao bound (Aᵀ Ω⁻¹ A)⁻¹: the least covariance of an unbiased estimate from errors of this model, (p, p)."""
    k, n, p = A.shape
    used = fit.weights > 0.0
    whitened = np.zeros((k, n, p))
    for joint, (coefficients, deviation) in enumerate(errors.autoregressions):
        for part in segments:
            own = np.where(used[part, joint, None], A[part, joint], 0.0)
            whitened[part, joint] = lfilter(coefficients, [max(deviation, 1e-300)], own, axis=0)
    rows = np.linalg.solve(errors.root, whitened).reshape(-1, p)
    sizes = np.linalg.norm(rows, axis=0)
    rows = rows / np.where(sizes > 0.0, sizes, 1.0)
    inverse = np.linalg.pinv(rows.T @ rows, hermitian=True)
    return np.asarray(inverse / np.outer(sizes, sizes))


def error_model(A: FloatArray, fit: Fit, segments: tuple[slice, ...]) -> ErrorModel:
    """Error model of a fit's residuals.

    The fit takes a part of the errors away, most of it at the frequencies of the motion. What it takes is found by
    simulation and given back to the autocovariances of the residuals.
    """
    k, n, p = A.shape
    used = fit.weights > 0.0
    N = _factor(fit)
    gain = cho_solve(N, (A * (fit.weights**2)[..., None]).reshape(-1, p).T)
    residuals = np.where(used, fit.residuals, 0.0)
    orders = max(0, min(LARGEST_ORDER, int(used.sum(axis=0).max(initial=0)) // 12))
    observed = _autocovariances(residuals[None], used, segments, orders)
    lost = np.zeros_like(observed)
    white = np.random.default_rng(0).normal(size=(SIMULATIONS, k, n))
    for last in (*(False,) * CORRECTIONS, True):
        models = [autoregression(c, int(rows.sum())) for c, rows in zip((observed + lost).T, used.T, strict=True)]
        root = _innovation_root(residuals, used, models, segments)
        if last:
            break
        errors = np.empty_like(white)
        for joint, (coefficients, deviation) in enumerate(models):
            for part in segments:
                start = white[:, part] @ root.T[:, joint]
                padded = np.concatenate([start[:, ::-1], start], axis=1)  # settles before
                settled = lfilter([deviation], coefficients, padded, axis=1)
                errors[:, part, joint] = settled[:, -(part.stop - part.start) :]
        errors = np.where(used, errors, 0.0)
        taken = ((errors.reshape(SIMULATIONS, -1) @ gain.T) @ A.reshape(-1, p).T).reshape(errors.shape)
        left = np.where(used, errors - taken, 0.0)
        lost = _autocovariances(errors, used, segments, orders) - _autocovariances(left, used, segments, orders)
    return ErrorModel(models, root)


def _factor(fit: Fit) -> tuple[FloatArray, bool]:
    factor: tuple[FloatArray, bool] = cho_factor(fit.information + 1e-14 * np.diag(np.diag(fit.information)))
    return factor


def _innovation_root(
    residuals: FloatArray, used: NDArray[np.bool_], models: list[tuple[FloatArray, float]], segments: tuple[slice, ...]
) -> FloatArray:
    """Cholesky factor of the correlation of the joints' innovations, shape (n, n)."""
    n = len(models)
    innovations = np.zeros_like(residuals)
    for joint, (coefficients, deviation) in enumerate(models):
        for part in segments:
            innovations[part, joint] = lfilter(coefficients, [max(deviation, 1e-300)], residuals[part, joint])
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
    """Mean autocovariances of simulations (s, k, n) at lags 0 to `orders`, shape (orders + 1, n); biased."""
    found = np.zeros((orders + 1, values.shape[2]))
    for part in segments:
        own = values[:, part]
        for lag in range(min(orders + 1, own.shape[1])):
            found[lag] += np.einsum("skn,skn->n", own[:, lag:], own[:, : own.shape[1] - lag])
    return np.asarray(found / (len(values) * np.maximum(used.sum(axis=0), 1)))


def autoregression(c: FloatArray, count: int) -> tuple[FloatArray, float]:
    """Autoregression that has these autocovariances, of the order that describes `count` samples best (BIC).

    Parameters
    ----------
    c
        Autocovariances at lags 0, 1, …, shape (orders + 1,).
    count
        Number of samples that they come from.

    Returns
    -------
    coefficients, deviation
        (1, a1, …), and the standard deviation of the innovations.

    Examples
    --------
    >>> coefficients, deviation = autoregression(0.8 ** np.arange(5) / (1.0 - 0.8**2), 1000)
    >>> coefficients.round(3), round(deviation, 3)
    (array([ 1. , -0.8]), 1.0)
    """
    if not c[0] > 0.0:
        return np.ones(1), 0.0
    best, chosen, power = np.inf, np.ones(1), float(c[0])
    for order in range(len(c)):
        a = (
            solve_toeplitz(c[:order] * (1.0 + 1e-9 * (np.arange(order) == 0)), -c[1 : order + 1])
            if order
            else np.zeros(0)
        )
        variance = float(c[0] + a @ c[1 : order + 1])
        if not 0.0 < variance <= power * (1.0 + 1e-9) or (order and np.abs(np.roots([1.0, *a])).max() >= STABLE):
            break
        criterion = count * np.log(variance) + np.log(max(count, 2)) * order
        if criterion < best:
            best, chosen, smallest = criterion, np.concatenate([[1.0], a]), variance
    return chosen, float(np.sqrt(smallest))
