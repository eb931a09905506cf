"""Clearance: distances between the bodies of a robot and to obstacles, with exact derivatives, compiled and batched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError
from chasles.base.sealed import Sealed
from chasles.distances.bodies import Body, HalfSpace, fitted_bodies, pairs_of
from chasles.distances.formulas import length_and_direction, nearest_shares
from chasles.engine import Function, minimum, trace, where
from chasles.engine.program.tracing import call_traced
from chasles.engine.running.runner import holds_traced
from chasles.engine.validators import choice, real, reals
from chasles.geometry.elementary import Array, skew
from chasles.mechanics import Mechanics

Floats = NDArray[np.float64]
Obstacle = Body | HalfSpace


class Clearance(Sealed):
    """Distances between a robot's bodies and to obstacles; made by `chasles.clearance`.

    Called with configurations (..., nq), it returns the smallest of all distances (...), m, negative where bodies
    overlap.

    Attributes
    ----------
    bodies, obstacles
        Bodies and obstacles to compute distances between.
    pairs
        Names of the two bodies of each distance.
    overlapping
        Names of the pairs that are ignored because they overlap at the robot's home.
    """

    def __init__(
        self,
        robot: Mechanics,
        bodies: Sequence[Body],
        obstacles: Sequence[Obstacle],
        ignore: Iterable[tuple[str, str]],
    ) -> None:
        self.robot, self.bodies, self.obstacles = robot, tuple(bodies), tuple(obstacles)
        for body in self.bodies:
            if body.frame is None:
                raise ArgumentError(f"{body!r} is on no link; hand it over with obstacles=")
            choice(body.frame, "frame", [*robot.frame_names, "tool"])
        for obstacle in self.obstacles:
            if obstacle.frame is not None:
                raise ArgumentError(f"obstacle {obstacle!r} is on a link; hand it over with bodies=")
        known = {thing.name for thing in (*self.bodies, *self.obstacles)}
        left_out = {frozenset(choice(name, "body", known) for name in pair) for pair in ignore}
        wanted = pairs_of(robot.description, self.bodies, self.obstacles)
        self._pairs = [pair for pair in wanted if frozenset(thing.name for thing in pair) not in left_out]
        self.overlapping: tuple[tuple[str, str], ...] = ()

    def without_overlaps(self) -> Clearance:
        """Ignore pairs of the robot's own bodies that overlap at its home."""
        if not self._pairs:
            return self
        at_home = np.atleast_1d(self.distances(self.robot.home))
        drop = [
            d < 0.0 and isinstance(b, Body) and b.frame is not None
            for d, (_, b) in zip(at_home, self._pairs, strict=True)
        ]
        other = Clearance(self.robot, self.bodies, self.obstacles, ())
        other.__dict__["_pairs"] = [pair for pair, gone in zip(self._pairs, drop, strict=True) if not gone]
        other.__dict__["overlapping"] = tuple(
            (a.name, b.name) for (a, b), gone in zip(self._pairs, drop, strict=True) if gone
        )
        return other

    @property
    def pairs_of_bodies(self) -> tuple[tuple[Body, Obstacle], ...]:
        """Body of the robot, and the other body or obstacle, of each distance."""
        return tuple(self._pairs)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Names of the two bodies of each distance."""
        return tuple((first.name, second.name) for first, second in self._pairs)

    def __call__(self, q: ArrayLike) -> Any:
        """Smallest distance (...), m, at configurations (..., nq); traced values become part of the trace."""
        return self.smallest(q)

    @cached_property
    def smallest(self) -> Function:
        """The compiled function q (nq,) -> smallest distance, infinite without pairs."""

        def smallest(q: Array) -> Any:
            lowest: Any = np.inf
            for distance in self._measured(q, rows=False)[0]:
                lowest = minimum(lowest, distance)
            return lowest

        return Function(trace(smallest, {"q": (self.robot.nq,)}, name="clearance", outputs=["distance"]))

    @cached_property
    def distances(self) -> Function:
        """The compiled function q (nq,) -> distances (pairs,), m, negative where bodies overlap."""
        return Function(trace(lambda q: self._measured(q, rows=False)[0], {"q": (self.robot.nq,)}, name="distances"))

    @cached_property
    def distances_and_jacobian(self) -> Function:
        """The compiled function q (nq,) -> distances (pairs,), and their rates per unit of qd, (pairs, n)."""
        outputs = ["distances", "jacobian"]
        return Function(
            trace(lambda q: self._measured(q, rows=True), {"q": (self.robot.nq,)}, name="distances", outputs=outputs)
        )

    def nearest(self, q: ArrayLike) -> tuple[str, str]:
        """Names of the nearest pair of bodies at a configuration (nq,)."""
        if not self._pairs:
            raise ArgumentError(f"robot '{self.robot.name}' has no pairs of bodies")
        return self.pairs[int(np.argmin(self.distances(reals(q, "q", (self.robot.nq,)))))]

    def _measured(self, q: Array, *, rows: bool) -> tuple[Array, Array]:
        """Distances of all pairs, and with `rows` their Jacobian."""
        motions: dict[str, tuple[Array, Array]] = {}

        def moved(thing: Obstacle) -> tuple[Array, Array | None]:
            """Pose and Jacobian of what carries a body."""
            if thing.frame is None:
                return np.eye(4), None
            if thing.frame not in motions:
                motions[thing.frame] = _motion(self.robot, q, thing.frame)
            return motions[thing.frame]

        distances, jacobian = [], []
        for first, second in self._pairs:
            distance, row = _between(first, second, moved(first), moved(second), rows)
            distances.append(distance)
            jacobian.append(row)
        n = self.robot.n
        return np.array(distances).reshape(-1), np.array(jacobian if rows else []).reshape(-1, n)

    def __repr__(self) -> str:
        return f"<clearance of robot '{self.robot.name}': {len(self._pairs)} pairs>"


def clearance(
    robot: Mechanics,
    *,
    bodies: Sequence[Body] | None = None,
    obstacles: Sequence[Obstacle] = (),
    ignore: Iterable[tuple[str, str]] = (),
    packages: Mapping[str, str | PathLike[str]] | None = None,
) -> Clearance:
    """Return a function for the distances between a robot's links and to obstacles.

    Capsules and spheres represent the links. These pairs are ignored: bodies on one link, on links fixed to each other,
    or on links that a joint connects; and pairs that the description disables (`chasles.load(path, srdf=…)`). With
    bodies fitted to a description's shapes, pairs that overlap at the robot's home are also ignored.

    Parameters
    ----------
    robot
        The robot.
    bodies
        Capsules and spheres on the links; default: those that enclose the collision shapes of the description.
    obstacles
        Capsules, spheres and half-spaces in the world.
    ignore
        Pairs of body names to ignore; by default, bodies have the names of their links.
    packages
        Folders of the packages that hold the meshes, by name.

    Returns
    -------
    Clearance
        Called with configurations (..., nq), it returns the smallest distance (...), m. Its ``distances`` and
        ``distances_and_jacobian`` are functions for all pairs.

    Raises
    ------
    ArgumentError
        The description has no collision shapes and no bodies are given, or a body has a wrong frame.
    UnknownNameError
        An unknown frame or body.

    Examples
    --------
    Two rods of a planar arm are joined, so that only the second can hit the ball:

    >>> import chasles as ch
    >>> import numpy as np
    >>> from chasles.distances import Body
    >>> arm = ch.load("planar2r")
    >>> rods = [Body("link1", end=[-0.5, 0.0, 0.0], radius=0.05), Body("link2", end=[-0.25, 0.0, 0.0], radius=0.05)]
    >>> free = ch.clearance(arm, bodies=rods, obstacles=[Body(None, [0.5, 0.4, 0.0], radius=0.1)])
    >>> free.pairs
    (('link1', 'obstacle'), ('link2', 'obstacle'))
    >>> free([[0.0, 0.0], [0.0, np.pi / 2]]).round(9)
    array([0.25, 0.  ])
    """
    given = fitted_bodies(robot.description, packages) if bodies is None else bodies
    if bodies is None and not given:
        raise ArgumentError(f"the links of robot '{robot.name}' have no collision shapes; give bodies=")
    result = Clearance(robot, given, obstacles, ignore)
    return result.without_overlaps() if bodies is None else result


@dataclass
class ClearanceLimit:
    """Keep bodies apart: a limit of `chasles.inverse_kinematics.solve_rates`.

    In one step each distance may decrease by at most a fraction of its excess over the margin. A distance below the
    margin must increase by that fraction of the deficit. This bounds the rates linearly along the nearest points
    (Faverjon and Tournassoud, A local based approach for path planning of manipulators with a high number of degrees of
    freedom, 1987).

    Parameters
    ----------
    clearance
        Distances to keep.
    margin
        Smallest distance, m.
    fraction
        Fraction of the distance beyond the margin that a step may use, above 0 and at most 1.
    within
        Distance, m, beyond which pairs are ignored.
    """

    clearance: Clearance
    margin: float = 0.02
    fraction: float = 0.5
    within: float = 0.3

    def inequalities(self, robot: Mechanics, q: Floats, dt: float) -> tuple[Floats, Floats, Floats]:
        """Return the matrix A, and the lower and upper bounds of A qd."""
        margin, within = real(self.margin, "margin"), real(self.within, "within", above=0.0)
        fraction = real(self.fraction, "fraction", above=0.0, at_most=1.0)
        distances, J = self.clearance.distances_and_jacobian(q)
        near = np.atleast_1d(distances) < margin + within
        lower = -fraction * (np.atleast_1d(distances)[near] - margin) / dt
        return np.reshape(J, (-1, robot.n))[near], lower, np.full(len(lower), np.inf)


def _motion(robot: Mechanics, q: Array, frame: str) -> tuple[Array, Array]:
    """Pose and world-aligned Jacobian of a frame; inside a trace they join the caller's operations."""
    function = robot.pose_and_jacobian.specialize(frame="world-aligned", target=frame)
    T, J = call_traced(function.program, [q], inline=True) if holds_traced([q]) else function(q)
    return np.asarray(T), np.asarray(J)


