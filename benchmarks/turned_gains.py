"""What a promised margin is worth: gains of all torques turned within it, on drawn plants, in the simulated loop."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from tests.oracles.turned_loops import drawn_arm

import chasles as ch
from benchmarks.equal_margins import PAYLOAD, motion_of, robots
from benchmarks.tables import Table
from chasles.control.controller import Controller
from chasles.control.elastic_joint_law import ElasticJointLaw
from chasles.control.robot_controller import RobotController, has_rule

PLANTS = 150  # with turned gains, and as many with everything that is declared unknown at once
CORNERS = 50  # of the turned ones with each joint's factor at an end
RATES, DELAYS = (30.0, 60.0, 125.0, 250.0, 1000.0), (0.0, 1.0, 2.0)  # Hz, periods
DRAWN = {2: 201, 3: 202, 5: 203, 6: 204, 7: 205}  # joints and seeds of arms beside those of equal margins
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
    """Return how many drawn plants a designed law loses: with turned gains, and with other links and late torques."""
    rng, h, unknown, motion = np.random.default_rng(2), 1.0 / rate, law.designed.unknown, motion_of(robot)
    turned = {"controller.factor": drawn_factors(law.designed.promised, robot.n, rng)}
    links = {}
    for link in robot.description.links:
        if (name := f"links.{link.name}") + ".mass" in robot.parameters:
            factor = rng.uniform(1.0 - unknown.model_error, 1.0 + unknown.model_error, PLANTS)
            links[f"{name}.mass"] = factor * link.inertia.mass
            links[f"{name}.inertia"] = factor[:, None, None] * np.array(link.inertia.matrix)
    lost = 0
    for varied, late in ((turned, 0.0), (links, unknown.jitter)):
        drawn = unknown.drawn(robot, motion, PLANTS, rng)
        sensors = ch.Sensors(robot, velocity="differentiated")
        plant = ch.Plant(robot, sensors=sensors, delay=(delay + late) * h, effort_limits=False)
        run = ch.simulate(
            plant, Turned(law), motion, period=h, duration=1.5, vary=drawn | varied, progress=False,
            record=ch.Recording(every=max(1, round(0.01 / h))),
        )  # fmt: skip
        lost += int((~(np.abs(run.error.values).max(axis=(1, 2)) < LOST)).sum())
    return lost


def laws_with_a_rule() -> dict[str, type[RobotController]]:
    """Laws that `tuned` designs for rigid joints, by kind."""
    rigid = {kind: law for kind, law in ch.control.laws().items() if not issubclass(law, ElasticJointLaw)}
    return {kind: law for kind, law in rigid.items() if has_rule(law)}


def tables(further: Sequence[str] = ()) -> Iterator[Table]:
    """The table of this section; `further` are files of robots."""
    arms = robots(further) | {f"drawn, {n} joints": drawn_arm(seed, n) for n, seed in DRAWN.items()}
    table = Table(
        f"Designs with a disk margin of 0.3, 0 to {PAYLOAD} kg unknown at the tool: {', '.join(arms)}",
        ("law", "accepted", "runs", "lost", "refused", "naming what would do", "design, s", "longest, s"),
        notes=[
            f"A cell a law and arm: {', '.join(f'{rate:g}' for rate in RATES)} Hz and delays of 0, 1 and 2 periods, "
            f"in Latin squares. In each accepted one {PLANTS} drawn plants with the torque of each joint times a "
            f"factor of 0.74 to 1.35, {CORNERS} of them at an end for every joint, and {PLANTS} with links lighter or "
            "heavier by up to 10 % and torques a quarter period late; payload within 6 cm of the tool, friction, "
            "differenced velocities, no torque limits. Design: median and longest processor time, compilation apart.",
        ],
    )
    for number, (kind, law) in enumerate(laws_with_a_rule().items()):
        accepted = lost = named = refused = 0
        times = []
        for place, arm in enumerate(arms.values()):
            if law.without_margins(arm):
                continue
            rate, delay = RATES[(place + number) % len(RATES)], DELAYS[(place + 2 * number) % len(DELAYS)]
            asked = arm, motion_of(arm), 1.0 / rate
            try:
                for _ in range(2):  # the first one compiles
                    start = time.process_time()
                    try:
                        tuned = law.tuned(*asked, payload=PAYLOAD, delay=delay)
                    finally:
                        spent = time.process_time() - start
            except ch.control.DesignError as error:
                refused, named = refused + 1, named + bool({"rate", "payload", "cap"} & set(error.finding.facts))
            else:
                accepted, lost = accepted + 1, lost + lost_runs(arm, tuned, rate, delay)
            times.append(spent)
        if times:
            counts = (accepted, 2 * PLANTS * accepted, lost, refused, named)
            table.add(kind, *map(str, counts), f"{np.median(times):.2f}", f"{max(times):.2f}")
    yield table
