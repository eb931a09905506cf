"""How near a matrix is to a rotation or a rigid motion, and the nearest one (chapter 3 of the book)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.engine import sqrt, where
from chasles.engine.program.scalar import Real, Verdict
from chasles.geometry import projections
from chasles.geometry.batched import batched
from chasles.geometry.elementary import Array, cross

#: Largest distance at which `TestIfSO3` and `TestIfSE3` say yes.
TEST_TOLERANCE = 1e-3
#: The distance of a matrix with a determinant that is not positive.
_FAR = 1e9


@batched(mat=(3, 3))
def ProjectToSO3(mat: Array) -> Array:
    """Rotation nearest to a matrix.

    Parameters
    ----------
    mat
        Shape (..., 3, 3).

    Returns
    -------
    ndarray
        Rotation with the least sum of squared differences, shape (..., 3, 3).

    Notes
    -----
    Where the determinant is negative the published package turns the last column of a reflection, and so does not give
    the nearest rotation.

    Examples
    --------
    >>> ProjectToSO3([[0.675, 0.150, 0.720], [0.370, 0.771, -0.511], [-0.630, 0.619, 0.472]])
    array([[ 0.67901136,  0.14894516,  0.71885945],
           [ 0.37320708,  0.77319584, -0.51272279],
           [-0.63218672,  0.61642804,  0.46942137]])
    """
    R: Array = projections.project_rotation(mat)
    return R


@batched(mat=(4, 4))
def ProjectToSE3(mat: Array) -> Array:
    """Homogeneous transformation matrix nearest to a matrix.

    Parameters
    ----------
    mat
        Shape (..., 4, 4).

    Returns
    -------
    ndarray
        Shape (..., 4, 4): the rotation of `ProjectToSO3`, the last column of mat, and the last row 0, 0, 0, 1.

    Examples
    --------
    >>> ProjectToSE3(1.1 * np.eye(4)).round(12) + 0.0
    array([[1., 0., 0., 0.],
           [0., 1., 0., 0.],
           [0., 0., 1., 0.],
           [0., 0., 0., 1.]])
    """
    T: Array = projections.project_pose(mat)
    return T


@batched(mat=(3, 3))
def DistanceToSO3(mat: Array) -> Real:
    """The book's measure of the distance from SO(3): the Frobenius norm of matᵀ mat - I.

    `chasles.geometry.rotation_distance` is the distance itself.

    Parameters
    ----------
    mat
        Shape (..., 3, 3).

    Returns
    -------
    ndarray
        Shape (...); 1e9 where the determinant is not positive.

    Examples
    --------
    >>> DistanceToSO3([[1.0, 0.0, 0.0], [0.0, 0.1, -0.95], [0.0, 1.0, 0.1]]).round(8)
    np.float64(0.08835299)
    """
    x, y, z = mat.T
    defect = (mat.T @ mat - np.eye(3)).ravel()
    return where(cross(x, y) @ z > 0.0, sqrt(defect @ defect), _FAR)


@batched(mat=(4, 4))
def DistanceToSE3(mat: Array) -> Real:
    """The book's measure of the distance from SE(3): that of the rotation from SO(3), and of the last row from 0 0 0 1.

    `chasles.geometry.pose_distance` is the distance itself.

    Parameters
    ----------
    mat
        Shape (..., 4, 4).

    Returns
    -------
    ndarray
        Shape (...); 1e9 where the determinant of the rotation is not positive.

    Examples
    --------
    >>> DistanceToSE3(np.diag([1.0, 1.0, 1.0, 1.5]))
    np.float64(0.5)
    """
    of_rotation: Any = DistanceToSO3(mat[:3, :3])
    of_last_row = mat[3] - np.array([0.0, 0.0, 0.0, 1.0])
    return where(of_rotation >= _FAR, _FAR, sqrt(of_rotation * of_rotation + of_last_row @ of_last_row))


def TestIfSO3(mat: ArrayLike) -> Verdict:
    """Whether a matrix is within a distance of 1e-3 of SO(3), in the measure of `DistanceToSO3`.

    Parameters
    ----------
    mat
        Shape (..., 3, 3).

    Returns
    -------
    bool or ndarray
        Shape (...). False where there are NaN.

    Examples
    --------
    >>> TestIfSO3(np.eye(3)), TestIfSO3(np.diag([1.0, 0.1, 1.0]))
    (True, False)
    """
    return _within(DistanceToSO3(mat))


def TestIfSE3(mat: ArrayLike) -> Verdict:
    """Whether a matrix is within a distance of 1e-3 of SE(3), in the measure of `DistanceToSE3`.

    Parameters
    ----------
    mat
        Shape (..., 4, 4).

    Returns
    -------
    bool or ndarray
        Shape (...). False where there are NaN.

    Examples
    --------
    >>> TestIfSE3(np.eye(4)), TestIfSE3(np.zeros((4, 4)))
    (True, False)
    """
    return _within(DistanceToSE3(mat))


def _within(distance: Any) -> Verdict:
    near = np.less(distance, TEST_TOLERANCE)
    return near if np.ndim(near) else bool(near)
