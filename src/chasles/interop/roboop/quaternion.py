"""ROBOOP's quaternions (quaternion.cpp): scalar part s, vector part v, Hamilton's product.

Mended: the inverse of a quaternion that is no unit one (ROBOOP divides by the norm instead of its square), and
`Squad_prime`, which is the derivative here. Kept: ``Log`` of -1 is zero, as of 1, because a quaternion and its negative
are one rotation.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles import geometry
from chasles.base.errors import ArgumentError
from chasles.engine.validators import choice, real, reals
from chasles.interop.roboop.codes import BASE_FRAME, BODY_FRAME, EPSILON
from chasles.interop.roboop.homogeneous import rotation_part

Vector = NDArray[np.float64]


class Quaternion:
    """A quaternion: ``Quaternion()`` (identity), ``(angle, axis)``, ``(s, v1, v2, v3)``, or ``(R)`` of a rotation.

    Examples
    --------
    >>> turn = Quaternion(np.pi / 2, [0.0, 0.0, 1.0])
    >>> (turn * turn).R().round(12)[:2, :2]
    array([[-1., -0.],
           [ 0., -1.]])
    >>> Quaternion(turn.R()).dot_prod(turn).round(12)
    np.float64(1.0)
    """

    def __init__(self, *values: ArrayLike) -> None:
        if not values:
            self._q = np.array([1.0, 0.0, 0.0, 0.0])
        elif len(values) == 1 and isinstance(values[0], Quaternion):
            self._q = values[0]._q.copy()
        elif len(values) == 1:
            self._q = np.array(geometry.quaternion_from_rotation(rotation_part(values[0])))
            self._q *= -1.0 if self._q[0] < 0.0 else 1.0
        elif len(values) == 2:
            axis = reals(values[1], "axis", (3,))
            length = float(np.linalg.norm(axis))
            if not length:
                raise ArgumentError("the axis of a Quaternion must not be zero")
            half = 0.5 * real(values[0], "angle")
            self._q = np.array([np.cos(half), *(np.sin(half) * axis / length)])
        elif len(values) == 4:
            self._q = np.array([real(value, name) for value, name in zip(values, ("s", "v1", "v2", "v3"), strict=True)])
        else:
            raise ArgumentError(
                f"a Quaternion takes nothing, a rotation, (angle, axis) or (s, v1, v2, v3), not {len(values)} arguments"
            )

    @classmethod
    def _of(cls, values: ArrayLike) -> Self:
        quaternion = cls()
        quaternion._q = np.array(values, dtype=np.float64)
        return quaternion

    def __add__(self, other: Quaternion) -> Quaternion:
        return self._of(self._q + other._q)

    def __sub__(self, other: Quaternion) -> Quaternion:
        return self._of(self._q - other._q)

    def __neg__(self) -> Quaternion:
        return self._of(-self._q)

    def __mul__(self, other: Quaternion | float) -> Quaternion:
        if isinstance(other, Quaternion):
            return self._of(geometry.multiply_quaternions(self._q, other._q))
        return self._of(self._q * real(other, "factor"))

    def __rmul__(self, factor: float) -> Quaternion:
        return self * factor

    def __truediv__(self, other: Quaternion | float) -> Quaternion:
        if isinstance(other, Quaternion):
            return self * other.i()
        return self._of(self._q / real(other, "divisor"))

    def __rtruediv__(self, divisor: float) -> Quaternion:
        """Return q / c for ``c / q``, as ROBOOP does."""
        return self / divisor

    def __eq__(self, other: object) -> bool:
        """Whether all four numbers are equal."""
        return isinstance(other, Quaternion) and bool((self._q == other._q).all())

    __hash__ = None  # type: ignore[assignment]  # a quaternion can be changed

    def __array__(self, dtype: np.dtype[np.float64] | None = None, copy: bool | None = None) -> Vector:
        return np.array(self._q, dtype=dtype)

    def __repr__(self) -> str:
        return f"Quaternion({', '.join(f'{value:.6g}' for value in self._q)})"

    def s(self) -> float:
        """Return the scalar part."""
        return float(self._q[0])

    def v(self) -> Vector:
        """Return the vector part, (3,)."""
        return self._q[1:].copy()

    def set_s(self, s: float) -> None:
        """Set the scalar part."""
        self._q[0] = real(s, "s")

    def set_v(self, v: ArrayLike) -> None:
        """Set the vector part, (3,)."""
        self._q[1:] = reals(v, "v", (3,))

    def norm(self) -> float:
        """Return the length."""
        return float(np.linalg.norm(self._q))

    def dot_prod(self, q: Quaternion) -> float:
        """Return the scalar product of the four numbers."""
        return np.float64(self._q @ q._q)

    def conjugate(self) -> Quaternion:
        """Return [s, -v]."""
        return self._of(self._q * [1.0, -1.0, -1.0, -1.0])

    def i(self) -> Quaternion:
        """Return the inverse.

        Examples
        --------
        >>> Quaternion(1.0, 2.0, 0.0, 0.0) * Quaternion(1.0, 2.0, 0.0, 0.0).i()
        Quaternion(1, 0, 0, 0)
        """
        if not self._q.any():
            raise ArgumentError("a zero quaternion has no inverse")
        return self._of(self.conjugate()._q / (self._q @ self._q))

    def unit(self) -> Quaternion:
        """Make this a unit quaternion, unless it is shorter than 1e-7, and return it."""
        if self.norm() > EPSILON:
            self._q /= self.norm()
        return self

    def exp(self) -> Quaternion:
        """Return the exponential of [0, θ v]: [cos θ, v sin θ]; the scalar part counts for nothing."""
        return self._of(geometry.exp_quaternion([0.0, *self._q[1:]]))

    def Log(self) -> Quaternion:
        """Return the logarithm [0, θ v] of a unit quaternion [cos θ, v sin θ]; 0 for 1 and -1."""
        sine = float(np.linalg.norm(self._q[1:]))
        if sine == 0.0:
            return self._of(np.zeros(4))
        return self._of([0.0, *(np.arctan2(sine, self._q[0]) / sine * self._q[1:])])

    def power(self, t: float) -> Quaternion:
        """Return ``exp(t Log q)`` of a unit quaternion.

        Examples
        --------
        >>> Quaternion(0.6, [0.0, 0.0, 1.0]).power(0.5).dot_prod(Quaternion(0.3, [0.0, 0.0, 1.0])).round(12)
        np.float64(1.0)
        """
        return (self.Log() * real(t, "t")).exp()

    def E(self, sign: int = BASE_FRAME) -> Vector:
        """Return the matrix of ``v̇ = ½ E ω``, (3, 3): sI - S(v) for ω in base axes, sI + S(v) in body axes."""
        cross = np.asarray(geometry.skew(self._q[1:]))
        return np.asarray(self._q[0] * np.eye(3) + (-cross if _frame(sign) == BASE_FRAME else cross))

    def dot(self, w: ArrayLike, sign: int = BASE_FRAME) -> Quaternion:
        """Return the rate of change for an angular velocity (3,), in base or body axes."""
        omega = reals(w, "w", (3,))
        return self._of([-0.5 * self._q[1:] @ omega, *(0.5 * self.E(sign) @ omega)])

    def R(self) -> Vector:
        """Return the rotation matrix of a unit quaternion, (3, 3); it takes body axes to base axes."""
        return np.asarray(geometry.rotation_from_quaternion(self._q))

    def T(self) -> Vector:
        """Return the rotation as a matrix (4, 4)."""
        pose = np.eye(4)
        pose[:3, :3] = self.R()
        return pose


def Omega(q: Quaternion, q_dot: Quaternion) -> Vector:
    """Return the angular velocity (3,) in base axes of a unit quaternion and its rate.

    Examples
    --------
    >>> q = Quaternion(0.4, [0.0, 1.0, 0.0])
    >>> Omega(q, q.dot([1.0, 2.0, 3.0])).round(12)
    array([1., 2., 3.])
    """
    return np.asarray(geometry.angular_velocity_from_quaternion_rate(np.asarray(q), np.asarray(q_dot)))


def Slerp(q0: Quaternion, q1: Quaternion, t: float) -> Quaternion:
    """Return the orientation at t, 0 to 1, on the shorter way from `q0` to `q1` at constant angular velocity.

    Examples
    --------
    >>> Slerp(Quaternion(), Quaternion(1.0, [0.0, 0.0, 1.0]), 0.25).dot_prod(Quaternion(0.25, [0, 0, 1])).round(12)
    np.float64(1.0)
    """
    return Quaternion._of(geometry.slerp_quaternion(np.asarray(q0), np.asarray(q1), _parameter(t)))


def Slerp_prime(q0: Quaternion, q1: Quaternion, t: float) -> Quaternion:
    """Return the derivative of `Slerp` by t."""
    motion = geometry.slerp_quaternion_motion(np.asarray(q0), np.asarray(q1), _parameter(t), 1.0, 0.0)
    return Quaternion._of(motion.rate)


def Squad(p: Quaternion, a: Quaternion, b: Quaternion, q: Quaternion, t: float) -> Quaternion:
    """Return ``Slerp(Slerp(p, q, t), Slerp(a, b, t), 2 t (1 - t))``, each on its shorter way.

    Where the two inner orientations are half a turn apart the outer one changes its way, and the curve jumps;
    `chasles.geometry.squad_quaternion` chooses the ways once, at the ends.

    Examples
    --------
    >>> about_z = [Quaternion(angle, [0.0, 0.0, 1.0]) for angle in (0.0, 0.2, 0.5, 0.9)]
    >>> Squad(*about_z, 0.5).dot_prod(Quaternion(0.4, [0.0, 0.0, 1.0])).round(12)
    np.float64(1.0)
    """
    return Slerp(Slerp(p, q, t), Slerp(a, b, t), 2.0 * t * (1.0 - t))


def Squad_prime(p: Quaternion, a: Quaternion, b: Quaternion, q: Quaternion, t: float) -> Quaternion:
    """Return the derivative of `Squad` by t.

    Examples
    --------
    >>> knots = [Quaternion(angle, [0.0, 0.0, 1.0]) for angle in (0.0, 0.2, 0.5, 0.9)]
    >>> step = (Squad(*knots, 0.3001) - Squad(*knots, 0.2999)) / 0.0002
    >>> bool(np.allclose(Squad_prime(*knots, 0.3), step, atol=1e-8))
    True
    """
    q, b = _nearer(q, p), _nearer(b, a)
    if Slerp(p, q, t).dot_prod(Slerp(a, b, t)) < 0.0:
        a, b = -a, -b
    knots = (np.asarray(x) for x in (p, a, b, q))
    motion = geometry.squad_quaternion_motion(*knots, _parameter(t), 1.0, 0.0, short_way=False)
    return Quaternion._of(motion.rate)


def Integ_quat(
    dquat_present: Quaternion, dquat_past: Quaternion, quat: Quaternion, dt: float
) -> tuple[Quaternion, Quaternion]:
    """Return the next orientation by the trapezoidal rule, made a unit quaternion, and the rate for the next call.

    ROBOOP changes `quat` and `dquat_past` in place; here they are returned.

    Examples
    --------
    >>> q = Quaternion()
    >>> following, past = Integ_quat(q.dot([0.0, 0.0, 1.0]), q.dot([0.0, 0.0, 1.0]), q, 1e-3)
    >>> float(round(2.0 * following.v()[2] / 1e-3, 6))
    1.0
    """
    step = real(dt, "dt", at_least=0.0)
    return (quat + (dquat_present + dquat_past) * (0.5 * step)).unit(), Quaternion(dquat_present)


def _nearer(q: Quaternion, to: Quaternion) -> Quaternion:
    """Return the one of an orientation's two quaternions to which `Slerp` goes."""
    return -q if q.dot_prod(to) < 0.0 else q


def _parameter(t: float) -> float:
    return real(t, "t", at_least=0.0, at_most=1.0)


def _frame(sign: int) -> int:
    if sign not in (BASE_FRAME, BODY_FRAME):
        choice(str(sign), "frame", (str(BASE_FRAME), str(BODY_FRAME)))
    return sign
