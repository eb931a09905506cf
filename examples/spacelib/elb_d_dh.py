"""ELB_D_DH: direct kinematics of the elbow robot by Denavit and Hartenberg's frames (SpaceLib User's Manual, §7.6.5).

    python elb_d_dh.py [DATA_FILE JOINT_MOTION_FILE GRIPPER_OUTPUT_FILE]

All instants of the motion are computed at once: every matrix has one more axis, the instants.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from elbow import DATA, Gripper, report, seen_from_gripper

import chasles.interop.spacelib as sl
from chasles.interop.spacelib import NULL4, PIG_2, Rev, Z


def elb_d_dh(lengths: np.ndarray, motion: sl.MotionData) -> Gripper:
    """Move the gripper."""
    a1, a2, a3, a4, a5, a6 = lengths
    a = [0.0, a2, a3, a4, a5, 0.0]
    fi = [PIG_2, 0.0, 0.0, 3 * PIG_2, PIG_2, 0.0]
    last = [[0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, a6], [0, 0, 0, 1]]  # position of the gripper in frame (6)

    mabs, Wabs, Habs = sl.rotat24(Z, PIG_2, [0.0, 0.0, a1, 1.0]), NULL4, NULL4
    for i in range(6):
        mrel = sl.dhtom(Rev, 0.0, 0.0, 0.0, a[i], fi[i], motion.q[:, i])
        Wrel, Hrel = sl.velacctoWH(Rev, motion.qp[:, i], motion.qpp[:, i])
        Wrel0, Hrel0 = sl.trasf_mami(Wrel, mabs), sl.trasf_mami(Hrel, mabs)
        Habs = sl.coriolis(Habs, Hrel0, Wabs, Wrel0)
        Wabs = sl.sum4(Wabs, Wrel0)
        mabs = sl.molt4(mabs, mrel)
    return seen_from_gripper(sl.molt4(mabs, last), Wabs, Habs)


def main(
    data: str | Path = DATA / "ELBOW.DAT",
    motion: str | Path = DATA / "JOINT.MOT",
    out: str | Path = "GRIPPER.MOT",
) -> None:
    """Read the files, move the gripper, print and write its motion."""
    joints = sl.read_motion(motion, 6)
    report(elb_d_dh(sl.read_link_lengths(data), joints), joints, out)


if __name__ == "__main__":
    main(*sys.argv[1:])
