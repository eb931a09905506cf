"""Whether the columns of a recording can be what they are read as: units, limits, saturated efforts, velocities.

Nothing is converted on a guess. A unit that nobody told and that cannot be SI is an error that offers the declaration;
columns that contradict each other or the robot are findings, by which `chasles.identify` refuses the log.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.base.findings import Finding, Rule
from chasles.identification.logs.logged_signals import LoggedSignals
from chasles.model.placement import FloatArray
from chasles.robot.robot import Robot, independent_coordinates

HALF = np.sqrt(0.5)
"""Correlation from which one signal explains more than half of another's variance."""
HALF_WAY = np.sqrt(np.degrees(1.0))
"""Factor half way, on a logarithmic scale, from 1 to the smallest factor between units, that of degrees."""

UNDECLARED_TIME = Rule(
    "undeclared-time-unit", 0.4,
    "at 2.5 samples a second the filters leave less than 1 Hz of a motion, where hardly any inertia is felt",
    "the unit of the times is not told, and as seconds {how}; declare units={{'time': '{unit}'}} (--unit time={unit}) "
    "if they are in {unit}, or units={{'time': 's'}} (--unit time=s)", "refusal",
)  # fmt: skip
UNDECLARED_DEGREES = Rule(
    "undeclared-position-unit", HALF_WAY, "half way, on a logarithmic scale, from a joint's range to that in degrees",
    "the unit of the positions is not told, and as radians '{joint}' would leave its limits by {value:.3g} times their "
    "range; declare units={{'q': 'deg'}} (--unit q=deg) if they are in degrees, or units={{'q': 'rad'}} (--unit q=rad)",
    "refusal",
)  # fmt: skip
BEYOND_LIMITS = Rule(
    "beyond-limits", 0.2, "no stop of a joint gives way by a fifth of its range",
    "joint '{joint}' moves from {least:.3g} to {most:.3g} rad, far beyond its limits {lower:.3g} to {upper:.3g} rad: "
    "another robot, other units (units=, --unit), or positions of the motors (motor_from_joint=, --reductions)",
    "refusal",
)  # fmt: skip
TOO_FAST = Rule(
    "too-fast", HALF_WAY,
    "half way, on a logarithmic scale, from the limit to the smallest factor between units, that of degrees",
    "joint '{joint}' moves at {rate:.3g} {unit}/s, {value:.3g} times its velocity limit: times in another unit "
    "(units=, --unit), or positions of the motors (motor_from_joint=, --reductions)", "refusal",
)  # fmt: skip
NOT_MEASURED = Rule(
    "effort-constant", 0.0, "a measured effort has noise at least",
    "the effort of '{joint}' is constant, so it was not measured; its friction stays near the prior's", "caution",
)  # fmt: skip
SATURATED = Rule(
    "saturated-effort", 0.0, "where the drive gives its most, the motion may need more than is measured",
    "the effort of '{joint}' stays at {extreme:.4g} in {value:.0f} samples: saturated; they and those that the filter "
    "mixes with them are left out of the fit",
)  # fmt: skip
OVER_LIMIT = Rule(
    "effort-beyond-limit", 1.05, "torque sensors and motor constants are right to a few percent",
    "the effort of '{joint}' reaches {value:.3g} times the model's limit, so its unit may not be N·m", "caution",
)  # fmt: skip
VELOCITY_CONSTANT = Rule(
    "velocity-constant", 0.0, "a measured velocity has noise at least",
    "the velocity of '{joint}' is constant, so it was not measured",
)  # fmt: skip
OPPOSITE = Rule(
    "velocity-opposite", -HALF, "below it more than half of the slope is the velocity with the opposite sign",
    "the velocity of '{joint}' has the opposite sign of its position's slope (correlation {value:.2f})", "refusal",
)  # fmt: skip
SWAPPED = Rule(
    "velocity-swapped", HALF, "above it more than half of the slope is the other joint's velocity",
    "the position of '{joint}' moves with the velocity column of '{other}' (correlation {value:.2f}, its own "
    "{own:.2f}): columns are swapped", "refusal",
)  # fmt: skip
UNLIKE = Rule(
    "velocity-unlike", HALF, "below it the velocity explains less than half of its position's slope",
    "the velocity of '{joint}' does not fit its position (correlation {value:.2f}); not used", "caution",
)  # fmt: skip
ANOTHER_UNIT = Rule(
    "velocity-unit", 1.25, "such a velocity would make viscous friction a quarter too small or too large",
    "the velocity of '{joint}' is {ratio:.3g} times the slope of its position: another unit (units={{'qd': …}}, "
    "--unit qd=…) or the motor's; not used", "caution",
)  # fmt: skip


