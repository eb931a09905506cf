"""ELB_D_DH: direct kinematics of the elbow robot by Denavit and Hartenberg's frames (SpaceLib User's Manual, §7.6.5).

    python elb_d_dh.py [DATA_FILE JOINT_MOTION_FILE GRIPPER_OUTPUT_FILE]

All instants of the motion are computed at once: every matrix has one more axis, the instants.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

import chasles.interop.spacelib as sl
from chasles.interop.spacelib import NULL4, PIG_2, Rev, U, X, Y, Z

DATA = Path(__file__).parent / "data"


class Gripper(NamedTuple):
    """Position of the gripper; velocity and acceleration in the auxiliary frame: origin in it, axes of the base."""

    m: np.ndarray
    W: np.ndarray
    H: np.ndarray


def elb_d_dh(lengths: np.ndarray, motion: sl.MotionData) -> Gripper:
    """Move the gripper."""
    a1, a2, a3, a4, a5, a6 = lengths
    a = [0.0, a2, a3, a4, a5, 0.0]
    fi = [PIG_2, 0.0, 0.0, 3 * PIG_2, PIG_2, 0.0]
    last = np.array([[0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, a6], [0, 0, 0, 1]])  # from frame (6) to the gripper

    mabs, Wabs, Habs = sl.rotat24(Z, PIG_2, [0.0, 0.0, a1, 1.0]), NULL4, NULL4
    for i in range(6):
        q, qp, qpp = motion.q[:, i], motion.qp[:, i], motion.qpp[:, i]
        mrel = sl.dhtom(Rev, 0.0, 0.0, 0.0, a[i], fi[i], q)
        Wrel, Hrel = sl.velacctoWH(Rev, qp, qpp)
        Wrel0, Hrel0 = sl.trasf_mami(Wrel, mabs), sl.trasf_mami(Hrel, mabs)
        Habs = sl.coriolis(Habs, Hrel0, Wabs, Wrel0)
        Wabs = sl.sum4(Wabs, Wrel0)
        mabs = sl.molt4(mabs, mrel)

    gripper = sl.molt4(mabs, last)
    Aus = np.zeros_like(gripper) + sl.idmat4()
    Aus[:, :U, U] = gripper[:, :U, U]
    return Gripper(gripper, sl.trasf_miam(Wabs, Aus), sl.trasf_miam(Habs, Aus))


def gripper_motion(gripper: Gripper, dt: float) -> sl.GripperData:
    """Cardan angles of the gripper and its position, with their derivatives."""
    cardan = sl.Htocardan(gripper.m, gripper.W, gripper.H, X, Y, Z)
    linear = (matrix[:, :U, U] for matrix in gripper)
    return sl.GripperData(dt, (X, Y, Z), cardan.q1, cardan.qp1, cardan.qpp1, *linear)


def main(
    data: str | Path = DATA / "ELBOW.DAT",
    motion: str | Path = DATA / "JOINT.MOT",
    out: str | Path = "GRIPPER.MOT",
) -> None:
    """Print the motion of the gripper, and write it into a file that ELB_I_DH reads."""
    joints = sl.read_motion(motion, 6)
    gripper = elb_d_dh(sl.read_link_lengths(data), joints)
    for t, m, W, H in zip(joints.t, *gripper, strict=True):
        print(f"Time={t:f}")
        sl.printm4("The position matrix of the gripper is:", m)
        sl.printm4("The velocity matrix of the gripper is:", W)
        sl.printm4("The acceleration matrix of the gripper is:", H)
    sl.write_gripper(out, gripper_motion(gripper, joints.dt))


if __name__ == "__main__":
    main(*sys.argv[1:])
