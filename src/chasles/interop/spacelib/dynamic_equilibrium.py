"""Chapter 5: the dynamic equation of a body with any six unknowns."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.comparable import comparable
from chasles.base.errors import ArgumentError
from chasles.engine import where
from chasles.engine.program.scalar import Real, Traced
from chasles.geometry.elementary import Array
from chasles.interop.matrix_mechanics import solve_dynamic_equation
from chasles.interop.matrix_mechanics.dynamic_equation import problem_sentence
from chasles.interop.matrix_mechanics.hybrid_dynamics import HybridSolution, hybrid_solution
from chasles.interop.spacelib import symbolic_equilibrium
from chasles.interop.spacelib.codes import NOTOK, OK
from chasles.interop.spacelib.sizes import real_array


@comparable
class _Equilibrium(NamedTuple):
    Wp: Array
    F: Array
    rv: Real


class DynamicEquilibrium(_Equilibrium):
    """Results of `dyn_eq`.

    Attributes
    ----------
    Wp, F
        Acceleration and action matrix, complete, shapes (..., 4, 4).
    rv
        OK or NOTOK, shape (...).
    """

    _account: Callable[[], str]

    @property
    def status(self) -> str:
        """A sentence that says what is wrong where rv is not OK."""
        return self._account()


def dyn_eq(J: Array, Wp: Array, F: Array, var: Any, *, check: bool = False) -> DynamicEquilibrium:
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
    check
        True to raise `ArgumentError` where rv is not OK.

    Returns
    -------
    DynamicEquilibrium
        ``Wp``, ``F`` and ``rv``. The attribute ``status`` of the result says what is wrong where rv is NOTOK:

        - a matrix is not what it must be: Wp or F is not skew-symmetric as a matrix of its kind is (each given
          component stands in two places), J is not symmetric, or a number is not finite; the unknowns are NaN;
        - there is no unique solution; the unknowns are NaN (the original returns the rank of its equations, negative);
        - no body has the inertia J, or a component has both its acceleration and its action unknown; the unknowns are
          what the equations give, where the original would take an unknown action for 0.

        With symbols, rv is OK or NOTOK where SymPy can decide; else it is an expression, ``Piecewise((1, …), (0,
        True))`` with the conditions for OK, which values of the symbols decide.

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

    The force in one of its two places is no action:

    >>> F[3, 0] = 0.0
    >>> result = dyn_eq(J, np.zeros((4, 4)), F, [[1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0]])
    >>> result.rv, result.status
    (0, 'F is not [[skew(m), f], [-fᵀ, 0]] in its given components')
    """
    solver = _solver_for(var)
    solution = solver(J, Wp, F)
    if solution.__class__ is HybridSolution:  # straight from machine code
        solved_Wp, solved_F, rank, problem, _ = solution
        if isinstance(problem, float):
            solution = DynamicEquilibrium(solved_Wp, solved_F, OK if problem == 0.0 else NOTOK)
            solution._account = partial(_sentence, problem, rank)
        else:
            solution = _general_solution(J, Wp, F, _flags(var))
    if check and not np.all(solution.rv == OK):
        raise ArgumentError(f"dyn_eq: {solution.status}")
    equilibrium: DynamicEquilibrium = solution
    return equilibrium


_SOLVERS: dict[Any, Callable[..., Any]] = {}
"""Ways to solve, by the choices of unknowns met so far."""


def _solver_for(var: Any) -> Callable[..., Any]:
    """Return the function that solves for a choice of unknowns: machine code, if each component has one."""
    key: Any = None
    cached_solver = None
    try:
        is_table = var.__class__ is np.ndarray and var.shape == (2, 6)
        key = (var.dtype.char, var.tobytes()) if is_table else tuple(map(tuple, var))
        cached_solver = _SOLVERS.get(key)
    except TypeError:  # not two lists of flags; `_flags` tells of it
        pass
    if cached_solver is not None:
        return cached_solver
    flags = _flags(var)
    general = partial(_general_solution, flags=flags)
    if flags.shape != (2, 6) or not np.all(flags[0] != flags[1]):
        return general
    function = hybrid_solution.specialize(acceleration_unknown=tuple(map(bool, flags[0])))
    solver = _SOLVERS[key] = function.direct_call(general)
    return solver


def _general_solution(J: Array, Wp: Array, F: Array, flags: NDArray[np.bool_]) -> DynamicEquilibrium:
    """Solve for any samples: single or batches, numbers, traced scalars or symbols."""
    matrices = _matrix(J, "J"), _matrix(Wp, "Wp"), _matrix(F, "F")
    if all(array.dtype != object for array in matrices):
        solution = solve_dynamic_equation(*matrices, flags)
        rv = np.where(solution.solved & solution.physical, OK, NOTOK)
        equilibrium = DynamicEquilibrium(solution.W_rate, solution.Phi, rv if rv.ndim else int(rv))
        equilibrium._account = partial(_sentence, solution.problem, solution.rank)
        return equilibrium
    if flags.shape != (2, 6) or not np.all(flags[0] != flags[1]):
        raise ArgumentError("dyn_eq: with symbols, var must be (2, 6) with one 1 and one 0 in every column")
    unknown = tuple(map(bool, flags[0]))
    if any(isinstance(element, Traced) for array in matrices for element in array.flat):
        W_rate, Phi, _, problem, _ = hybrid_solution(*matrices, acceleration_unknown=unknown)
        equilibrium = DynamicEquilibrium(W_rate, Phi, where(problem < 0.5, float(OK), float(NOTOK)))
        equilibrium._account = lambda: "known when the function is called"
        return equilibrium
    W_rate, Phi, rv, account = symbolic_equilibrium.solve(*matrices, unknown)
    equilibrium = DynamicEquilibrium(W_rate, Phi, rv)
    equilibrium._account = lambda: account
    return equilibrium


def _sentence(problem: Any, rank: Any) -> str:
    return problem_sentence(problem, rank, "Wp", "F")


def _matrix(A: Array, name: str) -> Array:
    array = real_array(A, "dyn_eq", name)
    if array.shape[-2:] != (4, 4):
        raise ArgumentError(f"dyn_eq: {name} has shape {array.shape}, but must be (..., 4, 4)")
    return array


def _flags(var: Any) -> NDArray[np.bool_]:
    flags = real_array(var, "dyn_eq", "var")
    if flags.shape[-2:] != (2, 6):
        raise ArgumentError(f"dyn_eq: var has shape {flags.shape}, but must be (..., 2, 6)")
    if flags.dtype == object or not np.isin(flags, (0, 1)).all():
        raise ArgumentError("dyn_eq: var must hold 1 for an unknown and 0 for a given component")
    counts = np.atleast_1d(flags.sum(axis=(-2, -1)))
    if (counts != 6).any():
        count = int(counts[counts != 6][0])
        raise ArgumentError(f"dyn_eq: var marks {count} components as unknown; six equations need six unknowns")
    return flags.astype(bool)
