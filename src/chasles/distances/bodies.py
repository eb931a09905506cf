"""Bodies for distance computation: capsules and spheres on links or in the world, and half-spaces.

A capsule is the set of points within a radius of a segment; a sphere is a capsule with a point as its segment. Capsules
enclose the shapes of a description, so that computed distances are never too large.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os import PathLike

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.base.sealed import Sealed
from chasles.distances.enclosing import enclosing_capsules
from chasles.engine.validators import real, reals
from chasles.model import Description

Floats = NDArray[np.float64]


class Body(Sealed):
    """A capsule or a sphere, on a link or in the world.

    Parameters
    ----------
    frame
        Name of the link or frame that carries it; None for an obstacle in the world.
    start, end
        Ends of the segment in the axes of the frame, (3,), m; without an end the body is a sphere.
    radius
        Radius, m, not negative.
    name
        Name in results; default that of the frame.

    Examples
    --------
    >>> Body("link2", [0.0, 0.0, 0.0], [0.25, 0.0, 0.0], radius=0.05)
    Body('link2', [0.0, 0.0, 0.0], [0.25, 0.0, 0.0], radius=0.05)
    """

    def __init__(
        self,
        frame: str | None,
        start: ArrayLike = (0.0, 0.0, 0.0),
        end: ArrayLike | None = None,
        *,
        radius: float,
        name: str = "",
    ) -> None:
        self.frame = frame
        self.start = reals(start, "start", (3,))
        self.end = self.start if end is None else reals(end, "end", (3,))
        self.radius = real(radius, "radius", at_least=0.0)
        self.name = name or frame or "obstacle"

    @property
    def is_sphere(self) -> bool:
        """Whether the segment is a point."""
        return bool((self.start == self.end).all())

    def __repr__(self) -> str:
        return f"Body({self.frame!r}, {self.start.tolist()}, {self.end.tolist()}, radius={self.radius:g})"


class HalfSpace(Sealed):
    """Everything behind a plane of the world, such as the ground.

    Parameters
    ----------
    point
        A point of the plane, (3,), m.
    normal
        Outward normal, (3,), of any length above zero.
    name
        Name in results.

    Examples
    --------
    >>> HalfSpace().normal
    array([0., 0., 1.])
    """

    frame = None

    def __init__(
        self, point: ArrayLike = (0.0, 0.0, 0.0), normal: ArrayLike = (0.0, 0.0, 1.0), *, name: str = "half-space"
    ) -> None:
        self.point = reals(point, "point", (3,))
        given = reals(normal, "normal", (3,))
        if not np.linalg.norm(given) > 0.0:
            raise ArgumentError("the normal of a half-space must not be zero")
        self.normal = given / np.linalg.norm(given)
        self.name = name

    def __repr__(self) -> str:
        return f"HalfSpace({self.point.tolist()}, {self.normal.tolist()})"


def fitted_bodies(
    description: Description, packages: Mapping[str, str | PathLike[str]] | None = None, *, pieces: int = 1
) -> tuple[Body, ...]:
    """Capsules and spheres that enclose the collision shapes of all links.

    Cylinders, ellipsoids and boxes get the smallest capsule along one of their axes, or a sphere. Meshes (which need
    the extra ``meshes``) get a capsule along one of their principal axes.

    Parameters
    ----------
    description
        The robot as data.
    packages
        Folders of the packages that hold the meshes, by name; see `chasles.model.mesh_path`.
    pieces
        Largest number of capsules around one shape. Shapes are cut as long as that reduces the capsules' volume.

    Raises
    ------
    ModelError
        The file of a mesh is missing or cannot be read.
    MissingExtraError
        The robot has meshes, and trimesh is not installed.

    Examples
    --------
    >>> from chasles.model import Box, Description, Link, Shape
    >>> brick = Link("brick", collisions=(Shape(Box([0.06, 0.08, 1.0])),))
    >>> fitted_bodies(Description("wall", (brick,)))
    (Body('brick', [0.0, 0.0, -0.5], [0.0, 0.0, 0.5], radius=0.05),)
    """
    bodies = []
    for link in description.links:
        for shape in link.collisions:
            R, p = shape.T_link_shape[:3, :3], shape.T_link_shape[:3, 3]
            for start, end, radius in enclosing_capsules(shape.geometry, pieces, packages):
                bodies.append(Body(link.name, p + R @ start, p + R @ end, radius=radius))
    return tuple(bodies)


def pairs_of(
    description: Description, bodies: tuple[Body, ...], obstacles: tuple[Body | HalfSpace, ...]
) -> Iterator[tuple[Body, Body | HalfSpace]]:
    """Pairs of bodies that can come nearer to each other, and of moving bodies with obstacles.

    Bodies of one link, of links that are fixed to each other, and of links that a joint connects are no pairs, nor are
    those of the description's disabled pairs.
    """
    disabled = {frozenset(pair) for pair in description.disabled_pairs}
    links = {body: description.frame(body.frame).link for body in bodies if body.frame is not None}
    group = {description.root: description.root}  # by link: the first of those that are fixed to it
    for joint in description.ordered_joints:
        group[joint.child] = joint.child if joint.moves else group[joint.parent]
    neighbours = {frozenset((group[joint.parent], group[joint.child])) for joint in description.joints if joint.moves}
    groups = {body: group[link] for body, link in links.items()}
    for k, first in enumerate(bodies):
        for second in bodies[k + 1 :]:
            between = frozenset((groups[first], groups[second]))
            if len(between) == 2 and between not in neighbours and {links[first], links[second]} not in disabled:
                yield first, second
    for body in bodies:
        if groups[body] != description.root:
            yield from ((body, obstacle) for obstacle in obstacles)
