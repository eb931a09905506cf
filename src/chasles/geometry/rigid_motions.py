"""Poses and twists: composition, exponential and logarithm, relative motion, the pose nearest to a matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import ArgumentError
from chasles.geometry import elementary
from chasles.geometry.batched import batched
from chasles.geometry.elementary import Array, ReferenceFrame, require_reference_frame
from chasles.geometry.projections import POSE, ROTATION
from chasles.geometry.quotients import cosine_quotient, inverse_quotient, third_quotient
from chasles.geometry.rotations import exp_rotation, log_rotation


@batched(R_ab=ROTATION, p_ab=(3,))
def pose(R_ab: Array, p_ab: Array) -> Array:
    """Pose of a frame b seen from a frame a; it maps coordinates in b to a.

    Parameters
    ----------
    R_ab
        Rotation, shape (..., 3, 3): its columns are b's axes seen from a.
    p_ab
        Origin of b seen from a, m, shape (..., 3).

    Returns
    -------
    ndarray
        T_ab, shape (..., 4, 4).

    Examples
    --------
    >>> pose(np.eye(3), [1.0, 2.0, 3.0])
    array([[1., 0., 0., 1.],
           [0., 1., 0., 2.],
           [0., 0., 1., 3.],
           [0., 0., 0., 1.]])
    """
    return elementary.pose(R_ab, p_ab)


@batched(T_ab=POSE)
def rotation_of(T_ab: Array) -> Array:
    """Rotation R_ab of a pose.

    Parameters
    ----------
    T_ab
        Pose, shape (..., 4, 4).

    Returns
    -------
    ndarray
        Shape (..., 3, 3).

    Examples
    --------
    >>> rotation_of(pose(np.eye(3), [1.0, 2.0, 3.0]))
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    return elementary.rotation_of(T_ab)


@batched(T_ab=POSE)
def translation_of(T_ab: Array) -> Array:
    """Origin p_ab of a pose, m in a.

    Parameters
    ----------
    T_ab
        Pose, shape (..., 4, 4).

    Returns
    -------
    ndarray
        Shape (..., 3).

    Examples
    --------
    >>> translation_of(pose(np.eye(3), [1.0, 2.0, 3.0]))
    array([1., 2., 3.])
    """
    return elementary.translation_of(T_ab)


@batched(T_ab=POSE)
def inverse_pose(T_ab: Array) -> Array:
    """Pose T_ba of a seen from b (Lynch & Park, Modern Robotics, section 3.3.1).

    Parameters
    ----------
    T_ab
        Pose, shape (..., 4, 4).

    Returns
    -------
    ndarray
        Shape (..., 4, 4). The rotation is inverted by its transpose, so the result is an inverse for poses only.

    Examples
    --------
    >>> translation_of(inverse_pose(pose(np.eye(3), [1.0, 2.0, 3.0])))
    array([-1., -2., -3.])
    """
    return elementary.inverse_pose(T_ab)


@batched(T_ab=POSE, T_bc=POSE)
def compose_poses(T_ab: Array, T_bc: Array) -> Array:
    """Pose T_ac = T_ab T_bc of c seen from a.

    Parameters
    ----------
    T_ab, T_bc
        Poses, shape (..., 4, 4).

    Returns
    -------
    ndarray
        Shape (..., 4, 4).

    Examples
    --------
    >>> T = pose(np.eye(3), [1.0, 2.0, 3.0])
    >>> translation_of(compose_poses(T, T))
    array([2., 4., 6.])
    """
    R_ab, p_ab = elementary.rotation_of(T_ab), elementary.translation_of(T_ab)
    return elementary.pose(R_ab @ elementary.rotation_of(T_bc), p_ab + R_ab @ elementary.translation_of(T_bc))


@batched(T_ab=POSE, T_ac=POSE)
def relative_pose(T_ab: Array, T_ac: Array) -> Array:
    """Pose T_bc of c seen from b, both given seen from a.

    The two origins are subtracted before they are rotated, so that nearby frames far from a lose no digits.

    Parameters
    ----------
    T_ab, T_ac
        Poses, shape (..., 4, 4).

    Returns
    -------
    ndarray
        Shape (..., 4, 4).

    Examples
    --------
    >>> translation_of(relative_pose(pose(np.eye(3), [1.0, 2.0, 3.0]), np.eye(4)))
    array([-1., -2., -3.])
    """
    R_ba = elementary.rotation_of(T_ab).T
    p_bc = R_ba @ (elementary.translation_of(T_ac) - elementary.translation_of(T_ab))
    return elementary.pose(R_ba @ elementary.rotation_of(T_ac), p_bc)


@batched(T_ab=POSE, p_b=(3,))
def transform_point(T_ab: Array, p_b: Array) -> Array:
    """Coordinates in a of a point given in b.

    Parameters
    ----------
    T_ab
        Pose, shape (..., 4, 4).
    p_b
        Point, m, shape (..., 3). For many points of one frame see `transform_points`; a free vector, such as a
        direction, is turned by `rotate` with the pose's rotation.

    Returns
    -------
    ndarray
        p_a, shape (..., 3).

    Examples
    --------
    >>> transform_point(pose(np.eye(3), [1.0, 2.0, 3.0]), [0.0, 0.0, 1.0])
    array([1., 2., 4.])
    """
    return elementary.rotation_of(T_ab) @ p_b + elementary.translation_of(T_ab)


