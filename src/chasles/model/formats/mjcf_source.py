"""The XML of MJCF files made safe to compile: bounded, in one piece, and without any file that it names.

MuJoCo's parser would open every file that a model names, and allocate what it asks for. So files are included here,
from the folder of the model only; what is but looks, sensors or memory is left out; and every mesh file is replaced by
a tetrahedron. Most models give the inertias of their bodies, and then meshes change nothing; see
`chasles.model.formats.mjcf.compiled`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path

from chasles.base.errors import ModelError
from chasles.model.formats.files import Folder, read_bytes
from chasles.model.formats.xml import MAX_BYTES, MAX_DEPTH, MAX_ELEMENTS, Element, parse_xml, quoted
from chasles.model.record import naming, shortened

#: Sections with no say in the motion of bodies, or whose effect is not taken (contacts).
LEFT_OUT = ("contact", "custom", "sensor", "size", "statistic", "visual")
#: Elements that would make what is no tree of rigid bodies, and why they are refused.
REFUSED = {
    "composite": "composite objects are not supported",
    "extension": "plugins are not supported",
    "flex": "flexible bodies are not supported",
    "flexcomp": "flexible bodies are not supported",
    "model": "attached models are not supported; save the whole model as one file first (mujoco.mj_saveLastXML)",
    "plugin": "plugins are not supported",
}
#: The warnings of MuJoCo are told apart by threads.
_ONE_THREAD = '<compiler usethread="false"/>'
#: No element of MJCF has as many; MuJoCo's time for them grows with their square.
MAX_ATTRIBUTES = 200
NAMES = ("name", "class", "childclass", "model")
FOLDERS = ("assetdir", "meshdir", "texturedir", "strippath")


def with_includes(root: Element, folder: Folder) -> Element:
    """Replace every ``<include file="..."/>`` of a model by what the file holds."""
    seen: set[Path] = set()
    count = 0

    def filled(element: Element, depth: int) -> list[Element]:
        nonlocal count
        count += 1
        if count > MAX_ELEMENTS or depth > MAX_DEPTH:
            raise ModelError(f"with its included files the model has more than {MAX_ELEMENTS} elements or is too deep")
        if element.tag != "include":
            inner = [part for child in element.children for part in filled(child, depth + 1)]
            return [Element(element.tag, element.attributes, element.line, inner)]
        path = folder.file(element.text("file"), str(element))
        if path in seen:
            raise ModelError(f"{element}: the file {shortened(element.text('file'))} is included twice")
        seen.add(path)
        with naming(str(element)):
            included = parse_xml(read_bytes(path, MAX_BYTES))
        return [part for child in included.children for part in filled(_at_line(child, element.line), depth + 1)]

    return filled(root, 0)[0]


def mesh_files(root: Element) -> dict[str, str]:
    """Return the files of a model's meshes, relative to its folder, by the names of the meshes."""
    folders = dict.fromkeys(FOLDERS, "")
    for compiler in root.all("compiler"):
        folders |= {name: compiler.attributes[name] for name in FOLDERS if name in compiler.attributes}
    folder = folders["meshdir"] or folders["assetdir"]
    files = {}
    for asset in root.all("asset"):
        for mesh in asset.all("mesh"):
            file = mesh.attributes.get("file")
            if file is not None:
                file = Path(file).name if folders["strippath"] == "true" else file
                files[mesh_name(mesh)] = str(Path(folder) / file)
    return files


