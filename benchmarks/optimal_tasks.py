"""Optimal control on two tasks of the literature: throws at targets, and a figure of eight by nodes and batches."""

from __future__ import annotations

from collections.abc import Iterator
from time import process_time
from typing import Any

import numpy as np

import chasles as ch
from benchmarks.tables import Table, seconds
from chasles.control.optimal import OptimalControl, Residual, residuals
from chasles.studies.statistics import proportion

#: Throws at so many targets, with this time of flight, s.
TARGETS, FLIGHT = 50, 0.5
#: Nodes of 10 ms, and problems of a batch.
NODES, BATCHES = (8, 32, 128), (1, 16, 128, 512)
GRAVITY = np.array([0.0, 0.0, -9.81])


def tables() -> Iterator[Table]:
    """Both tables."""
    yield throws()
    yield figures_of_eight()


def throws() -> Table:
    """A UR10e lets go of a ball at the end of its motion, which lands on a target after the time of flight."""
    arm = ch.load("ur10e")

    def missed(robot: ch.Robot, q: Any, qd: Any, target: Any) -> Any:
        place = robot.forward_kinematics(q)[:3, 3]
        velocity = (robot.jacobian(q, frame="world-aligned") @ qd)[3:]
        return place + FLIGHT * velocity + 0.5 * FLIGHT**2 * GRAVITY - target

    throw = OptimalControl(
        arm,
        duration=1.0,
        nodes=50,
        running=[0.01 * residuals.torque(), 0.1 * residuals.velocity()],
        exact_end=[Residual(missed, target=(3,))],
    )
    rng, start = np.random.default_rng(5), np.array([0.0, -1.2, 1.8, -0.6, 1.5, 0.0])
    angle, far = rng.uniform(-1.0, 1.0, TARGETS), rng.uniform(1.2, 2.5, TARGETS)
    targets = np.stack([far * np.cos(angle), far * np.sin(angle), rng.uniform(-0.5, 0.5, TARGETS)], axis=1)
    throw.solve(start, target=targets[0])
    begin = process_time()
    plans = throw.solve(start, target=targets)
    each = (process_time() - begin) / TARGETS
    table = Table(
        f"Throws of a UR10e at {TARGETS} drawn targets, 1.2 to 2.5 m away, within its limits, 50 nodes",
        ("after iterations", "solved", "share, 95 %"),
        notes=[f"Processor time of a problem, compiled: {seconds(each)} in the mean, at one start for all."],
    )
    for most in (10, 20, 30, 50, 100, 1000):
        count = int((np.asarray(plans.success) & (np.asarray(plans.iterations) <= most)).sum())
        share = proportion(count, TARGETS)
        table.add(str(most), str(count), f"{100 * share.low:.0f}-{100 * share.high:.0f} %")
    return table


def figures_of_eight() -> Table:
    """The tool of an iiwa14 follows a figure of eight, of which a problem has as much as its nodes last."""
    arm = ch.load("iiwa14")
    start = np.array([0.0, 0.6, 0.0, -1.4, 0.0, 1.0, 0.0])
    centre = arm.forward_kinematics(start)[:3, 3]

    def off(robot: ch.Robot, q: Any, t: Any) -> Any:
        eight = np.array([0.0 * t, 0.2 * np.sin(2.0 * t), 0.1 * np.sin(4.0 * t)])
        return robot.forward_kinematics(q)[:3, 3] - centre - eight

    table = Table(
        "A figure of eight by an iiwa14, nodes of 10 ms, torque and velocity limits",
        ("nodes", "problems", "solved", "iterations, mean", "a problem", "an iteration"),
        notes=["Processor time of the second solution, all of `solve` included; starts are drawn around one posture."],
    )
    rng = np.random.default_rng(6)
    for nodes in NODES:
        problem = OptimalControl(
            arm,
            duration=0.01 * nodes,
            nodes=nodes,
            running=[Residual(off, weight=1e3), 0.1 * residuals.velocity(), 1e-3 * residuals.torque()],
            limits=["torque", "velocity"],
        )
        for batch in BATCHES:
            starts = start + 0.1 * rng.normal(size=(batch, arm.n))
            problem.solve(starts)
            begin = process_time()
            plans = problem.solve(starts)
            each, mean = (process_time() - begin) / batch, float(np.mean(plans.iterations))
            solved = str(int(np.sum(plans.success)))
            table.add(str(nodes), str(batch), solved, f"{mean:.1f}", seconds(each), seconds(each / mean))
    return table
