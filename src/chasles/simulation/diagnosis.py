"""Findings about a run: why it diverged, stuck or stood at its effort limits, in terms of the robot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import warn
from chasles.base.findings import Finding, Rule
from chasles.control.linear_law import LARGE_MEMORY
from chasles.control.robot_controller import RobotController, has_rule
from chasles.simulation.bifurcations import BifurcationWarning, bifurcations
from chasles.simulation.closed_loop import ClosedLoop
from chasles.simulation.plant_margin import least_disk_margin
from chasles.trajectories import JointTrajectory

if TYPE_CHECKING:
    from chasles.simulation.results import Run

Floats = NDArray[np.float64]
#: Change of positions and velocities, rad and rad/s (m and m/s), by which a law's gains are measured.
_CHANGE = 1e-6
_LOST = 1.0  # rad or m, of a joint
_MARGIN_PLACES = 5  # of the motion, its start and end among them
#: Error at the end, rad or m, and speed, rad/s or m/s, of a joint that is said to stick.
_FAR, _AT_REST = {"rad": 0.05, "m": 0.01}, 0.01

DIVERGED = Rule(
    "diverged", 0.0, "motions are finite",
    "{value:.0f} of {runs} runs diverged, the first at t = {time:g} s, at {joint} (see `diverged_at` and "
    "`diverged_joint`)", "caution",
)  # fmt: skip
SATURATED = Rule(
    "saturated", 0.5, "a law that saturates for most of the time does not control the motion",
    "{joint} was at its effort limit for {value:.0%} of the time", "caution",
)  # fmt: skip
STICKS = Rule(
    "joint-sticks", 1.0, "goals are missed by less than 0.05 rad or 10 mm",
    "the gain is too low for the friction of {joint}: {friction:.3g} {effort} hold it {missing} off at the end, where "
    "the law gives {stiffness:.3g} {effort}/{unit}; an error below {within} takes kp of {enough:.3g} {effort}/{unit}, "
    "or a law with an integral or friction compensation", "caution",
)  # fmt: skip
SINGULAR = Rule(
    "singular-mass-matrix", 1e-14, "of smaller shares of the largest eigenvalue, rounding leaves no digit",
    "the mass matrix is singular: {joint} moves no mass; give its links mass and inertia, or rotor inertia", "caution",
)  # fmt: skip
DAMPING = Rule(
    "damping-gain-too-high", 2.0, "a velocity feedback that is sampled and held is stable below",
    "{moves}, and kd·T/M = {value:.2g} must be below {limit:g}: lower kd or shorten the period", "caution",
)  # fmt: skip
STIFFNESS = Rule(
    "stiffness-gain-too-high", 4.0, "a position feedback that is sampled and held is stable only below",
    "{moves}, and kp·T²/M = {value:.2g} must be below {limit:g}: lower kp or shorten the period", "caution",
)  # fmt: skip
POSITIVE = Rule(
    "positive-velocity-feedback", 1.0, "such a velocity doubles within a period",
    "{moves}, and its velocity is fed back with positive sign, gain {value:.2g}: compensate less friction", "caution",
)  # fmt: skip
FREE = Rule(
    "steps-too-long", np.nan, "no controller runs, so nothing but the steps can make it diverge",
    "no controller runs, so the motion itself is too fast for the steps: shorten the period, or choose "
    "integrator='dormand-prince'", "caution",
)  # fmt: skip
LOW_MARGIN = Rule(
    "low-margin", 0.3,
    "a disk margin of 0.3 bears gains 0.74 to 1.35 times those of the model on every joint at once",
    "the sampled loop has a disk margin of {value:.2g} along the motion on the plant as it is described, where "
    "{limit:g} bears model errors and payloads: {law}.tuned(robot, motion, {period:g}, delay={delay:.3g}, payload=…), "
    "without frequency=, finds gains with a margin, or says which rate or payload would do", "caution",
)  # fmt: skip
UNEXPLAINED = Rule(
    "unexplained-divergence", np.nan, "no joint's own gains are too high",
    "lower gains, a shorter period or more steps in it may help", "caution",
)  # fmt: skip


class DivergenceWarning(UserWarning):
    """Some runs diverged, or a joint strayed by a radian in an unstable loop.

    ``diverged_at`` and ``diverged_joint`` of the result say when and where.
    """


class SaturationWarning(UserWarning):
    """A joint was at its effort limit most of the time; ``saturation_time`` of the result says how long."""


class StickingWarning(UserWarning):
    """Friction holds a joint away from the end of its reference, because its gain is too low."""


class JointFeedback(NamedTuple):
    """Feedback of each joint's own motion at the start of a run, (n,) each.

    Attributes
    ----------
    inertia
        Inertia of a joint with the others free, kg·m² (kg).
    stiffness, damping
        Change of its torque with its position and its velocity, with opposite sign, N·m/rad and N·m·s/rad.
    """

    inertia: Floats
    stiffness: Floats
    damping: Floats


def told(
    run: Run, loop: ClosedLoop, motion: object, state: Floats, times: Floats, values: Mapping[str, Floats]
) -> tuple[Finding, ...]:
    """Find, and warn of, runs that diverged, bifurcations of robots with loops, and joints that stick or saturate.

    Parameters
    ----------
    run
        The labelled result.
    loop, motion, state, times, values
        Simulated loop, what it follows, states of all runs at the start, times (S, k) of the calls, and values by name.
    """
    setup = (loop, state, times, values)
    groups = (
        (_divergence(run, motion, *setup), DivergenceWarning),
        (_bifurcation(run, loop), BifurcationWarning),
        (_sticking(run, *setup), StickingWarning),
        (_saturation(run, *setup), SaturationWarning),
    )
    for findings, category in groups:
        if findings:
            warn("; ".join(map(str, findings)), category)
    return tuple(finding for findings, _ in groups for finding in findings)


def _divergence(
    run: Run, motion: object, loop: ClosedLoop, state: Floats, times: Floats, values: Mapping[str, Floats]
) -> tuple[Finding, ...]:
    diverged = np.isfinite(run["diverged_at"].values)
    if not diverged.any():  # what strays may be pushed too hard; only an unstable loop is a cause by itself
        low = _low_margin(loop, motion) if _has_lost_its_motion(run) else ()
        return tuple(finding for finding in low if finding.value == 0.0)
    first = int(np.nanargmin(run["diverged_at"].values))
    time, joint = (run[name].values.flat[first] for name in ("diverged_at", "diverged_joint"))
    causes = _causes(loop, state, times, values, first)
    advice = causes or _low_margin(loop, motion) or (UNEXPLAINED if loop.is_controlled else FREE).told(np.nan)
    return (*DIVERGED.told(diverged.sum(), runs=diverged.size, time=float(time), joint=str(joint)), *advice)


def _has_lost_its_motion(run: Run) -> bool:
    """Whether a joint errs by a radian or metre more than at the start, in some run."""
    if "error" not in run:
        return False
    error = np.abs(run["error"].values)
    return bool((error.max(axis=-2) > error[..., 0, :] + _LOST).any())


def _low_margin(loop: ClosedLoop, motion: object) -> tuple[Finding, ...]:
    """Find a low disk margin of the loop at its rate and delay, of laws whose class can find gains with a margin."""
    plant, law = loop.plant, loop.controller
    if not isinstance(law, RobotController) or not has_rule(type(law)) or not isinstance(motion, JointTrajectory):
        return ()
    is_known = plant.motors is None and plant.elastic_joints is None and law.memory_layout.size <= LARGE_MEMORY
    if not is_known or type(law).without_margins(plant.robot):
        return ()
    disk = least_disk_margin(plant, law, motion, loop.period, _MARGIN_PLACES)
    return LOW_MARGIN.below(disk, law=type(law).__name__, period=loop.period, delay=plant.delay / loop.period)


def _bifurcation(run: Run, loop: ClosedLoop) -> tuple[Finding, ...]:
    if not loop.plant.robot.description.loops:
        return ()
    q = run["q"].values
    return bifurcations(loop.plant.robot, q.reshape(-1, *q.shape[-2:]), run["time"].values)


def _saturation(
    run: Run, loop: ClosedLoop, state: Floats, times: Floats, values: Mapping[str, Floats]
) -> tuple[Finding, ...]:
    share = run["saturation_time"].values / (float(times[-1, 0] - times[0, 0]) or 1.0)
    worst, number = np.unravel_index(int(share.argmax()), (share.size // loop.plant.n, loop.plant.n))
    saturated = () if np.isnan(share).all() else SATURATED.above(share.max(), joint=str(run["joint"].values[number]))
    return (*saturated, *_causes(loop, state, times, values, int(worst))) if saturated else ()


def _sticking(
    run: Run, loop: ClosedLoop, state: Floats, times: Floats, values: Mapping[str, Floats]
) -> tuple[Finding, ...]:
    """Find the joint that dry friction holds farthest from the end of its reference.

    A joint sticks where its gain times its error is below its dry friction.
    """
    robot, names = loop.plant.robot, loop.plant.driven_joints
    if not loop.is_controlled or "error" not in run or robot.nq != robot.n or names is None:
        return ()
    error = np.abs(run["error"].values[..., -1, :]).reshape(-1, robot.n)
    resting = np.abs(run["qd"].values[..., -1, :]).reshape(-1, robot.n) < _AT_REST
    arrived = np.abs(run["qd_reference"].values[..., -1, :]).reshape(-1, robot.n) < _AT_REST
    units = [unit.partition("/")[0] for unit in robot.description.velocity_units]
    far = np.array([_FAR[unit] for unit in units])
    stuck = np.where(resting & arrived & (error > far), error / far, 0.0)
    if not stuck.any():
        return ()
    worst = int(stuck.max(axis=1).argmax())
    ends = run["q"].values[..., -1, :].reshape(-1, robot.n)
    friction = _dry_friction(loop, _values_of_run(loop, state, values, worst), names, ends[worst])
    if not friction[stuck[worst] > 0.0].any():
        return ()
    stiffness = _feedback(loop, state, times, values, worst).stiffness
    springs = np.maximum(stiffness, 0.0)  # a law that feeds no position back wants none held
    held = np.where((springs > 0.0) & (springs * error[worst] <= friction), stuck[worst], 0.0)
    if not held.any():
        return ()
    joint = int(held.argmax())
    unit, missing = units[joint], float(error[worst, joint])
    return STICKS.above(
        missing / far[joint],
        joint=robot.velocity_names[joint],
        friction=float(friction[joint]),
        stiffness=abs(float(stiffness[joint])),
        enough=float(friction[joint] / far[joint]),
        missing=f"{np.degrees(missing):.3g}°" if unit == "rad" else f"{missing:.3g} m",
        within=f"{np.degrees(far[joint]):.2g}°" if unit == "rad" else f"{far[joint]:g} m",
        effort="N·m" if unit == "rad" else "N",
        unit=unit,
    )


def _dry_friction(loop: ClosedLoop, values: Mapping[str, Floats], joints: Sequence[str], q: Floats) -> Floats:
    """Dry friction of each joint at rest at q, (n,), N·m, from the description and the friction effect.

    Friction of the load is that of the robot's weight, and a joint feels that of all motors that it turns.
    """
    robot = loop.plant.robot
    description = robot.description

    def of_joints(parameter: str) -> Floats:
        described = {name: np.array(getattr(description.joint(name), parameter)) for name in joints}
        return np.array([float(values.get(f"joints.{name}.{parameter}", own)) for name, own in described.items()])

    friction, shares = of_joints("coulomb_friction"), of_joints("load_friction")
    if shares.any():
        varied = {name: values[name] for name in loop.varied if name in robot.parameters}
        at_rest = (np.asarray(part(q, vary=varied)) for part in (robot.gravity_torque, robot.position_torque))
        weight, of_position = at_rest
        friction = friction + shares * np.abs(np.linalg.solve(description.drive_coupling.T, weight - of_position))
    if description.has_coupled_drives and not description.loops:
        friction = np.abs(description.drive_coupling.T) @ friction
    if loop.plant.friction is not None:
        friction = friction + loop.equations.numbers.of("friction", values)["breakaway"]
    return friction


def _values_of_run(loop: ClosedLoop, state: Floats, values: Mapping[str, Floats], run: int) -> dict[str, Floats]:
    """Values of one run of a batch, by name."""
    batch = state.shape[:-1]
    chosen = np.unravel_index(run, batch) if batch else ()
    return {
        name: np.broadcast_to(value, (*batch, *loop.shapes[name]))[chosen]
        for name, value in values.items()
        if name in loop.shapes
    }


def _causes(
    loop: ClosedLoop, state: Floats, times: Floats, values: Mapping[str, Floats], run: int
) -> tuple[Finding, ...]:
    """Find the joint whose gain is too high for the period, if one is."""
    robot, T = loop.plant.robot, loop.period
    q = loop.layout.split(state.reshape(-1, state.shape[-1])[run]).plant.q
    masses, directions = np.linalg.eigh(robot.mass_matrix(q))
    massless = robot.velocity_names[int(np.argmax(np.abs(directions[:, 0])))]
    singular = SINGULAR.below(masses[0] / masses[-1] if masses[-1] > 0.0 else 0.0, joint=massless)
    if singular or robot.nq != robot.n:
        return singular
    feedback = _feedback(loop, state, times, values, run)
    damping, stiffness = feedback.damping * T / feedback.inertia, feedback.stiffness * T**2 / feedback.inertia
    shares = np.array([-damping / POSITIVE.limit, damping / DAMPING.limit, stiffness / STIFFNESS.limit])
    joint = int(np.argmax(shares.max(axis=0)))
    unit = "kg" if robot.description.velocity_units[joint] == "m/s" else "kg·m²"
    moves = f"{robot.velocity_names[joint]} moves {feedback.inertia[joint]:.2g} {unit}"
    if not any(part.motor_inertia for part in robot.description.joints) and loop.plant.motors is None:
        moves += " without rotor inertia (robot.with_motor_inertia gives it)"
    return (
        POSITIVE.above(-damping[joint], moves=moves)
        or DAMPING.above(damping[joint], moves=moves)
        or STIFFNESS.above(stiffness[joint], moves=moves)
    )


def _feedback(loop: ClosedLoop, state: Floats, times: Floats, values: Mapping[str, Floats], run: int) -> JointFeedback:
    """Measure the gains of the law at the start of a run, by differences."""
    batch = state.shape[:-1]
    chosen = np.unravel_index(run, batch) if batch else ()
    of_run = _values_of_run(loop, state, values, run)
    vector = next(loop.inputs.each_call(times[:1, :1]))
    given = loop.inputs.layout.split(np.broadcast_to(vector, (*batch, vector.shape[-1]))[chosen])

    def torque(part: str, joint: int, change: float) -> float:
        now = loop.layout.split(state[chosen].copy())
        now.plant[part][joint] += change
        return float(loop.call(given, now, of_run).recorded[2][joint])

    def gains(part: str) -> Floats:
        joints = range(loop.plant.n)
        return np.array([torque(part, k, -_CHANGE) - torque(part, k, _CHANGE) for k in joints]) / (2.0 * _CHANGE)

    described = {name: of_run[name] for name in loop.varied if name in loop.plant.robot.parameters}
    q = loop.layout.split(state[chosen]).plant.q
    mobility = np.asarray(loop.plant.robot.inverse_mass_matrix(q, vary=described))
    return JointFeedback(1.0 / np.diagonal(mobility), gains("q"), gains("qd"))
