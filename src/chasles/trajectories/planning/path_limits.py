"""Limits of a motion along a path, as rows r(b, u, p) > 0 at places of it, for the rate √b of its parameter θ.

With derivatives ' by θ and b = θ̇², u = θ̈ = b'/2, p = b''/2, joints move by

    q̇ = q' √b,    q̈ = q'' b + q' u,    q⃛ = √b (q''' b + 3 q'' u + q' p),

and with m = M q', c = M q'' + C(q, q') and the weight g their torques and the rates of these are

    τ = c b + m u + g + f,    τ̇ = √b (c' b + (2 c + m') u + m p + g' + f').

So all but the friction f is linear, if limits of jerks, rates and powers τ q' √b are divided by √b. Sources: Verscheure
and others (2009); Debrouwere and others, Time-optimal path following for robots with convex-concave constraints using
sequential convex programming, IEEE Transactions on Robotics 29 (2013).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.cached import cached_property
from chasles.trajectories.limits.moved_joints import MovedJoints
from chasles.trajectories.motion import Floats
from chasles.trajectories.planning.rest_to_rest import Places, RestToRest

#: Quantities whose limits are lines, in the order of their rows, and of these those that go with √b.
_LINES, _RATES = ("acceleration", "torque", "jerk", "torque rate", "power"), ("jerk", "torque rate", "power")
#: Distance at which derivatives along the path are taken by differences, as a share of the distance of nodes.
_NEARBY = 1e-3
#: Changes of b and u by which derivatives of friction are taken, and of velocities for its rate, relative.
_CHANGE, _CHANGE_OF_VELOCITY = 1e-4, 1e-5
#: Speed along the path, rad/s, where no limit bounds it.
_FASTEST = 1e4
#: Squared speed along the path, rad²/s², of a motion that counts as slow.
_SLOW = 1e-12


@dataclass(frozen=True)
class Torques:
    """Torques of a motion at places of a path.

    Attributes
    ----------
    moved, places
        Joints and places.
    coriolis, inertia, weight
        c, m and g, each (k, joints); with loops those of the motors.
    """

    moved: MovedJoints
    places: Places
    coriolis: Floats
    inertia: Floats
    weight: Floats

    @classmethod
    def at(cls, moved: MovedJoints, places: Places) -> Torques:
        """Compute them."""
        robot, q = moved.robot, places.q
        mass = np.asarray(robot.mass_matrix(q))
        along, bend = (np.einsum("kij,kj->ki", mass, part) for part in (places.rates, places.rates_of_rates))
        forces = bend + robot.coriolis_vector(q, places.rates), along, np.asarray(robot.gravity_torque(q))
        return cls(moved, places, *(moved.driven(q, force) for force in forces))

    @cached_property
    def has_friction(self) -> bool:
        """Whether there is friction on this path."""
        return bool(self.friction(np.ones(len(self.weight)), np.zeros(len(self.weight))).any())

    @cached_property
    def _has_load_friction(self) -> bool:
        return any(joint.load_friction for joint in self.moved.robot.description.joints)

    def friction(self, b: Floats, u: Floats) -> Floats:
        """Torques f of friction, (k, joints), of the load too."""
        robot, q = self.moved.robot, self.places.q
        qd = self.places.rates * np.sqrt(b)[:, None]
        if not self._has_load_friction:
            return self.moved.driven(q, np.asarray(robot.friction_torque(q, qd)))
        qdd = self.places.rates_of_rates * b[:, None] + self.places.rates * u[:, None]
        all_torques = self.moved.driven(q, np.asarray(robot.inverse_dynamics(q, qd, qdd)))
        return all_torques - (self.coriolis * b[:, None] + self.inertia * u[:, None] + self.weight)

    def friction_rate(self, b: Floats, u: Floats) -> Floats:
        """Rates of friction over √b, (k, joints): those with the velocity, not those with the load."""
        robot, q, root = self.moved.robot, self.places.q, np.sqrt(b)[:, None]
        qd, qdd = self.places.rates * root, self.places.rates_of_rates * b[:, None] + self.places.rates * u[:, None]
        size = np.abs(qd).max(axis=1) / np.maximum(np.abs(qdd).max(axis=1), np.finfo(float).tiny)
        time = _CHANGE_OF_VELOCITY * size[:, None]
        after, before = (np.asarray(robot.friction_torque(q, qd + sign * time * qdd)) for sign in (1.0, -1.0))
        return self.moved.driven(q, (after - before) / (2.0 * time * root))

    @cached_property
    def to_hold(self) -> Floats:
        """Torques of a slow motion, (k, joints): weight and friction."""
        slow = np.full(len(self.weight), _SLOW / np.abs(self.places.tangent).max() ** 2)
        return self.weight + self.friction(slow, np.zeros(len(slow)))


class Rows(NamedTuple):
    """Derivatives of rows to (b, u, p), (k, rows, 3), and the second ones to b alone, (k, rows)."""

    slopes: Floats
    curvature: Floats


class PathLimits:
    """Limits along a path.

    Parameters
    ----------
    law
        The path, with its nodes.
    limits
        Largest magnitudes of "velocity", "acceleration", "torque", "jerk", "torque rate" and "power", each (joints,).
    """

    def __init__(self, law: RestToRest, limits: Mapping[str, Floats]) -> None:
        places = law.places
        self.places, self.torques = places, Torques.at(law.moved, places)
        self._stencil: list[Torques] = []
        self._step = self._steps(law.nodes)
        if np.isfinite(limits["torque rate"]).any():
            ahead = (places.theta + share * self._step for share in (1.0, 2.0))
            self._stencil = [Torques.at(law.moved, law.at(theta)) for theta in ahead]
        shape = places.tangent.shape
        self.limits = {name: np.broadcast_to(limit, shape).copy() for name, limit in limits.items()}
        self._limited = {name: np.isfinite(limits[name]) for name in _LINES}
        self._coefficients = {name: self._of(name) for name in _LINES if self._limited[name].any()}

    def _steps(self, nodes: Floats) -> Floats:
        """Distances in θ from the places to what is nearby on the same side of a knot, (k,)."""
        lengths = np.diff(nodes)
        before = np.searchsorted(nodes, self.places.theta[len(nodes) + len(lengths) :])
        return np.asarray(_NEARBY * np.concatenate([lengths, -lengths[-1:], lengths, -lengths[before - 1]]))

    def _of(self, name: str) -> tuple[Floats, Floats]:
        """Coefficients of (b, u, p), (k, limited joints, 3), and constants, (k, limited joints), of one quantity."""
        places, torques = self.places, self.torques
        none = np.zeros_like(places.tangent)
        c, m, g = torques.coriolis, torques.inertia, torques.weight
        of_bup: tuple[Floats, Floats, Floats]
        of_bup, constant = (places.curvature, places.tangent, none), none
        if name == "torque":
            of_bup, constant = (c, m, none), g
        elif name == "jerk":
            of_bup = places.third, 3.0 * places.curvature, places.tangent
        elif name == "torque rate":
            slopes = (
                (-3.0 * here + 4.0 * near - far) / (2.0 * self._step[:, None])
                for here, near, far in zip(
                    (c, m, g),
                    *((each.coriolis, each.inertia, each.weight) for each in self._stencil),
                    strict=True,
                )
            )
            c_slope, m_slope, constant = slopes
            of_bup = c_slope, 2.0 * c + m_slope, m
        elif name == "power":
            of_bup, constant = (c * places.tangent, m * places.tangent, none), g * places.tangent
        limited = self._limited[name]
        return np.stack(of_bup, axis=-1)[:, limited], constant[:, limited]

    @cached_property
    def _is_rate(self) -> NDArray[np.bool_]:
        """Whether each line's limit is divided by √b, (lines,)."""
        return np.concatenate([np.full(self._limited[name].sum(), name in _RATES) for name in self._coefficients])

    def _joined(self, parts: Mapping[str, Floats]) -> Floats:
        """Join parts (k, limited joints, ...) of the quantities, as shares of their limits."""
        joined = []
        for name, part in parts.items():
            size = self.limits[name][:, self._limited[name]]
            joined.append(part / size.reshape(*size.shape, *(1,) * (part.ndim - 2)))
        return np.concatenate(joined, axis=1)

    @property
    def fastest(self) -> Floats:
        """Largest b that the limits of velocity allow, (k,)."""
        size = np.abs(self.places.tangent)
        with np.errstate(divide="ignore"):
            allowed = (self.limits["velocity"] / size).min(axis=1)
        return np.asarray(np.minimum(allowed, _FASTEST / size.max()) ** 2)

    def _friction(self, b: Floats, u: Floats) -> Floats:
        """What friction adds to the lines, (k, lines)."""
        parts = {name: np.zeros(constant.shape) for name, (_, constant) in self._coefficients.items()}
        if "torque" in parts:
            parts["torque"] = self.torques.friction(b, u)[:, self._limited["torque"]]
        if "power" in parts:
            parts["power"] = (self.torques.friction(b, u) * self.places.tangent)[:, self._limited["power"]]
        if "torque rate" in parts:
            parts["torque rate"] = self.torques.friction_rate(b, u)[:, self._limited["torque rate"]]
        return self._joined(parts)

    def values(self, b: Floats, u: Floats, p: Floats) -> Floats:
        """Return the rows (k, rows): distances to the upper limits, to the lower ones, and to the largest b."""
        slopes, constants = self._lines
        lines = (slopes @ np.stack([b, u, p], axis=-1)[..., None])[..., 0] + constants
        if self.torques.has_friction:
            lines += self._friction(b, u)
        limit = np.where(self._is_rate, 1.0 / np.sqrt(b)[:, None], 1.0)
        return np.concatenate([limit - lines, limit + lines, 1.0 - (b / self.fastest)[:, None]], axis=1)

    def rows(self, b: Floats, u: Floats, p: Floats) -> Rows:
        """Return the derivatives of the rows."""
        slopes, bends = self._lines[0].copy(), np.zeros(self._lines[1].shape)
        if self.torques.has_friction:
            middle = self._friction(b, u)
            change = _CHANGE * b
            after, before = self._friction(b + change, u), self._friction(b - change, u)
            slopes[..., 0] += (after - before) / (2.0 * change[:, None])
            bends = (after - 2.0 * middle + before) / change[:, None] ** 2
            change = _CHANGE * (np.abs(u) + b)
            slopes[..., 1] += (self._friction(b, u + change) - self._friction(b, u - change)) / (2.0 * change[:, None])
        of_limit = np.zeros((3, *bends.shape))
        of_limit[0] = np.where(self._is_rate, -0.5 * b[:, None] ** -1.5, 0.0)
        bend_of_limit = np.where(self._is_rate, 0.75 * b[:, None] ** -2.5, 0.0)
        of_fastest = np.zeros((len(b), 1, 3))
        of_fastest[:, 0, 0] = -1.0 / self.fastest
        head = np.moveaxis(of_limit, 0, -1)
        return Rows(
            np.concatenate([head - slopes, head + slopes, of_fastest], axis=1),
            np.concatenate([bend_of_limit - bends, bend_of_limit + bends, np.zeros((len(b), 1))], axis=1),
        )

    @property
    def _lines(self) -> tuple[Floats, Floats]:
        """Slopes (k, lines, 3) and constants (k, lines), as shares of the limits."""
        parts = self._coefficients.items()
        return self._joined({name: part[0] for name, part in parts}), self._joined({n: part[1] for n, part in parts})
