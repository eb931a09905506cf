"""Joint friction: viscous and Coulomb."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.algorithms.joint_motion import joint_rates, vector_of_coordinates
from chasles.engine import sign, tanh
from chasles.geometry.vectors import Array

if TYPE_CHECKING:
    from chasles.model.tree import Body, Tree


def _is_zero(value: Any) -> bool:
    """Whether a parameter is the number zero (a traced one never is)."""
    return isinstance(value, (int, float, np.number)) and value == 0


def joint_friction(body: Body, rate: Any) -> Any:
    """Friction torque (N m, or N) that opposes one joint's rate: viscous + Coulomb.

    The Coulomb part is coulomb * sign(rate), or coulomb * tanh(rate / coulomb_velocity) where that velocity is not the
    number zero (Armstrong-Helouvry, Dupont & Canudas de Wit, Automatica 30(7), 1994).
    """
    direction = sign(rate) if _is_zero(body.coulomb_velocity) else tanh(rate / body.coulomb_velocity)
    return body.viscous_friction * rate + body.coulomb_friction * direction


def joint_friction_derivative(body: Body, rate: Any) -> Any:
    """Derivative of `joint_friction` by the rate; the jump of sign(rate) at zero is left out."""
    if _is_zero(body.coulomb_velocity):
        return body.viscous_friction
    slope = tanh(rate / body.coulomb_velocity)
    return body.viscous_friction + body.coulomb_friction * (1.0 - slope * slope) / body.coulomb_velocity


def friction_torque(tree: Tree, qd: Array) -> Array:
    """Friction torques (n,) at the coordinate rates qd (n,): what the motors must add to keep the motion."""
    rates = joint_rates(tree, qd)
    return vector_of_coordinates(tree, [joint_friction(b, rate) for b, rate in zip(tree.bodies, rates, strict=True)])
