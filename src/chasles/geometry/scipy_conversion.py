"""Conversion to and from the rotations and rigid transforms of SciPy (`scipy.spatial.transform`).

SciPy writes quaternions scalar last; here they are scalar first. The sign of a quaternion is kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.engine.arguments import as_array
from chasles.geometry.batched import UNIT_QUATERNION, Kind
from chasles.geometry.projections import POSE, ROTATION
from chasles.geometry.quaternion_rotations import quaternion_from_rotation, rotation_from_quaternion

_Floats = NDArray[np.float64]


def rotation_to_scipy(R: ArrayLike, *, check: bool = False) -> Any:
    """Rotation of SciPy with the same matrix.

    Parameters
    ----------
    R
        Rotation, shape (..., 3, 3).
    check
        Whether to raise an error for matrices that are not rotations.

    Returns
    -------
    scipy.spatial.transform.Rotation
        A batch of the same leading shape.

    Raises
    ------
    ArgumentError
        If the shape is wrong, a sample has NaN (SciPy holds none), ``check`` finds no rotation, or the batch has
        several axes and this SciPy (before 1.17) holds one at most.

    Examples
    --------
    >>> rotation_to_scipy([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]).as_rotvec().round(6)
    array([0.      , 0.      , 1.570796])
    """
    R = _samples(R, ROTATION, "rotation_to_scipy: R", check)
    return _scipy_rotation(quaternion_from_rotation(R), "rotation_to_scipy: R")


def quaternion_to_scipy(q: ArrayLike, *, check: bool = False) -> Any:
    """Rotation of SciPy with the same unit quaternion.

    Parameters
    ----------
    q
        Unit quaternion (w, x, y, z), shape (..., 4). SciPy brings it to unit length.
    check
        Whether to raise an error for quaternions that are not of unit length.

    Returns
    -------
    scipy.spatial.transform.Rotation
        A batch of the same leading shape.

    Raises
    ------
    ArgumentError
        If the shape is wrong, a sample is null or has NaN (SciPy holds none), ``check`` finds another length, or the
        batch has several axes and this SciPy (before 1.17) holds one at most.

    Examples
    --------
    >>> quaternion_to_scipy([0.0, 0.0, 0.0, 1.0]).as_quat()
    array([0., 0., 1., 0.])
    """
    return _scipy_rotation(_samples(q, UNIT_QUATERNION, "quaternion_to_scipy: q", check), "quaternion_to_scipy: q")


def pose_to_scipy(T: ArrayLike, *, check: bool = False) -> Any:
    """Rigid transform of SciPy with the same matrix.

    Parameters
    ----------
    T
        Pose, shape (..., 4, 4).
    check
        Whether to raise an error for matrices that are not poses.

    Returns
    -------
    scipy.spatial.transform.RigidTransform
        A batch of the same leading shape.

    Raises
    ------
    ArgumentError
        If the shape is wrong, a rotation has NaN (SciPy holds none), ``check`` finds no pose, the batch has several
        axes and this SciPy (before 1.17) holds one at most, or this SciPy (before 1.16) has no rigid transforms.

    Examples
    --------
    >>> pose_to_scipy(np.eye(4)).apply([1.0, 2.0, 3.0])
    array([1., 2., 3.])
    """
    T = _samples(T, POSE, "pose_to_scipy: T", check)
    rotation = _scipy_rotation(quaternion_from_rotation(T[..., :3, :3]), "pose_to_scipy: T")
    return _rigid_transform_class().from_components(T[..., :3, 3], rotation)


def quaternion_from_scipy(rotation: Any) -> _Floats:
    """Unit quaternion (w, x, y, z) of a rotation of SciPy.

    Parameters
    ----------
    rotation
        `scipy.spatial.transform.Rotation`, one or a batch.

    Returns
    -------
    ndarray
        Shape (..., 4), with the sign that SciPy holds.

    Raises
    ------
    ArgumentError
        For another type.

    Examples
    --------
    >>> from scipy.spatial.transform import Rotation
    >>> quaternion_from_scipy(Rotation.from_rotvec([0.0, 0.0, np.pi])).round(12)
    array([0., 0., 0., 1.])
    """
    from scipy.spatial.transform import Rotation

    _require_type(rotation, Rotation, "quaternion_from_scipy")
    return np.roll(np.asarray(rotation.as_quat(), dtype=np.float64), 1, axis=-1)


def rotation_from_scipy(rotation: Any) -> _Floats:
    """Rotation matrix of a rotation of SciPy.

    Parameters
    ----------
    rotation
        `scipy.spatial.transform.Rotation`, one or a batch.

    Returns
    -------
    ndarray
        Shape (..., 3, 3).

    Raises
    ------
    ArgumentError
        For another type.

    Examples
    --------
    >>> from scipy.spatial.transform import Rotation
    >>> rotation_from_scipy(Rotation.identity())
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    from scipy.spatial.transform import Rotation

    _require_type(rotation, Rotation, "rotation_from_scipy")
    R: _Floats = rotation_from_quaternion(quaternion_from_scipy(rotation))
    return R


def pose_from_scipy(transform: Any) -> _Floats:
    """Pose of a rigid transform of SciPy.

    Parameters
    ----------
    transform
        `scipy.spatial.transform.RigidTransform`, one or a batch.

    Returns
    -------
    ndarray
        Shape (..., 4, 4).

    Raises
    ------
    ArgumentError
        For another type.

    Examples
    --------
    >>> pose_from_scipy(pose_to_scipy(np.eye(4)))
    array([[1., 0., 0., 0.],
           [0., 1., 0., 0.],
           [0., 0., 1., 0.],
           [0., 0., 0., 1.]])
    """
    _require_type(transform, _rigid_transform_class(), "pose_from_scipy")
    return np.asarray(transform.as_matrix(), dtype=np.float64)


def _samples(array: ArrayLike, kind: Kind, where: str, check: bool) -> _Floats:
    samples = np.asarray(as_array(array, "", where), dtype=np.float64)
    if samples.shape[max(samples.ndim - len(kind.shape), 0) :] != kind.shape:
        raise ArgumentError(f"{where} must have the shape {kind.shape_text}, not {samples.shape}")
    if check:
        kind.check(samples, where)
    return samples


def _scipy_rotation(q: _Floats, where: str) -> Any:
    from scipy.spatial.transform import Rotation

    unusable = ~(np.linalg.norm(q, axis=-1) > 0.0)
    if np.any(unusable):
        sample = tuple(map(int, np.argwhere(unusable)[0]))
        raise ArgumentError(f"{where}: SciPy's rotations hold no NaN and no null quaternion, as in sample {sample}")
    try:
        return Rotation.from_quat(np.roll(q, -1, axis=-1))
    except ValueError as error:
        raise ArgumentError(
            f"{where}: this SciPy holds rotations in batches of one axis, not of the shape {q.shape[:-1]}; reshape the "
            "batch, or take SciPy 1.17"
        ) from error


def _rigid_transform_class() -> Any:
    from scipy.spatial import transform

    try:
        return transform.RigidTransform
    except AttributeError:
        import scipy

        raise ArgumentError(
            f"SciPy {scipy.__version__} has no RigidTransform, which came with 1.16: take a newer SciPy, or convert "
            "the rotation by `rotation_to_scipy` and keep the translation beside it"
        ) from None


def _require_type(value: object, wanted: type, function: str) -> None:
    if not isinstance(value, wanted):
        raise ArgumentError(f"{function} takes a {wanted.__name__} of SciPy, not {type(value).__name__}")
