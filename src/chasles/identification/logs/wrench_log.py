"""Logs of a robot with a free base: its configurations by motion capture, and measured wrenches that act on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.engine.validators import reals
from chasles.identification.logs.tables import read_table
from chasles.inverse_kinematics.differential.body_tasks import free_velocities
from chasles.mechanics.mechanics import require_first
from chasles.model.placement import FloatArray
from chasles.robot.robot import Robot

Place = str | tuple[float, float, float]

AXES = ("mx", "my", "mz", "fx", "fy", "fz")
UNIT = 0.01
"""Deviation of a quaternion's length from 1 that rounding in a file, or interpolation, leaves at most."""
GAP = 5.0
"""Steps of time beyond this multiple of the median one are gaps, not jitter."""


class WrenchLog:
    """Measured motion of a robot with a free base, and the external wrenches on it; joint torques are not needed.

    Parameters
    ----------
    robot
        Robot whose first joint is free; see `Robot.with_free_base`.
    time
        Times, shape (k,), s, without gaps: split a recording with gaps into several logs.
    q
        Configurations, shape (k, nq): for the base a unit quaternion w, x, y, z and a position in m, then the joints.
    wrenches
        Wrenches (m, f) by the place where they act, each of shape (k, 6), N·m and N: moment about that place, then
        force, both in the world's axes, and as they act *on the robot*. A place is the name of one of the robot's
        frames, or a point (x, y, z) of the world, m, such as the origin of a force plate. Together they must be all
        external wrenches.
    qd
        Measured velocities, shape (k, n): angular velocity and velocity of the base in its own axes, then the joints.
        Default: derivatives of q.

    Attributes
    ----------
    robot, time, wrenches
        As given.
    configuration
        Configurations with unit quaternions, shape (k, nq).
    q
        Displacements from sample to sample, added up, shape (k, n).
    qd
        Velocities, shape (k, n), or None.
    segments
        One slice of all samples.

    Raises
    ------
    ArgumentError
        If the robot has no free base, shapes differ, times do not increase or have a gap, quaternions are not of unit
        length, a place is unknown, or forces pull the robot towards the ground.

    Examples
    --------
    >>> import chasles as ch
    >>> robot = ch.load("planar2r").with_free_base()
    >>> t = np.arange(0.0, 1.0, 0.01)
    >>> weight = np.tile([0.0, 0.0, 0.0, 0.0, 0.0, 50.0], (100, 1))
    >>> WrenchLog(robot, t, np.tile(robot.home, (100, 1)), {(0.2, 0.0, 0.0): weight})
    <WrenchLog of 'planar2r': 100 samples, 0.99 s, wrenches at (0.2, 0.0, 0.0)>
    """

    def __init__(
        self,
        robot: Robot,
        time: ArrayLike,
        q: ArrayLike,
        wrenches: Mapping[Place, ArrayLike],
        *,
        qd: ArrayLike | None = None,
    ) -> None:
        require_first(robot, "WrenchLog(robot, time, q, wrenches)")
        require_free_base(robot)
        self.robot = robot
        self.time = reals(time, "time", ("k",))
        count = len(self.time)
        self.configuration = _with_unit_quaternions(robot, reals(q, "q", (count, robot.nq)))
        self.qd = None if qd is None else reals(qd, "qd", (count, robot.n))
        if not isinstance(wrenches, Mapping) or not wrenches:
            raise ArgumentError(
                "wrenches must be a mapping from at least one place to measured wrenches of shape (k, 6): give "
                "{(x, y, z): wrench} for a force plate with this origin, or {'frame': wrench}"
            )
        self.wrenches: dict[Place, FloatArray] = {
            _known_place(robot, place): reals(values, f"wrenches[{place!r}]", (count, 6))
            for place, values in wrenches.items()
        }
        self._require_times()
        self._require_pushing()
        steps = np.asarray(robot.difference(self.configuration[:-1], self.configuration[1:]))
        self.q = np.concatenate([np.zeros((1, robot.n)), np.cumsum(steps, axis=0)])
        self.segments = (slice(0, count),)

    @property
    def sample_period(self) -> float:
        """Median time between samples, s."""
        return float(np.median(np.diff(self.time)))

    def _require_times(self) -> None:
        steps = np.diff(self.time)
        if len(steps) < 1 or (steps <= 0.0).any():
            k = int(np.argmax(steps <= 0.0)) + 1 if len(steps) else 0
            raise ArgumentError(f"time must increase from sample to sample, and does not at sample {k}")
        k = int(np.argmax(steps))
        if steps[k] > GAP * np.median(steps):
            raise ArgumentError(
                f"time has a gap of {steps[k]:.3g} s at {self.time[k]:.6g} s: make a WrenchLog of each part, and give "
                "identify_from_wrenches a list of them"
            )

    def _require_pushing(self) -> None:
        gravity = self.robot.description.gravity
        along = float(np.mean(sum(wrench[:, 3:] for wrench in self.wrenches.values()) @ gravity))
        if along > 0.0:
            force = along / float(np.linalg.norm(gravity))
            raise ArgumentError(
                f"the measured forces pull the robot down, with {force:.3g} N in the mean. Wrenches must be those on "
                "the robot, in the world's axes: if the plates measure what the robot does to them, change the sign"
            )

    def __repr__(self) -> str:
        places = ", ".join(map(str, self.wrenches))
        duration = self.time[-1] - self.time[0]
        return f"<WrenchLog of '{self.robot.name}': {len(self.time)} samples, {duration:.4g} s, wrenches at {places}>"


