"""Triangles of geometries: meshes read from their files by trimesh, and solids that need no file."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ModelError, import_extra
from chasles.model.formats.mesh_files import Packages, mesh_path, shown_name
from chasles.model.record import shortened
from chasles.model.shapes import Box, Capsule, Cylinder, Ellipsoid, Geometry, Mesh, Sphere

Floats = NDArray[np.float64]

#: Larger files are refused: reading takes about ten times their size in memory.
LARGEST_FILE = 400_000_000  # bytes
#: Endings of the files that are read. Archives are not: nothing bounds what is in them.
ENDINGS = (".stl", ".obj", ".dae", ".glb", ".gltf", ".ply", ".off")
_AROUND, _UPWARD = 32, 8  # corners of a circle; rings of a half sphere
_WIDEST_IMAGE = 1024  # pixels of a texture, wide or high; larger ones are scaled down


class Texture(NamedTuple):
    """Image on a surface.

    Attributes
    ----------
    uv
        Place of the corners of each triangle in the image, shape (m, 3, 2): (0, 0) is its lower left corner, (1, 1) the
        upper right; beyond these the image repeats.
    image
        Pixels, shape (height, width, 3), sRGB; None if the image cannot be read.
    """

    uv: Floats
    image: NDArray[np.uint8] | None

    def colors(self, uv: Floats) -> Floats:
        """Return the colors (..., 3) at places (..., 2) of the image, each part from 0 to 1."""
        assert self.image is not None
        height, width = self.image.shape[:2]
        part = uv - np.floor(uv)
        column = np.minimum((part[..., 0] * width).astype(np.intp), width - 1)
        row = np.minimum(((1.0 - part[..., 1]) * height).astype(np.intp), height - 1)
        return np.asarray(self.image[row, column] / 255.0)


class Surface(NamedTuple):
    """Triangles of one color.

    Attributes
    ----------
    vertices
        Points in the frame of the shape, shape (k, 3), m.
    faces
        Indices of the corners of each triangle, counter-clockwise seen from outside, shape (m, 3).
    rgba
        Color that the file gives, or the mean color of its texture, each part from 0 to 1; None if it gives none.
    texture
        Image on the surface; None if the file gives none.
    """

    vertices: Floats
    faces: NDArray[np.intp]
    rgba: tuple[float, float, float, float] | None = None
    texture: Texture | None = None


def surfaces(geometry: Geometry, packages: Packages | None = None) -> tuple[Surface, ...]:
    """Return the triangles of a geometry, one surface for each color or image of a mesh.

    STL, OBJ, DAE, GLB, PLY and other formats of trimesh are read (extra ``meshes``), their images with Pillow (extra
    ``pictures``). The unit of a DAE file counts, its ``up_axis`` does not, as in RViz.

    Parameters
    ----------
    geometry
        Geometry of a shape.
    packages
        Folders of packages, by name; see `chasles.model.mesh_path`.

    Raises
    ------
    ModelError
        The file of a mesh is not there or cannot be read.
    MissingExtraError
        The geometry is a mesh, and trimesh is not installed.

    Examples
    --------
    >>> (cube,) = surfaces(Box([0.2, 0.2, 0.2]))
    >>> cube.vertices.shape, cube.faces.shape
    ((8, 3), (12, 3))
    """
    match geometry:
        case Mesh():
            return _read(geometry, mesh_path(geometry, packages))
        case Box():
            corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
            quads = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])
            return (Surface(corners * geometry.size, np.concatenate([quads[:, :3], quads[:, [0, 2, 3]]])),)
        case Sphere():
            return (_revolved(geometry.radius * _half_circle(-1.0), geometry.radius * _half_circle(1.0)),)
        case Ellipsoid():
            ball = _revolved(_half_circle(-1.0), _half_circle(1.0))
            return (Surface(ball.vertices * geometry.radii, ball.faces),)
        case Cylinder():
            r, h = geometry.radius, 0.5 * geometry.length
            return (_revolved(np.array([[0.0, -h], [r, -h]]), np.array([[r, h], [0.0, h]])),)
        case Capsule():
            shift = np.array([0.0, 0.5 * geometry.length])
            low, high = (geometry.radius * _half_circle(end) for end in (-1.0, 1.0))
            return (_revolved(low - shift, high + shift),)


def _half_circle(end: float) -> Floats:
    """Radius and height of points from the pole to the equator (end −1) or from the equator to the pole (end 1)."""
    angles = np.linspace(0.0, 0.5 * np.pi, _UPWARD + 1) + (0.0 if end > 0.0 else -0.5 * np.pi)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def _revolved(*profile: Floats) -> Surface:
    """Surface of revolution about z of a profile of radii and heights, from the lowest point on the axis upward."""
    r, z = np.concatenate(profile).T
    angles = 2.0 * np.pi * np.arange(_AROUND) / _AROUND
    x, y = np.outer(r, np.cos(angles)), np.outer(r, np.sin(angles))
    vertices = np.stack([x, y, np.broadcast_to(z[:, None], x.shape)], axis=-1).reshape(-1, 3)
    ring, corner = np.meshgrid(np.arange(len(r) - 1), np.arange(_AROUND), indexing="ij")
    a, b = (ring * _AROUND + corner).ravel(), (ring * _AROUND + (corner + 1) % _AROUND).ravel()
    faces = np.concatenate([np.stack([a, b, b + _AROUND], axis=1), np.stack([a, b + _AROUND, a + _AROUND], axis=1)])
    return Surface(vertices, faces)


def _read(mesh: Mesh, path: Path) -> tuple[Surface, ...]:
    if path.suffix.lower() not in ENDINGS:
        raise ModelError(f"mesh {shown_name(mesh)} cannot be read: meshes end in {', '.join(ENDINGS)}")
    size = path.stat().st_size
    if size > LARGEST_FILE:
        raise ModelError(f"mesh {shown_name(mesh)} has {size / 1e6:.0f} MB; at most {LARGEST_FILE / 1e6:.0f} are read")
    trimesh = import_extra("trimesh", "meshes", "reading the meshes of a robot")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about missing images and normals
            surfaces, unit = _loaded(trimesh, path)
    except Exception as error:  # readers of many formats raise whatever their parsers raise
        reason = f"{type(error).__name__}: {error}"
        raise ModelError(f"mesh {shown_name(mesh)} cannot be read: {shortened(reason)}") from None
    if not surfaces or not all(np.isfinite(part.vertices).all() for part in surfaces):
        raise ModelError(f"mesh {shown_name(mesh)} cannot be read: it has no triangles with finite vertices")
    factors = unit * mesh.scale
    mirrored = factors.prod() < 0.0  # then the corners turn the other way
    return tuple(_scaled(part, factors, mirrored) for part in surfaces)


def _loaded(trimesh: Any, path: Path) -> tuple[list[Surface], float]:
    """Return the surfaces in a file and the length of its unit in m; if an image is damaged, without images."""
    unit = 1.0
    for images in (True, False):
        resolver = _files_beside(trimesh, path)
        try:
            skipped = {} if images else {"skip_materials": True}
            scene = trimesh.load(str(path), force="scene", resolver=resolver, **skipped)
            unit = _metres(scene.units) if path.suffix.lower() == ".dae" else 1.0
            parts = [part for part in scene.dump() if len(getattr(part, "faces", ()))]
            surfaces = [_surface(part, lacks_files=bool(resolver.refused)) for part in parts]
            break
        except OSError:  # as decoders of images raise
            if not images:
                raise
    return surfaces if images else [
        part._replace(texture=Texture(np.empty((0, 3, 2)), None)) for part in surfaces
    ], unit


def _files_beside(trimesh: Any, path: Path) -> Any:
    """Return what finds the files that a mesh names, in its folder, and keeps the names of those that it refuses."""

    class FilesBeside(trimesh.resolvers.FilePathResolver):  # type: ignore[misc]  # trimesh is imported when first used
        refused: list[str]

        def get(self, name: str) -> bytes:
            try:
                return bytes(super().get(name))
            except (OSError, ValueError):
                self.refused.append(name)
                raise

    resolver = FilesBeside(str(path))
    resolver.refused = []
    return resolver


def _scaled(part: Surface, factors: Floats, mirrored: bool) -> Surface:
    if not mirrored:
        return part._replace(vertices=part.vertices * factors)
    texture = part.texture and part.texture._replace(uv=part.texture.uv[:, ::-1])
    return Surface(part.vertices * factors, part.faces[:, ::-1], part.rgba, texture)


def _metres(unit: str | None) -> float:
    """Return the length of a DAE file's unit, of which trimesh says ``"0.01 * meters"``."""
    factor = (unit or "").partition(" * ")
    return float(factor[0]) if factor[2] == "meters" else 1.0