def safe_xml(root: Element, meshes: Mapping[str, Mapping[str, str]]) -> str:
    """Return the text of a model without what is left out, its mesh files replaced.

    Parameters
    ----------
    root
        The model, its includes filled in.
    meshes
        Attributes that stand for the files of the meshes, by the names of the meshes.

    Raises
    ------
    ModelError
        The model holds what is not supported, or repeats elements too often.
    """
    _check_size(root)
    lines: list[str] = []
    written = 1

    def write(element: Element, section: str) -> None:
        nonlocal written
        if element.tag in REFUSED and section != "default":
            raise ModelError(f"{element}: {REFUSED[element.tag]}")
        kept = _kept(element, section, meshes)
        if kept is None:
            return
        for name, value in kept.items():
            # MuJoCo takes it for a number that is not given.
            if name not in NAMES and any(_NAN.fullmatch(word) for word in value.split()):
                raise ModelError(f"{element}: attribute {name}={shortened(value)} must be finite")
        # Each element stays in its line, so that MuJoCo's messages name the right one.
        lines.append("\n" * max(0, element.line - written))
        written = max(written, element.line)
        attributes = "".join(f" {name}={quoted(value.translate(_SPACES))}" for name, value in kept.items())
        lines.append(f"<{element.tag}{attributes}>")
        for child in element.children:
            write(child, section or child.tag)
        if element is root:
            lines.append(_ONE_THREAD)
        lines.append(f"</{element.tag}>")

    write(root, "")
    return "".join(lines)


_SPACES = str.maketrans("\t\n\r", "   ")
_NAN = re.compile(r"[+-]?nan(\(\w*\))?", re.IGNORECASE)


def _kept(element: Element, section: str, meshes: Mapping[str, Mapping[str, str]]) -> dict[str, str] | None:
    """Attributes of an element as they are compiled; None if it is left out."""
    attributes = dict(element.attributes)
    if element.tag in LEFT_OUT and section == element.tag:
        return None
    if element.tag == "compiler":
        return _without(attributes, *FOLDERS)
    if element.tag == "material":
        attributes = _without(attributes, "texture")
    if (section, element.tag) in _UNSEEN:
        return None
    if (section, element.tag) == ("asset", "hfield"):
        return {**_only(attributes, "name", "size"), "nrow": "2", "ncol": "2"}
    if (section, element.tag) == ("asset", "mesh") and "file" in attributes:
        name = mesh_name(element)
        return {**_without(attributes, "file", "content_type"), "name": name, **meshes[name]}
    for name, value in attributes.items():
        if name.startswith("file"):
            raise ModelError(f"{element}: files are not read here, but it has {name}={shortened(value)}")
    return attributes


_UNSEEN = {("asset", "texture"), ("asset", "skin"), ("asset", "layer"), ("deformable", "skin")}


def _without(attributes: Mapping[str, str], *names: str) -> dict[str, str]:
    return {name: value for name, value in attributes.items() if name not in names}


def _only(attributes: Mapping[str, str], *names: str) -> dict[str, str]:
    return {name: attributes[name] for name in names if name in attributes}


def mesh_name(mesh: Element) -> str:
    """Return the name of a mesh: its own, else that of its file without the suffix."""
    return mesh.attributes.get("name") or Path(mesh.attributes.get("file", "")).stem


def _check_size(element: Element, times: int = 1) -> int:
    """Number of elements after repetition; a ModelError when it, or the attributes of one, are beyond all reason."""
    if len(element.attributes) > MAX_ATTRIBUTES:
        raise ModelError(f"{element} has {len(element.attributes)} attributes; at most {MAX_ATTRIBUTES} are read")
    if element.tag == "replicate":
        count = element.number("count", 1.0)
        if not (count >= 0.0 and math.floor(count) == count):
            raise ModelError(f"{element}: count must be a whole number")
        times *= max(1, int(min(count, float(MAX_ELEMENTS + 1))))
    total = times
    for child in element.children:
        if total <= MAX_ELEMENTS:
            total += _check_size(child, times)
    if total > MAX_ELEMENTS:
        raise ModelError(f"{element}: repeated, the model has more than {MAX_ELEMENTS} elements")
    return total


def _at_line(element: Element, line: int) -> Element:
    return Element(element.tag, element.attributes, line, [_at_line(child, line) for child in element.children])
