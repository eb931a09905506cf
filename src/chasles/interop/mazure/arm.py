"""Data of an arm as the report's programs take them, and the report's misprints."""

from __future__ import annotations

from enum import Flag
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.robot.robot import Robot

FloatArray = NDArray[np.float64]


class Misprint(Flag):
    """Errors of the report, to be restored one by one: each changes the numbers of a program.

    Examples
    --------
    >>> Misprint.GRAVITY in (Misprint.GRAVITY | Misprint.LEVER), Misprint.LEVER in Misprint.NONE
    (True, False)
    """

    NONE = 0
    #: NE.M and LLLIN.M start with the base acceleration -g e_y, so that gravity points upwards.
    GRAVITY = 1
    #: R.M adds ω x z q̇ of equation (50) without rotating it into the next link's frame.
    TRANSPORT = 2
    #: Equations (99), (100), (103) and (104) omit R⁻¹ ∂r/∂q, the derivative of the link's vector in its own frame.
    LEVER = 4


class Arm(NamedTuple):
    """Numbers of an arm in standard Denavit–Hartenberg frames, laid out as the report's programs hold them.

    Attributes
    ----------
    kind
        Joint types, shape (n,): 1 for revolute, 0 for prismatic.
    pp
        Twist, length, offset and joint angle of each link, shape (n, 4), rad and m. The joint's own variable is added
        to the angle (revolute) or to the offset (prismatic). A prismatic joint has no length.
    M
        Masses, shape (n,), kg.
    rc
        Centre of mass of each link in its own frame, shape (3, n), m.
    I
        Inertias about the centres of mass in the links' frames, one below another, shape (3n, 3), kg·m².
    base_acceleration
        Acceleration of the base in frame 0, shape (3,), m/s²: minus that of gravity.
    """

    kind: tuple[int, ...]
    pp: FloatArray
    M: FloatArray
    rc: FloatArray
    I: FloatArray
    base_acceleration: FloatArray

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.kind)

    @classmethod
    def of(cls, robot: Robot) -> Arm:
        """Take the numbers of a robot that has a standard Denavit–Hartenberg table.

        The report's model has no friction, motor inertia and payload: those of the robot are left out.

        Raises
        ------
        ModelError
            The robot has no such table.
        ArgumentError
            A prismatic joint has a link length, which the report's frames cannot express.

        Examples
        --------
        >>> import chasles as ch
        >>> Arm.of(ch.load("scara")).kind
        (1, 1, 0, 1)
        """
        table = robot.table("dh")
        kind, pp = [], []
        for row in table.rows:
            revolute = row.get("kind", "revolute") == "revolute"
            offset = float(row.get("offset", 0.0))
            length = float(row.get("a", 0.0))
            if not revolute and length:
                raise ArgumentError(
                    f"joint '{row['name']}' is prismatic and its link has the length {length:g} m; the report's "
                    "frames have none there: move it to the neighbouring links"
                )
            d, theta = float(row.get("d", 0.0)), float(row.get("theta", 0.0))
            kind.append(int(revolute))
            angle = theta + offset if revolute else theta
            pp.append([float(row.get("alpha", 0.0)), length, d if revolute else d + offset, angle])
        R_base = np.asarray(table.base)[:3, :3]
        return cls(
            tuple(kind),
            np.array(pp),
            np.array([float(row.get("mass", 0.0)) for row in table.rows]),
            np.array([row.get("center_of_mass", np.zeros(3)) for row in table.rows], dtype=np.float64).T,
            np.concatenate([_tensor(row.get("inertia", np.zeros(3))) for row in table.rows]),
            -R_base.T @ np.asarray(table.gravity),
        )


def _tensor(inertia: Any) -> FloatArray:
    values = np.asarray(inertia, dtype=np.float64)
    if values.shape == (3, 3):
        return values
    tensor = np.diag(values[:3])
    if values.shape == (6,):
        xy, xz, yz = values[3:]
        tensor += np.array([[0.0, xy, xz], [xy, 0.0, yz], [xz, yz, 0.0]])
    return tensor


def _rods(lengths: tuple[float, ...], masses: tuple[float, ...]) -> Arm:
    """Slender rods in the plane x, y, gravity along -y."""
    count = len(lengths)
    pp = np.zeros((count, 4))
    pp[:, 1] = lengths
    tensors = [
        np.diag([0.0, m * length**2 / 12.0, m * length**2 / 12.0]) for m, length in zip(masses, lengths, strict=True)
    ]
    rc = np.zeros((3, count))
    rc[0] = -0.5 * np.array(lengths)
    return Arm((1,) * count, pp, np.array(masses), rc, np.concatenate(tensors), np.array([0.0, 9.80621, 0.0]))


#: The arm of NE.M: rods of 0.5 m and 0.25 m, 10 kg and 5 kg, in a vertical plane. Gravity points downwards, which the
#: report's own sign does not: `Misprint.GRAVITY`.
ARM = _rods((0.5, 0.25), (10.0, 5.0))
