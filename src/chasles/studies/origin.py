"""Origin of a result: the part of a study, the controller as it was made, and the versions that compute."""

from __future__ import annotations

import hashlib
import json
import platform
from dataclasses import dataclass, fields
from functools import cache
from importlib import metadata
from typing import Any

import numpy as np

from chasles._version import __version__
from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError, ChaslesError
from chasles.base.packaged_files import folder_of
from chasles.control.controller import Controller
from chasles.control.law_identity import law_identity
from chasles.control.margin_design import DesignError
from chasles.engine.identity import UnidentifiedError, identity
from chasles.engine.running.compiling import native_available
from chasles.studies.definition import Definition
from chasles.studies.experiment import RunBatch, controller_of, schedule_of, size_of

#: Changes with what follows, so that no results of another format are taken for these.
_FORMAT = 6
#: Packages of Chasles that have no part in the numbers.
_NOT_COMPUTING = ("cli", "visual")
_REFUSED = "refused: "


class WorkerError(ChaslesError, RuntimeError):
    """Workers died repeatedly, or compute other results than this process; the message says which."""


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


def environment() -> dict[str, str]:
    """Versions and settings that take part in every result, by name.

    Examples
    --------
    >>> sorted(environment())
    ['Chasles', 'Chasles source', 'NumPy', 'Python', 'SciPy', 'kernels']
    """
    return {
        "Chasles": __version__,
        "Chasles source": _source_digest(),
        "NumPy": np.__version__,
        "Python": platform.python_version(),
        "SciPy": _version("scipy"),
        "kernels": f"llvmlite {_version('llvmlite')}" if native_available() else "NumPy",
    }


def origin_of(study: Definition, part: RunBatch, controller: Controller | None) -> Origin:
    """Origin of the result that a controller gives in a part of a study. Titles have no part in it.

    A controller of the user's own counts by what it computes, not as the function that made it: what that function
    reads, draws or computes is seen in what it makes.

    Raises
    ------
    UnidentifiedError
        The controller has no identity.
    """
    return _origin(study, part, None if controller is None else _controller_identity(study, part, controller))


def origin_of_refused(study: Definition, part: RunBatch, refusal: str) -> Origin:
    """Origin of a refusal, for its reason."""
    return _origin(study, part, f"{_REFUSED}{refusal}")


def _origin(study: Definition, part: RunBatch, controller: str | None) -> Origin:
    """Origin of a result, for the identity of a user's controller; None for one that its settings describe."""
    robot, choice = study.robots[part.robot], study.controllers[part.controller]
    settings = str(choice.kind), dict(choice.settings)
    content = {
        "robot": (robot.toml, robot.times, robot.waypoints, robot.rated_payload),
        "controller": controller if callable(choice.kind) else settings,
        "part": (part.rate, part.delay, part.first, part.last),
        **{name: _fields(getattr(study, name)) for name in ("factors", "design", "execution")},
        "tuning": None if study.tuning is None else _fields(study.tuning),
    }
    return Origin(tuple(sorted(environment().items())), json.dumps(content, sort_keys=True))


class Origins:
    """Origins of the parts of a study, by controllers made in this process."""

    def __init__(self, study: Definition) -> None:
        self.study = study
        self._controllers: dict[tuple[int, int, float, float], str | UnidentifiedError | None] = {}
        self._origins: dict[RunBatch, Origin] = {}

    def of(self, part: RunBatch) -> Origin:
        """Origin of a part's result.

        Raises
        ------
        UnidentifiedError
            The controller has no identity.
        """
        if part not in self._origins:
            self._origins[part] = _origin(self.study, part, self._controller(part))
        return self._origins[part]

    def check(self, part: RunBatch, origin: Origin | None) -> None:
        """Refuse a result of another origin than this process says.

        Raises
        ------
        WorkerError
            A worker has other versions, or made another controller.
        ArgumentError
            Every call of the function that makes the controller gives another one.
        """
        try:
            expected = self.of(part)
        except UnidentifiedError:
            return
        if origin == expected:
            return
        title, again = self.study.controllers[part.controller].title, self._identified(part)
        if origin is not None and origin.environment != expected.environment:
            ours, theirs = dict(expected.environment), dict(origin.environment)
            name = next(name for name in ours if ours[name] != theirs.get(name))
            raise WorkerError(
                f"a worker computes with another {name} than this process: {theirs.get(name)} instead of {ours[name]}; "
                "install the same versions for both"
            )
        if origin is None or isinstance(again, UnidentifiedError) or _origin(self.study, part, again) != expected:
            raise ArgumentError(
                f"controller '{title}' is another one every time it is made, so its results cannot be repeated: let "
                "random numbers begin with a fixed seed, and keep what changes in the controller's memory"
            )
        raise WorkerError(
            f"a worker made another controller '{title}' than this process: variables that were changed after their "
            "module was imported keep their old values there; bind the values to the function with functools.partial"
        )

    def _controller(self, part: RunBatch) -> str | None:
        """Identity of a part's controller; None if its settings describe it."""
        key = part.robot, part.controller, part.rate, part.delay
        if key not in self._controllers:
            self._controllers[key] = self._identified(part)
        identity = self._controllers[key]
        if isinstance(identity, UnidentifiedError):
            raise identity
        return identity

    def _identified(self, part: RunBatch) -> str | UnidentifiedError | None:
        if not callable(self.study.controllers[part.controller].kind):
            return None
        try:
            return _controller_identity(self.study, part, controller_of(self.study, part))
        except DesignError as error:
            return f"{_REFUSED}{error}"
        except UnidentifiedError as error:
            return error


def _controller_identity(study: Definition, part: RunBatch, controller: Controller) -> str:
    """Identity of a controller with its gains, its memory at the start and its schedule."""
    try:
        return identity(controller, by_version=False)
    except UnidentifiedError:
        nq, n = size_of(study, part)
        schedule = schedule_of(study, part, controller)
        computed = law_identity(controller, nq, n, 1.0 / part.rate, schedule=schedule and schedule.shapes)
        gains = {name: np.asarray(value) for name, value in controller.parameters.items()}
        start = np.asarray(controller.memory_layout.join(controller.memory), dtype=np.float64)
        return identity((computed, gains, start, schedule))


_version = cache(metadata.version)


@cache
def _source_digest() -> str:
    """Digest of the source text that takes part in simulations, equal on all machines."""
    root = folder_of("chasles")
    total = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        if path.relative_to(root).parts[0] not in _NOT_COMPUTING:
            total.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


def _fields(record: Any) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}