def _between(
    first: Obstacle, second: Obstacle, moved: tuple[Array, Any], other_moved: tuple[Array, Any], rows: bool
) -> tuple[Any, Any]:
    """Distance of two bodies, and its rate per unit of qd."""
    if isinstance(first, HalfSpace):
        raise ArgumentError("a half-space is an obstacle")
    start, end = _ends(first, moved[0])
    if isinstance(second, HalfSpace):
        heights = [second.normal @ (point - second.point) for point in (start, end)]
        at = start if first.is_sphere else np.asarray(where(heights[0] <= heights[1], start, end))
        height = heights[0] if first.is_sphere else minimum(*heights)
        row = second.normal @ _point_jacobian(at, moved) if rows else None
        return height - first.radius, row
    other_start, other_end = _ends(second, other_moved[0])
    way = None if first.is_sphere else end - start
    other_way = None if second.is_sphere else other_end - other_start
    share, other_share = nearest_shares(start, way, other_start, other_way)
    point = start if way is None else start + share * way
    other_point = other_start if other_way is None else other_start + other_share * other_way
    length, direction = length_and_direction(point - other_point)
    row = None
    if rows:  # the nearest points may be taken as fixed to their bodies: where they slide, the distance is stationary
        row = direction @ _point_jacobian(point, moved)
        if other_moved[1] is not None:
            row = row - direction @ _point_jacobian(other_point, other_moved)
    return length - first.radius - second.radius, row


def _ends(body: Body, T: Array) -> tuple[Array, Array]:
    """Ends of a body's segment in the world."""
    R, p = T[:3, :3], T[:3, 3]
    return p + R @ body.start, p + R @ body.end


def _point_jacobian(point: Array, moved: tuple[Array, Array]) -> Array:
    """Velocity (3, n) of a point in the world that is fixed to a frame, per unit of qd."""
    T, J = moved
    return np.asarray(J[3:] - skew(point - T[:3, 3]) @ J[:3])
