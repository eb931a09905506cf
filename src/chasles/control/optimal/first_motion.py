"""Where the iterations begin: a motion within the limits and a scale of the cost; the motion to follow at the nodes."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.control.optimal.contact_rows import Contacts
from chasles.control.optimal.coordinates import Coordinates
from chasles.control.optimal.nodes import Nodes
from chasles.control.optimal.step import HeldStep
from chasles.engine.program.scalar import Array
from chasles.robot.robot import Robot
from chasles.trajectories import JointTrajectory

Floats = NDArray[np.float64]
#: Share of the limits that the first motion may use.
_INSIDE = 0.99
#: Cost for which the solver's first price of violations is meant.
_USUAL_COST = 10.0


def instants(
    step: HeldStep,
    times: Floats,
    reference: JointTrajectory | None,
    centres: Floats | None = None,
    parameters: Floats | None = None,
) -> Floats:
    """Return the data of each node, (..., N + 1, 1 + nq + 2n + count): time, a motion to follow, parameters, centres.

    Torques are those that the motion needs in the middle of the step that begins at the node.

    Parameters
    ----------
    step
        Step of the dynamics.
    times
        Times of the nodes, (N + 1,), s.
    reference
        Motion to follow, or None.
    centres
        Configurations (..., N + 1, nq) near which coordinates are those of the nodes; default none, as for robots
        without quaternions and loops.
    parameters
        Values of the robot's parameters that the problems vary, (..., count); default none.

    Examples
    --------
    >>> import chasles as ch
    >>> from chasles.control.optimal.drives import Drives
    >>> step = HeldStep(ch.load("planar2r"), Drives(np.array([True, True])), 0.5)
    >>> instants(step, np.array([0.0, 0.5]), None)[1]
    array([0.5, 0. , 0. , 0. , 0. , 0. , 0. ])
    """
    parts = [times[:, None]]
    if reference is None:
        parts.append(np.zeros((len(times), step.robot.nq + 2 * step.robot.n)))
    else:
        robot = step.robot if parameters is None else step.parameters.robot_with(parameters[..., None, :])
        motion = reference(times)
        tau = np.asarray(robot.inverse_dynamics(*reference(times + 0.5 * (times[1] - times[0]))))
        parts += [motion.q, motion.qd, tau]
    if parameters is not None:
        parts.append(parameters[..., None, :])
    if centres is not None:
        parts.append(step.coordinates.of_nodes(centres))
    batch = np.broadcast_shapes(*(part.shape[:-2] for part in parts))
    return np.concatenate([np.broadcast_to(p, (*batch, len(times), p.shape[-1])) for p in parts], axis=-1)


@runtime_checkable
class Path(Protocol):
    """A path without times, as `chasles.plan` finds it."""

    def to_trajectory(self, *, duration: float | None = None) -> JointTrajectory:
        """Return a motion along it from rest to rest in a time, s, or within the limits of the robot."""
        ...


def as_motion(guess: JointTrajectory | Path, duration: float | None) -> JointTrajectory:
    """Return a motion, or that along a path in a time, s."""
    return guess.to_trajectory(duration=duration) if isinstance(guess, Path) else guess


def one_motion(motion: JointTrajectory, robot: Robot, name: str) -> JointTrajectory:
    """Return an argument that must be one motion of the robot.

    Raises
    ------
    ArgumentError
        It is a batch, is of other joints, or is no trajectory.
    """
    if not isinstance(motion, JointTrajectory) or (motion.n, motion.nv) != (robot.nq, robot.n) or motion.batch:
        raise ArgumentError(
            f"{name} must be one motion of {robot.nq} coordinates and {robot.n} velocities, as robot '{robot.name}' "
            f"has them, not {motion!r}"
        )
    return motion


def centres_along(robot: Robot, times: Floats, guess: JointTrajectory | None, start: Floats) -> Floats | None:
    """Configurations near which motions lie at the nodes, those of a guess or the start, (..., N + 1, nq)."""
    if Coordinates(robot).is_plain:
        return None
    if guess is None:
        return np.repeat(start[..., None, :], len(times), axis=-2)
    along_guess = np.asarray(guess(times).q)
    return np.broadcast_to(along_guess, (*start.shape[:-1], *along_guess.shape))


def first_motion(nodes: Nodes, guess: JointTrajectory | None) -> Floats:
    """Torques and states to begin at, (..., N + 1, m + 2n): a guess, or the robot held at its start, within limits."""
    step, m = nodes.step, nodes.inputs
    robot = step.robot
    start = nodes.x0[..., : robot.n]
    W = np.zeros((*start.shape[:-1], nodes.rows.nodes + 1, len(nodes.rows.lower)))
    if guess is None:
        W[..., m : m + robot.n] = start[..., None, :]
        holding = np.asarray(_varied_robot(nodes).gravity_torque(nodes.start))
        W[..., step.torque_places] = holding[..., None, step.motors]
    else:
        times = node_times(nodes.rows.nodes, nodes.step, guess)
        motion = along(step, instants(step, times, guess, parameters=nodes.parameters))
        W[..., m : m + 2 * robot.n] = motion[..., step.motor_count :]
        W[..., step.torque_places] = motion[..., : step.motor_count]
    if step.contacts is not None:
        carry_weight(step.contacts, nodes, W)
    W[..., -1, :m] = 0.0
    if step.drives.count:
        q, qd = W[..., m : m + robot.n], W[..., m + robot.n : m + 2 * robot.n]
        tau = step.torques(W)
        tau[..., -1, :] = tau[..., -2, :]  # none acts at the last node
        states = step.drives.along(q, qd, tau)
        states[..., 0, :] = step.of_drives(nodes.x0)
        W[..., m + 2 * robot.n : m + step.moving_states] = states
    if step.by_rates:
        W[..., :-1, : step.motor_count] = np.diff(W[..., step.torque_places], axis=-2) / step.h
    W[..., m + step.moving_states :] = nodes.x0[..., None, step.moving_states :]
    return inside(nodes, W)


def _varied_robot(nodes: Nodes) -> Robot:
    """Return the robot with the parameters of each problem."""
    return nodes.step.parameters.robot_with(nodes.parameters)


def carry_weight(contacts: Contacts, nodes: Nodes, W: Floats) -> None:
    """Let the forces of contacts in motions carry the weight, which the torques of the motors then balance."""
    step, m = nodes.step, nodes.inputs
    forces = contacts.carrying()
    q = nodes.configurations(W[..., m : m + step.robot.n])[..., :-1, :]
    W[..., :-1, step.motor_count : m] = forces
    W[..., :-1, step.torque_places] -= contacts.torques(q, forces)[..., step.motors]


def node_times(count: int, step: HeldStep, guess: JointTrajectory | None) -> Floats:
    """Times of the nodes of a guess: those of the problem, or where the duration is free those of its own duration."""
    stretched = guess is not None and step.stretches
    return np.linspace(0.0, guess.duration if guess is not None and stretched else count * step.h, count + 1)


def given_state(step: HeldStep, q: Array, qd: Array, parameters: Array | None, *centre: Array) -> Array:
    """State at the first node but for the constants, of positions near a centre and velocities."""
    return np.concatenate([step.coordinates.of(q, *centre), qd, states_of_drives(step, q, qd, parameters)], axis=-1)


def states_of_drives(step: HeldStep, q: Array, qd: Array, parameters: Array | None) -> Array:
    """States of the drives at the start, (..., count), from configurations (..., nq): no joint accelerates."""
    if not step.drives.count:
        return np.zeros((*q.shape[:-1], 0))
    robot = step.robot if parameters is None else step.parameters.robot_with(parameters)
    holding = np.asarray(robot.inverse_dynamics(q, qd, np.zeros_like(qd)))
    return step.drives.at_start(step.coordinates.of_centre(q), qd, holding)


def along(step: HeldStep, moments: Floats) -> Floats:
    """Torques and states (..., N + 1, m + 2n) of a motion at the nodes, as `instants` gives it, with centres on it."""
    nq, n = step.robot.nq, step.robot.n
    q, qd, tau = np.split(moments[..., 1 : 1 + nq + 2 * n], [nq, nq + n], axis=-1)
    W = np.concatenate([tau[..., step.motors], step.coordinates.of_centre(q), qd], axis=-1)
    W[..., -1, : step.motor_count] = 0.0
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
    inertia = np.asarray(_varied_robot(nodes).mass_matrix(nodes.start))
    effort = 4.0 / (step.h * nodes.rows.nodes) ** 2 * np.diagonal(inertia, axis1=-2, axis2=-1)
    moving[..., :-1, step.torque_places] += effort[..., None, step.motors]
    cost, *_ = nodes.cost(moving)
    is_cost = np.isfinite(cost) & (cost > 0.0)
    return np.where(is_cost, _USUAL_COST / np.where(is_cost, cost, 1.0), 1.0)
