"""Short examples of SpaceLib's manual, §3.2: velocity and acceleration matrices.

python velocities.py [GTOM] [MAKEL0] [MAKEL] [MAKEL_P] [WTOL_P] [WTOL_R] [WTOVEL] [WTOVEL_P] [VELWH2]
"""

from __future__ import annotations

import numpy as np
from selection import run

import chasles.interop.spacelib as sl
from chasles.interop.spacelib import ORIGIN, Pri, Rev, Xaxis, Xaxis_n, Z, Zaxis


def gravity() -> None:
    """GTOM, example 3.6, page 30: acceleration matrix of a body that falls along z."""
    Hg = sl.gtom(0.0, 0.0, -9.81)
    sl.printm4("Hg", Hg)


def revolute_joint_in_its_own_frame() -> None:
    """MAKEL0, example 3.7, page 31: L matrix of a revolute joint about z of frame (0)."""
    L0 = sl.makeL(Rev, Zaxis, 0.0, ORIGIN)
    sl.printm4("L0", L0)


def revolute_joint_in_another_frame() -> None:
    """MAKEL, example 3.7, page 32: the same joint in frame (k), where its axis passes beside the origin along -x."""
    Lk = sl.makeL(Rev, Xaxis_n, 0.0, [0.0, 1.2, 1.2, 1.0])
    sl.printm4("Lk", Lk)


def prismatic_joint() -> None:
    """MAKEL_P, example 3.8, page 32: L matrix of a prismatic joint along x; its pitch does not matter."""
    L0 = sl.makeL(Pri, Xaxis, 0.0, ORIGIN)
    sl.printm4("L0", L0)


def axis_of_a_prismatic_joint() -> None:
    """WTOL_P, example 3.9, page 33: L matrix from the velocity of a body that slides along a slope of 45°."""
    W = [[0, 0, 0, 0], [0, 0, 0, 1.4142], [0, 0, 0, 1.4142], [0, 0, 0, 0]]
    L = sl.WtoL(W)
    sl.printm4("L", L)


def axis_of_a_revolute_joint() -> None:
    """WTOL_R, example 3.10, page 34: L matrix from the velocity of a body that turns about x at 2 rad/s."""
    W = [[0, 0, 0, 0], [0, 0, -2, 0], [0, 2, 0, 0], [0, 0, 0, 0]]
    L = sl.WtoL(W)
    sl.printm4("L", L)


def screw_of_a_velocity() -> None:
    """WTOVEL, example 3.11, page 34: axis, angular and linear speed of a velocity matrix.

    The manual's text shows W[0][1] = 2; its listing has the right -2.
    """
    W = [[0, -2, 2.5, 2.5], [2, 0, -4.5, 1.7], [-2.5, 4.5, 0, 3.2], [0, 0, 0, 0]]
    print_screw(*sl.Wtovel(W))


def screw_of_a_translation() -> None:
    """WTOVEL_P, example 3.11, page 35: the same of a body that does not turn; P is the origin."""
    W = [[0, 0, 0, 2.5], [0, 0, 0, 1.7], [0, 0, 0, 3.2], [0, 0, 0, 0]]
    print_screw(*sl.Wtovel(W))


def print_screw(u: np.ndarray, omega: float, vel: float, P: np.ndarray) -> None:
    sl.printv("u", u, 3)
    print(f"omega = {omega:.3f}")
    sl.printv("P", P, 4)
    print(f"vel = {vel:.5f}")


def motion_of_a_revolute_joint() -> None:
    """VELWH2, example 3.12, page 36: W and H of a joint about z with 1.5 rad/s and 0.9 rad/s².

    The manual shows H[1][1] = 2.25; the centripetal acceleration is -1.5² = -2.25 on both axes.
    """
    W1, H1 = sl.velacctoWH2(Rev, Z, 1.5, 0.9)
    sl.printm4("W1", W1)
    sl.printm4("H1", H1)


PROGRAMS = {
    "GTOM": gravity,
    "MAKEL0": revolute_joint_in_its_own_frame,
    "MAKEL": revolute_joint_in_another_frame,
    "MAKEL_P": prismatic_joint,
    "WTOL_P": axis_of_a_prismatic_joint,
    "WTOL_R": axis_of_a_revolute_joint,
    "WTOVEL": screw_of_a_velocity,
    "WTOVEL_P": screw_of_a_translation,
    "VELWH2": motion_of_a_revolute_joint,
}

if __name__ == "__main__":
    run(PROGRAMS)
