"""Trajectory generation (chapter 9 of the book)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.engine import where
from chasles.engine.program.scalar import Quantity, Real
from chasles.geometry import interpolate_pose
from chasles.geometry.batched import batched
from chasles.geometry.elementary import Array
from chasles.geometry.pose_interpolation import Path
from chasles.interop.modern_robotics.checked import lead_of, numbers


@batched(Tf=(), t=())
def CubicTimeScaling(Tf: ArrayLike, t: ArrayLike) -> Quantity:
    """Path parameter of a cubic time scaling, at rest at both ends.

    Parameters
    ----------
    Tf
        Duration of the motion, s, shape (...).
    t
        Time since the start, in [0, Tf], s, shape (...). Beyond this range the polynomial is extrapolated.

    Returns
    -------
    ndarray
        s(t), from 0 to 1, shape (...). A motion of no time (Tf = 0) has arrived at t = 0, where the published package
        divides by zero.

    Examples
    --------
    >>> CubicTimeScaling(2, 0.6), CubicTimeScaling(0, 0)
    (np.float64(0.216), np.float64(1.0))
    """
    x = _share(Tf, t)
    scaling: Quantity = x * x * (3.0 - 2.0 * x)
    return scaling


@batched(Tf=(), t=())
def QuinticTimeScaling(Tf: ArrayLike, t: ArrayLike) -> Quantity:
    """Path parameter of a quintic time scaling, at rest and without acceleration at both ends.

    Parameters
    ----------
    Tf
        Duration of the motion, s, shape (...).
    t
        Time since the start, in [0, Tf], s, shape (...). Beyond this range the polynomial is extrapolated.

    Returns
    -------
    ndarray
        s(t), from 0 to 1, shape (...). A motion of no time (Tf = 0) has arrived at t = 0, where the published package
        divides by zero.

    Examples
    --------
    >>> QuinticTimeScaling(2, 0.6).round(12), QuinticTimeScaling(0, 0)
    (np.float64(0.16308), np.float64(1.0))
    """
    x = _share(Tf, t)
    scaling: Quantity = x * x * x * (10.0 - x * (15.0 - 6.0 * x))
    return scaling


def _share(Tf: Real, t: Real) -> Any:
    """Share of a motion's time that has passed; of no time none before t = 0 and all from then on."""
    instant = Tf == 0.0
    return where(instant, where(t < 0.0, 0.0, 1.0), t / where(instant, 1.0, Tf))


def JointTrajectory(thetastart: ArrayLike, thetaend: ArrayLike, Tf: float, N: float, method: int) -> Array:
    """Straight line in joint space.

    Parameters
    ----------
    thetastart, thetaend
        Joint variables at both ends, shape (..., n).
    Tf
        Duration of the motion, s.
    N
        Number of instants, at least 2; a fraction is cut off.
    method
        3 for the cubic, 5 for the quintic time scaling.

    Returns
    -------
    ndarray
        Joint variables at instants from 0 to Tf, shape (..., N, n).

    Raises
    ------
    ArgumentError
        Also for an N below 2, and for another method, which the published package takes for 5.

    Examples
    --------
    >>> JointTrajectory([0, 1], [1, 1], 4, 5, 3)
    array([[0. , 1. ],
           [0.15625, 1. ],
           [0.5 , 1. ],
           [0.84375, 1. ],
           [1. , 1. ]])
    """
    function = "JointTrajectory"
    s = _path_parameters(Tf, N, method, function)[:, None]
    start, end = numbers(thetastart, function, "thetastart"), numbers(thetaend, function, "thetaend")
    if start.ndim == 0:
        raise ArgumentError(f"{function}: thetastart has shape (), not (..., n)")
    lead_of(end, (start.shape[-1],), function, "thetaend")
    line: Array = s * end[..., None, :] + (1.0 - s) * start[..., None, :]
    return line


