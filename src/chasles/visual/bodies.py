"""Bodies of a robot as triangles: the shapes that its description gives, few enough triangles for a page.

Where there are too many triangles, vertices are joined that lie in one cell of a grid (Rossignac and Borrel,
"Multi-resolution 3D approximations for rendering complex scenes", 1993). One grid for all meshes of the robot gives all
of them the same resolution. Textures of meshes stay on the corners of the triangles that remain.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from os import PathLike
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import MissingExtraError, ModelError, how_to_install
from chasles.model import Description, Shape
from chasles.model.formats.mesh_files import shown_name
from chasles.model.formats.mesh_surfaces import Surface, Texture, surfaces
from chasles.model.shapes import Mesh
from chasles.visual.textures import Images, SurfaceTexture, packed_coat

Floats = NDArray[np.float64]
Kind = Literal["visual", "collision", "drawn"]
Packages = Mapping[str, str | PathLike[str]]

#: Triangles of all bodies of one kind.
MOST_TRIANGLES = 40_000
Color = tuple[float, float, float, float]
PLAIN: Color = (0.93, 0.935, 0.94, 1.0)
COLLISION: Color = (0.88, 0.48, 0.0, 0.55)
_STEPS = 8  # bisections of the grid's spacing
_MOST_NOTES = 3


_WHITE = 0.99  # of each part of a color that leaves textures as they are


class Placed(NamedTuple):
    """A surface on a link: index of its triangles, placement (4, 4), color, and whether its texture is shown."""

    link: str
    surface: int
    T_link_shape: Floats
    rgba: Color
    textured: bool = False


@dataclass
class DrawnBodies:
    """Bodies of one kind.

    Attributes
    ----------
    placed
        Surfaces on links.
    triangles
        Vertices (k, 3) and faces (m, 3) of each surface.
    coats
        Texture of each surface, or None.
    images
        Images of the textures.
    incomplete
        Links with a shape that cannot be shown.
    notes
        Reasons, one sentence for each file.
    """

    placed: list[Placed] = field(default_factory=list)
    triangles: list[tuple[Floats, NDArray[np.intp]]] = field(default_factory=list)
    coats: list[SurfaceTexture | None] = field(default_factory=list)
    images: Images = field(default_factory=Images)
    incomplete: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)

    @property
    def links(self) -> set[str]:
        """Links whose shapes are all there."""
        return {body.link for body in self.placed} - self.incomplete

    def texture(self, surface: int) -> Texture | None:
        """Return the texture of a surface."""
        coat = self.coats[surface]
        return None if coat is None else Texture(coat.uv, self.images.pixels[coat.image])

    def corners(self, link: str) -> Floats:
        """Return the corners (k, 3) of the boxes around the surfaces of a link, in its frame."""
        box_corners = [np.empty((0, 3))]
        for body in self.placed:
            if body.link == link:
                vertices = self.triangles[body.surface][0]
                ends = np.stack([vertices.min(axis=0), vertices.max(axis=0)])
                box = np.array([[ends[i, 0], ends[j, 1], ends[k, 2]] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
                box_corners.append(box @ body.T_link_shape[:3, :3].T + body.T_link_shape[:3, 3])
        return np.concatenate(box_corners)


def robot_bodies(
    description: Description,
    kind: Kind = "visual",
    packages: Packages | None = None,
    most: int = MOST_TRIANGLES,
) -> DrawnBodies:
    """Return the bodies that a description gives its links.

    A link with a shape that cannot be shown has no bodies here: it keeps its drawn shape.

    Parameters
    ----------
    description
        Robot to draw.
    kind
        Which shapes: ``"visual"`` or ``"collision"``; ``"drawn"`` for none.
    packages
        Folders of packages, by name; see `chasles.model.mesh_path`.
    most
        Largest number of triangles.

    Examples
    --------
    >>> from chasles.model import Box, Description, Link, Shape
    >>> brick = Link("brick", visuals=(Shape(Box([0.06, 0.08, 1.0])),))
    >>> robot_bodies(Description("wall", (brick,))).links
    {'brick'}
    """
    bodies = DrawnBodies()
    if kind == "drawn":
        return bodies
    reader = _Reader(bodies, kind, packages)
    for link in description.links:
        for shape in link.visuals if kind == "visual" else link.collisions:
            reader.place(link.name, shape)
    bodies.notes = _shortened(list(dict.fromkeys(reader.reasons.values())))
    bodies.triangles, face_indices = _thinned(bodies.triangles, most)
    bodies.coats = [coat and coat._replace(uv=coat.uv[k]) for coat, k in zip(bodies.coats, face_indices, strict=True)]
    bodies.placed = [
        body
        for body in bodies.placed
        if body.link not in bodies.incomplete and body.rgba[3] > 0.0 and len(bodies.triangles[body.surface][1])
    ]
    return bodies


class _Reader:
    """Reader of shapes into bodies: equal geometries are read once.

    Attributes
    ----------
    reasons
        Why shapes or textures cannot be shown, one sentence for each file.
    """

    def __init__(self, bodies: DrawnBodies, kind: Kind, packages: Packages | None) -> None:
        self.reasons: dict[str, str] = {}
        self._bodies, self._kind, self._packages = bodies, kind, packages
        self._known: dict[str | tuple[object, ...], list[tuple[int, Color | None]]] = {}
        self._textures: list[Texture | None] = []

    def place(self, link: str, shape: Shape) -> None:
        """Add the surfaces of a shape, or note that the link is incomplete."""
        key = _key(shape)
        if key not in self._known:
            try:
                shape_surfaces = surfaces(shape.geometry, self._packages)
                self._known[key] = [(self._add(shape, surface), surface.rgba) for surface in shape_surfaces]
            except (ModelError, MissingExtraError) as error:
                self.reasons[str(key)] = str(error)
                self._known[key] = []
        if not self._known[key]:
            self._bodies.incomplete.add(link)
        for number, color in self._known[key]:
            coated = self._coat(number, shape)
            rgba = COLLISION if self._kind == "collision" else _color(shape, color, coated)
            self._bodies.placed.append(Placed(link, number, np.asarray(shape.T_link_shape), rgba, coated))

    def _add(self, shape: Shape, surface: Surface) -> int:
        """Add the triangles of a surface, and return its number."""
        texture = surface.texture if self._kind == "visual" else None
        self._bodies.triangles.append((surface.vertices, surface.faces))
        self._bodies.coats.append(None)
        self._textures.append(texture)
        if texture is not None and texture.image is None:
            self.reasons.update(_why_no_texture(shape))
        return len(self._textures) - 1

    def _coat(self, number: int, shape: Shape) -> bool:
        """Whether a surface of a shape shows its texture, which is kept once."""
        texture = self._textures[number]
        if texture is None or texture.image is None or (shape.rgba is not None and min(shape.rgba[:3]) < _WHITE):
            return False
        if self._bodies.coats[number] is None:
            self._bodies.coats[number] = self._bodies.images.coat(texture)
        return True


def _color(shape: Shape, color: Color | None, coated: bool) -> Color:
    """Return the color of a surface: its shape's, else its own; below a texture its own, as clear as the shape."""
    if coated and color and shape.rgba:
        return (*color[:3], shape.rgba[3])
    return shape.rgba or color or PLAIN


