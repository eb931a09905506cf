"""Reference pages from the docstrings of the package."""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, get_args, get_origin

import griffe

import chasles as ch
from chasles import (
    algorithms,
    control,
    distances,
    engine,
    geometry,
    identification,
    integrators,
    inverse_kinematics,
    model,
    planning,
    simulation,
    studies,
    trajectories,
)
from chasles.control import optimal
from chasles.control.optimal import residuals
from chasles.interop import matrix_mechanics, mazure, modern_robotics, roboop, spacelib
from chasles.interop.modern_robotics import contacts, mobile_manipulation
from chasles.interop.modern_robotics import planning as course_planning
from chasles.machines import mobile, parallel
from chasles.mechanics.mechanics import PARTS
from chasles.simulation import plant

ROOMS: tuple[ModuleType, ...] = (
    geometry,
    model,
    algorithms,
    inverse_kinematics,
    distances,
    trajectories,
    planning,
    control,
    optimal,
    residuals,
    plant,
    simulation,
    studies,
    identification,
    mobile,
    parallel,
    integrators,
    engine,
    matrix_mechanics,
    modern_robotics,
    contacts,
    mobile_manipulation,
    course_planning,
    spacelib,
    roboop,
    mazure,
)
_SAMPLE = "planar2r"
_HEADING = re.compile(r"^(##+) ([\w.]+)$", re.MULTILINE)
#: Code blocks and headings, which stay as they are, and names in the text; the label of a parameter is none.
_NAME = re.compile(
    r"```.*?```|^#.*?$|(?P<label>^- )?`(?:ch(?:asles)?\.)?(?P<name>[A-Za-z][\w.]*)`", re.MULTILINE | re.DOTALL
)


def write_pages(folder: Path) -> list[str]:
    """Write a page for `Robot`, one for the front door and one for each room; return their names."""
    logging.getLogger("griffe").setLevel(logging.ERROR)
    folder.mkdir(parents=True)
    pages = {
        "robot.md": "\n\n".join([*_class("Robot", ch.Robot, 1), *_parts()]),
        "chasles.md": _of_module("chasles", ch, "What `import chasles as ch` gives."),
    }
    for room in ROOMS:
        pages[f"{room.__name__.partition('.')[2]}.md"] = _of_module(room.__name__, room, inspect.getdoc(room) or "")
    targets = _targets(pages)
    for name, text in pages.items():
        (folder / name).write_text(_linked(text, name, targets) + "\n", encoding="utf-8")
    return [f"{folder.name}/{name}" for name in pages]


def _targets(pages: dict[str, str]) -> dict[str, str]:
    """Places of names: alone for what a package exports, also with the package or the class before it."""
    targets = {"Robot": "robot.md"}
    for page, text in pages.items():
        for level, name in _HEADING.findall(text):
            place = f"{page}#{re.sub(r'[^a-z0-9_-]', '', name.lower())}"
            targets[f"{page.removesuffix('.md')}.{name}"] = place
            if level == "##" or "." in name:
                targets.setdefault(name, place)
    return targets


def _linked(text: str, page: str, targets: dict[str, str]) -> str:
    """Text whose names of classes, and of functions of the same page, lead to them."""

    def link(match: re.Match[str]) -> str:
        name = match["name"]
        if name is None:
            return match[0]
        alone = "." not in name
        kept = alone and (match["label"] or "") and not name[0].isupper()
        here = f"Robot.{name}" if page == "robot.md" else f"{page.removesuffix('.md')}.{name}"
        place = targets.get(here) or (targets.get(name) if not alone or name[0].isupper() else None)
        return match[0] if kept or place is None else f"{match['label'] or ''}[{match[0].removeprefix('- ')}]({place})"

    return _NAME.sub(link, text)


def _of_module(name: str, module: ModuleType, introduction: str) -> str:
    parts = [f"# {name}", introduction]
    for member in sorted(_public(module), key=str.lower):
        value = getattr(module, member)
        if isinstance(value, ModuleType) or value is ch.Robot:
            continue
        if get_origin(value) is Literal:
            parts += [f"## {member}", "One of " + ", ".join(f'`"{choice}"`' for choice in get_args(value)) + "."]
        elif inspect.isclass(value):
            parts += _class(member, value, 2)
        elif callable(value):
            parts += _entry(member, value, 2)
    return "\n\n".join(parts)


