"""Motions over time: Euler steps, and the dynamics along whole trajectories (chapter 8 of the book).

Matrices of a trajectory have one row for each instant. Here they may have batch axes before that of the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.geometry.elementary import Array
from chasles.interop.modern_robotics.checked import lead_of, numbers
from chasles.interop.modern_robotics.robot_cache import open_chain


def EulerStep(
    thetalist: ArrayLike, dthetalist: ArrayLike, ddthetalist: ArrayLike, dt: ArrayLike
) -> tuple[Array, Array]:
    """Joint variables and velocities after a step of Euler's method.

    Parameters
    ----------
    thetalist, dthetalist, ddthetalist
        Joint variables, velocities and accelerations, shape (..., n).
    dt
        Step, s, a number.

    Returns
    -------
    thetalistNext, dthetalistNext
        Shape (..., n); the variables advance with the velocities at the start of the step.

    Examples
    --------
    >>> EulerStep([0.1, 0.1, 0.1], [0.1, 0.2, 0.3], [2, 1.5, 1], 0.1)
    (array([0.11, 0.12, 0.13]), array([0.3 , 0.35, 0.4 ]))
    """
    names = "thetalist", "dthetalist", "ddthetalist"
    arguments = zip(names, (thetalist, dthetalist, ddthetalist), strict=True)
    theta, rate, acceleration = (numbers(value, "EulerStep", name) for name, value in arguments)
    step = numbers(dt, "EulerStep", "dt")
    try:
        return theta + step * rate, rate + step * acceleration
    except ValueError:
        shapes = f"{theta.shape}, {rate.shape} and {acceleration.shape}"
        raise ArgumentError(f"EulerStep: {', '.join(names)} have shapes {shapes}, which do not match") from None


def InverseDynamicsTrajectory(
    thetamat: ArrayLike,
    dthetamat: ArrayLike,
    ddthetamat: ArrayLike,
    g: ArrayLike,
    Ftipmat: ArrayLike,
    Mlist: ArrayLike,
    Glist: ArrayLike,
    Slist: ArrayLike,
) -> Array:
    """Joint forces that move a robot along a trajectory.

    Parameters
    ----------
    thetamat, dthetamat, ddthetamat
        Joint variables, velocities and accelerations, shape (..., N, n).
    g
        Acceleration of gravity, m/s², shape (..., 3).
    Ftipmat
        Wrenches that the end-effector applies, in its frame, shape (..., N, 6); or the number 0 for none.
    Mlist, Glist, Slist
        The robot: shapes (n + 1, 4, 4), (n, 6, 6) and (6, n).

    Returns
    -------
    ndarray
        taumat, shape (..., N, n).

    Raises
    ------
    ArgumentError
        See `InverseDynamics`; also for matrices with different numbers of rows.

    Notes
    -----
    The published package truncates the forces to integers if thetamat holds integers, and fails for Ftipmat = 0,
    although its documentation allows it.

    Examples
    --------
    >>> Mlist, Slist = np.array([np.eye(4), np.eye(4)]), np.array([[0, 0, 0, 0, 0, 1]]).T
    >>> Glist, still = [np.diag([0, 0, 0, 2, 2, 2])], np.zeros((3, 1))
    >>> InverseDynamicsTrajectory(still, still, [[0], [1], [2]], [0, 0, -9.81], 0, Mlist, Glist, Slist).ravel()
    array([19.62, 21.62, 23.62])
    """
    function = "InverseDynamicsTrajectory"
    chain = open_chain(Mlist, Glist, Slist, function)
    theta = matrix(thetamat, chain.n, function, "thetamat")
    N = theta.shape[-2]
    rate = matrix(dthetamat, chain.n, function, "dthetamat", N)
    acceleration = matrix(ddthetamat, chain.n, function, "ddthetamat", N)
    gravity = numbers(g, function, "g")
    lead_of(gravity, (3,), function, "g")
    tau: Array = chain.inverse_dynamics(
        theta, rate, acceleration, gravity[..., None, :], tip_rows(Ftipmat, N, function)
    )
    return tau


def ForwardDynamicsTrajectory(
    thetalist: ArrayLike,
    dthetalist: ArrayLike,
    taumat: ArrayLike,
    g: ArrayLike,
    Ftipmat: ArrayLike,
    Mlist: ArrayLike,
    Glist: ArrayLike,
    Slist: ArrayLike,
    dt: ArrayLike,
    intRes: int,
) -> tuple[Array, Array]:
    """Motion of a robot under a history of joint forces, by Euler's method.

    Parameters
    ----------
    thetalist, dthetalist
        Initial joint variables and velocities, shape (..., n).
    taumat
        Joint forces, shape (..., N, n); those of a row hold until the next. The last row has no effect.
    g
        Acceleration of gravity, m/s², shape (..., 3).
    Ftipmat
        Wrenches that the end-effector applies, in its frame, shape (..., N, 6); or the number 0 for none.
    Mlist, Glist, Slist
        The robot: shapes (n + 1, 4, 4), (n, 6, 6) and (6, n).
    dt
        Time between two rows, s, shape (...).
    intRes
        Number of Euler steps from one row to the next, at least 1.

    Returns
    -------
    thetamat, dthetamat
        Joint variables and velocities at the instants of the rows, shape (..., N, n).

    Raises
    ------
    ArgumentError
        See `ForwardDynamics`; matrices with different numbers of rows, and for an intRes below 1, with which the
        published package lets the robot stand still.

    Notes
    -----
    The published package fails for Ftipmat = 0, although its documentation allows it.

    Examples
    --------
    >>> Mlist, Slist = np.array([np.eye(4), np.eye(4)]), np.array([[0, 0, 1, 0, 0, 0]]).T
    >>> Glist, taumat = [np.diag([1, 1, 4, 2, 2, 2])], np.full((3, 1), 8.0)
    >>> thetamat, dthetamat = ForwardDynamicsTrajectory([0], [0], taumat, [0, 0, 0], 0, Mlist, Glist, Slist, 0.1, 1)
    >>> thetamat.ravel(), dthetamat.ravel()
    (array([0.  , 0.  , 0.02]), array([0. , 0.2, 0.4]))
    """
    function = "ForwardDynamicsTrajectory"
    chain = open_chain(Mlist, Glist, Slist, function)
    tau = matrix(taumat, chain.n, function, "taumat")
    N = tau.shape[-2]
    steps = resolution(intRes, function)
    start = initial_state(thetalist, dthetalist, chain.n, function)
    last, states = start, start[..., None, :][..., :0, :]
    if N > 1:
        inputs = per_step([tau[..., :-1, :], tip_rows(Ftipmat, N, function)[..., :-1, :]], steps, function)
        last, states = chain.motion(start, inputs, g, np.divide(dt, steps))
    rows = np.concatenate([states, last[..., None, :]], axis=-2)
    return rows[..., : chain.n], rows[..., chain.n :]


def matrix(values: ArrayLike, n: int, function: str, name: str, N: int | None = None) -> NDArray[np.float64]:
    """A trajectory's matrix as floats, or a complaint that its shape is not (..., N, n)."""
    array = numbers(values, function, name)
    lead_of(array, ("N" if N is None else N, n), function, name)
    if array.shape[-2] == 0:
        raise ArgumentError(f"{function}: {name} has no rows")
    return array


