"""Closed configurations of robots with loops, from the positions of the independent joints, which a log holds.

The dependent joints follow from home, on its assembly mode, along the straight line to the first position and then
along the log.
"""

from __future__ import annotations

import numpy as np

from chasles.base.errors import ArgumentError, IdentificationError
from chasles.model.placement import FloatArray
from chasles.robot.robot import Robot, independent_coordinates
from chasles.trajectories import ClosedMotion, CubicSpline, PointToPoint
from chasles.trajectories.joint.trajectory import JointTrajectory


def closed_along(robot: Robot, time: FloatArray, q: FloatArray) -> FloatArray:
    """Return configurations, shape (k, nq), along positions of the independent joints; without loops these themselves.

    Parameters
    ----------
    robot
        Robot that moved.
    time
        Increasing times, shape (k,), s.
    q
        Positions of the independent joints, shape (k, n), rad or m.

    Raises
    ------
    IdentificationError
        If the loops cannot be closed along the positions.

    Examples
    --------
    >>> import chasles as ch
    >>> rod = {"T_first_joint": [0.75, 0.3, 0.0], "length": 0.3, "actuated": ["joint1"]}
    >>> arm = ch.load("planar2r").with_loop("rod", "rod", "link0", "tool", **rod)
    >>> q = closed_along(arm, np.array([0.0, 0.5, 1.0]), np.array([[0.0], [0.1], [0.2]]))
    >>> q[:, 0], bool(abs(arm.loops.constraints(q).residual).max() < 1e-12)
    (array([0. , 0.1, 0.2]), True)
    """
    if not robot.description.loops:
        return q
    try:
        return np.asarray(closed_motion(robot, CubicSpline(time, q, boundary="natural"))(time).q)
    except ArgumentError as error:
        raise IdentificationError(
            f"the positions of the log do not suit the loops: {error}. Are the zero positions and signs of the joints "
            "those of the robot (zero_positions=, units=), and is its home on the assembly mode that was logged?"
        ) from None


def closed_motion(robot: Robot, motion: JointTrajectory) -> ClosedMotion:
    """Return the motion of all joints whose assembly mode is kept from home, in a straight line to its start.

    Raises
    ------
    ArgumentError
        If the loops cannot be kept closed on this way.
    """
    home, start = robot.home[independent_coordinates(robot, "a motion")], motion(motion.start_time).q
    return ClosedMotion(robot, motion, q0=ClosedMotion(robot, PointToPoint(home, start, duration=1.0))(1.0).q)


def closed_near(robot: Robot, q: FloatArray, guess: FloatArray) -> FloatArray:
    """Return configurations, shape (k, nq), at positions (k, n) of the independent joints near others (k, nq).

    NaN where the loops cannot be closed; without loops the positions themselves.
    """
    if not robot.description.loops:
        return q
    wanted = guess.copy()
    wanted[:, independent_coordinates(robot, "a log")] = q
    return np.asarray(robot.normalize(wanted))


def coupling_of_motors(robot: Robot) -> FloatArray:
    """Rates of the motors, at the joint side of reductions, for units of the independent velocities, shape (n, n)."""
    motors = robot.description.independent_indices
    return np.asarray(robot.description.drive_coupling[motors, :][:, motors])
