"""Pseudo-inverse of a Jacobian of full rank in programs, and how far it is from losing rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from chasles.engine.functions import sqrt
from chasles.engine.linear.symmetric import Factor, factor, inverse, solve
from chasles.engine.program.scalar import Array, Real

#: Keeps singular matrices invertible: this share of the squared Frobenius norm.
_DAMPING = 1e-15


@dataclass(frozen=True, eq=False)
class PseudoInverse:
    """Pseudo-inverse of J (m, n), from the smaller of J Jᵀ and Jᵀ J; it can be traced.

    Examples
    --------
    >>> inverse_of_two = PseudoInverse.of(np.array([[2.0, 0.0, 0.0], [0.0, 2.0, 0.0]]))
    >>> inverse_of_two.solve(np.array([1.0, 3.0])), inverse_of_two.conditioning.round(9)
    (array([0.5, 1.5, 0. ]), np.float64(1.0))
    """

    J: Array
    factored: Factor
    size: Real

    @classmethod
    def of(cls, J: Array) -> Self:
        """Factor the smaller Gram matrix."""
        m, n = J.shape
        gram = J @ J.T if m <= n else J.T @ J
        size = sum(gram[k, k] for k in range(len(gram)))
        return cls(J, factor(gram + _DAMPING * size * np.eye(len(gram))), size)

    def solve(self, b: Array) -> Array:
        """The smallest x that brings J x closest to b."""
        x = self._solve(b)
        return x + self._solve(b - self.J @ x)  # Gram matrices lose digits, which this brings back

    def transposed(self, x: Array) -> Array:
        """The pseudo-inverse's transpose times x (n,), for m <= n."""
        return np.array(solve(self.factored, self.J @ x))

    @property
    def conditioning(self) -> Real:
        """1 for a matrix that treats all directions alike, 0 for a singular one.

        The reciprocal of the condition number by Frobenius norms (Angeles, Fundamentals of Robotic Mechanical
        Systems, on kinetostatic performance indices).
        """
        reciprocals = inverse(self.factored)
        rank = len(reciprocals)
        return rank / sqrt(self.size * sum(reciprocals[k, k] for k in range(rank)))

    def _solve(self, b: Array) -> Array:
        m, n = self.J.shape
        if m <= n:
            return np.asarray(self.J.T @ np.array(solve(self.factored, b)))
        return np.array(solve(self.factored, self.J.T @ b))
