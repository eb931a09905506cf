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

PAYLOAD = 1.5
PLANTS = 48
CASES = {"60 Hz": (60.0, 0.0), "250 Hz, late": (250.0, 1.0)}
LAWS = {
    "constant PID": ch.control.NominalTorquePID,
    "one K": ch.control.LinearQuadraticRegulator,
    "computed torque": ch.ComputedTorque,
    "regulator": ch.control.TimeVaryingRegulator,
}
ROBOTS = ("planar2r", "puma560", "panda", "ur10e", "jaco", "drawn, 4 joints")


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


def cell(robot: ch.Robot, law: Any, rate: float, delay: float) -> dict[str, str]:
    """Return what a law errs by with and without preview, mrad, or the margin that it reaches."""
    motion, h = motion_of(robot), 1.0 / rate
    try:
        tuned = law.tuned(robot, motion, h, payload=PAYLOAD, delay=delay, integral=0.3)
    except ch.control.DesignError as refused:
        return {"": f"refused, {refused.finding.value:.2f}"}
    unknown = tuned.designed.unknown.drawn(robot, motion, PLANTS, np.random.default_rng(1))
    sensors = ch.Sensors(robot, velocity="differentiated")
    plant = ch.Plant(robot, sensors=sensors, delay=delay * h, effort_limits=False)
    told = {}
    laws = (
        {"previewed": tuned}
        if tuned.has_schedule
        else {"plain": tuned, "previewed": ch.control.Previewed(tuned.robot, tuned, delay=delay)}
    )
    for name, each in laws.items():
        run = ch.simulate(plant, each, motion, period=h, duration=1.5, vary=unknown, progress=False)
        error = run.error.values
        lost = ~(np.abs(error).max(axis=(1, 2)) < 1.0)
        rms = np.where(lost, np.inf, np.sqrt(np.nan_to_num(error**2).mean(axis=(1, 2))))
        low, high = 1e3 * np.sort(rms)[median_ranks(PLANTS)]
        lost_runs = f", {lost.sum()} lost" if lost.any() else ""
        told[name] = f"{1e3 * np.median(rms):.3g} ({low:.3g} to {high:.3g}){lost_runs}"
    told["frequency"] = f"{tuned.designed.frequency:.3g}"
    return told


def tables(further: Sequence[str] = ()) -> Iterator[Table]:
    """The table of this section; `further` are files of robots."""
    table = Table(
        f"Laws at a disk margin of 0.3 with 0 to {PAYLOAD} kg unknown at the tool",
        ("robot", "law", *(f"{case}: {part}" for case in CASES for part in ("rad/s", "mrad", "mrad, previewed"))),
        notes=[
            f"Median RMS joint error of {PLANTS} drawn plants, the same for all laws, and its 90 % interval. Plants: "
            f"payload within 6 cm of the tool, half of them {PAYLOAD} kg at 6 cm, friction of up to 5 % of the peak "
            "torque; 0.3 to 0.9 rad a joint in 1 s, 0.5 s at rest; differenced velocities.",
            "Integral action with a third of the frequency. Refused: no frequency has the margin; the largest met.",
            "The regulator has the preview by itself, and knows the delay and the lag of differenced velocities.",
        ],
    )
    for name, robot in robots(further).items():
        for label, law in LAWS.items():
            cells: list[str] = []
            for rate, delay in CASES.values():
                told = cell(robot, law, rate, delay)
                cells += [told.get("frequency", told.get("", "")), told.get("plain", "–"), told.get("previewed", "–")]
            table.add(name, label, *cells)
    yield table
