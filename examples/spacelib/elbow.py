"""What the programs of the elbow robot share: the motion of the gripper, printed and written to a file."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

import chasles.interop.spacelib as sl
from chasles.interop.spacelib import UNIT4, U, X, Y, Z

DATA = Path(__file__).parent / "data"


class Gripper(NamedTuple):
    """Position of the gripper; velocity and acceleration in the auxiliary frame: origin in it, axes of the base."""

    m: np.ndarray
    W: np.ndarray
    H: np.ndarray


def auxiliary_frame(gripper: np.ndarray) -> np.ndarray:
    """Frame with its origin in the gripper and the axes of the base."""
    Aus = np.broadcast_to(UNIT4, gripper.shape).copy()
    Aus[..., :U, U] = gripper[..., :U, U]
    return Aus


def seen_from_gripper(gripper: np.ndarray, W: np.ndarray, H: np.ndarray) -> Gripper:
    """Turn velocity and acceleration in the base frame into those of the gripper's centre."""
    Aus = auxiliary_frame(gripper)
    return Gripper(gripper, sl.trasf_miam(W, Aus), sl.trasf_miam(H, Aus))


def gripper_data(gripper: Gripper, dt: float) -> sl.GripperData:
    """Cardan angles of the gripper and its position, with their derivatives."""
    cardan = sl.Htocardan(gripper.m, gripper.W, gripper.H, X, Y, Z)
    position, velocity, acceleration = (matrix[:, :U, U] for matrix in gripper)
    return sl.GripperData(dt, (X, Y, Z), cardan.q1, cardan.qp1, cardan.qpp1, position, velocity, acceleration)


def report(gripper: Gripper, motion: sl.MotionData, out: str | Path) -> None:
    """Print the motion of the gripper, and write it into a file that ELB_I_DH reads."""
    for t, m, W, H in zip(motion.t, *gripper, strict=True):
        print(f"Time={t:f}")
        sl.printm4("The position matrix of the gripper is:", m)
        sl.printm4("The velocity matrix of the gripper is:", W)
        sl.printm4("The acceleration matrix of the gripper is:", H)
    sl.write_gripper(out, gripper_data(gripper, motion.dt))
