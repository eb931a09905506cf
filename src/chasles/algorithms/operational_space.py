"""Inertia of a robot as felt at one of its frames.

Source: Khatib, "A unified approach for motion and force control of robot manipulators: the operational space
formulation" (IEEE J. Robotics and Automation 3(1), 1987).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chasles.algorithms.jacobian import jacobian
from chasles.algorithms.mass_matrix import factor_mass_matrix, mass_matrix
from chasles.engine.linear_solve import factor, inverse, solve
from chasles.geometry.elementary import Array

if TYPE_CHECKING:
    from chasles.model.tree import Tree


def operational_space_mobility(tree: Tree, q: Array, target: str, frame: str = "world-aligned") -> Array:
    """Return the acceleration of a frame per unit wrench on it: J M⁻¹ Jᵀ.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q
        Configuration, shape (nq,), rad (m for prismatic joints).
    target, frame
        As for `jacobian`, and with its errors.

    Returns
    -------
    mobility
        Shape (6, 6), symmetric. It exists for every robot and configuration; singular where the frame cannot be moved
        in some direction.

    Raises
    ------
    ArgumentError
        If a joint moves nothing that has mass or motor inertia.

    Examples
    --------
    A force along the stretched arm does not move its tool; one across does.

    >>> import numpy as np
    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> mobility = operational_space_mobility(tree, np.zeros(2), target="tool", frame="world-aligned")
    >>> mobility[3:5, 3:5].round(4)
    array([[0.    , 0.    ],
           [0.    , 0.6545]])
    """
    J = jacobian(tree, q, target, frame)
    mobility: Array = J @ solve(factor_mass_matrix(tree, mass_matrix(tree, q)), J.T)
    return 0.5 * (mobility + mobility.T)


def operational_space_inertia(tree: Tree, q: Array, target: str, frame: str = "world-aligned") -> Array:
    """Return the wrench on a frame per unit of its acceleration: (J M⁻¹ Jᵀ)⁻¹.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q, target, frame
        As for `operational_space_mobility`, and with its errors.

    Returns
    -------
    Lambda
        Shape (6, 6), symmetric, kg·m², kg·m and kg. Where the frame cannot be moved in some direction, as in a singular
        configuration, it does not exist: its elements are then not finite, or as large as rounding leaves them. Arms
        with fewer than six joints never have it; use `operational_space_mobility` and invert the part that matters.

    Examples
    --------
    >>> import numpy as np
    >>> from chasles.model import build_tree, load
    >>> tree, q = build_tree(load("ur5")), np.array([0.0, -1.0, 1.0, 0.5, 1.0, 0.0])
    >>> inertia = operational_space_inertia(tree, q, target="tool", frame="world-aligned")
    >>> mobility = operational_space_mobility(tree, q, target="tool", frame="world-aligned")
    >>> bool(np.allclose(inertia @ mobility, np.eye(6)))
    True
    """
    return inverse(factor(operational_space_mobility(tree, q, target, frame)))
