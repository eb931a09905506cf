"""Contact of a robot with planes of its environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.engine import maximum, sqrt, where
from chasles.errors import ArgumentError, UnknownNameError
from chasles.geometry.elementary import cross
from chasles.plant.effect import Effect, checked

LAWS = ("spring-damper", "hunt-crossley")


class ContactPlane(Effect):
    """A plane that a point, or a ball, of the robot can press on: an elastic one that never pulls.

    The depth δ of the ball's lowest point below the plane gives a normal force, for δ > 0 and by law

    ``"spring-damper"``
        max(0, k δ + d δ̇). A body that arrives at speed feels the damper at once.
    ``"hunt-crossley"``
        max(0, δᵖ (k + d δ̇)), which begins and ends at zero, as impacts do.

    With a friction coefficient μ, the plane also holds back the sliding of that point at the velocity v_t by
    the force μ f_n v_t / sqrt(v_t² + v_s²): Coulomb's friction, made smooth below the slip velocity v_s.

    The contact stores the energy k δᵖ⁺¹ / (p + 1) and creates none: what else the robot gives is lost.

    Parameters
    ----------
    name
        Of the contact, in the plant's parameters and in messages.
    frame
        Frame of the robot whose origin is the ball's middle, such as ``"tool"``.
    point
        A point on the plane, shape (3,), m, in the world frame.
    normal
        Normal of the plane, out of the material, shape (3,), in the world frame; of any length above zero.
    stiffness
        k, N/m, or N/mᵖ.
    damping
        d, N s/m; in Hunt and Crossley's law N s/mᵖ⁺¹.
    friction_coefficient
        μ.
    slip_velocity
        v_s, m/s, above zero.
    radius
        Of the ball, m; 0 for a point.
    exponent
        p, at least 1: 1.5 for Hertz's contact of a ball; 1 in the law ``"spring-damper"``.
    law
        ``"spring-damper"`` or ``"hunt-crossley"``.

    Raises
    ------
    ArgumentError
        A number is impossible: the message says which.
    UnknownNameError
        There is no such law.

    Notes
    -----
    Hunt and Crossley, "Coefficient of restitution interpreted as damping in vibroimpact", Journal of Applied Mechanics
    42, 1975.

    Examples
    --------
    A point 1 mm below the floor:

    >>> floor = ContactPlane("floor", "tool", point=[0, 0, 0], normal=[0, 0, 1], stiffness=1e4)
    >>> T_world_tool = np.eye(4)
    >>> T_world_tool[2, 3] = -1e-3
    >>> floor.wrench(T_world_tool, np.zeros(6))
    array([ 0.,  0.,  0.,  0.,  0., 10.])
    """

    def __init__(
        self,
        name: str,
        frame: str,
        *,
        point: ArrayLike,
        normal: ArrayLike,
        stiffness: ArrayLike,
        damping: ArrayLike = 0.0,
        friction_coefficient: ArrayLike = 0.0,
        slip_velocity: ArrayLike = 1e-3,
        radius: ArrayLike = 0.0,
        exponent: float = 1.0,
        law: str = "spring-damper",
    ) -> None:
        if law not in LAWS:
            raise UnknownNameError("law of contact", law, LAWS)
        for what, text in (("name", name), ("frame", frame)):
            if not isinstance(text, str) or not text:
                raise ArgumentError(f"the {what} of a contact must be a name, not {text!r}")
        for what, vector in (("point", point), ("normal", normal)):
            if np.shape(vector) != (3,):
                raise ArgumentError(f"the {what} of a plane has shape (3,), not {np.shape(vector)}")
        parameters = {
            "point": checked(point, (3,), "point"),
            "normal": checked(normal, (3,), "normal"),
            "stiffness": checked(stiffness, (), "stiffness", least=0.0),
            "damping": checked(damping, (), "damping", least=0.0),
            "friction_coefficient": checked(friction_coefficient, (), "friction_coefficient", least=0.0),
            "slip_velocity": checked(slip_velocity, (), "slip_velocity", positive=True),
            "radius": checked(radius, (), "radius", least=0.0),
        }
        if not np.linalg.norm(parameters["normal"]) > 0.0:
            raise ArgumentError("the normal of a plane must not be zero")
        self.frame = frame
        self.law = law
        self.exponent = float(checked(exponent, (), "exponent", least=1.0))
        if law == "spring-damper" and self.exponent != 1.0:
            raise ArgumentError("the exponent of the law 'spring-damper' is 1; 'hunt-crossley' takes others")
        super().__init__(name, parameters)

    def wrench(self, T_world_frame: Any, twist: Any, parameters: Mapping[str, Any] | None = None) -> Any:
        """Wrench of the plane on the robot, about the frame's origin.

        Parameters
        ----------
        T_world_frame
            Pose of the frame, shape (4, 4).
        twist
            Angular velocity of the frame and velocity of its origin in world axes, shape (6,), rad/s and m/s.
        parameters
            Numbers of the formulas by name; default the object's own.

        Returns
        -------
        ndarray
            Moment and force (m, f) in world axes, shape (6,), N m and N.
        """
        own = self.parameters if parameters is None else parameters
        normal, arm = self._normal_and_arm(own)
        velocity = twist[3:] + cross(twist[:3], arm)
        approach = -(normal @ velocity)
        pressure = self.normal_force(-self.gap(T_world_frame, own), approach, own)
        sliding = velocity + approach * normal
        speed = sqrt(sliding @ sliding + own["slip_velocity"] * own["slip_velocity"])
        force = pressure * (normal - own["friction_coefficient"] / speed * sliding)
        return np.concatenate([cross(arm, force), force])

    def normal_force(self, depth: Any, approach: Any, parameters: Mapping[str, Any] | None = None) -> Any:
        """Force of the plane on the robot along its normal, N: never negative, and zero for depth <= 0.

        Parameters
        ----------
        depth, approach
            δ, m, and its rate, m/s.
        parameters
            As for `wrench`.

        Examples
        --------
        >>> floor = ContactPlane("floor", "tool", point=[0, 0, 0], normal=[0, 0, 1], stiffness=1e4, damping=100.0)
        >>> float(floor.normal_force(1e-3, 0.05)), float(floor.normal_force(1e-3, -1.0))
        (15.0, 0.0)
        """
        own = self.parameters if parameters is None else parameters
        if self.law == "spring-damper":
            force = own["stiffness"] * depth + own["damping"] * approach
        else:
            # Above the plane the power takes a depth that is possible, for derivatives to be finite.
            inside = where(depth > 0.0, depth, 1.0)
            force = inside**self.exponent * (own["stiffness"] + own["damping"] * approach)
        return where(depth > 0.0, maximum(force, 0.0), 0.0)

    def gap(self, T_world_frame: Any, parameters: Mapping[str, Any] | None = None) -> Any:
        """Distance between ball and plane, m, negative where the ball is pressed in; arguments as for `wrench`."""
        own = self.parameters if parameters is None else parameters
        normal, _ = self._normal_and_arm(own)
        return normal @ (T_world_frame[:3, 3] - own["point"]) - own["radius"]

    def elastic_energy(self, T_world_frame: Any, parameters: Mapping[str, Any] | None = None) -> Any:
        """Energy stored in the contact, J; arguments as for `wrench`."""
        own = self.parameters if parameters is None else parameters
        depth = maximum(-self.gap(T_world_frame, own), 0.0)
        return own["stiffness"] * depth ** (self.exponent + 1.0) / (self.exponent + 1.0)

    def loss(self, T_world_frame: Any, twist: Any, parameters: Mapping[str, Any] | None = None) -> Any:
        """Power lost in the contact, W, by damping and friction; arguments as for `wrench`.

        The power that the robot gives is this and the rate of `elastic_energy`.
        """
        own = self.parameters if parameters is None else parameters
        normal, arm = self._normal_and_arm(own)
        velocity = twist[3:] + cross(twist[:3], arm)
        depth = maximum(-self.gap(T_world_frame, own), 0.0)
        stored = own["stiffness"] * depth**self.exponent * -(normal @ velocity)
        return -(self.wrench(T_world_frame, twist, own) @ twist) - stored

    @staticmethod
    def _normal_and_arm(own: Mapping[str, Any]) -> tuple[Any, Any]:
        """Unit normal, and the way from the ball's middle to its lowest point."""
        normal = own["normal"] / sqrt(own["normal"] @ own["normal"])
        return normal, -own["radius"] * normal

    def __repr__(self) -> str:
        numbers = ", ".join(f"{name}={value.tolist()}" for name, value in self.parameters.items())
        return f"ContactPlane({self.name!r}, {self.frame!r}, {numbers}, law={self.law!r})"
