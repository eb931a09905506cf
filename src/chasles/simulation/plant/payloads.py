"""Bodies that the robot picks up and puts down during a motion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.engine import where
from chasles.engine.program.scalar import Real
from chasles.engine.validators import NOT_NEGATIVE, NUMBER, Bound, Relation, reals
from chasles.model import Description, Joint, Link
from chasles.model.description import Frame
from chasles.model.inertia import possible_matrix
from chasles.simulation.plant.effect import Effect


class PickedPayload(Effect):
    """Body that moves with a frame of the robot between two times.

    There is no impact: at both times the body has the velocity of the frame, and joint velocities are continuous.
    Between these times, the body has weight and inertia like any link. Controllers do not model it.

    Variable-step integrators pick up and put down exactly at the given times; fixed-step integrators at the nearest
    boundary between two steps.

    Parameters
    ----------
    name
        Name in parameters: ``"payloads.NAME.mass"``, ….
    mass
        Mass, kg.
    center_of_mass
        Centre of mass in the axes of the frame, shape (3,), m.
    inertia
        Inertia about the centre of mass in the axes of the frame, shape (3, 3), kg·m²; default zero, a point mass.
    frame
        Frame or link that carries the body; default the tool.
    pick_time, put_time
        Times of picking up and putting down, s; default always carried.

    Raises
    ------
    ArgumentError
        A value is physically impossible; the message names it.

    Examples
    --------
    >>> import chasles as ch
    >>> box = ch.PickedPayload("box", 2.0, pick_time=0.5, put_time=1.0)
    >>> arm = ch.load("planar2r")
    >>> hold = ch.PDGravity(arm, kp=400.0, kd=40.0)
    >>> rest = ch.PointToPoint([0.5, 0.5], [0.5, 0.5], duration=1.5)
    >>> run = ch.simulate(ch.Plant(arm, payloads=[box]), hold, rest)
    >>> bool(abs(run.error[490]).max() < 1e-12), bool(abs(run.error[990]).max() > 0.01)
    (True, True)
    """

    bounds: Mapping[str, Bound] = {"mass": NOT_NEGATIVE, "pick_time": NUMBER, "put_time": NUMBER}

    def __init__(
        self,
        name: str,
        mass: float,
        center_of_mass: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
        *,
        frame: str = "tool",
        pick_time: float = -np.inf,
        put_time: float = np.inf,
    ) -> None:
        parameters = {
            "mass": reals(mass, "mass", (), bound=self.bounds["mass"]),
            "center_of_mass": reals(center_of_mass, "center_of_mass", (3,)),
            "inertia": reals(np.zeros((3, 3)) if inertia is None else inertia, "inertia", (3, 3)),
            "pick_time": reals(pick_time, "pick_time", (), bound=self.bounds["pick_time"]),
            "put_time": reals(put_time, "put_time", (), bound=self.bounds["put_time"]),
        }
        super().__init__(name, parameters)
        self.frame = frame

    def relations(self, parameters: Mapping[str, Any]) -> list[Relation]:
        """Require a payload that is picked up before it is put down, with a physical inertia."""
        later = parameters["pick_time"] < parameters["put_time"]
        return [
            Relation(later, f"payload '{self.name}': put_time must be later than pick_time"),
            *possible_matrix(parameters["inertia"], f"payload '{self.name}'"),
        ]

    @property
    def link(self) -> str:
        """Name of the link that represents the payload."""
        return f"payloads.{self.name}"

    def attached(self, description: Description) -> Description:
        """Return the robot with a massless link at the payload's position."""
        frame = description.tool if self.frame == "tool" else self.frame
        place = next((place for place in description.frames if place.name == frame), Frame(frame, frame))
        holder = Joint(self.link, "fixed", place.link, self.link, T_parent_joint=place.T_link_frame)
        return description.replace(links=(*description.links, Link(self.link)), joints=(*description.joints, holder))

    def carried(self, t: Real, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the inertial parameters of the link at a time: the payload's, or zero."""
        present = where((parameters["pick_time"] <= t) & (t < parameters["put_time"]), 1.0, 0.0)
        link = f"links.{self.link}"
        return {
            f"{link}.mass": present * parameters["mass"],
            f"{link}.center_of_mass": parameters["center_of_mass"],
            f"{link}.inertia": present * parameters["inertia"],
        }

    def switch_times(self, parameters: Mapping[str, Any]) -> list[Any]:
        """Return the times at which the payload is picked up and put down."""
        return [parameters["pick_time"], parameters["put_time"]]
