"""Velocity kinematics and statics (chapter 5 of the book)."""

from __future__ import annotations

from numpy.typing import ArrayLike

from chasles.geometry.elementary import Array
from chasles.interop.modern_robotics.screw_chains import joint_count, screw_chains


def JacobianBody(Blist: ArrayLike, thetalist: ArrayLike) -> Array:
    """Body Jacobian: joint rates to the twist of the end-effector, seen from its own frame.

    Parameters
    ----------
    Blist
        Screw axes of the joints in the end-effector frame at the home position, one a column, shape (..., 6, n).
    thetalist
        Joint variables, rad (m for prismatic joints), shape (..., n).

    Returns
    -------
    ndarray
        Jb, shape (..., 6, n).

    Raises
    ------
    ArgumentError
        Also for fewer joint variables than axes, where the published package returns columns that mean nothing.

    Examples
    --------
    >>> import numpy as np
    >>> Blist = np.array([[0, 0, 1, 0, 0.2, 0.2], [1, 0, 0, 2, 0, 3]]).T
    >>> JacobianBody(Blist, [0.2, 1.1])[:, 0].round(8)
    array([ 0. , 0.89120736, 0.45359612, 1.63921164, 1.26687216, -2.04817844])
    """
    Jb: Array = screw_chains(joint_count(Blist, "JacobianBody", "Blist")).body_jacobian(Blist, thetalist)
    return Jb


def JacobianSpace(Slist: ArrayLike, thetalist: ArrayLike) -> Array:
    """Space Jacobian: joint rates to the twist of the end-effector, seen from the space frame.

    Parameters
    ----------
    Slist
        Screw axes of the joints in the space frame at the home position, one a column, shape (..., 6, n).
    thetalist
        Joint variables, rad (m for prismatic joints), shape (..., n).

    Returns
    -------
    ndarray
        Js, shape (..., 6, n).

    Raises
    ------
    ArgumentError
        As `JacobianBody`.

    Examples
    --------
    >>> import numpy as np
    >>> Slist = np.array([[0, 0, 1, 0, 0.2, 0.2], [1, 0, 0, 2, 0, 3]]).T
    >>> JacobianSpace(Slist, [0.2, 1.1])[:, 1].round(8)
    array([0.98006658, 0.19866933, 0. , 1.95218638, 0.43654132, 2.96026613])
    """
    Js: Array = screw_chains(joint_count(Slist, "JacobianSpace", "Slist")).space_jacobian(Slist, thetalist)
    return Js
