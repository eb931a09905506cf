"""The check of a robot and its file: what is probably not what its author means, with place, reason and cure."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from chasles.base import verbs
from chasles.base.errors import MissingExtraError, ModelError, UnknownNameError
from chasles.base.findings import Finding, Rule, of_weight
from chasles.model.consistency import inconsistencies
from chasles.model.description import Description
from chasles.model.formats.files import read_bytes
from chasles.model.formats.mesh_files import Packages, shown_name
from chasles.model.formats.mesh_surfaces import surfaces
from chasles.model.formats.urdf import parse_urdf
from chasles.model.formats.urdf_findings import element_findings, element_lines
from chasles.model.formats.xacro import expanded
from chasles.model.formats.xml import MAX_BYTES, parse_xml, root_tag
from chasles.model.loading import load
from chasles.model.plausibility import LENGTH, Lines, implausible, place, too_dense
from chasles.model.robots import shipped, shipped_path
from chasles.model.shapes import Mesh
from chasles.model.tree import spanning_tree

REFUSED = Rule("refused", math.nan, "no robot can be made of the file", "{reason}", "refusal")
IMPOSSIBLE = Rule(
    "impossible-body",
    math.nan,
    "a body's mass and principal moments of inertia are not negative, and no moment exceeds the sum of the others",
    "{where}: {reason}; model.nearest_consistent(…) gives the nearest body that can exist",
    "caution",
)
MASSLESS = Rule(
    "massless-body",
    math.nan,
    "a joint that moves no mass has no forward dynamics, and a link whose mass is forgotten falsifies torques",
    "{where}: it moves on joint {joint}, but has no mass, while other links do",
)
NO_RANGE = Rule(
    "limits-without-range",
    math.nan,
    "lower and upper limits are equal",
    "{where}: its position limits leave no motion; correct them, or make the joint fixed",
    "caution",
)
ZERO_LIMIT = Rule(
    "limit-of-zero",
    math.nan,
    "some exporters write 0 where they know no limit",
    "{where}: its {kind} limit is 0, so checks and simulations hold it still; give the motor's",
)
LARGE_MESH = Rule(
    "mesh-in-millimetres",
    LENGTH.limit,
    LENGTH.because,
    "{where}: the mesh {file} is {value:.3g} m large; meshes are in m, so say scale='0.001 0.001 0.001' if it is in "
    "millimetres",
    "caution",
)
MISSING_MESH = Rule("missing-mesh", math.nan, "the file is looked for as when it is drawn", "{where}: {reason}")


@dataclass(frozen=True)
class RobotCheck:
    """What a robot's file says that is probably not meant.

    Parameters
    ----------
    robot
        Name of the robot or path of the file.
    findings
        Findings, refusals and cautions first. Each has a ``rule`` (code, limit, reason), its ``value``, a
        ``record`` of plain data, and is a sentence as text.

    Examples
    --------
    >>> import chasles as ch
    >>> ch.check(ch.load("ur5"))
    <RobotCheck of 'ur5': no findings>
    """

    robot: str
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether there are only notes: no refusal, and nothing that is probably wrong."""
        return not of_weight(self.findings, "caution", "refusal")

    def __repr__(self) -> str:
        return f"<RobotCheck of '{self.robot}': {self._count()}>"

    def __str__(self) -> str:
        """Return one line for each finding."""
        lines = [f"{finding.rule.weight:8} {finding.rule.code:22} {finding}" for finding in self.findings]
        return "\n".join([f"{self.robot}: {self._count()}", *lines])

    def _count(self) -> str:
        if not self.findings:
            return "no findings"
        weights = [finding.rule.weight for finding in self.findings]
        counts = {weight: weights.count(weight) for weight in weights}
        return ", ".join(f"{count} {weight}{'s' if count > 1 else ''}" for weight, count in counts.items())


@verbs.check.register(Description)
def check_robot(description: Description, *, packages: Packages | None = None) -> RobotCheck:
    """Find implausible values of a robot, bodies that cannot exist, and meshes that are missing or too large.

    Parameters
    ----------
    description
        The robot.
    packages
        Folders of packages of meshes, by name; see `chasles.model.mesh_path`.
    """
    return RobotCheck(description.name, _sorted(_of_description(description, {}, packages)))