def checked_clock(recording: LoggedSignals) -> None:
    """Raise `ArgumentError` if times of an undeclared unit cannot be seconds.

    Measured velocities tell by their size; without them a sample period does that no robot is logged with.
    """
    steps = np.diff(recording.time)
    if not (steps > 0.0).any():
        return
    period = float(np.median(steps[steps > 0.0]))
    powers = [power for power in (0, 3, 6, 9) if period * 10.0**-power <= UNDECLARED_TIME.limit]
    power = powers[0] if powers else 0
    how = f"the sample period would be {period:.4g} s"
    if recording.qd is not None:
        shifts = np.diff(recording.q, axis=0)[steps > 0.0]
        paths = (recording.qd[1:] * steps[:, None])[steps > 0.0]
        ratio = np.sum(paths * shifts, axis=0) / np.maximum(np.sum(shifts**2, axis=0), 1e-300)
        factor = float(np.median(ratio))
        told = min((0, 3, 6, 9), key=lambda k: abs(np.log10(max(factor, 1e-300)) - k))
        if 0.5 < factor * 10.0**-told < 2.0:  # gears reduce by less than 500, degrees are 57 to a radian
            power, how = told, f"velocities would be {factor:.3g} times as fast as the positions"
    if power > 0:
        unit = {3: "ms", 6: "us", 9: "ns"}[power]
        raise ArgumentError(str(UNDECLARED_TIME.told(period, how=how, unit=unit)[0]))


def checked_positions(recording: LoggedSignals, robot: Robot, unit_known: bool) -> tuple[Finding, ...]:
    """Find the joint that is farthest outside of its limits.

    Whether degrees were meant is asked of joints without limits, too: in radians they would make more than two turns.

    Raises
    ------
    ArgumentError
        If the unit is not told, and all joints were within their limits in degrees.
    """
    turning = np.array([unit == "rad" for unit in robot.description.displacement_units])
    places = independent_coordinates(robot, "a log")
    lowest, highest = robot.lower_limits[places], robot.upper_limits[places]
    turning &= highest > lowest  # some files have zeros for unknown limits
    lower, upper = np.maximum(lowest, -4 * np.pi), np.minimum(highest, 4 * np.pi)
    room = np.where(turning, upper - lower, 1.0)

    def beyond(q: FloatArray) -> FloatArray:
        return np.where(turning, np.maximum(lower - q.min(axis=0), q.max(axis=0) - upper) / room, 0.0)

    def wound(q: FloatArray) -> FloatArray:
        """Angles without jumps, in the revolution of the limits: encoders count from 0 to 360°."""
        smooth = np.asarray(np.unwrap(q, axis=0), dtype=np.float64)
        away = 0.5 * (smooth.min(axis=0) + smooth.max(axis=0) - lower - upper)
        return np.asarray(smooth - 2.0 * np.pi * np.rint(away / (2.0 * np.pi)), dtype=np.float64)

    far = beyond(recording.q)
    joint = int(np.argmax(far))
    name = robot.velocity_names[joint]
    degrees = UNDECLARED_DEGREES.above(far[joint], joint=name)
    if degrees and not unit_known and (beyond(wound(np.radians(recording.q))) <= BEYOND_LIMITS.limit).all():
        raise ArgumentError(str(degrees[0]))
    far = np.where(np.isfinite(lowest) & np.isfinite(highest), np.minimum(far, beyond(wound(recording.q))), 0.0)
    joint = int(np.argmax(far))
    q, limits = recording.q[:, joint], {"lower": lowest[joint], "upper": highest[joint]}
    name = robot.velocity_names[joint]
    return BEYOND_LIMITS.above(far[joint], joint=name, least=float(q.min()), most=float(q.max()), **limits)


