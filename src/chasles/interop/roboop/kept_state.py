"""Links of a ROBOOP robot and what they keep: joint positions, velocities and accelerations.

The base of `Robot_basic`, without computations.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.engine.validators import real, reals, whole_number
from chasles.interop.roboop.codes import GRAVITY, one_based
from chasles.interop.roboop.link import Link, table_of
from chasles.model.formats.roboop import RoboopTable, initialization_matrix, read_roboop_table

Vector = NDArray[np.float64]


class KeptState:
    """Links, and the positions, velocities and accelerations that `set_q` and its like change."""

    _standard: ClassVar[bool] = True
    _minimal: ClassVar[bool] = False

    def __init__(self, *arguments: Any) -> None:
        self.links: list[Link] = self._links(*arguments)
        self.gravity = np.array([0.0, 0.0, GRAVITY])
        if len(arguments) == 1 and isinstance(arguments[0], KeptState):
            self.gravity = np.array(arguments[0].gravity)
            for link, other in zip(self.links, arguments[0].links, strict=True):
                link.transform(other.get_q())
                link.qp, link.qpp = other.qp, other.qpp
        table_of(self.links, self._standard, self._minimal)  # refuses what is no robot

    def _links(self, *arguments: Any) -> list[Link]:
        if len(arguments) > 2:
            raise ArgumentError(f"{type(self).__name__} takes at most two arguments, not {len(arguments)}")
        first = arguments[0] if arguments else 1
        if isinstance(first, str | Path):
            return self._of_table(read_roboop_table(first, *arguments[1:]))
        if isinstance(first, KeptState):
            return [Link.from_row(link.row, self._standard, self._minimal) for link in first.links]
        if np.ndim(first) == 0:
            count = whole_number(first, "ndof", 1, 1000)
            return [Link(dh=self._standard, min_inertial_para=self._minimal) for _ in range(count)]
        matrix = initialization_matrix(first, *arguments[1:])
        return self._of_table(RoboopTable(matrix, self._standard, self._minimal))

    def _of_table(self, table: RoboopTable) -> list[Link]:
        return [Link.from_row(row, self._standard, self._minimal) for row in table.matrix]

    @property
    def dof(self) -> int:
        """Number of joints."""
        return len(self.links) - self.fix

    @property
    def fix(self) -> int:
        """1 with a fixed last link, else 0."""
        return int(self.links[-1].get_joint_type() == 2)

    @property
    def _mobile(self) -> list[int]:
        return [index for index, link in enumerate(self._joints) if not link.get_immobile()]

    @property
    def _joints(self) -> list[Link]:
        return self.links[: self.dof]

    def get_DH(self) -> bool:
        """Return whether the Denavit-Hartenberg parameters are standard."""
        return self._standard

    def get_dof(self) -> int:
        """Return the number of joints."""
        return self.dof

    def get_fix(self) -> int:
        """Return 1 with a fixed last link, else 0."""
        return self.fix

    def get_available_dof(self, endlink: int | None = None) -> int:
        """Return the number of joints that are not immobile, up to a link."""
        return len(self._available(endlink))

    def _available(self, endlink: int | None) -> list[int]:
        last = self.dof if endlink is None else one_based(endlink, len(self.links), "endlink")
        return [index for index in self._mobile if index < last]

    def get_q(self, i: int | None = None) -> Any:
        """Return the joint positions (n,), or that of joint `i`."""
        return self._state(lambda link: link.get_q(), i)

    def get_qp(self, i: int | None = None) -> Any:
        """Return the joint velocities (n,), or that of joint `i`."""
        return self._state(lambda link: link.qp, i)

    def get_qpp(self, i: int | None = None) -> Any:
        """Return the joint accelerations (n,), or that of joint `i`."""
        return self._state(lambda link: link.qpp, i)

    def _state(self, part: Callable[[Link], float], i: int | None) -> Any:
        values = np.array([part(link) for link in self._joints])
        return values if i is None else float(values[one_based(i, self.dof, "joint") - 1])

    def get_available_q(self, endlink: int | None = None) -> Vector:
        """Return the positions of the joints that are not immobile, (m,)."""
        return np.asarray(self.get_q()[self._available(endlink)])

    def get_available_qp(self, endlink: int | None = None) -> Vector:
        """Return the velocities of the joints that are not immobile, (m,)."""
        return np.asarray(self.get_qp()[self._available(endlink)])

    def get_available_qpp(self, endlink: int | None = None) -> Vector:
        """Return the accelerations of the joints that are not immobile, (m,)."""
        return np.asarray(self.get_qpp()[self._available(endlink)])

    def set_q(self, q: ArrayLike, i: int | None = None) -> None:
        """Set the joint positions: (n,), or (m,) of the joints that are not immobile; or one number for joint `i`."""
        if i is not None:
            self._joints[one_based(i, self.dof, "joint") - 1].transform(real(q, "q"))
            return
        for link, value in zip(self._joints, self._filled(q, self.get_q(), "q").tolist(), strict=True):
            link.transform(value)

    def set_qp(self, qp: ArrayLike) -> None:
        """Set the joint velocities, (n,), or (m,) of the joints that are not immobile."""
        for link, value in zip(self._joints, self._filled(qp, self.get_qp(), "qp").tolist(), strict=True):
            link.qp = value

    def set_qpp(self, qpp: ArrayLike) -> None:
        """Set the joint accelerations, (n,), or (m,) of the joints that are not immobile."""
        for link, value in zip(self._joints, self._filled(qpp, self.get_qpp(), "qpp").tolist(), strict=True):
            link.qpp = value

    def _filled(self, values: ArrayLike, present: Vector, name: str) -> Vector:
        vector = reals(values, name).reshape(-1)
        if vector.size == self.dof:
            return vector
        mobile = self._mobile
        if vector.size != len(mobile):
            raise ArgumentError(
                f"{name} has {vector.size} values; expected {self.dof}, or {len(mobile)} for the joints that move"
            )
        filled = present.copy()
        filled[mobile] = vector
        return filled
