"""What the data files of SpaceLib's sample programs hold; ``RobotData`` is in `chasles.model.formats.spacelib`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.comparable import comparable
from chasles.base.errors import ModelError
from chasles.model.formats.free_format import frozen_numbers
from chasles.model.numbers import number
from chasles.model.record import DescriptionRecord
from chasles.trajectories import HermiteSpline, JointTrajectory

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MotionData(DescriptionRecord):
    """Motion of joints at equal steps of time: files such as ``SCARA.MOT`` (manual, table 7.3).

    Parameters
    ----------
    dt
        Step of time, s.
    q, qp, qpp
        Positions, velocities and accelerations, shape (instants, joints), rad or m.

    Examples
    --------
    >>> MotionData(0.05, [[0.0], [0.1]], [[1.0], [1.1]], [[10.0], [11.0]]).t
    array([0.  , 0.05])
    """

    dt: float
    q: FloatArray
    qp: FloatArray
    qpp: FloatArray

    def __post_init__(self) -> None:
        joints = np.shape(self.q)[1] if np.ndim(self.q) == 2 else 1
        self._set(dt=_step(self.dt), **_equal_tables(self, ("q", "qp", "qpp"), joints))

    @property
    def t(self) -> FloatArray:
        """Instants, shape (instants,), s; the first is 0."""
        return np.arange(len(self.q), dtype=np.float64) * self.dt

    @classmethod
    def from_trajectory(cls, trajectory: JointTrajectory, dt: float) -> MotionData:
        """Return the motion of a trajectory at equal steps of time dt (s); the last one reaches its end.

        Examples
        --------
        >>> from chasles.trajectories import PointToPoint
        >>> MotionData.from_trajectory(PointToPoint([0.0], [1.0], 2.0), 1.0).q
        array([[0. ],
               [0.5],
               [1. ]])
        """
        if trajectory.batch:
            raise ModelError(f"a file holds the motion of one trajectory, not of a batch {trajectory.batch}")
        step = _step(dt)
        instants = len(trajectory.sample_times(step))
        return cls(step, *trajectory(trajectory.start_time + step * np.arange(instants)))

    def to_trajectory(self) -> HermiteSpline:
        """Return the motion between the instants too: quintics with these positions, velocities and accelerations."""
        return HermiteSpline(self.t, self.q, self.qp, self.qpp)


@dataclass(frozen=True, eq=False)
class GripperData(DescriptionRecord):
    """Motion of a gripper at equal steps of time: files such as ``GRIPPER.MOT`` (manual, table 7.11).

    Parameters
    ----------
    dt
        Step of time, s.
    axes
        Cardan or Euler convention i, j, k of the angles: codes X=0, Y=1, Z=2.
    q, qp, qpp
        Angles, their velocities and accelerations, shape (instants, 3), rad.
    position, velocity, acceleration
        Position of the gripper's centre in the base frame, shape (instants, 3), m.
    """

    dt: float
    axes: tuple[int, int, int]
    q: FloatArray
    qp: FloatArray
    qpp: FloatArray
    position: FloatArray
    velocity: FloatArray
    acceleration: FloatArray

    def __post_init__(self) -> None:
        axes = tuple(int(axis) for axis in self.axes)
        if len(axes) != 3 or not set(axes) <= {0, 1, 2} or axes[0] == axes[1] or axes[1] == axes[2]:
            raise ModelError(
                f"axes must be three of X=0, Y=1, Z=2, the second unlike the others, not {' '.join(map(str, axes))}"
            )
        tables = _equal_tables(self, ("q", "qp", "qpp", "position", "velocity", "acceleration"), 3)
        self._set(dt=_step(self.dt), axes=axes, **tables)

    @property
    def t(self) -> FloatArray:
        """Instants, shape (instants,), s; the first is 0."""
        return np.arange(len(self.q), dtype=np.float64) * self.dt


@dataclass(frozen=True, eq=False)
class BodyData(DescriptionRecord):
    """Inertia of a body in ``TEST.DAT``, whose fields are in the order of `jtoJ`, not in that of ROB-MAT's files.

    Parameters
    ----------
    mass
        kg.
    jxx, jyy, jzz, jxy, jyz, jxz
        Elements of the inertia matrix about the centre of mass, in axes parallel to the body's, kg·m².
    xg, yg, zg
        Centre of mass, m.
    """

    mass: float
    jxx: float
    jyy: float
    jzz: float
    jxy: float = 0.0
    jyz: float = 0.0
    jxz: float = 0.0
    xg: float = 0.0
    yg: float = 0.0
    zg: float = 0.0

    def __post_init__(self) -> None:
        names = self.field_names()
        values = frozen_numbers([[getattr(self, name) for name in names]], len(names), "the numbers of a body")
        self._set(**dict(zip(names, values[0].tolist(), strict=True)))


@dataclass(frozen=True, eq=False)
class TwoBodyData(DescriptionRecord):
    """Two bodies in space and how the first one starts: ``TEST.DAT`` (manual, table 7.6).

    Parameters
    ----------
    bodies
        The two bodies.
    W1, m1
        Velocity and position matrix of body 1 at the beginning, shape (4, 4).
    """

    bodies: tuple[BodyData, BodyData]
    W1: FloatArray
    m1: FloatArray

    def __post_init__(self) -> None:
        if len(self.bodies) != 2:
            raise ModelError(f"there must be 2 bodies, not {len(self.bodies)}")
        W1, m1 = frozen_numbers(self.W1, 4, "W1"), frozen_numbers(self.m1, 4, "m1")
        if len(W1) != 4 or len(m1) != 4:
            raise ModelError(f"W1 and m1 must have 4 rows, not {len(W1)} and {len(m1)}")
        self._set(bodies=tuple(self.bodies), W1=W1, m1=m1)


@comparable
class LinearEquations(NamedTuple):
    """Equations A x = b: ``INP.DAT`` of TEST-LIN (manual, table 4.2).

    Attributes
    ----------
    A
        Coefficients, shape (equations, unknowns).
    b
        Right-hand side, shape (equations,).
    """

    A: FloatArray
    b: FloatArray


def _step(dt: Any) -> float:
    step = number(dt, "the step of time dt")
    if not step > 0.0:
        raise ModelError(f"the step of time dt must be positive, not {step}")
    return step


def _equal_tables(record: DescriptionRecord, names: tuple[str, ...], columns: int) -> dict[str, FloatArray]:
    """Tables of a record that must have one row for each instant."""
    tables = {name: frozen_numbers(getattr(record, name), columns, name) for name in names}
    lengths = {name: len(table) for name, table in tables.items()}
    if len(set(lengths.values())) > 1:
        raise ModelError(f"there must be one row for each instant in all of them, not {lengths}")
    if not len(tables[names[0]]):
        raise ModelError("there must be at least one instant")
    return tables
