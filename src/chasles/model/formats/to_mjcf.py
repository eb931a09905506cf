"""Writing robots as MJCF, the model format of MuJoCo. See `chasles.model.formats.mjcf` for what is read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from chasles.base.errors import ModelError, warn
from chasles.model.consistency import require_no_first_moments
from chasles.model.description import Description, Link
from chasles.model.formats.mesh_files import Packages
from chasles.model.formats.mjcf_shapes import geom_lines, named_meshes, pose, quaternion
from chasles.model.formats.single_freedoms import require_kinds, unused_name, with_single_freedoms
from chasles.model.formats.xml import attributes_text, element_text, number_text, numbers_text
from chasles.model.freedoms import JointKind
from chasles.model.inertia import Inertia, ModelWarning
from chasles.model.joint import POSITION_TORQUES, Joint
from chasles.model.loop import Loop, LoopKind
from chasles.model.placement import FloatArray, compose, from_position_and_quaternion, inverse
from chasles.model.record import shortened
from chasles.model.shapes import Mesh

TYPES: dict[JointKind, str] = {
    "revolute": "hinge",
    "continuous": "hinge",
    "prismatic": "slide",
    "spherical": "ball",
    "free": "free",
    "fixed": "",
}
LOOPS: tuple[LoopKind, ...] = ("spherical", "fixed", "revolute", "rod")
#: Distance, m, between the two points of its axis at which a revolute loop is held.
AXIS_LENGTH = 0.1
#: In place of an infinite end of a range with one finite end: beyond 1e9 readers of Chasles take it for none.
NO_LIMIT = 1e10
#: MuJoCo refuses smaller principal moments of inertia, such as those of point masses, kg·m².
SMALLEST_MOMENT = 1e-12


def to_mjcf(description: Description, *, meshes: bool = False, packages: Packages | None = None) -> str:
    """Return the text of an MJCF file of a robot, for MuJoCo.

    Masses, joints, limits of position and torque, viscous and Coulomb friction, rotor inertias (as armature), mimic
    joints and loops (as equality constraints, which are soft in MuJoCo), motors, shapes (as geoms, which touch each
    other if they are collisions), frames (as sites), gravity and the home configuration (as key frame "home") are
    written. Universal, cylindrical and planar joints are several joints of one body.

    A spherical loop becomes a `connect` of two sites, a fixed loop a `weld`, a revolute loop two `connect`s on its
    axis, 0.1 m apart, and a rod a tendon of fixed length. For closer agreement give MuJoCo's equality constraints a
    stiff `solref`. The drive of a joint that is coupled to others becomes a fixed tendon with its rotor inertia and
    friction.

    MJCF cannot express velocity limits, the tool and the source; nor the velocity scale of Coulomb friction, friction
    that grows with the load and torques that depend on the joint position, which are left out with a warning. The
    coordinates of a free joint are the pose in the world, position first. Principal moments of inertia below 1e-12
    kg·m², which MuJoCo refuses, are written as 1e-12.

    Parameters
    ----------
    description
        The robot.
    meshes
        Whether to write mesh shapes too, with the absolute paths of their files. A mesh is left out with a warning if
        its file is missing or is not STL, OBJ or MSH.
    packages
        Folders of the packages that mesh addresses name, as for `mesh_path`.

    Raises
    ------
    ModelError
        MuJoCo cannot simulate the robot: a moving link without mass, a helical joint, a free joint on a moving
        link, a loop of another kind. The message names it.

    Examples
    --------
    >>> from chasles.model import load, parse_mjcf
    >>> arm = load("planar2r")
    >>> parse_mjcf(to_mjcf(arm)).joint_names == arm.joint_names
    True
    """
    require_no_first_moments(description, "MJCF file")
    return _Writer(description, *(named_meshes(description.links, packages) if meshes else ({}, []))).text()


class _Writer:
    """The bodies of a robot, nested; joints in the order in which MuJoCo numbers their coordinates."""

    def __init__(self, description: Description, meshes: Mapping[Mesh, str], assets: Sequence[str]) -> None:
        self.meshes, self.assets, self.geoms = meshes, assets, set[str]()
        description = with_single_freedoms(description)
        require_kinds(description, tuple(TYPES), "MJCF", loops=LOOPS)
        self._warn_of_losses(description)
        self.description = description
        self.written: list[Joint] = []
        self.joints: dict[str, list[Joint]] = {}
        for joint in description.ordered_joints:
            self.joints.setdefault(joint.parent, []).append(joint)
        self.links = {link.name: link for link in description.links}
        self.framed = {frame.link for frame in description.frames} | {description.frame(description.tool).link}
        self.names = set(description.frame_names)
        self.ends = self._loop_ends()

    @staticmethod
    def _warn_of_losses(description: Description) -> None:
        left_out = {
            name: [joint.name for joint in description.joints if getattr(joint, name)]
            for name in ("load_friction", *POSITION_TORQUES)
        }
        left_out["coulomb_velocity"] = [
            joint.name for joint in description.joints if joint.coulomb_friction and any(joint.coulomb_velocities)
        ]
        for name, joints in left_out.items():
            if joints:
                warn(
                    f"robot '{description.name}': left out of the MJCF file, which has no place for it: {name} of "
                    f"{', '.join(joints[:6])}{'…' if len(joints) > 6 else ''}; a TOML file holds it",
                    ModelWarning,
                )

    def text(self) -> str:
        """The whole file."""
        robot = self.description
        bodies = self._bodies()
        equalities = [_equality(joint) for joint in self.written if joint.mimic is not None]
        equalities += [line for loop in robot.loops for line in self._held(loop)]
        tendons = [line for loop in robot.loops for line in self._tendon(loop)]
        tendons += [line for joint in self.written if joint.drive_coupling for line in _coupled_drive(joint)]
        indices = robot.actuated_indices if robot.actuated else ()
        motors = [_motor(robot.joint_velocity_names[index]) for index in indices]
        lines = [
            f"<mujoco{attributes_text({'model': robot.name})}>",
            '  <compiler angle="radian" autolimits="true" inertiafromgeom="false" boundmass="0" boundinertia="0"/>',
            f"  {element_text('option', {'gravity': numbers_text(robot.gravity)})}",
            *_section("asset", self.assets),
            *_section("worldbody", bodies),
            *_section("tendon", tendons),
            *_section("equality", equalities),
            *_section("actuator", motors),
        ]
        if self.written:
            lines += _section("keyframe", [element_text("key", {"name": "home", "qpos": numbers_text(self._home())})])
        return "\n".join([*lines, "</mujoco>", ""])

    def _bodies(self) -> list[str]:
        """All that is in the world: the root with what hangs on it, and beside it what moves freely."""
        robot = self.description
        moved = self.joints.get(robot.root, [])
        self.joints[robot.root] = [joint for joint in moved if joint.kind != "free"]
        if robot.root != "world" or (robot.T_world_base != np.eye(4)).any():
            lines = self._body(self.links[robot.root], robot.T_world_base, [])
        else:
            lines = self._inside("world")
        for joint in moved:
            if joint.kind == "free":
                lines += self._moved(joint)
        return lines

    def _body(self, link: Link, T: FloatArray, joints: Sequence[tuple[Joint, FloatArray]]) -> list[str]:
        """A body with its joints, each with its frame in that of the body, and all that hangs on it."""
        if joints and link.inertia.mass <= 0.0:
            raise ModelError(
                f"link {shortened(link.name)} moves and has no mass: MuJoCo cannot simulate it; give it inertial "
                "parameters, or lock its joint"
            )
        parts = [_joint(joint, T_body_joint) for joint, T_body_joint in joints]
        if link.inertia != Inertia():
            parts.insert(0, _inertial(link.inertia))
        self.written += [joint for joint, _ in joints]
        inside = [*parts, *self._inside(link.name)]
        return [
            f"<body{attributes_text({'name': link.name} | pose(T))}>",
            *(f"  {line}" for line in inside),
            "</body>",
        ]

    def _inside(self, name: str) -> list[str]:
        """The geoms, sites and bodies on a link."""
        robot = self.description
        lines = geom_lines(self.links[name], self.meshes, self.geoms)
        lines += [
            element_text("site", {"name": frame.name} | pose(frame.T_link_frame))
            for frame in robot.frames
            if frame.link == name
        ]
        lines += [element_text("site", {"name": site} | pose(T)) for link, site, T in self._sites() if link == name]
        tool = robot.frame(robot.tool)
        if tool.link == name and not robot.payload.is_massless:
            payload = Link(unused_name("payload", self.names), robot.payload)
            self.links[payload.name] = payload
            lines += self._body(payload, tool.T_link_frame, [])
        for joint in self.joints.get(name, []):
            lines += self._moved(joint)
        return lines

    def _loop_ends(self) -> dict[str, list[tuple[str, str]]]:
        """Names of the sites between which each loop holds, by the loop's name."""
        ends: dict[str, list[tuple[str, str]]] = {}
        for loop in self.description.loops:
            points = ("", ".axis") if loop.kind == "revolute" else ("",)
            ends[loop.name] = [
                (unused_name(f"{loop.name}.1{point}", self.names), unused_name(f"{loop.name}.2{point}", self.names))
                for point in points
            ]
        return ends

    def _sites(self) -> Iterator[tuple[str, str, FloatArray]]:
        """Link, name and placement of the sites of all loops."""
        for loop in self.description.loops:
            for place, T_end in enumerate((loop.T_first_joint, loop.T_second_joint)):
                frame = self.description.frame((loop.first, loop.second)[place])
                T = compose(frame.T_link_frame, T_end)
                for number, sites in enumerate(self.ends[loop.name]):
                    along = np.eye(4)
                    along[:3, 3] = number * AXIS_LENGTH * loop.axis
                    yield frame.link, sites[place], compose(T, along)

    def _held(self, loop: Loop) -> Iterator[str]:
        """Equality constraints of a loop."""
        if loop.kind == "rod":
            polynomial = numbers_text([loop.length - self._span_at_zero(loop), 0.0, 0.0, 0.0, 0.0])
            yield element_text("tendon", {"name": loop.name, "tendon1": loop.name, "polycoef": polynomial})
            return
        for number, (first, second) in enumerate(self.ends[loop.name]):
            name = f"{loop.name}.axis" if number else loop.name
            element = "weld" if loop.kind == "fixed" else "connect"
            yield element_text(element, {"name": name, "site1": first, "site2": second})

    def _span_at_zero(self, loop: Loop) -> float:
        """Distance between the ends of a rod while all joints are at zero, from which MuJoCo measures lengths."""
        placements = {self.description.root: np.eye(4)}
        for joint in self.description.ordered_joints:
            placements[joint.child] = compose(placements[joint.parent], joint.T_parent_joint, joint.T_joint_child)
        ends = []
        for name, T_end in ((loop.first, loop.T_first_joint), (loop.second, loop.T_second_joint)):
            frame = self.description.frame(name)
            ends.append(compose(placements[frame.link], frame.T_link_frame, T_end)[:3, 3])
        return float(np.linalg.norm(ends[1] - ends[0]))

    def _tendon(self, loop: Loop) -> Iterator[str]:
        """Tendon that stands for a rod."""
        if loop.kind == "rod":
            (ends,) = self.ends[loop.name]
            yield f"<spatial{attributes_text({'name': loop.name})}>"
            yield from (f"  {element_text('site', {'site': site})}" for site in ends)
            yield "</spatial>"

    def _moved(self, joint: Joint) -> list[str]:
        """The body behind a joint, and behind those that follow it on links that are nothing but places of joints."""
        chain = [joint]
        while self._is_only_a_place(chain[-1]):
            chain += self.joints[chain[-1].child]
        T = np.eye(4)
        T_parent_joints = []
        for member in chain:
            T_parent_joints.append(compose(T, member.T_parent_joint))
            T = compose(T_parent_joints[-1], member.T_joint_child)
        moving = [
            (member, compose(inverse(T), T_parent_joint))
            for member, T_parent_joint in zip(chain, T_parent_joints, strict=True)
            if member.moves
        ]
        if any(member.kind == "free" for member, _ in moving):
            if len(moving) > 1 or joint.parent != self.description.root:
                raise ModelError(
                    f"joint {shortened(joint.name)} is free, but not on the root: MuJoCo has no such joint"
                )
            T = compose(self.description.T_world_base, T)  # its body stands in the world
        return self._body(self.links[chain[-1].child], T, moving)

    def _is_only_a_place(self, joint: Joint) -> bool:
        following = self.joints.get(joint.child, [])
        link = self.links[joint.child]
        massless = link == Link(link.name) and link.name not in self.framed
        return joint.moves and joint.kind != "free" and massless and len(following) == 1 and following[0].moves

    def _home(self) -> list[float]:
        """Positions of all joints at home in MuJoCo's order, those that follow others included."""
        robot, qpos = self.description, []
        for joint in self.written:
            leader, ratio, offset = robot.mimics[joint.name]
            start = robot.starts[leader][0]
            q = robot.home[start : start + len(joint.coordinate_names)].tolist()
            if joint.kind == "free":
                T_home = compose(
                    robot.T_world_base,
                    joint.T_parent_joint,
                    from_position_and_quaternion(q[4:], q[:4]),
                    joint.T_joint_child,
                )
                qpos += [*T_home[:3, 3], *quaternion(T_home)]
            elif joint.kind == "spherical":
                turned = compose(
                    inverse(joint.T_joint_child), from_position_and_quaternion(None, q), joint.T_joint_child
                )
                qpos += quaternion(turned)
            else:
                qpos.append(ratio * q[0] + offset)
        return qpos


