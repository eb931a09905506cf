"""What a promised margin is worth: gains of all torques turned within it, on drawn plants, in the simulated loop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import chasles as ch
from benchmarks.equal_margins import PAYLOAD, motion_of, robots
from benchmarks.tables import Table
from chasles.control.controller import Controller

PLANTS = 150
CORNERS = 50  # of them with each joint's factor at an end
CASES = ((125.0, 0.0), (125.0, 1.0), (1000.0, 0.0), (1000.0, 1.0))  # Hz, delay in periods
LAWS = {
    "PD + gravity": (ch.PDGravity, {}),
    "PID + gravity": (ch.control.PIDGravity, {"integral": 0.3}),
    "nominal torque + PID": (ch.control.NominalTorquePID, {"integral": 0.3}),
    "computed torque": (ch.ComputedTorque, {"integral": 0.3}),
    "regulator": (ch.control.TimeVaryingRegulator, {"integral": 0.3}),
    "LQG": (ch.control.LinearQuadraticGaussian, {"integral": 0.3}),
}
LOST = 1.0  # rad or m, of one joint


class Turned(Controller):
    """A law whose torques are multiplied by a factor for each joint."""

    varies = ("factor",)

    def __init__(self, inner: Any) -> None:
        self.inner, self.robot, self.memory = inner, inner.robot, {"inner": inner.memory}
        self.factor, self.name = np.ones(inner.robot.n), f"{inner.name}, turned"

    def law(self, now: Any) -> Any:
        return self.factor * self.inner.law(now.of("inner"))


def drawn_factors(margin: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return factors (plants, n) within those that a disk margin bears, some of them at its ends."""
    low, high = (1.0 - 0.5 * margin) / (1.0 + 0.5 * margin), (1.0 + 0.5 * margin) / (1.0 - 0.5 * margin)
    factors = np.exp(rng.uniform(np.log(low), np.log(high), (PLANTS, n)))
    factors[:CORNERS] = rng.choice([low, high], (CORNERS, n))
    return factors


def lost_runs(robot: ch.Robot, law: Any, rate: float, delay: float) -> int:
    """Return how many of the drawn plants a designed law loses with turned gains."""
    rng, h, motion = np.random.default_rng(2), 1.0 / rate, motion_of(robot)
    drawn = law.designed.unknown.drawn(robot, motion, PLANTS, rng)
    turned = {"controller.factor": drawn_factors(law.designed.promised, robot.n, rng)}
    sensors = ch.Sensors(robot, velocity="differentiated")
    plant = ch.Plant(robot, sensors=sensors, delay=delay * h, effort_limits=False)
    run = ch.simulate(
        plant, Turned(law), motion, period=h, duration=1.5, vary=drawn | turned, progress=False,
        record=ch.Recording(every=max(1, round(0.01 / h))),
    )  # fmt: skip
    return int((~(np.abs(run.error.values).max(axis=(1, 2)) < LOST)).sum())


def tables(further: Sequence[str] = ()) -> Iterator[Table]:
    """The table of this section; `further` are files of robots."""
    table = Table(
        f"Gains turned within the promised disk margin of 0.3, 0 to {PAYLOAD} kg unknown at the tool",
        ("robot", "law", "accepted", "refused", "runs", "lost"),
        notes=[
            f"Cells: {', '.join(f'{rate:g} Hz with {delay:g} periods of delay' for rate, delay in CASES)}. In each "
            f"accepted one {PLANTS} drawn plants, the torque of each joint times a drawn factor of 0.74 to 1.35, "
            f"{CORNERS} of them at an end for every joint; differenced velocities, no torque limits.",
        ],
    )
    for name, robot in robots(further).items():
        for label, (kind, settings) in LAWS.items():
            accepted = lost = 0
            for rate, delay in CASES:
                try:
                    law = kind.tuned(robot, motion_of(robot), 1.0 / rate, payload=PAYLOAD, delay=delay, **settings)
                except ch.control.DesignError:
                    continue
                accepted, lost = accepted + 1, lost + lost_runs(robot, law, rate, delay)
            table.add(name, label, str(accepted), str(len(CASES) - accepted), str(accepted * PLANTS), str(lost))
    yield table
