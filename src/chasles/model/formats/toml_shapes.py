"""Shapes of links in TOML files: the tables ``[[visual]]`` and ``[[collision]]``, read and written.

A table names its link and has one geometry: ``box = [x, y, z]``, ``sphere = radius``, ``ellipsoid = [x, y, z]``
(radii), ``cylinder = { radius, length }``, ``capsule = { radius, length }`` or ``mesh = { file, scale, folder }``.
Optional are ``placement`` in the link's frame, ``rgba`` and ``name``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from chasles.base.errors import ModelError
from chasles.model.description import Description, Link
from chasles.model.placement import FloatArray
from chasles.model.record import check_keys, shortened
from chasles.model.shapes import Box, Capsule, Cylinder, Ellipsoid, Geometry, Mesh, Shape, Sphere

GEOMETRIES = ("box", "sphere", "ellipsoid", "cylinder", "capsule", "mesh")
SHAPE_KEYS = ("link", "name", "placement", "rgba", *GEOMETRIES)


def read_shape(table: Mapping[str, Any], placement: FloatArray, folder: str) -> tuple[str, Shape]:
    """Return the name of the link and the shape that a table says; relative names of meshes are in `folder`."""
    check_keys(table, SHAPE_KEYS, "the table")
    kinds = [kind for kind in GEOMETRIES if kind in table]
    if len(kinds) != 1:
        raise ModelError(f"the table must have exactly one of {', '.join(GEOMETRIES)}, not {kinds or 'none'}")
    for key in ("link", "name"):
        if not isinstance(table.get(key, ""), str):
            raise ModelError(f"'{key}' must be text, not {shortened(table[key])}")
    if "link" not in table:
        raise ModelError("'link' is missing")
    return table["link"], Shape(
        _geometry(kinds[0], table[kinds[0]], folder), placement, table.get("rgba"), table.get("name", "")
    )


def with_shapes(description: Description, shapes: Mapping[str, Iterable[tuple[str, Shape]]]) -> Description:
    """Return a copy whose links have these shapes: under "visual" and "collision" names of links, each with a shape."""
    shapes_by_link: dict[str, dict[str, list[Shape]]] = {}
    for tag, named in shapes.items():
        for name, shape in named:
            if name not in description.link_names:
                raise ModelError(f"[[{tag}]] is on the link {shortened(name)}, which does not exist")
            shapes_by_link.setdefault(name, {}).setdefault(f"{tag}s", []).append(shape)
    links = [
        link.replace(**shapes_by_link[link.name]) if link.name in shapes_by_link else link for link in description.links
    ]
    return description.replace(links=tuple(links)) if shapes_by_link else description


def _geometry(kind: str, value: Any, folder: str) -> Geometry:
    match kind:
        case "box":
            return Box(value)
        case "sphere":
            return Sphere(value)
        case "ellipsoid":
            return Ellipsoid(value)
        case "mesh":
            check_keys(value, ("file", "scale", "folder"), "mesh")
            subfolder = value.get("folder", "")
            if not isinstance(subfolder, str):
                raise ModelError(f"'folder' of a mesh must be text, not {shortened(subfolder)}")
            return Mesh(
                value.get("file", ""),
                value.get("scale", np.ones(3)),
                str(Path(folder, subfolder)) if subfolder else folder,
            )
    check_keys(value, ("radius", "length"), kind)
    if len(value) < 2:
        raise ModelError(f"a {kind} needs radius and length")
    return (Cylinder if kind == "cylinder" else Capsule)(value["radius"], value["length"])


def shape_tables(
    link: Link, placement: Callable[[FloatArray], Mapping[str, Any]], mesh_folders: bool
) -> list[tuple[str, dict[str, Any]]]:
    """Return headings and tables of a link's shapes, with the folders of meshes or without."""
    tables = []
    for heading, shapes in (("[[visual]]", link.visuals), ("[[collision]]", link.collisions)):
        for shape in shapes:
            table: dict[str, Any] = {"link": link.name}
            if shape.name:
                table["name"] = shape.name
            table[type(shape.geometry).__name__.lower()] = _written(shape.geometry, mesh_folders)
            table["placement"] = placement(shape.T_link_shape)
            if shape.rgba is not None:
                table["rgba"] = shape.rgba
            tables.append((heading, table))
    return tables


def _written(geometry: Geometry, mesh_folders: bool) -> Any:
    match geometry:
        case Box():
            return geometry.size
        case Sphere():
            return geometry.radius
        case Ellipsoid():
            return geometry.radii
        case Mesh():
            scaled = {"scale": geometry.scale} if (geometry.scale != 1.0).any() else {}
            folder = {"folder": geometry.folder} if mesh_folders and geometry.folder else {}
            return {"file": geometry.file, **scaled, **folder}
    return {"radius": geometry.radius, "length": geometry.length}
