"""Motions of robots whose configurations are no vectors: rates in the tangent space of the configurations."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.engine import Function, trace
from chasles.engine.program.scalar import Array
from chasles.trajectories.joint.trajectory import JointTrajectory
from chasles.trajectories.motion import Floats, Motion

if TYPE_CHECKING:
    from chasles.robot.robot import Robot


class ManifoldTrajectory(JointTrajectory):
    """Motion in the configuration space of a robot, which has more coordinates than degrees of freedom."""

    robot: Robot

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return self.robot.nq

    @property
    def nv(self) -> int:
        """Number of degrees of freedom."""
        return self.robot.n


class TangentTrajectory(ManifoldTrajectory):
    """Motion of a robot with spherical or free joints along a curve of its coordinates.

    q is the curve with unit quaternions; qd is the velocity v with q' = G(q) v, in the axes in which the robot's
    velocities are given, and the higher rates are its derivatives. A line between two quaternions becomes the shortest
    rotation.

    Parameters
    ----------
    robot
        Robot that moves.
    curve
        Trajectory of all coordinates, (nq,), or a batch. Its quaternions may have any nonzero length.

    Raises
    ------
    ArgumentError
        The curve and the robot have different numbers of coordinates.

    Examples
    --------
    >>> import chasles as ch
    >>> robot = ch.load("planar2r").with_free_base()
    >>> goal = robot.integrate(robot.home, [0.0, 0.0, 1.0, 0.0, 0.0, 0.5, 0.3, -0.3])
    >>> motion = TangentTrajectory(robot, ch.PointToPoint(robot.home, goal, duration=2.0))
    >>> motion(1.0).q.shape, motion(1.0).qd.shape
    ((9,), (8,))
    """

    def __init__(self, robot: Robot, curve: JointTrajectory) -> None:
        if curve.n != robot.nq or curve.nv != robot.nq:
            raise ArgumentError(
                f"the curve has {curve.n} coordinates, but a configuration of robot '{robot.name}' has {robot.nq}"
            )
        self.robot, self.curve = robot, curve
        self.knots, self.batch = curve.knots, curve.batch

    def derivatives(self, t: NDArray[np.float64]) -> tuple[Any, Any, Any, Any]:
        """Configurations (..., nq); velocities, accelerations and jerks (..., n) in the tangent space."""
        c, dc, ddc, dddc = self.curve.derivatives(t)
        return tuple(_with_jerk(self.robot)(c, dc, ddc, dddc))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of robot '{self.robot.name}', {self.curve!r}>"


def coordinates_of_velocities(robot: Robot) -> NDArray[np.intp]:
    """Place in q of the coordinate that goes with each velocity, (n,); of a rotation the vector part of the quaternion.

    >>> import chasles as ch
    >>> coordinates_of_velocities(ch.load("planar2r").with_free_base())
    array([1, 2, 3, 4, 5, 6, 7, 8])
    """
    coordinates = np.arange(len(robot.description.joint_velocity_names))
    for joint in robot.description.coordinates:
        (first, begin), count = robot.description.starts[joint.name], len(joint.velocity_names)
        coordinates[begin : begin + count] = np.arange(first, first + count) + joint.has_quaternion
    return coordinates[list(robot.description.independent_indices)]


def continuous_quaternions(robot: Robot, q: Floats) -> Floats:
    """Configurations (k, ..., nq) in order, whose quaternions have the sign that is nearer to that before.

    >>> import chasles as ch
    >>> robot = ch.load("planar2r").with_free_base()
    >>> continuous_quaternions(robot, np.stack([robot.home, np.r_[-robot.home[:4], robot.home[4:]]]))[1, :4]
    array([1., 0., 0., 0.])
    """
    continuous = np.array(q)
    for joint in robot.description.coordinates:
        if joint.has_quaternion:
            quaternions = continuous[..., robot.description.starts[joint.name][0] + np.arange(4)]
            against = np.sum(quaternions[1:] * quaternions[:-1], axis=-1) < 0.0
            signs = np.cumprod(np.where(against, -1.0, 1.0), axis=0)
            continuous[1:, ..., robot.description.starts[joint.name][0] + np.arange(4)] = (
                quaternions[1:] * signs[..., None]
            )
    return continuous


@lru_cache(maxsize=16)
def tangent_motion(robot: Robot) -> Function:
    """Return (c, dc, ddc) -> (q, qd, qdd): a curve of the coordinates as a motion in the tangent space.

    With loops, the curve's independent coordinates are kept and the others close the loops.
    """
    if not robot.description.loops:
        return _of_tree(robot)
    of_tree, nq = _of_tree(robot.edit.without_loops()), robot.nq
    free, close = list(robot.description.independent_indices), robot.normalize.specialize()

    def motion(c: Array, dc: Array, ddc: Array) -> Motion:
        q, qd, qdd = of_tree(c, dc, ddc)
        return Motion(close(q), qd[free], qdd[free])

    return Function(trace(motion, {"c": (nq,), "dc": (nq,), "ddc": (nq,)}, name="closed_reference"))


def _of_tree(robot: Robot) -> Function:
    n, nq = robot.n, robot.nq
    normalize, rate = robot.normalize.specialize(), robot.configuration_rate.specialize()
    at_neutral = np.array([rate(robot.neutral, unit) for unit in np.eye(n)]).T
    squares = (at_neutral**2).sum(axis=0)  # GᵀG is diagonal and the same everywhere: 1/4 for quaternions, else 1

    def unit(c: Array, dc: Array) -> Any:
        return normalize(c), normalize.jvp("q")(c, dc)

    first = Function(trace(unit, {"c": (nq,), "dc": (nq,)}, outputs=["q", "dq"]))

    def motion(c: Array, dc: Array, ddc: Array) -> Motion:
        q, dq = first(c, dc)
        ddq = first.jvp(["c", "dc"])(c, dc, dc, ddc)[1]
        G = np.array([rate(q, unit) for unit in np.eye(n)]).T
        v = (G.T @ dq) / squares
        drift = rate.jvp("q")(q, v, dq)  # of q' = G(q) v as q changes: G' v
        return Motion(q, v, (G.T @ (ddq - drift)) / squares)

    return Function(trace(motion, {"c": (nq,), "dc": (nq,), "ddc": (nq,)}, name="tangent_reference"))


@lru_cache(maxsize=16)
def _with_jerk(robot: Robot) -> Function:
    """Return (c, dc, ddc, dddc) -> (q, qd, qdd, qddd)."""
    motion = tangent_motion(robot)

    def higher(c: Array, dc: Array, ddc: Array, dddc: Array) -> tuple[Any, ...]:
        jerk = motion.jvp(["c", "dc", "ddc"])(c, dc, ddc, dc, ddc, dddc)[2]
        return (*motion(c, dc, ddc), jerk)

    inputs = dict.fromkeys(("c", "dc", "ddc", "dddc"), (robot.nq,))
    return Function(trace(higher, inputs, name="tangent_trajectory", outputs=["q", "qd", "qdd", "qddd"]))
