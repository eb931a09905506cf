"""ROBOOP's `Stewart` (stewart.h, section 4.26 of the manual): a Stewart platform that keeps its coordinates.

``q = (x, y, z, φ, θ, ψ)`` are the position of the platform's origin and its ZXZ Euler angles; gravity acts along -y.
Every computation is one of `chasles.machines.parallel`, which `platform` gives.

Mended: ROBOOP exchanges φ and ψ in one element of the rotation matrix, so that it is none unless they are equal; its
angular velocities, leg accelerations, derivative of the Jacobian and torques are those of misprinted formulas, and its
mass matrix is not symmetric; its `ForwardKine` has no limit of iterations and must be preceded by `set_q`.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.engine.validators import real, reals, truth
from chasles.interop.roboop.codes import GRAVITY
from chasles.interop.roboop.config import Config
from chasles.interop.roboop.link_stewart import COLUMNS, LinkStewart, first_axis, gravity_vector
from chasles.machines import DrivenPlatform, Leg, LegBody, PlatformCoordinates, ScrewDrive, StewartPlatform

Vector = NDArray[np.float64]
#: Values of the platform, in the order of row 7 of ROBOOP's matrix.
PLATFORM = ("pRx", "pRy", "pRz", "Ixx", "Iyy", "Izz", "mp", "Js", "Jm", "bs", "bm", "p", "n", "Kb", "L", "R", "Kt")
#: Coordinates at which the axes of the universal joints are taken, and which a new platform has.
HOME = (0.0, 0.0, 1.0, 0.0, np.pi / 2, 0.0)
_MOST_PLATFORMS = 32


class Stewart:
    """A Stewart platform: ``Stewart(InitPlat, Joint)``, ``Stewart("file.conf", "name")`` or a copy, ``Stewart(other)``.

    Parameters
    ----------
    InitPlat
        (7, 17): six rows with the 14 values of a leg, see `LinkStewart`, and row 7 with centre of mass pR (3), diagonal
        of the inertia (3), mass mp, and of the drives Js, Jm, bs, bm, p, n, Kb, L, R, Kt: inertias and damping of screw
        and motor, lead, gear ratio, back EMF, inductance, resistance and torque constant.
    Joint
        Whether the universal joint of each leg is at the base (True) or at the platform, which then carries its first
        axis (in ROBOOP the axis stays fixed in the base).

    Attributes
    ----------
    wRp, Jacobian, IJ1, IJ2, dl, ddl, Omega, Alpha
        Rotation matrix (3, 3), dq/dl and the two factors of its inverse (6, 6), rates and accelerations of the legs
        (6,), angular velocity and acceleration (3,), at the coordinates that are set.
    Links
        The legs, six `LinkStewart`.
    """

    def __init__(self, *arguments: Any) -> None:
        self._matrix: Vector
        self._joint: bool
        self._own_inertia: Vector | None = None
        self._q, self._dq, self._ddq = np.array(HOME), np.zeros(6), np.zeros(6)
        if arguments and isinstance(arguments[0], Stewart):
            other: Stewart = arguments[0]
            self._matrix, self._joint, self._own_inertia = other._matrix.copy(), other._joint, other._own_inertia
            self._q, self._dq, self._ddq = other.get_q(), other.get_dq(), other.get_ddq()
        elif arguments and isinstance(arguments[0], str | Path):
            self._matrix, self._joint = _read(*arguments)
        elif arguments:
            self._matrix = reals(arguments[0], "InitPlat", (7, 17))
            self._joint = truth(arguments[1], "Joint") if len(arguments) > 1 else True
        else:
            raise ArgumentError("a Stewart platform takes a matrix (7, 17), a file and a name, or another one")
        _ = self.platform()  # refuses what is no platform

    def platform(self, Gravity: float = GRAVITY) -> StewartPlatform:
        """Return this platform as a `chasles.machines.parallel.StewartPlatform`."""
        g = tuple(gravity_vector(Gravity).tolist())
        return _platform(self._matrix.tobytes(), self.get_pIp().tobytes(), self._joint, g)

    def _coordinates(self, Gravity: float = GRAVITY) -> PlatformCoordinates:
        return _coordinates(self.platform(Gravity))

    @property
    def _drive(self) -> ScrewDrive:
        v = dict(zip(PLATFORM, self._matrix[6].tolist(), strict=True))
        return ScrewDrive(
            lead=v["p"],
            gear_ratio=v["n"],
            screw_inertia=v["Js"],
            motor_inertia=v["Jm"],
            screw_damping=v["bs"],
            motor_damping=v["bm"],
            torque_constant=v["Kt"],
            back_emf=v["Kb"],
            resistance=v["R"],
            inductance=v["L"],
        )

    @property
    def Links(self) -> list[LinkStewart]:
        """The legs, at the coordinates, rates and accelerations that are set."""
        home, legs = _coordinates(self.platform()).pose(HOME)[:3, :3], []
        for row, rate, acceleration in zip(self._matrix[:6, :14], self.dl, self.ddl, strict=True):
            leg = LinkStewart(row, home, HOME)
            leg.LTransform(self.wRp, self._q)
            leg.d_LTransform(self._dq, self.Omega, rate, acceleration)
            leg.dd_LTransform(self._ddq, self.Omega, self.Alpha, rate, acceleration)
            if not self._joint:
                leg.carry(self.wRp @ home.T @ leg.Vu, self.Omega, self.Alpha)
            legs.append(leg)
        return legs

    def get_q(self) -> Vector:
        """Return the coordinates, (6,)."""
        return self._q.copy()

    def get_dq(self) -> Vector:
        """Return their rates, (6,)."""
        return self._dq.copy()

    def get_ddq(self) -> Vector:
        """Return their accelerations, (6,)."""
        return self._ddq.copy()

    def set_q(self, q: ArrayLike) -> None:
        """Set the coordinates, (6,), m and rad."""
        self._q = reals(q, "q", (6,))

    def set_dq(self, dq: ArrayLike) -> None:
        """Set their rates, (6,)."""
        self._dq = reals(dq, "dq", (6,))

    def set_ddq(self, ddq: ArrayLike) -> None:
        """Set their accelerations, (6,)."""
        self._ddq = reals(ddq, "ddq", (6,))

    def get_Joint(self) -> bool:
        """Return whether the universal joints are at the base."""
        return self._joint

    def set_Joint(self, Joint: bool) -> None:
        """Put the universal joints at the base (True) or at the platform."""
        self._joint = truth(Joint, "Joint")

    def get_pR(self) -> Vector:
        """Return the platform's centre of mass in its axes, (3,)."""
        return self._matrix[6, :3].copy()

    def set_pR(self, pR: ArrayLike) -> None:
        """Set the platform's centre of mass in its axes, (3,)."""
        self._matrix[6, :3] = reals(pR, "pR", (3,))

    def get_pIp(self) -> Vector:
        """Return the platform's inertia about its centre of mass in its axes, (3, 3)."""
        return np.diag(self._matrix[6, 3:6]) if self._own_inertia is None else self._own_inertia

    def set_pIp(self, pIp: ArrayLike) -> None:
        """Set the platform's inertia about its centre of mass in its axes, (3, 3)."""
        self._own_inertia = reals(pIp, "pIp", (3, 3))

    def get_mp(self) -> float:
        """Return the platform's mass, kg."""
        return float(self._matrix[6, 6])

    def set_mp(self, mp: float) -> None:
        """Set the platform's mass, kg."""
        self._matrix[6, 6] = real(mp, "mp", at_least=0.0)

    def Transform(self) -> None:
        """Nothing is left to do: all quantities follow from the coordinates."""

    def Find_wRp(self) -> Vector:
        """Return the rotation matrix, (3, 3)."""
        return np.asarray(self._coordinates().pose(self._q))[:3, :3]

    def Find_Omega(self) -> Vector:
        """Return the angular velocity in base axes, (3,)."""
        return np.asarray(self._coordinates().twist(self._q, self._dq))[:3]

    def Find_Alpha(self) -> Vector:
        """Return the angular acceleration in base axes, (3,)."""
        return np.asarray(self._coordinates().acceleration(self._q, self._dq, self._ddq))[:3]

    def Find_InvJacob1(self) -> Vector:
        """Return the matrix from velocity and angular velocity, (v, ω), to the rates of the legs, (6, 6)."""
        J = np.asarray(self.platform().jacobian(self._coordinates().pose(self._q)))
        return np.hstack([J[:, 3:], J[:, :3]])

    def Find_InvJacob2(self) -> Vector:
        """Return the matrix from the rates of the coordinates to (v, ω), (6, 6)."""
        B = np.asarray(self._coordinates().twist_matrix(self._q))
        return np.vstack([B[3:], B[:3]])

    def jacobian(self) -> Vector:
        """Return dq/dl, (6, 6), the inverse of the derivatives of the leg lengths.

        Raises
        ------
        ArgumentError
            The platform is singular at the coordinates that are set.
        """
        inverse = np.asarray(self._coordinates().jacobian(self._q))
        if np.linalg.cond(inverse) > 1e14:
            raise ArgumentError(f"the platform is singular at q = {self._q.tolist()}: its Jacobian has no inverse")
        return np.linalg.inv(inverse)

    def jacobian_dot(self) -> Vector:
        """Return the derivative of the inverse of `jacobian` by time, (6, 6).

        Leg accelerations at constant rates are a quadratic form of the rates, whose polar form is this matrix.
        """
        coordinates, zero, units = self._coordinates(), np.zeros(6), np.eye(6)

        def curvature(rates: Vector) -> Vector:
            return np.asarray(coordinates.leg_accelerations(self._q, rates, zero))

        return 0.5 * (curvature(self._dq + units) - curvature(self._dq) - curvature(units)).T

    def Find_dl(self) -> Vector:
        """Return the rates of the leg lengths, (6,)."""
        return np.asarray(self._coordinates().leg_rates(self._q, self._dq))

    def Find_ddl(self) -> Vector:
        """Return the accelerations of the leg lengths, (6,)."""
        return np.asarray(self._coordinates().leg_accelerations(self._q, self._dq, self._ddq))

    wRp, Omega, Alpha = property(Find_wRp), property(Find_Omega), property(Find_Alpha)
    IJ1, IJ2, Jacobian = property(Find_InvJacob1), property(Find_InvJacob2), property(jacobian)
    dl, ddl = property(Find_dl), property(Find_ddl)

    def InvPosKine(self) -> Vector:
        """Return the leg lengths, (6,), m."""
        return np.asarray(self._coordinates().leg_lengths(self._q))

    def ForwardKine(self, guess_q: ArrayLike, l_given: ArrayLike, tolerance: float = 1e-3) -> Vector:
        """Find and set the coordinates (6,) for leg lengths, from a guess.

        Raises
        ------
        ArgumentError
            No pose with these lengths, to `tolerance`, is found; the message says why.
        """
        coordinates, guess = self._coordinates(), reals(guess_q, "guess_q", (6,))
        largest, lengths = min(real(tolerance, "tolerance", above=0.0), 1e-9), reals(l_given, "l_given", (6,))
        solution = self.platform().forward_kinematics(lengths, coordinates.pose(guess), tolerance=largest)
        if not solution.success:
            raise ArgumentError(f"ForwardKine: {str(solution).splitlines()[-1]}")
        position, angles = np.split(np.asarray(coordinates.from_pose(solution.T)), 2)
        phi, theta, psi = angles
        # The same orientation has other angles; those near the guess are meant.
        ways = np.array([angles, [phi + np.pi, -theta, psi + np.pi]])
        ways += 2.0 * np.pi * np.round((guess[3:] - ways) / (2.0 * np.pi))
        nearest = ways[np.argmin(np.linalg.norm(ways - guess[3:], axis=1))]
        self._q = np.concatenate([position, nearest])
        return self.get_q()

    def JointSpaceForceVct(self, Gravity: float = GRAVITY) -> Vector:
        """Return the forces of the six actuators for the motion that is set, (6,), N."""
        return np.asarray(self._coordinates(Gravity).inverse_dynamics(self._q, self._dq, self._ddq))

    def Torque(self, Gravity: float = GRAVITY) -> Vector:
        """Return the generalized forces for the motion that is set, (6,)."""
        return np.asarray(self._coordinates(Gravity).generalized_forces(self._q, self._dq, self._ddq))

    def Find_C(self, Gravity: float = GRAVITY) -> Vector:
        """Return the wrench (f, m) of platform and transverse leg forces, which the axial leg forces balance, (6,)."""
        axial = np.array([leg._forces(Gravity).axial for leg in self.Links]) - self.JointSpaceForceVct(Gravity)
        return np.asarray(self.Find_InvJacob1().T @ axial)

    def Find_h(self, Gravity: float = GRAVITY) -> Vector:
        """Return the generalized forces of centrifugal, Coriolis and gravity forces, (6,)."""
        return np.asarray(self._coordinates(Gravity).bias_forces(self._q, self._dq))

    def Find_M(self) -> Vector:
        """Return the mass matrix, (6, 6)."""
        return np.asarray(self._coordinates().mass_matrix(self._q))

    def ForwardDyn(self, Torque: ArrayLike, Gravity: float = GRAVITY) -> Vector:
        """Return the accelerations of the coordinates under generalized forces, (6,)."""
        tau = reals(Torque, "Torque", (6,))
        return np.asarray(self._coordinates(Gravity).forward_dynamics(self._q, self._dq, tau))

    def Find_Mc_Nc_Gc(self) -> tuple[Vector, Vector, Vector]:
        """Return mass matrix (6, 6), Coriolis and damping (6,) and gravity (6,), all in motor torques."""
        drive, J = self._drive, self.jacobian()
        inverse, still = np.asarray(self._coordinates().jacobian(self._q)), np.zeros(6)
        of_gravity = np.asarray(self._coordinates().bias_forces(self._q, still))
        of_motion = self.Find_h() - of_gravity
        K, M, V = drive.torque_per_force, drive.torque_per_acceleration, drive.torque_per_rate
        drift = V * (inverse @ self._dq) + M * (self.jacobian_dot() @ self._dq)
        return K * J.T @ self.Find_M() + M * inverse, K * J.T @ of_motion + drift, K * J.T @ of_gravity

    def ForwardDyn_AD(self, Command: ArrayLike, t: float) -> Vector:
        """Return the accelerations of the coordinates under voltages of the motors (6,) at time `t`, (6,).

        The electrical part is ROBOOP's to the letter; `chasles.machines.ScrewDrive` tells what is wrong with it.
        """
        driven = DrivenPlatform(self.platform(), self._drive)
        torques = driven.roboop_torques(reals(Command, "Command", (6,)), self.Find_dl(), real(t, "t"))
        Mc, Nc, Gc = self.Find_Mc_Nc_Gc()
        return np.asarray(np.linalg.solve(Mc, np.asarray(torques) - Nc - Gc))

    def __repr__(self) -> str:
        return f"<Stewart: at q = {self._q.round(4).tolist()}>"


