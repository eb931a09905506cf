"""What a study is: robots with motions, controllers, and what the controllers do not know."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from chasles.errors import ArgumentError, UnknownNameError
from chasles.studies.checks import check_distinct, line_of_text
from chasles.studies.choices import StudyController, StudyRobot
from chasles.studies.settings import Design, Execution, Factors, set_fields

if TYPE_CHECKING:
    from chasles.studies.results import StudyResults


@dataclass(frozen=True)
class Study:
    """Controllers compared on the same robots, motions and unknowns, over many runs.

    Attributes
    ----------
    robots, controllers
        What is compared.
    factors
        What the controllers do not know, and the sample rates.
    design
        How the runs are drawn.
    execution
        How they are simulated.
    title, description
        Text for people.
    source
        The TOML text that it was read from, if any.

    Examples
    --------
    >>> from chasles import studies
    >>> study = studies.Study(
    ...     robots=(studies.StudyRobot.of("planar2r", goal=[1.0, 0.5], duration=0.5),),
    ...     controllers=(studies.StudyController("computed torque", "computed-torque", {"frequency": 20.0}),),
    ...     factors=studies.Factors(rates=(250.0,)),
    ...     design=studies.Design(runs=8),
    ... )
    >>> results = study.run()
    >>> results.summaries()[0].lost
    0.0
    """

    robots: tuple[StudyRobot, ...]
    controllers: tuple[StudyController, ...]
    factors: Factors = field(default_factory=Factors)
    design: Design = field(default_factory=Design)
    execution: Execution = field(default_factory=Execution)
    title: str = "Study"
    description: str = ""
    source: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        set_fields(self, robots=tuple(self.robots), controllers=tuple(self.controllers))
        line_of_text(self.title, "title")
        for what, items in (("robot", self.robots), ("controller", self.controllers)):
            if not items:
                raise ArgumentError(f"a study needs at least one {what}")
        share, rest = divmod(self.design.runs, len(self.factors.rates))
        if self.design.method == "sobol" and (rest or share & (share - 1) or not share):
            some = len(self.factors.rates) * 2 ** max(0, round(math.log2(max(1, share))))
            raise ArgumentError(
                f"'runs' of a Sobol design must be a power of two for each of the {len(self.factors.rates)} rates, "
                f"such as {some}, not {self.design.runs}"
            )
        if self.design.runs < len(self.factors.rates) and self.design.method != "grid":
            raise ArgumentError(f"{self.design.runs} runs are too few for {len(self.factors.rates)} sample rates")
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

    @classmethod
    def from_toml(cls, path: str | PathLike[str]) -> Self:
        """Read a study from a TOML file.

        Raises
        ------
        ArgumentError, UnknownNameError
            The message names the file, the table and the key.
        """
        from chasles.studies.toml import read_study

        return read_study(cls, Path(path))

    def replace(self, **changes: Any) -> Self:
        """Make a copy with some attributes changed, checked like a new one.

        The names of `Factors`, `Design` and `Execution` may be given directly: ``study.replace(runs=50, chunk=25)``.
        The copy has no source text, which would not be true of it any more.
        """
        own = set(self.__dataclass_fields__)
        for part in ("factors", "design", "execution"):
            names = set(type(getattr(self, part)).__dataclass_fields__) & set(changes) - own
            if names:
                inner = {name: changes.pop(name) for name in names}
                changes[part] = replace(changes.get(part, getattr(self, part)), **inner)
        for name in changes:
            if name not in own:
                raise UnknownNameError("attribute of a study", name, sorted(own))
        return replace(self, **{"source": None} | changes)

    def only(self, robots: Sequence[str]) -> Self:
        """Make a copy with some of the robots, by their titles, and the controllers that drive them."""
        titles = [robot.title for robot in self.robots]
        for name in robots:
            if name not in titles:
                raise UnknownNameError("robot of the study", name, titles)
        kept = tuple(robot for robot in self.robots if robot.title in robots)
        controllers = (
            choice
            if choice.robots is None
            else replace(choice, robots=tuple(name for name in choice.robots if name in robots))
            for choice in self.controllers
        )
        return self.replace(robots=kept, controllers=tuple(choice for choice in controllers if choice.robots != ()))

    def run(
        self,
        folder: str | PathLike[str] | None = None,
        *,
        workers: int | None = None,
        scheduler: Any = None,
        progress: bool | None = None,
    ) -> StudyResults:
        """Simulate all runs, or those whose results are not in the folder yet.

        Parameters
        ----------
        folder
            Where results are stored, chunk by chunk, as they come. A study that was interrupted goes on from there.
            What a change of the definition, of the robots or of Chasles itself concerns is simulated anew.
        workers
            Processes of this machine. By default this process does the work alone and spreads the runs of each part
            over all cores. Several processes also share the compiling, which takes most of the time the first time. A
            script that asks for them must do so under ``if __name__ == "__main__":``.
        scheduler
            Address of a Dask scheduler, or a `distributed.Client`, whose workers then do the work.
        progress
            Whether to show a progress bar; by default on a terminal.

        Raises
        ------
        ArgumentError
            If the folder cannot be written, or the scheduler cannot be reached.
        """
        from chasles.studies.running import run_study

        return run_study(self, folder, workers=workers, scheduler=scheduler, progress=progress)
