"""Elastic rows: constraints that may be violated at a price, and their share of one Newton step.

Each row r(W) ≥ 0 becomes r - a + b = 0 with a, b ≥ 0. The excess b costs ρ b; the slack a is free, or costs ρ a too
where the row is an end, r = 0. So the problem always has a solution, its multipliers are bounded, -p < z < ρ with p = 0
or ρ for ends, and that there is no motion within the constraints is a result, not a failure. Limits of torques are not
elastic, ρ = ∞ and b = 0: they can always be kept. With barriers for a and b the solution satisfies

    r - a + b = 0,    a (z + p) = μ,    b (ρ - z) = μ.

Newton's step for these eliminates a, b and z row by row, and leaves to the regulator

    H + Jᵀ D J,    g - Jᵀ (z + D e),    D = 1 / (a / (z + p) + b / (ρ - z) + δ),    e = μ / (z + p) - μ / (ρ - z) - r.

δ bounds D where an end needs an exact value, which without it would grow as ρ² / 2μ.

Sources: Gould, Orban and Toint, An interior-point l1-penalty method for nonlinear optimization (2003); Rao, Wright and
Rawlings (1998) for the elimination into the recursion of Riccati.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

#: δ. From 1e-10 to 1e-6 the iterations of problems with exact ends do not change; without it they stall.
_PROXIMAL = 1e-8
#: Largest ratio between a multiplier and what its slack calls for, and its inverse.
_APART = 1e10


@dataclass(frozen=True)
class Elastic:
    """Slacks, excesses and multipliers of all rows, with their price.

    Attributes
    ----------
    a, b, z
        Slacks, excesses and multipliers, (rows,).
    ends, rigid
        Whether each row is an end, an equality, and whether it is not elastic.
    price
        ρ.
    """

    a: Floats
    b: Floats
    z: Floats
    ends: Flags
    rigid: Flags
    price: float

    @classmethod
    def start(cls, r: Floats, ends: Flags, rigid: Flags, mu: float, price: float) -> Elastic:
        """Begin on the central path of the inequalities, and with ends that are not pressed."""
        a, b, z = central(r, mu, price, rigid)
        rest = mu / price
        return cls(np.where(ends, rest, a), np.where(ends, rest, b), np.where(ends, 0.0, z), ends, rigid, price)

    @property
    def p(self) -> Floats:
        """Price of the slacks."""
        return np.where(self.ends, self.price, 0.0)

    @property
    def above(self) -> Floats:
        """Distance z + p of the multipliers from their lower bound."""
        return self.z + self.p

    @property
    def below(self) -> Floats:
        """Distance ρ - z of the multipliers from their upper bound."""
        return np.where(self.rigid, np.inf, self.price - self.z)

    @property
    def pressure(self) -> float:
        """Largest multiplier of an elastic row as a share of the price."""
        sizes = np.where(self.ends, np.abs(self.z), np.where(self.rigid, 0.0, self.z))
        return float(sizes.max(initial=0.0)) / self.price

    def missed(self, r: Floats) -> Floats:
        """What the rows r miss, r - a + b."""
        return r - self.a + self.b

    def complementarity(self, mu: float) -> float:
        """Largest |a (z + p) - μ| and |b (ρ - z) - μ|."""
        products = np.concatenate([self.a * self.above, self.b[~self.rigid] * self.below[~self.rigid]])
        return float(np.abs(products - mu).max(initial=0.0))

    def stiffness(self) -> Floats:
        """D."""
        return 1.0 / (self.a / self.above + self.b / self.below + _PROXIMAL)

    def pull(self, r: Floats, mu: float) -> Floats:
        """Return e."""
        return np.asarray(mu / self.above - mu / self.below - r)

    def step(self, dz: Floats, mu: float) -> tuple[Floats, Floats]:
        """Changes of a and b that belong to a change of z."""
        da = mu / self.above - self.a - self.a / self.above * dz
        return da, mu / self.below - self.b + self.b / self.below * dz

    def barrier(self, mu: float) -> float:
        """Price of the excesses, and barriers: ρ Σ b + p Σ a - μ Σ log a b."""
        priced = self.b.sum() + self.a[self.ends].sum()
        return float(self.price * priced - mu * (np.log(self.a).sum() + np.log(self.b[~self.rigid]).sum()))

    def barrier_slope(self, da: Floats, db: Floats, mu: float) -> float:
        """Derivative of `barrier` along a step."""
        elastic = ~self.rigid
        of_b = (self.price - mu / self.b[elastic]) * db[elastic]
        return float(((self.p - mu / self.a) * da).sum() + of_b.sum())

    def moved(self, da: Floats, db: Floats, share: float) -> Elastic:
        """Return the rows with slacks and excesses moved by a share of a step."""
        return replace(self, a=self.a + share * da, b=self.b + share * db)

    def with_multipliers(self, z: Floats, mu: float) -> Elastic:
        """Return the rows with other multipliers, kept within a factor of those that slacks and excesses call for."""
        above = np.clip(z + self.p, mu / (_APART * self.a), _APART * mu / self.a)
        most = np.where(self.rigid, np.inf, self.price * (1.0 - 1e-15))
        return replace(self, z=np.minimum(above - self.p, most))

    def raised(self, factor: float, r: Floats, mu: float) -> Elastic:
        """Return the rows with a higher price; inequalities that press on the old one return to the central path."""
        a, b, z = central(r, mu, factor * self.price, self.rigid)
        higher = replace(self, price=factor * self.price)
        pressed = ~self.ends & ~self.rigid & (self.z > 0.5 * self.price)
        return replace(
            higher,
            a=np.where(pressed, a, np.where(self.ends, np.maximum(self.a, mu / higher.above), self.a)),
            b=np.where(pressed, b, np.where(self.ends, np.maximum(self.b, mu / higher.below), mu / higher.below)),
            z=np.where(pressed, z, self.z),
        )

    def restored(self, r: Floats, mu: float) -> Elastic:
        """Return the rows with slacks and excesses that fit r, back on the central path; ends keep multipliers."""
        a, b, z = central(np.where(self.rigid, self.a, r), mu, self.price, self.rigid)
        rest = 2.0 * mu / self.price
        a = np.where(self.ends, np.maximum(r, 0.0) + rest, a)
        b = np.where(self.ends, np.maximum(-r, 0.0) + rest, b)
        return replace(self, a=a, b=b, z=np.where(self.ends, self.z, z))


def central(r: Floats, mu: float, price: float, rigid: Flags) -> tuple[Floats, Floats, Floats]:
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
    return np.where(rigid, r, a), np.where(rigid, 0.0, b), np.where(rigid, mu / np.where(rigid, r, 1.0), z)
