"""The book's youBot and the functions of its final project, chapter 13: state, reference, feedback, files.

A configuration of the youBot is (φ, x, y), five joint angles and four wheel angles; the commands are four wheel speeds
and five joint speeds. `write_animation` writes the rows that the course's simulator plays.
"""

from __future__ import annotations

from functools import cache
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.base.writing import replacing
from chasles.engine.validators import real, reals, whole_number
from chasles.geometry import adjoint, inverse_pose, log_pose
from chasles.interop.modern_robotics.trajectories import CartesianTrajectory
from chasles.machines import MobileManipulator, WheeledBase
from chasles.machines.mobile.manipulator import MobileState
from chasles.robot.robot import Robot

FloatArray = NDArray[np.float64]

#: Columns of a configuration: the base, the arm, the wheels.
_BASE, _ARM, _WHEELS = slice(0, 3), slice(3, 8), slice(8, 12)
#: Singular values below this part of the largest count as zero in the pseudo-inverse of the Jacobian.
_SMALLEST_SINGULAR_VALUE = 1e-3


@cache
def youbot() -> MobileManipulator:
    """Return KUKA's youBot with the dimensions of the book (exercise 13.33).

    Examples
    --------
    >>> youbot().forward_kinematics([0.0, 0.0, 0.0], np.zeros(5))[:3, 3].round(4)
    array([0.1992, 0.    , 0.7535])
    """
    M = np.eye(4)
    M[:3, 3] = 0.033, 0.0, 0.6546
    Blist = np.array(
        [
            [0.0, 0.0, 1.0, 0.0, 0.033, 0.0],
            [0.0, -1.0, 0.0, -0.5076, 0.0, 0.0],
            [0.0, -1.0, 0.0, -0.3526, 0.0, 0.0],
            [0.0, -1.0, 0.0, -0.2176, 0.0, 0.0],
            [0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
        ]
    ).T
    T_base_arm = np.eye(4)
    T_base_arm[:3, 3] = 0.1662, 0.0, 0.0026
    base = WheeledBase.mecanum(half_length=0.235, half_width=0.15, radius=0.0475)
    arm = Robot.from_screws(M, Blist=Blist, name="youBot arm", source="Modern Robotics, exercise 13.33")
    return MobileManipulator(base, arm, T_base_arm, height=0.0963)


def NextState(configuration: ArrayLike, speeds: ArrayLike, dt: float, max_speed: float = np.inf) -> FloatArray:
    """Return the youBot's configuration one time step later (milestone 1).

    Parameters
    ----------
    configuration
        (φ, x, y), joint angles and wheel angles, shape (..., 12), rad and m.
    speeds
        Wheel speeds, then joint speeds, shape (..., 9), rad/s. Those beyond `max_speed` are cut off there.
    dt
        Time step, s.
    max_speed
        Largest speed of wheels and joints, rad/s.

    Returns
    -------
    ndarray
        Shape (..., 12).

    Examples
    --------
    Driving straight ahead for a second:

    >>> NextState(np.zeros(12), [10.0, 10.0, 10.0, 10.0, 0.0, 0.0, 0.0, 0.0, 0.0], 1.0)[:3].round(12) + 0.0
    array([0.   , 0.475, 0.   ])
    """
    values = reals(configuration, "configuration", (..., 12))
    limit = real(max_speed, "max_speed", above=0.0, infinite=True)
    commands = np.clip(reals(speeds, "speeds", (..., 9)), -limit, limit)
    state = MobileState(values[..., _BASE], values[..., _ARM], values[..., _WHEELS])
    after = youbot().moved(state, commands[..., :4], commands[..., 4:], real(dt, "dt", above=0.0))
    return np.concatenate(after, axis=-1)


class Feedback(NamedTuple):
    """Result of `FeedbackControl`.

    Attributes
    ----------
    speeds
        Wheel speeds, then joint speeds, shape (9,), rad/s.
    twist
        Commanded twist of the end effector in its own frame, shape (6,).
    error
        Error of the pose as exponential coordinates, shape (6,), rad and m.
    integral
        Integral of the error up to this call, for the next, shape (6,).
    """

    speeds: FloatArray
    twist: FloatArray
    error: FloatArray
    integral: FloatArray


def FeedbackControl(
    configuration: ArrayLike,
    Xd: ArrayLike,
    Xd_next: ArrayLike,
    Kp: ArrayLike,
    Ki: ArrayLike,
    dt: float,
    integral: ArrayLike = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
) -> Feedback:
    """Return the speeds that follow a reference pose: feed-forward with proportional and integral feedback (13.36).

    Parameters
    ----------
    configuration
        (φ, x, y), joint angles and, which do not matter, wheel angles, shape (8,) or (12,).
    Xd, Xd_next
        Reference poses of the end effector now and one time step later, shape (4, 4).
    Kp, Ki
        Gains, one number, shape (6,) or (6, 6), 1/s and 1/s².
    dt
        Time step, s.
    integral
        Integral of the error at the last call, shape (6,).

    Examples
    --------
    >>> Xd = [[0, 0, 1, 0.5], [0, 1, 0, 0], [-1, 0, 0, 0.5], [0, 0, 0, 1]]
    >>> Xd_next = [[0, 0, 1, 0.6], [0, 1, 0, 0], [-1, 0, 0, 0.3], [0, 0, 0, 1]]
    >>> feedback = FeedbackControl([0, 0, 0, 0, 0, 0.2, -1.6, 0], Xd, Xd_next, 0.0, 0.0, 0.01)
    >>> feedback.twist.round(3) + 0.0
    array([ 0.   ,  0.   ,  0.   , 21.409,  0.   ,  6.455])
    """
    values = np.asarray(configuration, dtype=np.float64)
    values = reals(values, "configuration", (12 if values.shape == (12,) else 8,))
    step = real(dt, "dt", above=0.0)
    T_desired, T_next = reals(Xd, "Xd", (4, 4)), reals(Xd_next, "Xd_next", (4, 4))
    robot = youbot()
    X = robot.forward_kinematics(values[_BASE], values[_ARM])
    error = np.asarray(log_pose(inverse_pose(X) @ T_desired))
    total = reals(integral, "integral", (6,)) + step * error
    reference = np.asarray(log_pose(inverse_pose(T_desired) @ T_next)) / step
    feed_forward = adjoint(inverse_pose(X) @ T_desired) @ reference
    twist = feed_forward + _gain(Kp, "Kp") @ error + _gain(Ki, "Ki") @ total
    J = robot.jacobian(values[_ARM])
    return Feedback(np.linalg.pinv(J, rcond=_SMALLEST_SINGULAR_VALUE) @ twist, twist, error, total)


def TrajectoryGenerator(
    Tse_initial: ArrayLike,
    Tsc_initial: ArrayLike,
    Tsc_final: ArrayLike,
    Tce_grasp: ArrayLike,
    Tce_standoff: ArrayLike,
    k: int = 1,
    durations: ArrayLike = (5.0, 1.5, 0.7, 1.5, 5.0, 1.5, 0.7, 1.5),
) -> FloatArray:
    """Return the reference of a pick and place in eight parts (milestone 2).

    To a place above the cube, down, the gripper closes, up, to a place above the goal, down, the gripper opens, up.
    All rows are the same time apart, 0.01 s / k. A row between two parts stands once, with the gripper's new state.
    (Eight calls of `CartesianTrajectory` would repeat these poses and have steps a little longer.)

    Parameters
    ----------
    Tse_initial
        Pose of the end effector at the start, shape (4, 4).
    Tsc_initial, Tsc_final
        Poses of the cube before and after, shape (4, 4).
    Tce_grasp, Tce_standoff
        Poses of the end effector in the cube's frame when it grasps and above, shape (4, 4).
    k
        Rows for each 0.01 s.
    durations
        Durations of the parts, shape (8,), s, rounded to whole steps.

    Returns
    -------
    ndarray
        One row for each time: the rotation row by row, the position, and 1 for a closed gripper, shape (N, 13).

    Examples
    --------
    >>> cube, above = np.eye(4), np.eye(4)
    >>> above[2, 3] = 0.2
    >>> rows = TrajectoryGenerator(above, cube, cube, np.eye(4), above)
    >>> rows.shape, rows[0, 11:].tolist(), rows[-1, 11:].tolist()
    ((1741, 13), [0.2, 0.0], [0.2, 0.0])
    """
    start, picked, placed, grasp, standoff = (
        reals(T, name, (4, 4))
        for T, name in (
            (Tse_initial, "Tse_initial"),
            (Tsc_initial, "Tsc_initial"),
            (Tsc_final, "Tsc_final"),
            (Tce_grasp, "Tce_grasp"),
            (Tce_standoff, "Tce_standoff"),
        )
    )
    rate = whole_number(k, "k", 1, 1000)
    times = reals(durations, "durations", (8,), above=0.0)
    above_pick, at_pick, above_place, at_place = picked @ standoff, picked @ grasp, placed @ standoff, placed @ grasp
    poses = [start, above_pick, at_pick, at_pick, above_pick, above_place, at_place, at_place, above_place]
    closed = (0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0)
    rows = []
    for begin, end, duration, gripper in zip(poses, poses[1:], times, closed, strict=False):
        steps = max(1, round(duration * 100 * rate))
        for T in CartesianTrajectory(begin, end, duration, steps + 1, 5)[:-1]:
            rows.append([*np.asarray(T)[:3, :3].ravel(), *np.asarray(T)[:3, 3], gripper])
    rows.append([*poses[-1][:3, :3].ravel(), *poses[-1][:3, 3], closed[-1]])
    return np.array(rows)


def write_animation(path: str | PathLike[str], configurations: ArrayLike, gripper: ArrayLike = 0.0) -> Path:
    """Write configurations, and whether the gripper is closed, as the file that the course's simulator plays.

    The file of the scene "CSV Mobile Manipulation youBot": a line each 0.01 s, without a header, of 13 numbers between
    commas: φ, x and y of the chassis, five joint angles J1 … J5, four wheel angles W1 … W4, and the gripper's state.

    Parameters
    ----------
    path
        File to write.
    configurations
        One row for each 0.01 s, shape (N, 12).
    gripper
        1 for closed and 0 for open, one or shape (N,).

    Returns
    -------
    pathlib.Path
        The file, absolute.

    Raises
    ------
    ArgumentError
        Shapes do not fit, a number is not finite, a state of the gripper is neither 0 nor 1, or the file cannot be
        written.
    """
    rows = reals(configurations, "configurations", ("rows", 12))
    states = reals(gripper, "gripper", (len(rows),), broadcast=True)
    if not np.isin(states, (0.0, 1.0)).all():
        wrong = states[~np.isin(states, (0.0, 1.0))][0]
        raise ArgumentError(f"gripper has {wrong:g}; it must be 1 for closed and 0 for open")
    with replacing(path) as temporary:
        np.savetxt(temporary, np.column_stack([rows, states]), fmt="%.9g", delimiter=",")
    return Path(path).absolute()


def _gain(value: ArrayLike, name: str) -> FloatArray:
    if np.shape(value) == (6, 6):
        return reals(value, name, (6, 6))
    return np.diag(reals(value, name, (6,), broadcast=True))
