"""SAT: can a satellite's antenna be spread out by one single movement (SpaceLib User's Manual, §7.5)?"""

from __future__ import annotations

from math import atan2, cos, sin
from typing import NamedTuple

import numpy as np

import chasles.interop.spacelib as sl
from chasles.interop.spacelib import X, Y, Z

P1 = np.array([0.875, 2.1, 1.5, 1.0])  # centre of the antenna at the beginning
P2 = np.array([1.75, 2.1, 3.2, 1.0])  # hinge
MI = np.array([[1, 0, 0, 0.875], [0, 0, 1, 2.1], [0, -1, 0, 1.5], [0, 0, 0, 1.0]])  # antenna at the beginning (7.22)
TILT = 26.0  # degrees, in step 5


class Deployment(NamedTuple):
    """Angles, positions (7.24) to (7.28), and the screw of the whole."""

    alpha: float
    beta: float
    d: float
    m3: np.ndarray
    m4: np.ndarray
    u5: np.ndarray
    Q5: np.ndarray
    mf: np.ndarray
    Qtot: np.ndarray
    u: np.ndarray
    fi: float
    h: float
    P: np.ndarray


def deployment() -> Deployment:
    """Go through the steps, and look for one displacement that does the same."""
    alpha = atan2(P2[Z] - P1[Z], P2[X] - P1[X])
    beta = atan2(P2[Y], P2[X])
    d = sl.dist(P1, P2)
    x, y = P2[X] + d * cos(beta), P2[Y] + d * sin(beta)  # (7.23)
    c, s = cos(alpha + beta), sin(alpha + beta)
    m3 = np.array([[-c, s, 0, x], [-s, -c, 0, y], [0, 0, 1, P2[Z]], [0, 0, 0, 1]])
    c, s = cos(beta - alpha), sin(beta - alpha)
    m4 = np.array([[-c, -s, 0, x], [-s, c, 0, y], [0, 0, -1, P2[Z]], [0, 0, 0, 1]])

    u5 = np.array([sin(beta), -cos(beta), 0.0])
    Q5 = sl.screwtom(u5, sl.rad(TILT), 0.0, P2)
    mf = sl.molt4(Q5, m4)
    Qtot = sl.molt4(mf, sl.invers(MI))
    u, fi, h, P, _ = sl.mtoscrew(Qtot)
    return Deployment(alpha, beta, d, m3, m4, u5, Q5, mf, Qtot, u, fi, h, P)


def main() -> None:
    """Print the answer."""
    found = deployment()
    print("\n*** Results ***")
    sl.printv("The rototranslation axis is :", found.u, 3)
    print(f"\nThe rotation angle about this axis is :{sl.deg(found.fi):f} [deg]")
    print(f"\nThe translation about this axis is :{found.h:zf}")
    sl.printv("The point P of the axis is :", found.P, 4)


if __name__ == "__main__":
    main()
