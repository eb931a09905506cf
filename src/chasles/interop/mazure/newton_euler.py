"""NE.M and its subroutines: the Newton–Euler recursion in link coordinates, equations (45) to (58).

Arrays are laid out as in the report, but counted from 0. ``VW`` has three rows for each frame, from the base on, and as
columns ω, ω̇, v, v̇ of the frame and v, v̇ of the centre of mass. ``t`` has four rows for each frame: the homogeneous
matrix to the next one, and a unit matrix behind the last. All vectors are in their link's frame.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.engine.program.scalar import Real
from chasles.engine.validators import reals
from chasles.geometry.elementary import Z_AXIS, cosine_sine, cross
from chasles.interop.mazure.arm import ARM, Arm, Misprint

#: Array of floats, or of traced scalars.
Array = NDArray[Any]

vectorpr = cross
"""VECTORPR.M: the vector product of two (3,) vectors."""


class NewtonEuler(NamedTuple):
    """Results that NE.M prints.

    Attributes
    ----------
    t
        Homogeneous matrices, shape (4 (n + 1), 4).
    VW
        Velocities and accelerations, shape (3 (n + 1), 6).
    F, N
        Forces and moments between links, shape (3, n + 1): column 0 at the end of the last link, column n at the base.
    tau
        Torques (forces) of the joints, shape (n,), N·m (N).
    """

    t: Array
    VW: Array
    F: Array
    N: Array
    tau: Array


def MAKEQ(q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, arm: Arm = ARM) -> Array:
    """Return the report's input matrix Q: joint type, position, velocity, acceleration of each joint, shape (n, 4).

    Examples
    --------
    >>> MAKEQ([0.1, 0.2], [0.0, 1.0], [0.0, 0.0])
    array([[1. , 0.1, 0. , 0. ],
           [1. , 0.2, 1. , 0. ]])
    """
    columns = [reals(values, name, (arm.n,)) for values, name in ((q, "q"), (qd, "qd"), (qdd, "qdd"))]
    return np.stack([np.array(arm.kind, dtype=np.float64), *columns], axis=-1)


def trans(i: int, Q: Array, twist: float, length: float, offset: Real, jointangle: Real) -> Array:
    """TRANS.M: return the homogeneous matrix (4, 4) from the frame behind joint i, counted from 0, to that before it.

    A prismatic joint has no length, as in the report.
    """
    c, s = cosine_sine(jointangle)
    ca, sa = cosine_sine(twist)
    x, y = (length * c, length * s) if Q[i, 0] == 1 else (0.0, 0.0)
    return np.array([[c, -ca * s, sa * s, x], [s, ca * c, -sa * c, y], [0.0, sa, ca, offset], [0.0, 0.0, 0.0, 1.0]])


def R(Q: Array, r: Array, VW: Array, t: Array, i: int, *, as_printed: bool = False) -> Array:
    """R.M: return ω, ω̇, v, v̇ behind the revolute joint i, counted from 0, as columns (3, 4): (49) to (52).

    With `as_printed` the term ω x z q̇ of (50) is not rotated, as in the listing.
    """
    A, arm_vector, w, wd, v, vd = _before(r, VW, t, i)
    qd, qdd = Z_AXIS * Q[i, 2], Z_AXIS * Q[i, 3]
    omega = A @ (w + qd)
    omega_dot = A @ (wd + qdd) + cross(w, qd) if as_printed else A @ (wd + qdd + cross(w, qd))
    return np.stack(
        [omega, omega_dot, A @ v + cross(omega, arm_vector), A @ vd + _swing(omega, omega_dot, arm_vector)], -1
    )


def T(Q: Array, r: Array, VW: Array, t: Array, i: int) -> Array:
    """T.M: return ω, ω̇, v, v̇ behind the prismatic joint i, counted from 0, as columns (3, 4): (45) to (48)."""
    A, arm_vector, w, wd, v, vd = _before(r, VW, t, i)
    qd, qdd = Z_AXIS * Q[i, 2], Z_AXIS * Q[i, 3]
    omega, omega_dot = A @ w, A @ wd
    v_next = A @ (v + qd) + cross(omega, arm_vector)
    vd_next = A @ (vd + qdd) + _swing(omega, omega_dot, arm_vector) + 2.0 * cross(omega, A @ qd)
    return np.stack([omega, omega_dot, v_next, vd_next], axis=-1)


def NE(
    Q: Array,
    arm: Arm = ARM,
    force: ArrayLike = (0.0, 0.0, 0.0),
    torque: ArrayLike = (0.0, 0.0, 0.0),
    misprints: Misprint = Misprint.NONE,
) -> NewtonEuler:
    """NE.M: return the joint torques of a motion by Luh, Walker and Paul's algorithm.

    Parameters
    ----------
    Q
        Joint type, position, velocity and acceleration of each joint, shape (n, 4), as `MAKEQ` makes it; of floats or
        of traced scalars.
    arm
        The arm; default the report's.
    force, torque
        Force and moment with which the last link acts on its environment at the origin of its frame, in that frame,
        shape (3,), N and N·m.
    misprints
        Errors of the report to restore.

    Returns
    -------
    NewtonEuler
        All that the program prints.

    Raises
    ------
    ArgumentError
        Q does not fit the arm.

    Examples
    --------
    At rest and stretched out, joint 1 carries 10 kg at 0.25 m and 5 kg at 0.625 m:

    >>> Q = MAKEQ([0.0, 0.0], [0.0, 0.0], [0.0, 0.0])
    >>> NE(Q).tau.round(4)
    array([55.1599,  6.1289])
    >>> NE(Q, misprints=Misprint.GRAVITY).tau.round(4)
    array([-55.1599,  -6.1289])
    """
    _require_fit(Q, arm)
    t = np.concatenate([*(trans(i, Q, *_parameters(Q, arm, i)) for i in range(arm.n)), np.eye(4)])
    r = link_vectors(t)
    sign = -1.0 if Misprint.GRAVITY in misprints else 1.0
    still = np.zeros(3)
    VW = np.stack([still, still, still, sign * arm.base_acceleration, still, still], axis=-1)
    for i in range(arm.n):
        if Q[i, 0] == 1:
            moved = R(Q, r, VW, t, i, as_printed=Misprint.TRANSPORT in misprints)
        else:
            moved = T(Q, r, VW, t, i)
        w, wd, v, vd = moved.T
        rc = arm.rc[:, i]
        center = [v + cross(w, rc), vd + _swing(w, wd, rc)]  # (53), (54)
        VW = np.concatenate([VW, np.concatenate([moved, np.stack(center, axis=-1)], axis=-1)])
    F, N = [np.asarray(force)], [np.asarray(torque)]
    for i in reversed(range(arm.n)):
        A, rc, tensor = t[4 * i + 4 : 4 * i + 7, :3], arm.rc[:, i], arm.I[3 * i : 3 * i + 3]
        w, wd, _, _, _, acceleration = VW[3 * i + 3 : 3 * i + 6].T
        passed = A @ F[-1]
        F.append(passed + arm.M[i] * acceleration)  # (55)
        lever = lever_arm(t, r, arm, i)
        gyroscopic = tensor @ wd + cross(w, tensor @ w)
        N.append(A @ N[-1] - cross(rc, passed) + cross(lever, F[-1]) + gyroscopic)  # (56)
    rows = [axis_torque(Q, t, F[arm.n - i], N[arm.n - i], i) for i in range(arm.n)]
    return NewtonEuler(t, VW, np.stack(F, axis=-1), np.stack(N, axis=-1), np.array(rows))


def link_vectors(t: Array) -> Array:
    """Return r, shape (3, n): the vector from each frame's origin to the next one's, in the former's axes."""
    return np.stack([t[k : k + 3, 3] for k in range(0, len(t) - 4, 4)], axis=-1)


