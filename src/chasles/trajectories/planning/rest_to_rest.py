"""A path that a polynomial law runs through from rest to rest, so that speeds along it are regular at its ends too.

With a limit of acceleration a path is left as s ~ t², with one of jerk as s ~ t³, and its speed as a function of s has
an infinite slope there. Run through by

    s(θ) = L ∫₀^θ (φ (1 - φ))^(r - 1) dφ / B(r, r),    0 ≤ θ ≤ 1,

it rests at θ = 0 and 1 like such a motion, r = 2 or 3, and the rate of θ along the motion is smooth and positive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from chasles.base.cached import cached_property
from chasles.trajectories.joint.trajectory import JointTrajectory
from chasles.trajectories.limits.moved_joints import MovedJoints
from chasles.trajectories.limits.sampling import jumps
from chasles.trajectories.motion import Floats
from chasles.trajectories.planning.geometric_path import parameters, way_along

#: Distance of nodes from knots of the path, as a share of their usual distance.
_APART = 0.2
#: Number of knots of a path, and more in proportion to nodes, beyond which those count where its curvature jumps.
_MOST_KNOTS = 500
#: Distance from the ends, in θ, at which the law is taken for them: there a joint has a direction, and friction.
LEAVES = 1e-9


class Places(NamedTuple):
    """Places on the path, and derivatives of the path by θ there.

    Attributes
    ----------
    theta, s
        Places θ, and parameters of the path there, (k,).
    q
        Configurations, (k, nq).
    tangent, curvature, third
        Derivatives of the joints whose limits count, (k, joints); the third is NaN for joints that loops move.
    rates, rates_of_rates
        First and second derivatives as `Robot` takes velocities, (k, n).
    """

    theta: Floats
    s: Floats
    q: Floats
    tangent: Floats
    curvature: Floats
    third: Floats
    rates: Floats
    rates_of_rates: Floats


@dataclass(frozen=True)
class RestToRest:
    """A path run through by the law.

    Attributes
    ----------
    moved
        Joints along the path, whose time stands for the parameter s.
    order
        r, the number of derivatives by time that are limited.
    count
        Smallest number of nodes; there are more if the path has many knots.
    """

    moved: MovedJoints
    order: int
    count: int

    @property
    def path(self) -> JointTrajectory:
        """The path."""
        return self.moved.trajectory

    @property
    def _length(self) -> float:
        return float(self.path.duration)

    def law(self, theta: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Path parameter s and its first three derivatives by θ."""
        from scipy.special import betainc

        r, w, slope = self.order, theta * (1.0 - theta), 1.0 - 2.0 * theta
        first = float(np.prod(np.arange(r, 2 * r) / np.arange(1.0, r + 1.0))) * r * self._length  # L / B(r, r)
        s = self.path.start_time + self._length * betainc(r, r, theta)
        if r == 2:
            return s, first * w, first * slope, np.full_like(theta, -2.0 * first)
        return s, first * w**2, 2.0 * first * w * slope, 2.0 * first * (slope**2 - 2.0 * w)

    @cached_property
    def nodes(self) -> Floats:
        """Places θ, (k,): evenly by length and by parameter of the path, run through by the law, and knots of the path.

        The law places them densely at both ends.
        """
        from scipy.special import betainc

        count = max(self.count, 2 * len(self._knots))
        s = parameters(self.path, 20 * count + 1)
        way = way_along(self.path, s)
        measure = 0.5 * (way / way[-1] + np.linspace(0.0, 1.0, len(s)))
        wanted = self._inverse(np.interp(betainc(self.order, self.order, np.linspace(0.0, 1.0, count)), measure, s))
        wanted[[0, -1]] = 0.0, 1.0
        knots = self._inverse(self._knots)
        if not len(knots):
            return wanted
        spacing = np.interp(wanted, 0.5 * (wanted[1:] + wanted[:-1]), np.diff(wanted))
        far = np.abs(wanted[:, None] - knots).min(axis=1) > _APART * spacing
        far[[0, -1]] = True
        return np.union1d(wanted[far], knots)

    @cached_property
    def _knots(self) -> Floats:
        """Parameters s of the knots of the path inside it that are nodes."""
        knots = np.unique(self.path.knots)[1:-1]
        return knots if len(knots) < max(self.count // 2, _MOST_KNOTS) else np.unique(jumps(self.path, ())[2].time)

    @cached_property
    def places(self) -> Places:
        """The nodes, seen from behind, the middles between them, and nodes at knots, seen from before."""
        nodes = self.nodes
        middles = 0.5 * (nodes[1:] + nodes[:-1])
        s, of_middles = self.law(nodes)[0], self.law(middles)[0]
        is_knot = np.isin(nodes, self._inverse(self._knots))
        s[is_knot] = self._knots
        before = np.nextafter(s[is_knot], -np.inf)
        inside = np.clip(nodes, LEAVES, 1.0 - LEAVES)
        return self.at(np.concatenate([inside, middles, nodes[is_knot]]), np.concatenate([s, of_middles, before]))

    def at(self, theta: Floats, s: Floats | None = None) -> Places:
        """Return places, whose parameters s on the path may be given."""
        along, first, second, third = self.law(theta)
        s = np.clip(along if s is None else s, self.path.start_time, self.path.end_time)
        on_path = self.moved.along(s)
        first, second, third = first[:, None], second[:, None], third[:, None]

        def once_more(tangent: Floats, curvature: Floats) -> Floats:
            return curvature * first**2 + tangent * second

        of_path = np.full_like(on_path.tangent, np.nan) if self.moved.closed else self.path.derivatives(s)[3]
        return Places(
            theta,
            s,
            on_path.q,
            on_path.tangent * first,
            once_more(on_path.tangent, on_path.curvature),
            of_path * first**3 + 3.0 * on_path.curvature * first * second + on_path.tangent * third,
            on_path.rates * first,
            once_more(on_path.rates, on_path.rates_of_rates),
        )

    def _inverse(self, s: Floats) -> Floats:
        """Places θ of parameters s of the path."""
        from scipy.special import betaincinv

        share = np.clip((s - self.path.start_time) / self._length, 0.0, 1.0)
        return np.asarray(betaincinv(self.order, self.order, share), dtype=float)
