"""Capsules that enclose shapes: one around a shape, or several around its pieces."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.model.formats.mesh_surfaces import surfaces
from chasles.model.shapes import Box, Capsule, Cylinder, Ellipsoid, Geometry, Mesh, Sphere

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Packages = Mapping[str, str | PathLike[str]]

LARGEST_TRIANGLE = 0.1
"""Length of the edges of the triangles that are shared out among pieces, relative to the shape."""
CUTS = (0.3, 0.5, 0.7)
"""Places of the cuts that are tried, from end to end of a piece."""


class Enclosure(NamedTuple):
    """Capsule: all points within `radius` of the segment from `start` to `end`, in the axes of the shape, m."""

    start: Floats
    end: Floats
    radius: float

    @property
    def volume(self) -> float:
        """Volume, m³."""
        return float(np.pi * self.radius**2 * (np.linalg.norm(self.end - self.start) + 4.0 / 3.0 * self.radius))


def enclosing_capsules(geometry: Geometry, pieces: int = 1, packages: Packages | None = None) -> list[Enclosure]:
    """Return at most `pieces` capsules that enclose the surface of a geometry.

    The piece with the largest capsule is cut in two, across one of its axes, where the capsules of both parts have the
    least volume, while that is less than before.

    Examples
    --------
    A slab is better enclosed by four capsules than by one:

    >>> one, four = (enclosing_capsules(Box([0.4, 0.4, 0.1]), pieces) for pieces in (1, 4))
    >>> len(four), sum(part.volume for part in four) < 0.6 * one[0].volume
    (4, True)
    """
    if pieces == 1 or isinstance(geometry, Sphere | Capsule):
        return [_around_shape(geometry, packages)]
    triangles = _small(np.concatenate([each.vertices[each.faces] for each in surfaces(geometry, packages)]))
    vertices, corners = np.unique(triangles.reshape(-1, 3), axis=0, return_inverse=True)
    faces = corners.reshape(-1, 3)
    parts = [(faces, _around_faces(vertices, faces))]
    while len(parts) < pieces:
        largest = max(range(len(parts)), key=lambda k: parts[k][1].volume)
        halves = _halved(vertices, parts[largest][0])
        if sum(half.volume for _, half in halves) >= parts[largest][1].volume:
            break
        parts[largest : largest + 1] = halves
    return [capsule for _, capsule in parts]


def _small(triangles: Floats) -> Floats:
    """The same surface (m, 3, 3) in triangles whose edges are short."""
    longest = LARGEST_TRIANGLE * float(np.ptp(triangles.reshape(-1, 3), axis=0).max())
    done: list[Floats] = []
    while len(triangles):
        lengths = np.linalg.norm(triangles - np.roll(triangles, -1, axis=1), axis=2)
        large = lengths.max(axis=1) > longest
        done.append(triangles[~large])
        rows, first = np.arange(int(large.sum())), lengths[large].argmax(axis=1)
        a, b, c = (triangles[large][rows, (first + k) % 3] for k in range(3))
        middle = 0.5 * (a + b)
        triangles = np.concatenate([np.stack([a, middle, c], axis=1), np.stack([middle, b, c], axis=1)])
    return np.concatenate(done)


def _halved(vertices: Floats, faces: Indices) -> list[tuple[Indices, Enclosure]]:
    """Two parts of a surface with the capsules of least volume, or the surface twice if it cannot be cut."""
    best = [(faces, _around_faces(vertices, faces))] * 2
    middles = vertices[faces].mean(axis=1)
    for axis in _axes(middles):
        places = middles @ axis
        for share in CUTS:
            low = places < places.min() + share * np.ptp(places)
            if low.any() and not low.all():
                halves = [(part, _around_faces(vertices, part)) for part in (faces[low], faces[~low])]
                best = min(best, halves, key=lambda pair: pair[0][1].volume + pair[1][1].volume)
    return best


def _around_faces(vertices: Floats, faces: Indices) -> Enclosure:
    used = np.zeros(len(vertices), dtype=bool)
    used[faces] = True
    return _smallest(vertices[used], _axes(vertices[used]))


def _axes(points: Floats) -> Floats:
    """Principal axes of points, and those of their frame."""
    spread = (points - points.mean(axis=0)).T @ (points - points.mean(axis=0))
    return np.vstack([np.linalg.eigh(spread)[1].T, np.eye(3)])


def _around_shape(geometry: Geometry, packages: Packages | None) -> Enclosure:
    z = np.array([0.0, 0.0, 1.0])
    match geometry:
        case Sphere():
            return Enclosure(0.0 * z, 0.0 * z, geometry.radius)
        case Capsule() | Cylinder():  # a capsule of equal length encloses the cylinder, its rims included
            return Enclosure(-0.5 * geometry.length * z, 0.5 * geometry.length * z, geometry.radius)
        case Ellipsoid():
            longest = int(np.argmax(geometry.radii))
            radius = float(np.sort(geometry.radii)[1])
            end = (geometry.radii[longest] - radius) * np.eye(3)[longest]
            return Enclosure(-end, end, radius)
        case Box():
            corners = np.array([[x, y, w] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for w in (-0.5, 0.5)])
            return _smallest(corners * geometry.size, np.eye(3))
        case Mesh():
            vertices = np.concatenate([surface.vertices for surface in surfaces(geometry, packages)])
            return _smallest(vertices, _axes(vertices))


def _smallest(points: Floats, axes: Floats) -> Enclosure:
    """The capsule of least volume around points (k, 3) along one of some axes."""
    return min((*(_along(points, axis) for axis in axes), _around(points)), key=lambda capsule: capsule.volume)


def _around(points: Floats) -> Enclosure:
    """A sphere around points."""
    centre = 0.5 * (points.min(axis=0) + points.max(axis=0))
    return Enclosure(centre, centre, float(np.linalg.norm(points - centre, axis=1).max()))


def _along(points: Floats, axis: Floats) -> Enclosure:
    """The shortest capsule around points, on an axis through the middle of their shadow along it."""
    _, _, basis = np.linalg.svd(axis[None])
    across = points @ basis[1:].T
    middle = 0.5 * (across.min(axis=0) + across.max(axis=0))
    distances = np.linalg.norm(across - middle, axis=1)
    radius = float(distances.max())
    along = points @ axis
    caps = np.sqrt(np.maximum(radius**2 - distances**2, 0.0))
    low, high = float((along + caps).min()), float((along - caps).max())
    if low > high:
        low = high = 0.5 * (low + high)
        radius = float(np.hypot(distances, along - low).max())
    return Enclosure(middle @ basis[1:] + low * axis, middle @ basis[1:] + high * axis, radius)
