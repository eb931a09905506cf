"""Laws designed by one margin, with equal previews of the nominal torque, on plants that they do not know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom
from tests.oracles.turned_loops import drawn_arm

import chasles as ch
from benchmarks.tables import Table

Floats = np.ndarray

PAYLOAD = 1.5
PLANTS = 48
CASES = {"60 Hz": (60.0, 0.0), "250 Hz, late": (250.0, 1.0)}
ROBOTS = ("planar2r", "scara", "puma560", "panda", "ur10e", "drawn, 4 joints")


class MeanGain(ch.control.TimeVaryingRegulator):
    """The regulator of the whole motion with the mean of its gains: one K that predicts as the regulator does."""

    name = "mean K"

    def schedule(self, times: np.ndarray, motion: Any) -> np.ndarray:
        """Rows with the mean gain."""
        return with_mean_gain(super().schedule(times, motion))

    def settled_schedule(self, motion: Any, period: float) -> np.ndarray:
        """Rows of places of the motion with their mean gain."""
        return with_mean_gain(super().settled_schedule(motion, period))


class InertiaAlone(ch.control.TimeVaryingRegulator):
    """The regulator of B(t) alone: its equation is that of the arm at rest without gravity, whose A is constant."""

    name = "B(t) alone"

    def schedule(self, times: np.ndarray, motion: Any) -> np.ndarray:
        """Nominal torques of the motion, and gains of the arm without gravity at rest in its places."""
        rows = super().schedule(times, motion)
        rows[..., 1:] = self.weightless.horizon(times, at_rest(motion)).K
        return rows

    def settled_schedule(self, motion: Any, period: float) -> np.ndarray:
        """The same for places of the motion."""
        rows = super().settled_schedule(motion, period)
        rows[..., 1:] = self.weightless.settled_schedule(at_rest(motion), period)[..., 1:]
        return rows

    @property
    def weightless(self) -> ch.control.TimeVaryingRegulator:
        """The same regulator of an arm without gravity."""
        settings = {"delay": self.delay, "velocity_lag": self.velocity_lag}
        regulator = ch.control.TimeVaryingRegulator(
            self.robot.with_gravity(np.zeros(3)), integral_error=1.0, **settings
        )
        regulator.__dict__["weights"] = self.weights
        return regulator


def with_mean_gain(rows: np.ndarray) -> np.ndarray:
    """Rows of nominal torques and gains, all with the mean gain."""
    rows[..., 1:] = rows[..., 1:].mean(axis=-3, keepdims=True)
    return rows


def at_rest(motion: Any) -> Any:
    """The places of a motion, at rest."""
    return motion._replace(qd=0.0 * motion.qd, qdd=0.0 * motion.qdd)


LAWS = {
    "constant PID": ch.control.NominalTorquePID,
    "computed torque": ch.ComputedTorque,
    "one K": ch.control.LinearQuadraticRegulator,
    "mean K": MeanGain,
    "B(t) alone": InertiaAlone,
    "A(t), B(t)": ch.control.TimeVaryingRegulator,
}


def robots(further: Sequence[str] = ()) -> dict[str, ch.Robot]:
    """Return the robots of this section by name, and those of further files."""
    own = {name: drawn_arm(102, 4) if name.startswith("drawn") else ch.load(name) for name in ROBOTS}
    return own | {Path(file).name: ch.load(file) for file in further}


def motion_of(robot: ch.Robot) -> ch.PointToPoint:
    """Return a motion of a second by 0.3 to 0.9 rad a joint."""
    rng = np.random.default_rng(7)
    return ch.PointToPoint(
        robot.home, robot.home + rng.uniform(0.3, 0.9, robot.n) * rng.choice([-1.0, 1.0], robot.n), 1.0
    )


def median_ranks(count: int) -> list[int]:
    """Return the places, in a sorted sample, of the ends of a 90 % interval of the median, for any distribution."""
    least = int(binom.ppf(0.05, count, 0.5)) - 1
    return [least, count - 1 - least]


def cell(robot: ch.Robot, law: Any, rate: float, delay: float) -> tuple[str, Floats]:
    """Return the frequency that a law has, or that it is refused, and its previewed errors in each plant."""
    motion, h = motion_of(robot), 1.0 / rate
    try:
        tuned = law.tuned(robot, motion, h, payload=PAYLOAD, delay=delay, integral=0.3)
    except ch.control.DesignError as refused:
        finding = refused.finding
        why = finding.rule.code if finding.rule.code == "too-far-off" else f"{finding.value:.2f}"
        return f"refused, {why}", np.full(PLANTS, np.nan)
    unknown = tuned.designed.unknown.drawn(robot, motion, PLANTS, np.random.default_rng(1))
    sensors = ch.Sensors(robot, velocity="differentiated")
    plant = ch.Plant(robot, sensors=sensors, delay=delay * h, effort_limits=False)
    previewed = tuned if tuned.has_schedule else ch.control.Previewed(tuned.robot, tuned, delay=delay)
    run = ch.simulate(plant, previewed, motion, period=h, duration=1.5, vary=unknown, progress=False)
    error = run.error.values
    lost = ~(np.abs(error).max(axis=(1, 2)) < 1.0)
    rms = np.where(lost, np.inf, np.sqrt(np.nan_to_num(error**2).mean(axis=(1, 2))))
    return f"{tuned.designed.frequency:.3g}", rms


def shown(values: Floats, digits: str = ".3g") -> str:
    """Median with its 90 % interval, and how many are infinite."""
    if np.isnan(values).any():
        return "–"
    low, high = np.sort(values)[median_ranks(len(values))]
    lost = f", {np.isinf(values).sum()} lost" if np.isinf(values).any() else ""
    return f"{np.median(values):{digits}} ({low:{digits}} to {high:{digits}}){lost}"


def tables(further: Sequence[str] = ()) -> Iterator[Table]:
    """The table of this section; `further` are files of robots."""
    heads = (f"{case}: {part}" for case in CASES for part in ("rad/s", "mrad", "× that of A(t), B(t)"))
    table = Table(
        f"Laws at a disk margin of 0.3 with 0 to {PAYLOAD} kg unknown at the tool, all with preview",
        ("robot", "law", *heads),
        notes=[
            f"Median RMS joint error of {PLANTS} drawn plants, the same for all laws, and median ratio to that of the "
            "last law in the same plants, each with its 90 % interval. Plants: "
            f"payload within 6 cm of the tool, half of them {PAYLOAD} kg at 6 cm, friction of up to 5 % of the peak "
            "torque; 0.3 to 0.9 rad a joint in 1 s, 0.5 s at rest; differenced velocities.",
            "Integral action with a third of the frequency. Refused: no frequency has the margin; the largest met.",
            "Mean K, B(t) alone and A(t), B(t) are regulators of the whole motion that know the delay and the lag of "
            "differenced velocities; the first has the mean of its gains, the second those of the arm without gravity "
            "at rest. One K is the gain for the pose in the middle.",
        ],
    )
    for name, robot in robots(further).items():
        cells = {law: [cell(robot, kind, *case) for case in CASES.values()] for law, kind in LAWS.items()}
        whole = cells["A(t), B(t)"]
        for law, of_law in cells.items():
            row = []
            for (frequency, errors), (_, least) in zip(of_law, whole, strict=True):
                row += [frequency, shown(1e3 * errors), shown(errors / least, ".2f")]
            table.add(name, law, *row)
    yield table
