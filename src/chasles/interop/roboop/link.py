"""ROBOOP's `Link` (robot.h, section 4.10 of the manual): the parameters of a link and the state of its joint."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.engine.validators import real, reals, truth
from chasles.model.formats.roboop import COLUMNS, FIXED, PRISMATIC, RoboopTable, fixed_placement

Vector = NDArray[np.float64]
_UPPER = np.triu_indices(3)


class Link:
    """A link and the joint before it; the arguments are those of ROBOOP's constructor.

    Parameters
    ----------
    jt
        Joint type: 0 revolute, 1 prismatic, 2 fixed.
    it, id, ia, ial
        Denavit-Hartenberg parameters θ, d, a, α, rad and m.
    theta_min, theta_max
        Position limits, stored and never enforced.
    it_off
        Joint offset, added to the joint position.
    mass
        kg.
    cmx, cmy, cmz
        Centre of mass in the link frame, m; with minimal parameters first moments, kg·m.
    ixx, ixy, ixz, iyy, iyz, izz
        Elements of the inertia matrix about the centre of mass (minimal parameters: about the link's origin), kg·m².
    iIm, iGr, iB, iCf
        Rotor inertia, gear ratio, viscous and Coulomb friction of the motor.
    dh
        Whether the Denavit-Hartenberg parameters are standard.
    min_inertial_para
        Whether the inertial parameters are minimal.
    immobile
        Whether the joint is held.

    Attributes
    ----------
    qp, qpp
        Velocity and acceleration of the joint.
    changes
        Number of changes of the parameters so far.

    Examples
    --------
    >>> link = Link(1, 0.0, 0.2, 0.0, np.pi / 2)
    >>> link.transform(0.3)
    >>> link.p.round(12), link.get_q()
    (array([0. , 0.3, 0. ]), 0.3)
    """

    def __init__(
        self,
        jt: int = 0,
        it: float = 0.0,
        id: float = 0.0,  # ROBOOP's name
        ia: float = 0.0,
        ial: float = 0.0,
        theta_min: float = -np.pi / 2,
        theta_max: float = np.pi / 2,
        it_off: float = 0.0,
        mass: float = 1.0,
        cmx: float = 0.0,
        cmy: float = 0.0,
        cmz: float = 0.0,
        ixx: float = 0.0,
        ixy: float = 0.0,
        ixz: float = 0.0,
        iyy: float = 0.0,
        iyz: float = 0.0,
        izz: float = 0.0,
        iIm: float = 0.0,
        iGr: float = 0.0,
        iB: float = 0.0,
        iCf: float = 0.0,
        dh: bool = True,
        min_inertial_para: bool = False,
        immobile: bool = False,
    ) -> None:
        geometry = (jt, it, id, ia, ial, theta_min, theta_max, it_off)
        inertia = (mass, cmx, cmy, cmz, ixx, ixy, ixz, iyy, iyz, izz)
        row = reals(
            [*geometry, *inertia, iIm, iGr, iB, iCf, float(truth(immobile, "immobile"))], "the values of a Link"
        )
        self._fill(row, truth(dh, "dh"), truth(min_inertial_para, "min_inertial_para"))

    @classmethod
    def from_row(cls, row: ArrayLike, dh: bool, min_inertial_para: bool) -> Self:
        """Make a link of a row of an initialisation matrix, (23,)."""
        link = cls.__new__(cls)
        link._fill(reals(row, "row", (len(COLUMNS),)), dh, min_inertial_para)
        return link

    def _fill(self, row: Vector, dh: bool, minimal: bool) -> None:
        self._values: dict[str, float] = dict(zip(COLUMNS, row.tolist(), strict=True))
        if self._values["joint_type"] not in (0.0, PRISMATIC, FIXED):
            raise ArgumentError(f"the joint type of a Link must be 0, 1 or 2, not {self._values['joint_type']:g}")
        self._standard, self._minimal = dh, minimal
        self.qp = 0.0
        self.qpp = 0.0
        self.changes = 0
        self._q = self._values["d" if self.get_joint_type() == PRISMATIC else "theta"]

    @property
    def row(self) -> Vector:
        """Row of an initialisation matrix, (23,): joint position zero."""
        values = dict(self._values)
        if self.get_joint_type() != FIXED:
            values["d" if self.get_joint_type() == PRISMATIC else "theta"] = 0.0
        return np.array(list(values.values()))

    @property
    def R(self) -> Vector:
        """Rotation (3, 3) from the axes of this link to those of the one before."""
        return self._placement()[:3, :3]

    @property
    def p(self) -> Vector:
        """Vector (3,) to this frame from the one before, in this frame's axes; modified: in that one's."""
        T = self._placement()
        return T[:3, :3].T @ T[:3, 3] if self._standard else T[:3, 3]

    def _placement(self) -> Vector:
        values = dict(self._values)
        if self.get_joint_type() == PRISMATIC:
            values |= {"d": self._q + values["joint_offset"], "joint_offset": 0.0}
        elif self.get_joint_type() != FIXED:
            values["theta"] = self._q
        return fixed_placement(values, standard=self._standard)

    def transform(self, q: float) -> None:
        """Set the joint position."""
        self._q = real(q, "q")

    def get_DH(self) -> bool:
        """Return whether the Denavit-Hartenberg parameters are standard."""
        return self._standard

    def get_joint_type(self) -> int:
        """Return 0 for a revolute, 1 for a prismatic and 2 for a fixed joint."""
        return int(self._values["joint_type"])

    def get_q(self) -> float:
        """Return the joint position, without the offset."""
        return self._q

    def get_theta(self) -> float:
        """Return θ, with joint position and offset if the joint is revolute, rad."""
        revolute = self.get_joint_type() == 0
        return self._q + self._values["joint_offset"] if revolute else self._values["theta"]

    def get_d(self) -> float:
        """Return d, with joint position and offset if the joint is prismatic, m."""
        slides = self.get_joint_type() == PRISMATIC
        return self._q + self._values["joint_offset"] if slides else self._values["d"]

    def get_r(self) -> Vector:
        """Return the centre of mass in the link frame, (3,), m."""
        center = self._column("cx", "cy", "cz")
        return center / (self.get_m() or 1.0) if self._minimal else center

    def get_mc(self) -> Vector:
        """Return the first moment, mass times centre of mass, (3,), kg·m."""
        center = self._column("cx", "cy", "cz")
        return center if self._minimal else self.get_m() * center

    def get_p(self) -> Vector:
        """Return the vector `p`, (3,)."""
        return self.p

    def get_I(self) -> Vector:
        """Return the inertia matrix, (3, 3)."""
        matrix = np.zeros((3, 3))
        matrix[_UPPER] = self._column("Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
        return matrix + np.triu(matrix, 1).T

    def get_immobile(self) -> bool:
        """Return whether the joint is held."""
        return bool(self._values["immobile"])

    def set_r(self, r: ArrayLike) -> None:
        """Set the centre of mass, (3,), m."""
        self._set_column(("cx", "cy", "cz"), reals(r, "r", (3,)) * (self.get_m() if self._minimal else 1.0))

    def set_mc(self, mc: ArrayLike) -> None:
        """Set the first moment, (3,), kg·m; that of minimal parameters."""
        moment = reals(mc, "mc", (3,))
        if not self._minimal and not self.get_m():
            raise ArgumentError("a link without mass has a first moment only with minimal parameters (mRobot_min_para)")
        self._set_column(("cx", "cy", "cz"), moment if self._minimal else moment / self.get_m())

    def set_I(self, I: ArrayLike) -> None:
        """Set the inertia matrix, (3, 3); its upper triangle counts."""
        self._set_column(("Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz"), reals(I, "I", (3, 3))[_UPPER])

    def set_immobile(self, im: bool) -> None:
        """Hold the joint, or let it go."""
        self._set_column(("immobile",), np.array([float(truth(im, "im"))]))

    def _column(self, *names: str) -> Vector:
        return np.array([self._values[name] for name in names])

    def _set_column(self, names: tuple[str, ...], values: Vector) -> None:
        self._values |= dict(zip(names, values.tolist(), strict=True))
        self.changes += 1

    def __repr__(self) -> str:
        kind = ("revolute", "prismatic", "fixed")[self.get_joint_type()]
        return f"Link({kind}, a={self.get_a():g}, alpha={self.get_alpha():g}, d={self.get_d():g})"

    def get_a(self) -> float:
        """Return a, m."""
        return self._values["a"]

    def get_alpha(self) -> float:
        """Return α, rad."""
        return self._values["alpha"]

    def get_theta_min(self) -> float:
        """Return the lower position limit."""
        return self._values["theta_min"]

    def get_theta_max(self) -> float:
        """Return the upper position limit."""
        return self._values["theta_max"]

    def get_joint_offset(self) -> float:
        """Return the joint offset."""
        return self._values["joint_offset"]

    def get_m(self) -> float:
        """Return the mass, kg."""
        return self._values["m"]

    def get_Im(self) -> float:
        """Return the rotor inertia, kg·m²."""
        return self._values["Im"]

    def get_Gr(self) -> float:
        """Return the gear ratio."""
        return self._values["Gr"]

    def get_B(self) -> float:
        """Return the motor's viscous friction, N·m·s/rad."""
        return self._values["B"]

    def get_Cf(self) -> float:
        """Return the motor's Coulomb friction, N·m."""
        return self._values["Cf"]

    def set_m(self, m: float) -> None:
        """Set the mass, kg."""
        self._set_column(("m",), np.array([real(m, "m", at_least=0.0)]))

    def set_Im(self, Im: float) -> None:
        """Set the rotor inertia, kg·m²."""
        self._set_column(("Im",), np.array([real(Im, "Im", at_least=0.0)]))

    def set_B(self, B: float) -> None:
        """Set the motor's viscous friction, N·m·s/rad."""
        self._set_column(("B",), np.array([real(B, "B", at_least=0.0)]))

    def set_Cf(self, Cf: float) -> None:
        """Set the motor's Coulomb friction, N·m."""
        self._set_column(("Cf",), np.array([real(Cf, "Cf", at_least=0.0)]))


def table_of(links: list[Link], standard: bool, minimal: bool, **changes: Any) -> RoboopTable:
    """Return the table of some links, with joint positions zero."""
    return RoboopTable(np.array([link.row for link in links]), standard, minimal, **changes)