def lever_arm(t: Array, r: Array, arm: Arm, i: int) -> Array:
    """Return rcc: the vector from the origin before link i to its centre of mass, in the link's frame, shape (3,)."""
    return np.asarray(t[4 * i : 4 * i + 3, :3].T @ r[:, i] + arm.rc[:, i])


def axis_torque(Q: Array, t: Array, F: Array, N: Array, i: int) -> Real:
    """Return the part of a moment (revolute) or force (prismatic) along the axis of joint i: (57), (58)."""
    return (t[4 * i : 4 * i + 3, :3].T @ Z_AXIS) @ (N if Q[i, 0] == 1 else F)


def _before(r: Array, VW: Array, t: Array, i: int) -> tuple[Array, ...]:
    """Return R⁻¹ of joint i, the link's vector in its own frame, and ω, ω̇, v, v̇ of the frame before it."""
    A = t[4 * i : 4 * i + 3, :3].T
    w, wd, v, vd = VW[3 * i : 3 * i + 3, :4].T
    return A, A @ r[:, i], w, wd, v, vd


def _swing(w: Array, wd: Array, p: Array) -> Array:
    """Return ω̇ x p + ω x (ω x p): what rotation adds to the acceleration of a point."""
    return np.asarray(cross(wd, p) + cross(w, cross(w, p)))


def _parameters(Q: Array, arm: Arm, i: int) -> tuple[float, float, Any, Any]:
    twist, length, offset, angle = arm.pp[i].tolist()
    if Q[i, 0] == 1:
        return twist, length, offset, angle + Q[i, 1]
    return twist, length, offset + Q[i, 1], angle


def _require_fit(Q: Array, arm: Arm) -> None:
    if np.shape(Q) != (arm.n, 4):
        raise ArgumentError(f"Q has shape {np.shape(Q)}; expected ({arm.n}, 4): type, position, velocity, acceleration")
    for i, kind in enumerate(arm.kind):
        if not (isinstance(Q[i, 0], int | float | np.number) and Q[i, 0] == kind):
            raise ArgumentError(f"Q[{i}, 0] is {Q[i, 0]}; joint {i + 1} of the arm has the type {kind}")
