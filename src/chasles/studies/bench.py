"""Robots as a study sees them: what controllers know of them, their motion, and the torques that it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.model import parse_toml
from chasles.robot.robot import Robot
from chasles.studies.choices import StudyRobot, motion_through
from chasles.studies.definition import Definition
from chasles.studies.settings import Factors
from chasles.trajectories import JointTrajectory
from chasles.trajectories.joint.closed import on_manifold

Floats = NDArray[np.float64]

_TIMES = 101  # of the motion at which the torques of each run are computed


@dataclass(frozen=True)
class StudiedRobot:
    """A robot, what controllers believe of it, and the motion.

    Attributes
    ----------
    model
        The robot as controllers know it: as described, without friction. With other parameters it is the plant.
    motion
        The reference.
    peak_torque, top_speed
        Largest torque and speed of each joint in the planned motion without friction and payload, shape (n,).
    inertia
        Mean inertia of each joint along the motion, all others locked, shape (n,).
    rated_payload
        Unit of the payloads, kg.
    """

    model: Robot
    motion: JointTrajectory
    peak_torque: Floats
    top_speed: Floats
    inertia: Floats
    rated_payload: float = 1.0


def bench(study: Definition, robot: StudyRobot) -> StudiedRobot:
    """Make a robot's bench.

    Raises
    ------
    ArgumentError
        Limits relative to the loaded motion are asked for, and the robot has loops.
    """
    studied, share = _bench(robot, study.factors.coulomb_velocity), study.execution.torque_limits
    if isinstance(share, bool):
        return studied
    if studied.model.description.loops:
        raise ArgumentError(f"robot '{robot.title}' has loops: 'torque_limits' must be true or false, not {share:g}")
    return _with_limits(robot, study.factors, share)


def loaded_torque(
    factors: Factors, studied: StudiedRobot, unknowns: Mapping[str, Floats], wrong: Mapping[str, Floats] | None = None
) -> Floats:
    """Return the largest torque of each joint that the planned motion takes in each run, shape (runs, n).

    The payload that is picked up counts from the start to the end. A force at the tip does not count.

    Parameters
    ----------
    factors, studied
        Factors and bench.
    unknowns
        Values of each unknown, shape (runs,).
    wrong
        Parameters of the model that are in error, each of shape (runs, …); default none.
    """
    carried = {**unknowns, "payload": unknowns["payload"] + unknowns.get("picked_payload", 0.0)}
    values = {
        **(wrong or {}),
        **payload_values(factors, studied, carried),
        **friction_values(factors, studied, carried),
    }
    dry = values.pop("friction.breakaway", np.zeros(1)) * (1.0 + np.max(values.pop("friction.position_amplitude", 0.0)))
    values.pop("friction.coulomb", None)
    planned = studied.motion(np.linspace(0.0, studied.motion.duration, _TIMES))
    varied = {name: value[:, None] for name, value in values.items()}
    torque = studied.model.inverse_dynamics(planned.q, planned.qd, planned.qdd, vary=varied)
    largest: Floats = np.abs(torque).max(axis=-2) + dry
    return largest


def payload_values(factors: Factors, studied: StudiedRobot, unknowns: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return the payload's parameters in each run: a ball at `Factors.payload_center`."""
    mass = unknowns["payload"] * studied.rated_payload
    values: dict[str, Floats] = {"payload.mass": mass}
    if any(factors.payload_center):
        values["payload.center_of_mass"] = np.broadcast_to(factors.payload_center, (len(mass), 3)).copy()
    if factors.payload_radius:
        values["payload.inertia"] = 0.4 * factors.payload_radius**2 * mass[:, None, None] * np.eye(3)
    return values


def has_dry_friction(factors: Factors) -> bool:
    """Whether the dry friction is more than Coulomb's, so that it is a curve of its own."""
    return bool(factors.friction[1]) and bool(factors.static_friction[1] or factors.position_friction[1])


def friction_values(factors: Factors, studied: StudiedRobot, unknowns: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return the friction's parameters in each run."""
    if not factors.friction[1]:
        return {}
    most = unknowns["friction"][:, None] * studied.peak_torque
    speed = np.where(studied.top_speed > 0.0, studied.top_speed, np.inf)
    viscous, coulomb = factors.viscous_share * most / speed, (1.0 - factors.viscous_share) * most
    values: dict[str, Floats] = {}
    for joint, name in enumerate(studied.model.velocity_names):
        values[f"joints.{name}.viscous_friction"] = viscous[:, joint]
        if not has_dry_friction(factors):
            values[f"joints.{name}.coulomb_friction"] = coulomb[:, joint]
    if has_dry_friction(factors):
        none = np.zeros(len(most))
        excess, waves = (unknowns.get(name, none) for name in ("static_friction", "position_friction"))
        values["friction.coulomb"] = coulomb
        values["friction.breakaway"] = coulomb * (1.0 + excess[:, None])
        values["friction.position_amplitude"] = np.tile(waves[:, None, None], (1, studied.model.n, 1))
    return values


@lru_cache(maxsize=16)
def _bench(robot: StudyRobot, coulomb_velocity: float) -> StudiedRobot:
    """Make a bench with the limits that the robot's description has."""
    described = Robot(parse_toml(robot.toml, check=False))
    model = described.with_friction(viscous=0.0, coulomb=0.0, coulomb_velocity=coulomb_velocity)
    motion = on_manifold(model, motion_through(robot.times, robot.waypoints))
    planned = motion(np.linspace(0.0, motion.duration, 501))
    torque = model.inverse_dynamics(planned.q, planned.qd, planned.qdd)
    peak_torque, top_speed = np.abs(torque).max(axis=0), np.abs(planned.qd).max(axis=0)
    inertia = np.diagonal(model.mass_matrix(planned.q), axis1=-2, axis2=-1).mean(axis=0)
    return StudiedRobot(model, motion, peak_torque, top_speed, inertia, robot.rated_payload)


@lru_cache(maxsize=16)
def _with_limits(robot: StudyRobot, factors: Factors, share: float) -> StudiedRobot:
    """Return a bench whose motors give a share of the torques that the motion takes with the largest unknowns."""
    studied = _bench(robot, factors.coulomb_velocity)
    description = studied.model.description
    largest = {name: np.array([high]) for name, (_, high) in factors.ranges.items()}
    limits = share * loaded_torque(factors, studied, largest)[0]
    ends = np.split(limits, np.cumsum([len(joint.freedoms) for joint in description.coordinates]))
    joints = {joint.name: joint for joint in description.joints}
    for joint, effort in zip(description.coordinates, ends, strict=False):
        bounds = effort.tolist()
        limited = joint.limits.replace(effort=bounds[0] if len(bounds) == 1 else tuple(bounds))
        joints[joint.name] = joint.replace(limits=limited)
    return replace(studied, model=Robot(description.replace(joints=tuple(joints.values()))))
