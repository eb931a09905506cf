"""Changed copies of a robot: other numbers, locked joints, parts, and robots made of others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

from numpy.typing import ArrayLike

from chasles import model
from chasles.mechanics.computation import HasDescription
from chasles.mechanics.described import Described
from chasles.model import Description, LoopKind
from chasles.model.cutting import Branches


class Copies(Described):
    """Changed copies of a robot; a part of `Mechanics`. None changes the robot itself."""

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
        coulomb_velocity: Mapping[str, float] | ArrayLike | None = None,
    ) -> Self:
        """Copy with other joint friction; see `chasles.model.with_friction`."""
        other = model.with_friction(
            self.description, viscous=viscous, coulomb=coulomb, coulomb_velocity=coulomb_velocity
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

    def with_nominal_bodies(self, *, density: float = 1000.0) -> Self:
        """Copy with solid rods for links, for a robot without masses; see `chasles.model.with_nominal_bodies`."""
        return type(self)(model.with_nominal_bodies(self.description, density=density))

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

    def with_loop(self, name: str, kind: LoopKind, first: str, second: str, **fields: Any) -> Self:
        """Copy in which a joint or a rod closes a loop between two frames; see `chasles.model.with_loop`.

        Examples
        --------
        >>> import chasles as ch
        >>> rod = {"T_first_joint": [0.75, 0.3, 0.0], "length": 0.3}
        >>> arm = ch.load("planar2r").with_loop("rod", "rod", "link0", "tool", **rod)
        >>> arm.n, arm.nq
        (1, 2)
        """
        return type(self)(model.with_loop(self.description, name, kind, first, second, **fields))

    def without_loops(self) -> Self:
        """Copy of the tree alone, in which all joints move independently."""
        return type(self)(self.description.replace(loops=(), independent=()))

    def lock_joints(self, joints: Mapping[str, Any] | Iterable[str]) -> Self:
        """Copy in which some joints are fixed, at home or where it is said; see `chasles.model.lock_joints`.

        Examples
        --------
        >>> import chasles as ch
        >>> arm = ch.load("panda")
        >>> arm.lock_joints({"panda_joint3": 0.0, "panda_joint7": 0.785}).n
        5
        """
        return type(self)(model.lock_joints(self.description, joints))

    def sub_chain(self, base_link: str, tip: str, *, branches: Branches = "lock") -> Self:
        """Robot of the serial chain between two links; see `chasles.model.sub_chain`.

        Examples
        --------
        >>> import chasles as ch
        >>> ch.load("panda").sub_chain("panda_link3", "panda_link7")
        <Robot 'panda': 4 joints, 8 links>
        """
        return type(self)(model.sub_chain(self.description, base_link, tip, branches=branches))

    def sub_tree(self, link: str) -> Self:
        """Robot of a link and all that hangs on it; see `chasles.model.sub_tree`."""
        return type(self)(model.sub_tree(self.description, link))

    def without(self, link: str) -> Self:
        """Copy without a link and all that hangs on it; see `chasles.model.without`."""
        return type(self)(model.without(self.description, link))

    def attach(
        self,
        other: HasDescription | Description,
        frame: str | None = None,
        *,
        T_frame_base: ArrayLike | None = None,
        prefix: str = "",
        joint: str | None = None,
        tool: str | None = None,
    ) -> Self:
        """Robot of this one with another, or a tool, at one of its frames; see `chasles.model.attach`.

        Examples
        --------
        >>> import chasles as ch
        >>> ch.load("ur5").attach(ch.load("planar2r"), prefix="small_").joint_names[-2:]
        ('small_joint1', 'small_joint2')
        """
        second: Any = getattr(other, "description", other)
        description = model.attach(
            self.description,
            second,
            frame,
            T_frame_base=T_frame_base,
            prefix=prefix,
            joint=joint,
            tool=tool,
        )
        return type(self)(description)

    def simplified(self) -> Self:
        """Copy in which links that fixed joints hold together are one; see `chasles.model.simplified`."""
        return type(self)(model.simplified(self.description))

    def renamed(
        self,
        *,
        frames: Mapping[str, str] | None = None,
        joints: Mapping[str, str] | None = None,
        prefix: str = "",
        name: str | None = None,
    ) -> Self:
        """Copy with other names of links and frames, joints and itself; see `chasles.model.renamed`."""
        return type(self)(model.renamed(self.description, frames=frames, joints=joints, prefix=prefix, name=name))