def _section(name: str, lines: Sequence[str]) -> list[str]:
    """Lines of a section of the file; none if it is empty."""
    return [f"  <{name}>", *(f"    {line}" for line in lines), f"  </{name}>"] if lines else []


def _joint(joint: Joint, T_body_joint: FloatArray) -> str:
    attributes = {"name": joint.name, "type": TYPES[joint.kind]}
    if joint.kind != "free":
        attributes["pos"] = numbers_text(T_body_joint[:3, 3])
    if attributes["type"] in ("hinge", "slide"):
        attributes["axis"] = numbers_text(T_body_joint[:3, :3] @ joint.axis)
        (lower,), (upper,) = joint.position_limits
        if (lower, upper) != (-math.inf, math.inf):
            attributes["range"] = numbers_text([max(lower, -NO_LIMIT), min(upper, NO_LIMIT)])
        (effort,) = joint.limits.each("effort", 1)
        if math.isfinite(effort):
            attributes["actuatorfrcrange"] = numbers_text([-effort, effort])
    return element_text("joint", attributes | ({} if joint.drive_coupling else _drive(joint)))


def _drive(joint: Joint) -> dict[str, str]:
    """Attributes of what resists the motor of a joint."""
    armature = joint.gear_ratio**2 * joint.motor_inertia
    values = {"damping": joint.viscous_friction, "frictionloss": joint.coulomb_friction, "armature": armature}
    return {name: number_text(value) for name, value in values.items() if value}


