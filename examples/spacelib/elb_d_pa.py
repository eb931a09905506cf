"""ELB_D_PA: direct kinematics of the elbow robot by parallel frames (SpaceLib User's Manual, §7.6.6).

    python elb_d_pa.py [DATA_FILE JOINT_MOTION_FILE GRIPPER_OUTPUT_FILE]

In the home position all frames are parallel to the base, and each is at the beginning of its link. All instants of the
motion are computed at once: every matrix has one more axis, the instants.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

import chasles.interop.spacelib as sl
from chasles.interop.spacelib import NULL4, UNIT4, Rev, U, X, Y, Z

DATA = Path(__file__).parent / "data"
AXES = [Z, X, X, X, Z, X]


class Gripper(NamedTuple):
    """Position of the gripper; velocity and acceleration in the auxiliary frame: origin in it, axes of the base."""

    m: np.ndarray
    W: np.ndarray
    H: np.ndarray


def elb_d_pa(lengths: np.ndarray, motion: sl.MotionData) -> Gripper:
    """Move the gripper. The length of link 5 is not used."""
    a1, a2, a3, a4, _, a6 = lengths
    origins = [[0, 0, 0], [0, 0, a1], [0, a2, 0], [0, a3, 0], [0, a4, 0], [0, 0, 0]]  # of frame (i) in (i-1)

    mabs, Wabs, Habs = UNIT4, NULL4, NULL4
    for i in range(6):
        q, qp, qpp = motion.q[:, i], motion.qp[:, i], motion.qpp[:, i]
        O = [*origins[i], 1.0]  # noqa: E741
        mrel = sl.rotat24(AXES[i], q, O)
        Wrel, Hrel = sl.velacctoWH3(Rev, AXES[i], qp, qpp, O)
        Wrel0, Hrel0 = sl.n_skew34(sl.trasf_mami(Wrel, mabs)), sl.trasf_mami(Hrel, mabs)
        Habs = sl.coriolis(Habs, Hrel0, Wabs, Wrel0)
        Wabs = sl.sum4(Wabs, Wrel0)
        mabs = sl.molt4(mabs, mrel)

    gripper = sl.molt4(mabs, sl.traslat2(X, a6))  # frame (7) moves with frame (6)
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
    gripper = elb_d_pa(sl.read_link_lengths(data), joints)
    for t, m, W, H in zip(joints.t, *gripper, strict=True):
        print(f"Time={t:f}")
        sl.printm4("The position matrix of the gripper is:", m)
        sl.printm4("The velocity matrix of the gripper is:", W)
        sl.printm4("The acceleration matrix of the gripper is:", H)
    sl.write_gripper(out, gripper_motion(gripper, joints.dt))


if __name__ == "__main__":
    main(*sys.argv[1:])
