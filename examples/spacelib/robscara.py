"""ROBSCARA: direct kinematics of a SCARA robot with L matrices (SpaceLib User's Manual, §7.4)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import chasles.interop.spacelib as sl
from chasles.interop.spacelib import ORIGIN, PIG, UNIT4, Col, Pri, Rev, Z

Q = [PIG / 4, PIG / 6, -0.5]  # joint variables
QP = [PIG * 5 / 4, PIG * 5 / 4, -0.5]  # and their velocities
O1 = [0.0, 0.0, 1.5, 1.0]  # origin of frame (1) in frame (0)
O2 = [0.33, 0.0, 0.0, 1.0]  # of frame (2) in frame (1)
O3 = [0.33, 0.0, 0.0, 1.0]  # of frame (3) in frame (2)


class Gripper(NamedTuple):
    """Position and velocity of the gripper, (7.19) to (7.21). Frame (a) has its origin in it and the axes of (0)."""

    m04: np.ndarray
    m0a: np.ndarray
    W04: np.ndarray
    W04a: np.ndarray


def gripper() -> Gripper:
    """Add up the velocities of the three joints in frame (0)."""
    m01 = sl.vmcopy(O1, 4, 4, Col, UNIT4, 4, 4)
    m12 = sl.rotat34(Z, Q[0], O2)
    m23 = sl.rotat34(Z, Q[1], O3)
    m34 = sl.traslat2(Z, Q[2])
    m02 = sl.molt4(m01, m12)
    m03 = sl.molt4(m02, m23)
    m04 = sl.molt4(m03, m34)
    m0a = sl.vmcopy(sl.mvcopy(m04, 4, 4, 4, Col), 4, 4, Col, UNIT4, 4, 4)

    L12, L23 = sl.makeL2(Rev, Z, 0.0, ORIGIN), sl.makeL2(Rev, Z, 0.0, ORIGIN)
    L34 = sl.makeL2(Pri, Z, 0.0, ORIGIN)
    W12 = sl.rmolt4(sl.trasf_mami(L12, m01), QP[0])
    W23 = sl.rmolt4(sl.trasf_mami(L23, m02), QP[1])
    W34 = sl.rmolt4(sl.trasf_mami(L34, m03), QP[2])
    W04 = sl.sum4(sl.sum4(W12, W23), W34)
    return Gripper(m04, m0a, W04, sl.trasf_miam(W04, m0a))


def main() -> None:
    """Print position and velocity."""
    found = gripper()
    sl.printm4("The position matrix of frame (a) is:", found.m0a)
    sl.printm4("The velocity matrix of the gripper in frame (0) is:", found.W04)
    sl.printm4("The velocity matrix of the gripper in frame (a) is:", found.W04a)


if __name__ == "__main__":
    main()
