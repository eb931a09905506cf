"""Copies of a robot with other numbers, another tool, base or loop."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self, Unpack

from numpy.typing import ArrayLike

from chasles import model
from chasles.mechanics.described import Described
from chasles.model import LoopKind
from chasles.model.loop import LoopFields


class Copies(Described):
    """Copies of a robot with other numbers, another tool, base or loop; a base of `Mechanics`."""

    def with_payload(
        self,
        mass: float,
        center_of_mass: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
        *,
        frame: str | None = None,
    ) -> Self:
        """Copy that carries a body at its tool or another frame; see `chasles.model.with_payload`."""
        return type(self)(model.with_payload(self.description, mass, center_of_mass, inertia, frame=frame))

    def with_friction(
        self,
        *,
        viscous: Mapping[str, float] | ArrayLike | None = None,
        coulomb: Mapping[str, float] | ArrayLike | None = None,
        coulomb_velocity: Mapping[str, ArrayLike] | ArrayLike | None = None,
        coulomb_shares: Mapping[str, ArrayLike] | ArrayLike | None = None,
        load: Mapping[str, float] | ArrayLike | None = None,
        load_velocity: Mapping[str, float] | ArrayLike | None = None,
        torque_offset: Mapping[str, float] | ArrayLike | None = None,
        torque_sine: Mapping[str, float] | ArrayLike | None = None,
        torque_cosine: Mapping[str, float] | ArrayLike | None = None,
    ) -> Self:
        """Copy with other joint friction; see `chasles.model.with_friction`.

        Examples
        --------
        >>> import chasles as ch
        >>> arm = ch.load("planar2r").with_friction(coulomb=2.0, load={"joint1": 0.1}, torque_offset=[0.5, 0.0])
        >>> arm.description.joint("joint1").load_friction
        0.1
        """
        other = model.with_friction(
            self.description,
            viscous=viscous,
            coulomb=coulomb,
            coulomb_velocity=coulomb_velocity,
            coulomb_shares=coulomb_shares,
            load=load,
            load_velocity=load_velocity,
            torque_offset=torque_offset,
            torque_sine=torque_sine,
            torque_cosine=torque_cosine,
        )
        return type(self)(other)

    def with_motor_inertia(
        self, motor_inertia: Mapping[str, float] | ArrayLike, *, gear_ratio: Mapping[str, float] | ArrayLike = 1.0
    ) -> Self:
        """Copy whose joints feel rotors; see `chasles.model.with_motor_inertia`.

        Examples
        --------
        >>> import chasles as ch
        >>> ch.load("planar2r").with_motor_inertia(0.1).mass_matrix([0.0, 1.5]).diagonal().round(3)
        array([2.332, 0.204])
        """
        return type(self)(model.with_motor_inertia(self.description, motor_inertia, gear_ratio=gear_ratio))

    def with_drive_coupling(self, C: ArrayLike) -> Self:
        """Copy whose motors turn with several joints; see `chasles.model.with_drive_coupling`.

        Examples
        --------
        >>> import chasles as ch
        >>> arm = ch.load("planar2r").with_motor_inertia([0.0, 0.1])
        >>> coupled = arm.with_drive_coupling([[1.0, 0.0], [-0.5, 1.0]])
        >>> (coupled.mass_matrix([0.0, 0.0]) - arm.mass_matrix([0.0, 0.0])).round(3)  # Cᵀ diag(0, 0.1) C
        array([[ 0.025, -0.05 ],
               [-0.05 ,  0.   ]])
        """
        return type(self)(model.with_drive_coupling(self.description, C))

    def with_gravity(self, gravity: ArrayLike) -> Self:
        """Copy under another acceleration of gravity, shape (3,), m/s², in the world frame."""
        return type(self)(self.description.with_gravity(gravity))

    def with_values(self, values: Mapping[str, Any]) -> Self:
        """Copy with other values of named parameters (see `parameters`)."""
        return type(self)(model.with_values(self.description, values))

    def with_tool(self, T_frame_tool: ArrayLike | None = None, *, frame: str | None = None, name: str = "tool") -> Self:
        """Copy with another tool frame; see `chasles.model.with_tool`."""
        return type(self)(model.with_tool(self.description, T_frame_tool, frame=frame, name=name))

    def with_free_base(self, *, joint: str = "base", world: str = "world") -> Self:
        """Copy whose base moves freely in the world; see `chasles.model.with_free_base`."""
        return type(self)(model.with_free_base(self.description, joint=joint, world=world))

    def with_loop(
        self,
        name: str,
        kind: LoopKind,
        first: str,
        second: str,
        *,
        closed_at_home: bool = False,
        actuated: Iterable[str] | None = None,
        independent: Iterable[str] | None = None,
        T_first_joint: ArrayLike | None = None,
        T_second_joint: ArrayLike | None = None,
        **fields: Unpack[LoopFields],
    ) -> Self:
        """Copy in which a joint or a rod closes a loop between two frames; see `chasles.model.with_loop`.

        Examples
        --------
        >>> import chasles as ch
        >>> rod = {"T_first_joint": [0.75, 0.3, 0.0], "length": 0.3}
        >>> arm = ch.load("planar2r").with_loop("rod", "rod", "link0", "tool", **rod)
        >>> arm.n, arm.nq
        (1, 2)
        """
        closed = model.with_loop(
            self.description,
            name,
            kind,
            first,
            second,
            closed_at_home=closed_at_home,
            actuated=actuated,
            independent=independent,
            T_first_joint=T_first_joint,
            T_second_joint=T_second_joint,
            **fields,
        )
        return type(self)(closed)
