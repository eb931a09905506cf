"""Chapter 5: the dynamic equation of a body with any six unknowns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from chasles.engine.symbols import is_symbolic
from chasles.errors import ArgumentError
from chasles.geometry.dynamic_equation import hybrid_dynamics, solve_dynamic_equation
from chasles.geometry.elementary import Array
from chasles.interop.spacelib.codes import NOTOK, OK


class DynamicEquilibrium(NamedTuple):
    """What `dyn_eq` returns.

    Attributes
    ----------
    Wp, F
        Acceleration and action matrix, complete, shapes (..., 4, 4).
    rv
        OK or NOTOK, shape (...).
    """

    Wp: Array
    F: Array
    rv: Any


def dyn_eq(J: Any, Wp: Any, F: Any, var: ArrayLike) -> DynamicEquilibrium:
    """Solve F = skew{Wp J} (5.1) for six of the twelve components of acceleration and action.

    With a velocity matrix W and a momentum matrix in the places of Wp and F it solves (5.2).

    Parameters
    ----------
    J
        Inertia matrix, shape (..., 4, 4).
    Wp, F
        Acceleration and action matrix, shapes (..., 4, 4); it does not matter what stands in the place of an unknown.
    var
        1 for an unknown and 0 for a given component, shape (2, 6), or (..., 2, 6) for a choice of its own for each
        sample (5.3)::

            [[angular acceleration x, y, z, acceleration x, y, z],
             [torque x, y, z,               force x, y, z       ]]

    Returns
    -------
    DynamicEquilibrium
        ``Wp``, ``F`` and ``rv``. Without a unique solution rv is NOTOK and the unknowns are NaN (the original returns
        the rank of its equations, negative). It is NOTOK too, as the manual says, for data without physical meaning: no
        body has the inertia J, or a component has both its acceleration and its action unknown; the unknowns are then
        what the equations give, where the original would take an unknown action for 0.

    Raises
    ------
    ArgumentError
        If var has not exactly six unknowns.

    Examples
    --------
    A body of 2 kg is pushed with 1 N along x, through its centre of mass in the origin:

    >>> J = np.diag([1.0, 1.0, 1.0, 2.0])
    >>> F = [[0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0], [-1, 0, 0, 0]]
    >>> Wp, F, rv = dyn_eq(J, np.zeros((4, 4)), F, [[1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0]])
    >>> Wp[:3, 3], rv
    (array([0.5, 0. , 0. ]), 1)
    """
    if is_symbolic(J) or is_symbolic(Wp) or is_symbolic(F):
        return DynamicEquilibrium(*hybrid_dynamics(J, Wp, F, _accelerations_unknown(var)), OK)
    solution = solve_dynamic_equation(J, Wp, F, var)
    rv = np.where(solution.solved & solution.physical, OK, NOTOK)
    return DynamicEquilibrium(solution.W_rate, solution.Phi, rv if rv.ndim else int(rv))


def _accelerations_unknown(var: ArrayLike) -> tuple[bool, ...]:
    flags = np.asarray(var)
    if flags.shape != (2, 6) or not np.array_equal(flags[0] == 0, flags[1] != 0):
        raise ArgumentError("dyn_eq: with symbols, var must be (2, 6) with one 1 and one 0 in every column")
    return tuple(bool(flag) for flag in flags[0])