def _coupled_drive(joint: Joint) -> list[str]:
    """Lines of a fixed tendon that is as long as the motor's position, and has what resists the motor."""
    shares = [(joint.name, 1.0), *joint.drive_coupling]
    return [
        f"<fixed{attributes_text({'name': f'drive of {joint.name}', **_drive(joint)})}>",
        *(f"  {element_text('joint', {'joint': name, 'coef': number_text(share)})}" for name, share in shares),
        "</fixed>",
    ]


def _motor(joint: str) -> str:
    return element_text("motor", {"name": f"motor of {joint}", "joint": joint})


def _inertial(inertia: Inertia) -> str:
    moments, axes = np.linalg.eigh(inertia.matrix)
    m = inertia.matrix if moments[0] >= SMALLEST_MOMENT else axes * np.maximum(moments, SMALLEST_MOMENT) @ axes.T
    full = [m[0, 0], m[1, 1], m[2, 2], m[0, 1], m[0, 2], m[1, 2]]
    attributes = {"pos": numbers_text(inertia.center_of_mass), "mass": number_text(inertia.mass)}
    return element_text("inertial", attributes | {"fullinertia": numbers_text(full)})


def _equality(joint: Joint) -> str:
    if joint.mimic is None:
        return ""
    coefficients = numbers_text([joint.mimic.offset, joint.mimic.ratio, 0.0, 0.0, 0.0])
    return element_text("joint", {"joint1": joint.name, "joint2": joint.mimic.joint, "polycoef": coefficients})
