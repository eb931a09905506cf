"""The experiment that `chasles demo` shows: two real arms under computed torque that knows them only roughly."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.control import ComputedTorque
from chasles.errors import ArgumentError
from chasles.robot import Robot, load
from chasles.simulation import simulate
from chasles.trajectories import PointToPoint

if TYPE_CHECKING:
    from chasles.simulation.results import Run

PAYLOAD = 2.0
"""Mass at the tool that the controllers do not know of, kg."""

_BANDWIDTH = 50.0  # rad/s, of the error's equation, which is critically damped
_KI = 5e4  # 1/s³
_REST = 0.1  # part of the time after the motion
_SOFT = 0.02  # rad/s over which Coulomb friction changes its sign


@dataclass(frozen=True)
class Experiment:
    """One arm of the demonstration.

    Attributes
    ----------
    title
        The robot's usual name.
    robot
        Name of the shipped robot.
    move
        Joint angles from its home to the goal, rad.
    friction
        Friction of the plant, as `Robot.with_friction` takes it; the controller's model has none.
    """

    title: str
    robot: str
    move: tuple[float, ...]
    friction: Mapping[str, Any]


EXPERIMENTS = (
    # The PUMA keeps the friction that was measured on it.
    Experiment("PUMA 560", "puma560", (1.5, 0.5, 1.0, 1.0, 0.6, 1.2), {"coulomb_velocity": _SOFT}),
    # Friction of the size that was identified on such arms (Gaz et al. 2019).
    Experiment(
        "Franka Panda",
        "panda",
        (1.2, 0.7, -0.5, 0.8, 0.6, 0.7, -0.9),
        {
            "viscous": (0.8, 0.8, 0.8, 0.8, 0.3, 0.3, 0.2),
            "coulomb": (0.6, 0.6, 0.6, 0.6, 0.3, 0.3, 0.2),
            "coulomb_velocity": _SOFT,
        },
    ),
)


@dataclass(frozen=True)
class Outcome:
    """A finished experiment.

    Attributes
    ----------
    experiment
        What was done.
    run
        Result of `chasles.simulate`.
    first_time, wall_time
        Seconds that the simulation took the first time, with tracing and compiling, and once more when all is ready.
    """

    experiment: Experiment
    run: Run
    first_time: float
    wall_time: float


def perform(experiment: Experiment, seconds: float = 2.0) -> Outcome:
    """Simulate one arm along a planned motion under computed torque of a wrong model.

    Parameters
    ----------
    experiment
        Which arm and motion.
    seconds
        Simulated time: the motion and a short rest at the goal.

    Examples
    --------
    >>> outcome = perform(EXPERIMENTS[0], 1.0)
    >>> outcome.run.sizes["time"]
    1001
    """
    if not (np.isfinite(seconds) and 0.01 <= seconds <= 3600.0):
        raise ArgumentError(f"the demonstration's time must be from 0.01 to 3600 s, not {seconds:g}")
    arm = load(experiment.robot)
    model = arm.with_friction(viscous=0.0, coulomb=0.0)
    plant = _plant(arm, experiment.friction)
    reference = PointToPoint(arm.home, arm.home + experiment.move, duration=(1.0 - _REST) * seconds)
    controller = ComputedTorque(model, kp=_BANDWIDTH**2, kd=2.0 * _BANDWIDTH, ki=_KI)
    start = time.perf_counter()
    simulate(plant, controller, reference, duration=seconds, period=1e-3, integrator="rk4", progress=False)
    middle = time.perf_counter()
    run = simulate(plant, controller, reference, duration=seconds, period=1e-3, integrator="rk4", progress=False)
    return Outcome(experiment, run, middle - start, time.perf_counter() - middle)


def _plant(arm: Robot, friction: Mapping[str, Any]) -> Robot:
    """The arm with a load at its tool: a steel ball's inertia, some centimetres in front of the flange."""
    ball = 2 / 5 * PAYLOAD * 0.04**2 * np.eye(3)
    return arm.with_payload(PAYLOAD, [0.0, 0.0, 0.05], ball).with_friction(**friction)
