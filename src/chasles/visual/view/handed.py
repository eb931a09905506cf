"""What a page hands to its loops at every call, computed beforehand: a motion, and schedules of laws along it."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.control import Controller
from chasles.control.python_law import as_controller
from chasles.engine import Layout
from chasles.engine.program.records import Shapes
from chasles.robot.robot import Robot
from chasles.simulation.call_inputs import ScheduledValues
from chasles.simulation.closed_loop import no_controller
from chasles.simulation.plant.plant import Plant
from chasles.simulation.preparation import call_times, closed_reference, followed_reference
from chasles.simulation.references import LoopReference
from chasles.simulation.schedules import scheduled
from chasles.trajectories import JointTrajectory, PointToPoint
from chasles.trajectories.motion import Motion

Floats = NDArray[np.float64]

#: Time between two calls of the law, s, and length of the integration step.
PERIOD = 1e-3
#: Calls after which a schedule along rest no longer depends on its beginning: estimators have settled.
_SETTLED = 1000
#: Largest displacement of a joint in a moderate motion of a second, by its unit.
_MODERATE = {"rad": 0.5, "m": 0.1}
_MOST_ORDER = 6
_MOST_TEXT = 1_000_000  # characters of all tables of a page, which shall stay below 1.5 MB


@dataclass(frozen=True)
class HandedMotion:
    """Motion of a robot that the page hands to its loop at every call, in the robot's velocities; here rest at q.

    Attributes
    ----------
    robot
        Robot that moves.
    q
        Configuration, shape (nq,).
    """

    robot: Robot
    q: Floats
    batch = ()
    start_time = 0.0
    duration = 0.0

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return self.robot.nq

    @property
    def parameters(self) -> Mapping[str, Floats]:
        """None."""
        return {}

    @property
    def shapes(self) -> Mapping[str, Shapes]:
        """Time and motion."""
        return {"t": (), "motion": Motion._make([(self.robot.nq,), (self.robot.n,), (self.robot.n,)])}

    def at(self, given: Any, parameters: Mapping[str, Any]) -> Motion:
        """Motion that is handed over."""
        motion: Motion = given.motion
        return motion

    def given(self, times: Floats) -> Mapping[str, Any]:
        """Times, and rest at them."""
        return {"t": times, "motion": self.along(times, {})}

    def along(self, times: Floats, parameters: Mapping[str, Any]) -> Motion:
        """Rest at times of any shape."""
        return Motion._make(np.broadcast_to(part, (*times.shape, part.size)) for part in self.start({}, varied=False))

    def start(self, parameters: Mapping[str, Any], *, varied: bool) -> Motion:
        """Rest."""
        return Motion(self.q, np.zeros(self.robot.n), np.zeros(self.robot.n))


def moderate_motion(robot: Robot) -> PointToPoint:
    """Return the motion for which a page tunes gains: from home, in a second, within half of each joint's room.

    Rules of adaptive laws need a motion, as rest excites few of the parameters. Robots with loops or quaternions rest
    all the same: their coordinates do not move one by one.

    Examples
    --------
    >>> import chasles as ch
    >>> ch.load("planar2r").home, moderate_motion(ch.load("planar2r")).goal
    (array([0., 0.]), array([0.5, 0.5]))
    """
    home = robot.home
    if robot.nq != robot.n or robot.description.loops:
        return PointToPoint(home, home, 1.0)
    above, below = robot.upper_limits - home, robot.lower_limits - home
    most = np.array([_MODERATE[unit] for unit in robot.description.coordinate_units])
    return PointToPoint(home, home + np.clip(0.5 * np.where(above >= -below, above, below), -most, most), 1.0)


def schedule_at_rest(law: Controller, robot: Robot, q: Floats) -> Floats:
    """Return a call's row of a law's schedule along rest at a configuration (nq,), once it no longer changes.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> schedule_at_rest(ch.control.TimeVaryingRegulator(arm), arm, arm.home).shape  # torque and gains of each joint
    (10,)
    """
    return np.asarray(_scheduled_at_rest(law, robot, q, _SETTLED).table[-1], dtype=np.float64)


def schedule_layout(law: Controller, robot: Robot, q: Floats) -> Layout:
    """Return names and shapes of a row of a law's schedule."""
    return _scheduled_at_rest(law, robot, q, 2).layout


def _scheduled_at_rest(law: Controller, robot: Robot, q: Floats, calls: int) -> ScheduledValues:
    return scheduled(law, PERIOD * np.arange(calls, dtype=np.float64), HandedMotion(robot, q), {})


class PlannedMotion:
    """Motion of joints that a page's laws follow: what `chasles.simulate` evaluates at its calls.

    Parameters
    ----------
    robot
        Robot that moves.
    motion
        Motion, or a batch, of which the first counts.
    """

    def __init__(self, robot: Robot, motion: JointTrajectory) -> None:
        whole = closed_reference(motion, robot, None) if robot.description.loops else motion
        self.reference: LoopReference = followed_reference(whole, Plant(robot), as_controller(no_controller))
        self.times = self.reference.start_time + call_times(self.reference.duration, PERIOD, 1).ravel()
        along = self.reference.along(self.times, self.reference.parameters)
        #: q (k, nq), qd (k, n) and qdd (k, n) at all calls.
        self.motion = Motion(*(np.reshape(part, (-1, len(self.times), np.shape(part)[-1]))[0] for part in along))

    def schedule(self, law: Controller) -> Floats:
        """Return the rows (k, size) of a law's schedule."""
        table = scheduled(law, self.times, self.reference, self.reference.parameters).table
        rows: Floats = table.reshape(-1, *table.shape[-2:])[0]
        return rows


def packed_table(rows: Floats) -> dict[str, Any]:
    """Return a table (k, size), to the last bit, as text for `decodeTable` of the page.

    The numbers' bits are read as whole numbers, whose repeated differences down a column are small where the column is
    smooth; their bytes are then compressed.

    Examples
    --------
    >>> smooth = np.sin(np.linspace(0.0, 3.0, 2000))[:, None]
    >>> len(packed_table(smooth)["text"]) < 0.4 * smooth.nbytes
    True
    """
    bits = np.ascontiguousarray(rows.T, dtype="<f8").view("<i8")
    best: dict[str, Any] = {}
    for order in range(_MOST_ORDER + 1):
        if order:
            bits = np.concatenate([bits[:, :1], bits[:, 1:] - bits[:, :-1]], axis=1)  # modulo 2^64
        folded = (bits << 1) ^ (bits >> 63)  # small negative numbers have few bits, too
        planes = np.ascontiguousarray(folded).view(np.uint8).reshape(-1, 8).T
        text = base64.b64encode(gzip.compress(planes.tobytes(), mtime=0)).decode("ascii")
        if best and len(text) >= len(best["text"]):
            break
        best = {"count": len(rows), "size": rows.shape[1], "order": order, "text": text}
    return best


def require_room(tables: Mapping[str, dict[str, Any]], duration: float) -> None:
    """Raise `ArgumentError` if tables, by what they are of, take more than their share of a page."""
    sizes = {what: len(table["text"]) for what, table in tables.items()}
    if sum(sizes.values()) > _MOST_TEXT:
        each = ", ".join(f"{what} {size / 1e6:.1f} MB" for what, size in sizes.items())
        raise ArgumentError(
            f"what the laws need at each call along a motion of {duration:.3g} s takes more than the "
            f"{_MOST_TEXT / 1e6:g} MB that a page has for it ({each}): name fewer laws with a schedule, or view a part "
            "of the motion"
        )
