"""Mesh files: resolution of the addresses that models give."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path, PurePosixPath, PureWindowsPath

from chasles.base.errors import ModelError
from chasles.model.description import Description
from chasles.model.formats.xacro_process import package_folders
from chasles.model.record import shortened
from chasles.model.shapes import Mesh, Shape

Packages = Mapping[str, str | os.PathLike[str]]
_ROOTS = (("ROS_PACKAGE_PATH", ""), ("AMENT_PREFIX_PATH", "share"), ("GAZEBO_MODEL_PATH", ""))
_MOST_CANDIDATES = 200


def mesh_path(mesh: Mesh, packages: Packages | None = None) -> Path:
    """Return the path of a mesh's file.

    ``package://name/rest`` and ``model://name/rest`` are searched for, in this order, in `packages`; in a folder of
    that name (or with a ``package.xml`` of that name) that is the model's folder, lies above it, or beside one above
    it; and in the folders of ROS_PACKAGE_PATH, AMENT_PREFIX_PATH and GAZEBO_MODEL_PATH. Other names are paths, relative
    to the folder of the model.

    Parameters
    ----------
    mesh
        The mesh, as in a link's shape.
    packages
        Folders of packages, by name. A package named here is not searched for elsewhere.

    Raises
    ------
    ModelError
        There is no such file; the message says what to do.

    Examples
    --------
    >>> mesh_path(Mesh("package://my_robot/meshes/hand.stl"))
    Traceback (most recent call last):
        ...
    chasles.base.errors.ModelError: mesh 'package://my_robot/meshes/hand.stl' is not there; say where its package is: \
    packages={'my_robot': …}
    """
    scheme, package, path = _address(mesh.file)
    candidates = _candidates(mesh.folder, scheme, package, path, packages or {})
    for candidate in islice(candidates, _MOST_CANDIDATES):
        if os.path.isfile(candidate):  # answers False for texts that no path can be
            return candidate
    # The message is shown on pages that are passed on: it does not name the folders of this machine.
    if not package:
        advice = "it is looked for in the folder of the model"
    elif package in (packages or {}):
        advice = f"the folder given for the package {package[:80]!r} has no such file"
    else:
        advice = f"say where its package is: packages={{{package[:80]!r}: …}}"
    raise ModelError(f"mesh {shown_name(mesh)} is not there; {advice}")


def shown_name(mesh: Mesh) -> str:
    """Return a mesh's file as messages and pages name it: without the folders of this machine.

    >>> shown_name(Mesh("/home/ada/hand.stl")), shown_name(Mesh("meshes/hand.stl"))
    ("'hand.stl'", "'meshes/hand.stl'")
    """
    _, package, path = _address(mesh.file)
    absolute = not package and (PurePosixPath(path).is_absolute() or PureWindowsPath(path).is_absolute())
    return shortened(PureWindowsPath(path).name if absolute else mesh.file)


def missing_meshes(description: Description, packages: Packages | None = None) -> dict[str, str]:
    """Return the missing mesh files of a robot: their names, each with the reason.

    Examples
    --------
    >>> from chasles.model import load
    >>> missing_meshes(load("puma560"))
    {}
    """
    missing = {}
    for link in description.links:
        for shape in (*link.visuals, *link.collisions):
            if isinstance(shape.geometry, Mesh) and shape.geometry.file not in missing:
                try:
                    mesh_path(shape.geometry, packages)
                except ModelError as error:
                    missing[shape.geometry.file] = str(error)
    return missing


def with_meshes(description: Description, change: Callable[[Mesh], Mesh]) -> Description:
    """Make a copy whose meshes are changed."""

    def changed(shapes: tuple[Shape, ...]) -> tuple[Shape, ...]:
        return tuple(
            shape.replace(geometry=change(shape.geometry)) if isinstance(shape.geometry, Mesh) else shape
            for shape in shapes
        )

    links = (
        link.replace(visuals=changed(link.visuals), collisions=changed(link.collisions)) for link in description.links
    )
    return description.replace(links=tuple(links))


def _address(name: str) -> tuple[str, str, str]:
    """Scheme, package and path that a file's name says, empty where it says none."""
    scheme, separator, rest = name.partition("://")
    if not separator:
        return "", "", name
    if scheme == "file":
        return scheme, "", rest
    package, _, path = rest.lstrip("/").partition("/")
    return scheme, package, path


def _candidates(folder: str, scheme: str, package: str, path: str, packages: Packages) -> Iterator[Path]:
    if scheme in ("", "file"):
        yield Path(folder, path)
        return
    if package in packages:
        yield Path(packages[package], path)
        return
    if folder:
        for package_folder in package_folders(Path(folder) / "model", package):
            yield package_folder / path
    for variable, below in _ROOTS:
        for root in filter(None, os.environ.get(variable, "").split(os.pathsep)):
            yield Path(root, below, package, path)