def _key(shape: Shape) -> str | tuple[object, ...]:
    """Return a key that equal geometries share."""
    geometry = shape.geometry
    if isinstance(geometry, Mesh):
        return geometry.folder, geometry.file, tuple(geometry.scale.tolist())
    return repr(geometry)


def _why_no_texture(shape: Shape) -> dict[str, str]:
    """Return a sentence about an image that cannot be read, by what it is about."""
    if find_spec("PIL") is None:
        return {"textures": f"textures are read by Pillow; {how_to_install('pictures')}"}
    assert isinstance(shape.geometry, Mesh)
    reason = f"the texture of mesh {shown_name(shape.geometry)} cannot be read; the mesh has one color"
    return {f"texture of {shape.geometry.file}": reason}


def _shortened(notes: list[str]) -> list[str]:
    """Return the first notes, and the number of the others."""
    rest = len(notes) - _MOST_NOTES
    return notes if rest <= 0 else [*notes[:_MOST_NOTES], f"{rest} more meshes or textures are missing"]


Triangles = tuple[Floats, NDArray[np.intp]]


def _thinned(triangles: list[Triangles], most: int) -> tuple[list[Triangles], list[NDArray[np.intp]]]:
    """Return surfaces with at most `most` triangles, or as few as a coarse grid leaves, and their indices."""
    extent = max((float(np.ptp(vertices, axis=0).max()) for vertices, _ in triangles), default=0.0)
    if not extent > 0.0:  # each surface is a point
        return [(vertices[:0], faces[:0]) for vertices, faces in triangles], [np.arange(0) for _ in triangles]
    thinned = merged = [_on_grid(vertices, faces, 1e-6 * extent) for vertices, faces in triangles]
    fine, coarse = np.log(1e-4 * extent), np.log(0.2 * extent)
    for _ in range(_STEPS if sum(len(faces) for _, faces, _ in merged) > most else 0):
        middle = 0.5 * (fine + coarse)
        attempt = [
            _on_grid(vertices, faces, float(np.exp(middle)), face_indices) for vertices, faces, face_indices in merged
        ]
        if sum(len(faces) for _, faces, _ in attempt) <= most:
            coarse, thinned = middle, attempt
        else:
            fine = middle
    return [(vertices, faces) for vertices, faces, _ in thinned], [face_indices for _, _, face_indices in thinned]


