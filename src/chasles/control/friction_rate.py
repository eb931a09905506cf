"""How fast friction acts, against which steps and sample periods are short or long."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.engine.program.scalar import Quantity
from chasles.model import Joint
from chasles.robot.robot import Robot


def fastest_friction_rate(robot: Robot, q: ArrayLike, values: Mapping[str, Any], further: Quantity = 0.0) -> float:
    """Largest rate, 1/s, at which friction slows a motion from rest: the top eigenvalue of M⁻¹ D.

    Friction of the load counts with the load of the robot's weight.

    Parameters
    ----------
    robot
        The plant.
    q
        Configuration, shape (n,).
    values
        Parameters that take other values than the description's; of friction the largest counts.
    further
        Damping of the joints that is not in the description, shape (n,), N·m·s/rad.
    """
    description = robot.description
    damping = np.zeros(len(description.joint_velocity_names))
    for name, (driver, ratio, _) in description.mimics.items():
        first = description.starts[driver][1]
        joint = description.joint(name)
        damping[first : first + len(joint.freedoms)] += ratio**2 * _slope(joint, values)
    loaded = {joint.name: _load_slope(joint, values) for joint in description.coordinates}
    if any(loaded.values()):  # robots with loops have no such friction
        held = np.asarray(robot.gravity_torque(q)) - np.asarray(robot.position_torque(q))
        load = np.abs(np.linalg.solve(description.drive_coupling.T, held))
        for name, slope in loaded.items():
            damping[description.velocity_places(name)] += slope * load[description.velocity_places(name)]
    if not (damping.any() or np.any(further)):
        return 0.0
    G = np.asarray(robot.loops.velocity_map(q)) if description.loops else np.eye(robot.n)
    CG = description.drive_coupling @ G
    felt = CG.T @ np.diag(damping) @ CG + np.diag(np.zeros(robot.n) + further)
    return float(np.linalg.eigvals(robot.inverse_mass_matrix(q) @ felt).real.max())


def _slope(joint: Joint, values: Mapping[str, Any]) -> float:
    """Largest slope at rest of a joint's viscous and Coulomb friction, N·m·s/rad."""
    slope = _largest(joint, "viscous_friction", values)
    given = np.asarray(values.get(f"joints.{joint.name}.coulomb_velocity", joint.coulomb_velocities))
    velocities = given.reshape(-1, len(joint.coulomb_shares)).max(axis=0)
    for share, velocity in zip(joint.coulomb_shares, velocities.tolist(), strict=True):
        slope += share * _largest(joint, "coulomb_friction", values) / velocity if velocity > 0.0 else 0.0
    return slope


def _load_slope(joint: Joint, values: Mapping[str, Any]) -> float:
    """Largest slope at rest of a joint's friction for each N·m that it transmits, s/rad."""
    velocity = _largest(joint, "load_velocity", values)
    return max(_largest(joint, "load_friction", values), 0.0) / velocity if velocity > 0.0 else 0.0


def _largest(joint: Joint, parameter: str, values: Mapping[str, Any]) -> float:
    """Largest value of a joint's parameter in several runs."""
    return float(np.max(values.get(f"joints.{joint.name}.{parameter}", getattr(joint, parameter))))


def friction_feedback_warning(model: Robot, period: float, instead: str) -> str | None:
    """Return a warning, if a law that compensates friction at the measured velocity feeds it back with a gain above 1.

    The velocity is fed back with positive sign: in a period the friction D of a joint of inertia M would change the
    velocity by the share D h / M. Beyond 1 the compensation lags behind the friction.

    Parameters
    ----------
    model
        The law's model of the robot.
    period
        Sample period h, s.
    instead
        Advice in the message.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("planar2r").with_friction(viscous=100.0)
    >>> friction_feedback_warning(arm, 0.01, "use friction='reference'").split(":")[0]
    'friction of the model is compensated at the measured velocity'
    """
    gain = fastest_friction_rate(model, model.home, {}) * period
    if not gain > 1.0:
        return None
    return (
        f"friction of the model is compensated at the measured velocity: a positive feedback of gain {gain:.3g} in a "
        f"sample period of {period:g} s, which must stay below 1; {instead}"
    )