def too_fast(recording: LoggedSignals, segments: tuple[slice, ...], robot: Robot) -> tuple[Finding, ...]:
    """Compare the changes of positions over a tenth of each segment, which noise hardly moves, with velocity limits."""
    limits = np.where(robot.velocity_limits > 0.0, robot.velocity_limits, np.inf)
    rates = np.zeros(robot.n)
    for part in segments:
        step = max(1, (part.stop - part.start) // 10)
        q, time = recording.q[part][::step], recording.time[part][::step]
        rates = np.maximum(rates, np.abs(np.diff(q, axis=0) / np.diff(time)[:, None]).max(axis=0, initial=0.0))
    joint = int(np.argmax(rates / limits))
    facts = {
        "joint": robot.velocity_names[joint],
        "rate": float(rates[joint]),
        "unit": robot.description.displacement_units[joint],
    }
    return TOO_FAST.above(rates[joint] / limits[joint], **facts)


def efforts_and_saturation(
    recording: LoggedSignals, robot: Robot
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], list[Finding]]:
    """Tell measured efforts from constant columns, and find saturated samples: joints (n,) and samples (k, n)."""
    names, effort = robot.velocity_names, recording.effort
    constant = np.ptp(effort, axis=0) == 0.0
    findings = [f for joint in np.flatnonzero(constant) for f in NOT_MEASURED.told(0.0, joint=names[joint])]
    saturated = np.zeros(effort.shape, dtype=bool)
    for joint in np.flatnonzero(~constant):
        column, limit = effort[:, joint], float(robot.effort_limits[joint])
        for extreme in (float(column.max()), float(column.min())):
            there = _at_extreme(column, extreme, limit)
            saturated[there, joint] = True
            findings += SATURATED.above(there.sum(), joint=names[joint], extreme=extreme)
        share = np.abs(column).max() / limit if limit > 0.0 else 0.0
        findings += OVER_LIMIT.above(share, joint=names[joint])
    return ~constant, saturated, findings


def _at_extreme(column: FloatArray, extreme: float, limit: float) -> NDArray[np.bool_]:
    """Samples at the effort limit, to three digits, or on a plateau at the extreme value of the column."""
    if 0.0 < 0.999 * limit <= abs(extreme) <= limit * (1.0 + 1e-9):
        return np.asarray(np.sign(extreme) * column >= 0.999 * limit)
    there = column == extreme
    is_plateau = there.sum() >= 5 and (there[1:] & there[:-1]).sum() >= 3 and abs(extreme) > 0.5 * np.abs(column).max()
    return np.asarray(there & is_plateau)


def checked_velocities(
    recording: LoggedSignals, segments: tuple[slice, ...], names: tuple[str, ...]
) -> tuple[LoggedSignals, list[Finding]]:
    """Compare measured velocities with differences of positions; keep them only if all fit."""
    if recording.qd is None:
        return recording, []
    slopes = np.concatenate([np.gradient(recording.q[s], recording.time[s], axis=0) for s in segments])
    rates = np.concatenate([recording.qd[s] for s in segments])
    slopes, rates = slopes - slopes.mean(axis=0), rates - rates.mean(axis=0)
    sizes, others = np.linalg.norm(slopes, axis=0), np.linalg.norm(rates, axis=0)
    moves = (sizes > 1e-6) & (others > 1e-12)
    scale = np.outer(sizes, others)
    likeness = (slopes.T @ rates) / np.where(scale > 0.0, scale, np.inf)
    constant = np.ptp(recording.qd, axis=0) == 0.0
    findings = [f for joint in np.flatnonzero(constant) for f in VELOCITY_CONSTANT.told(0.0, joint=names[joint])]
    for joint in map(int, np.flatnonzero(moves)):
        findings += _unlike(joint, likeness[joint], float(sizes[joint] / others[joint]), names)
    return (recording._replace(qd=None) if findings or not moves.any() else recording), findings


def _unlike(joint: int, likeness: FloatArray, ratio: float, names: tuple[str, ...]) -> tuple[Finding, ...]:
    """Say how a joint's velocity differs from the slope of its position: sign, joint, shape or unit.

    Noise in one of both moves the ratio of their sizes to between ratio · correlation and ratio / correlation.
    """
    own, best = float(likeness[joint]), int(np.argmax(np.abs(likeness)))
    name = names[joint]
    if own >= HALF:
        excess = max(ratio * own, own / ratio)
        return ANOTHER_UNIT.above(excess, joint=name, ratio=1.0 / ratio)
    swapped = SWAPPED.above(abs(likeness[best]), joint=name, other=names[best], own=own) if best != joint else ()
    return OPPOSITE.below(own, joint=name) or swapped or UNLIKE.told(own, joint=name)