@verbs.check.register(str)
@verbs.check.register(os.PathLike)
def check_file(path: str | Path, *, packages: Mapping[str, str | Path] | None = None) -> RobotCheck:
    """Find what `check_robot` finds, and in URDF and xacro files also misspelt tags and attributes and wrong elements.

    Parameters
    ----------
    path
        The file, or the name of a shipped robot.
    packages
        Folders of packages, by name: of meshes, and those that a xacro file names.

    Raises
    ------
    ModelError
        The file cannot be opened, or its format is not known. A file that is no robot is a finding.
    """
    file = shipped_path(str(path)) if path in shipped() else Path(path)
    if not file.suffix and not file.exists():
        raise UnknownNameError("robot", str(path), [*shipped(), "or the path of a file"])
    findings: list[Finding] = []
    try:
        if _is_urdf(file):
            text = expanded(file, packages=packages) if file.suffix.lower() == ".xacro" else read_bytes(file, MAX_BYTES)
            root = parse_xml(text)
            findings += element_findings(root)
            description = parse_urdf(text, file=file.name, folder=file.absolute().parent, check=False)
            lines = element_lines(root)
        else:
            read_bytes(file, 10 * MAX_BYTES)
            description, lines = load(file, check=False), {}
    except ModelError as error:
        if not file.is_file():
            raise
        return RobotCheck(str(path), _sorted([*REFUSED.told(math.nan, reason=str(error), line=None), *findings]))
    return RobotCheck(str(path), _sorted([*findings, *_of_description(description, lines, packages)]))


def _is_urdf(file: Path) -> bool:
    suffix = file.suffix.lower()
    return suffix in (".urdf", ".xacro") or (suffix == ".xml" and root_tag(read_bytes(file, MAX_BYTES)) == "robot")


def _sorted(findings: list[Finding]) -> tuple[Finding, ...]:
    order = {"refusal": 0, "caution": 1, "note": 2}
    return tuple(sorted(findings, key=lambda finding: order[finding.rule.weight]))


def _of_description(description: Description, lines: Lines, packages: Packages | None) -> list[Finding]:
    findings = implausible(description, lines)
    for owner, reason in inconsistencies(description).items():
        findings += IMPOSSIBLE.told(math.nan, reason=reason, **place("link", owner, lines))
    findings += too_dense(description, lines)
    findings += _massless(description, lines)
    for joint in description.coordinates:
        here = place("joint", joint.name, lines)
        if joint.kind in ("revolute", "prismatic") and joint.limits.lower == joint.limits.upper:
            findings += NO_RANGE.told(0.0, **here)
        for kind in ("velocity", "effort"):
            if min(joint.limits.each(kind, len(joint.freedoms))) == 0.0:
                findings += ZERO_LIMIT.told(0.0, kind=kind, **here)
    findings += _of_meshes(description, lines, packages)
    return findings


def _massless(description: Description, lines: Lines) -> Iterator[Finding]:
    """Yield the moving bodies at the end of a branch whose links have no mass, of robots that have masses."""
    if not description.mass > 0.0:
        return
    tree = spanning_tree(description)
    inner = {body.parent for body in tree.bodies}
    for index, body in enumerate(tree.bodies):
        if index not in inner and body.carries and body.mass == 0.0 and not body.inertia.any():
            yield from MASSLESS.told(0.0, joint=repr(body.joint), **place("link", body.name, lines))


def _of_meshes(description: Description, lines: Lines, packages: Packages | None) -> Iterator[Finding]:
    seen: set[tuple[str, tuple[float, ...]]] = set()
    for link in description.links:
        for shape in (*link.visuals, *link.collisions):
            mesh = shape.geometry
            if not isinstance(mesh, Mesh) or (mesh.file, tuple(mesh.scale)) in seen:
                continue
            seen.add((mesh.file, tuple(mesh.scale)))
            here = place("link", link.name, lines)
            try:
                points = np.concatenate([surface.vertices for surface in surfaces(mesh, packages)])
            except MissingExtraError:
                continue
            except ModelError as error:
                yield from MISSING_MESH.told(math.nan, reason=str(error), **here)
                continue
            size = float(np.ptp(points, axis=0).max())
            yield from LARGE_MESH.above(size, file=shown_name(mesh), **here)
