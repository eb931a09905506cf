"""ROBOOP's `LinkStewart` (stewart.h, section 4.11 of the manual): one leg of a Stewart platform and its state.

Its formulas are those of `chasles.machines.parallel`. Mended: the manual's angular velocities, accelerations and
moments of the legs are misprinted, and the program's are those; gravity acts along -y, as in the original.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.engine.validators import real, reals
from chasles.interop.roboop.codes import GRAVITY
from chasles.machines import Leg, LegBody
from chasles.machines.parallel.kinematics import LegMotion
from chasles.machines.parallel.legs import LegForces, LegRotation, by_universal_joint, leg_forces

Vector = NDArray[np.float64]
#: Values of a leg, in the order of ROBOOP's matrix.
COLUMNS = ("bx", "by", "bz", "ax", "ay", "az", "Iaa1", "Inn1", "Iaa2", "Inn2", "m1", "m2", "L1", "L2")


def gravity_vector(gravity: float) -> Vector:
    """Return the acceleration of gravity of a Stewart platform, (3,): along -y.

    Examples
    --------
    >>> gravity_vector(9.81)
    array([ 0.  , -9.81,  0.  ])
    """
    return np.array([0.0, -real(gravity, "Gravity"), 0.0])


def first_axis(leg: Vector) -> Vector:
    """Return the universal joint's axis that is fixed in the base: a leg's unit projection on the x-z plane, (3,)."""
    projection = leg * [1.0, 0.0, 1.0]
    length = float(np.linalg.norm(projection))
    if length < 1e-9 * np.linalg.norm(leg):
        raise ArgumentError(
            "a leg along the y axis has no projection on the x-z plane, so its universal joint's axis is not known"
        )
    return projection / length


class LinkStewart:
    """A leg: part 1 at the platform joint, part 2 at the base joint; or a copy, ``LinkStewart(other)``.

    Parameters
    ----------
    InitLink
        (14,): b (3), ap (3), I1aa, I1nn, I2aa, I2nn, m1, m2, Length1, Length2: base joint in base axes, platform joint
        in platform axes, axial and transverse inertias and masses of the parts, distances of their centres of mass from
        their joints.
    wRp, q
        Orientation (3, 3) and coordinates (6,) of the platform at its home pose.

    Attributes
    ----------
    UnitV, aPos, L
        Unit vector along the leg, platform joint in base axes, length.
    Vu, Vv, Vc
        Axes of the universal joint, the first fixed in the base, and their normal.
    da, dda, LOmega, LAlpha, ACM1
        Velocity and acceleration of the platform joint, angular velocity and acceleration of the leg, acceleration of
        part 1's centre of mass, (3,).
    gravity, M, N
        Acceleration of gravity of the last call that took one, and with it what `Moment` and `Find_N` give, (3,).

    Examples
    --------
    >>> leg = LinkStewart([0, 3, 0, 0.2, 0, -0.2, 0.1, 0.1, 0.1, 0.1, 1, 1, 0.5, 0.4], np.eye(3), [0, 0, 2, 0, 0, 0])
    >>> leg.Find_Lenght().round(2)
    np.float64(3.5)
    """

    def __init__(
        self, InitLink: ArrayLike | LinkStewart | None = None, wRp: ArrayLike | None = None, q: ArrayLike | None = None
    ) -> None:
        if isinstance(InitLink, LinkStewart):
            self.__dict__.update(copy.deepcopy(vars(InitLink)))
            return
        if InitLink is None or wRp is None or q is None:
            raise ArgumentError("a leg takes InitLink (14,), wRp (3, 3) and q (6,), or another leg")
        self._values = dict(zip(COLUMNS, reals(InitLink, "InitLink", (14,)).tolist(), strict=True))
        self._wRp, self.gravity = np.eye(3), gravity_vector(GRAVITY)
        self.LTransform(wRp, q)
        self.Vu = first_axis(self.UnitV)
        self.da, self.dda, self._dl, self._ddl = np.zeros(3), np.zeros(3), 0.0, 0.0
        self._carried: tuple[Vector, Vector] | None = None

    def carry(self, axis: Vector, Omega: Vector, Alpha: Vector) -> None:
        """Fix the universal joint's first axis in a platform that turns: the joint is at the platform."""
        self.Vu, self._carried = axis, (Omega, Alpha)

    @property
    def row(self) -> Vector:
        """The 14 values, (14,)."""
        return np.array(list(self._values.values()))

    def __getattr__(self, name: str) -> Any:
        """Find getters and setters of the values: ``get_m1()``, ``set_m1(10.0)``, …, ``get_Lenght1()`` as there."""
        verb, _, quantity = name.partition("_")
        if verb not in ("get", "set") or quantity not in _QUANTITIES:
            raise AttributeError(f"'LinkStewart' object has no attribute '{name}'")
        columns = _QUANTITIES[quantity]
        if verb == "get":
            values = [self._values[column] for column in columns]
            return lambda: values[0] if len(values) == 1 else np.array(values)

        def change(value: ArrayLike) -> None:
            numbers = reals(value, quantity, () if len(columns) == 1 else (3,)).reshape(-1).tolist()
            self._values |= dict(zip(columns, numbers, strict=True))

        return change

    @property
    def leg(self) -> Leg:
        """Both bodies, as `chasles.machines.parallel` has them."""
        v = self._values
        return Leg(LegBody(v["m2"], v["L2"], v["Iaa2"], v["Inn2"]), LegBody(v["m1"], v["L1"], v["Iaa1"], v["Inn1"]))

    @property
    def arm(self) -> Vector:
        """Platform joint from the platform's origin, in base axes, (3,)."""
        return np.asarray(self._wRp @ [self._values[name] for name in ("ax", "ay", "az")])

    @property
    def base_joint(self) -> Vector:
        """Base joint in base axes, (3,)."""
        return np.array([self._values[name] for name in ("bx", "by", "bz")])

    @property
    def _motion(self) -> LegMotion:
        return LegMotion(self.arm, self.UnitV, self.L, self._dl, self._ddl, self.da, self.dda)

    @property
    def _rotation(self) -> LegRotation:
        return by_universal_joint(self._motion, self.Vu, *(self._carried or (None, None)))

    def _forces(self, gravity: float | None = None) -> LegForces:
        if gravity is not None:
            self.gravity = gravity_vector(gravity)
        return leg_forces(self.leg, self._motion, self._rotation, self.gravity)

    def LTransform(self, wRp: ArrayLike, q: ArrayLike) -> None:
        """Set what depends on the position: the platform's orientation (3, 3) and coordinates (6,)."""
        self._wRp, position = reals(wRp, "wRp", (3, 3)), reals(q, "q", (6,))[:3]
        self.aPos = position + self.arm
        along = self.aPos - self.base_joint
        self.L = float(np.linalg.norm(along))
        if not self.L:
            raise ArgumentError("the joints of a leg coincide")
        self.UnitV = along / self.L

    def d_LTransform(self, dq: ArrayLike, Omega: ArrayLike, dl: float, ddl: float) -> None:
        """Set what depends on the speed: the coordinates' rates (6,), angular velocity (3,), and the leg's rates."""
        self._dl, self._ddl = real(dl, "dl"), real(ddl, "ddl")
        self.da = reals(dq, "dq", (6,))[:3] + np.cross(reals(Omega, "Omega", (3,)), self.arm)

    def dd_LTransform(self, ddq: ArrayLike, Omega: ArrayLike, Alpha: ArrayLike, dl: float, ddl: float) -> None:
        """Set what depends on the acceleration: that of the coordinates (6,) and the angular acceleration (3,)."""
        self._dl, self._ddl = real(dl, "dl"), real(ddl, "ddl")
        omega, r = reals(Omega, "Omega", (3,)), self.arm
        turning = np.cross(reals(Alpha, "Alpha", (3,)), r) + np.cross(omega, np.cross(omega, r))
        self.dda = reals(ddq, "ddq", (6,))[:3] + turning

    def tau_LTransform(self, dl: float, ddl: float, Gravity: float = GRAVITY) -> None:
        """Set the leg's rates and gravity, m/s²; the dynamic quantities follow from them."""
        self._dl, self._ddl = real(dl, "dl"), real(ddl, "ddl")
        self.gravity = gravity_vector(Gravity)

    def Find_a(self) -> Vector:
        """Return the platform joint in base axes, (3,)."""
        return self.aPos

    def Find_Lenght(self) -> float:
        """Return the leg's length, m."""
        return np.float64(self.L)

    def Find_UnitV(self) -> Vector:
        """Return the unit vector along the leg, (3,)."""
        return self.UnitV

    def Find_da(self) -> Vector:
        """Return the velocity of the platform joint, (3,)."""
        return self.da

    def Find_dda(self) -> Vector:
        """Return the acceleration of the platform joint, (3,)."""
        return self.dda

    def Find_VctU(self) -> Vector:
        """Return the universal joint's axis that is fixed in the base, (3,)."""
        return self.Vu

    def Find_VctV(self) -> Vector:
        """Return the universal joint's second axis, (3,)."""
        axis = np.cross(self.Vu, self.UnitV)
        return axis / np.linalg.norm(axis)

    def Find_VctC(self) -> Vector:
        """Return the normal of both axes, (3,)."""
        return np.cross(self.Vu, self.Find_VctV())

    Vv, Vc = property(Find_VctV), property(Find_VctC)

    def Find_AngularKin(self, dl: float, ddl: float) -> Vector:
        """Return angular velocity and acceleration of the leg, (3, 2)."""
        self._dl, self._ddl = real(dl, "dl"), real(ddl, "ddl")
        return np.column_stack([self._rotation.omega, self._rotation.omega_dot])

    @property
    def LOmega(self) -> Vector:
        """Angular velocity of the leg, (3,)."""
        return np.asarray(self._rotation.omega)

    @property
    def LAlpha(self) -> Vector:
        """Angular acceleration of the leg, (3,)."""
        return np.asarray(self._rotation.omega_dot)

    def Find_ACM1(self, dl: float, ddl: float) -> Vector:
        """Return the acceleration of part 1's centre of mass, (3,)."""
        self._dl, self._ddl = real(dl, "dl"), real(ddl, "ddl")
        w, wp, n, reach = self.LOmega, self.LAlpha, self.UnitV, self.L - self._values["L1"]
        n_dot = np.cross(w, n)
        return np.asarray(reach * (np.cross(w, n_dot) + np.cross(wp, n)) + 2.0 * self._dl * n_dot + self._ddl * n)

    @property
    def ACM1(self) -> Vector:
        """Acceleration of part 1's centre of mass, (3,)."""
        return self.Find_ACM1(self._dl, self._ddl)

    def Find_N(self, Gravity: float = GRAVITY) -> Vector:
        """Return the moment about the base joint that the motion and gravity ask for, (3,)."""
        self.gravity = gravity_vector(Gravity)
        return self.N

    @property
    def N(self) -> Vector:
        """What `Find_N` gives with the last gravity, (3,)."""
        forces = self._forces()
        return np.asarray(self.L * np.cross(self.UnitV, forces.transverse) + np.asarray(forces.moment))

    def Moment(self, Gravity: float | None = None) -> Vector:
        """Return the moment of the universal joint on the leg, (3,), by default with the last gravity."""
        return np.asarray(self._forces(Gravity).moment)

    M = property(Moment)

    def NormalForce(self, Gravity: float | None = None) -> Vector:
        """Return the platform's force on the leg perpendicular to it, (3,), by default with the last gravity."""
        return np.asarray(self._forces(Gravity).transverse)

    def AxialForce(self, J1: ArrayLike, C: ArrayLike, Index: int) -> float:
        """Return the platform's force along leg `Index`, from 1 on, for the inverse of J1 and the wrench C of it."""
        forces = np.linalg.solve(reals(J1, "J1", (6, 6)).T, reals(C, "C", (6,)))
        return float(forces[Index - 1])

    def ActuationForce(self, J1: ArrayLike, C: ArrayLike, Index: int, Gravity: float = GRAVITY) -> float:
        """Return the actuator's force of leg `Index`, N."""
        return float(self._forces(Gravity).axial) - self.AxialForce(J1, C, Index)


_QUANTITIES = {
    "b": ("bx", "by", "bz"),
    "ap": ("ax", "ay", "az"),
    "I1aa": ("Iaa1",),
    "I1nn": ("Inn1",),
    "I2aa": ("Iaa2",),
    "I2nn": ("Inn2",),
    "m1": ("m1",),
    "m2": ("m2",),
    "Lenght1": ("L1",),
    "Lenght2": ("L2",),
}
