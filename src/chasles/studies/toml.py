"""Studies as TOML files. See docs/studies.md."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from chasles.base.errors import ArgumentError, ModelError, UnknownNameError
from chasles.model import parse_toml
from chasles.robot.robot import Robot
from chasles.studies.checks import placed, shortened
from chasles.studies.choices import StudyController, StudyRobot
from chasles.studies.definition import Definition
from chasles.studies.settings import Design, Execution, Factors, Tuning

S = TypeVar("S", bound=Definition)

MAX_BYTES = 500_000
MAX_TABLES = 200
TABLES = ("study", "design", "factors", "execution", "tuning", "robots", "controllers")
STUDY_KEYS = ("title", "description")
ROBOT_KEYS = ("robot", "title", "start", "goal", "duration", "waypoints", "times", "rated_payload")
CONTROLLER_KEYS = ("kind", "title", "robots")


def read_study(cls: type[S], path: Path) -> S:
    """Read a study from a file; robots' files are looked for beside it."""
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ArgumentError(f"the study {path} cannot be read: {reason}") from None
    if len(data) > MAX_BYTES:
        raise ArgumentError(f"the study {path} has more than {MAX_BYTES} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ArgumentError(f"the study {path} is not UTF-8 text: {error.reason} at byte {error.start}") from None
    with placed(str(path)):
        return parse_study(cls, text, path.parent)


def parse_study(cls: type[S], text: str, folder: Path) -> S:
    """Make a study of a TOML text.

    Parameters
    ----------
    cls
        `Study`.
    text
        TOML.
    folder
        Folder of the robots' files.

    Raises
    ------
    ArgumentError, UnknownNameError
        The message names the table and the key.
    """
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ArgumentError(f"not a TOML file: {str(error) or 'nested too deeply'}") from None
    _known(data, TABLES, "table")
    settings: dict[str, Any] = {}
    for name, settings_class in (("factors", Factors), ("design", Design), ("execution", Execution)):
        with placed(f"[{name}]"):
            table = _table(data.get(name, {}), [field.name for field in fields(settings_class)])
            if name == "design":
                _runs_or_levels(table)
            settings[name] = settings_class(**table)
    if "tuning" in data:
        with placed("[tuning]"):
            settings["tuning"] = Tuning(**_table(data["tuning"], [field.name for field in fields(Tuning)]))
    with placed("[study]"):
        about = _table(data.get("study", {}), STUDY_KEYS)
        if not isinstance(about.get("description", ""), str):
            raise ArgumentError(f"'description' must be text, not {shortened(about['description'])}")
    robots = tuple(_robot(table, where, folder) for table, where in _tables(data, "robots"))
    controllers = tuple(_controller(table, where) for table, where in _tables(data, "controllers"))
    return cls(robots=robots, controllers=controllers, source=text, **about, **settings)


def _robot(table: object, where: str, folder: Path) -> StudyRobot:
    with placed(where):
        attributes = dict(_table(table, ROBOT_KEYS))
        name = attributes.pop("robot", None)
        if not isinstance(name, str):
            raise ArgumentError("'robot' must be the name of a shipped robot or a file, in quotes")
        file = folder / name if "\0" not in name and "\n" not in name else Path(name)
        try:
            if "\n" in name:  # the text of a robot file
                return StudyRobot.of(Robot(parse_toml(name, file="'robot'")), **attributes)
            return StudyRobot.of(file if file.is_file() else name, **attributes)
        except ModelError as error:
            raise ArgumentError(str(error)) from None


def _controller(table: object, where: str) -> StudyController:
    with placed(where):
        if not isinstance(table, Mapping):
            raise ArgumentError(f"must be a table, not {shortened(table)}")
        if not isinstance(table.get("kind"), str):
            raise ArgumentError("'kind' must be the kind of a controller, in quotes")
        settings = {name: value for name, value in table.items() if name not in CONTROLLER_KEYS}
        robots = table.get("robots")
        if robots is not None and not isinstance(robots, list):
            raise ArgumentError(f"'robots' must be a list of robots' titles, not {shortened(robots)}")
        return StudyController(table.get("title", table["kind"]), table["kind"], settings, robots)


def _tables(data: Mapping[str, Any], name: str) -> list[tuple[Any, str]]:
    tables = data.get(name, [])
    if not isinstance(tables, list):
        raise ArgumentError(f"'{name}' must be tables headed [[{name}]]")
    if len(tables) > MAX_TABLES:
        raise ArgumentError(f"more than {MAX_TABLES} tables [[{name}]]")
    return [(table, f"[[{name}]] number {k + 1}") for k, table in enumerate(tables)]


def _table(table: object, keys: Sequence[str]) -> dict[str, Any]:
    if not isinstance(table, Mapping):
        raise ArgumentError(f"must be a table, not {shortened(table)}")
    _known(table, keys, "key")
    return dict(table)


def _known(table: Mapping[str, Any], names: Sequence[str], kind: str) -> None:
    for name in table:
        if name not in names:
            raise UnknownNameError(kind, name[:80], names)


def _runs_or_levels(table: Mapping[str, Any]) -> None:
    grid = table.get("method") == "grid"
    needless = "runs" if grid else "levels"
    if needless in table:
        reason = "a grid has 'levels', from which its runs follow" if grid else "'levels' are for the method 'grid'"
        raise ArgumentError(f"'{needless}': {reason}")
