"""Why a run diverged or stood at its effort limits, in terms of the robot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import warn
from chasles.simulation.bifurcations import warn_of_bifurcations
from chasles.simulation.closed_loop import ClosedLoop

if TYPE_CHECKING:
    from chasles.simulation.results import Run

Floats = NDArray[np.float64]
#: A velocity feedback, sampled and held, is stable for kd·T/M below 2; a position feedback for kp·T²/M below 4.
_STABLE_DAMPING, _STABLE_STIFFNESS = 2.0, 4.0
#: Change of positions and velocities, rad and rad/s (m and m/s), by which a law's gains are measured.
_CHANGE = 1e-6
#: Smallest eigenvalue of a mass matrix that can be solved for, as a share of the largest.
_SINGULAR = 1e-14
#: Share of the time at an effort limit beyond which a run is warned of.
_MOST_SATURATED = 0.5


#: Advice for a run that diverges without a controller.
_FREE = (
    "no controller runs, so the motion itself is too fast for the steps: shorten the period, give substeps, or choose "
    "integrator='dormand-prince'"
)
#: Error at the end, rad or m, and speed, rad/s or m/s, of a joint that is said to stick.
_FAR, _AT_REST = {"rad": 0.05, "m": 0.01}, 0.01


class DivergenceWarning(UserWarning):
    """Some runs left the finite numbers; ``diverged_at`` and ``diverged_joint`` of the result say when and where."""


class SaturationWarning(UserWarning):
    """A joint stood at its effort limit for most of the time; ``saturation_time`` of the result says how long."""


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


def warn_of(run: Run, loop: ClosedLoop, state: Floats, times: Floats, values: Mapping[str, Floats]) -> None:
    """Warn of runs that diverged, of bifurcations of robots with loops, and of joints that stood at effort limits.

    Parameters
    ----------
    run
        The labelled result.
    loop, state, times, values
        Simulated loop: states of all runs at the start, times (S, k) of the calls, values by name.
    """
    diverged = np.isfinite(run["diverged_at"].values)
    if diverged.any():
        first = int(np.nanargmin(run["diverged_at"].values))
        time, joint = (run[name].values.flat[first] for name in ("diverged_at", "diverged_joint"))
        said = f"{int(diverged.sum())} of {diverged.size} runs diverged, the first at t = {time:g} s, at {joint}"
        reason = _reason(loop, state, times, values, first)
        advice = reason or ("lower gains, a shorter period or more substeps may help" if loop.is_controlled else _FREE)
        warn(f"{said} (see `diverged_at` and `diverged_joint`); {advice}", DivergenceWarning)
    if loop.plant.robot.description.loops:
        q = run["q"].values
        warn_of_bifurcations(loop.plant.robot, q.reshape(-1, *q.shape[-2:]), run["time"].values)
    warn_of_sticking(run, loop, state, times, values)
    span = float(times[-1, 0] - times[0, 0])
    share = run["saturation_time"].values / (span or 1.0)
    if share.max() > _MOST_SATURATED:
        worst, number = np.unravel_index(int(share.argmax()), (share.size // loop.plant.n, loop.plant.n))
        joint = str(run["joint"].values[number])
        said = f"{joint} was at its effort limit for {share.max():.0%} of the time"
        reason = _reason(loop, state, times, values, int(worst))
        warn(f"{said}{'; ' + reason if reason else ''}", SaturationWarning)


def warn_of_sticking(run: Run, loop: ClosedLoop, state: Floats, times: Floats, values: Mapping[str, Floats]) -> None:
    """Warn of the joint that dry friction holds farthest from the end of its reference.

    A joint sticks where its gain times its error is below its dry friction.
    """
    robot, names = loop.plant.robot, loop.plant.driven_joints
    if not loop.is_controlled or "error" not in run or robot.nq != robot.n or names is None:
        return
    error = np.abs(run["error"].values[..., -1, :]).reshape(-1, robot.n)
    resting = np.abs(run["qd"].values[..., -1, :]).reshape(-1, robot.n) < _AT_REST
    arrived = np.abs(run["qd_reference"].values[..., -1, :]).reshape(-1, robot.n) < _AT_REST
    units = [unit.partition("/")[0] for unit in robot.velocity_units]
    far = np.array([_FAR[unit] for unit in units])
    stuck = np.where(resting & arrived & (error > far), error / far, 0.0)
    if not stuck.any():
        return
    worst = int(stuck.max(axis=1).argmax())
    friction = _dry_friction(loop, _values_of_run(loop, state, values, worst), names)
    if not friction[stuck[worst] > 0.0].any():
        return
    stiffness = _feedback(loop, state, times, values, worst).stiffness
    springs = np.maximum(stiffness, 0.0)  # a law that feeds no position back wants none held
    held = np.where((springs > 0.0) & (springs * error[worst] <= friction), stuck[worst], 0.0)
    if not held.any():
        return
    joint = int(held.argmax())
    unit, missing = units[joint], error[worst, joint]
    size = f"{np.degrees(missing):.3g}°" if unit == "rad" else f"{missing:.3g} m"
    effort = "N·m" if unit == "rad" else "N"
    enough = friction[joint] / far[joint]
    within = f"{np.degrees(far[joint]):.2g}°" if unit == "rad" else f"{far[joint]:g} m"
    warn(
        f"the gain is too low for the friction of {robot.velocity_names[joint]}: {friction[joint]:.3g} {effort} hold "
        f"it {size} off at the end, where the law gives {abs(stiffness[joint]):.3g} {effort}/{unit}; an error below "
        f"{within} takes kp of {enough:.3g} {effort}/{unit}, or a law with an integral or friction compensation",
        StickingWarning,
    )


def _dry_friction(loop: ClosedLoop, values: Mapping[str, Floats], joints: Sequence[str]) -> Floats:
    """Dry friction of each joint at rest, (n,), N·m, from the description and the friction effect."""
    description = loop.plant.robot.description
    own = [
        values.get(f"joints.{name}.coulomb_friction", np.array(description.joint(name).coulomb_friction))
        for name in joints
    ]
    friction = np.array([float(value) for value in own])
    if loop.plant.friction is not None:
        friction = friction + loop.equations.values_of("friction", values)["breakaway"]
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


def _reason(loop: ClosedLoop, state: Floats, times: Floats, values: Mapping[str, Floats], run: int) -> str | None:
    """Say which joint's gain is too high for the period, if one is."""
    robot, T = loop.plant.robot, loop.period
    q = loop.layout.split(state.reshape(-1, state.shape[-1])[run]).plant.q
    masses, directions = np.linalg.eigh(robot.mass_matrix(q))
    if not masses[0] > _SINGULAR * masses[-1]:
        name = robot.velocity_names[int(np.argmax(np.abs(directions[:, 0])))]
        return f"the mass matrix is singular: {name} moves no mass; give its links mass and inertia, or rotor inertia"
    if robot.nq != robot.n:
        return None
    own = _feedback(loop, state, times, values, run)
    damping, stiffness = own.damping * T / own.inertia, own.stiffness * T**2 / own.inertia
    excess = np.maximum(np.maximum(damping / _STABLE_DAMPING, stiffness / _STABLE_STIFFNESS), -damping)
    joint = int(np.argmax(excess))
    if not excess[joint] > 1.0:
        return None
    unit = "kg" if robot.description.velocity_units[joint] == "m/s" else "kg·m²"
    moves = f"{robot.velocity_names[joint]} moves {own.inertia[joint]:.2g} {unit}"
    if not any(part.motor_inertia for part in robot.description.joints) and loop.plant.motors is None:
        moves += " without rotor inertia (robot.with_motor_inertia gives it)"
    if damping[joint] < -1.0:
        gain = -damping[joint]
        return f"{moves}, and its velocity is fed back with positive sign, gain {gain:.2g}: compensate less friction"
    if damping[joint] > _STABLE_DAMPING:
        return f"{moves}, and kd·T/M = {damping[joint]:.2g} must be below 2: lower kd or shorten the period"
    return f"{moves}, and kp·T²/M = {stiffness[joint]:.2g} must be below 4: lower kp or shorten the period"


