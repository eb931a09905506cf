"""Rototranslation of a triangle (SpaceLib User's Manual, §7.3): the screw that moves it from one place to another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import chasles.interop.spacelib as sl
from chasles.interop.spacelib import Y, Z

P1, P2, P3 = [0.0, 1.0, 2.0, 1.0], [0.0, 6.0, 2.0, 1.0], [0.0, 1.0, 6.0, 1.0]
P4, P5, P6 = [3.0, 0.0, 2.0, 1.0], [8.0, 0.0, 2.0, 1.0], [3.0, 0.0, 6.0, 1.0]


class Displacement(NamedTuple):
    """Matrices (7.17) and (7.18), and the screw."""

    m10: np.ndarray
    m02: np.ndarray
    Q: np.ndarray
    u: np.ndarray
    phi: float
    h: float
    P: np.ndarray


def displacement() -> Displacement:
    """Put a frame on the triangle in both places."""
    m01 = sl.frame4P(P1, P2, P3, Y, Z)
    m02 = sl.frame4P(P4, P5, P6, Y, Z)
    m10 = sl.invers(m01)
    Q = sl.molt4(m02, m10)
    u, phi, h, P, _ = sl.mtoscrew(Q)
    return Displacement(m10, m02, Q, u, phi, h, P)


def main() -> None:
    """Print the displacement."""
    found = displacement()
    sl.printm4("Rototranslation matrix", found.Q)
    print(f"\nRotation angle: {found.phi:.5f}")
    sl.printv("Axis direction", found.u, 3)
    sl.printv("Point", found.P, 4)
    print(f"\nTranslation: {found.h:z.5f}")


if __name__ == "__main__":
    main()
