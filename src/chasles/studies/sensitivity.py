"""Sobol indices of a study's unknowns: shares of the variance that each explains, alone and with others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from chasles.studies.statistics import LEVEL, Interval, standard_ranks

Floats = NDArray[np.float64]

#: Name of the pair of sample rate and delay among the factors.
CELL = "rate and delay"
_RUNS_PER_TERM = 4  # below which a polynomial would follow chance


@dataclass(frozen=True)
class Sensitivity:
    """Shares of the variance of a result that a factor explains, with 95 % intervals.

    Attributes
    ----------
    first
        First-order index: alone, whatever the others are.
    total
        Total index: together with its interactions.
    """

    first: Interval
    total: Interval


@dataclass(frozen=True)
class SobolIndices:
    """Sobol indices of all factors.

    Attributes
    ----------
    factors
        By name; `CELL` is the pair of sample rate and delay.
    unexplained
        Share of the variance that the polynomial does not explain: curved or higher interactions, and what is drawn
        besides, such as the directions of the model's errors.
    """

    factors: Mapping[str, Sensitivity]
    unexplained: float


def rank_sensitivities(factors: Mapping[str, Floats], cells: NDArray[np.intp], errors: Floats) -> SobolIndices:
    """Return the Sobol indices of the ranks of errors, among which lost runs (infinite) are the largest."""
    ranked = standard_ranks(errors)
    return sensitivities(factors, cells, np.zeros(len(errors)) if ranked is None else ranked)


def sensitivities(factors: Mapping[str, Floats], cells: NDArray[np.intp], values: Floats) -> SobolIndices:
    """Return the Sobol indices of values by a polynomial fitted to all runs: all factors at once.

    The values are regressed on a mean for each cell, on orthogonal polynomials of degree 1 and 2 of each factor, and,
    as long as there are four runs for each term, on products of two factors and of factor and cell. Squares of the
    coefficients are shares of the variance; what chance adds to them is subtracted, and their covariance gives the
    intervals.

    Source: Sudret, "Global sensitivity analysis using polynomial chaos expansions", Reliability Engineering and System
    Safety 93 (2008).

    Parameters
    ----------
    factors
        Values of each factor, shape (runs,), drawn independently and evenly from their ranges.
    cells
        Number of the cell of each run (its rate and delay), shape (runs,).
    values
        Results, shape (runs,), finite.

    Examples
    --------
    If y = a + 2 a b with a and b even in [-1, 1], a alone explains 1/3 of 1/3 + 4/9:

    >>> a, b = np.random.default_rng(0).uniform(-1.0, 1.0, (2, 1000))
    >>> found = sensitivities({"a": a, "b": b}, np.zeros(1000, dtype=int), a + 2.0 * a * b).factors
    >>> abs(found["a"].first.value - 3 / 7) < 0.02, found["a"].total.value > 0.98, abs(found["b"].first.value) < 0.02
    (True, True, True)
    """
    X, moments, groups = _terms(factors, cells)
    inverse = np.linalg.pinv(X.T @ X)
    slopes = inverse @ (X.T @ values)
    residues, freedom = values - X @ slopes, max(len(values) - X.shape[1], 1)
    noise = float((residues**2).sum()) / freedom
    leverage = np.einsum("ij,jk,ik->i", X, inverse, X)
    weighted = X * (residues / np.maximum(1.0 - leverage, 0.1))[:, None]  # of unequal residues (HC3)
    covariance = inverse @ (weighted.T @ weighted) @ inverse
    variance = _size(slopes, moments, covariance) + noise

    def share(chosen: list[bool]) -> Interval:
        if not any(chosen) or not variance > 0.0:
            return Interval(0.0, 0.0, 0.0)
        shared = moments * np.outer(chosen, chosen)
        index = max(_size(slopes, shared, covariance), 0.0) / variance
        change = (shared - index * moments) @ covariance  # of the share with the coefficients, times their covariance
        by_slopes = (shared - index * moments) @ slopes
        spread = 4.0 * by_slopes @ covariance @ by_slopes + 2.0 * np.trace(change @ change)
        spread += (index * noise) ** 2 * 2.0 / freedom
        margin = float(ndtri(0.5 * (1.0 + LEVEL))) * float(max(spread, 0.0)) ** 0.5 / variance
        return Interval(max(index - margin, 0.0), index, min(index + margin, 1.0))

    names = [*factors, CELL] if len(np.unique(cells)) > 1 else list(factors)
    indices = {
        name: Sensitivity(
            share([group == {name} for group in groups]),
            share([name in group for group in groups]),
        )
        for name in names
    }
    return SobolIndices(indices, min(1.0, noise / variance) if variance > 0.0 else 0.0)


def _size(slopes: Floats, moments: Floats, covariance: Floats) -> float:
    """Return the variance that terms explain, less what chance adds to the squares of their coefficients."""
    return float(slopes @ moments @ slopes) - float((moments * covariance).sum())


def _terms(factors: Mapping[str, Floats], cells: NDArray[np.intp]) -> tuple[Floats, Floats, list[set[str]]]:
    """Return the terms of the polynomial as columns, their covariances over even draws, and the factors in each."""
    dummies = np.equal.outer(cells, np.unique(cells)).astype(np.float64)
    shares = dummies.mean(axis=0)
    between = np.diag(shares) - np.outer(shares, shares)
    columns, groups, blocks = list(dummies.T), [{CELL}] * len(shares), [between]
    linear = {}
    for name, values in factors.items():
        low, high = values.min(), values.max()
        x = (2.0 * values - low - high) / (high - low)
        linear[name] = np.sqrt(3.0) * x
        columns += [linear[name], np.sqrt(1.25) * (3.0 * x**2 - 1.0)]
        groups += [{name}, {name}]
        blocks.append(np.eye(2))
    pairs = list(combinations(factors, 2))
    if len(cells) >= _RUNS_PER_TERM * (len(columns) + len(pairs)):
        columns += [linear[a] * linear[b] for a, b in pairs]
        groups += [{a, b} for a, b in pairs]
        blocks.append(np.eye(len(pairs)))
    if len(cells) >= _RUNS_PER_TERM * (len(columns) + len(factors) * (len(shares) - 1)):
        for name, x in linear.items():
            columns += list((x[:, None] * (dummies - shares)[:, 1:]).T)
            groups += [{name, CELL}] * (len(shares) - 1)
            blocks.append(between[1:, 1:])
    moments = np.zeros((len(columns), len(columns)))
    for block, last in zip(blocks, np.cumsum([len(block) for block in blocks]), strict=True):
        moments[last - len(block) : last, last - len(block) : last] = block
    return np.stack(columns, axis=-1), moments, groups