def _read(filename: str | Path, name: str) -> tuple[Vector, bool]:
    """Matrix and joint of a configuration file."""
    conf = Config()
    conf.read_conf(filename)
    matrix = np.zeros((7, 17))
    for index in range(6):
        matrix[index, :14] = [conf.select(f"{name}_LINK{index + 1}", key, float) for key in COLUMNS]
    matrix[6] = [conf.select(name, key, float) for key in PLATFORM]
    return matrix, conf.select(name, "Joint", bool) if conf.parameter_exists(name, "Joint") else True


@lru_cache(maxsize=_MOST_PLATFORMS)
def _platform(matrix: bytes, inertia: bytes, joint: bool, gravity: tuple[float, ...]) -> StewartPlatform:
    """A platform found again by its numbers, so that it is compiled once."""
    rows = np.frombuffer(matrix).reshape(7, 17)
    base, platform = rows[:6, :3], rows[:6, 3:6]
    legs = [
        Leg(LegBody(m2, L2, I2aa, I2nn), LegBody(m1, L1, I1aa, I1nn))
        for I1aa, I1nn, I2aa, I2nn, m1, m2, L1, L2 in rows[:6, 6:14]
    ]
    plain = StewartPlatform(base, platform)
    home = np.asarray(plain.coordinates("ZXZ").pose(HOME))
    axes = np.array([first_axis(home[:3, :3] @ a + home[:3, 3] - b) for a, b in zip(platform, base, strict=True)])
    return StewartPlatform(
        base,
        platform,
        legs=legs,
        mass=float(rows[6, 6]),
        center_of_mass=rows[6, :3],
        inertia=np.frombuffer(inertia).reshape(3, 3),
        architecture="UPS" if joint else "SPU",
        axes=axes if joint else axes @ home[:3, :3],
        home=home,
        gravity=gravity,
    )


@lru_cache(maxsize=_MOST_PLATFORMS)
def _coordinates(platform: StewartPlatform) -> PlatformCoordinates:
    """ROBOOP's coordinates of a platform, kept with what was compiled for them."""
    return platform.coordinates("ZXZ")
