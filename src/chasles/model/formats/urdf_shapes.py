"""Shapes of links in URDF: the elements ``<visual>`` and ``<collision>``, read and written.

Read are box, sphere, cylinder, mesh and, as some readers know it, capsule; of a material the color, not the texture.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from chasles.base.errors import ModelError, warn
from chasles.model.description import Link
from chasles.model.formats.urdf_origins import origin, read_origin
from chasles.model.formats.xml import Element, attributes_text, element_text, number_text, numbers_text
from chasles.model.inertia import ModelWarning
from chasles.model.placement import compose, homogeneous
from chasles.model.record import shortened
from chasles.model.shapes import Box, Capsule, Cylinder, Ellipsoid, Geometry, Mesh, Shape, Sphere

Color = tuple[float, float, float, float]


class ShapeReader:
    """Reader of the shapes of one robot.

    Parameters
    ----------
    root
        Element of the robot, whose materials are known by name.
    folder
        Folder of the file, in which relative names of meshes are.
    """

    def __init__(self, root: Element, folder: str) -> None:
        self.folder = folder
        self.complaints: list[str] = []
        self.colors: dict[str, Color] = {}
        visuals = [visual for link in root.all("link") for visual in link.all("visual")]
        for place in (root, *visuals):
            for material in place.all("material"):
                try:
                    color = _color(material)
                except ModelError as error:
                    self.complaints.append(str(error))
                else:
                    if color is not None:
                        self.colors.setdefault(material.attributes.get("name", ""), color)

    def shapes(self, link: Element, tag: str) -> tuple[Shape, ...]:
        """Return the shapes in the elements ``<visual>`` or ``<collision>`` of a link."""
        shapes = []
        for element in link.all(tag):
            try:
                shapes.append(self._shape(element))
            except ModelError as error:
                self.complaints.append(f"{element} of {link}: {error}")
        return tuple(shapes)

    def warn(self, robot: str) -> None:
        """Warn in one line of shapes that could not be read."""
        warn_of_shapes(robot, self.complaints)

    def _shape(self, element: Element) -> Shape:
        geometry = element.one("geometry")
        if geometry is None or not geometry.children:
            raise ModelError("it has no geometry")
        material = element.one("material")
        color = None
        if material is not None:
            color = _color(material) or self.colors.get(material.attributes.get("name", ""))
        name = element.attributes.get("name", "")
        return Shape(_geometry(geometry.children[0], self.folder), read_origin(element), color, name)


def _color(material: Element) -> Color | None:
    color = material.one("color")
    if color is None or "rgba" not in color.attributes:
        return None
    red, green, blue, opacity = color.numbers("rgba", 4)
    return red, green, blue, opacity


def warn_of_shapes(robot: str, complaints: list[str]) -> None:
    """Warn in one line of shapes that are left out."""
    if complaints:
        more = f" (and {len(complaints) - 1} more)" if len(complaints) > 1 else ""
        warn(f"robot '{robot}': left out of its shapes: {complaints[0][:300]}{more}", ModelWarning)


def _geometry(element: Element, folder: str) -> Geometry:
    match element.tag:
        case "box":
            return Box(np.array(element.numbers("size", 3)))
        case "sphere":
            return Sphere(element.number("radius"))
        case "cylinder":
            return Cylinder(element.number("radius"), element.number("length"))
        case "capsule":
            return Capsule(element.number("radius"), element.number("length"))
        case "mesh":
            count = len(element.attributes.get("scale", "1 1 1").split())
            scale = element.numbers("scale", 1 if count == 1 else 3, (1.0, 1.0, 1.0))
            return Mesh(element.text("filename"), np.broadcast_to(scale, 3), folder)
    raise ModelError(f"{element}: a geometry is a box, sphere, cylinder, capsule or mesh")


def shape_lines(link: Link) -> list[str]:
    """Return the lines of a link's shapes in a URDF file, and warn of those that URDF cannot say.

    A capsule is written as a cylinder and two spheres: the format knows none.
    """
    lines = []
    for tag, shapes in (("visual", link.visuals), ("collision", link.collisions)):
        for shape in shapes:
            for part in _simple_parts(shape, link):
                lines += _lines(tag, part)
    return lines


def _simple_parts(shape: Shape, link: Link) -> list[Shape]:
    match shape.geometry:
        case Capsule(radius=radius, length=length):
            ends = [homogeneous(p=(0.0, 0.0, z)) for z in (-0.5 * length, 0.5 * length)]
            spheres = [
                shape.replace(geometry=Sphere(radius), T_link_shape=compose(shape.T_link_shape, T)) for T in ends
            ]
            return [shape.replace(geometry=Cylinder(radius, length)), *(part.replace(name="") for part in spheres)]
        case Ellipsoid():
            warn(f"link {shortened(link.name)}: an ellipsoid is left out: URDF has none", ModelWarning)
            return []
    return [shape]


def _lines(tag: str, shape: Shape) -> list[str]:
    name = {"name": shape.name} if shape.name else {}
    parts = [element_text("origin", origin(shape.T_link_shape)), "<geometry>", f"  {_written(shape.geometry)}"]
    parts.append("</geometry>")
    if tag == "visual" and shape.rgba is not None:
        color = element_text("color", {"rgba": numbers_text(shape.rgba)})
        material = attributes_text({"name": "rgba " + " ".join(f"{value:.6g}" for value in shape.rgba)})
        parts += [f"<material{material}>", f"  {color}", "</material>"]
    return [f"<{tag}{attributes_text(name)}>", *(f"  {part}" for part in parts), f"</{tag}>"]


def _written(geometry: Geometry) -> str:
    attributes: Mapping[str, str]
    match geometry:
        case Box():
            attributes = {"size": numbers_text(geometry.size)}
        case Sphere():
            attributes = {"radius": number_text(geometry.radius)}
        case Cylinder():
            attributes = {"radius": number_text(geometry.radius), "length": number_text(geometry.length)}
        case Mesh():
            attributes = {"filename": geometry.file}
            if (geometry.scale != 1.0).any():
                attributes = {**attributes, "scale": numbers_text(geometry.scale)}
    return element_text(type(geometry).__name__.lower(), attributes)
