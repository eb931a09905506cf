"""One part of a study: a controller on a robot at a sample rate, over many runs at once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.control.controller import Controller
from chasles.control.friction_rate import fastest_friction_rate
from chasles.integrators import Steps
from chasles.model import parse_toml
from chasles.robot.robot import Robot
from chasles.simulation import Recording, simulate
from chasles.simulation.call_inputs import ScheduledValues
from chasles.simulation.preparation import call_times, scheduled
from chasles.simulation.references import TangentReference, loop_reference
from chasles.studies.checks import placed
from chasles.studies.choices import StudyRobot, motion_through
from chasles.studies.controllers import attained_poles, make_controller
from chasles.studies.definition import Definition
from chasles.studies.design import Runs, draw, wrong_parameters
from chasles.studies.measures import measure
from chasles.studies.unknown_plants import StudiedRobot, fastest_effect, plant_of, values_of
from chasles.trajectories.joint.closed import on_manifold

Floats = NDArray[np.float64]

_SAMPLES = 1000  # of a run that is measured, at most
_NAMED = 3  # controllers that a warning names
_STABLE = 2.0  # longest step of the Runge-Kutta method times the friction's rate


@dataclass(frozen=True)
class RunBatch:
    """Runs of one controller on one robot at one sample rate with one delay.

    Attributes
    ----------
    robot, controller
        Indices into the study's robots and controllers.
    rate
        Sample rate, Hz.
    delay
        Delay, in sample periods.
    first, last
        Half-open range of run indices that share this rate and delay.
    """

    robot: int
    controller: int
    rate: float
    delay: float
    first: int
    last: int

    @property
    def runs(self) -> int:
        """Number of runs."""
        return self.last - self.first


def parts(study: Definition) -> list[RunBatch]:
    """Cut a study into parts, in the order in which they are best done: one robot after another."""
    batches = []
    runs = draw(study)
    for robot in range(len(study.robots)):
        for controller, choice in enumerate(study.controllers):
            if not choice.drives(study.robots[robot]):
                continue
            for rate, delay in study.factors.cells:
                count = len(runs.at(rate, delay))
                chunk = study.execution.chunk if study.tuning is None else count  # a search is made once
                for first in range(0, count, chunk):
                    last = min(first + chunk, count)
                    batches.append(RunBatch(robot, controller, rate, delay, first, last))
    return batches


def prepare(study: Definition) -> list[StudiedRobot]:
    """Make the robots' benches, and refuse what cannot work before the long work begins.

    Raises
    ------
    ArgumentError
        If a motion takes more torque than the motors have; if a controller cannot be made.
    """
    benches = [bench(robot, study.factors.coulomb_velocity) for robot in study.robots]
    for robot, studied in zip(study.robots, benches, strict=True):
        if study.execution.torque_limits:
            _check_torques(robot, studied)
        with placed("[factors]"):
            plant_of(study.factors, studied, 1.0 / study.factors.rates[0])
    for part in parts(study):
        if part.first == 0:
            controller_of(study, part)
    return benches


def lowered_frequencies(study: Definition) -> list[str]:
    """Return for each sample rate the controllers that are slower than requested, with the slowest of them."""
    sentences = []
    pairs = [(robot, choice) for robot in study.robots for choice in study.controllers if choice.drives(robot)]
    for rate in study.factors.rates:
        low: dict[str, float] = {}
        for robot, choice in pairs:
            studied = bench(robot, study.factors.coulomb_velocity)
            poles = attained_poles(choice.kind, choice.settings, studied.model, studied.motion, 1.0 / rate)
            if poles is not None and poles.is_lowered:
                share = poles.frequency / poles.wanted
                low[choice.title] = min(share, low.get(choice.title, share))
        if low:
            names = ", ".join(f"'{name}'" for name in list(low)[:_NAMED])
            more = f" and {len(low) - _NAMED} more" if len(low) > _NAMED else ""
            sentences.append(f"at {rate:g} Hz for {names}{more} (down to {100.0 * min(low.values()):.0f} %)")
    return sentences


def controller_of(study: Definition, part: RunBatch, changed: Mapping[str, float] | None = None) -> Controller:
    """Make the controller of a part, with some settings changed.

    Raises
    ------
    ArgumentError
        It cannot be made; the message says which.
    """
    robot, choice = study.robots[part.robot], study.controllers[part.controller]
    studied = bench(robot, study.factors.coulomb_velocity)
    with placed(f"controller '{choice.title}' on robot '{robot.title}' at {part.rate:g} Hz"):
        settings = {**choice.settings, **(changed or {})}
        return make_controller(choice.kind, settings, studied.model, studied.motion, 1.0 / part.rate, delay=part.delay)


@lru_cache(maxsize=16)
def bench(robot: StudyRobot, coulomb_velocity: float) -> StudiedRobot:
    """Make a robot's bench."""
    described = Robot(parse_toml(robot.toml, check=False))
    model = described.with_friction(viscous=0.0, coulomb=0.0, coulomb_velocity=coulomb_velocity)
    motion = on_manifold(model, motion_through(robot.times, robot.waypoints))
    planned = motion(np.linspace(0.0, motion.duration, 501))
    torque = model.inverse_dynamics(planned.q, planned.qd, planned.qdd)
    peak_torque, top_speed = np.abs(torque).max(axis=0), np.abs(planned.qd).max(axis=0)
    inertia = np.diagonal(model.mass_matrix(planned.q), axis1=-2, axis2=-1).mean(axis=0)
    return StudiedRobot(model, motion, peak_torque, top_speed, inertia)


