"""What a study is: robots with motions, controllers, and what the controllers do not know."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.studies.checks import check_distinct, line_of_text
from chasles.studies.choices import StudyController, StudyRobot
from chasles.studies.controllers import VELOCITY, reads_velocity
from chasles.studies.settings import Design, Execution, Factors, Tuning, set_fields, shown_unknown


@dataclass(frozen=True)
class Definition:
    """Robots, controllers and unknowns of a study, and how its runs are drawn and simulated.

    `chasles.studies.Study` describes its attributes.
    """

    robots: tuple[StudyRobot, ...]
    controllers: tuple[StudyController, ...]
    factors: Factors = field(default_factory=Factors)
    design: Design = field(default_factory=Design)
    execution: Execution = field(default_factory=Execution)
    tuning: Tuning | None = None
    title: str = "Study"
    description: str = ""
    source: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        sources = self.factors.velocities
        controllers = tuple(each for choice in self.controllers for each in choice.with_velocities(sources))
        set_fields(self, robots=tuple(self.robots), controllers=controllers)
        line_of_text(self.title, "title")
        for kind, items in (("robot", self.robots), ("controller", self.controllers)):
            if not items:
                raise ArgumentError(f"a study needs at least one {kind}")
        self._check_design()
        titles = [robot.title for robot in self.robots]
        check_distinct(titles, "two robots have the title")
        for choice in self.controllers:
            for name in choice.robots or ():
                if name not in titles:
                    raise UnknownNameError(f"robot of controller '{choice.title}'", name, titles)
        for robot in self.robots:
            driving = [choice.title for choice in self.controllers if choice.drives(robot)]
            check_distinct(driving, f"on robot '{robot.title}', two controllers have the title")
            if not driving:
                raise ArgumentError(f"no controller drives robot '{robot.title}'")

    def _check_design(self) -> None:
        cells = len(self.factors.cells)
        share, rest = divmod(self.design.runs, cells)
        if self.design.method == "sobol" and (rest or share & (share - 1) or not share):
            some = cells * 2 ** max(0, round(math.log2(max(1, share))))
            raise ArgumentError(
                f"'runs' of a Sobol design must be a power of two for each of the {cells} pairs of rate and delay, "
                f"such as {some}, not {self.design.runs}"
            )
        if self.design.runs < cells and self.design.method != "grid":
            raise ArgumentError(f"{self.design.runs} runs are too few for {cells} pairs of sample rate and delay")
        if self.tuning is not None and self.tuning.seed == self.design.seed:
            raise ArgumentError(
                f"[tuning] and [design] have the same seed, {self.design.seed}: gains must be judged by other draws "
                "than those that they were found with"
            )

    def replace(self, **changes: Any) -> Self:
        """Make a copy with some attributes changed, checked like a new one.

        The names of `Factors`, `Design` and `Execution` may be given directly: ``study.replace(runs=50, chunk=25)``.
        The copy has no source text, which would not be true of it any more.
        """
        attributes = set(self.__dataclass_fields__)
        for part in ("factors", "design", "execution"):
            names = set(type(getattr(self, part)).__dataclass_fields__) & set(changes) - attributes
            if names:
                inner = {name: changes.pop(name) for name in names}
                changes[part] = replace(changes.get(part, getattr(self, part)), **inner)
        for name in changes:
            if name not in attributes:
                raise UnknownNameError("attribute of a study", name, sorted(attributes))
        return replace(self, **{"source": None} | changes)

    def shown_unknown(self, name: str) -> tuple[str, float, str]:
        """Return meaning, factor and unit with which an unknown is shown; payloads may be in rated ones."""
        meaning, factor, unit = shown_unknown(name)
        if unit == "kg" and any(robot.rated_payload != 1.0 for robot in self.robots):
            unit = "× the rated payload"
        return meaning, factor, unit

    def settings_of(self, choice: StudyController) -> dict[str, Any]:
        """Return the settings of a controller, with the study's source of velocities where it states none."""
        default = {VELOCITY: self.factors.velocity} if reads_velocity(choice.kind) else {}
        return default | dict(choice.settings)

    def factors_at(self, rate: float, delay: float) -> Factors:
        """Return the factors with one sample rate, Hz, and one delay, in sample periods."""
        return replace(self.factors, rates=(rate,), delays=(delay,))

    def only(self, robots: Sequence[str]) -> Self:
        """Make a copy with some of the robots, by their titles, and the controllers that drive them."""
        titles = [robot.title for robot in self.robots]
        for name in robots:
            if name not in titles:
                raise UnknownNameError("robot", name, titles, of="the study")
        selected = tuple(robot for robot in self.robots if robot.title in robots)
        controllers = (
            choice
            if choice.robots is None
            else replace(choice, robots=tuple(name for name in choice.robots if name in robots))
            for choice in self.controllers
        )
        return self.replace(robots=selected, controllers=tuple(choice for choice in controllers if choice.robots != ()))