def _public(module: ModuleType) -> list[str]:
    """Names that a module exports, or without a list of them all functions and classes that it defines."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    return [name for name in own if not name.startswith("_") and callable(getattr(module, name))]


def _class(name: str, kind: type, level: int) -> Iterator[str]:
    yield from _entry(name, kind, level)
    for member in sorted(dir(kind)):
        if member.startswith("_") or _inherited_from_a_library(kind, member):
            continue
        value = inspect.getattr_static(kind, member)
        if isinstance(value, property) or not (callable(getattr(kind, member, None)) or hasattr(value, "signature")):
            text = inspect.getdoc(value)
            if text and (isinstance(value, property) or hasattr(value, "func")):
                yield f"{'#' * (level + 1)} {name}.{member}"
                yield from _sections(text)
            continue
        if not inspect.getdoc(value):  # NumPy's hooks of a traced scalar
            continue
        bound = getattr(ch.load(_SAMPLE), member) if kind is ch.Robot else getattr(kind, member)
        yield from _entry(f"{name}.{member}", bound, level + 1)


def _parts() -> Iterator[str]:
    """Entries for the computations and methods of a robot's namespaces."""
    robot = ch.load(_SAMPLE)
    for part in PARTS:
        for member in sorted(name for name in vars(part) if not name.startswith("_") and name != "place"):
            value = inspect.getattr_static(part, member)
            if isinstance(value, property):
                yield f"### Robot.{part.place}.{member}"
                yield from _sections(inspect.getdoc(value) or "")
            else:
                yield from _entry(f"Robot.{part.place}.{member}", attrgetter(f"{part.place}.{member}")(robot), 3)


def _inherited_from_a_library(kind: type, member: str) -> bool:
    """Whether a member comes from tuple, Exception or another package."""
    owner = next((base for base in kind.__mro__ if member in vars(base)), kind)
    return not owner.__module__.startswith("chasles")


def _entry(name: str, value: Any, level: int) -> Iterator[str]:
    yield f"{'#' * level} {name}"
    try:
        signature = re.sub(r"<[^<>]* at 0x[0-9a-f]+>", "…", str(inspect.signature(value)))
    except (TypeError, ValueError):
        signature = ""
    else:
        signature = re.sub(r"(chasles|numpy|collections|typing|pathlib)\.(\w+\.)*", "", signature)
        signature = re.sub(r"(: |-> )'([^']*)'", r"\1\2", signature)  # annotations, but not defaults
    if signature:
        yield f"```python\n{name.rsplit('.', 1)[-1]}{_wrapped(signature)}\n```"
    yield from _sections(inspect.getdoc(value) or "")


def _wrapped(signature: str) -> str:
    """Return a signature with one argument a line if it is long."""
    if len(signature) <= 70:
        return signature
    arguments, depth, start = [], 0, 1
    end = signature.rindex(")")
    for place, letter in enumerate(signature[:end]):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 1:
            arguments.append(signature[start:place].strip())
            start = place + 1
    arguments.append(signature[start:end].strip())
    return "(\n" + "".join(f"    {argument},\n" for argument in arguments) + ")" + signature[end + 1 :]


def _sections(text: str) -> Iterator[str]:
    """Markdown of a docstring in NumPy style."""
    for section in griffe.Docstring(text, parser="numpy").parse():
        kind, value = section.kind.value, section.value
        if kind == "text":
            yield _plain(value)
        elif kind == "examples":
            yield "**Examples**"
            for part, content in value:
                yield f"```python\n{content}\n```" if part.value == "examples" else _plain(content)
        elif kind == "admonition":
            yield f"**{section.title or value.annotation}**"
            yield _plain(value.contents)
        elif kind in ("parameters", "returns", "raises", "attributes", "other parameters", "yields", "warns"):
            yield f"**{kind.capitalize()}**"
            yield "\n".join(f"- {_label(kind, item)}: {_flat(item.description)}" for item in value)


def _label(kind: str, item: Any) -> str:
    name = getattr(item, "name", "") or item.annotation or ""
    return f"`{name}`" if kind != "raises" else f"`{item.annotation}`"


def _plain(text: str) -> str:
    return text.replace("``", "`")


def _flat(text: str) -> str:
    return _plain(" ".join(text.split()))
