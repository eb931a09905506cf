"""Shapes of links, for pictures and for distances. They do not affect the mechanics.

A link has `visuals`, which are drawn, and `collisions`, which represent the link in distance queries. Each is a
`Shape`: a geometry, where it is on the link, its color and its name.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ModelError
from chasles.model.numbers import frozen_array, number
from chasles.model.placement import frozen_placement
from chasles.model.record import DescriptionRecord, shortened


@dataclass(frozen=True, eq=False)
class Box(DescriptionRecord):
    """Cuboid centred at its frame; `size` holds its full edge lengths along x, y and z, shape (3,), m."""

    size: NDArray[np.float64]

    def __post_init__(self) -> None:
        self._set(size=_sizes(self.size, "size of a box"))


@dataclass(frozen=True, eq=False)
class Sphere(DescriptionRecord):
    """Sphere centred at its frame, with this radius, m."""

    radius: float

    def __post_init__(self) -> None:
        self._set(radius=_size(self.radius, "radius of a sphere"))


@dataclass(frozen=True, eq=False)
class Ellipsoid(DescriptionRecord):
    """Ellipsoid centred at its frame; `radii` are its semi-axes along x, y and z, shape (3,), m."""

    radii: NDArray[np.float64]

    def __post_init__(self) -> None:
        self._set(radii=_sizes(self.radii, "radii of an ellipsoid"))


@dataclass(frozen=True, eq=False)
class Cylinder(DescriptionRecord):
    """Cylinder centred at its frame, its axis along z, with this radius and full length, m."""

    radius: float
    length: float

    def __post_init__(self) -> None:
        self._set(radius=_size(self.radius, "radius of a cylinder"), length=_size(self.length, "length of a cylinder"))


@dataclass(frozen=True, eq=False)
class Capsule(DescriptionRecord):
    """Capsule centred at its frame, its axis along z; `length` is the distance between the two spheres' centres, m."""

    radius: float
    length: float

    def __post_init__(self) -> None:
        self._set(radius=_size(self.radius, "radius of a capsule"), length=_size(self.length, "length of a capsule"))


@dataclass(frozen=True, eq=False)
class Mesh(DescriptionRecord):
    """Mesh in a file, opened only when needed; `chasles.model.mesh_path` finds it.

    Parameters
    ----------
    file
        File name in the model: a path relative to the model's folder, an absolute path, or an address that begins with
        ``package://``, ``model://`` or ``file://``.
    scale
        Scale factors along x, y and z, shape (3,).
    folder
        Folder of the model. Equal meshes may have different ones.
    """

    file: str
    scale: NDArray[np.float64] = field(default_factory=lambda: np.ones(3))
    folder: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.file, str) or not self.file or "\0" in self.file:
            raise ModelError(f"the file of a mesh must be a path, not {shortened(self.file)}")
        self._set(scale=frozen_array(self.scale, (3,), "scale of a mesh"))


Geometry = Box | Sphere | Ellipsoid | Cylinder | Capsule | Mesh


@dataclass(frozen=True, eq=False)
class Shape(DescriptionRecord):
    """A geometry on a link.

    Parameters
    ----------
    geometry
        Shape and its dimensions.
    T_link_shape
        Placement of the shape's frame in the frame of the link, shape (4, 4).
    rgba
        Color: red, green, blue and opacity, each from 0 to 1; None if the model does not say.
    name
        Name of the shape, or empty.

    Examples
    --------
    >>> Shape(Cylinder(radius=0.05, length=0.3), rgba=(1.0, 0.5, 0.0, 1.0)).geometry.length
    0.3
    """

    geometry: Geometry
    T_link_shape: NDArray[np.float64] = field(default_factory=lambda: np.eye(4))
    rgba: tuple[float, float, float, float] | None = None
    name: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.geometry, Geometry):
            raise ModelError(f"the geometry of a shape must be a Box, Sphere, …, not {shortened(self.geometry)}")
        self._set(T_link_shape=frozen_placement(self.T_link_shape, "T_link_shape"))
        if self.rgba is not None:
            red, green, blue, opacity = frozen_array(self.rgba, (4,), "rgba").clip(0.0, 1.0).tolist()
            self._set(rgba=(red, green, blue, opacity))


def _size(value: float, what: str) -> float:
    size = number(value, what)
    if size < 0.0:
        raise ModelError(f"the {what} must not be negative, not {size:g}")
    return size


def _sizes(values: NDArray[np.float64], what: str) -> NDArray[np.float64]:
    sizes = frozen_array(values, (3,), what)
    if (sizes < 0.0).any():
        raise ModelError(f"the {what} must not be negative, not {sizes.tolist()}")
    return sizes
