"""Forward kinematics (chapter 4 of the book)."""

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
        As `FKinBody`.

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
