"""The laws of motion of the sample files: JOINT.MOT (SpaceLib User's Manual, §7.6.3) and TEST.MOT (table 7.7)."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import chasles.interop.spacelib as sl
from chasles.interop.spacelib import PIG, PIG_2


def joint_motion() -> sl.MotionData:
    """Six joints of the elbow robot, each by a law 1/3-1/3-1/3 of its own; at t = 0 the robot is singular."""
    t = 0.009 + 0.01 * np.arange(15)
    D = [PIG_2, PIG / 6, PIG / 6, -PIG / 6, PIG / 4, PIG_2]
    T = [0.5, 0.3, 0.25, 0.25, 0.2, 0.1]
    return sl.MotionData(0.01, *sl.thirds_law(t[:, None], D, T))


def motor_motion() -> sl.MotionData:
    """The motor between two bodies in space: half a turn within a second, by a modified trapezoid."""
    t = 0.002 * np.arange(501)
    return sl.MotionData(0.002, *sl.modified_trapezoid_law(t[:, None], PIG, 1.0, 0.25))


def main(folder: str | Path = ".") -> None:
    """Write both files into a folder; those of `data` are made so."""
    sl.write_motion(Path(folder) / "JOINT.MOT", joint_motion())
    sl.write_motion(Path(folder) / "TEST.MOT", motor_motion())


if __name__ == "__main__":
    main(*sys.argv[1:])
