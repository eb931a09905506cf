"""How fast friction acts, against which steps and sample periods are short or long."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.engine.program.scalar import Quantity
from chasles.model import Joint
from chasles.robot.robot import Robot


def fastest_friction_rate(robot: Robot, q: ArrayLike, values: Mapping[str, Any], further: Quantity = 0.0) -> float:
    """Largest rate, 1/s, at which friction slows a motion from rest: the top eigenvalue of M⁻¹ D.

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
        joint = description.joint(name)

        def largest(parameter: str, joint: Joint = joint) -> float:
            given = values.get(f"joints.{joint.name}.{parameter}")
            own: float = getattr(joint, parameter)
            return own if given is None else float(np.max(given))

        slope = largest("viscous_friction")
        for share, velocity in zip(joint.coulomb_shares, _velocities(joint, values), strict=True):
            slope += share * largest("coulomb_friction") / velocity if velocity > 0.0 else 0.0
        first = description.starts[driver][1]
        damping[first : first + len(joint.freedoms)] += ratio**2 * slope
    if not (damping.any() or np.any(further)):
        return 0.0
    G = np.asarray(robot.loops.velocity_map(q)) if description.loops else np.eye(robot.n)
    felt = G.T @ np.diag(damping) @ G + np.diag(np.zeros(robot.n) + further)
    return float(np.linalg.eigvals(robot.inverse_mass_matrix(q) @ felt).real.max())


def _velocities(joint: Joint, values: Mapping[str, Any]) -> NDArray[np.float64]:
    """Velocity scales of a joint's Coulomb friction, of several runs the largest."""
    given = np.asarray(values.get(f"joints.{joint.name}.coulomb_velocity", joint.coulomb_velocities))
    return np.asarray(given.reshape(-1, len(joint.coulomb_shares)).max(axis=0))


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
