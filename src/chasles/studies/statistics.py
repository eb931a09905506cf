"""Intervals, paired comparisons, rankings and effects that need no distribution; lost runs count as infinite errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, betaincinv, stdtrit

Floats = NDArray[np.float64]

#: Probability with which intervals hold the true value.
LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """An estimate between the ends of its confidence interval."""

    low: float
    value: float
    high: float


def proportion(count: int, total: int, level: float = LEVEL) -> Interval:
    """Return a share and its exact interval (Clopper and Pearson, 1934).

    Examples
    --------
    No loss in 1,000 runs does not prove that there is none:

    >>> round(proportion(0, 1000).high, 5)
    0.00368
    """
    if total == 0:
        return Interval(0.0, float("nan"), 1.0)
    tail = 0.5 * (1.0 - level)
    low = float(betaincinv(count, total - count + 1, tail)) if count else 0.0
    high = float(betaincinv(count + 1, total - count, 1.0 - tail)) if count < total else 1.0
    return Interval(low, count / total, high)


def median(values: Floats, level: float = LEVEL) -> Interval:
    """Return the median and its interval between two order statistics, for values that may be infinite.

    The interval holds for independent draws. Of draws that fill their ranges evenly the median varies less.

    Examples
    --------
    >>> median(np.arange(101.0))
    Interval(low=40.0, value=50.0, high=60.0)
    """
    ordered = np.sort(values)
    count = len(ordered)
    if count == 0:
        return Interval(float("nan"), float("nan"), float("nan"))
    ranks = np.arange(count)
    below = bdtr(ranks, count, 0.5)  # probability that at most this many values lie under the true median
    outside = int((below <= 0.5 * (1.0 - level)).sum())
    first = max(outside - 1, 0)
    low = float(ordered[first]) if outside else float("-inf")
    high = float(ordered[count - 1 - first]) if outside else float("inf")
    return Interval(low, float(np.quantile(ordered, 0.5, method="higher")), high)


@dataclass(frozen=True)
class ControllerComparison:
    """Two controllers in the same runs.

    Attributes
    ----------
    first, second
        Titles.
    better
        Share of the runs that differ in which the first has the smaller error.
    ratio
        Median of the first's error over the second's, over the runs that at least one of them did not lose.
    lost_by_first, lost_by_second
        Runs that only this one lost.
    fewer_lost
        The title of the one that loses significantly fewer runs; None if neither does.
    winner
        The title of the one whose error is significantly more often the smaller, a lost run's being infinite; None if
        neither is.
    """

    first: str
    second: str
    better: Interval
    ratio: Interval
    lost_by_first: int
    lost_by_second: int
    fewer_lost: str | None
    winner: str | None


def compare(first: str, second: str, errors: tuple[Floats, Floats], comparisons: int = 1) -> ControllerComparison:
    """Compare the errors of two controllers run by run: sign tests of losses and of errors.

    Parameters
    ----------
    first, second
        Titles.
    errors
        Error of each run, shape (runs,), infinite where it was lost.
    comparisons
        Number of simultaneous comparisons: each is held to a level that makes one wrong one among all as improbable as
        `LEVEL` says (Bonferroni).

    Examples
    --------
    >>> mine, other = np.array([1.0, 1.0, 1.0, np.inf] * 10), np.array([2.0, 2.0, 0.5, np.inf] * 10)
    >>> result = compare("mine", "other", (mine, other))
    >>> round(result.better.value, 3), result.ratio.value, result.winner
    (0.667, 0.5, None)
    """
    a, b = errors
    level = 1.0 - (1.0 - LEVEL) / comparisons
    only_a, only_b = int((np.isinf(a) & ~np.isinf(b)).sum()), int((np.isinf(b) & ~np.isinf(a)).sum())
    losses = proportion(only_b, only_a + only_b, level)
    wins, defeats = int((a < b).sum()), int((a > b).sum())
    better = proportion(wins, wins + defeats, level)
    compared = ~(np.isinf(a) & np.isinf(b))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where((a == b)[compared], 1.0, a[compared] / b[compared])
    return ControllerComparison(
        first,
        second,
        better,
        median(ratios, level),
        only_a,
        only_b,
        _significant(losses, first, second),
        _significant(better, first, second),
    )


def _significant(share: Interval, first: str, second: str) -> str | None:
    if share.low > 0.5:
        return first
    return second if share.high < 0.5 else None


class Rank(NamedTuple):
    """Interval of a controller's rank, 1 being the best.

    The rank of a controller is one more than the number of those that err less in more than half of the runs that
    could be drawn. More runs narrow the interval; within the joint level they do not move it elsewhere.

    Attributes
    ----------
    best
        One more than the number of controllers that are significantly better.
    worst
        Number of controllers less those that are significantly worse.
    """

    best: int
    worst: int

    def __str__(self) -> str:
        """Return both ends.

        >>> str(Rank(1, 3)), str(Rank(2, 2))
        ('1–3', '2')
        """
        return "–".join(dict.fromkeys(map(str, self)))


def ranks(titles: Sequence[str], errors: Mapping[str, Floats]) -> dict[str, Rank]:
    """Rank controllers by paired sign tests whose joint error probability is 5 %.

    Examples
    --------
    >>> errors = {"a": np.full(50, 1.0), "b": np.full(50, 2.0), "c": np.r_[np.full(25, 0.5), np.full(25, np.inf)]}
    >>> ranks(["a", "b", "c"], errors)
    {'a': Rank(best=1, worst=2), 'b': Rank(best=2, worst=3), 'c': Rank(best=1, worst=3)}
    """
    pairs = max(1, len(titles) * (len(titles) - 1) // 2)
    better, worse = dict.fromkeys(titles, 0), dict.fromkeys(titles, 0)
    for first, second in combinations(titles, 2):
        winner = compare(first, second, (errors[first], errors[second]), pairs).winner
        if winner is not None:
            worse[winner] += 1
            better[second if winner == first else first] += 1
    return {title: Rank(1 + better[title], len(titles) - worse[title]) for title in titles}


def rank_effects(factors: Mapping[str, Floats], cells: NDArray[np.intp], errors: Floats) -> dict[str, Interval]:
    """Return how strongly each factor raises the error, with all others held: standardised rank regression.

    The ranks of the errors are regressed on the ranks of all factors at once, and on the cell to which a run belongs.
    A coefficient of 1 means that the factor alone orders the errors, of 0 that it has no monotonic effect. Its square
    is about the share of the variance of the ranks that the factor explains.

    Source: Iman and Conover, "The use of the rank transform in regression", Technometrics 21 (1979); Saltelli et al.,
    Sensitivity Analysis (2000), section 6.

    Parameters
    ----------
    factors
        Values of each factor that varies, shape (runs,).
    cells
        Number of the cell of each run (its rate and delay), shape (runs,).
    errors
        Errors of the runs, infinite where they were lost.

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> x, y = generator.random((2, 500))
    >>> effects = rank_effects({"x": x, "y": y}, np.zeros(500, dtype=int), x**3)
    >>> round(effects["x"].value, 3), abs(effects["y"].value) < 0.01
    (1.0, True)
    """
    y = standard_ranks(errors)
    if not factors or y is None:
        return {}
    dummies = np.equal.outer(cells, np.unique(cells)).astype(np.float64)
    columns = {name: ranked for name, values in factors.items() if (ranked := standard_ranks(values)) is not None}
    if not columns:
        return {}
    X = np.concatenate([np.stack(list(columns.values()), axis=-1), dummies], axis=-1)
    freedom = len(y) - X.shape[1]
    if freedom < 1:
        return {}
    inverse = np.linalg.pinv(X.T @ X)
    slopes = inverse @ X.T @ y
    variance = float(((y - X @ slopes) ** 2).sum()) / freedom
    margin = float(stdtrit(freedom, 0.5 * (1.0 + LEVEL))) * np.sqrt(variance * np.maximum(np.diagonal(inverse), 0.0))
    return {
        name: Interval(float(slopes[k] - margin[k]), float(slopes[k]), float(slopes[k] + margin[k]))
        for k, name in enumerate(columns)
    }


def standard_ranks(values: Floats) -> Floats | None:
    """Return ranks, means for ties, less their mean and over their deviation; None where all are equal."""
    _, distinct, counts = np.unique(values, return_inverse=True, return_counts=True)
    if len(counts) < 2:
        return None
    last = np.cumsum(counts)
    ranked = (last - 0.5 * (counts - 1))[distinct]
    standard: Floats = (ranked - ranked.mean()) / ranked.std()
    return standard