def transform_points(T_ab: ArrayLike, points_b: ArrayLike, *, out: Array | None = None, check: bool = False) -> Array:
    """Coordinates in a of a cloud of points given in b.

    Parameters
    ----------
    T_ab
        Pose, shape (..., 4, 4).
    points_b
        Points, m, shape (..., n, 3), with one row for each point; the axes before are broadcast with those of the pose.
    out, check
        See `Batched`.

    Returns
    -------
    ndarray
        Shape (..., n, 3).

    Raises
    ------
    ArgumentError
        If the points are not rows of a table.

    Examples
    --------
    >>> transform_points(pose(np.eye(3), [1.0, 2.0, 3.0]), [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    array([[1., 2., 3.],
           [1., 2., 4.]])
    """
    T, points = np.asarray(T_ab), np.asarray(points_b)
    if T.ndim < 2 or points.ndim < 2:
        raise ArgumentError(
            f"transform_points: T_ab and points_b have shapes {T.shape} and {points.shape}, not (..., 4, 4) and "
            "(..., n, 3); `transform_point` takes one point"
        )
    return transform_point(T[..., None, :, :], points, out=out, check=check)


@batched(twist=(6,))
def exp_pose(twist: Array) -> Array:
    """Pose of a frame after unit time at a constant twist from the identity.

    It is exact at every angle, with its derivatives: p = v + (1 - cos θ)/θ² ω x v + (θ - sin θ)/θ³ ω x (ω x v)
    (Lynch & Park, Modern Robotics, section 3.3.3).

    Parameters
    ----------
    twist
        (omega, v), rad and m, shape (..., 6). The twist has the same components in the moving frame and in the fixed
        frame.

    Returns
    -------
    ndarray
        Shape (..., 4, 4).

    Examples
    --------
    >>> translation_of(exp_pose([0.0, 0.0, np.pi, 0.0, 1.0, 0.0])).round(6)  # half a circle to the left
    array([-0.63662,  0.     ,  0.     ])
    """
    omega, v = twist[:3], twist[3:]
    squared_angle = omega @ omega
    turned = elementary.cross(omega, v)
    p = v + cosine_quotient(squared_angle) * turned + third_quotient(squared_angle) * elementary.cross(omega, turned)
    return elementary.pose(exp_rotation(omega), p)


@batched(T=POSE)
def log_pose(T: Array) -> Array:
    """Constant twist that takes the identity to a pose in a unit of time: the inverse of `exp_pose`.

    Parameters
    ----------
    T
        Pose, shape (..., 4, 4).

    Returns
    -------
    ndarray
        (omega, v), rad and m, shape (..., 6). The angle, the length of omega, is in [0, pi]; at pi, where two opposite
        omega are possible, it is that of `log_rotation`.

    Examples
    --------
    >>> log_pose(exp_pose([0.0, 0.0, 0.5, 1.0, 2.0, 3.0]))
    array([0. , 0. , 0.5, 1. , 2. , 3. ])
    """
    omega, p = log_rotation(elementary.rotation_of(T)), elementary.translation_of(T)
    turned = elementary.cross(omega, p)
    v = p - 0.5 * turned + inverse_quotient(omega @ omega) * elementary.cross(omega, turned)
    return np.concatenate([omega, v])


@batched(T_world_a=POSE, T_world_b=POSE)
def relative_twist(T_world_a: Array, T_world_b: Array, frame: ReferenceFrame = "body") -> Array:
    """Constant twist that takes a frame from the pose a to the pose b in a unit of time.

    Parameters
    ----------
    T_world_a, T_world_b
        Poses, shape (..., 4, 4).
    frame
        Reference frame of the twist: ``"body"``, in a's axes about a's origin, so that T_world_b is T_world_a
        exp(twist); ``"space"``, in the world's axes about the world's origin, so that T_world_b is exp(twist)
        T_world_a; ``"world-aligned"``, in the world's axes about a's origin.

    Returns
    -------
    ndarray
        (omega, v), rad and m, shape (..., 6). The angle is in [0, pi].

    Raises
    ------
    UnknownNameError
        For another frame.

    Examples
    --------
    >>> T_world_a, T_world_b = exp_pose([0.0, 0.0, 1.0, 1.0, 0.0, 0.0]), exp_pose([0.0, 0.0, 1.5, 1.5, 0.0, 0.0])
    >>> relative_twist(T_world_a, T_world_b, frame="space").round(12) + 0.0
    array([0. , 0. , 0.5, 0.5, 0. , 0. ])
    """
    require_reference_frame(frame)
    twist_a = log_pose(relative_pose(T_world_a, T_world_b))
    if frame == "body":
        return twist_a
    if frame == "space":
        return elementary.adjoint(T_world_a) @ twist_a
    R_world_a = elementary.rotation_of(T_world_a)
    return np.concatenate([R_world_a @ twist_a[:3], R_world_a @ twist_a[3:]])
