"""Alarm of a collision detector: thresholds that residuals without contact pass at a stated rate.

Residuals of a real robot are no Gaussian process: they are large where a joint reverses, since friction near rest is
known least. So thresholds come from the largest residuals of a recorded motion (`extreme_values`), for moving joints
and for those near rest apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import IdentificationError
from chasles.control.extreme_values import FEWEST_PEAKS, ExceedanceRate, peaks

FloatArray = NDArray[np.float64]
Mask = NDArray[np.bool_]

SLOW = 0.05
"""Speed, relative to a joint's largest, below which friction near rest acts: most of its transition lies there."""
LOST = 0.05
"""Autocorrelation below which residuals are taken to be independent."""
LONGEST = 0.02
"""Longest correlation time, relative to the record: 50 peaks fit into it."""
FADED = 3.0
"""Time constants after which a lag has forgotten 95 %."""
DRAWS = 4000


@dataclass(frozen=True)
class CollisionAlarm:
    """Thresholds of a collision detector.

    Attributes
    ----------
    mean, deviation
        Mean and standard deviation of the residuals without contact, shape (n,), N·m.
    moving, resting
        Thresholds of the distance from the mean while a joint moves and near its rest, in standard deviations, (n,).
    slow
        Speeds below which a joint is near rest, shape (n,), rad/s (m/s); zeros if both thresholds are one.
    hold
        Samples for which a joint stays near rest after it was slow.
    episode
        Samples within which alarms count as one.
    false_alarms_per_hour
        Expected number of alarms without contact.
    interval
        90 % interval of that number, from how few large residuals the record has.
    """

    mean: FloatArray
    deviation: FloatArray
    moving: FloatArray
    resting: FloatArray
    slow: FloatArray
    hold: int
    episode: int
    false_alarms_per_hour: float
    interval: tuple[float, float]

    @property
    def threshold(self) -> FloatArray:
        """Distance from the mean that raises the alarm, whether a joint moves or not, shape (n,), N·m."""
        return np.asarray(np.maximum(self.moving, self.resting) * self.deviation)

    def __call__(
        self, residuals: ArrayLike, qd: ArrayLike | None = None, model_deviation: ArrayLike | None = None
    ) -> Mask:
        """Whether residuals (..., n) are an alarm, shape (...).

        Parameters
        ----------
        residuals
            Residuals; with `qd` samples in the order of time, shape (k, n).
        qd
            Joint velocities, shape (k, n). Without them the larger of both thresholds holds.
        model_deviation
            Standard deviations of the residuals by the uncertainty of the model, shape (..., n), N·m; see
            `MomentumObserver.model_deviation`.
        """
        distance = np.abs(np.asarray(residuals, dtype=np.float64) - self.mean)
        scale = self.deviation
        if model_deviation is not None:
            scale = np.hypot(scale, np.asarray(model_deviation, dtype=np.float64))
        factor = np.maximum(self.moving, self.resting)
        if qd is not None:
            factor = np.where(
                near_rest(np.asarray(qd, dtype=np.float64), self.slow, self.hold), self.resting, self.moving
            )
        return np.asarray((distance > factor * scale).any(axis=-1))

    def episodes(self, alarms: ArrayLike) -> int:
        """Number of alarms (k,) in the order of time; those that follow within `episode` samples count as one.

        >>> alarm = CollisionAlarm(*[np.ones(1)] * 5, hold=0, episode=2, false_alarms_per_hour=1.0, interval=(0.0, 2.0))
        >>> alarm.episodes([True, False, True, False, False, False, True])
        2
        """
        places = np.flatnonzero(np.asarray(alarms))
        return int((np.diff(places) > self.episode).sum() + (len(places) > 0))


class _State(NamedTuple):
    """Threshold of a joint in one state, in standard deviations, and the rate at which it is passed."""

    factor: float
    rate: ExceedanceRate


