"""Short example of SpaceLib's manual, §3.3: inertia matrices.

python inertia_and_actions.py
"""

from __future__ import annotations

from selection import run

import chasles.interop.spacelib as sl
from chasles.interop.spacelib import UNIT4, Col


def cylinder() -> None:
    """JTOJ, example 3.13, page 39: inertia matrix of a cylinder in two frames, the second one by two ways."""
    m = 15.71
    jxx, jyy, jzz = 36.633, 36.633, 7.850
    jxy, jyz, jxz = 0.0, 0.0, 0.0

    J0 = sl.jtoJ(m, jxx, jyy, jzz, jxy, jyz, jxz, 0.0, 0.0, 0.0)
    J1 = sl.jtoJ(m, jxx, jyy, jzz, jxy, jyz, jxz, 0.0, 3.0, 4.0)
    sl.printm4("J0", J0)
    sl.printm4("J1", J1)

    M10 = sl.vmcopy([0.0, 3.0, 4.0, 1.0], 4, 4, Col, UNIT4, 4, 4)
    sl.printm4("J1 from J0", sl.trasf_mamt4(J0, M10))


PROGRAMS = {"JTOJ": cylinder}

if __name__ == "__main__":
    run(PROGRAMS)
