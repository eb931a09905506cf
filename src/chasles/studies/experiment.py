"""One part of a study: a controller on a robot at a sample rate, over many runs at once."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.control.controller import Controller
from chasles.control.friction_rate import fastest_friction_rate
from chasles.control.loop_margins import LoopMargins, loop_margins
from chasles.control.margin_design import DesignError
from chasles.control.robot_controller import RobotController
from chasles.integrators import Steps, Within
from chasles.simulation import Recording, simulate
from chasles.simulation.call_inputs import ScheduledValues
from chasles.simulation.preparation import Setup, call_times
from chasles.simulation.references import TangentReference, loop_reference
from chasles.simulation.schedules import scheduled
from chasles.studies.bench import StudiedRobot, bench, loaded_torque
from chasles.studies.checks import placed
from chasles.studies.choices import StudyRobot
from chasles.studies.controllers import MARGIN, attained_poles, make_controller
from chasles.studies.definition import Definition
from chasles.studies.design import Runs, draw, wrong_parameters
from chasles.studies.measures import LOOP, measure
from chasles.studies.settings import MOST_RUNS
from chasles.studies.unknown_plants import fastest_effect, nominal_springs, plant_of, values_of

Floats = NDArray[np.float64]

_SAMPLES = 1000  # of a run that is measured, at most
_NAMED = 3  # controllers that a warning names
_RTOL, _ATOL = 1e-5, 1e-7  # of controlled steps: far below the errors that are measured
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
    benches = [bench(study, robot) for robot in study.robots]
    for robot, studied in zip(study.robots, benches, strict=True):
        if study.execution.torque_limits:
            _check_torques(robot, studied)
            if beyond_motors(study, robot, draw(study)).all():
                raise ArgumentError(
                    f"robot '{robot.title}': in each run the motion takes more torque than the motors have; choose a "
                    "longer duration, less payload or friction, or limits relative to them, such as torque_limits = 1.5"
                )
        with placed("[factors]"):
            plant_of(study.factors, studied)
    tried: set[tuple[int, int]] = set()
    for part in parts(study):
        pair = part.robot, part.controller
        if part.first == 0 and not (pair in tried and MARGIN in study.controllers[part.controller].settings):
            with contextlib.suppress(DesignError):  # a refusal is a result
                controller_of(study, part)
            tried.add(pair)
    return benches


def lowered_frequencies(study: Definition) -> list[str]:
    """Return for each sample rate the controllers that are slower than requested, with the slowest of them."""
    sentences = []
    pairs = [(robot, choice) for robot in study.robots for choice in study.controllers if choice.drives(robot)]
    for rate in study.factors.rates:
        low: dict[str, float] = {}
        for robot, choice in pairs:
            studied = bench(study, robot)
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
    DesignError
        It is refused: no gains have the margin that is asked for.
    """
    robot, choice = study.robots[part.robot], study.controllers[part.controller]
    studied = bench(study, robot)
    with placed(f"controller '{choice.title}' on robot '{robot.title}' at {part.rate:g} Hz"):
        settings = {**study.settings_of(choice), **(changed or {})}
        try:
            return make_controller(
                choice.kind,
                settings,
                studied.model,
                studied.motion,
                1.0 / part.rate,
                delay=part.delay,
                elastic_joints=nominal_springs(study.factors, studied),
            )
        except DesignError as error:
            refusal = error
    raise refusal


def loop_of(study: Definition, part: RunBatch, controller: Controller) -> Floats:
    """Return the `LOOP` numbers of a part's loop as it runs along the motion, from linear models without unknowns.

    Elastic joints have the mean stiffness. NaN for laws that learn, whose linearisation does not say what they will
    have learnt, for those that cannot be traced, and for those that `loop_margins` refuses.
    """
    law: Controller | None = controller
    while law is not None:
        if not law.traceable or (isinstance(law, RobotController) and law.knows.learns and not law.is_linear):
            return np.full(len(LOOP), np.nan)
        law = law.inner
    try:
        margins = margins_of(study, part, controller)
    except (ArgumentError, np.linalg.LinAlgError):
        return np.full(len(LOOP), np.nan)
    return np.array([margins.disk.min(), np.log(max(margins.radius.max(), 1e-300)) * part.rate, margins.growth])


