"""Dynamics of open chains (chapter 8 of the book); motions over time are in `dynamics_trajectories`.

Parameters common to all functions:

- Mlist, shape (n + 1, 4, 4): frame of each link in that of the link before it at the home position, from the base to
  the first link, ..., from the last link to the end-effector.
- Glist, shape (n, 6, 6): spatial inertia of each link in its frame.
- Slist, shape (6, n): screw axes of the joints in the space frame at the home position, one a column.

A robot is compiled at the first call with its lists, and then cached by their content. All other arguments may have
leading batch axes.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from chasles.geometry.elementary import Array
from chasles.interop.modern_robotics.robot_cache import open_chain


def InverseDynamics(
    thetalist: ArrayLike,
    dthetalist: ArrayLike,
    ddthetalist: ArrayLike,
    g: ArrayLike,
    Ftip: ArrayLike,
    Mlist: ArrayLike,
    Glist: ArrayLike,
    Slist: ArrayLike,
) -> Array:
    """Joint forces of a motion: M ddtheta + c + grav + Jᵀ Ftip.

    Parameters
    ----------
    thetalist, dthetalist, ddthetalist
        Joint variables, velocities and accelerations, rad, rad/s, rad/s² (m, ... for prismatic joints), shape (..., n).
    g
        Acceleration of gravity, m/s², shape (..., 3).
    Ftip
        Wrench (m, f) that the end-effector applies to its environment, in its frame, N·m and N, shape (..., 6).
    Mlist, Glist, Slist
        The robot: shapes (n + 1, 4, 4), (n, 6, 6) and (6, n); see the module.

    Returns
    -------
    ndarray
        taulist, N·m (N for prismatic joints), shape (..., n).

    Raises
    ------
    ArgumentError
        For wrong shapes, an M that is not a rigid transform, a G that is not that of a rigid body (with the index and
        the reason), an axis of zeros.

    Notes
    -----
    The published package ignores joint rotations below 1e-6 rad, and silently uses part of the lists if thetalist has
    another length.

    Examples
    --------
    A mass of 2 kg at the end of a rod of 0.5 m, held level:

    >>> import numpy as np
    >>> Mlist = np.array([np.eye(4), np.eye(4), np.eye(4)])[:2]
    >>> Mlist[0, 0, 3] = 0.5
    >>> Glist, Slist = [np.diag([0, 0, 0, 2, 2, 2])], np.array([[0, 1, 0, 0, 0, 0]]).T
    >>> InverseDynamics([0.0], [0.0], [0.0], [0, 0, -9.81], np.zeros(6), Mlist, Glist, Slist)
    array([-9.81])
    """
    chain = open_chain(Mlist, Glist, Slist, "InverseDynamics")
    tau: Array = chain.inverse_dynamics(thetalist, dthetalist, ddthetalist, g, Ftip)
    return tau


def MassMatrix(thetalist: ArrayLike, Mlist: ArrayLike, Glist: ArrayLike, Slist: ArrayLike) -> Array:
    """Mass matrix.

    Parameters
    ----------
    thetalist
        Joint variables, shape (..., n).
    Mlist, Glist, Slist
        The robot: shapes (n + 1, 4, 4), (n, 6, 6) and (6, n).

    Returns
    -------
    ndarray
        M, kg·m², shape (..., n, n), exactly symmetric.

    Raises
    ------
    ArgumentError
        See `InverseDynamics`.

    Examples
    --------
    >>> import numpy as np
    >>> Mlist, Slist = np.array([np.eye(4), np.eye(4)]), np.array([[0, 0, 1, 0, 0, 0]]).T
    >>> MassMatrix([0.3], Mlist, [np.diag([1, 1, 4, 2, 2, 2])], Slist)
    array([[4.]])
    """
    M: Array = open_chain(Mlist, Glist, Slist, "MassMatrix").mass_matrix(thetalist)
    return M


def VelQuadraticForces(
    thetalist: ArrayLike, dthetalist: ArrayLike, Mlist: ArrayLike, Glist: ArrayLike, Slist: ArrayLike
) -> Array:
    """Coriolis and centripetal joint forces c(theta, dtheta).

    Parameters
    ----------
    thetalist, dthetalist
        Joint variables and velocities, shape (..., n).
    Mlist, Glist, Slist
        The robot: shapes (n + 1, 4, 4), (n, 6, 6) and (6, n).

    Returns
    -------
    ndarray
        c, N·m (N for prismatic joints), shape (..., n).

    Raises
    ------
    ArgumentError
        See `InverseDynamics`.

    Examples
    --------
    A turntable with a slide along it, 2 kg at 1 m: turning at 3 rad/s, it is held by -2 · 1 · 3² N.

    >>> import numpy as np
    >>> Mlist = np.array([np.eye(4)] * 3)
    >>> Glist = [np.zeros((6, 6)), np.diag([0, 0, 0, 2, 2, 2])]
    >>> Slist = np.array([[0, 0, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0]]).T
    >>> VelQuadraticForces([0.0, 1.0], [3.0, 0.0], Mlist, Glist, Slist)
    array([  0., -18.])
    """
    c: Array = open_chain(Mlist, Glist, Slist, "VelQuadraticForces").velocity_quadratic_forces(thetalist, dthetalist)
    return c


def GravityForces(thetalist: ArrayLike, g: ArrayLike, Mlist: ArrayLike, Glist: ArrayLike, Slist: ArrayLike) -> Array:
    """Joint forces that balance gravity.

    Parameters
    ----------
    thetalist
        Joint variables, shape (..., n).
    g
        Acceleration of gravity, m/s², shape (..., 3).
    Mlist, Glist, Slist
        The robot: shapes (n + 1, 4, 4), (n, 6, 6) and (6, n).

    Returns
    -------
    ndarray
        grav, N·m (N for prismatic joints), shape (..., n).

    Raises
    ------
    ArgumentError
        See `InverseDynamics`.

    Examples
    --------
    >>> import numpy as np
    >>> Mlist, Slist = np.array([np.eye(4), np.eye(4)]), np.array([[0, 0, 0, 0, 0, 1]]).T
    >>> GravityForces([0.3], [0, 0, -9.81], Mlist, [np.diag([0, 0, 0, 2, 2, 2])], Slist)  # a lift
    array([19.62])
    """
    grav: Array = open_chain(Mlist, Glist, Slist, "GravityForces").gravity_forces(thetalist, g)
    return grav


def EndEffectorForces(
    thetalist: ArrayLike, Ftip: ArrayLike, Mlist: ArrayLike, Glist: ArrayLike, Slist: ArrayLike
) -> Array:
    """Joint forces Jᵀ Ftip with which the end-effector applies a wrench.

    Parameters
    ----------
    thetalist
        Joint variables, shape (..., n).
    Ftip
        Wrench (m, f) that the end-effector applies to its environment, in its frame, shape (..., 6).
    Mlist, Glist, Slist
        The robot: shapes (n + 1, 4, 4), (n, 6, 6) and (6, n).

    Returns
    -------
    ndarray
        JTFtip, N·m (N for prismatic joints), shape (..., n).

    Raises
    ------
    ArgumentError
        See `InverseDynamics`.

    Examples
    --------
    >>> import numpy as np
    >>> Mlist, Slist = np.array([np.eye(4), np.eye(4)]), np.array([[0, 0, 1, 0, 0, 0]]).T
    >>> EndEffectorForces([0.3], [0, 0, 5, 0, 0, 0], Mlist, [np.zeros((6, 6))], Slist)
    array([5.])
    """
    JTFtip: Array = open_chain(Mlist, Glist, Slist, "EndEffectorForces").end_effector_forces(thetalist, Ftip)
    return JTFtip


def ForwardDynamics(
    thetalist: ArrayLike,
    dthetalist: ArrayLike,
    taulist: ArrayLike,
    g: ArrayLike,
    Ftip: ArrayLike,
    Mlist: ArrayLike,
    Glist: ArrayLike,
    Slist: ArrayLike,
) -> Array:
    """Joint accelerations under joint forces: the inverse of `InverseDynamics`.

    Parameters
    ----------
    thetalist, dthetalist
        Joint variables and velocities, shape (..., n).
    taulist
        Joint forces, N·m (N for prismatic joints), shape (..., n).
    g, Ftip, Mlist, Glist, Slist
        See `InverseDynamics`.

    Returns
    -------
    ndarray
        ddthetalist, rad/s² (m/s² for prismatic joints), shape (..., n).

    Raises
    ------
    ArgumentError
        See `InverseDynamics`; also for a joint that moves nothing that has mass.

    Examples
    --------
    >>> import numpy as np
    >>> Mlist, Slist = np.array([np.eye(4), np.eye(4)]), np.array([[0, 0, 1, 0, 0, 0]]).T
    >>> ForwardDynamics([0.3], [0.0], [8.0], np.zeros(3), np.zeros(6), Mlist, [np.diag([1, 1, 4, 2, 2, 2])], Slist)
    array([2.])
    """
    chain = open_chain(Mlist, Glist, Slist, "ForwardDynamics")
    acceleration: Array = chain.forward_dynamics(thetalist, dthetalist, taulist, g, Ftip)
    return acceleration