def tip_rows(Ftipmat: ArrayLike, N: int, function: str) -> NDArray[np.float64]:
    """The wrenches of the end-effector as an array (..., N, 6)."""
    wrenches = numbers(Ftipmat, function, "Ftipmat")
    if wrenches.ndim == 0 and wrenches == 0.0:
        return np.zeros((N, 6))
    lead_of(wrenches, (N, 6), function, "Ftipmat")
    return wrenches


def resolution(intRes: Any, function: str) -> Any:
    """The number of integration steps in a row, if it is one."""
    try:
        steps = int(intRes)
        is_count = steps == intRes and steps >= 1
    except (TypeError, ValueError, OverflowError):
        is_count = False
    if not is_count:
        raise ArgumentError(f"{function}: intRes must be a whole number, at least 1, not {intRes!r}")
    return steps


def initial_state(thetalist: ArrayLike, dthetalist: ArrayLike, n: int, function: str) -> NDArray[np.float64]:
    """Joint variables and velocities in one array (..., 2 n)."""
    theta, rate = numbers(thetalist, function, "thetalist"), numbers(dthetalist, function, "dthetalist")
    leads = lead_of(theta, (n,), function, "thetalist"), lead_of(rate, (n,), function, "dthetalist")
    return joined([theta, rate], common(leads, function))


def per_step(rows: list[NDArray[np.float64]], steps: int, function: str) -> NDArray[np.float64]:
    """Rows (..., N, m) of several matrices beside one another, each held for the steps: (..., N, steps, all m)."""
    lead = common([row.shape[:-1] for row in rows], function)
    held = joined(rows, lead)[..., None, :]
    return np.broadcast_to(held, (*lead, steps, held.shape[-1]))


def joined(parts: list[NDArray[np.float64]], lead: tuple[int, ...]) -> NDArray[np.float64]:
    """Arrays (..., m) beside one another, with the same leading axes."""
    return np.concatenate([np.broadcast_to(part, (*lead, part.shape[-1])) for part in parts], axis=-1)


def common(leads: Any, function: str) -> tuple[int, ...]:
    """The axes to which leading axes broadcast."""
    try:
        return np.broadcast_shapes(*leads)
    except ValueError:
        raise ArgumentError(f"{function}: batch axes {', '.join(map(str, leads))} do not broadcast") from None
