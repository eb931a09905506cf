"""Robots from MJCF, the model format of MuJoCo (https://mujoco.readthedocs.io/en/stable/XMLreference.html).

The file is read by MuJoCo's own parser and compiler (the extra `mujoco`), so defaults, angle units, frames, replicas
and inertias from geoms are what they are there. Taken are

- bodies as links: masses and inertias, also those that MuJoCo finds from geoms;
- joints: hinge, slide, ball and free become revolute (continuous without a range), prismatic, spherical and free; the
  joints of a body with several become a chain with massless links between, called after the joints; bodies without
  joints are fixed. With position ranges, `armature` (as motor inertia with a gear ratio of 1), `damping` (viscous
  friction) and `frictionloss` (Coulomb friction; for MuJoCo it is a constraint, which also holds a joint at rest);
- torque limits: `actuatorfrcrange`, and the range of the only actuator of a joint;
- equality constraints between two joints that are linear: the first joint mimics the second; `connect` and `weld` as
  spherical and fixed loops, which are rigid here; with loops, joints with an actuator as the actuated ones;
- geoms as shapes of the links, with meshes as names of files; planes and height fields are not taken;
- sites as frames, gravity, and as home the key frame "home", else the initial configuration `qpos0`.

The world body is the root link. Coordinates q are those of `qpos`, in the same order, but for free joints, where ours
are the quaternion first, then the position; `chasles.interop.mujoco` converts states and forces.

Contacts, sensors and textures are not part of a description. Other elements that affect the motion but that a
description cannot hold are named in one `MjcfWarning`. Flexible bodies, composites and plugins are errors.

Files that a model names are opened in the model's folder only, unless the user trusts it. Other MJCF files are
included; meshes are opened only if the inertia of a body comes from one. Textures and height fields are never opened.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.base.errors import MissingExtraError, ModelError, warn
from chasles.model.consistency import check_description
from chasles.model.description import Description
from chasles.model.formats.files import Folder, read_bytes
from chasles.model.formats.mjcf_ignored import ignored
from chasles.model.formats.mjcf_model import describe
from chasles.model.formats.mjcf_shapes import HEIGHT_FIELD, MESH, meshes
from chasles.model.formats.mjcf_source import mesh_files, safe_xml, with_includes
from chasles.model.formats.mujoco_warnings import kept_warnings
from chasles.model.formats.urdf_shapes import warn_of_shapes
from chasles.model.formats.xml import MAX_BYTES, Element, parse_xml
from chasles.model.inertia import ModelWarning
from chasles.model.record import naming, shortened

if TYPE_CHECKING:
    from mujoco import MjModel

MAX_MESH_BYTES = 200_000_000


class MjcfWarning(ModelWarning):
    """An MJCF model has elements that affect its motion but that a description cannot hold."""


def from_mjcf(path: str | Path, *, tool: str = "", check: bool = True, trust: bool = False) -> Description:
    """Read a robot from an MJCF file of MuJoCo.

    Parameters
    ----------
    path
        The file.
    tool
        Name of a body or site as the default frame. Empty: as for a `Description`.
    check
        Whether to check that the inertias are physically possible.
    trust
        Whether to open files outside the model's folder that the model names.

    Raises
    ------
    MissingExtraError
        The package mujoco is not installed.
    ModelError
        MuJoCo cannot compile the model, or it has an unsupported element; the message names the file and the reason.

    Warns
    -----
    MjcfWarning
        Elements that affect the motion are left out; the message lists them. Also issued for MuJoCo's own warnings.
    """
    with naming(str(path)):
        return _description(read_bytes(path, MAX_BYTES), Folder(Path(path).parent, trust), tool, check)


def parse_mjcf(text: str | bytes, *, file: str = "MJCF text", tool: str = "", check: bool = True) -> Description:
    """Read a robot from the text of an MJCF file; `file` is its name in messages.

    Examples
    --------
    >>> text = '''<mujoco model="door"><worldbody><body name="leaf"><joint name="hinge"/>
    ... <geom type="box" size="0.4 0.02 1" pos="0.4 0 0" mass="20"/></body></worldbody></mujoco>'''
    >>> door = parse_mjcf(text)
    >>> door.link_names, door.joints[0].kind, door.link("leaf").inertia.mass
    (('world', 'leaf'), 'continuous', 20.0)
    """
    with naming(file):
        return _description(text.encode() if isinstance(text, str) else text, Folder(), tool, check)


def _description(data: bytes, folder: Folder, tool: str, check: bool) -> Description:
    root = parse_xml(data)
    if root.tag != "mujoco":
        raise ModelError(f"the root element is {root}, not <mujoco>")
    root = with_includes(root, folder)
    model, complaints = compiled(root, folder)
    with np.errstate(all="ignore"):  # numbers out of bounds are refused where they come to
        files = meshes(root, folder.path)
        description, taken, lost = describe(model, root.attributes.get("model", "robot"), tool, files)
    left_out = ignored(model, taken)
    if left_out:
        warn(f"robot '{description.name}': ignored (not supported): {'; '.join(left_out)}", MjcfWarning)
    if check:
        warn_of_shapes(description.name, lost)
    for complaint in dict.fromkeys(complaints):
        warn(f"robot '{description.name}': MuJoCo warns: {complaint[:400]}", MjcfWarning)
    return check_description(description) if check else description


def compiled(root: Element, folder: Folder) -> tuple[Any, list[str]]:
    """Return MuJoCo's compiled model of an XML document, and its warnings, without opening files that do not matter.

    The model is compiled with tetrahedra of two sizes in place of the meshes. If the inertias come out the same, the
    meshes do not matter. Else they are read.
    """
    files = mesh_files(root)
    if not files:
        return _compile(safe_xml(root, {}), {})
    (model, _), (other, _) = (
        _compile(safe_xml(root, dict.fromkeys(files, _tetrahedron(size))), {}) for size in (1.0, 2.0)
    )
    heavy = _bodies_that_differ(model, other)
    if not heavy:
        _forget_fitted_geoms(model, other)
        return model, []
    contents: dict[str, bytes] = {}
    read: dict[str, dict[str, str]] = {}
    for index, (mesh, file) in enumerate(files.items()):
        with naming(f"the inertia of body {shortened(heavy[0])} comes from meshes, but mesh {shortened(mesh)}"):
            path = folder.file(file, "its file")
            name = f"mesh{index}{path.suffix}"
            contents[name] = read_bytes(path, MAX_MESH_BYTES)
            read[mesh] = {"file": name}
    return _compile(safe_xml(root, read), contents)


def _compile(xml: str, files: dict[str, bytes]) -> tuple[Any, list[str]]:
    try:
        import mujoco
    except ImportError:
        raise MissingExtraError("mujoco", "mujoco", "reading MJCF") from None
    try:
        with kept_warnings() as complaints:
            return mujoco.MjModel.from_xml_string(xml, files), complaints
    except (ValueError, mujoco.FatalError) as error:
        raise ModelError(f"MuJoCo cannot compile it: {' '.join(str(error).split())[:400]}") from None


def _tetrahedron(size: float) -> dict[str, str]:
    return {"vertex": f"0 0 0 {size} 0 0 0 {size} 0 0 0 {size}", "scale": "1 1 1"}


def _forget_fitted_geoms(model: MjModel, other: MjModel) -> None:
    """Turn geoms whose size comes from a mesh into what is no shape of a link: nobody has read the mesh."""
    differ = (np.asarray(model.geom_size) != np.asarray(other.geom_size)).any(axis=1)
    model.geom_type[differ & (np.asarray(model.geom_type) != MESH)] = HEIGHT_FIELD


def _bodies_that_differ(model: MjModel, other: MjModel) -> list[str]:
    return [
        model.body(index).name
        for index in range(1, model.nbody)
        if any(
            not np.array_equal(getattr(model, name)[index], getattr(other, name)[index])
            for name in ("body_mass", "body_ipos", "body_inertia")
        )
    ]