def ScrewTrajectory(Xstart: ArrayLike, Xend: ArrayLike, Tf: float, N: float, method: int) -> list[Array]:
    """Motion along a constant screw axis.

    Parameters
    ----------
    Xstart, Xend
        Poses at both ends, shape (..., 4, 4).
    Tf, N, method
        See `JointTrajectory`.

    Returns
    -------
    list of ndarray
        Poses at N instants from 0 to Tf, each of shape (..., 4, 4).

    Raises
    ------
    ArgumentError
        See `JointTrajectory`.

    Examples
    --------
    >>> Xstart = [[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 1]]
    >>> Xend = [[0, 0, 1, 0.1], [1, 0, 0, 0], [0, 1, 0, 4.1], [0, 0, 0, 1]]
    >>> ScrewTrajectory(Xstart, Xend, 5, 4, 3)[1].round(3)
    array([[ 0.904, -0.25 ,  0.346,  0.441],
           [ 0.346,  0.904, -0.25 ,  0.529],
           [-0.25 ,  0.346,  0.904,  1.601],
           [ 0. ,  0. ,  0. ,  1. ]])
    """
    return _pose_trajectory(Xstart, Xend, _path_parameters(Tf, N, method, "ScrewTrajectory"), "screw")


def CartesianTrajectory(Xstart: ArrayLike, Xend: ArrayLike, Tf: float, N: float, method: int) -> list[Array]:
    """Motion of the origin along a straight line, while the frame rotates about a constant axis.

    Parameters
    ----------
    Xstart, Xend
        Poses at both ends, shape (..., 4, 4).
    Tf, N, method
        See `JointTrajectory`.

    Returns
    -------
    list of ndarray
        Poses at N instants from 0 to Tf, each of shape (..., 4, 4).

    Raises
    ------
    ArgumentError
        See `JointTrajectory`.

    Examples
    --------
    >>> Xstart = [[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 1]]
    >>> Xend = [[0, 0, 1, 0.1], [1, 0, 0, 0], [0, 1, 0, 4.1], [0, 0, 0, 1]]
    >>> CartesianTrajectory(Xstart, Xend, 5, 4, 5)[1].round(3)
    array([[ 0.937, -0.214,  0.277,  0.811],
           [ 0.277,  0.937, -0.214,  0. ],
           [-0.214,  0.277,  0.937,  1.651],
           [ 0. ,  0. ,  0. ,  1. ]])
    """
    return _pose_trajectory(Xstart, Xend, _path_parameters(Tf, N, method, "CartesianTrajectory"), "decoupled")


def _path_parameters(Tf: object, N: object, method: object, function: str) -> NDArray[np.float64]:
    """Path parameters (N,) at equal intervals of time."""
    scalings = {3: CubicTimeScaling, 5: QuinticTimeScaling}
    if method not in (3, 5):
        raise ArgumentError(f"{function}: method must be 3 (cubic) or 5 (quintic), not {method!r}")
    duration, count = numbers(Tf, function, "Tf"), numbers(N, function, "N")
    if duration.shape != () or not (np.isfinite(duration) and duration > 0.0):
        raise ArgumentError(f"{function}: Tf must be a positive number of seconds, not {Tf!r}")
    if count.shape != () or not (np.isfinite(count) and count >= 2.0):
        raise ArgumentError(f"{function}: N must be a number of instants, at least 2, not {N!r}")
    return np.asarray(scalings[int(method)](duration, np.linspace(0.0, duration, int(count))))


def _pose_trajectory(Xstart: ArrayLike, Xend: ArrayLike, s: NDArray[np.float64], path: Path) -> list[Array]:
    function = "ScrewTrajectory" if path == "screw" else "CartesianTrajectory"
    start, end = numbers(Xstart, function, "Xstart"), numbers(Xend, function, "Xend")
    leads = lead_of(start, (4, 4), function, "Xstart"), lead_of(end, (4, 4), function, "Xend")
    try:
        batch = np.broadcast_shapes(*leads)
    except ValueError:
        raise ArgumentError(f"{function}: the batch axes {leads[0]} and {leads[1]} do not broadcast") from None
    return list(interpolate_pose(start, end, s.reshape(-1, *(1,) * len(batch)), path=path))
