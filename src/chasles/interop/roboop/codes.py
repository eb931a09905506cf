"""Constants of ROBOOP: codes that attributes hold, styles of curves and tolerances.

Its codes of errors are no more: wrong input raises an exception of `chasles.ChaslesError`.
"""

from __future__ import annotations

from chasles.base.errors import ArgumentError

GRAVITY = 9.81
#: Kinds of controllers and of spaces (`Control_Select.type`, `space_type`, `Trajectory_Select.type`).
NONE, PD, CTM, RRA, IMP = 0, 1, 2, 3, 4
JOINT_SPACE, CARTESIAN_SPACE = 1, 2
#: Families of arms that `inv_kin` has formulas for.
DEFAULT, RHINO, PUMA, SCHILLING = 0, 1, 2, 3
BASE_FRAME, BODY_FRAME = 0, 1
#: Styles of curves, in the words of gnuplot.
LINES, DATAPOINTS, LINESPOINTS, IMPULSES, DOTS, STEPS, BOXES = (
    "lines",
    "points",
    "linespoints",
    "impulses",
    "dots",
    "steps",
    "boxes",
)
LINE_TYPES = (LINES, DATAPOINTS, LINESPOINTS, IMPULSES, DOTS, STEPS, BOXES)
#: Below it a number counts as zero (`isZero`, the tests for families of arms).
EPSILON = 1e-7
#: Adaptive steps of `rkqc` and `odeint`.
PGROW, PSHRNK, FCOR, SAFETY, ERRCON, MAXSTP, TINY = -0.20, -0.25, 1 / 15, 0.9, 6e-4, 10000, 1e-30


def one_based(index: int, largest: int, name: str) -> int:
    """Return an index that is counted from 1, as ROBOOP counts, if there is such a thing.

    Raises
    ------
    ArgumentError
        The index is not a whole number from 1 to `largest`.

    Examples
    --------
    >>> one_based(3, 2, "joint")
    Traceback (most recent call last):
        ...
    chasles.base.errors.ArgumentError: joint must be a whole number from 1 to 2, not 3
    """
    if isinstance(index, bool) or int(index) != index or not 1 <= index <= largest:
        raise ArgumentError(f"{name} must be a whole number from 1 to {largest}, not {index}")
    return int(index)
