"""Triangles in pictures: smooth normals, and which triangle each pixel shows."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

#: Faces that meet at a larger angle have an edge between them.
CREASE = np.cos(np.radians(40.0))
_MOST_SAMPLES = 2_000_000  # rows or pixels examined together
_ROUNDING = 1e-9  # pixels, and shares of edges: triangles with a common edge leave no gap


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
    triangles = np.flatnonzero(usable)
    for rows in _pieces((high[triangles, 1] - low[triangles, 1]).astype(np.intp) + 1):
        own = triangles[rows]
        owner, y = _runs(low[own, 1], (high[own, 1] - low[own, 1]).astype(np.intp) + 1)
        of_row = own[owner]
        left, right = _span(places[of_row], y)
        left, right = np.maximum(np.ceil(left), 0.0), np.minimum(np.floor(right), width - 1.0)
        count = np.maximum(right - left + 1.0, 0.0).astype(np.intp)
        for columns in _pieces(count):
            owner, x = _runs(left[columns], count[columns])
            number, row = of_row[columns][owner], y[columns][owner]
            first = ((bx[number] - x) * (cy[number] - row) - (by[number] - row) * (cx[number] - x)) / twice[number]
            second = ((cx[number] - x) * (ay[number] - row) - (cy[number] - row) * (ax[number] - x)) / twice[number]
            shares = np.stack([first, second, 1.0 - first - second], axis=1) / depths[number]
            depth = 1.0 / shares.sum(axis=1)  # 1 / depth is linear in the picture
            pixel = (row * width + x).astype(np.intp)
            np.minimum.at(nearest, pixel, depth)
            won = nearest[pixel] == depth
            visible[pixel[won]] = number[won]
            weights[pixel[won]] = shares[won] * depth[won, None]
    return Fragments(visible.reshape(height, width), weights.reshape(height, width, 3), nearest.reshape(height, width))


def _span(corners: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return where the rows y (k,) enter and leave triangles with corners (k, 3, 2)."""
    left, right = np.full(len(y), np.inf), np.full(len(y), -np.inf)
    for start, end in ((0, 1), (1, 2), (2, 0)):
        (px, py), (qx, qy) = corners[:, start].T, corners[:, end].T
        with np.errstate(divide="ignore", invalid="ignore"):  # level edges end where others do
            share = (y - py) / (qy - py)
            x = px + share * (qx - px)
        crossed = (share >= -_ROUNDING) & (share <= 1.0 + _ROUNDING)
        left, right = np.where(crossed, np.minimum(left, x), left), np.where(crossed, np.maximum(right, x), right)
    return left - _ROUNDING, right + _ROUNDING


def _runs(first: Floats, count: Indices) -> tuple[Indices, Floats]:
    """Return runs of whole numbers, one behind the other: the index of each number's run, and the numbers.

    >>> _runs(np.array([5.0, 1.0]), np.array([2, 3]))
    (array([0, 0, 1, 1, 1]), array([5., 6., 1., 2., 3.]))
    """
    owner = np.repeat(np.arange(len(count)), count)
    return owner, first[owner] + (np.arange(len(owner)) - (np.cumsum(count) - count)[owner])


def _pieces(counts: Indices) -> list[slice]:
    """Return slices of a list, in each of which the counts add up to about as many as are examined together."""
    total = np.cumsum(counts)
    cuts = np.searchsorted(total, np.arange(_MOST_SAMPLES, total[-1] if len(total) else 0, _MOST_SAMPLES))
    return [slice(first, last) for first, last in pairwise([0, *cuts.tolist(), len(counts)])]
