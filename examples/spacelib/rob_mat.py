"""ROB-MAT: direct kinematics and inverse dynamics of any serial robot (SpaceLib User's Manual, §7.1).

    python rob_mat.py [DATA_FILE MOTION_FILE]

All instants of the motion are computed at once: every matrix has one more axis, the instants.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

import chasles.interop.spacelib as sl
from chasles.interop.spacelib import NULL4, UNIT4

DATA = Path(__file__).parent / "data"


class Link(NamedTuple):
    """Matrices of a link, shape (instants, 4, 4), by the names of table 7.1."""

    mrel: np.ndarray  # position of frame (i) in frame (i-1)
    T: np.ndarray  # position of frame (i) in frame (0)
    W: np.ndarray  # velocity relative to link i-1, in frame (i-1)
    W0: np.ndarray  # the same in frame (0)
    WA: np.ndarray  # velocity relative to frame (0), in frame (0)
    H: np.ndarray  # accelerations, likewise
    H0: np.ndarray
    HA: np.ndarray
    J: np.ndarray  # inertia in frame (i)
    J0: np.ndarray  # the same in frame (0)
    FI: np.ndarray  # inertia and weight of the link, in frame (0)
    ACTO: np.ndarray  # action that the link passes on to link i-1, in frame (0)


def rob_mat(robot: sl.RobotData, motion: sl.MotionData) -> list[Link]:
    """Move a robot; give the matrices of its links."""
    n, instants = len(robot.links), len(motion.t)
    T, WA, HA = [UNIT4], [NULL4], [NULL4]  # (1)
    mrel, W, W0, H, H0, J = [], [], [], [], [], []

    for i, link in enumerate(robot.links):  # kinematics, from the base to the gripper
        q, qp, qpp = motion.q[:, i], motion.qp[:, i], motion.qpp[:, i]  # (2)
        mrel.append(sl.dhtom(link.jtype, link.theta, link.d, link.b, link.a, link.alpha, q))  # (3)
        velocity, acceleration = sl.velacctoWH(link.jtype, qp, qpp)  # (4)
        W.append(velocity)
        H.append(acceleration)
        W0.append(sl.trasf_mami(W[i], T[i]))  # (6)
        H0.append(sl.trasf_mami(H[i], T[i]))  # (7)
        T.append(sl.molt4(T[i], mrel[i]))  # (5)
        HA.append(sl.coriolis(HA[i], H0[i], WA[i], W0[i]))  # (9)
        WA.append(sl.sum4(WA[i], W0[i]))  # (8)
        moments = link.jxx, link.jyy, link.jzz, link.jxy, link.jyz, link.jxz
        J.append(np.tile(sl.jtoJ(link.mass, *moments, link.xg, link.yg, link.zg), (instants, 1, 1)))

    Hg = sl.gtom(*robot.gravity)
    given = np.minimum(np.arange(instants), len(robot.external_actions) - 1)
    EXT = sl.actom(*robot.external_actions[given].T)  # (10)
    ACTO = sl.trasf_mamt4(EXT, T[n])
    links = []
    for i in reversed(range(n)):  # dynamics, from the gripper to the base
        J0 = sl.trasf_mamt4(J[i], T[i + 1])  # (11)
        Ht = sl.sub4(Hg, HA[i + 1])
        FI = sl.skew4(Ht, J0)  # (12)
        ACTO = sl.sum4(FI, ACTO)  # (13)
        kinematics = mrel[i], T[i + 1], W[i], W0[i], WA[i + 1], H[i], H0[i], HA[i + 1]
        links.append(Link(*kinematics, J[i], J0, FI, ACTO))
    return links[::-1]


def print_link(number: int, link: Link, instant: int) -> None:
    """Print the matrices of a link as the original does. "In frame (i)" means (i-1) for W and H."""
    print(f"\n\n Link {number} \n\n")
    sl.printm4("Rel. pos. matrix", link.mrel[instant])
    sl.printm4("Abs. pos. matrix", link.T[instant])
    sl.printm4("Rel. vel. matrix in frame (i)", link.W[instant])
    sl.printm4("Rel. vel. matrix in frame (0)", link.W0[instant])
    sl.printm4("Absolute velocity matrix in frame (0)", link.WA[instant])
    sl.printm4("Rel. acc. matrix in frame (i)", link.H[instant])
    sl.printm4("Rel. acc. matrix in frame (0)", link.H0[instant])
    sl.printm4("Absolute acceleration matrix in frame (0)", link.HA[instant])
    sl.printm4("Inertia matrix in frame (i)", link.J[instant])
    sl.printm4("Inertia matrix in frame (0)", link.J0[instant])
    sl.printm4("Total actions", link.FI[instant])
    sl.printm4("Action on joint i", link.ACTO[instant])


def main(data: str | Path = DATA / "SCARA.DAT", motion: str | Path = DATA / "SCARA.MOT") -> None:
    """Read the files and print the matrices, instant after instant."""
    robot = sl.read_robot(data)
    moved = sl.read_motion(motion, len(robot.links))
    links = rob_mat(robot, moved)
    for instant in range(len(moved.t)):
        for number, link in enumerate(links, start=1):
            print_link(number, link, instant)


if __name__ == "__main__":
    main(*sys.argv[1:])
