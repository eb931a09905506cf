"""`Edit`: robots of another structure made from one: parts, robots joined, joints locked, links merged or renamed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from numpy.typing import ArrayLike

from chasles import model
from chasles.mechanics.computation import HasDescription
from chasles.mechanics.part import Part, R
from chasles.model import Description
from chasles.model.cutting import Branches


class Edit(Part[R]):
    """Robots of another structure made from this one, which itself does not change: ``arm.edit``."""

    place = "edit"

    def attach(
        self,
        other: HasDescription | Description,
        frame: str | None = None,
        *,
        T_frame_base: ArrayLike | None = None,
        prefix: str = "",
        joint: str | None = None,
        tool: str | None = None,
    ) -> R:
        """Robot of this one with another, or a tool, at one of its frames; see `chasles.model.attach`.

        Examples
        --------
        >>> import chasles as ch
        >>> ch.load("ur5").edit.attach(ch.load("planar2r"), prefix="small_").joint_names[-2:]
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
        return self._changed(description)

    def lock(self, joints: Mapping[str, Any] | Iterable[str]) -> R:
        """Copy in which some joints are fixed, at home or at given positions; see `chasles.model.lock_joints`.

        Examples
        --------
        >>> import chasles as ch
        >>> arm = ch.load("panda")
        >>> arm.edit.lock({"panda_joint3": 0.0, "panda_joint7": 0.785}).n
        5
        """
        return self._changed(model.lock_joints(self.description, joints))

    def sub_chain(self, base_link: str, tip: str, *, branches: Branches = "lock") -> R:
        """Robot of the serial chain between two links; see `chasles.model.sub_chain`.

        Examples
        --------
        >>> import chasles as ch
        >>> ch.load("panda").edit.sub_chain("panda_link3", "panda_link7")
        <Robot 'panda': 4 joints, 8 links>
        """
        return self._changed(model.sub_chain(self.description, base_link, tip, branches=branches))

    def sub_tree(self, link: str) -> R:
        """Robot of a link and all that hangs on it; see `chasles.model.sub_tree`."""
        return self._changed(model.sub_tree(self.description, link))

    def without(self, link: str) -> R:
        """Copy without a link and all that hangs on it; see `chasles.model.without`."""
        return self._changed(model.without(self.description, link))

    def without_loops(self) -> R:
        """Copy of the tree alone, in which all joints move independently."""
        return self._changed(self.description.replace(loops=(), independent=()))

    def simplified(self) -> R:
        """Copy in which links that fixed joints hold together are one; see `chasles.model.simplified`."""
        return self._changed(model.simplified(self.description))

    def nominal_bodies(self, *, density: float = 1000.0) -> R:
        """Copy with solid rods for links, for a robot without masses; see `chasles.model.with_nominal_bodies`."""
        return self._changed(model.with_nominal_bodies(self.description, density=density))

    def renamed(
        self,
        *,
        frames: Mapping[str, str] | None = None,
        joints: Mapping[str, str] | None = None,
        prefix: str = "",
        name: str | None = None,
    ) -> R:
        """Copy with other names of links and frames, joints and itself; see `chasles.model.renamed`."""
        return self._changed(model.renamed(self.description, frames=frames, joints=joints, prefix=prefix, name=name))
