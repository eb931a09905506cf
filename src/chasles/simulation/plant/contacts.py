"""Contact of a robot with planes of its environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import ArgumentError
from chasles.engine import maximum, sqrt, where
from chasles.engine.program.scalar import Array, Real
from chasles.engine.validators import NOT_NEGATIVE, POSITIVE, Bound, Relation, choice, real, reals
from chasles.geometry.elementary import cross
from chasles.simulation.plant.effect import Effect

LAWS = ("spring-damper", "hunt-crossley")


class ContactPlane(Effect):
    """Elastic contact of a point or a ball of the robot with a plane, which pushes and never pulls.

    A ball that penetrates the plane to the depth δ > 0 is subject to a normal force, which depends on ``law``:

    ``"spring-damper"``
        max(0, k δ + d δ̇). The damping force jumps when a moving body touches the plane.
    ``"hunt-crossley"``
        max(0, δᵖ (k + d δ̇)), which starts and ends at zero, as in an impact.

    With a friction coefficient μ, a point that slides at the velocity v_t feels the friction force
    μ f_n v_t / √(v_t² + v_s²): Coulomb friction, smooth below the slip velocity v_s.

    The contact stores the energy k δᵖ⁺¹ / (p + 1). The rest of the robot's work on it is lost.

    Parameters
    ----------
    name
        Name of the contact in the plant's parameters and in messages.
    frame
        Frame of the robot whose origin is the centre of the ball, such as ``"tool"``.
    point
        Point on the plane, shape (3,), m, in the world frame.
    normal
        Normal of the plane, pointing out of the material, shape (3,), in the world frame; any nonzero length.
    stiffness
        Stiffness k, N/m; N/mᵖ with an exponent.
    damping
        Damping d, N·s/m; N·s/mᵖ⁺¹ in Hunt and Crossley's law.
    friction_coefficient
        Friction coefficient μ; default 0.
    slip_velocity
        Slip velocity v_s, m/s, positive.
    radius
        Radius of the ball, m; default 0, a point.
    exponent
        Exponent p, at least 1: 1.5 for Hertzian contact of a ball; must be 1 for ``"spring-damper"``.
    law
        Contact law: ``"spring-damper"`` or ``"hunt-crossley"``.

    Raises
    ------
    ArgumentError
        A value is out of bounds; the message names it.
    UnknownNameError
        The law does not exist.

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

    bounds: Mapping[str, Bound] = {
        "stiffness": NOT_NEGATIVE,
        "damping": NOT_NEGATIVE,
        "friction_coefficient": NOT_NEGATIVE,
        "slip_velocity": POSITIVE,
        "radius": NOT_NEGATIVE,
    }

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
        choice(law, "law of contact", LAWS)
        for what, text in (("name", name), ("frame", frame)):
            if not isinstance(text, str) or not text:
                raise ArgumentError(f"the {what} of a contact must be text, not {text!r}")
        parameters = {"point": reals(point, "point", (3,)), "normal": reals(normal, "normal", (3,))}
        scalars = {
            "stiffness": stiffness,
            "damping": damping,
            "friction_coefficient": friction_coefficient,
            "slip_velocity": slip_velocity,
            "radius": radius,
        }
        parameters |= {key: reals(value, key, (), bound=self.bounds[key]) for key, value in scalars.items()}
        self.frame = frame
        self.law = law
        self.exponent = real(exponent, "exponent", at_least=1.0)
        if law == "spring-damper" and self.exponent != 1.0:
            raise ArgumentError(
                f"exponent is {self.exponent:g}, but the law 'spring-damper' is linear; choose law='hunt-crossley'"
            )
        super().__init__(name, parameters)

    def relations(self, parameters: Mapping[str, Any]) -> list[Relation]:
        """Require a nonzero normal."""
        length = np.linalg.norm(parameters["normal"], axis=-1)
        return [Relation(length > 0.0, "normal is zero; give a vector that points out of the plane")]

    def wrench(self, T_world_frame: Array, twist: Array, parameters: Mapping[str, Any] | None = None) -> Array:
        """Return the wrench of the plane on the robot, about the frame's origin.

        Parameters
        ----------
        T_world_frame
            Pose of the frame, shape (4, 4).
        twist
            Angular velocity of the frame and velocity of its origin in world axes, shape (6,), rad/s and m/s.
        parameters
            Values by name; default `parameters` of this object.

        Returns
        -------
        ndarray
            Moment and force (m, f) in world axes, shape (6,), N·m and N.
        """
        values = self.parameters if parameters is None else parameters
        normal, arm = self._normal_and_arm(values)
        velocity = twist[3:] + cross(twist[:3], arm)
        approach = -(normal @ velocity)
        pressure = self.normal_force(-self.gap(T_world_frame, values), approach, values)
        sliding = velocity + approach * normal
        speed = sqrt(sliding @ sliding + values["slip_velocity"] * values["slip_velocity"])
        force = pressure * (normal - values["friction_coefficient"] / speed * sliding)
        return np.concatenate([cross(arm, force), force])

    def normal_force(self, depth: Real, approach: Real, parameters: Mapping[str, Any] | None = None) -> Real:
        """Return the normal force of the plane on the robot, N: never negative, and zero for depth <= 0.

        Parameters
        ----------
        depth, approach
            Penetration depth δ, m, and its rate, m/s.
        parameters
            See `wrench`.

        Examples
        --------
        >>> floor = ContactPlane("floor", "tool", point=[0, 0, 0], normal=[0, 0, 1], stiffness=1e4, damping=100.0)
        >>> float(floor.normal_force(1e-3, 0.05)), float(floor.normal_force(1e-3, -1.0))
        (15.0, 0.0)
        """
        values = self.parameters if parameters is None else parameters
        if self.law == "spring-damper":
            force = values["stiffness"] * depth + values["damping"] * approach
        else:
            # Above the plane the power is taken of a positive depth, so that derivatives stay finite.
            inside = where(depth > 0.0, depth, 1.0)
            force = inside**self.exponent * (values["stiffness"] + values["damping"] * approach)
        return where(depth > 0.0, maximum(force, 0.0), 0.0)

    def gap(self, T_world_frame: Array, parameters: Mapping[str, Any] | None = None) -> Real:
        """Return the distance between ball and plane, m, negative in contact; arguments as for `wrench`."""
        values = self.parameters if parameters is None else parameters
        normal, _ = self._normal_and_arm(values)
        return normal @ (T_world_frame[:3, 3] - values["point"]) - values["radius"]

    def elastic_energy(self, T_world_frame: Array, parameters: Mapping[str, Any] | None = None) -> Real:
        """Return the energy stored in the contact, J; arguments as for `wrench`."""
        values = self.parameters if parameters is None else parameters
        depth = maximum(-self.gap(T_world_frame, values), 0.0)
        return values["stiffness"] * depth ** (self.exponent + 1.0) / (self.exponent + 1.0)

    def loss(self, T_world_frame: Array, twist: Array, parameters: Mapping[str, Any] | None = None) -> Real:
        """Return the power lost to damping and friction, W; arguments as for `wrench`.

        The robot's power on the contact is the sum of this loss and the rate of `elastic_energy`.
        """
        values = self.parameters if parameters is None else parameters
        normal, arm = self._normal_and_arm(values)
        velocity = twist[3:] + cross(twist[:3], arm)
        depth = maximum(-self.gap(T_world_frame, values), 0.0)
        stored = values["stiffness"] * depth**self.exponent * -(normal @ velocity)
        return -(self.wrench(T_world_frame, twist, values) @ twist) - stored

    @staticmethod
    def _normal_and_arm(values: Mapping[str, Any]) -> tuple[Any, Any]:
        """Return the unit normal, and the vector from the centre of the ball to its lowest point."""
        normal = values["normal"] / sqrt(values["normal"] @ values["normal"])
        return normal, -values["radius"] * normal

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value.tolist()}" for name, value in self.parameters.items())
        return f"ContactPlane({self.name!r}, {self.frame!r}, {values}, law={self.law!r})"
