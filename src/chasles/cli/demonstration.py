"""The demonstration of `chasles demo`: two arms under control, and the speed of the kernels on this machine."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table

from chasles.cli.experiment import experiment
from chasles.cli.output import add_row, error_text, table
from chasles.cli.speed import KernelSpeed
from chasles.engine.validators import real
from chasles.robot.robot import load
from chasles.simulation.simulate import simulated
from chasles.visual.summary import tracking_summary

if TYPE_CHECKING:
    from chasles.simulation.results import Run

PAYLOAD = 2.0
"""Mass at the tool that the controllers do not know, kg."""

_BANDWIDTH = 50.0  # rad/s, of the critically damped error dynamics
_GAINS = {"kp": _BANDWIDTH**2, "kd": 2.0 * _BANDWIDTH, "ki": 5e4}
_STEEL_BALL = ([0.0, 0.0, 0.05], 2 / 5 * PAYLOAD * 0.04**2 * np.eye(3))  # centre of mass and inertia
_REST = 0.1  # share of the time, after the motion
_SMOOTHING = 0.02  # rad/s over which Coulomb friction changes its sign


@dataclass(frozen=True)
class DemonstratedArm:
    """One arm of the demonstration.

    Attributes
    ----------
    title
        Usual name of the robot.
    robot
        Name of the shipped robot.
    move
        Joint displacements from home to the goal, rad.
    friction
        Friction of the plant, see `Robot.with_friction`; the controller's model is without friction.
    """

    title: str
    robot: str
    move: tuple[float, ...]
    friction: Mapping[str, Any]


ARMS = (
    # The PUMA keeps the friction that was measured on it.
    DemonstratedArm("PUMA 560", "puma560", (1.5, 0.5, 1.0, 1.0, 0.6, 1.2), {"coulomb_velocity": _SMOOTHING}),
    # Friction of the size that was identified on such arms (Gaz et al. 2019).
    DemonstratedArm(
        "Franka Panda",
        "panda",
        (1.2, 0.7, -0.5, 0.8, 0.6, 0.7, -0.9),
        {
            "viscous": (0.8, 0.8, 0.8, 0.8, 0.3, 0.3, 0.2),
            "coulomb": (0.6, 0.6, 0.6, 0.6, 0.3, 0.3, 0.2),
            "coulomb_velocity": _SMOOTHING,
        },
    ),
)


@dataclass(frozen=True)
class Outcome:
    """Simulated motion of an arm.

    Attributes
    ----------
    arm
        Arm that moved.
    run
        Result of `chasles.simulate`.
    first_time, wall_time
        Time of the first simulation, with tracing and compiling, and of the next one, s.
    """

    arm: DemonstratedArm
    run: Run
    first_time: float
    wall_time: float


def perform(arm: DemonstratedArm, seconds: float = 2.0) -> Outcome:
    """Simulate one arm twice.

    Parameters
    ----------
    arm
        One of `ARMS`.
    seconds
        Simulated time of the motion and a short rest at the goal, s.

    Examples
    --------
    >>> outcome = perform(ARMS[0], 1.0)
    >>> outcome.run.sizes["time"]
    1001
    """
    real(seconds, "--seconds", at_least=0.01, at_most=3600.0)
    robot = load(arm.robot)
    setup = experiment(
        robot.with_friction(viscous=0.0, coulomb=0.0),
        robot.with_payload(PAYLOAD, *_STEEL_BALL).with_friction(**arm.friction),
        robot.home + arm.move,
        (1.0 - _REST) * seconds,
        settings=_GAINS,
    )
    setup = replace(setup, duration=seconds, integrator="rk4")
    begin = time.perf_counter()
    simulated(setup, progress=False)
    again = time.perf_counter()
    run = simulated(setup, progress=False)
    return Outcome(arm, run, again - begin, time.perf_counter() - again)


def outcome_table(outcomes: list[Outcome]) -> Table:
    """Return a table of errors, torques and times of the simulated motions."""
    outcome_rows = table(
        f"Computed torque at 1 kHz; its model lacks {PAYLOAD:g} kg at the tool and all friction",
        *(
            "robot",
            ">RMS error, worst joint",
            ">peak error",
            ">peak torque",
            ">simulated",
            ">first run",
            ">next run",
            ">× real time",
        ),
    )
    for outcome in outcomes:
        rows = tracking_summary(outcome.run)
        time_axis = outcome.run["time"].values
        simulated = float(time_axis[-1] - time_axis[0])
        add_row(
            outcome_rows,
            outcome.arm.title,
            error_text(max(row.rms_error for row in rows), "rad"),
            error_text(max(row.peak_error for row in rows), "rad"),
            f"{max(row.peak_effort for row in rows):.1f} N·m",
            f"{simulated:.3g} s",
            f"{outcome.first_time:.2f} s",
            f"{1e3 * outcome.wall_time:.0f} ms",
            f"{simulated / outcome.wall_time:.0f}",
        )
    return outcome_rows


def speed_table(speeds: list[KernelSpeed]) -> Table:
    """Return a table of the times of the compiled computations."""
    speed_rows = table(
        "Kernels of the Panda on this machine (float64; batch of 4,096 states; one thread)",
        *("computation", ">operations", ">per state in a batch", ">one call from Python"),
    )
    for speed in speeds:
        add_row(
            speed_rows,
            speed.title,
            f"{speed.operations:,}",
            f"{1e9 * speed.batched:.0f} ns",
            f"{1e6 * speed.single:.2f} µs",
        )
    return speed_rows