def _feedback(loop: ClosedLoop, state: Floats, times: Floats, values: Mapping[str, Floats], run: int) -> JointFeedback:
    """Measure the gains of the law at the start of a run, by differences."""
    batch = state.shape[:-1]
    chosen = np.unravel_index(run, batch) if batch else ()
    own = _values_of_run(loop, state, values, run)
    vector = next(loop.inputs.each_call(times[:1, :1]))
    given = loop.inputs.layout.split(np.broadcast_to(vector, (*batch, vector.shape[-1]))[chosen])

    def torque(part: str, joint: int, change: float) -> float:
        now = loop.layout.split(state[chosen].copy())
        now.plant[part][joint] += change
        return float(loop.sample(given, now, own).recorded[2][joint])

    def gains(part: str) -> Floats:
        joints = range(loop.plant.n)
        return np.array([torque(part, k, -_CHANGE) - torque(part, k, _CHANGE) for k in joints]) / (2.0 * _CHANGE)

    described = {name: own[name] for name in loop.varied if name in loop.plant.robot.parameters}
    q = loop.layout.split(state[chosen]).plant.q
    mobility = np.asarray(loop.plant.robot.inverse_mass_matrix(q, vary=described))
    return JointFeedback(1.0 / np.diagonal(mobility), gains("q"), gains("qd"))
