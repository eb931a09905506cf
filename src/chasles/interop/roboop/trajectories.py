"""ROBOOP's trajectories (trajectory.h): natural cubic splines, splines of orientations, and their files.

What ROBOOP writes into arguments is returned, and times outside a spline raise an exception. Mended: the angular
velocity of `Spl_Quaternion` is the true one (ROBOOP's lacks a division by the time of the segment), and the final time
belongs to a spline.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.engine.validators import real, reals
from chasles.interop.roboop.codes import CARTESIAN_SPACE, JOINT_SPACE, NONE
from chasles.interop.roboop.quaternion import Quaternion
from chasles.trajectories import PathData, QuaternionData, read_path_file, read_quaternion_file, read_trajectory_file

Vector = NDArray[np.float64]
_LEAST_POINTS = 4


class Spl_cubic:
    """A natural cubic spline through the columns of a matrix (1 + k, N): times in row 1, values (k,) below.

    Examples
    --------
    >>> spline = Spl_cubic([[0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 0.0, 1.0]])
    >>> spline.interpolating(1.0), spline.second_derivative(1.0).round(12)
    (array([1.]), array([-4.]))
    """

    def __init__(self, pts: ArrayLike | None = None) -> None:
        self._spline: Any = None
        if pts is not None:
            self._fill(reals(pts, "pts", ("rows", "N")), JOINT_SPACE)

    def _fill(self, pts: Vector, space: int) -> None:
        if pts.shape[0] < 2 or pts.shape[1] < _LEAST_POINTS:
            raise ArgumentError(
                f"pts has shape {pts.shape}; expected times in row 1, values below, at least {_LEAST_POINTS} points"
            )
        path = PathData("cartesian" if space == CARTESIAN_SPACE else "joint", pts[0], pts[1:].T)
        self._spline, self._final_time = path.to_trajectory(), float(path.times[-1])

    def _motion(self, t: float) -> Any:
        if self._spline is None:
            raise ArgumentError("the spline has no points yet")
        return self._spline(real(t, "t"))

    def interpolating(self, t: float) -> Vector:
        """Return the values at a time, (k,)."""
        return np.asarray(self._motion(t).q)

    def first_derivative(self, t: float) -> Vector:
        """Return the first derivatives at a time, (k,)."""
        return np.asarray(self._motion(t).qd)

    def second_derivative(self, t: float) -> Vector:
        """Return the second derivatives at a time, (k,)."""
        return np.asarray(self._motion(t).qdd)


class Spl_path(Spl_cubic):
    """A path in joint or Cartesian space: ``Spl_path("file")`` or ``Spl_path(matrix)``, see `Spl_cubic`.

    Examples
    --------
    >>> path = Spl_path([[0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 0.0, 1.0], [1.0, 2.0, 3.0, 4.0]])
    >>> path.p_pdot(1.5)
    (array([0.5, 2.5]), array([-1.33333333,  1.        ]))
    """

    def __init__(self, source: str | Path | ArrayLike | None = None) -> None:
        super().__init__()
        self._type = NONE
        if isinstance(source, str | Path):
            data = read_path_file(source)
            self._type = JOINT_SPACE if data.space == "joint" else CARTESIAN_SPACE
            self._fill(np.vstack([data.times, data.values.T]), self._type)
        elif source is not None:
            self._type = JOINT_SPACE
            self._fill(reals(source, "matrix", ("rows", "N")), self._type)

    def p(self, t: float) -> Vector:
        """Return the position at a time, (k,)."""
        return self.interpolating(t)

    def p_pdot(self, t: float) -> tuple[Vector, Vector]:
        """Return position and velocity at a time."""
        motion = self._motion(t)
        return np.asarray(motion.q), np.asarray(motion.qd)

    def p_pdot_pddot(self, t: float) -> tuple[Vector, Vector, Vector]:
        """Return position, velocity and acceleration at a time."""
        motion = self._motion(t)
        return np.asarray(motion.q), np.asarray(motion.qd), np.asarray(motion.qdd)

    def get_type(self) -> int:
        """Return JOINT_SPACE or CARTESIAN_SPACE."""
        return self._type

    def get_final_time(self) -> float:
        """Return the time of the last point, s."""
        self._motion(self._final_time if self._spline is not None else 0.0)
        return self._final_time


class Spl_Quaternion:
    """Orientations between knots: ``Spl_Quaternion("file")``, or of a mapping from times to `Quaternion`.

    Slerp in the first and last segment, squad in the others.

    Examples
    --------
    >>> turn = Spl_Quaternion({0.0: Quaternion(), 2.0: Quaternion(1.0, [0.0, 0.0, 1.0])})
    >>> turn.quat_w(1.0)[1].round(12)
    array([0. , 0. , 0.5])
    """

    def __init__(self, source: str | Path | Mapping[float, Quaternion] | None = None) -> None:
        self._spline: Any = None
        if isinstance(source, str | Path):
            self._fill(read_quaternion_file(source))
        elif source is not None:
            times = sorted(source)
            self._fill(QuaternionData(np.array(times), np.array([np.asarray(source[t]) for t in times])))

    def _fill(self, data: QuaternionData) -> None:
        self._spline = data.to_trajectory("roboop")
        self._times = data.times

    def quat(self, t: float) -> Quaternion:
        """Return the orientation at a time."""
        return self.quat_w(t)[0]

    def quat_w(self, t: float) -> tuple[Quaternion, Vector]:
        """Return orientation and angular velocity (3,) in base axes at a time."""
        if self._spline is None:
            raise ArgumentError("the spline has no knots yet")
        time = real(t, "t", at_least=float(self._times[0]), at_most=float(self._times[-1]))
        motion = self._spline(time)
        return Quaternion(motion.pose), np.asarray(motion.twist[:3])


class Trajectory_Select:
    """A trajectory of a file: a path in joint space, or in Cartesian space with orientations.

    Attributes
    ----------
    type
        NONE, JOINT_SPACE or CARTESIAN_SPACE.
    path
        The `Spl_path`, or None.
    path_quat
        The `Spl_Quaternion`, or None.
    """

    def __init__(self, filename: str | Path | None = None) -> None:
        self.type = NONE
        self.path: Spl_path | None = None
        self.path_quat: Spl_Quaternion | None = None
        if filename is not None:
            self.set_trajectory(filename)

    def set_trajectory(self, filename: str | Path) -> None:
        """Take the path of a file; a file of quaternions gives the orientations beside a Cartesian path."""
        if isinstance(read_trajectory_file(filename), PathData):
            self.path = Spl_path(filename)
            self.type = self.path.get_type()
        else:
            self.path_quat = Spl_Quaternion(filename)
            self.type = CARTESIAN_SPACE
