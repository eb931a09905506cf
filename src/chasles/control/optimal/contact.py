"""Contacts of a motion whose sequence is known: points of a robot that stay on a plane from one node to another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.base.sealed import Sealed
from chasles.control.optimal.residuals import Residual
from chasles.engine.validators import real, reals, whole_number

Floats = NDArray[np.float64]
Kept = Residual | Callable[..., Any]
_MOST_NODES = 100_000


class Phase(NamedTuple):
    """A part of the motion in which a point is in contact.

    Attributes
    ----------
    first, last
        Nodes from which and to which it is in contact; forces act in the steps between them.
    foothold
        Position of the point, (3,), m, or None where the motion chooses it.
    """

    first: int
    last: int
    foothold: Floats | None


class PhasedContact(Sealed):
    """A point of the robot, the origin of a frame, that is on a plane during phases: for `keep` of `OptimalControl`.

    In a phase the environment pushes the point with a force within the friction cone, and the point neither leaves the
    plane nor slips. In between there is no force, and the point is not below the plane. It touches down without an
    impulse: its velocity is zero at the first node of a phase.

    Parameters
    ----------
    frame
        Frame or link of the robot.
    phases
        First and last node of each phase, in order. Forces act in the steps from the first node to the last. For
        `chasles.ModelPredictive` nodes count from its first call on, and may be more than those of the horizon.
    friction
        Coefficient of friction.
    normal
        Normal of the plane, in world axes, from the ground to the robot.
    height
        Distance of the plane from the origin of the world, along the normal, m.
    footholds
        Position (3,) of the point in each phase, world axes, m, or None for phases where the motion chooses it;
        default None for all. In a phase from node 0 on the point stays where it begins.

    Raises
    ------
    ArgumentError
        Phases are empty or overlap, or a value is not what it should be.

    Examples
    --------
    >>> PhasedContact("foot", phases=[(0, 20), (35, 50)])
    <PhasedContact of 'foot' from node 0 to 20, 35 to 50>
    """

    def __init__(
        self,
        frame: str,
        *,
        phases: Sequence[tuple[int, int]],
        friction: float = 0.7,
        normal: ArrayLike = (0.0, 0.0, 1.0),
        height: float = 0.0,
        footholds: Sequence[ArrayLike | None] | None = None,
    ) -> None:
        self.frame, self.friction = frame, real(friction, "friction", above=0.0)
        normal = reals(normal, "normal", (3,))
        if not np.any(normal):
            raise ArgumentError("normal is zero, and gives no direction")
        self.normal: Floats = normal / np.linalg.norm(normal)
        self.height = real(height, "height")
        if not len(phases):
            raise ArgumentError(f"contact '{frame}' has no phases; give the first and last node of at least one")
        places = [None] * len(phases) if footholds is None else list(footholds)
        if len(places) != len(phases):
            raise ArgumentError(f"contact '{frame}' has {len(places)} footholds for {len(phases)} phases")
        self.phases = tuple(self._phase(*both) for both in zip(phases, places, strict=True))
        for before, after in zip(self.phases, self.phases[1:], strict=False):
            if after.first <= before.last:
                raise ArgumentError(
                    f"phase ({after.first}, {after.last}) of contact '{frame}' begins before or where phase "
                    f"({before.first}, {before.last}) ends; join them, or leave a node between"
                )

    def _phase(self, nodes: tuple[int, int], foothold: ArrayLike | None) -> Phase:
        try:
            first, last = nodes
        except (TypeError, ValueError):
            raise ArgumentError(f"phase {nodes!r} of contact '{self.frame}' must be a first and a last node") from None
        first, last = (whole_number(node, "node of a phase", 0, _MOST_NODES) for node in (first, last))
        if first >= last:
            raise ArgumentError(f"phase ({first}, {last}) of contact '{self.frame}' has no step; it must end later")
        place = None if foothold is None else reals(foothold, "foothold", (3,))
        if place is not None and abs(place @ self.normal - self.height) > 1e-9 * (1.0 + abs(self.height)):
            above = float(place @ self.normal - self.height)
            raise ArgumentError(
                f"foothold {place.tolist()} of contact '{self.frame}' is {above:.3g} m above its plane; move it there"
            )
        return Phase(first, last, place)

    def __repr__(self) -> str:
        return (
            f"<PhasedContact of '{self.frame}' from node " + ", ".join(f"{a} to {b}" for a, b, _ in self.phases) + ">"
        )


def without_contacts(keep: Sequence[Kept | PhasedContact]) -> tuple[list[Kept], list[PhasedContact]]:
    """Return what else is to be kept, and the contacts."""
    if isinstance(keep, (Residual, PhasedContact)) or callable(keep):
        raise ArgumentError(f"keep must be a list of residuals and contacts, not {keep!r}; put it in brackets")
    contacts = [each for each in keep if isinstance(each, PhasedContact)]
    return [each for each in keep if not isinstance(each, PhasedContact)], contacts
