"""Shapes of links in MJCF: the geoms of a compiled MuJoCo model, and geoms as text.

A geom that touches nothing (contype and conaffinity are 0) is drawn only. Two kinds of geoms that touch stand for the
body only where distances are asked: those in a group from 3 on, which MuJoCo's viewer hides, and those without a color
on a body that has geoms for drawing only in another group. All others do both. Planes, height fields, signed distance
fields, and boxes and the like that MuJoCo fits to a mesh are no shapes of links.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from chasles.base.errors import ModelError, warn
from chasles.geometry.quaternion_rotations import quaternion_from_rotation
from chasles.model.description import Link
from chasles.model.formats.mesh_files import Packages, mesh_path, shown_name
from chasles.model.formats.mjcf_source import mesh_files, mesh_name
from chasles.model.formats.single_freedoms import unused_name
from chasles.model.formats.xml import Element, element_text, numbers_text
from chasles.model.inertia import ModelWarning
from chasles.model.placement import FloatArray, compose, from_position_and_quaternion, inverse
from chasles.model.record import naming, shortened
from chasles.model.shapes import Box, Capsule, Cylinder, Ellipsoid, Geometry, Mesh, Shape, Sphere

if TYPE_CHECKING:
    from mujoco import MjModel

#: mjtGeom
HEIGHT_FIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH = range(1, 8)
FIRST_HIDDEN_GROUP = 3
#: Name of the class of defaults that holds everywhere.
_MAIN = "main"
MESH_SUFFIXES = (".stl", ".obj", ".msh")


def meshes(root: Element, folder: Path | None) -> dict[str, Mesh]:
    """Return the meshes of a model that are files, by name; relative names of files are in `folder`."""
    meshes_by_name = {}
    files = mesh_files(root)
    scales: dict[str, tuple[float, ...]] = {_MAIN: (1.0, 1.0, 1.0)}
    for default in root.all("default"):
        _add_scales(default, _MAIN, scales)
    for asset in root.all("asset"):
        for mesh in asset.all("mesh"):
            name = mesh_name(mesh)
            if name in files:
                usual = scales.get(mesh.attributes.get("class", _MAIN), scales[_MAIN])
                scale = np.array(mesh.numbers("scale", 3, usual))
                meshes_by_name[name] = Mesh(files[name], scale, "" if folder is None else str(folder.absolute()))
    return meshes_by_name


def _add_scales(default: Element, name: str, scales: dict[str, tuple[float, ...]]) -> None:
    """Add the scale of meshes that a class of defaults says, and those of the classes inside it."""
    for mesh in default.all("mesh"):
        scales[name] = mesh.numbers("scale", 3, scales[name])
    for inner in default.all("default"):
        inner_name = inner.attributes.get("class", _MAIN)
        scales[inner_name] = scales[name]
        _add_scales(inner, inner_name, scales)


def shapes(
    model: MjModel, body: int, files: Mapping[str, Mesh], complaints: list[str]
) -> tuple[tuple[Shape, ...], tuple[Shape, ...]]:
    """Return the visuals and collisions of a body of a compiled model, as a link has them.

    Parameters
    ----------
    model
        A `mujoco.MjModel`.
    body
        Number of the body.
    files
        The meshes that are files, by name.
    complaints
        Is given a sentence for each geom that is left out.
    """
    visuals, collisions = [], []
    first = int(model.body_geomadr[body])
    numbers = range(first, first + int(model.body_geomnum[body]))
    drawn_groups = {int(model.geom_group[number]) for number in numbers if not _touches(model, number)}
    for number in numbers:
        name = model.geom(number).name
        with naming(f"geom {shortened(name or f'number {number}')}"):
            try:
                shape = _shape(model, number, name, files)
            except ModelError as error:
                complaints.append(str(error))
                continue
        if shape is None:
            continue
        if not _touches(model, number):
            visuals.append(shape)
            continue
        collisions.append(shape)
        group = int(model.geom_group[number])
        replaced = not _has_color(model, number) and bool(drawn_groups - {group})
        if group < FIRST_HIDDEN_GROUP and not replaced:
            visuals.append(shape)
    return tuple(visuals), tuple(collisions)


def _touches(model: MjModel, number: int) -> bool:
    return bool(model.geom_contype[number] or model.geom_conaffinity[number])


def _has_color(model: MjModel, number: int) -> bool:
    return int(model.geom_matid[number]) >= 0 or not _is_grey(model.geom_rgba[number])


def _is_grey(rgba: FloatArray) -> bool:
    """Whether a color is the one of geoms whose description gives none."""
    return bool(np.asarray(rgba).tolist() == [0.5, 0.5, 0.5, 1.0])


def _shape(model: MjModel, number: int, name: str, files: Mapping[str, Mesh]) -> Shape | None:
    kind, size = int(model.geom_type[number]), np.array(model.geom_size[number])
    T = from_position_and_quaternion(model.geom_pos[number], model.geom_quat[number])
    geometry: Geometry
    if kind == SPHERE:
        geometry = Sphere(size[0])
    elif kind == CAPSULE:
        geometry = Capsule(size[0], 2.0 * size[1])
    elif kind == ELLIPSOID:
        geometry = Ellipsoid(size)
    elif kind == CYLINDER:
        geometry = Cylinder(size[0], 2.0 * size[1])
    elif kind == BOX:
        geometry = Box(2.0 * size)
    elif kind == MESH:
        mesh = int(model.geom_dataid[number])
        mesh_of_geom = model.mesh(mesh).name
        if mesh_of_geom not in files:
            raise ModelError(f"its mesh {shortened(mesh_of_geom)} is not a file")
        geometry = files[mesh_of_geom]
        # MuJoCo moves the vertices into principal axes, and the geom back.
        T = compose(T, inverse(from_position_and_quaternion(model.mesh_pos[mesh], model.mesh_quat[mesh])))
    else:
        return None
    material = int(model.geom_matid[number])
    of_geom = np.array(model.geom_rgba[number], dtype=np.float64)
    color = of_geom if material < 0 or not _is_grey(of_geom) else np.array(model.mat_rgba[material])
    red, green, blue, opacity = np.round(color.astype(np.float64), 7).tolist()  # they come in single precision
    return Shape(geometry, T, (red, green, blue, opacity), name)


def geom_lines(link: Link, meshes_written: Mapping[Mesh, str], names: set[str]) -> list[str]:
    """Return the geoms of a link, but for meshes that have no name in `meshes_written`, and shapes without extent.

    Parameters
    ----------
    link
        The link.
    meshes_written
        Names of the mesh assets in the file.
    names
        Names of geoms in the file; those of the link are added.
    """
    lines = []
    for shape in dict.fromkeys((*link.visuals, *link.collisions)):
        attributes = {"name": unused_name(shape.name, names)} if shape.name else {}
        match shape.geometry:
            case Box(size=size) | Ellipsoid(radii=size) if not size.all():
                continue
            case Sphere(radius=0.0) | Cylinder(radius=0.0) | Capsule(radius=0.0) | Cylinder(length=0.0):
                continue
            case Mesh():
                if shape.geometry not in meshes_written:
                    continue
                attributes |= {"type": "mesh", "mesh": meshes_written[shape.geometry]}
            case Box(size=size):
                attributes |= {"type": "box", "size": numbers_text(0.5 * size)}
            case Sphere(radius=radius):
                attributes |= {"type": "sphere", "size": numbers_text([radius])}
            case Ellipsoid(radii=radii):
                attributes |= {"type": "ellipsoid", "size": numbers_text(radii)}
            case Cylinder(radius=radius, length=length) | Capsule(radius=radius, length=length):
                kind = type(shape.geometry).__name__.lower()
                attributes |= {"type": kind, "size": numbers_text([radius, 0.5 * length])}
        if shape not in link.collisions:
            attributes |= {"contype": "0", "conaffinity": "0"}
        elif shape not in link.visuals:
            attributes["group"] = str(FIRST_HIDDEN_GROUP)
        if shape.rgba is not None:
            attributes["rgba"] = numbers_text(shape.rgba)
        lines.append(element_text("geom", attributes | pose(shape.T_link_shape)))
    return lines


def named_meshes(links: Iterable[Link], packages: Packages | None) -> tuple[dict[Mesh, str], list[str]]:
    """Return names for the meshes of a robot that MuJoCo can read, and the lines of their assets.

    Warns
    -----
    ModelWarning
        Files are not there, or in a format that MuJoCo does not read; they are left out.
    """
    names: dict[Mesh, str] = {}
    lines: list[str] = []
    left_out: list[str] = []
    everything = (shape.geometry for link in links for shape in (*link.visuals, *link.collisions))
    for mesh in dict.fromkeys(geometry for geometry in everything if isinstance(geometry, Mesh)):
        try:
            path = mesh_path(mesh, packages)
        except ModelError as error:
            left_out.append(str(error))
            continue
        if path.suffix.lower() not in MESH_SUFFIXES:
            left_out.append(f"MuJoCo reads no mesh of type '{path.suffix}': {shown_name(mesh)}")
            continue
        names[mesh] = f"mesh{len(names) + 1}"
        asset = {"name": names[mesh], "file": str(path.absolute()), "scale": numbers_text(mesh.scale)}
        lines.append(element_text("mesh", asset))
    if left_out:
        warn(f"{len(left_out)} meshes are left out: {'; '.join(left_out[:2])}", ModelWarning)
    return names, lines


def pose(T: FloatArray) -> dict[str, str]:
    """Return a placement as the attributes pos and quat, without those that are zero."""
    attributes = {"pos": numbers_text(T[:3, 3])} if T[:3, 3].any() else {}
    if (T[:3, :3] != np.eye(3)).any():
        attributes["quat"] = numbers_text(quaternion(T))
    return attributes


def quaternion(T: FloatArray) -> list[float]:
    """Return the rotation of a placement as a quaternion w, x, y, z."""
    values: list[float] = np.asarray(quaternion_from_rotation.formula(T[:3, :3])).tolist()
    return values
