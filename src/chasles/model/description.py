"""The immutable description of a robot: links, joints, frames, loops, gravity, base, tool and payload."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base import verbs
from chasles.base.cached import cached_property
from chasles.base.errors import ModelError, UnknownNameError
from chasles.model.defaults import default_home, default_tools
from chasles.model.drive_coupling import check_couplings, coupling_matrix
from chasles.model.inertia import Inertia
from chasles.model.joint import Joint
from chasles.model.link import Frame, Link
from chasles.model.loop import Loop
from chasles.model.mobility import Mobility, geometry_alone
from chasles.model.numbers import frozen_array, unit_vector
from chasles.model.placement import frozen_placement
from chasles.model.record import DescriptionRecord, plain, shortened
from chasles.model.topology import check_references, check_unique, ordered_joints, resolved_mimics

__all__ = ["STANDARD_GRAVITY", "Description", "Frame", "Link"]

STANDARD_GRAVITY = (0.0, 0.0, -9.81)


@dataclass(frozen=True, eq=False)
class Description(DescriptionRecord):
    """A robot as data: a tree of links, checked when it is made and never changed afterwards.

    Parameters
    ----------
    name
        Name of the robot.
    links, joints, frames
        The tree, in any order; names are unique, links and frames share their names' space.
    gravity
        Acceleration of gravity in the world frame, shape (3,), m/s².
    T_world_base
        Placement of the root link in the world, shape (4, 4).
    tool
        Default frame or link. Empty: the one named "tool", else one named as a tool centre point, grasp, tool, end
        effector or flange, in this order, else the link at the end of the longest chain. Of several candidates the
        first is chosen (see `possible_tools`).
    home
        Default configuration, shape (nq,). None: zero where the limits allow it, else the middle of the limits; the
        identity orientation of spherical and free joints. Quaternions are normalised.
    payload
        Body carried at the tool, in tool axes.
    source
        Source of the values, such as a citation.
    loops
        Joints and rods that close loops in the tree; see `chasles.model.Loop`. With loops, q still holds the
        coordinates of all joints, while velocities, accelerations and torques have `nv` elements, one for each
        independent velocity.
    actuated
        Names of joints with a motor, or of single velocities of joints (see `joint_velocity_names`). Empty: all joints
        of a robot without loops; unspecified for a robot with loops.
    independent
        Names of the joints, or single velocities, that are the independent velocities of a robot with loops. Empty:
        chosen at random closed configurations, the actuated ones first; see `chasles.algorithms.assembled`.
    disabled_pairs
        Pairs of link names that `chasles.clearance` ignores, as listed in an SRDF file.

    Raises
    ------
    ModelError
        The parts do not form a robot; the message names the element and the reason.

    Examples
    --------
    >>> pivot = Joint("pivot", "revolute", "base", "bob")
    >>> Description("pendulum", links=(Link("base"), Link("bob")), joints=(pivot,)).n
    1
    """

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...] = ()
    frames: tuple[Frame, ...] = ()
    gravity: NDArray[np.float64] = field(default_factory=lambda: np.array(STANDARD_GRAVITY))
    T_world_base: NDArray[np.float64] = field(default_factory=lambda: np.eye(4))
    tool: str = ""
    home: NDArray[np.float64] = None  # type: ignore[assignment]
    payload: Inertia = field(default_factory=Inertia)
    source: str = ""
    loops: tuple[Loop, ...] = ()
    actuated: tuple[str, ...] = ()
    independent: tuple[str, ...] = ()
    disabled_pairs: tuple[tuple[str, str], ...] = ()

    if TYPE_CHECKING:  # what is given becomes arrays

        def __init__(
            self,
            name: str,
            links: Iterable[Link],
            joints: Iterable[Joint] = (),
            frames: Iterable[Frame] = (),
            gravity: ArrayLike = STANDARD_GRAVITY,
            T_world_base: ArrayLike = ...,
            tool: str = "",
            home: ArrayLike | None = None,
            payload: Inertia = ...,
            source: str = "",
            loops: Iterable[Loop] = (),
            actuated: Iterable[str] = (),
            independent: Iterable[str] = (),
            disabled_pairs: Iterable[tuple[str, str]] = (),
        ) -> None: ...

    def __post_init__(self) -> None:
        self._set(links=tuple(self.links), joints=tuple(self.joints), frames=tuple(self.frames))
        self._set(loops=tuple(self.loops), actuated=tuple(self.actuated), independent=tuple(self.independent))
        check_unique("joint", [*(j.name for j in self.joints), *(loop.name for loop in self.loops)])
        names = [*(link.name for link in self.links), *(frame.name for frame in self.frames)]
        check_unique("link or frame", names)
        self._set(disabled_pairs=tuple((first, second) for first, second in self.disabled_pairs))
        check_references(self.link_names, self.frames, self.loops, self.disabled_pairs)
        root, order = ordered_joints(self.link_names, self.joints)
        self._set(gravity=frozen_array(self.gravity, (3,), "gravity"), _root=root, _order=order)
        self._set(_mimics=resolved_mimics(order))
        check_couplings(self.joints, self.mimics)
        if self.has_coupled_drives:
            self._set(_drive_coupling=coupling_matrix(self.coordinates, self.joint_velocity_names))
        self._set(T_world_base=frozen_placement(self.T_world_base, "T_world_base"))
        tools = (self.tool,) if self.tool else default_tools(root, order, self.link_names, self.frames)
        self._set(_possible_tools=tools, tool=tools[0])
        if self.tool not in self.frame_names:
            raise ModelError(f"the tool {shortened(self.tool)} is not the name of a link or frame")
        home = default_home(self.coordinates) if self.__dict__["home"] is None else self.home
        self._set(home=frozen_array(home, (self.nq,), "home (one number for each coordinate)"))
        self._set(home=self._with_unit_quaternions(self.home))
        self.velocity_indices(self.actuated, "actuated")
        loaded = [joint.name for joint in self.joints if joint.load_friction]
        if self.loops and loaded:
            raise ModelError(
                f"joint {shortened(loaded[0])} has load_friction, but the robot has loops: the torques that its joints "
                "transmit depend on forces in the loops; set load_friction to 0"
            )
        if self.independent and not self.loops:
            raise ModelError("independent velocities are named, but the robot has no loops: all are independent")
        self.velocity_indices(self.independent, "independent")

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields, and what its loops leave free if that is known."""
        known = {name: self.__dict__[name] for name in ("_mobility",) if name in self.__dict__}
        return super().__getstate__() | known

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the fields and what follows from them."""
        super().__setstate__(state)
        self.__post_init__()

    @property
    def root(self) -> str:
        """Name of the root link."""
        root: str = self.__dict__["_root"]
        return root

    @property
    def possible_tools(self) -> tuple[str, ...]:
        """Names of the equally good candidates for the tool, if no tool was chosen; else the chosen tool alone."""
        tools: tuple[str, ...] = self.__dict__["_possible_tools"]
        return tools

    @property
    def ordered_joints(self) -> tuple[Joint, ...]:
        """All joints, parents before children, otherwise in the given order."""
        order: tuple[Joint, ...] = self.__dict__["_order"]
        return order

    @property
    def mimics(self) -> Mapping[str, tuple[str, float, float]]:
        """Independent joint that drives each moving joint, with ratio and offset; itself, 1 and 0 if it mimics none."""
        mimics: Mapping[str, tuple[str, float, float]] = self.__dict__["_mimics"]
        return mimics

    @property
    def has_coupled_drives(self) -> bool:
        """Whether a motor turns with several joints."""
        return any(joint.drive_coupling for joint in self.joints)

    @property
    def drive_coupling(self) -> NDArray[np.float64]:
        """Motor rates per unit of the velocities of all joints, at the joint side of the reductions: shape (n, n)."""
        C: NDArray[np.float64] = self.__dict__.get("_drive_coupling", np.eye(len(self.joint_velocity_names)))
        return C.copy()

    @cached_property
    def coordinates(self) -> tuple[Joint, ...]:
        """The independent joints; their coordinates, concatenated, form a configuration q."""
        return tuple(joint for joint in self.ordered_joints if joint.moves and joint.mimic is None)

    @cached_property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the elements of q: joint names, with a suffix where a joint has several coordinates."""
        return tuple(name for joint in self.coordinates for name in joint.coordinate_names)

    @cached_property
    def joint_velocity_names(self) -> tuple[str, ...]:
        """Names of the velocities of all joints: joint names, with a suffix for each of several degrees of freedom."""
        return tuple(name for joint in self.coordinates for name in joint.velocity_names)

    @cached_property
    def velocity_names(self) -> tuple[str, ...]:
        """Names of the elements of qd and tau: the velocities of all joints or, with loops, the independent ones."""
        return tuple(self.joint_velocity_names[index] for index in self.independent_indices)

    @cached_property
    def coordinate_units(self) -> tuple[str, ...]:
        """Units of the elements of q: "rad", "m", or empty for elements of quaternions."""
        return tuple(unit for joint in self.coordinates for unit in joint.coordinate_units)

    @property
    def displacement_units(self) -> tuple[str, ...]:
        """Units of the displacements along the elements of qd: "rad" or "m"."""
        units = [unit for joint in self.coordinates for unit in joint.displacement_units]
        return tuple(units[index] for index in self.independent_indices)

    @cached_property
    def velocity_units(self) -> tuple[str, ...]:
        """Units of the elements of qd: "rad/s" or "m/s"."""
        return tuple(f"{unit}/s" for unit in self.displacement_units)

    @cached_property
    def effort_units(self) -> tuple[str, ...]:
        """Units of the elements of tau: "N·m" or "N"."""
        return tuple("N m" if unit == "rad" else "N" for unit in self.displacement_units)

    @property
    def mobility(self) -> Mobility:
        """Degrees of freedom of a robot with loops, known once the loops are closed.

        Raises
        ------
        ModelError
            The robot has no loops, or they have not been closed yet.
        """
        if not self.loops:
            raise ModelError(f"robot '{self.name}' has no loops: each of its {self.n} joint velocities is free")
        if not self.is_assembled:
            raise ModelError(
                f"robot '{self.name}' is a plan: nobody has closed its loops yet, so its degrees of freedom are not "
                "known; chasles.Robot(description) closes them"
            )
        mobility: Mobility = self.__dict__["_mobility"]
        return mobility

    @property
    def is_assembled(self) -> bool:
        """Whether the loops are closed, so that the `mobility` is known; always true without loops."""
        return not self.loops or "_mobility" in self.__dict__

    def with_mobility(self, mobility: Mobility) -> Self:
        """Make a copy that holds the mobility of its loops; see `chasles.algorithms.assembled`."""
        assembled = self.replace(home=mobility.home)
        assembled._set(_mobility=mobility)
        return assembled

    def replace(self, **changes: Any) -> Self:
        """Make a copy with some fields changed, checked like a new one; a mobility that may have changed is dropped."""
        changed = super().replace(**changes)
        if "_mobility" in self.__dict__ and changed.skeleton == self.skeleton:
            changed._set(_mobility=self.mobility)
        return changed

    @cached_property
    def skeleton(self) -> Self:
        """The same robot without masses, gravity, shapes, limits and motors: the part that determines the mobility."""
        fields = geometry_alone(self.links, self.joints)
        return super().replace(**fields, gravity=STANDARD_GRAVITY, payload=Inertia(), source="", disabled_pairs=())

    @cached_property
    def independent_indices(self) -> tuple[int, ...]:
        """Indices of the independent velocities among those of all joints; all of them without loops."""
        if not self.loops:
            return tuple(range(len(self.joint_velocity_names)))
        return self.mobility.independent

    @cached_property
    def coordinate_of_velocity(self) -> tuple[int | None, ...]:
        """Index in q of the coordinate that each joint velocity is the rate of; None for joints with quaternions."""
        coordinates_of: list[int | None] = []
        for joint in self.coordinates:
            first = self.starts[joint.name][0]
            coordinates_of += [None if joint.has_quaternion else first + k for k in range(len(joint.velocity_names))]
        return tuple(coordinates_of)

    @cached_property
    def actuated_indices(self) -> tuple[int, ...]:
        """Indices of the actuated velocities among those of all joints; the independent ones if `actuated` is empty."""
        return self.velocity_indices(self.actuated, "actuated") if self.actuated else self.independent_indices

    @property
    def nq(self) -> int:
        """Number of coordinates: the length of q."""
        return len(self.coordinate_names)

    @property
    def nv(self) -> int:
        """Number of velocities: the length of qd, qdd and tau. Smaller than `nq` with quaternions and with loops."""
        return len(self.velocity_names)

    @property
    def n(self) -> int:
        """Number of degrees of freedom: `nv`."""
        return self.nv

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the independent joints."""
        return tuple(joint.name for joint in self.coordinates)

    @cached_property
    def starts(self) -> Mapping[str, tuple[int, int]]:
        """First index of each joint's coordinates in q, and of its velocities among those of all joints."""
        starts, q, v = {}, 0, 0
        for joint in self.coordinates:
            starts[joint.name] = (q, v)
            q, v = q + len(joint.coordinate_names), v + len(joint.velocity_names)
        return starts

    @cached_property
    def link_names(self) -> tuple[str, ...]:
        """Names of the links."""
        return tuple(link.name for link in self.links)

    @cached_property
    def frame_names(self) -> tuple[str, ...]:
        """Names of all links and then of all frames."""
        return (*self.link_names, *(frame.name for frame in self.frames))

    @property
    def mass(self) -> float:
        """Mass of all links, without the payload, kg."""
        return float(sum(link.inertia.mass for link in self.links))

    @property
    def lower_limits(self) -> NDArray[np.float64]:
        """Lowest positions, shape (nq,), rad or m."""
        return np.array([bound for joint in self.coordinates for bound in joint.position_limits[0]])

    @property
    def upper_limits(self) -> NDArray[np.float64]:
        """Highest positions, shape (nq,), rad or m."""
        return np.array([bound for joint in self.coordinates for bound in joint.position_limits[1]])

    @property
    def velocity_limits(self) -> NDArray[np.float64]:
        """Largest speeds, shape (nv,), rad/s or m/s."""
        return self._limits_of_freedoms("velocity")

    @property
    def effort_limits(self) -> NDArray[np.float64]:
        """Largest torques or forces, shape (nv,), N·m or N."""
        return self._limits_of_freedoms("effort")

    @cached_property
    def digest(self) -> str:
        """SHA-256 hash of the content: equal for equal descriptions, on every machine."""
        return hashlib.sha256(json.dumps(plain(self)).encode()).hexdigest()

    def _repr_html_(self) -> str:
        return str(verbs.to_html(self))

    def __repr__(self) -> str:
        counts = {"links": self.links, "joints": self.joints, "frames": self.frames, "loops": self.loops}
        listed = ", ".join(f"{len(parts)} {name}" for name, parts in counts.items() if parts)
        return f"<Description of '{self.name}': {listed}>"

    def __str__(self) -> str:
        """Return the joints as text, one a line."""
        rows = [("joint", "kind", "parent", "child")]
        rows += [(joint.name, joint.kind, joint.parent, joint.child) for joint in self.joints]
        rows += [(loop.name, loop.kind, loop.first, loop.second) for loop in self.loops]
        widths = [max(len(row[column]) for row in rows) for column in range(4)]
        padded = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
        return "\n".join([repr(self), *(line.rstrip() for line in padded)])

    def __hash__(self) -> int:
        """Hash of the content."""
        return hash(self.digest)

    def velocity_indices(self, names: Sequence[str], what: str) -> tuple[int, ...]:
        """Return the indices of the named joints or single velocities among the velocities of all joints.

        Raises
        ------
        ModelError
            A name is unknown or given twice, or is that of a mimic joint; `what` names the list in the message.
        """
        indices: list[int] = []
        for name in names:
            if name in self.starts:
                start = self.starts[name][1]
                meant = list(range(start, start + len(self.joint(name).velocity_names)))
            elif name in self.joint_velocity_names:
                meant = [self.joint_velocity_names.index(name)]
            else:
                known = (*self.starts, *(known for known in self.joint_velocity_names if known not in self.starts))
                raise ModelError(f"{what}: {UnknownNameError('joint', shortened(name), known)}")
            if set(meant) & set(indices):
                raise ModelError(f"{what} names {shortened(name)} twice")
            indices += meant
        return tuple(indices)

    def velocity_places(self, joint: str) -> slice:
        """Return the indices in qd of a joint's velocities; empty if loops make them depend on others.

        Examples
        --------
        >>> hip = Joint("hip", "spherical", "body", "leg")
        >>> Description("leg", links=(Link("body"), Link("leg")), joints=(hip,)).velocity_places("hip")
        slice(0, 3, None)
        """
        start, count = self.starts[joint][1], len(self.joint(joint).velocity_names)
        indices = [place for place, index in enumerate(self.independent_indices) if start <= index < start + count]
        return slice(indices[0], indices[0] + count) if len(indices) == count else slice(0, 0)

    def link(self, name: str) -> Link:
        """Return the link of this name."""
        for link in self.links:
            if link.name == name:
                return link
        raise UnknownNameError("link", name, self.link_names)

    def joint(self, name: str) -> Joint:
        """Return the joint of this name, moving or fixed."""
        for joint in self.joints:
            if joint.name == name:
                return joint
        raise UnknownNameError("joint", name, (joint.name for joint in self.joints))

    def frame(self, name: str) -> Frame:
        """Return the frame or link of this name; "tool" means the tool, unless a frame has that name.

        Examples
        --------
        >>> Description("stone", links=(Link("rock"),)).frame("tool").link
        'rock'
        """
        wanted = self.tool if name == "tool" and name not in self.frame_names else name
        for frame in self.frames:
            if frame.name == wanted:
                return frame
        if wanted not in self.link_names:
            raise UnknownNameError("frame", wanted, self.frame_names)
        return Frame(wanted, wanted)

    def with_gravity(self, gravity: ArrayLike) -> Self:
        """Make a copy with this acceleration of gravity in the world frame, shape (3,), m/s²."""
        return self.replace(gravity=gravity)

    def _limits_of_freedoms(self, name: str) -> NDArray[np.float64]:
        bounds = [b for joint in self.coordinates for b in joint.limits.each(name, len(joint.freedoms))]
        return np.array([bounds[index] for index in self.independent_indices])

    def _with_unit_quaternions(self, q: NDArray[np.float64]) -> NDArray[np.float64]:
        unit = q.copy()
        for joint in self.coordinates:
            if joint.has_quaternion:
                part = slice(self.starts[joint.name][0], self.starts[joint.name][0] + 4)
                unit[part] = unit_vector(q[part], 4, f"the quaternion of joint {shortened(joint.name)} in home")
        return frozen_array(unit, q.shape, "home")