def read_wrench_log(
    robot: Robot,
    source: Any,
    wrenches: Mapping[Place, str | Sequence[str]],
    *,
    columns: Mapping[str, str | Sequence[str]] | None = None,
) -> WrenchLog:
    """Read a `WrenchLog` from a file or table.

    Parameters
    ----------
    robot
        Robot whose first joint is free.
    source
        CSV, NetCDF or Parquet file, ROS bag, data frame, or mapping of arrays.
    wrenches
        Columns of the wrench at each place: six names, of mx, my, mz, fx, fy, fz, or a pattern such as
        ``"plate_{axis}"``.
    columns
        Column of ``"time"``, default ``"t"``, and columns of ``"q"`` and, if measured, ``"qd"``: a name for each
        coordinate or velocity, or a pattern with ``{joint}``; default ``"q_{joint}"``.

    Raises
    ------
    ArgumentError
        If the source cannot be read, a column is not there, or the log is not one of the robot.

    Examples
    --------
    >>> import chasles as ch
    >>> robot = ch.load("planar2r").with_free_base()
    >>> table = {f"q_{name}": np.full(50, value) for name, value in zip(robot.description.coordinate_names, robot.home)}
    >>> table |= {"t": 0.01 * np.arange(50), "plate": np.tile([0.0, 0.0, 0.0, 0.0, 0.0, 50.0], (50, 1))}
    >>> read_wrench_log(robot, table, {(0.2, 0.0, 0.0): [f"plate {k}" for k in range(1, 7)]})
    <WrenchLog of 'planar2r': 50 samples, 0.49 s, wrenches at (0.2, 0.0, 0.0)>
    """
    table, told = read_table(source), {"time": "t", "q": "q_{joint}", **(columns or {})}

    def block(what: str, given: str | Sequence[str], key: str, names: Sequence[str]) -> FloatArray:
        labels = [given.format(**{key: name}) for name in names] if isinstance(given, str) else list(given)
        if missing := [label for label in labels if label not in table]:
            raise UnknownNameError(f"column of {what}", missing[0], list(table))
        return np.stack([table[label] for label in labels], axis=1)

    description = robot.description
    return WrenchLog(
        robot,
        block("time", told["time"], "joint", ("t",))[:, 0],
        block("q", told["q"], "joint", description.coordinate_names),
        {place: block(f"the wrench at {place}", own, "axis", AXES) for place, own in wrenches.items()},
        qd=block("qd", told["qd"], "joint", description.velocity_names) if "qd" in told else None,
    )


def require_free_base(robot: Robot) -> None:
    """Refuse robots whose first joint is not the only free one, and robots with loops."""
    free = free_velocities(robot)
    if robot.description.loops:
        raise ArgumentError(f"robot '{robot.name}' has loops; identification from wrenches needs a tree")
    if not free[:6].all() or free[6:].any():
        raise ArgumentError(
            f"robot '{robot.name}' needs a free joint before all others, and only one: give it a free base with "
            "robot.with_free_base(), or identify it from its joint torques (chasles.identify)"
        )


def _known_place(robot: Robot, place: Place) -> Place:
    if isinstance(place, str):
        if place not in robot.frame_names:
            raise UnknownNameError("frame", place, robot.frame_names)
        return place
    x, y, z = reals(place, f"the place {place} of a wrench", (3,)).tolist()
    return (x, y, z)


def _with_unit_quaternions(robot: Robot, q: FloatArray) -> FloatArray:
    """Configurations with quaternions of unit length and without jumps of their sign."""
    for joint in robot.description.coordinates:
        if joint.kind not in ("free", "spherical"):
            continue
        start, _ = robot.description.starts[joint.name]
        block = q[:, start : start + 4]
        length = np.linalg.norm(block, axis=1)
        k = int(np.argmax(np.abs(length - 1.0)))
        if abs(length[k] - 1.0) > UNIT:
            raise ArgumentError(
                f"the quaternion of '{joint.name}' has length {length[k]:.4g} at sample {k}, not 1: q holds w, x, y, z "
                "of the orientation, then for a free joint the position, in m"
            )
        flips = np.cumprod(np.where(np.sum(block[1:] * block[:-1], axis=1) < 0.0, -1.0, 1.0))
        block /= length[:, None]
        block[1:] *= flips[:, None]
    return q
