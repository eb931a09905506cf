"""Logs of measured motion: positions, velocities and torques of a robot's joints over time."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import ArgumentError
from chasles.base.findings import Finding
from chasles.engine.validators import choice, real, reals
from chasles.identification.closed_configurations import coupling_of_motors
from chasles.identification.logs.clock import ClockFault, known_faults
from chasles.identification.logs.columns import Columns, Unit, find_columns
from chasles.identification.logs.logged_signals import LoggedSignals
from chasles.identification.logs.recording_faults import inspect
from chasles.identification.logs.tables import read_table
from chasles.mechanics.mechanics import require_first
from chasles.model.placement import FloatArray
from chasles.robot.robot import Robot, independent_coordinates

RESTING = 0.02
"""Motion of a joint, relative to its largest, below which it rests; see `filtering.SLOW`."""
_TIME_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_POSITION_UNITS = {"rad": 1.0, "m": 1.0, "deg": np.pi / 180.0, "mm": 1e-3}
_EFFORT_UNITS = {"N·m": 1.0, "N": 1.0, "A": 1.0, "mA": 1e-3}
_UNITS = {"time": _TIME_UNITS, "q": _POSITION_UNITS, "qd": _POSITION_UNITS, "effort": _EFFORT_UNITS}


class Log:
    """Measured motion of a robot, at the joints and in SI units.

    Column names identify quantity, joint and unit (default SI); declare here what they leave open. Nothing is guessed:
    a column without a recognisable quantity and joint, or values that cannot be SI, raise an error that suggests the
    declaration. `findings` lists what was noticed and repaired: missing or repeated samples, jumps in time, faults of
    the clock, constant or saturated columns.

    Parameters
    ----------
    robot
        Robot whose joints moved, with loops the independent ones; it provides their names, order and limits.
    source
        File (CSV or other text columns, also gzipped; NetCDF; ROS bag with joint states; Parquet, or
        the folder of a LeRobot data set), mapping from names to arrays, pandas DataFrame, xarray Dataset, or a list of
        these with the same number of rows. If several sources use the same column names: ``{"q": "positions.csv",
        "effort": "currents.csv"}``.
    columns
        Column names by quantity (``"time"``, ``"q"``, ``"qd"``, ``"effort"``) if they do not follow from the names: a
        list in the order of the joints, a mapping from joint names, or a pattern such as ``"tau_{joint}"`` or
        ``"tau_{index}"`` (from 1; ``{index0}`` from 0).
    units
        Units by quantity, if not SI and not part of the column names: ``"s"``, ``"ms"``, ``"us"``, ``"ns"`` for the
        time, ``"rad"``, ``"deg"``, ``"m"``, ``"mm"`` for q and qd, ``"N·m"``, ``"N"``, ``"A"``, ``"mA"`` for efforts,
        or a factor to SI units (``2 * np.pi / 4096`` for counts; ``-1`` for the opposite sign). One unit for all, or
        one per joint. Units of angle do not affect prismatic joints, nor units of length revolute joints.
    sample_period
        Time between samples, s, for sources without a time column.
    motor_from_joint
        Map from joint to motor positions, q_motor = G q, if the log was recorded at the motors: reductions, shape (n,),
        or the matrix G, shape (n, n), for coupled joints. Efforts become Gᵀ τ_motor.
    drive_gains
        Torque of each motor (joint, without `motor_from_joint`) per unit of its column, such as N·m/A; shape (n,) or a
        scalar. Without it, currents stay currents, and `identify` estimates relative gains.
    zero_positions
        Joint positions at which the logged positions are zero, rad or m; shape (n,) or a scalar. If given, positions
        without a unit are taken in rad and m, whatever their size.
    delay
        Time by which the efforts lag behind the positions, s, a scalar or shape (n,).
    clock
        Faults of the clock to repair, where the log shows them: ``"jitter"`` (samples were taken evenly, whatever the
        stamps say), ``"drift"`` (the clock runs as fast as the measured velocities tell), ``"jumps"`` (time jumps, the
        motion does not), ``"repeats"`` (a message written twice counted a period). One or several. By default times
        stay as recorded, and `findings` say which fault the log shows, with figures. A repair that measured velocities
        contradict is not made, and that is a finding.
    name
        Name of the log in reports; default the file's.

    Attributes
    ----------
    robot
        Robot, as given.
    time, q, qd, effort
        Samples: shapes (k,), (k, n), (k, n) or None, (k, n).
    segments, recordings
        Slices of samples without gaps in time, and of the logs that were joined (see `joined`).
    columns
        Columns that were used, a `Columns`.
    currents
        Whether efforts are motor currents with unknown gains.
    coupling
        Map from joint velocities to motor velocities at the joint side of the reductions, shape (n, n): that of
        `motor_from_joint`, or of the robot's `drive_coupling`.
    measured
        Whether the effort of each joint was measured, shape (n,).
    saturated
        Whether each effort is at its limit, or on a plateau at the joint's extreme value, shape (k, n). The fit leaves
        these samples out, because the required torque may be larger.
    delay
        Delay of each joint's effort, shape (n,), s; `time` is that of the positions.
    findings
        Notes, cautions and refusals, as `chasles.base.findings.Finding`. Refusals are columns that contradict each
        other or the robot; `identify` rejects such a log.

    Raises
    ------
    ArgumentError
        If the source cannot be read, columns are missing or ambiguous, or values without a declared unit cannot be SI.

    Examples
    --------
    >>> import chasles as ch
    >>> import numpy as np
    >>> t = np.arange(0.0, 1.0, 0.01)
    >>> q = np.stack([np.sin(5.0 * t), np.cos(3.0 * t)], axis=1)
    >>> log = ch.Log(ch.load("planar2r"), {"t_ms": 1e3 * t, "q": np.degrees(q), "tau": 0.0 * q}, units={"q": "deg"})
    >>> log
    <Log of 'planar2r': 100 samples, 0.99 s, 2 joints>
    >>> print(log.columns)
    time    t_ms [ms]
    q       q 1, q 2 [deg]
    effort  tau 1, tau 2
    """

    def __init__(
        self,
        robot: Robot,
        source: Any,
        *,
        columns: Mapping[str, str | Sequence[str] | Mapping[str, str]] | None = None,
        units: Mapping[str, Unit | Sequence[Unit]] | None = None,
        sample_period: float | None = None,
        motor_from_joint: ArrayLike | None = None,
        drive_gains: ArrayLike | None = None,
        zero_positions: ArrayLike = 0.0,
        delay: ArrayLike = 0.0,
        clock: ClockFault | Sequence[ClockFault] = (),
        name: str | None = None,
    ) -> None:
        require_first(robot, "Log(robot, source)")
        independent_coordinates(robot, "a log")
        table = read_table(source)
        found = find_columns(list(table), robot.velocity_names, columns or {})
        told = {
            **found.units,
            **{choice(key, "quantity of a log", _UNITS): unit for key, unit in (units or {}).items()},
        }
        read = _in_si_units(table, found, told, robot, sample_period, at_motors=motor_from_joint is not None)
        if drive_gains is not None:
            gains = reals(drive_gains, "drive_gains", (robot.n,), broadcast=True)
            read = read._replace(effort=read.effort * gains)
        G = None if motor_from_joint is None else _motor_matrix(motor_from_joint, robot.n)
        if G is not None:
            read = _at_joints(read, G)
        zeros = reals(zero_positions, "zero_positions", (robot.n,), broadcast=True)
        inspection = inspect(
            read._replace(q=read.q + zeros),
            robot,
            unit_known="q" in told or bool(zeros.any()),
            clock_known="time" in told or "time" not in found.names,
            clock=known_faults(clock),
        )
        self.robot = robot
        self.name = name or (str(source) if isinstance(source, str) or hasattr(source, "suffix") else "log")
        self.currents = drive_gains is None and (found.currents or told.get("effort") in ("A", "mA"))
        self.columns: Columns = Columns(found.names, _fixed(told), self.currents, found.unused)
        self.coupling = coupling_of_motors(robot) if G is None else G / np.diag(G)[:, None]
        self.time, self.q, self.qd, self.effort = inspection.recording
        self.segments: tuple[slice, ...] = inspection.segments
        self.recordings: tuple[slice, ...] = (slice(0, len(self.time)),)
        self.measured = inspection.measured
        self.saturated = inspection.saturated
        self.delay = reals(delay, "delay", (robot.n,), broadcast=True)
        self.findings: tuple[Finding, ...] = inspection.findings

    @property
    def n(self) -> int:
        """Number of joints."""
        return int(self.q.shape[1])

    @property
    def duration(self) -> float:
        """Time covered by all segments, s."""
        return float(sum(self.time[part][-1] - self.time[part][0] for part in self.segments))

    @property
    def sample_period(self) -> float:
        """Median time between samples, s."""
        return float(np.median(np.concatenate([np.diff(self.time[part]) for part in self.segments])))

    def split(self, share: float = 0.5) -> tuple[Self, Self]:
        """Return two logs: the first fraction of the samples, and the rest.

        Examples
        --------
        >>> import chasles as ch
        >>> import numpy as np
        >>> t = np.arange(0.0, 1.0, 0.01)
        >>> q = np.stack([np.sin(5.0 * t), np.cos(3.0 * t)], axis=1)
        >>> first, second = ch.Log(ch.load("planar2r"), {"t": t, "q": q, "tau": 0.0 * q}).split(0.8)
        >>> len(first.time), len(second.time)
        (80, 20)
        """
        at = round(real(share, "share", above=0.0, at_most=1.0) * len(self.time))
        return self._part(0, at), self._part(at, len(self.time))

    def _part(self, start: int, stop: int) -> Self:
        part = copy.copy(self)
        part.time, part.q, part.effort = self.time[start:stop], self.q[start:stop], self.effort[start:stop]
        part.saturated = self.saturated[start:stop]
        part.qd = None if self.qd is None else self.qd[start:stop]
        ends = [(max(s.start, start) - start, min(s.stop, stop) - start) for s in self.segments]
        part.segments = tuple(slice(a, b) for a, b in ends if b - a > 1)
        part.recordings = (slice(0, stop - start),)
        return part

    @classmethod
    def joined(cls, logs: Sequence[Self]) -> Self:
        """Return one log of several of the same robot, one after another; joints may rest in some of them.

        Raises
        ------
        ArgumentError
            If the logs differ in their joints, motors, units of effort or delay, or a joint moves in one of them
            without a measured effort while another log has it.

        Examples
        --------
        >>> import chasles as ch
        >>> import numpy as np
        >>> t = np.arange(0.0, 1.0, 0.01)
        >>> q = np.stack([np.sin(5.0 * t), np.cos(3.0 * t)], axis=1)
        >>> logs = [ch.Log(ch.load("planar2r"), {"t": t, "q": k * q, "tau": q}) for k in (1.0, 2.0)]
        >>> ch.Log.joined(logs)
        <Log of 'planar2r': 200 samples, 1.98 s, 2 joints>
        """
        first = logs[0]
        if len(logs) == 1:
            return first
        _require_alike(logs)
        whole = copy.copy(first)
        starts = np.cumsum([0, *(len(log.time) for log in logs)]).tolist()
        whole.time = _times_one_after_another(logs)
        whole.q, whole.effort = (np.concatenate([getattr(log, name) for log in logs]) for name in ("q", "effort"))
        rates = [log.qd for log in logs if log.qd is not None]
        whole.qd = np.concatenate(rates) if len(rates) == len(logs) else None
        whole.saturated = np.concatenate([log.saturated for log in logs])
        whole.measured = np.any([log.measured for log in logs], axis=0)
        whole.segments = tuple(
            slice(start + segment.start, start + segment.stop)
            for start, log in zip(starts[:-1], logs, strict=True)
            for segment in log.segments
        )
        whole.recordings = tuple(slice(a, b) for a, b in pairwise(starts))
        whole.findings = tuple(dict.fromkeys(finding for log in logs for finding in log.findings))
        whole.name = ", ".join(log.name for log in logs)
        return whole

    def __repr__(self) -> str:
        effort = ", currents" if self.currents else ""
        return (
            f"<Log of '{self.robot.name}': {len(self.time):,} samples, {self.duration:.4g} s, {self.n} joints{effort}>"
        )

    def __str__(self) -> str:
        return "\n".join([repr(self), str(self.columns), *map(str, self.findings)])


def _times_one_after_another(logs: Sequence[Log]) -> FloatArray:
    """Times of joined logs, s: each begins a second after the end of the one before."""
    times, start = [], 0.0
    for log in logs:
        times.append(log.time - log.time[0] + start)
        start = float(times[-1][-1]) + 1.0
    return np.concatenate(times)


def _require_alike(logs: Sequence[Log]) -> None:
    """Raise if logs are not of the same robot and drives, or one lacks the effort of a joint that moves in it."""
    first = logs[0]
    for log in logs:
        alike = log.n == first.n and (log.coupling == first.coupling).all() and (log.delay == first.delay).all()
        if not alike or log.currents != first.currents:
            raise ArgumentError(
                f"the logs '{first.name}' and '{log.name}' differ in joints, motors, units of effort or delay: "
                "identify them one by one"
            )
    measured = np.any([log.measured for log in logs], axis=0)
    largest = np.max([np.ptp(log.q, axis=0) for log in logs], axis=0)
    for log in logs:
        for joint in np.flatnonzero(measured & ~log.measured & (np.ptp(log.q, axis=0) > RESTING * largest)):
            name = log.robot.velocity_names[joint]
            raise ArgumentError(f"joint '{name}' moves in the log '{log.name}', which has no effort of it")


def _fixed(units: Mapping[str, Unit | Sequence[Unit]]) -> dict[str, Unit | tuple[Unit, ...]]:
    """Units that nobody changes later."""
    return {key: unit if isinstance(unit, str | float | int) else tuple(unit) for key, unit in units.items()}


def _in_si_units(
    table: Mapping[str, FloatArray],
    found: Columns,
    units: Mapping[str, Unit | Sequence[Unit]],
    robot: Robot,
    sample_period: float | None,
    *,
    at_motors: bool,
) -> LoggedSignals:
    """Signals in the columns found, in SI units."""
    factors = {
        quantity: _factors(quantity, units.get(quantity, ""), found, robot, at_motors) for quantity in found.names
    }

    def block(quantity: str) -> FloatArray:
        return factors[quantity] * np.stack([table[column] for column in found.names[quantity]], axis=1)

    q, effort = block("q"), block("effort")
    qd = block("qd") if "qd" in found.names else None
    if "time" in found.names:
        stamps = [table[column] for column in found.names["time"]]
        time = factors["time"][0] * stamps[0] if len(stamps) == 1 else _joined_stamp(*stamps)
    elif sample_period is not None:
        time = real(sample_period, "sample_period", above=0.0) * np.arange(len(q), dtype=np.float64)
    else:
        raise ArgumentError(_without_times(table))
    return LoggedSignals(time, q, qd, effort)


def _at_joints(motors: LoggedSignals, motor_from_joint: FloatArray) -> LoggedSignals:
    """Signals at the joints from those at the motors."""

    def positions(values: FloatArray) -> FloatArray:
        return np.asarray(np.linalg.solve(motor_from_joint, values.T).T, dtype=np.float64)

    qd = None if motors.qd is None else positions(motors.qd)
    return LoggedSignals(motors.time, positions(motors.q), qd, motors.effort @ motor_from_joint)


def _without_times(table: Mapping[str, FloatArray]) -> str:
    """Message for a log in which no column has the name of a time; columns that increase may be the times."""
    growing = [name for name, values in table.items() if len(values) > 1 and bool((np.diff(values) > 0.0).all())]
    example = (
        f"columns={{'time': '{growing[0] if growing else '…'}'}} (--columns time={growing[0] if growing else 'NAME'})"
    )
    which = f"; {', '.join(map(repr, growing))} increase{'s' if len(growing) == 1 else ''}" if growing else ""
    return (
        f"no column of times among: {', '.join(table)}{which}. Name it with {example}, or give the time between rows "
        "with sample_period=… (--sample-period), in s"
    )


def _motor_matrix(given: ArrayLike, n: int) -> FloatArray:
    """Motor positions from joint positions, shape (n, n); reductions make a diagonal."""
    G = reals(given, "motor_from_joint")
    G = np.diag(reals(G, "motor_from_joint", (n,))) if G.ndim < 2 else reals(G, "motor_from_joint", (n, n))
    if (np.diag(G) == 0.0).any() or np.linalg.cond(G) > 1e12:
        raise ArgumentError("motor_from_joint must be invertible and have no zero on its diagonal")
    return G


def _factors(quantity: str, unit: Unit | Sequence[Unit], found: Columns, robot: Robot, at_motors: bool) -> FloatArray:
    """Factor to SI units of each column of a quantity."""
    columns = found.names[quantity]
    kinds = robot.description.displacement_units if quantity != "time" else ["s"] * len(columns)
    each = [unit] * len(columns) if isinstance(unit, str | float | int) else list(unit)
    if len(each) != len(columns):
        raise ArgumentError(
            f"units: expected one unit of '{quantity}' or {len(columns)}, one for each joint, not {each}"
        )
    return np.array(
        [
            _factor(quantity, own, "" if at_motors else kind, column, isinstance(unit, str))
            for own, kind, column in zip(each, kinds, columns, strict=True)
        ]
    )


def _factor(quantity: str, unit: Unit, coordinate: str, column: str, for_all: bool) -> float:
    """Factor to SI units of one column, whose joint moves in `coordinate`: rad, m, or unknown at the motors."""
    if not isinstance(unit, str):
        factor = real(unit, f"unit of '{quantity}'")
        if factor == 0.0:
            raise ArgumentError(f"units: the factor of '{quantity}' must not be 0")
        return factor
    if unit == "":
        return 1.0
    factor = _UNITS[quantity][choice(unit, f"unit of '{quantity}'", _UNITS[quantity])]
    if quantity in ("q", "qd") and coordinate and (unit in ("rad", "deg")) != (coordinate == "rad"):
        if for_all:  # it is meant for the joints that it suits
            return 1.0
        raise ArgumentError(
            f"column '{column}' is in {unit}, but its joint moves in {coordinate}: name the columns in the order of "
            f"the joints with columns={{'{quantity}': [...]}}"
        )
    return factor


def _joined_stamp(seconds: FloatArray, nanoseconds: FloatArray) -> FloatArray:
    """Time after the first second, s."""
    return np.asarray(seconds - np.nanmin(seconds) + 1e-9 * nanoseconds)
