"""ELB_I_DH: inverse kinematics of the elbow robot to second order (SpaceLib User's Manual, §7.6.7 and §7.6.8).

    python elb_i_dh.py [DATA_FILE GRIPPER_MOTION_FILE FIRST_GUESS_FILE JOINT_OUTPUT_FILE]

Positions by Newton and Raphson's method, each instant from the solution of the one before; then velocities and
accelerations by the same Jacobian matrix. As in the original nothing limits a step, and the arm begins almost
stretched: the joints may come out whole turns away from the motion that made the file.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from elbow import DATA, auxiliary_frame

import chasles.interop.spacelib as sl
from chasles.interop.spacelib import NULL4, ORIGIN, PIG_2, Col, Rev, U, X, Y, Z

FI = [PIG_2, 0.0, 0.0, 3 * PIG_2, PIG_2, 0.0]


class Pose(NamedTuple):
    """Frames (0) to (5), the gripper, and the Jacobian matrix of the latter, all in the base frame."""

    mabs: list[np.ndarray]
    gripper: np.ndarray
    Jac: np.ndarray


def column(A: np.ndarray) -> np.ndarray:
    """The six numbers of a matrix L, W or dS, and those of H that are linear in the joint accelerations."""
    return np.array([A[X, U], A[Y, U], A[Z, U], A[Z, Y], A[X, Z], A[Y, X]])


def forward(lengths: np.ndarray, q: np.ndarray) -> Pose:
    """Place the gripper."""
    a1, a2, a3, a4, a5, a6 = lengths
    a = [0.0, a2, a3, a4, a5, 0.0]
    last = [[0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, a6], [0, 0, 0, 1]]
    mabs, columns = [sl.rotat24(Z, PIG_2, [0.0, 0.0, a1, 1.0])], []
    for p in range(6):
        columns.append(column(sl.trasf_mami(sl.makeL2(Rev, Z, 0.0, ORIGIN), mabs[p])))
        mabs.append(sl.molt4(mabs[p], sl.dhtom(Rev, 0.0, 0.0, 0.0, a[p], FI[p], q[p])))
    return Pose(mabs[:-1], sl.molt4(mabs[-1], last), np.transpose(columns))


def place(lengths: np.ndarray, target: np.ndarray, q: np.ndarray, toll: float, maxiter: int) -> tuple[np.ndarray, Pose]:
    """Joint positions that put the gripper onto the target, from a guess on."""
    for _ in range(maxiter):
        pose = forward(lengths, q)
        dm = sl.sub4(target, pose.gripper)
        if sl.norm4(dm) <= toll:
            return q, pose
        q = q + solve(pose.Jac, column(sl.molt4(dm, sl.invers(pose.gripper))))
    raise ArithmeticError("Newton-Raphson method doesn't converge")


def solve(Jac: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Joint motion that moves the gripper by b."""
    x, rank = sl.solve(Jac, b)
    if rank != 6:
        raise ArithmeticError(f"rank is {rank}: singular position!")
    return x


def elb_i_dh(
    lengths: np.ndarray, motion: sl.GripperData, guess: np.ndarray, toll: float = 0.0005, maxiter: int = 15
) -> sl.MotionData:
    """Motion of the joints that moves the gripper as wanted."""
    i, j, k = motion.axes
    q, found = guess, []
    for n in range(len(motion.t)):
        target = sl.cardantoM(motion.q[n], i, j, k, [*motion.position[n], 1.0])
        q, pose = place(lengths, target, q, toll, maxiter)
        Aus = auxiliary_frame(pose.gripper)

        Waus = sl.cardantoW(motion.q[n], motion.qp[n], i, j, k, ORIGIN)
        Waus = sl.vmcopy([*motion.velocity[n], 0.0], 4, 4, Col, Waus, 4, 4)
        qp = solve(pose.Jac, column(sl.trasf_mami(Waus, Aus)))

        Haus = sl.cardantoH(motion.q[n], motion.qp[n], motion.qpp[n], i, j, k, ORIGIN)
        Haus = sl.vmcopy([*motion.acceleration[n], 0.0], 4, 4, Col, Haus, 4, 4)
        Wabs, Habs = NULL4, NULL4  # the latter without joint accelerations
        for p in range(6):
            Wrel, Hrel = sl.velacctoWH(Rev, qp[p], 0.0)
            Wrel0, Hrel0 = sl.trasf_mami(Wrel, pose.mabs[p]), sl.trasf_mami(Hrel, pose.mabs[p])
            Habs = sl.coriolis(Habs, Hrel0, Wabs, Wrel0)
            Wabs = sl.sum4(Wabs, Wrel0)
        qpp = solve(pose.Jac, column(sl.sub4(sl.trasf_mami(Haus, Aus), Habs)))
        found.append((q, qp, qpp))
    return sl.MotionData(motion.dt, *np.swapaxes(found, 0, 1))


def main(
    data: str | Path = DATA / "ELBOW.DAT",
    motion: str | Path = DATA / "GRIPPER.MOT",
    guess: str | Path = DATA / "GUESS.1ST",
    out: str | Path = "JOINT.MOT",
) -> None:
    """Print the motion of the joints, and write it into a file that ELB_D_DH and ELB_D_PA read."""
    joints = elb_i_dh(sl.read_link_lengths(data), sl.read_gripper(motion), sl.read_guess(guess))
    for t, q, qp, qpp in zip(joints.t, joints.q, joints.qp, joints.qpp, strict=True):
        print(f"\nTime={t:f}")
        sl.printv("The joint angles q are", q, 6)
        sl.printv("The joint velocities qp are", qp, 6)
        sl.printv("The joint accelerations qpp are", qpp, 6)
    sl.write_motion(out, joints)


if __name__ == "__main__":
    main(*sys.argv[1:])
