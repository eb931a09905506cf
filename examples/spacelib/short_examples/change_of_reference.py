"""Short examples of SpaceLib's manual, §3.4.2: the same matrices in another frame.

python change_of_reference.py [TRASF_MA] [TRASF_MH] [TR_MAMT]
"""

from __future__ import annotations

import numpy as np
from selection import run

import chasles.interop.spacelib as sl
from chasles.interop.spacelib import UNIT4, Rev, Z

# Example 3.14: the joint of example 3.12, and the position of its frame (1) in frame (0).
W1, H1 = sl.velacctoWH2(Rev, Z, 1.5, 0.9)
M01 = np.array([[1, 0, 0, 0.4], [0, 1, 0, 0.1], [0, 0, 1, 0], [0, 0, 0, 1.0]])


def velocity() -> None:
    """TRASF_MA, example 3.14, page 43: velocity matrix of a joint in frame (0)."""
    W0 = sl.trasf_mami(W1, M01)
    sl.printm4("W0", W0)


def acceleration() -> None:
    """TRASF_MH, example 3.14, page 44: its acceleration matrix in frame (0).

    The manual shows H[0][3] = 0.900; 1.5² 0.4 + 0.9 0.1 is 0.990.
    """
    H0 = sl.trasf_mami(H1, M01)
    sl.printm4("H0", H0)


def momentum_of_three_points() -> None:
    """TR_MAMT, example 3.15, page 45: momentum matrix of three point masses in two frames, there and back.

    The manual shows the translation of m with wrong signs, Γ(1)[2][1] = 19 for 38.5, and in Γ(0) the linear momentum
    of Γ(1).
    """
    masses = [5.0, 1.0, 2.5]
    points = np.array([[2, 3, 4, 1], [0, 1, 0, 1], [1, 3, 0, 1.0]])
    velocities = np.array([[1, 0, 2, 0], [4, 0.5, 1, 0], [0, 0, 1, 0.0]])
    m = np.array([[0, 1, 0, 1.2], [-1, 0, 0, -0.5], [0, 0, 1, 4], [0, 0, 0, 1.0]])

    GAMMA1 = sl.clear4()
    for mass, P, Pp in zip(masses, points, velocities, strict=True):
        GAMMA1 = sl.sum4(GAMMA1, sl.skew4(sl.rmolt4(np.outer(Pp, P), mass), UNIT4))
    GAMMA0 = sl.trasf_mamt4(GAMMA1, m)
    GAMMA01 = sl.trasf_miamit(GAMMA0, m)
    sl.printm4("GAMMA1", GAMMA1)
    sl.printm4("GAMMA0", GAMMA0)
    sl.printm4("GAMMA1 from GAMMA0", GAMMA01)


PROGRAMS = {"TRASF_MA": velocity, "TRASF_MH": acceleration, "TR_MAMT": momentum_of_three_points}

if __name__ == "__main__":
    run(PROGRAMS)
