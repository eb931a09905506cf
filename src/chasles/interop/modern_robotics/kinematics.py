"""Forward and velocity kinematics of open chains (chapters 4 and 5 of the book)."""

from __future__ import annotations

from numpy.typing import ArrayLike

from chasles.geometry.elementary import Array
from chasles.interop.modern_robotics.screw_chains import joint_count, screw_chains


def FKinBody(M: ArrayLike, Blist: ArrayLike, thetalist: ArrayLike) -> Array:
    """Pose of the end-effector frame, from screw axes in that frame.

    Parameters
    ----------
    M
        Pose of the end-effector frame at the home position, shape (..., 4, 4).
    Blist
        Screw axes of the joints in the end-effector frame at the home position, one a column, shape (..., 6, n).
    thetalist
        Joint variables, rad (m for prismatic joints), shape (..., n).

    Returns
    -------
    ndarray
        T, shape (..., 4, 4).

    Raises
    ------
    ArgumentError
        Also for fewer joint variables than axes, where the published package leaves out the last axes without a word.

    Notes
    -----
    The published package leaves out rotations of joints by less than 1e-6 rad.

    Examples
    --------
    >>> import numpy as np
    >>> M = [[-1, 0, 0, 0], [0, 1, 0, 6], [0, 0, -1, 2], [0, 0, 0, 1]]
    >>> Blist = np.array([[0, 0, -1, 2, 0, 0], [0, 0, 0, 0, 1, 0], [0, 0, 1, 0, 0, 0.1]]).T
    >>> FKinBody(M, Blist, [np.pi / 2, 3, np.pi]).round(12) + 0.0
    array([[ 0.        ,  1.        ,  0.        , -5.        ],
           [ 1.        ,  0.        ,  0.        ,  4.        ],
           [ 0.        ,  0.        , -1.        ,  1.68584073],
           [ 0.        ,  0.        ,  0.        ,  1.        ]])
    """
    T: Array = screw_chains(joint_count(Blist, "FKinBody", "Blist")).body_pose(M, Blist, thetalist)
    return T


def FKinSpace(M: ArrayLike, Slist: ArrayLike, thetalist: ArrayLike) -> Array:
    """Pose of the end-effector frame, from screw axes in the space frame.

    Parameters
    ----------
    M
        Pose of the end-effector frame at the home position, shape (..., 4, 4).
    Slist
        Screw axes of the joints in the space frame at the home position, one a column, shape (..., 6, n).
    thetalist
        Joint variables, rad (m for prismatic joints), shape (..., n).

    Returns
    -------
    ndarray
        T, shape (..., 4, 4).

    Raises
    ------
    ArgumentError
        See `FKinBody`.

    Notes
    -----
    The published package leaves out rotations of joints by less than 1e-6 rad.

    Examples
    --------
    >>> import numpy as np
    >>> M = [[-1, 0, 0, 0], [0, 1, 0, 6], [0, 0, -1, 2], [0, 0, 0, 1]]
    >>> Slist = np.array([[0, 0, 1, 4, 0, 0], [0, 0, 0, 0, 1, 0], [0, 0, -1, -6, 0, -0.1]]).T
    >>> FKinSpace(M, Slist, [np.pi / 2, 3, np.pi])[:3, 3]
    array([-5. , 4. , 1.68584073])
    """
    T: Array = screw_chains(joint_count(Slist, "FKinSpace", "Slist")).space_pose(M, Slist, thetalist)
    return T


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
        Also for fewer joint variables than axes, where the published package returns meaningless columns.

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
        See `JacobianBody`.

    Examples
    --------
    >>> import numpy as np
    >>> Slist = np.array([[0, 0, 1, 0, 0.2, 0.2], [1, 0, 0, 2, 0, 3]]).T
    >>> JacobianSpace(Slist, [0.2, 1.1])[:, 1].round(8)
    array([0.98006658, 0.19866933, 0. , 1.95218638, 0.43654132, 2.96026613])
    """
    Js: Array = screw_chains(joint_count(Slist, "JacobianSpace", "Slist")).space_jacobian(Slist, thetalist)
    return Js
