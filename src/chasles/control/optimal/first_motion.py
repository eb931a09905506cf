"""Where the iterations begin: a motion within the limits and a scale of the cost; the motion to follow at the nodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.control.optimal.nodes import Nodes
from chasles.robot.robot import Robot
from chasles.trajectories import JointTrajectory

Floats = NDArray[np.float64]
#: Share of the limits that the first motion may use.
_INSIDE = 0.99
#: Cost for which the solver's first price of violations is meant.
_USUAL_COST = 10.0


def instants(robot: Robot, times: Floats, reference: JointTrajectory | None) -> Floats:
    """Return the data of each node, (N + 1, 1 + 3n): time, and positions, velocities and torques of a motion to follow.

    Torques are those that the motion needs in the middle of the step that begins at the node.

    >>> import chasles as ch
    >>> instants(ch.load("planar2r"), np.array([0.0, 0.5]), None)[1]
    array([0.5, 0. , 0. , 0. , 0. , 0. , 0. ])
    """
    if reference is None:
        return np.concatenate([times[:, None], np.zeros((len(times), 3 * robot.n))], axis=1)
    motion = reference(times)
    tau = np.asarray(robot.inverse_dynamics(*reference(times + 0.5 * (times[1] - times[0]))))
    return np.concatenate([times[:, None], motion.q, motion.qd, tau], axis=1)


def one_motion(motion: JointTrajectory, robot: Robot, name: str) -> JointTrajectory:
    """Return an argument that must be one motion of the robot.

    Raises
    ------
    ArgumentError
        It is a batch, is of other joints, or is no trajectory.
    """
    if not isinstance(motion, JointTrajectory) or motion.n != robot.n or motion.batch:
        raise ArgumentError(f"{name} must be one motion of {robot.n} joints, not {motion!r}")
    return motion


def first_motion(nodes: Nodes, guess: JointTrajectory | None) -> Floats:
    """Torques and states to begin at, (..., N + 1, m + 2n): a guess, or the robot held at its start, within limits."""
    step, m = nodes.step, nodes.inputs
    robot, motors = step.robot, step.motors
    start = nodes.x0[..., : robot.n]
    W = np.zeros((*start.shape[:-1], len(nodes.instants), len(nodes.rows.lower)))
    if guess is None:
        W[..., m : m + robot.n] = start[..., None, :]
        W[..., :-1, :m] = np.asarray(robot.gravity_torque(start))[..., None, motors]
    else:
        times = np.linspace(0.0, guess.duration, len(nodes.instants)) if step.stretches else nodes.instants[:, 0]
        W[..., : m + 2 * robot.n] = along(motors, instants(robot, times, guess))
    W[..., m + 2 * robot.n :] = nodes.x0[..., None, 2 * robot.n :]
    return inside(nodes, W)


def along(motors: NDArray[np.bool_], moments: Floats) -> Floats:
    """Torques and states (N + 1, m + 2n) of a motion at the nodes, as `instants` gives it."""
    n = len(motors)
    W = np.concatenate([moments[:, 1 + 2 * n :][:, motors], moments[:, 1 : 1 + 2 * n]], axis=1)
    W[-1, : int(motors.sum())] = 0.0
    return W


def inside(nodes: Nodes, W: Floats) -> Floats:
    """Return motions clipped to the limits; what is missing to a motion then is left to the defects of the steps."""
    W, lower, upper = W.copy(), nodes.rows.lower, nodes.rows.upper
    for i in np.flatnonzero(np.isfinite(upper - lower)):
        room = (1.0 - _INSIDE) * 0.5 * (upper[i] - lower[i])
        W[..., i] = np.clip(W[..., i], lower[i] + room, upper[i] - room)
    W[..., 0, nodes.inputs :] = nodes.x0
    return W


def usual_scale(nodes: Nodes, W: Floats) -> Floats:
    """Scale that brings the cost to the order of the constraints, (...).

    The cost of a motion is estimated from the first one, with torques that also move each joint by a radian (m).
    """
    moving, step = W.copy(), nodes.step
    inertia = np.asarray(step.robot.mass_matrix(nodes.x0[..., : step.robot.n]))
    effort = 4.0 / (step.h * nodes.rows.nodes) ** 2 * np.diagonal(inertia, axis1=-2, axis2=-1)
    moving[..., :-1, : nodes.inputs] += effort[..., None, step.motors]
    cost = nodes.values(moving).cost
    is_cost = np.isfinite(cost) & (cost > 0.0)
    return np.where(is_cost, _USUAL_COST / np.where(is_cost, cost, 1.0), 1.0)
