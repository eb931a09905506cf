"""How fast a plant's friction acts, which limits the steps of an explicit integrator."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from chasles.robot import Robot

#: Classical Runge-Kutta is stable on x' = -a x for a h < 2.785 (Hairer and Wanner, Solving Ordinary Differential
#: Equations II, section IV.2); the rest is kept for the inertias that other configurations have.
_LONGEST = 2.0


class StiffnessWarning(UserWarning):
    """The plant's friction acts too fast for the integrator's step: results may be wrong or diverge."""


def fastest_friction_rate(robot: Robot, q: Any, values: Mapping[str, Any]) -> float:
    """Largest rate, 1/s, at which friction slows a motion from rest: the top eigenvalue of M⁻¹ D.

    Parameters
    ----------
    robot
        The plant.
    q
        Configuration, shape (n,).
    values
        Parameters that take other values than the description's; of friction the largest counts.
    """
    description = robot.description
    damping = np.zeros(robot.n)
    for name, (driver, ratio, _) in description.mimics.items():
        joint = description.joint(name)

        def largest(parameter: str, joint: Any = joint) -> float:
            return float(np.max(values.get(f"joints.{joint.name}.{parameter}", getattr(joint, parameter))))

        slope = largest("viscous_friction")
        if largest("coulomb_velocity") > 0.0:
            slope += largest("coulomb_friction") / largest("coulomb_velocity")
        damping[description.joint_names.index(driver)] += ratio**2 * slope
    if not damping.any():
        return 0.0
    return float(np.linalg.eigvals(robot.inverse_mass_matrix(q) @ np.diag(damping)).real.max())


def warn_if_stiff(robot: Robot, q: Any, values: Mapping[str, Any], period: float, substeps: int) -> None:
    """Warn if the step of the fixed-step integrator is too long for the plant's friction."""
    rate = fastest_friction_rate(robot, q, values)
    if rate * period / substeps > _LONGEST:
        enough = math.ceil(rate * period / _LONGEST)
        warnings.warn(
            f"the friction of robot '{robot.name}' acts at {rate:.3g} 1/s, too fast for steps of "
            f"{period / substeps:g} s: use substeps={enough} or a stiff integrator ('Radau')",
            StiffnessWarning,
            stacklevel=4,
        )
