"""Elastic rows: constraints that may be violated at a price, and their share of one Newton step.

Each row r(W) ≥ 0 becomes r - a + b = 0 with a, b ≥ 0. The excess b costs ρ b; the slack a is free, or costs ρ a too
where the row is an end, r = 0. So the problem always has a solution, its multipliers are bounded, -p < z < ρ with p = 0
or ρ for ends, and that there is no motion within the constraints is a result, not a failure. Limits of torques are not
elastic, ρ = ∞ and b = 0: they can always be kept. With barriers for a and b the solution satisfies

    r - a + b = 0,    a (z + p) = μ,    b (ρ - z) = μ.

Newton's step for these eliminates a, b and z row by row, and leaves to the regulator

    H + Jᵀ D J,    g - Jᵀ (z + D e),    D = 1 / (a / (z + p) + b / (ρ - z) + δ),    e = μ / (z + p) - μ / (ρ - z) - r.

δ bounds D where an end needs an exact value, which without it would grow as ρ² / 2μ. Rows that do not count, such as
those of infinite limits, have a = b = z = 1 and r = 0.

Sources: Gould, Orban and Toint, An interior-point l1-penalty method for nonlinear optimization (2003); Rao, Wright and
Rawlings (1998) for the elimination into the recursion of Riccati.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import mul
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.engine.program.scalar import Array

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

#: δ. From 1e-10 to 1e-6 the iterations of problems with exact ends do not change; without it they stall.
PROXIMAL = 1e-8
#: Factor by which a price rises that multipliers press on.
PRICE_FACTOR = 10.0
#: Largest ratio between a multiplier and what its slack calls for, and its inverse.
_APART = 1e10
#: Numbers whose logarithms are added up as that of their product: from 1e-30 to 1e30 it is a number.
_TOGETHER = 8
#: Larger than all products of slacks and multipliers.
_HUGE = 1e300


class Kinds(NamedTuple):
    """Whether each row is an end, an equality, and whether it is rigid, not elastic, (rows,)."""

    ends: Flags
    rigid: Flags


@dataclass(frozen=True)
class Elastic:
    """Slacks, excesses and multipliers of rows, with their price; numbers with leading axes, or traced scalars.

    Attributes
    ----------
    a, b, z
        Slacks, excesses and multipliers, (..., rows).
    kinds
        Kinds of the rows.
    price
        ρ, one number or (..., 1).
    """

    a: Array
    b: Array
    z: Array
    kinds: Kinds
    price: Any

    @property
    def p(self) -> Array:
        """Price of the slacks."""
        return np.asarray(self.price * self.kinds.ends.astype(float))

    @property
    def above(self) -> Array:
        """Distance z + p of the multipliers from their lower bound."""
        return np.asarray(self.z + self.p)

    @property
    def soft(self) -> Floats:
        """1 for elastic rows, 0 for rigid ones."""
        return (~self.kinds.rigid).astype(float)

    @property
    def below(self) -> Array:
        """Inverse of the distance ρ - z of the multipliers from their upper bound; 0 for rigid rows."""
        return np.asarray(self.soft / (self.price - self.soft * self.z))

    @property
    def by_above(self) -> Array:
        """Inverse of the distance of the multipliers from their lower bound."""
        return np.asarray(1.0 / self.above)

    def missed(self, r: Array) -> Array:
        """What the rows r miss, r - a + b."""
        return r - self.a + self.b

    def stiffness(self) -> Array:
        """D."""
        return np.asarray(1.0 / (self.a * self.by_above + self.b * self.below + PROXIMAL))

    def pull_of_barrier(self) -> Array:
        """What e grows by with μ."""
        return np.asarray(self.by_above - self.below)

    def pull(self, r: Array, mu: Any) -> Array:
        """Return e."""
        return np.asarray(mu * self.pull_of_barrier() - r)

    def step(self, dz: Array, mu: Any) -> tuple[Array, Array]:
        """Changes of a and b that belong to a change of z."""
        da = self.by_above * (mu - self.a * dz) - self.a
        return da, self.soft * (self.below * (mu + self.b * dz) - self.b)

    def barrier(self, present: Array) -> tuple[Any, Any]:
        """Sum of the priced a and b, and sum of their logarithms, of the rows that count."""
        ends, soft = self.kinds.ends.astype(float), self.soft
        priced = (present * (soft * self.b + ends * self.a)).sum()
        return priced, _sum_of_logarithms([*self.a, *self.b[~self.kinds.rigid]])

    def barrier_slope(self, da: Array, db: Array, mu: Any) -> Array:
        """Derivative of ρ b + p a - μ log a b along a step."""
        by_a, by_b = self._inverses()
        return np.asarray((self.p - mu * by_a) * da + self.soft * (self.price - mu * by_b) * db)

    def _inverses(self) -> tuple[Array, Array]:
        """Inverse slacks and excesses; 1 for the excesses of rigid rows, which are 0."""
        return np.asarray(1.0 / self.a), np.asarray(1.0 / (self.b + self.kinds.rigid.astype(float)))

    def shares(self, da: Array, db: Array, dz: Array) -> tuple[list[Array], list[Array]]:
        """Shares of the distances to bounds that a step uses up, of slacks and excesses and of multipliers."""
        soft, (by_a, by_b) = np.flatnonzero(~self.kinds.rigid), self._inverses()
        return [-da * by_a, -(db * by_b)[soft]], [-dz * self.by_above, (dz * self.below)[soft]]

    def products(self, present: Array) -> tuple[Any, Any, Any]:
        """Largest and negative smallest a (z + p) and b (ρ - z), and largest multiplier of an elastic row over ρ."""
        soft = np.flatnonzero(~self.kinds.rigid)
        products = [*(self.a * self.above), *(self.b * (self.price - self.z))[soft]]
        counts = [*present, *present[soft]]
        most = largest([one * c for one, c in zip(products, counts, strict=True)])
        lowest = largest([(c - 1.0) * _HUGE - one for one, c in zip(products, counts, strict=True)], -_HUGE)
        sizes = np.where(self.kinds.ends, np.abs(self.z), self.z)[soft]
        return most, lowest, largest(present[soft] * sizes) / self.price

    def with_multipliers(self, z: Array, mu: Any) -> Elastic:
        """Return the rows with other multipliers, kept within a factor of those that slacks and excesses call for."""
        called_for = mu / self.a
        above = np.maximum(called_for * (1.0 / _APART), np.minimum(z + self.p, called_for * _APART))
        most = np.where(self.kinds.rigid, np.inf, self.price * (1.0 - 1e-15))
        return replace(self, z=np.minimum(above - self.p, most))

    def raised(self, factor: float, r: Array, mu: Any) -> Elastic:
        """Return the rows with a higher price; inequalities that press on the old one return to the central path."""
        ends, rigid = self.kinds
        higher = replace(self, price=factor * self.price)
        a, b, z = central(r, mu, higher.price, rigid)
        pressed = ~ends & ~rigid & (self.z > 0.5 * self.price)
        rest_a, rest_b = mu / higher.above, mu * higher.below
        return replace(
            higher,
            a=np.where(pressed, a, np.where(ends, np.maximum(self.a, rest_a), self.a)),
            b=np.where(pressed, b, np.where(ends, np.maximum(self.b, rest_b), rest_b)),
            z=np.where(pressed, z, self.z),
        )

    def restored(self, r: Array, mu: Any) -> Elastic:
        """Return the rows with slacks and excesses that fit r, back on the central path; ends keep multipliers."""
        ends, rigid = self.kinds
        a, b, z = central(np.where(rigid, self.a, r), mu, self.price, rigid)
        rest = 2.0 * mu / self.price
        a = np.where(ends, np.maximum(r, 0.0) + rest, a)
        b = np.where(ends, np.maximum(-r, 0.0) + rest, b)
        return replace(self, a=a, b=b, z=np.where(ends, self.z, z))

    def counting(self, present: Array) -> Elastic:
        """Return the rows with those at rest that do not count."""
        a, b, z = (np.where(present, each, 1.0) for each in (self.a, self.b, self.z))
        return replace(self, a=a, b=b, z=z)


def first_elastic(r: Array, kinds: Kinds, mu: Any, price: Any) -> Elastic:
    """Begin on the central path of the inequalities, with ends that have no multipliers, slack or excess."""
    a, b, z = central(r, mu, price, kinds.rigid)
    rest = mu / price
    a, b, z = (np.where(kinds.ends, at_ends, each) for at_ends, each in ((rest, a), (rest, b), (0.0, z)))
    return Elastic(a, b, z, kinds, price)


def central(r: Array, mu: Any, price: Any, rigid: Flags) -> tuple[Array, Array, Array]:
    """Slacks, excesses and multipliers on the central path of inequalities: a - b = r, a z = μ, b (ρ - z) = μ.

    Rigid rows, which must be positive, have a = r and b = 0.

    >>> a, b, z = central(np.array([-1.0, 0.0, 2.0]), 0.1, 100.0, np.array([False, False, True]))
    >>> (a - b).round(9), (a * z).round(9), (b * (100.0 - z)).round(9)
    (array([-1.,  0.,  2.]), array([0.1, 0.1, 0.1]), array([0.1, 0.1, 0. ]))
    """
    size = 0.5 * price * np.abs(r)
    root = np.hypot(mu, size)
    near = 0.5 * price * mu * (1.0 + mu / (root + size)) / (mu + root)  # distance of z from the bound on r's side
    small = mu / (price - near)
    positive = r >= 0.0
    a, b = np.where(positive, r + small, small), np.where(positive, small, small - r)
    z = np.where(positive, near, price - near)
    room = np.where(rigid & positive & (r > 0.0), r, 1.0)
    return np.where(rigid, r, a), np.where(rigid, 0.0, b), np.where(rigid, mu / room, z)


def largest(v: Sequence[Any] | Array, least: float = 0.0) -> Any:
    """Return the largest of numbers and another; by pairs, for comparisons that wait for each other are slow."""
    row = list(v) or [least]
    while len(row) > 1:
        pairs = [np.maximum(a, b) for a, b in zip(row[::2], row[1::2], strict=False)]
        row = pairs + row[2 * len(pairs) :]
    return np.maximum(row[0], least)


def _sum_of_logarithms(v: list[Any]) -> Any:
    """Σ log v, of a few products."""
    groups = [reduce(mul, v[k : k + _TOGETHER]) for k in range(0, len(v), _TOGETHER)]
    return sum((np.log(group) for group in groups), 0.0)