def _on_grid(
    vertices: Floats, faces: NDArray[np.intp], spacing: float, of: NDArray[np.intp] | None = None
) -> tuple[Floats, NDArray[np.intp], NDArray[np.intp]]:
    """Join the vertices in each cell of a grid at their mean, and leave out triangles that become lines.

    The third result are the indices of the triangles that are left: their places in `faces`, or elements of `of`.
    """
    cells = np.floor(vertices / spacing)
    cells -= cells.min(axis=0)
    counts = cells.max(axis=0) + 1.0
    label = (cells[:, 0] * counts[1] + cells[:, 1]) * counts[2] + cells[:, 2]  # exact: below 2⁵³ at 1e-5 of the extent
    if counts.prod() < 2.0**53:
        _, cell_of, sizes = np.unique(label, return_inverse=True, return_counts=True)
    else:
        _, cell_of, sizes = np.unique(cells, axis=0, return_inverse=True, return_counts=True)
    cell_of = cell_of.ravel()
    mean = np.stack([np.bincount(cell_of, vertices[:, k]) for k in range(3)], axis=1) / sizes[:, None]
    corners = cell_of[faces]
    a, b, c = corners.T
    areas = np.flatnonzero((a != b) & (b != c) & (c != a))
    _, first = np.unique(np.sort(corners[areas], axis=1), axis=0, return_index=True)
    solid_faces = areas[np.sort(first)]
    vertex_indices, renamed = np.unique(corners[solid_faces], return_inverse=True)
    return mean[vertex_indices], renamed.reshape(-1, 3), solid_faces if of is None else of[solid_faces]


def packed(bodies: DrawnBodies) -> dict[str, Any]:
    """Return triangles for a page: vertices in 16 bits of each surface's box, faces in 16 or 32, all compressed.

    Returns
    -------
    dict
        ``data``: the bytes (gzip, base64), for each surface its vertices (k, 3) and faces (m, 3); ``surfaces``: numbers
        of both, whether faces have 32 bits, lowest corner of the box and spacing of its steps, m, and the description
        of its texture (see `packed_coat`) or None; ``images``: those of the textures.
    """
    pieces: list[bytes] = []
    described = []
    images = bodies.images.encoded()
    if bodies.images.pixels and not images:
        bodies.notes.append("the textures are too large for a page; the meshes have one color each")
    for (vertices, faces), coat in zip(bodies.triangles, bodies.coats, strict=True):
        low = vertices.min(axis=0) if len(vertices) else np.zeros(3)
        step = np.ptp(vertices, axis=0) / 65_535.0 if len(vertices) else np.zeros(3)
        steps = np.round((vertices - low) / np.where(step > 0.0, step, 1.0)).astype("<u2")
        wide = len(vertices) > 65_536
        content = [steps.T.tobytes(), np.ascontiguousarray(faces, "<u4" if wide else "<u2").tobytes()]
        about, coat_bytes = packed_coat(coat) if coat is not None and images else (None, [])
        pieces += [part + b"\0" * (-len(part) % 4) for part in [*content, *coat_bytes]]
        described.append([len(vertices), len(faces), wide, low.tolist(), step.tolist(), about])
    data = base64.b64encode(gzip.compress(b"".join(pieces), mtime=0)).decode("ascii")
    return {"data": data, "surfaces": described, "images": images}
