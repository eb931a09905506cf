"""Triangles in pictures: smooth normals, and which triangle each pixel shows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

#: Faces that meet at a larger angle have an edge between them.
CREASE = np.cos(np.radians(40.0))
_MOST_SAMPLES = 2_000_000  # pixels examined together


class Fragments(NamedTuple):
    """What the pixels of a picture show: index of the triangle, −1 for none, weights of its corners, and depth."""

    triangle: Indices
    weights: Floats
    depth: Floats


def corner_normals(vertices: Floats, faces: Indices) -> Floats:
    """Return unit normals (m, 3, 3) at the corners of faces, the mean of faces that meet there without an edge."""
    sides = np.diff(vertices[faces], axis=1)
    areas = np.cross(sides[:, 0], sides[:, 1])
    units = areas / np.maximum(np.linalg.norm(areas, axis=1, keepdims=True), 1e-300)
    corner = np.argsort(faces.ravel(), kind="stable")
    count = np.bincount(faces.ravel(), minlength=len(vertices))
    first = np.concatenate([[0], np.cumsum(count)[:-1]])
    # All pairs of corners at one vertex.
    corner_of_pair = np.repeat(corner, count[faces.ravel()[corner]])
    start = first[faces.ravel()[corner_of_pair]]
    run = np.arange(len(corner_of_pair)) - np.repeat(
        np.concatenate([[0], np.cumsum(count[faces.ravel()[corner]])[:-1]]), count[faces.ravel()[corner]]
    )
    other = corner[start + run]
    smooth = np.einsum("ij,ij->i", units[corner_of_pair // 3], units[other // 3]) > CREASE
    total = np.zeros((faces.size, 3))
    for axis in range(3):
        total[:, axis] = np.bincount(corner_of_pair[smooth], areas[other[smooth] // 3, axis], minlength=faces.size)
    total /= np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-300)
    return total.reshape(-1, 3, 3)


def drawn(places: Floats, depths: Floats, size: tuple[int, int]) -> Fragments:
    """Return the triangle that each pixel of a picture shows.

    Parameters
    ----------
    places
        Corners of the triangles in the picture, (m, 3, 2), pixels, whole numbers at the centers of pixels.
    depths
        Their distances in front of the camera, (m, 3); triangles with a corner behind it are left out.
    size
        Width and height, pixels.
    """
    width, height = size
    nearest = np.full(width * height, np.inf)
    visible = np.full(width * height, -1, dtype=np.intp)
    weights = np.zeros((width * height, 3))
    low = np.maximum(np.ceil(places.min(axis=1)), 0.0)
    high = np.minimum(np.floor(places.max(axis=1)), [width - 1.0, height - 1.0])
    (ax, ay), (bx, by), (cx, cy) = (places[:, k].T for k in range(3))
    twice = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
    usable = (depths > 0.0).all(axis=1) & (low <= high).all(axis=1) & (twice != 0.0) & np.isfinite(twice)
    extent = np.where(usable, (high - low).max(axis=1) + 1.0, 0.0)
    edge = 1
    remaining = np.flatnonzero(usable)
    while remaining.size:
        small = remaining[extent[remaining] <= edge]
        remaining = remaining[extent[remaining] > edge]
        dy, dx = np.divmod(np.arange(edge * edge), edge)
        for part in np.array_split(small, max(1, small.size * edge * edge // _MOST_SAMPLES)):
            x, y = low[part, :1] + dx, low[part, 1:] + dy
            first = ((bx[part, None] - x) * (cy[part, None] - y) - (by[part, None] - y) * (cx[part, None] - x)) / twice[
                part, None
            ]
            second = (
                (cx[part, None] - x) * (ay[part, None] - y) - (cy[part, None] - y) * (ax[part, None] - x)
            ) / twice[part, None]
            third = 1.0 - first - second
            inside = (
                (np.minimum(np.minimum(first, second), third) >= -1e-9) & (x <= high[part, :1]) & (y <= high[part, 1:])
            )
            row, column = np.nonzero(inside)
            number = part[row]
            shares = np.stack([first[row, column], second[row, column], third[row, column]], axis=1) / depths[number]
            depth = 1.0 / shares.sum(axis=1)  # 1 / depth is linear in the picture
            pixel = (y[row, column] * width + x[row, column]).astype(np.intp)
            np.minimum.at(nearest, pixel, depth)
            won = nearest[pixel] == depth
            visible[pixel[won]] = number[won]
            weights[pixel[won]] = shares[won] * depth[won, None]
        edge *= 2
    return Fragments(visible.reshape(height, width), weights.reshape(height, width, 3), nearest.reshape(height, width))
