"""How the bodies' points would accelerate if joints that move with qd had reference rates instead.

The joints' reference rates qd_r give every point of a body a reference velocity J(q) qd_r. As the robot moves with qd,
this velocity changes by J qdd_r + dJ/dt qd_r. Summed over mass points, J^T m of it is M qdd_r + C qd_r, with the one C
of the Christoffel symbols, for which dM/dt - 2 C is skew: J^T m dJ/dt is that C, point by point. So the Newton-Euler
recursion gives these torques in one pass, once its accelerations are replaced by those of this file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from chasles.algorithms.body_motion import body_velocities, velocities_after
from chasles.algorithms.joint_motion import WORLD, Pose, continues_joint
from chasles.geometry.elementary import Z_AXIS, Array, cross, skew

if TYPE_CHECKING:
    from chasles.model.tree import Tree


class PointAccelerations(NamedTuple):
    """Accelerations of the points r of a body, `linear + matrix @ r`, in its axes."""

    matrix: Array
    """U (3, 3)."""
    linear: Array
    """Acceleration (3,) of the body's origin."""


def reference_accelerations(
    tree: Tree,
    poses: Sequence[Pose],
    rates: Sequence[Any],
    reference_rates: Sequence[Any],
    reference_rates_of_change: Sequence[Any],
    gravity: Array,
) -> list[PointAccelerations]:
    """Rates of change, along the motion, of every body's reference velocities; the base accelerates by -gravity.

    With the angular velocities omega and omega_r in the body's axes and the rate of change alpha_r of omega_r seen from
    the world, a point r changes its reference velocity by a + U r with U = [alpha_r]x + [omega_r]x [omega]x. The screws
    of a joint with several freedoms are fixed in the body that the whole joint moves; see `body_motion`.
    """
    nothing = np.zeros(3)
    velocities = velocities_after(tree, poses, body_velocities(tree, poses, rates))
    before: list[Array] = []  # reference angular velocity before each joint
    references: list[Array] = []
    turnings: list[Array] = []
    result: list[PointAccelerations] = []
    for body, (R, p), velocity, rate, reference_rate, acceleration in zip(
        tree.bodies, poses, velocities, rates, reference_rates, reference_rates_of_change, strict=True
    ):
        fixed = body.parent == WORLD
        reference_of_parent = R.T @ (nothing if fixed else references[body.parent])
        turning_of_parent = R.T @ (nothing if fixed else turnings[body.parent])
        carried = R.T @ (-gravity if fixed else result[body.parent].linear + result[body.parent].matrix @ p)
        before.append(R.T @ before[body.parent] if continues_joint(body) else reference_of_parent)
        swing = cross(velocity.angular, Z_AXIS * reference_rate)
        swing_of_point = swing + cross(before[-1], Z_AXIS * rate)
        reference = reference_of_parent + body.angular * reference_rate * Z_AXIS
        turning = turning_of_parent + body.angular * (acceleration * Z_AXIS + swing)
        linear = carried + body.pitch * (acceleration * Z_AXIS + swing_of_point)
        references.append(reference)
        turnings.append(turning)
        result.append(PointAccelerations(skew(turning) + skew(reference) @ skew(velocity.angular), linear))
    return result
