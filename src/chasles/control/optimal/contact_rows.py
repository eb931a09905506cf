"""Forces at the contacts of a robot: the torques that they cause, and the rows that they and the points must keep.

Forces f are inputs beside the torques of motors, and held over a step like these. With the Jacobians J of the points,

    M(q) q̈ + c(q, q̇) = τ + Σ Jᵀ f.

The rows are, for each point: a distance above its plane between phases; forces within the friction cone in a phase and
zero elsewhere; and in each phase the point's velocity v. So that its position p keeps to the foothold p*, where one is
known, and to the plane, what is held is

    v + (p - p*) / h = 0,

by which an error of position falls to a third from node to node (a half with semi-implicit Euler). Velocities that are
held alone let it drift, and positions that are held alone let velocities alternate. At touchdown p = p* is held too,
so that v = 0. Where the foothold is free, velocities along the plane are held alone; the point then drifts by the
error of the integrator.

Sources: Baumgarte, Stabilization of constraints and integrals of motion in dynamical systems (1972); Posa, Cantu and
Tedrake, A direct method for trajectory optimization of rigid bodies through contact (2014).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.base.sealed import Sealed
from chasles.control.optimal.contact import Phase, PhasedContact
from chasles.control.optimal.contact_points import Point, axes_of, point_slopes
from chasles.engine import Function, jacobian, maximum, trace
from chasles.engine.program.scalar import Array
from chasles.robot.robot import Robot

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
#: Error, m or m/s, to which a point in contact at the start must be on its plane and at rest.
_AT_START = 1e-6


@dataclass(frozen=True)
class Rows:
    """Rows of one contact.

    Attributes
    ----------
    words
        What they are, for a sentence about violations.
    count
        Number of them.
    value
        Function of what is known by name that returns them, (count,).
    counts
        Whether they count at each node, (N + 1,), of a horizon that begins at a node of the sequence.
    """

    words: str
    count: int
    value: Callable[[Mapping[str, Any]], Array]
    counts: Callable[[int], Flags]


class Contacts(Sealed):
    """The contacts of a problem.

    Parameters
    ----------
    contacts
        The contacts.
    robot
        The robot.
    nodes
        Number N of steps.
    h
        Time of a step, s.
    free_start
        Whether the start is free: points then are where they touch down at node 0 too.
    recedes
        Whether horizons begin at any node of the sequence, after which its last node goes on. Points that then are in
        contact stay where they are at the start of the horizon, or below that on their planes.

    Raises
    ------
    UnknownNameError
        The robot has no such frame.
    ArgumentError
        Phases of one frame overlap, or a point cannot move along its normal.
    """

    def __init__(
        self,
        contacts: Sequence[PhasedContact],
        robot: Robot,
        nodes: int,
        h: float,
        *,
        free_start: bool = False,
        recedes: bool = False,
    ) -> None:
        self.robot, self.nodes, self.h, self.free_start, self.recedes = robot, nodes, h, free_start, recedes
        points: list[Point] = []
        for contact in contacts:
            self._require_possible(contact, [point.contact for point in points])
            axes = axes_of(robot, contact)
            first = points[-1].forces.stop if points else 0
            points.append(Point(contact, axes, slice(first, first + len(axes))))
        self.points = tuple(points)
        self.count = points[-1].forces.stop if points else 0

    def _require_possible(self, contact: PhasedContact, others: Sequence[PhasedContact]) -> None:
        frame = contact.frame
        if frame not in (*self.robot.frame_names, "tool"):
            raise UnknownNameError("frame", frame, list(self.robot.frame_names), of=f"robot '{self.robot.name}'")
        for other in others:
            if other.frame == frame and any(
                a.first <= b.last and b.first <= a.last for a in contact.phases for b in other.phases
            ):
                raise ArgumentError(f"two contacts hold '{frame}' at the same nodes; a point is on one plane at a time")

    def receding(self) -> Contacts:
        """Return the same contacts for horizons that recede."""
        contacts = [point.contact for point in self.points]
        return Contacts(contacts, self.robot, self.nodes, self.h, recedes=True)

    @cached_property
    def last_node(self) -> int:
        """Last node of the sequence."""
        return max([self.nodes, *(point.contact.phases[-1].last for point in self.points)])

    def _steps(self, first: int) -> NDArray[np.int_]:
        """Places in the sequence of the steps of a horizon that begins at a node."""
        return np.minimum(first + np.arange(self.nodes), self.last_node - 1)

    def _nodes(self, first: int) -> NDArray[np.int_]:
        """Places in the sequence of the nodes of a horizon."""
        return np.minimum(first + np.arange(self.nodes + 1), self.last_node)

    def torques(self, q: Array, forces: Array) -> Array:
        """Torques of all joints (..., n) that the forces (..., count) along the points' axes cause."""
        tau = np.zeros(self.robot.n)
        for point in self.points:
            in_world = forces[..., point.forces] @ point.axes
            tau = tau + (in_world[..., None, :] @ point_slopes(self.robot, q, point.contact.frame))[..., 0, :]
        return tau

    def in_world(self, forces: Array) -> Array:
        """Forces in world axes (..., contacts, 3)."""
        parts = [(forces[..., point.forces] @ point.axes)[..., None, :] for point in self.points]
        return np.concatenate([np.zeros((*forces.shape[:-1], 0, 3)), *parts], axis=-2)

    @cached_property
    def active(self) -> Flags:
        """Whether each force acts in each step, (N, count)."""
        parts = [np.repeat(p.in_contact(self._steps(0))[:, None], len(p.axes), axis=1) for p in self.points]
        return np.concatenate([np.zeros((self.nodes, 0), dtype=bool), *parts], axis=1)

    def carrying(self) -> Floats:
        """Forces that carry the robot's weight together wherever there are contacts, (N, count)."""
        result = np.zeros((self.nodes, self.count))
        acting = [point.in_contact(self._steps(0)).astype(float) for point in self.points]
        standing = sum(acting, np.zeros(self.nodes))
        for point, acts in zip(self.points, acting, strict=True):
            share = acts / np.maximum(1.0, standing)
            result[:, point.forces.start] = self.weight * share
        return result

    @cached_property
    def weight(self) -> float:
        """Unit of forces in the rows: the weight of the robot, N, or that of its mass on 1 m/s² without gravity."""
        description = self.robot.description
        mass = sum(link.inertia.mass for link in description.links if link.inertia is not None)
        gravity = float(np.linalg.norm(description.gravity))
        return mass * (gravity or 1.0) or 1.0

    @cached_property
    def slopes(self) -> Function:
        """(δ, forces; q) -> derivatives of the torques at q ⊞ δ to both, (n, n + count)."""
        return Function(jacobian(trace(self._displaced, self._shapes, name="contact", outputs=["tau"]), wrt="z"))

    @cached_property
    def curvature(self) -> Function:
        """(δ, forces; q, y) -> second derivatives of yᵀ times these torques, (n + count, n + count)."""
        shapes = {**self._shapes, "y": (self.robot.n,)}
        program = trace(lambda z, q, y: y @ self._displaced(z, q), shapes, name="contact_work", outputs=["work"])
        return Function(jacobian(jacobian(program, wrt="z", mode="reverse"), wrt="z"))

    @property
    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {"z": (self.robot.n + self.count,), "q": (self.robot.nq,)}

    def _displaced(self, z: Array, q: Array) -> Array:
        n = self.robot.n
        return self.torques(np.asarray(self.robot.integrate(q, z[:n])), z[n:])

    @cached_property
    def above(self) -> tuple[Rows, ...]:
        """Points are not below their planes between phases."""
        return tuple(
            Rows(
                f"'{point.contact.frame}' is {{:.3g}} m below its plane",
                1,
                self._distance(point),
                partial(self._above_in, point),
            )
            for point in self.points
        )

    @cached_property
    def held(self) -> tuple[Rows, ...]:
        """Points stay where they are in their phases."""
        return tuple(rows for point in self.points for rows in self._held_at(point))

    @cached_property
    def cones(self) -> tuple[Rows, ...]:
        """Forces are within their friction cones in a phase."""
        return tuple(self._of_force(point, point.cone, acts=True) for point in self.points)

    @cached_property
    def absent(self) -> tuple[Rows, ...]:
        """Forces are zero between phases."""
        return tuple(self._of_force(p, np.eye(len(p.axes)), acts=False) for p in self.points)

    @property
    def parts(self) -> tuple[tuple[Rows, ...], ...]:
        """Rows of the state that must not be negative and that must be zero, and the same of the forces."""
        return self.above, self.held, self.cones, self.absent

    def sentence(self, element: int, value: float) -> str:
        """Return what is violated by a value, for an element of all rows."""
        words = [rows.words for part in self.parts for rows in part for _ in range(rows.count)]
        return words[element].format(value)

    def _above_in(self, point: Point, first: int) -> Flags:
        """Whether a point is between phases at each node."""
        return ~point.touches(self._nodes(first))

    def _of_force(self, point: Point, factors: Floats, *, acts: bool) -> Rows:
        """Rows of combinations of a force's components, where it acts or where it does not."""

        def counts(first: int) -> Flags:
            return np.append(point.in_contact(self._steps(first)) == acts, False)

        words = f"the force at '{point.contact.frame}' is {{:.3g}} weights of the robot outside what is possible"
        return Rows(
            words,
            len(factors),
            lambda known: factors @ known["contact_forces"][point.forces] / self.weight,
            counts,
        )

    def _distance(self, point: Point) -> Callable[[Mapping[str, Any]], Array]:
        contact = point.contact
        return lambda known: contact.normal[None] @ self._position(known["q"], contact.frame) - contact.height

    def _held_at(self, point: Point) -> Iterator[Rows]:
        """Rows of a point that stands at the start of the horizon, and of those places where it touches down later."""
        phases = point.contact.phases
        if not self.free_start and (self.recedes or phases[0].first == 0):
            yield from self._held_in(point, phases, None, at_start=True)
        later = [phase for phase in phases if phase.first or self.free_start]
        places = {None if p.foothold is None else tuple(p.foothold.tolist()): p.foothold for p in later}
        for key, place in places.items():
            there = [p for p in later if key == (None if p.foothold is None else tuple(p.foothold.tolist()))]
            yield from self._held_in(point, there, place, at_start=False)

    def _held_in(
        self, point: Point, phases: Sequence[Phase], place: Floats | None, *, at_start: bool
    ) -> Iterator[Rows]:
        """Rows of a point in phases: at a place, on its plane, or where it is at the start of the horizon."""
        frame, plane = point.contact.frame, point.contact.height * point.contact.normal
        axes = point.axes if at_start or place is not None else point.axes[:1]

        def missed(known: Mapping[str, Any], axes: Floats) -> Array:
            target = plane if place is None else place
            if at_start:
                target = self._standing(point, known["start"])
            return np.asarray(axes @ (self._position(known["q"], frame) - target))

        def moves(known: Mapping[str, Any]) -> Array:
            velocity = point.axes @ (point_slopes(self.robot, known["q"], frame) @ known["qd"])
            rest = np.zeros(len(point.axes) - len(axes))
            return np.asarray(velocity + np.concatenate([missed(known, axes), rest]) / self.h)

        def stands(first: int) -> Flags:
            node, now = self._nodes(first), min(first, self.last_node)
            begun = [phase for phase in phases if ((phase.first <= now) and not self.free_start) == at_start]
            return np.asarray(
                np.any([np.zeros(len(node)), *((p.first <= node) & (node <= p.last) for p in begun)], axis=0)
            )

        def touches_down(first: int) -> Flags:
            node, now = first + np.arange(self.nodes + 1), min(first, self.last_node)
            begins = [node == phase.first for phase in phases if phase.first > now or self.free_start]
            return np.asarray(np.any([np.zeros(len(node)), *begins], axis=0))

        yield Rows(f"'{frame}' moves at {{:.3g}} m/s in contact", len(point.axes), moves, stands)
        if not at_start:
            words = f"'{frame}' touches down {{:.3g}} m beside its place"
            yield Rows(words, len(axes), lambda known: missed(known, axes), touches_down)

    def _standing(self, point: Point, start: Array) -> Array:
        """Where a point stands that is in contact at a start: there, but on its plane if it is above that."""
        contact = point.contact
        place = self._position(start, contact.frame)
        return np.asarray(place - maximum(contact.normal @ place - contact.height, 0.0) * contact.normal)

    def _position(self, q: Array, frame: str) -> Array:
        return np.asarray(self.robot.forward_kinematics(q, target=frame))[..., :3, 3]

    def require_start(self, q: Floats, qd: Floats) -> None:
        """Raise `ArgumentError` where a phase ends after the motion, or a point that stands at first moves.

        Parameters
        ----------
        q, qd
            Initial positions (..., nq) and velocities (..., n).
        """
        for point in self.points:
            contact, phase = point.contact, point.contact.phases[0]
            first, last, _ = contact.phases[-1]
            if last > self.nodes:
                raise ArgumentError(
                    f"phase ({first}, {last}) of contact '{contact.frame}' ends after the last node, {self.nodes}; "
                    "only in model predictive control is the sequence longer than the motion"
                )
            if phase.first or self.free_start:
                continue
            place = self._position(q, contact.frame)
            away = np.abs(place @ contact.normal - contact.height).max()
            if phase.foothold is not None:
                away = max(away, np.abs((place - phase.foothold) @ point.axes.T).max())
            speed = np.abs((point_slopes(self.robot, q, contact.frame) @ qd[..., None])[..., 0]).max()
            if max(away, speed) > _AT_START:
                what = f"is {away:.3g} m away from its place" if away > _AT_START else f"moves at {speed:.3g} m/s"
                raise ArgumentError(
                    f"the point '{contact.frame}' is in contact from node 0 on, but at the start it {what}; begin on "
                    "the plane and at rest, or let the phase begin later"
                )


def stacked_rows(rows: Sequence[Rows], known: Mapping[str, Any]) -> Array:
    """Return all rows, one after the other."""
    return np.concatenate([np.zeros(0), *(each.value(known) for each in rows)])


def row_count(rows: Sequence[Rows]) -> int:
    """Return the number of rows."""
    return sum(each.count for each in rows)
