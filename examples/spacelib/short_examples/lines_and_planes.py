"""Short examples of SpaceLib's manual, §3.7.2: lines and planes.

python lines_and_planes.py [PROJPONL] [INTERSLP]
"""

from __future__ import annotations

from selection import run

import chasles.interop.spacelib as sl
from chasles.interop.spacelib import Line, U


def perpendicular_line() -> None:
    """PROJPONL, example 3.28, page 71: the line through a point that meets another line at right angles."""
    line = Line([3.0, 7.2, 2.05, 1.0], [0.7, 4.0, 9.0])
    P = [5.0, 1.0, 3.0, 1.0]
    foot, _ = sl.projponl(P, line)
    m = sl.line2p(P, foot)
    sl.printv("The origin of the new line is:", m.P, 4)
    sl.printv("The direction of the new line is:", m.dir, 3)


def mirrored_point() -> None:
    """INTERSLP, example 3.29, page 73: the point on the other side of a plane, as far away along a direction."""
    pl = [0.0, 0.0, 1.0, -5.0]
    P = [0.0, 6.0, 10.0, 1.0]
    line = Line(P, [0.0, 0.0, 1.0])

    P1, inttype = sl.interslpl(line, pl)
    d = sl.dist(P, P1)
    v = sl.vector(line.dir, d)
    Ps = [*sl.subv(P1[:U], v), 1.0]

    sl.printv("l.P", line.P, 4)
    sl.printv("l.dir", line.dir, 3)
    sl.printv("P1", P1, 4)
    print(f"type = {inttype}")
    print(f"d = {d:.3f}")
    sl.printv("v", v, 3)
    sl.printv("Ps", Ps, 4)


PROGRAMS = {"PROJPONL": perpendicular_line, "INTERSLP": mirrored_point}

if __name__ == "__main__":
    run(PROGRAMS)
