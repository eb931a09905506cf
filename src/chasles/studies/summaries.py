"""What a study's runs come to: quantiles, shares and curves of each controller on each robot."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from chasles.studies.attained import Attained
from chasles.studies.statistics import Interval

Floats = NDArray[np.float64]

#: Quantiles of a measure that summaries show: low, middle, high.
QUANTILES = (0.05, 0.5, 0.95)
#: Those that curves show: within their band lies half of the runs.
QUARTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True)
class Quantiles:
    """Low, middle and high of a measure over runs: its quantiles of 5, 50 and 95 % unless others are asked for.

    Lost runs count as infinite.
    """

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, values: Floats, quantiles: tuple[float, float, float] = QUANTILES) -> Self:
        """Return the quantiles of the values of some runs, NaN for none."""
        if not len(values):
            return cls(np.nan, np.nan, np.nan)
        return cls(*(float(q) for q in np.quantile(values, quantiles, method="higher")))


@dataclass(frozen=True)
class Summary:
    """One controller on one robot.

    Attributes
    ----------
    robot, controller
        Titles.
    runs
        Number of runs.
    lost, refused
        Shares of lost runs, and of those that were not made because the controller was refused.
    rms_error, peak_error, final_error
        Errors of the joints, rad (m for a robot with prismatic joints only).
    rms_tool_error, peak_tool_error
        m.
    effort
        RMS of the torques, relative to the planned motion's.
    torque_rate
        RMS of the rate of the torques, relative to the planned motion's.
    work
        Integral of the absolute power, J.
    disk_margin, slowest_pole
        Least and largest of the rates and delays: disk margin, and real part of the slowest pole, 1/s, of the loop as
        it runs along the motion; see `StudyCase`. None where linear models do not tell.
    """

    robot: str
    controller: str
    runs: int
    lost: float
    refused: float
    rms_error: Quantiles
    peak_error: Quantiles
    final_error: Quantiles
    rms_tool_error: Quantiles
    peak_tool_error: Quantiles
    effort: Quantiles
    torque_rate: Quantiles
    work: Quantiles
    disk_margin: tuple[float, float] | None = None
    slowest_pole: tuple[float, float] | None = None

    @property
    def shown_margin(self) -> str:
        """Least and largest disk margin as text."""
        return _from_to(self.disk_margin, ".2f")

    @property
    def shown_pole(self) -> str:
        """Slowest pole, 1/s, from the fastest to the slowest loop, as text."""
        return _from_to(self.slowest_pole, ".3g")


def _from_to(ends: tuple[float, float] | None, digits: str) -> str:
    """Two ends as text, one if they look the same."""
    if ends is None:
        return "–"
    return " … ".join(dict.fromkeys(f"{end:{digits}}" for end in ends))


@dataclass(frozen=True)
class StudyCase:
    """One controller on one robot at one sample rate and delay.

    Attributes
    ----------
    rate
        Sample rate, Hz.
    delay
        Delay, in sample periods.
    runs
        Number of runs.
    lost
        Share of lost runs with its interval; NaN where the controller is refused.
    rms_error
        Median of the RMS joint error with its interval, rad (m); lost runs count as infinite.
    poles
        Poles that the controller was designed for; None where it has no rule for them.
    disk_margin, slowest_pole, growth
        Least disk margin of the frozen loops along the motion, real part of their slowest pole, 1/s, positive if
        unstable, and growth of errors along the repeated motion, 1/s: by linear models without unknowns, with the
        velocities that the loop gets. NaN where linear models do not tell, such as of laws that learn.
    refusal
        Why the controller was refused, so that no run was made; empty where it was not.
    """

    rate: float
    delay: float
    runs: int
    lost: Interval
    rms_error: Interval
    poles: Attained | None
    disk_margin: float = math.nan
    slowest_pole: float = math.nan
    growth: float = math.nan
    refusal: str = ""


@dataclass(frozen=True)
class ResponseCurve:
    """A measure against a factor: `Quantiles` in each of some classes of runs.

    Attributes
    ----------
    x
        Middle of each class (its median), shape (k,).
    low, median, high
        Quartiles of the measure, shape (k,); infinite where that many runs were lost.
    lost
        Share of lost runs, shape (k,).
    """

    x: Floats
    low: Floats
    median: Floats
    high: Floats
    lost: Floats