def margins_of(study: Definition, part: RunBatch, controller: Controller, payload: float = 0.0) -> LoopMargins:
    """Return the margins of a part's loop; elastic joints have the mean stiffness, and the plant a payload, kg."""
    studied = bench(study, study.robots[part.robot])
    springs = nominal_springs(study.factors, studied)
    return loop_margins(
        studied.model.with_payload(payload, study.factors.payload_center) if payload else studied.model,
        controller,
        studied.motion,
        period=1.0 / part.rate,
        delay=part.delay,
        velocity="measured",
        elastic_joints=springs,
        side="link" if springs is None else "motor",
    )


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
    studied = bench(study, study.robots[part.robot])
    setup, values = setup_of(study, part, controller)
    run = simulate(
        setup.plant,
        controller,
        setup.motion,
        duration=setup.duration,
        period=setup.period,
        vary=values,
        integrator=setup.integrator,
        record=Recording(every=_timing(study, studied, setup.period)[1]),
        progress=False,
    )
    return measure(studied.model, studied.peak_torque, run, study.execution.lost_beyond)


def setup_of(study: Definition, part: RunBatch, controller: Controller) -> tuple[Setup, dict[str, Floats]]:
    """Loop of a part and how it is simulated, and the plant's parameters in its runs."""
    studied = bench(study, study.robots[part.robot])
    drawn = draw(study)
    chosen = drawn.at(part.rate, part.delay)[part.first : part.last]
    period = 1.0 / part.rate
    values = plant_values(study, studied, drawn, chosen)
    if study.factors.has_timing_faults:
        values["timing.seed"] = np.asarray((study.design.seed * MOST_RUNS + chosen) % 2**53, dtype=np.float64)
    limited = bool(study.execution.torque_limits)
    plant = plant_of(study.factors, studied, controller.reads_motors)
    plant = plant.with_drives(delay=part.delay * period, effort_limits=limited)
    duration, steps = _timing(study, studied, period)[0], _steps(study, studied, period)
    return Setup(plant, controller, studied.motion, duration, period, None, steps), values


def size_of(study: Definition, part: RunBatch) -> tuple[int, int]:
    """Numbers of coordinates and velocities of a part's robot."""
    model = bench(study, study.robots[part.robot]).model
    return model.nq, model.n


def schedule_of(study: Definition, part: RunBatch, controller: Controller) -> ScheduledValues | None:
    """Values that a controller computes before the runs of a part begin, for every call; None for most."""
    if not controller.has_schedule:
        return None
    studied, period = bench(study, study.robots[part.robot]), 1.0 / part.rate
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
    values = _wrong_values(study, studied, runs, chosen)
    unknowns = {name: value[chosen] for name, value in runs.unknowns.items()}
    return values | values_of(factors, studied, unknowns, study.execution.step, 1.0 / float(runs.rate[chosen[0]]))


def beyond_motors(study: Definition, robot: StudyRobot, runs: Runs) -> NDArray[np.bool_]:
    """Return the runs that no law can do: somewhere the planned motion takes more torque than the motors may give.

    It takes it with the run's payload, friction and errors of the model. The force at the tip is left out.
    """
    studied = bench(study, robot)
    limits = studied.model.effort_limits
    if not study.execution.torque_limits or np.isinf(limits).all():
        return np.zeros(len(runs), dtype=np.bool_)
    wrong = _wrong_values(study, studied, runs, np.arange(len(runs)))
    needed = loaded_torque(study.factors, studied, runs.unknowns, wrong)
    beyond: NDArray[np.bool_] = np.asarray((needed > limits).any(axis=-1), dtype=np.bool_)
    return beyond


def _wrong_values(study: Definition, studied: StudiedRobot, runs: Runs, chosen: NDArray[np.intp]) -> dict[str, Floats]:
    """Parameters of the model that are in error, in the chosen runs."""
    _, first = np.unique(runs.point, return_index=True)  # the first run with each combination of unknowns
    error, largest = runs["model_error"][first], study.factors.model_error[1]
    wrong = wrong_parameters(studied.model, error, largest, study.design.seed)
    return {name: value[runs.point[chosen]] for name, value in wrong.items()}


def _steps(study: Definition, studied: StudiedRobot, period: float) -> Steps | Within:
    """Steps of a fixed length; where torques arrive at drawn times, those that the error controls."""
    if study.factors.has_timing_faults:
        return Within("dormand-prince", rtol=_RTOL, atol=_ATOL)
    return Steps("rk4", _substeps(study, studied, period))


def _substeps(study: Definition, studied: StudiedRobot, period: float) -> int:
    """Steps in a period that are short enough for the fastest effect of the study, along the whole motion."""
    factors, step = study.factors, study.execution.step
    largest = {"payload": np.zeros(1), "friction": np.array([factors.friction[1]])}
    strongest = values_of(factors.of_friction_only(), studied, largest, step, period)
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
