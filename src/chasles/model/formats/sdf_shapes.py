"""Shapes of links in SDF: what is inside the elements ``<visual>`` and ``<collision>``, but for their pose."""

from __future__ import annotations

import numpy as np

from chasles.base.errors import ModelError
from chasles.model.formats.xml import Element
from chasles.model.placement import FloatArray
from chasles.model.shapes import Box, Capsule, Cylinder, Ellipsoid, Geometry, Mesh, Shape, Sphere


def shape(element: Element, T_link_shape: FloatArray, folder: str) -> Shape:
    """Return the shape in a ``<visual>`` or ``<collision>``; relative names of meshes are in `folder`."""
    geometry = element.one("geometry")
    if geometry is None or not geometry.children:
        raise ModelError("it has no geometry")
    return Shape(
        _geometry(geometry.children[0], folder), T_link_shape, _color(element), element.attributes.get("name", "")
    )


def _geometry(element: Element, folder: str) -> Geometry:
    match element.tag:
        case "box":
            return Box(np.array(_values(element, "size", 3)))
        case "sphere":
            return Sphere(*_values(element, "radius", 1))
        case "ellipsoid":
            return Ellipsoid(np.array(_values(element, "radii", 3)))
        case "cylinder":
            return Cylinder(*_values(element, "radius", 1), *_values(element, "length", 1))
        case "capsule":
            return Capsule(*_values(element, "radius", 1), *_values(element, "length", 1))
        case "mesh":
            address = element.one("uri")
            if address is None:
                raise ModelError(f"{element} lacks <uri>")
            scale = (1.0, 1.0, 1.0) if element.one("scale") is None else _values(element, "scale", 3)
            return Mesh(address.content.strip(), np.array(scale), folder)
    raise ModelError(f"{element}: a geometry is a box, sphere, ellipsoid, cylinder, capsule or mesh")


def _values(element: Element, tag: str, count: int) -> tuple[float, ...]:
    child = element.one(tag)
    if child is None:
        raise ModelError(f"{element} lacks <{tag}>")
    return child.content_numbers(count)


def _color(element: Element) -> tuple[float, float, float, float] | None:
    material = element.one("material")
    diffuse = None if material is None else material.one("diffuse")
    if diffuse is None:
        return None
    red, green, blue, *opacity = diffuse.content_numbers(min(max(len(diffuse.content.split()), 3), 4))
    return red, green, blue, opacity[0] if opacity else 1.0
