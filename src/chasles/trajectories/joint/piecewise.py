"""Joint trajectories whose pieces are polynomials of time."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.engine import Function, Program, trace
from chasles.engine.validators import reals
from chasles.geometry.elementary import Array
from chasles.trajectories.joint.trajectory import JointTrajectory
from chasles.trajectories.pieces import of_piece, piece_at

_DERIVATIVES = 4
_BLOCK = 1_000


class PiecewisePolynomial(JointTrajectory):
    """Joint motion that is a polynomial of time between knots.

    Parameters
    ----------
    knots
        Increasing times, s, shape (k + 1,), which a batch of trajectories shares, or (*batch, k + 1).
    coefficients
        Shape (*batch, k, order + 1, n): the joint positions in piece i are the sum of
        ``coefficients[..., i, j, :] (t - knots[i])**j``.

    Raises
    ------
    ArgumentError
        If shapes do not fit, knots do not increase, or a number is not finite.

    Examples
    --------
    >>> fall = PiecewisePolynomial([0.0, 1.0], [[[10.0], [0.0], [-4.905]]])
    >>> fall(1.0).q, fall(1.0).qd
    (array([5.095]), array([-9.81]))
    """

    def __init__(self, knots: ArrayLike, coefficients: ArrayLike) -> None:
        self.knots = reals(knots, "knots", (..., "k + 1"))
        pieces = self.knots.shape[-1] - 1
        if pieces < 1 or not (np.diff(self.knots) > 0.0).all():
            raise ArgumentError("knots must be two or more increasing times, shape (..., k + 1)")
        given = reals(coefficients, "coefficients", (..., pieces, "order + 1", "n"))
        self.coefficients = np.ascontiguousarray(given)  # pieces are taken one by one
        for array in (self.knots, self.coefficients):
            array.flags.writeable = False
        self.batch = self.coefficients.shape[:-3]
        if self.knots.shape[:-1] not in ((), self.batch):
            raise ArgumentError(
                f"knots have shape {self.knots.shape}, but the batch of coefficients is {self.batch}; "
                f"give {(pieces + 1,)} or {(*self.batch, pieces + 1)}"
            )

    @property
    def n(self) -> int:
        """Number of joints."""
        return int(self.coefficients.shape[-1])

    @property
    def program(self) -> Program:
        """Program of one piece: (time since its knot, its coefficients) -> (q, qd, qdd, qddd)."""
        return polynomial(*self.coefficients.shape[-2:]).program

    def derivatives(self, t: NDArray[np.float64]) -> tuple[Any, Any, Any, Any]:
        """Positions, velocities, accelerations and jerks at times (...), each (..., n)."""
        function = polynomial(*self.coefficients.shape[-2:])
        inside = np.clip(t, self.knots[..., 0], self.knots[..., -1])
        piece = piece_at(self.knots, inside)
        if not self.batch:
            results = self._in_blocks(function, inside, piece)
        elif self.knots.ndim == 1 and all(size == 1 for size in t.shape[::-1][: len(self.batch)]):
            results = self._by_piece(function, inside, piece)
        else:
            results = function(*self._gathered(inside, piece))
        resting = (t < self.knots[..., 0]) | (t > self.knots[..., -1])
        if resting.any():
            resting = np.broadcast_to(resting, results[0].shape[:-1])
            for part in results[1:]:
                part[resting] = 0.0
        return results

    def _gathered(self, t: NDArray[np.float64], piece: NDArray[np.intp]) -> tuple[Any, Any]:
        """Time since its knot, and coefficients, of each sample of a batch of trajectories."""
        begins = of_piece(self.knots, piece, self.knots.shape[:-1])
        return t - begins, of_piece(self.coefficients, piece, self.batch)

    def _in_blocks(self, function: Function, t: NDArray[np.float64], piece: NDArray[np.intp]) -> tuple[Any, ...]:
        """Results of one trajectory: as many times at once as have their coefficients in the processor's cache."""
        u, flat_piece = (t - self.knots[piece]).ravel(), piece.ravel()
        results = np.empty((_DERIVATIVES, u.size, self.n))  # one large array is had sooner than four
        for first in range(0, u.size, _BLOCK):
            block = slice(first, first + _BLOCK)
            function(u[block], self.coefficients.take(flat_piece[block], axis=0), out=tuple(results[:, block]))
        return tuple(part.reshape(*t.shape, self.n) for part in results)

    def _by_piece(self, function: Function, t: NDArray[np.float64], piece: NDArray[np.intp]) -> tuple[Any, ...]:
        """Results of a batch at times that it shares, piece by piece: coefficients need not be repeated."""
        flat_t = t.ravel()
        flat_piece = piece.ravel().astype(np.min_scalar_type(len(self.knots)))  # NumPy sorts short integers in O(n)
        order = None if (flat_piece[1:] >= flat_piece[:-1]).all() else np.argsort(flat_piece, kind="stable")
        if order is not None:
            flat_t, flat_piece = flat_t[order], flat_piece[order]
        results = np.empty((_DERIVATIVES, flat_t.size, *self.batch, self.n))
        bounds = np.searchsorted(flat_piece, np.arange(len(self.knots)))
        for k, (first, last) in enumerate(pairwise(bounds)):
            if last > first:
                u = (flat_t[first:last] - self.knots[k]).reshape(-1, *(1,) * len(self.batch))
                function(u, self.coefficients[..., k, :, :], out=tuple(results[:, first:last]))
        if order is not None:
            in_order, results = results, np.empty_like(results)
            for part, ordered in zip(results, in_order, strict=True):
                part[order] = ordered
        lead = t.shape[: max(t.ndim - len(self.batch), 0)]
        return tuple(part.reshape(*lead, *self.batch, self.n) for part in results)


@cache
def polynomial(order: int, n: int) -> Function:
    """(u, coefficients (order, n)) -> the sum of coefficients[j] u**j and its first three derivatives."""

    def evaluate(u: Array, coefficients: Array) -> tuple[Array, ...]:
        rows, results = list(coefficients), []
        for _ in range(_DERIVATIVES):
            value: Any = np.zeros(n)
            for row in reversed(rows):
                value = value * u + row
            results.append(value)
            rows = [power * row for power, row in enumerate(rows)][1:]
        return tuple(results)

    return Function(
        trace(evaluate, {"u": (), "coefficients": (order, n)}, name="polynomial", outputs=["q", "qd", "qdd", "qddd"])
    )
