"""Base parameters found numerically: the linear dependencies between the columns of a regressor of many motions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from chasles.algorithms.regrouping import GIVEN_UP_FIRST, Grouping, independent_rows
from chasles.geometry.elementary import Array

if TYPE_CHECKING:
    from chasles.model.tree import Tree


def group_columns(Y: Array, preferred: Sequence[int], tolerance: float = 1e-9) -> tuple[Grouping, float]:
    """Base parameters of a regressor whose rows are many motions.

    Parameters
    ----------
    Y
        Regressor, shape (rows, parameters), with more rows than there are base parameters.
    preferred
        Numbers of the columns, those first that shall stand for the base parameters.
    tolerance
        Share of the largest column below which a column, or what is left of it, is taken for zero.

    Returns
    -------
    grouping
        See `Grouping`.
    condition
        Condition number of the base parameters' columns of Y, each scaled to the length of 1: how much the motions
        magnify errors of torques.

    Notes
    -----
    Gautier, "Numerical calculation of the base inertial parameters of robots" (J. Robotic Systems 8(4), 1991): the rank
    is that of a QR factorisation with column pivoting. Its first rows span what the rows of Y do; of their columns the
    preferred independent ones are chosen.

    Examples
    --------
    The third column is the first plus twice the second.

    >>> grouping, condition = group_columns(np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 2.0], [0.0, 0.0, 0.0]]), [0, 1, 2])
    >>> grouping.independent, grouping.matrix
    ((0, 1), array([[1., 0., 1.],
                    [0., 1., 2.]]))
    >>> float(condition)
    1.0
    """
    from scipy.linalg import qr  # takes longer to import than the rest of the package

    lengths = np.linalg.norm(Y, axis=0)
    lengths = np.where(lengths > tolerance * lengths.max(initial=0.0), lengths, np.inf)
    R, order = qr(Y / lengths, mode="r", pivoting=True)
    diagonal = np.abs(np.diagonal(R))
    rank = int(np.sum(diagonal > tolerance * diagonal.max(initial=0.0)))
    rows = np.empty((rank, Y.shape[1]))
    rows[:, order] = R[:rank]
    independent = sorted(independent_rows(rows.T, preferred))
    columns = rows[:, independent]
    matrix = np.linalg.solve(columns, rows)
    finite = np.where(np.isfinite(lengths), lengths, 0.0)
    matrix = matrix * finite / finite[independent, None]
    small = np.abs(matrix) < tolerance * np.abs(matrix).max(initial=1.0)
    matrix[:, independent] = np.eye(rank)
    condition = float(np.linalg.cond(columns)) if rank else 1.0
    return Grouping(tuple(independent), np.where(small, 0.0, matrix)), condition


def preferred_columns(tree: Tree) -> list[int]:
    """Columns of a robot's regressor in the order in which they should stand for base parameters.

    First friction, which acts for itself; then the inertia of the bodies from the root outward, so that parameters are
    expressed by those of parents, as by `regroup`.
    """
    inertial = 10 * len(tree.carriers)
    first_columns = {index: 10 * k for k, index in enumerate(tree.carriers)}
    friction = [inertial + 3 * index + k for index in range(len(tree.bodies)) for k in (0, 1)]
    of_bodies = [
        first_columns[index] + k if k < 10 else inertial + 3 * index + 2
        for index, body in enumerate(tree.bodies)
        for k in reversed(GIVEN_UP_FIRST)
        if body.carries or k == 10
    ]
    return friction + of_bodies