def alarm_from_residuals(
    residuals: FloatArray, qd: FloatArray | None, model_deviation: FloatArray, *,
    false_alarms_per_hour: float, period: float, bandwidth: float, friction: FloatArray,
) -> CollisionAlarm:  # fmt: skip
    """Alarm that residuals without contact raise at a stated rate.

    Parameters
    ----------
    residuals, qd, model_deviation
        Residuals, velocities and deviations by the model's uncertainty, shapes (k, n).
    false_alarms_per_hour
        Expected number of alarms.
    period, bandwidth
        Sample period, s, and bandwidth of the residuals, 1/s.
    friction
        Largest dry friction of each joint, shape (n,): residuals of a joint at rest may be as large.

    Raises
    ------
    IdentificationError
        If the record has too few independent residuals.
    """
    mean = residuals.mean(axis=0)
    deviation = np.maximum(residuals.std(axis=0), 1e-12)
    distance = np.abs(residuals - mean) / np.hypot(deviation, model_deviation)
    lag = int(np.ceil(FADED / (bandwidth * period)))
    reach = max(_correlation_length((residuals - mean) / deviation), lag)
    hours = len(residuals) * period / 3600.0
    slow = np.zeros(residuals.shape[1]) if qd is None else SLOW * np.abs(qd).max(axis=0)
    rest = np.zeros(residuals.shape, dtype=bool) if qd is None else near_rest(qd, slow, lag)
    each = false_alarms_per_hour / residuals.shape[1]
    moving, resting, states = np.zeros_like(mean), np.zeros_like(mean), []
    for joint, (own, at_rest) in enumerate(zip(distance.T, rest.T, strict=True)):
        apart = [peaks(np.where(mask, own, -np.inf), reach) for mask in (~at_rest, at_rest)]
        if min(map(len, apart)) >= FEWEST_PEAKS:
            pair = [_state(maxima, hours, 0.5 * each) for maxima in apart]
            moving[joint], resting[joint] = (state.factor for state in pair)
            states += pair
            continue
        slow[joint] = slow[joint] if len(apart[0]) >= FEWEST_PEAKS and friction[joint] > 0.0 else 0.0
        whole = _state(peaks(own, reach), hours, each)
        moving[joint], resting[joint] = whole.factor, max(whole.factor, float(friction[joint] / deviation[joint]))
        states.append(whole)
    rates = sum(state.rate.draws(state.factor, DRAWS, seed) for seed, state in enumerate(states))
    low, high = np.quantile(rates, [0.05, 0.95])
    return CollisionAlarm(
        mean, deviation, moving, resting, slow, lag, reach, false_alarms_per_hour, (float(low), float(high))
    )


def near_rest(qd: FloatArray, slow: FloatArray, hold: int) -> Mask:
    """Whether joints are slow, or were within `hold` samples, shape (k, n)."""
    now = np.abs(qd) < slow
    if qd.ndim < 2:
        return np.asarray(now)
    sample = np.arange(len(qd))[:, None]
    last = np.maximum.accumulate(np.where(now, sample, -hold - 1), axis=0)
    return np.asarray(sample - last <= hold)


def _state(maxima: FloatArray, hours: float, rate: float) -> _State:
    if len(maxima) < FEWEST_PEAKS:
        raise IdentificationError(
            f"the residuals have {len(maxima)} independent peaks; at least {FEWEST_PEAKS} are needed: record a longer "
            "motion without contact"
        )
    found = ExceedanceRate.of(maxima, hours, least=2.0 * rate * hours)
    return _State(found.threshold(rate), found)


def _correlation_length(centred: FloatArray) -> int:
    """Samples after which the residuals of all joints are independent, at most `LONGEST` of the record."""
    power = np.abs(np.fft.rfft(centred, 2 * len(centred), axis=0)) ** 2
    rho = np.fft.irfft(power, axis=0)[: len(centred) // 2] / np.maximum(np.sum(centred**2, axis=0), 1e-300)
    lost = np.argmax(rho < LOST, axis=0)
    most = max(int(LONGEST * len(centred)), 1)
    return int(np.clip(np.where(lost > 0, lost, most).max(), 1, most))