def perform(study: Definition, part: RunBatch, controller: Controller) -> dict[str, Floats]:
    """Simulate the runs of a part and measure them.

    Parameters
    ----------
    study, part
        Study, and the part of it to simulate.
    controller
        The controller, of `controller_of`.

    Returns
    -------
    dict
        The arrays of `chasles.studies.measures.measure`, with one row a run.
    """
    studied = bench(study.robots[part.robot], study.factors.coulomb_velocity)
    drawn = draw(study)
    chosen = drawn.at(part.rate, part.delay)[part.first : part.last]
    period = 1.0 / part.rate
    vary = plant_values(study, studied, drawn, chosen)
    duration, stride = _timing(study, studied, period)
    plant = plant_of(study.factors, studied, period)
    run = simulate(
        plant.with_drives(delay=part.delay * period, effort_limits=study.execution.torque_limits),
        controller,
        studied.motion,
        duration=duration,
        period=period,
        vary=vary,
        integrator=Steps("rk4", _substeps(study, studied, period)),
        record=Recording(every=stride),
        progress=False,
    )
    return measure(studied.model, studied.peak_torque, run, study.execution.lost_beyond)


def size_of(study: Definition, part: RunBatch) -> tuple[int, int]:
    """Numbers of coordinates and velocities of a part's robot."""
    model = bench(study.robots[part.robot], study.factors.coulomb_velocity).model
    return model.nq, model.n


def schedule_of(study: Definition, part: RunBatch, controller: Controller) -> ScheduledValues | None:
    """Values that a controller computes before the runs of a part begin, for every call; None for most."""
    if not controller.has_schedule:
        return None
    studied, period = bench(study.robots[part.robot], study.factors.coulomb_velocity), 1.0 / part.rate
    reference = loop_reference(studied.motion)
    if studied.model.nq != studied.model.n:
        reference = TangentReference(studied.model, reference)
    duration, stride = _timing(study, studied, period)
    times = call_times(duration, period, stride).ravel()
    return scheduled(controller, times, reference, reference.parameters)


def _timing(study: Definition, studied: StudiedRobot, period: float) -> tuple[float, int]:
    """Duration of a run, s, and number of periods from one recorded sample to the next."""
    duration = float(studied.motion.duration) + study.execution.rest
    return duration, max(1, round(duration / period / _SAMPLES))


def plant_values(study: Definition, studied: StudiedRobot, runs: Runs, chosen: NDArray[np.intp]) -> dict[str, Floats]:
    """Parameters of the plant in the chosen runs, as ``vary=`` takes them."""
    factors = study.factors
    _, first = np.unique(runs.point, return_index=True)  # the first run with each combination of unknowns
    wrong = wrong_parameters(studied.model, runs["model_error"][first], factors.model_error[1], study.design.seed)
    values = {name: value[runs.point[chosen]] for name, value in wrong.items()}
    unknowns = {name: value[chosen] for name, value in runs.unknowns.items()}
    return values | values_of(factors, studied, unknowns, study.execution.step)


def _substeps(study: Definition, studied: StudiedRobot, period: float) -> int:
    """Steps in a period that are short enough for the fastest effect of the study, along the whole motion."""
    factors, step = study.factors, study.execution.step
    strongest = values_of(
        factors.of_friction_only(), studied, {"payload": np.zeros(1), "friction": np.array([factors.friction[1]])}, step
    )
    times = np.linspace(0.0, studied.motion.duration, 5)
    dry = 1.0 + factors.static_friction[1] + factors.position_friction[1]
    rate = dry * max(fastest_friction_rate(studied.model, q, strongest) for q in studied.motion(times).q)
    lightest = 1.0 - factors.model_error[1]
    needed = math.ceil(max(rate / lightest, fastest_effect(factors, studied, step)) * period / _STABLE)
    return max(math.ceil(period / step * (1.0 - 1e-9)), needed)


def _check_torques(robot: StudyRobot, studied: StudiedRobot) -> None:
    for name, torque, limit in zip(
        studied.model.velocity_names, studied.peak_torque, studied.model.effort_limits, strict=True
    ):
        if torque > limit:
            raise ArgumentError(
                f"robot '{robot.title}': the motion takes {torque:.4g} of joint '{name}', more than its motor's "
                f"{limit:.4g}; choose a longer duration, or set torque_limits = false"
            )
