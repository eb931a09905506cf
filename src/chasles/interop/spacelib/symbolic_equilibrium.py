"""The dynamic equation with symbols, and what SymPy can tell about its data."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from chasles.engine.program.scalar import Symbol
from chasles.geometry import spatial_inertia_from_pseudo_inertia
from chasles.geometry.elementary import Array
from chasles.interop.matrix_mechanics import hybrid_dynamics
from chasles.interop.spacelib.codes import NOTOK, OK

#: Row and column of each component (angular x, y, z, linear x, y, z) in a matrix.
_PLACES = ((2, 1), (0, 2), (1, 0), (0, 3), (1, 3), (2, 3))

_ROUNDING = 1e-12
_NO_BODY = "no body with mass has the inertia J"


def solve(J: Array, Wp: Array, F: Array, acceleration_unknown: tuple[bool, ...]) -> tuple[Array, Array, Any, str]:
    """Return Wp, F, the return value of `dyn_eq`, and a sentence about it.

    The return value is a number where SymPy can decide, else an expression that is 1 under the conditions for OK.

    Examples
    --------
    >>> import sympy
    >>> m = sympy.Symbol("m", real=True)
    >>> none = np.zeros((4, 4))
    >>> solve(np.diag([1, 1, 1, m]), none, none, (False,) * 6)[2:]
    (Piecewise((1, m > 0), (0, True)), 'OK only if m > 0')
    """
    import sympy

    conditions = _conditions(J, Wp, F, acceleration_unknown)
    wrong = next((sentence for sentence, condition in conditions if condition is sympy.false), None)
    if wrong and wrong != _NO_BODY:
        return *_unsolved(Wp, F, acceleration_unknown), NOTOK, wrong
    solution = hybrid_dynamics(J, Wp, F, acceleration_unknown)
    if wrong:
        return *solution, NOTOK, f"solved, but {wrong}"
    condition = sympy.And(*(condition for _, condition in conditions))
    if condition is sympy.true:
        return *solution, OK, "solved"
    return *solution, sympy.Piecewise((OK, condition), (NOTOK, True)), f"OK only if {condition}"


def _conditions(J: Array, Wp: Array, F: Array, acceleration_unknown: tuple[bool, ...]) -> list[tuple[str, Any]]:
    """Conditions that must hold, each with the sentence for where it does not."""
    import sympy

    given_motion = [component for component, unknown in zip(_PLACES, acceleration_unknown, strict=True) if not unknown]
    given_action = [component for component, unknown in zip(_PLACES, acceleration_unknown, strict=True) if unknown]
    motion_sums = [Wp[i, j] + Wp[j, i] for i, j in given_motion if j < 3]
    motion_zeros = [*np.diag(Wp), *Wp[3, :3]] if given_motion else []
    action_sums = [F[i, j] + F[j, i] for i, j in given_action]
    action_zeros = [*np.diag(F)] if given_action else []

    sought = [i for i, unknown in enumerate(acceleration_unknown) if unknown]
    system = sympy.Matrix(
        len(sought), len(sought), list(spatial_inertia_from_pseudo_inertia(J)[np.ix_(sought, sought)].flat)
    )
    return [
        ("Wp is not [[skew(alpha), a], [0, 0]] in its given components", _all_null(motion_sums + motion_zeros)),
        ("F is not [[skew(m), f], [-fᵀ, 0]] in its given components", _all_null(action_sums + action_zeros)),
        ("J is not symmetric", _all_null([J[i, j] - J[j, i] for i in range(4) for j in range(i)])),
        ("the system is singular", sympy.Ne(_simple(system.det()), 0)),
        (_NO_BODY, _of_a_body(J)),
    ]


def _of_a_body(J: Array) -> Any:
    """Whether the mass is positive, and the second moments about the centre of mass are positive semidefinite."""
    import sympy

    mass, first = _simple(J[3, 3]), J[:3, 3]
    has_mass = mass > 0
    if has_mass is sympy.false:
        return has_mass
    moments = sympy.Matrix(3, 3, list((J[:3, :3] - np.outer(first, first) / mass).flat))
    choices = [list(rows) for count in (1, 2, 3) for rows in combinations(range(3), count)]
    return sympy.And(has_mass, *(_simple(moments.extract(rows, rows).det()) >= 0 for rows in choices))


def _all_null(expressions: list[Any]) -> Any:
    import sympy

    return sympy.And(*(sympy.Eq(_simple(expression), 0) for expression in expressions))


def _simple(expression: Symbol) -> Symbol:
    """Simplify an expression; a number that is null but for rounding becomes 0."""
    import sympy

    simple = sympy.factor(sympy.simplify(sympy.nsimplify(expression, rational=True)))
    return sympy.S.Zero if simple.is_number and abs(simple) <= _ROUNDING else simple


def _unsolved(Wp: Array, F: Array, acceleration_unknown: tuple[bool, ...]) -> tuple[Array, Array]:
    """Matrices with NaN in the place of the unknowns."""
    Wp, F = Wp.astype(object), F.astype(object)
    for (i, j), unknown in zip(_PLACES, acceleration_unknown, strict=True):
        if unknown:
            Wp[i, j] = np.nan
            Wp[j, i] = np.nan if j < 3 else 0.0
        else:
            F[i, j] = F[j, i] = np.nan
    return Wp, F
