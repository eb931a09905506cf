"""Short examples of SpaceLib's manual, §3.6: frames built on points and vectors.

python frames.py [FRAMEP] [FRAME4P] [FRAMEV] [FRAME4V]
"""

from __future__ import annotations

from selection import run

import chasles.interop.spacelib as sl
from chasles.interop.spacelib import X, Y

P1, P2, P3 = [5.0, 4.0, 3.0, 1.0], [5.0, 6.0, 4.0, 1.0], [5.0, 5.0, 5.0, 1.0]
V1, V2 = [0.0, 2.0, 1.0], [0.0, 1.0, 2.0]


def rotation_from_points() -> None:
    """FRAMEP, example 3.24, page 64: rotation of a frame with x from P1 to P2 and y towards P3."""
    sl.printm4("m01", sl.frameP(P1, P2, P3, X, Y, 4))
    sl.printm3("R01", sl.frameP(P1, P2, P3, X, Y, 3))


def position_from_points() -> None:
    """FRAME4P, example 3.25, page 66: position matrix of the same frame, with its origin in P1."""
    sl.printm4("m01", sl.frame4P(P1, P2, P3, X, Y))


def rotation_from_vectors() -> None:
    """FRAMEV, example 3.26, page 67: rotation of a frame with x along a vector and y towards another."""
    sl.printm4("m01", sl.frameV(V1, V2, X, Y, 4))


def position_from_vectors() -> None:
    """FRAME4V, example 3.27, page 68: position matrix of the same frame, with its origin in P1."""
    sl.printm4("m01", sl.frame4V(P1, V1, V2, X, Y))


PROGRAMS = {
    "FRAMEP": rotation_from_points,
    "FRAME4P": position_from_points,
    "FRAMEV": rotation_from_vectors,
    "FRAME4V": position_from_vectors,
}

if __name__ == "__main__":
    run(PROGRAMS)
