"""Friction of a law's model that grows with the load: the torques that the motors give determine it."""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.engine.program.scalar import Array
from chasles.robot.robot import Robot


def has_load_friction(robot: Robot) -> bool:
    """Whether friction of a robot depends on the torques that its joints transmit."""
    return any(joint.load_friction for joint in robot.description.joints)


def load_friction(robot: Robot, q: Any, qd: Any, tau: Any) -> Any:
    """Return the friction (n,) that the load adds where motors give the torques tau (n,), whatever pushes the robot.

    Examples
    --------
    A fifth of the 10 N·m that are transmitted of 12 N·m:

    >>> import chasles as ch
    >>> arm = ch.load("planar2r").with_friction(load=0.2)
    >>> load_friction(arm, np.zeros(2), np.ones(2), np.array([12.0, 0.0]))
    array([2., 0.])
    """
    if not has_load_friction(robot):
        return np.zeros(robot.n)
    load = robot.transmitted_torque(q, qd, tau)
    return robot.loaded_friction_torque(q, qd, load) - robot.loaded_friction_torque(q, qd, 0.0 * load)


def friction_change(robot: Robot, q: Array, qd: Array, qd_new: Array, tau: Array) -> Any:
    """Return friction (n,) at other velocities less that at qd, under the load that torques tau (n,) transmit at qd.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("planar2r").with_friction(viscous=2.0, load=0.2)
    >>> friction_change(arm, np.zeros(2), np.ones(2), -np.ones(2), np.array([14.0, 2.0]))  # -2 · 2 - 2 · 2, -2 · 2
    array([-8., -4.])
    """
    if not has_load_friction(robot):
        return robot.friction_torque(q, qd_new) - robot.friction_torque(q, qd)
    load = robot.transmitted_torque(q, qd, tau)
    return robot.loaded_friction_torque(q, qd_new, load) - robot.loaded_friction_torque(q, qd, load)