def _surface(part: Any, lacks_files: bool) -> Surface:
    """Return the surface that trimesh read, of a mesh some of whose files are not there or not."""
    vertices, faces = np.asarray(part.vertices, dtype=np.float64), np.asarray(part.faces, dtype=np.intp)
    texture, rgba = _texture(part, faces, lacks_files), _color(part)
    if texture is not None and texture.image is not None:
        red, green, blue = texture.colors(texture.uv).mean(axis=(0, 1)).tolist()
        rgba = red, green, blue, 1.0 if rgba is None else rgba[3]
    return Surface(vertices, faces, rgba, texture)


def _texture(part: Any, faces: NDArray[np.intp], lacks_files: bool) -> Texture | None:
    """Return the image of a part, scaled down if it is large; without pixels if it names one that cannot be read."""
    uv, material = getattr(part.visual, "uv", None), getattr(part.visual, "material", None)
    if uv is None or len(uv) != len(part.vertices) or not np.isfinite(uv).all():
        return None
    corners = np.asarray(uv, dtype=np.float64)[faces]
    image = getattr(material, "image", None) or getattr(material, "baseColorTexture", None)
    if image is None:
        return Texture(corners, None) if lacks_files or find_spec("PIL") is None else None
    try:
        small = image.convert("RGB")
        small.thumbnail((_WIDEST_IMAGE, _WIDEST_IMAGE))
        pixels = np.asarray(small, dtype=np.float64)
    except Exception:  # damaged images raise whatever their decoders raise
        return Texture(corners, None)
    factor = getattr(material, "baseColorFactor", None)
    if factor is not None:
        pixels = pixels * (np.asarray(factor, dtype=np.float64)[:3] / 255.0).clip(0.0, 1.0)
    return Texture(corners, pixels.astype(np.uint8))


def _color(part: Any) -> tuple[float, float, float, float] | None:
    """Return the color of a part: of its material, or the mean of its faces."""
    visual = part.visual
    if visual.kind is None:
        return None
    raw = visual.material.main_color if hasattr(visual, "material") else np.mean(visual.face_colors, axis=0)
    red, green, blue, opacity = (np.asarray(raw, dtype=np.float64)[:4] / 255.0).clip(0.0, 1.0).tolist()
    return red, green, blue, opacity
