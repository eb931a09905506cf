"""Rates beyond a record: closed forms of the generalised Pareto distribution, SciPy's, and drawn records."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import genpareto

from chasles.control.extreme_values import ExceedanceRate, peaks


def test_peaks_are_the_largest_within_their_reach() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=500)
    values[rng.random(500) < 0.2] = -np.inf
    for reach in (1, 7, 30):
        wanted = [
            x for k, x in enumerate(values) if np.isfinite(x) and x >= values[max(0, k - reach) : k + reach + 1].max()
        ]
        assert np.array_equal(peaks(values, reach), wanted)


@pytest.mark.parametrize("shape", [-0.3, 0.0, 0.15])
def test_many_peaks_give_the_rate_of_their_distribution(shape: float) -> None:
    maxima = genpareto.rvs(shape, scale=2.0, size=60_000, random_state=1)
    found = ExceedanceRate.of(maxima, 1000.0)
    for factor in (2.0, 10.0, 100.0):  # beyond the level, and beyond the record
        rate = found.count / 1000.0 / factor
        threshold = found.threshold(rate)
        true = 60.0 * genpareto.sf(threshold, shape, scale=2.0)
        assert found.rate(threshold) == pytest.approx(rate, rel=1e-6)
        assert abs(np.log(true / rate)) < 0.1 + 0.15 * np.log(factor)


def test_the_tail_agrees_with_the_maximum_of_the_likelihood() -> None:
    maxima = genpareto.rvs(0.0, scale=1.0, size=20_000, random_state=2)
    found = ExceedanceRate.of(maxima, 20_000.0)
    excess = maxima[maxima > found.level] - found.level
    shape, _, scale = genpareto.fit(excess, floc=0.0)
    threshold = found.level + 3.0 * scale
    assert found.rate(threshold) == pytest.approx(len(excess) / 20_000.0 * genpareto.sf(3.0, shape), rel=0.15)


def test_expected_rates_and_intervals_hold_on_average_over_drawn_records() -> None:
    """120 records of 60 peaks whose tails are drawn: thresholds for one peak in ten records are passed by as many."""
    rng, true, held = np.random.default_rng(3), [], 0
    for _ in range(120):
        shape, scale = np.clip(0.1 * rng.normal(), -0.5, 0.3), np.exp(rng.normal())
        found = ExceedanceRate.of(genpareto.rvs(shape, scale=scale, size=60, random_state=rng), 60.0)
        threshold = found.threshold(1.0 / 600.0)
        true.append(float(genpareto.sf(threshold, shape, scale=scale)))
        low, high = found.interval(threshold)
        held += low < true[-1] < high
    assert 0.5 < 600.0 * np.mean(true) < 1.5
    assert 0.82 < held / 120 < 0.97


def test_a_rate_above_that_of_the_record_is_the_level() -> None:
    found = ExceedanceRate.of(np.arange(100.0), 100.0)
    assert found.threshold(5.0) == found.level


@pytest.mark.parametrize("gaussian", [False, True])
def test_thresholds_are_too_high_from_a_minute_and_within_a_fifth_from_five(gaussian: bool) -> None:
    """Peaks of exponential and of Gaussian noise (Rayleigh), one a second; one an hour passes the true threshold."""
    ratios = {}
    for seconds in (60, 300):
        drawn = np.random.default_rng(0).exponential(size=(40, seconds))
        maxima = np.sqrt(2.0 * drawn) if gaussian else drawn
        true = np.sqrt(2.0 * np.log(3600.0)) if gaussian else np.log(3600.0)
        found = [ExceedanceRate.of(own, float(seconds)).threshold(1.0 / 3600.0) for own in maxima]
        ratios[seconds] = np.mean(found) / true
    assert 1.2 < ratios[60] < 1.6
    assert 1.0 < ratios[300] < 1.2
