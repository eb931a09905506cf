"""What a result is the result of: the part of a study, the controller as it was made, and what computes."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields
from typing import Any

from chasles.cached import cached_property
from chasles.errors import ArgumentError, ChaslesError
from chasles.studies.definition import Definition
from chasles.studies.experiment import Part, controller_of
from chasles.studies.identity import digest_of, environment

#: Changes with what follows, so that no results of another format are taken for these.
_FORMAT = 4


class WorkerError(ChaslesError, RuntimeError):
    """Workers died repeatedly, or compute something else than this process; the message says which."""


@dataclass(frozen=True)
class Origin:
    """All that a result depends on.

    Attributes
    ----------
    environment
        Versions and source of what computes, by name.
    content
        Robot, motion, controller, factors, design and execution as a text.
    """

    environment: tuple[tuple[str, str], ...]
    content: str

    @cached_property
    def digest(self) -> str:
        """Digest of all of it."""
        return hashlib.sha256(json.dumps([_FORMAT, self.environment, self.content]).encode()).hexdigest()


def origin_of(study: Definition, part: Part, controller: object) -> Origin:
    """Origin of the result that a controller gives in a part of a study. Titles have no part in it.

    A controller of the user's own counts as it is, not as the function that made it: what that function reads, draws
    or computes is seen in what it makes.

    Raises
    ------
    UnidentifiedError
        The controller's content does not say what it computes.
    """
    robot, choice = study.robots[part.robot], study.controllers[part.controller]
    told: Any
    if isinstance(choice.kind, str):
        told = choice.kind, dict(choice.settings)
    else:
        told = digest_of(controller, f"controller '{choice.title}'")
    content = {
        "robot": (robot.toml, robot.times, robot.waypoints),
        "controller": told,
        "part": (part.rate, part.delay, part.first, part.last),
        **{name: _fields(getattr(study, name)) for name in ("factors", "design")},
        "execution": {name: value for name, value in _fields(study.execution).items() if name != "margins"},
        "tuning": None if study.tuning is None else _fields(study.tuning),
    }
    return Origin(tuple(sorted(environment().items())), json.dumps(content, sort_keys=True))


class Origins:
    """Origins of the parts of a study, by controllers made in this process."""

    def __init__(self, study: Definition) -> None:
        self.study = study
        self._controllers: dict[tuple[int, int, float, float], Any] = {}
        self._origins: dict[Part, Origin] = {}

    def of(self, part: Part) -> Origin:
        """Origin of a part's result.

        Raises
        ------
        UnidentifiedError
            The controller's content does not say what it computes.
        """
        if part not in self._origins:
            self._origins[part] = origin_of(self.study, part, self._controller(part))
        return self._origins[part]

    def check(self, part: Part, origin: Origin | None) -> None:
        """Refuse a result of another origin than this process says.

        Raises
        ------
        WorkerError
            A worker has other versions, or made another controller.
        ArgumentError
            Every call of the function that makes the controller gives another one.
        """
        own = self.of(part)
        if origin == own:
            return
        title = self.study.controllers[part.controller].title
        if origin is not None and origin.environment != own.environment:
            here, there = dict(own.environment), dict(origin.environment)
            name = next(name for name in here if here[name] != there.get(name))
            raise WorkerError(
                f"a worker computes with another {name} than this process: {there.get(name)} instead of {here[name]}; "
                "install the same versions for both"
            )
        again = origin_of(self.study, part, controller_of(self.study, part))
        if again != own:
            raise ArgumentError(
                f"controller '{title}' is another one every time it is made, so its results cannot be repeated: let "
                "random numbers begin with a fixed seed, and keep what changes in the controller's memory"
            )
        raise WorkerError(
            f"a worker made another controller '{title}' than this process: variables that were changed after their "
            "module was imported keep their old values there; bind the values to the function with functools.partial"
        )

    def _controller(self, part: Part) -> Any:
        key = part.robot, part.controller, part.rate, part.delay
        if key not in self._controllers:
            kind = self.study.controllers[part.controller].kind
            self._controllers[key] = None if isinstance(kind, str) else controller_of(self.study, part)
        return self._controllers[key]


def _fields(record: Any) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}
