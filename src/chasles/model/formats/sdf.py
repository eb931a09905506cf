"""Robots from SDF, the model format of Gazebo (http://sdformat.org/spec).

Read: one model with links and their shapes, frames and joints of type fixed, revolute, continuous, prismatic, ball,
universal and screw, with poses and axes relative to any frame of the model, inertias, limits, dynamics (damping is
viscous and friction is Coulomb friction) and mimic. Sensors and plugins are ignored, springs and shapes that cannot be
read are left out with a warning.

- The axis of a joint is in the joint frame; with ``use_parent_model_frame``, and in files of a version before 1.5, it
  is in the frame of the model.
- A joint without position limits, or with ±1e16, is unlimited.
- The root link is held where the model places it, also if the model is not static: `with_free_base` frees it.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from chasles.base.errors import ModelError, UnknownNameError, warn
from chasles.model.consistency import check_description
from chasles.model.description import Description, Frame, Link
from chasles.model.formats.files import read_bytes
from chasles.model.formats.sdf_shapes import shape
from chasles.model.formats.urdf_origins import snapped_angle
from chasles.model.formats.urdf_shapes import warn_of_shapes
from chasles.model.formats.xml import MAX_BYTES, Element, parse_xml
from chasles.model.freedoms import JointKind
from chasles.model.inertia import Inertia, ModelWarning
from chasles.model.joint import Joint, Limits, Mimic
from chasles.model.numbers import LARGEST_DAMPING, LARGEST_NUMBER, SMALLEST_DIVISOR, unit_vector
from chasles.model.placement import (
    FloatArray,
    compose,
    from_position_and_angles,
    from_position_and_quaternion,
    inverse,
)
from chasles.model.record import naming, shortened
from chasles.model.shapes import Shape
from chasles.model.topology import check_unique

JOINT_TYPES: dict[str, JointKind] = {
    "fixed": "fixed",
    "revolute": "revolute",
    "continuous": "continuous",
    "prismatic": "prismatic",
    "ball": "spherical",
    "universal": "universal",
    "screw": "helical",
}
_WORLD = "world"
_Z_AXIS = (0.0, 0.0, 1.0)
_FIRST_VERSION_WITH_AXES_IN_JOINT_FRAMES = 1.5


def from_sdf(path: str | Path, *, model: str = "", tool: str = "", check: bool = True) -> Description:
    """Read a robot from an SDF file.

    Parameters
    ----------
    path
        The file.
    model
        Name of the model, if the file holds several.
    tool
        Name of a link or frame as the default frame. Empty: as for a `Description`.
    check
        Whether to check that the inertias are physically possible.

    Raises
    ------
    ModelError
        The message names the file, the element with its line, and the reason.
    UnknownNameError
        There is no model of this name.
    """
    text, folder = read_bytes(path, MAX_BYTES), Path(path).absolute().parent
    return parse_sdf(text, file=str(path), folder=folder, model=model, tool=tool, check=check)


def parse_sdf(
    text: str | bytes,
    *,
    file: str = "SDF text",
    folder: str | Path = "",
    model: str = "",
    tool: str = "",
    check: bool = True,
) -> Description:
    """Read a robot from the text of an SDF file; `file` is its name in messages, `folder` where its meshes are.

    Examples
    --------
    >>> text = '''<sdf version="1.7"><model name="door"><link name="wall"/><link name="leaf"><pose>0.4 0 0 0 0 0</pose>
    ... </link><joint name="hinge" type="revolute"><parent>wall</parent><child>leaf</child><pose>-0.4 0 0 0 0 0</pose>
    ... <axis><xyz>0 0 1</xyz><limit><lower>0</lower><upper>1.5</upper></limit></axis></joint></model></sdf>'''
    >>> hinge = parse_sdf(text).joints[0]
    >>> hinge.limits.upper, hinge.T_parent_joint[:3, 3], hinge.T_joint_child[:3, 3]
    (1.5, array([0., 0., 0.]), array([0.4, 0. , 0. ]))
    """
    with naming(file):
        root = parse_xml(text.encode() if isinstance(text, str) else text)
        if root.tag != "sdf":
            raise ModelError(f"the root element is {root}, not <sdf>")
        reader = _Model(_chosen(root, model), root.number("version", 1.0), str(folder))
        description, springs = reader.description(tool)
        if check:
            warn_of_shapes(description.name, reader.complaints)
        if springs:
            names = ", ".join(map(shortened, springs))
            warn(f"robot '{description.name}': ignored (not supported): springs of the joints {names}", ModelWarning)
        return check_description(description) if check else description


def _chosen(root: Element, name: str) -> Element:
    models = [model for place in (root, *root.all("world")) for model in place.all("model")]
    if name:
        named = [model for model in models if model.text("name") == name]
        if not named:
            raise UnknownNameError("model", name, [model.text("name") for model in models])
        return named[0]
    if len(models) != 1:
        names = ", ".join(shortened(model.text("name")) for model in models) or "none"
        raise ModelError(f"the file must hold one model; it holds {names}. Choose one with load(path, model=…)")
    return models[0]


class _Model:
    """One model: its frames by name, and what is attached to what."""

    def __init__(self, element: Element, version: float, folder: str) -> None:
        for tag in ("include", "model"):
            for nested in element.all(tag):
                raise ModelError(f"{nested}: models inside a model are not supported; write them as one model")
        self.element = element
        self.folder = folder
        self.complaints: list[str] = []
        self.axes_in_model = version < _FIRST_VERSION_WITH_AXES_IN_JOINT_FRAMES
        self.links, self.joints, self.frames = (
            {part.text("name"): part for part in element.all(tag)} for tag in ("link", "joint", "frame")
        )
        for tag in ("link", "joint", "frame"):
            check_unique(tag, [part.text("name") for part in element.all(tag)])
        self.placement = cache(self._placement)

    def description(self, tool: str) -> tuple[Description, list[str]]:
        """Return the robot, and the names of the joints that have springs."""
        world = any(_end(joint, "parent") == _WORLD for joint in self.joints.values()) and _WORLD not in self.links
        links = [Link(_WORLD)] if world else []
        links += [self._link(link) for link in self.links.values()]
        joints = [self._joint(joint) for joint in self.joints.values()]
        children = {joint.child for joint in joints}
        roots = [link.name for link in links if link.name not in children]
        T_world_model = self._pose(self.element, "")[1]
        T_world_base = T_world_model
        if roots and roots[0] != _WORLD:
            T_world_base = compose(T_world_model, self.placement(roots[0], ()))
        robot = Description(
            name=self.element.text("name"),
            links=tuple(links),
            joints=tuple(joints),
            frames=tuple(self._frame(frame) for frame in self.frames.values()),
            T_world_base=np.eye(4) if world else T_world_base,
            tool=tool,
        )
        return robot, [name for name, joint in self.joints.items() if _has_spring(joint)]

    def _link(self, element: Element) -> Link:
        inertia = _inertia(element)
        visuals, collisions = (self._shapes(element, tag) for tag in ("visual", "collision"))
        return Link(element.text("name"), inertia, visuals, collisions)

    def _shapes(self, link: Element, tag: str) -> tuple[Shape, ...]:
        shapes, name = [], link.text("name")
        for element in link.all(tag):
            try:
                relative_to, T = self._pose(element, name)
                if relative_to != name:
                    T = compose(inverse(self.placement(name, ())), self.placement(relative_to, ()), T)
                shapes.append(shape(element, T, self.folder))
            except ModelError as error:
                self.complaints.append(f"{element} of {link}: {error}")
        return tuple(shapes)

    def _placement(self, name: str, asking: tuple[str, ...]) -> FloatArray:
        """Placement of a frame in the frame of the model."""
        if name in ("", "__model__"):
            return np.eye(4)
        if name == _WORLD and name not in self.links:
            return inverse(self._pose(self.element, "")[1])
        if name in asking:
            raise ModelError(f"the pose of {shortened(name)} is relative to itself: {' → '.join((*asking, name))}")
        if name in self.links:
            element, reference = self.links[name], ""
        elif name in self.joints:
            element, reference = self.joints[name], _end(self.joints[name], "child")
        elif name in self.frames:
            element, reference = self.frames[name], self.frames[name].attributes.get("attached_to", "")
        else:
            raise ModelError(str(UnknownNameError("frame", name, [*self.links, *self.joints, *self.frames])))
        relative_to, T = self._pose(element, reference)
        return compose(self._placement(relative_to, (*asking, name)), T)

    def _pose(self, element: Element, reference: str) -> tuple[str, FloatArray]:
        """Return the frame that a pose is relative to, and the placement in it."""
        pose = element.one("pose")
        if pose is None:
            return reference, np.eye(4)
        relative_to = pose.attributes.get("relative_to", reference)
        if pose.attributes.get("rotation_format", "euler_rpy") != "euler_rpy":
            x, y, z, qx, qy, qz, qw = pose.content_numbers(7)
            return relative_to, from_position_and_quaternion((x, y, z), unit_vector((qw, qx, qy, qz), 4, str(pose)))
        *position, roll, pitch, yaw = pose.content_numbers(6) if pose.content.strip() else (0.0,) * 6
        unit = math.pi / 180.0 if pose.attributes.get("degrees") == "true" else 1.0
        angles = [snapped_angle(unit * angle) for angle in (roll, pitch, yaw)]
        return relative_to, from_position_and_angles(position, angles)

    def _frame(self, element: Element) -> Frame:
        name = element.text("name")
        link = element.attributes.get("attached_to", "")
        seen = {name}
        while link in self.frames or link in self.joints:
            if link in seen:
                raise ModelError(f"{element} is attached to itself")
            seen.add(link)
            link = (
                self.frames[link].attributes.get("attached_to", "")
                if link in self.frames
                else _end(self.joints[link], "child")
            )
        if link in ("", "__model__"):
            link = self.element.attributes.get("canonical_link") or next(iter(self.links), "")
        T_model_link = self.placement(link, ())
        return Frame(name, link, compose(inverse(T_model_link), self.placement(name, ())))

    def _joint(self, element: Element) -> Joint:
        name, kind = element.text("name"), element.text("type")
        with naming(str(element)):
            if kind not in JOINT_TYPES:
                known = ", ".join(JOINT_TYPES)
                raise ModelError(f"the joint type {shortened(kind)} is not supported; supported: {known}")
            parent, child = _end(element, "parent"), _end(element, "child")
            T_model_joint = self.placement(name, ())
            axes = [axis for axis in (element.one("axis"), element.one("axis2")) if axis is not None]
            extras: dict[str, Any] = {}
            if axes and kind not in ("fixed", "ball"):
                extras["axis"] = self._axis(axes[0], name, T_model_joint)
                extras["limits"] = _limits(axes, kind)
                extras["mimic"] = _mimic(axes[0])
                extras |= _friction(axes[0])
            if kind == "universal":
                if len(axes) < 2:
                    raise ModelError("a universal joint needs <axis> and <axis2>")
                extras["second_axis"] = self._axis(axes[1], name, T_model_joint)
            if kind == "screw":
                extras["pitch"] = _pitch(element)
            return Joint(
                name=name,
                kind=JOINT_TYPES[kind],
                parent=parent,
                child=child,
                T_parent_joint=compose(inverse(self.placement(parent, ())), T_model_joint),
                T_joint_child=compose(inverse(T_model_joint), self.placement(child, ())),
                **extras,
            )

    def _axis(self, axis: Element, joint: str, T_model_joint: FloatArray) -> FloatArray:
        """Direction of an axis in the joint frame."""
        xyz = axis.one("xyz")
        direction = np.array(_Z_AXIS if xyz is None else xyz.content_numbers(3))
        in_model = axis.one("use_parent_model_frame")
        frame = joint if xyz is None else xyz.attributes.get("expressed_in", joint)
        if self.axes_in_model or (in_model is not None and in_model.content.strip() in ("1", "true")):
            frame = "__model__"
        if frame == joint:
            return direction
        return np.asarray(T_model_joint[:3, :3].T @ self.placement(frame, ())[:3, :3] @ direction)


def _inertia(link: Element) -> Inertia:
    inertial = link.one("inertial")
    if inertial is None:
        return Inertia()
    with naming(str(link)):
        if inertial.attributes.get("auto") == "true":
            raise ModelError("the inertia is to be found from the collision geometry, which is not supported")
        pose, mass, inertia = inertial.one("pose"), inertial.one("mass"), inertial.one("inertia")
        if mass is None:
            raise ModelError(f"{inertial} lacks <mass>")
        values = pose.content_numbers(6) if pose is not None and pose.content.strip() else (0.0,) * 6
        T_link_com = from_position_and_angles(values[:3], [snapped_angle(angle) for angle in values[3:]])
        matrix = np.zeros((3, 3))
        if inertia is not None:
            xx, xy, xz, yy, yz, zz = (_value(inertia, f"i{pair}", 0.0) for pair in ("xx", "xy", "xz", "yy", "yz", "zz"))
            matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        R = T_link_com[:3, :3]
        rotated = R @ matrix @ R.T
        return Inertia(mass.content_numbers(1)[0], T_link_com[:3, 3], (rotated + rotated.T) / 2.0)


def _end(element: Element, role: str) -> str:
    end = element.one(role)
    if end is None or not end.content.strip():
        raise ModelError(f"{element} lacks <{role}>")
    return end.content.strip()


def _value(element: Element | None, tag: str, default: float, *, largest: float = LARGEST_NUMBER) -> float:
    """Number in a child element, if there is one."""
    child = None if element is None else element.one(tag)
    return default if child is None else child.content_numbers(1, largest=largest)[0]


def _limits(axes: list[Element], kind: str) -> Limits:
    bounds: dict[str, list[float]] = {name: [] for name in Limits.field_names()}
    for axis in axes if kind == "universal" else axes[:1]:
        limit = axis.one("limit")
        lower, upper = (
            _value(limit, name, bound, largest=math.inf) for name, bound in (("lower", -math.inf), ("upper", math.inf))
        )
        bounds["lower"].append(-math.inf if kind == "continuous" else lower)
        bounds["upper"].append(math.inf if kind == "continuous" else upper)
        for name in ("velocity", "effort"):
            largest = _value(limit, name, math.inf, largest=math.inf)
            bounds[name].append(math.inf if largest < 0.0 else largest)  # a negative one says that there is none
    return Limits(**{name: values[0] if len(values) == 1 else tuple(values) for name, values in bounds.items()})


def _friction(axis: Element) -> dict[str, float]:
    dynamics = axis.one("dynamics")
    damping = _value(dynamics, "damping", 0.0, largest=LARGEST_DAMPING)
    return {"viscous_friction": damping, "coulomb_friction": _value(dynamics, "friction", 0.0)}


def _mimic(axis: Element) -> Mimic | None:
    mimic = axis.one("mimic")
    if mimic is None:
        return None
    ratio = _value(mimic, "multiplier", 1.0)
    return Mimic(mimic.text("joint"), ratio, _value(mimic, "offset", 0.0) - ratio * _value(mimic, "reference", 0.0))


def _pitch(element: Element) -> float:
    """Travel of a screw joint, m/rad: ``screw_thread_pitch`` is m/turn; the older ``thread_pitch``, -rad/m."""
    per_turn = element.one("screw_thread_pitch")
    if per_turn is not None:
        return per_turn.content_numbers(1)[0] / (2.0 * math.pi)
    per_metre = _value(element, "thread_pitch", 1.0)
    if abs(per_metre) < SMALLEST_DIVISOR:
        raise ModelError(f"the thread_pitch must be at least {SMALLEST_DIVISOR:g} in size, not {per_metre:g}")
    return -1.0 / per_metre


def _has_spring(joint: Element) -> bool:
    dynamics = [axis.one("dynamics") for tag in ("axis", "axis2") for axis in joint.all(tag)]
    return any(_value(part, "spring_stiffness", 0.0) != 0.0 for part in dynamics if part is not None)
