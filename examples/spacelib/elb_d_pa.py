"""ELB_D_PA: direct kinematics of the elbow robot by parallel frames (SpaceLib User's Manual, §7.6.6).

    python elb_d_pa.py [DATA_FILE JOINT_MOTION_FILE GRIPPER_OUTPUT_FILE]

In the home position all frames are parallel to the base, and each is at the beginning of its link. All instants of the
motion are computed at once: every matrix has one more axis, the instants.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from elbow import DATA, Gripper, report, seen_from_gripper

import chasles.interop.spacelib as sl
from chasles.interop.spacelib import NULL4, UNIT4, Rev, X, Z


def elb_d_pa(lengths: np.ndarray, motion: sl.MotionData) -> Gripper:
    """Move the gripper. The length of link 5 is not used."""
    a1, a2, a3, a4, _, a6 = lengths
    axis = [Z, X, X, X, Z, X]
    origin = [[0, 0, 0, 1], [0, 0, a1, 1], [0, a2, 0, 1], [0, a3, 0, 1], [0, a4, 0, 1], [0, 0, 0, 1]]

    mabs, Wabs, Habs = UNIT4, NULL4, NULL4
    for i in range(6):
        mrel = sl.rotat24(axis[i], motion.q[:, i], origin[i])
        Wrel, Hrel = sl.velacctoWH3(Rev, axis[i], motion.qp[:, i], motion.qpp[:, i], origin[i])
        Wrel0, Hrel0 = sl.n_skew34(sl.trasf_mami(Wrel, mabs)), sl.trasf_mami(Hrel, mabs)
        Habs = sl.coriolis(Habs, Hrel0, Wabs, Wrel0)
        Wabs = sl.sum4(Wabs, Wrel0)
        mabs = sl.molt4(mabs, mrel)
    return seen_from_gripper(sl.molt4(mabs, sl.traslat2(X, a6)), Wabs, Habs)


def main(
    data: str | Path = DATA / "ELBOW.DAT",
    motion: str | Path = DATA / "JOINT.MOT",
    out: str | Path = "GRIPPER.MOT",
) -> None:
    """Read the files, move the gripper, print and write its motion."""
    joints = sl.read_motion(motion, 6)
    report(elb_d_pa(sl.read_link_lengths(data), joints), joints, out)


if __name__ == "__main__":
    main(*sys.argv[1:])
