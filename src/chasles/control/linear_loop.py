"""A sampled loop linearised along a motion: the law, and the plant with rigid or elastic joints."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.control.controller import Controller
from chasles.control.delayed_hold import delayed_hold
from chasles.control.elastic_joint_law import elastic_model
from chasles.control.linear_law import LinearLaw, Velocity, law_along
from chasles.control.linear_model import LinearModel, linear_model
from chasles.engine.validators import choice
from chasles.robot.robot import Robot
from chasles.trajectories import JointTrajectory, Motion

Floats = NDArray[np.float64]
#: Side of elastic joints that encoders measure.
Side = Literal["link", "motor"]


class Springs(Protocol):
    """Springs and rotors in the joints of a plant: `chasles.ElasticJoints`."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Stiffness, damping and rotor inertia by name, each (n,)."""


class LinearLoop(NamedTuple):
    """Law and plant at some calls, in the plant's states: (q, q̇), or (q, θ, q̇, θ̇) with elastic joints.

    Attributes
    ----------
    law
        The law at each call, in the states that it measures and zeros for the others.
    A, B_late
        The sampled plant, as in `chasles.control.delayed_hold.DelayedHold`.
    """

    law: LinearLaw
    A: Floats
    B_late: tuple[Floats, ...]


def call_times(motion: JointTrajectory, period: float) -> Floats:
    """Times of a law's calls along a motion, every period from its start to its end, two at least.

    Examples
    --------
    >>> from chasles.trajectories import PointToPoint
    >>> call_times(PointToPoint([0.0], [1.0], 1.0), 0.4)
    array([0. , 0.4, 0.8])
    """
    calls = max(2, math.floor(motion.duration / period + 1e-9) + 1)
    return float(motion.start_time) + period * np.arange(calls, dtype=np.float64)


def loop_along(
    robot: Robot,
    controller: Controller,
    times: Floats,
    planned: Motion,
    period: float,
    delay: float = 0.0,
    *,
    every: int = 1,
    velocity: Velocity = "differentiated",
    elastic_joints: Springs | None = None,
    side: Side = "link",
) -> LinearLoop:
    """Linearise law and plant at every so many calls along a motion.

    Parameters
    ----------
    robot, controller
        The plant's robot, and the law.
    times, planned
        Times of all calls, (k,), and the motion there.
    period, delay
        Sample period, s, and delay in sample periods.
    every
        Number of calls from one that is linearised to the next.
    velocity
        Source of the velocities, see `chasles.control.loop_margins`.
    elastic_joints, side
        Springs in the plant's joints, and the side of them that laws measure which measure one.
    """
    choice(velocity, "velocity", ("differentiated", "measured"))
    choice(side, "side of elastic joints", ("link", "motor"))
    if elastic_joints is None and (controller.reads_motors or side == "motor"):
        needed = f"controller '{controller.name}'" if controller.reads_motors else "side='motor'"
        raise ArgumentError(f"{needed} measures the motor sides of elastic joints: give elastic_joints")
    law = law_along(robot, controller, times, planned, period, every, velocity)
    model = linear_model(robot, Motion(*(part[::every] for part in planned)))
    if elastic_joints is not None:
        model = _with_springs(robot, model, elastic_joints)
        law = law if controller.reads_motors else _measuring(law, robot.n, side)
    held = delayed_hold(*model, period, delay)
    return LinearLoop(law, held.A, held.B_late)


def _with_springs(robot: Robot, links: LinearModel, springs: Springs) -> LinearModel:
    """Linear model of a plant whose motors drive its links through springs."""
    if robot.nq != robot.n:
        raise ArgumentError(f"robot '{robot.name}' has joints of several coordinates; springs act on single ones")
    values = (springs.parameters[name] for name in ("stiffness", "rotor_inertia", "damping"))
    return elastic_model(links, *(np.broadcast_to(np.asarray(value, dtype=np.float64), robot.n) for value in values))


def _measuring(law: LinearLaw, n: int, side: Side) -> LinearLaw:
    """Return a law of (q, q̇) as one of (q, θ, q̇, θ̇) that measures one side."""
    first = 0 if side == "link" else n
    measured = np.concatenate([first + np.arange(n), 2 * n + first + np.arange(n)])
    B, D = (np.zeros((*part.shape[:-1], 4 * n)) for part in (law.B, law.D))
    B[..., measured], D[..., measured] = law.B, law.D
    return LinearLaw(law.A, B, law.C, D)
