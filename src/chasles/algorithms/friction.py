"""Joint friction: viscous and Coulomb."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chasles.algorithms.joint_motion import joint_rates, vector_of_coordinates
from chasles.algorithms.known_values import is_number_zero
from chasles.engine import sign, tanh
from chasles.geometry.elementary import Array

if TYPE_CHECKING:
    from chasles.model.tree import Body, Tree


def joint_friction(body: Body, rate: Any) -> Any:
    """Friction torque that opposes one joint's rate: viscous + Coulomb.

    The Coulomb part is coulomb * sign(rate), or coulomb * tanh(rate / coulomb_velocity) where that velocity is not the
    number zero.

    Parameters
    ----------
    body
        Gives the friction of its joint.
    rate
        Of the joint, rad/s (m/s for a sliding joint).

    Returns
    -------
    float
        N m (N for a sliding joint), in the direction of the rate.

    Notes
    -----
    For these models and what they leave out see Armstrong-Helouvry, Dupont & Canudas de Wit, "A survey of models,
    analysis tools and compensation methods for the control of machines with friction" (Automatica 30(7), 1994).

    Examples
    --------
    >>> from chasles.model import build_tree, load, with_friction
    >>> tree = build_tree(with_friction(load("planar2r"), viscous=0.5, coulomb=2.0))
    >>> float(joint_friction(tree.bodies[0], -4.0))  # -0.5 * 4 - 2
    -4.0
    """
    return body.viscous_friction * rate + body.coulomb_friction * coulomb_direction(body, rate)


def coulomb_direction(body: Body, rate: Any) -> Any:
    """Torque of a Coulomb friction of 1 N m: sign(rate), or tanh(rate / coulomb_velocity).

    Examples
    --------
    >>> from chasles.model import build_tree, load, with_friction
    >>> float(coulomb_direction(build_tree(load("planar2r")).bodies[0], -4.0))
    -1.0
    """
    return sign(rate) if is_number_zero(body.coulomb_velocity) else tanh(rate / body.coulomb_velocity)


def joint_friction_derivative(body: Body, rate: Any) -> Any:
    """Derivative of `joint_friction` by the rate; the jump of sign(rate) at zero is left out.

    Examples
    --------
    >>> from chasles.model import build_tree, load, with_friction
    >>> tree = build_tree(with_friction(load("planar2r"), viscous=0.5, coulomb=2.0, coulomb_velocity=0.1))
    >>> float(joint_friction_derivative(tree.bodies[0], 0.0))  # 0.5 + 2 / 0.1
    20.5
    """
    if is_number_zero(body.coulomb_velocity):
        return body.viscous_friction
    slope = tanh(rate / body.coulomb_velocity)
    return body.viscous_friction + body.coulomb_friction * (1.0 - slope * slope) / body.coulomb_velocity


def friction_torque(tree: Tree, qd: Array) -> Array:
    """Friction torques at given rates: what the motors must add to keep the motion.

    Parameters
    ----------
    tree, qd
        The robot and its coordinate rates (n,), rad/s (m/s for sliding joints).

    Returns
    -------
    ndarray
        Shape (n,), N m (N for sliding joints).

    Examples
    --------
    >>> import numpy as np
    >>> from chasles.model import build_tree, load, with_friction
    >>> tree = build_tree(with_friction(load("planar2r"), viscous=0.5, coulomb=2.0))
    >>> friction_torque(tree, np.array([1.0, -4.0]))  # 0.5 * 1 + 2 and -0.5 * 4 - 2
    array([ 2.5, -4. ])
    """
    rates = joint_rates(tree, qd)
    return vector_of_coordinates(tree, [joint_friction(b, rate) for b, rate in zip(tree.bodies, rates, strict=True)])
