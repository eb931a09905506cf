"""Measures of every run of a study, and what follows from them for each robot and controller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from chasles.base.cached import cached_property
from chasles.base.errors import UnknownNameError
from chasles.control import Controller, LoopMargins
from chasles.engine.validators import choice, real
from chasles.mechanics.plain_coordinates import joint_units
from chasles.studies.bench import bench
from chasles.studies.controllers import attained_poles
from chasles.studies.definition import Definition
from chasles.studies.design import Runs, draw
from chasles.studies.effort import NO_EFFORT, Effort
from chasles.studies.experiment import RunBatch, beyond_motors, controller_of, margins_of
from chasles.studies.measures import LOOP, MEASURES, PROFILE
from chasles.studies.sensitivity import SobolIndices, rank_sensitivities
from chasles.studies.statistics import (
    ControllerComparison,
    Interval,
    Rank,
    compare,
    median,
    proportion,
    rank_effects,
    ranks,
)
from chasles.studies.summaries import QUARTILES, Quantiles, ResponseCurve, StudyCase, Summary
from chasles.studies.tuning import SCORES, Found, Front, front, gains_by_name, tuned_law

if TYPE_CHECKING:
    from chasles.studies.store import PartResult

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RunResults:
    """Measures of every run of a study, and what follows from them.

    Attributes
    ----------
    study
        The study.
    runs
        Factors of each run.
    values
        By the indices of robot and controller: `MEASURES` of each run, shape (runs,), and ``profile``, (runs, 101).
    computed
        Parts that were simulated; the others came from the disk.
    tunings
        By the indices of robot and controller, rate and delay: candidates of the search and the gains that gradients
        found, see `chasles.studies.tuning.tune`; empty without one.
    loops
        By the same: the `LOOP` numbers of the loop as it runs along the
        motion, shape (3,), NaN where linear models do not tell.
    refusals
        By the same: why the controller was refused there, as no gains have the margin that is asked for. Refused runs
        are not made. Their errors are infinite, so that they count as lost in comparisons.
    effort
        Time that the simulated parts took.
    beyond
        By the index of the robot: which runs no law can do, shape (runs,); see `beyond_motors`. They are counted apart,
        and in no other result.
    """

    study: Definition
    runs: Runs
    values: Mapping[tuple[int, int], Mapping[str, Floats]]
    computed: int
    tunings: Mapping[tuple[int, int, float, float], Found] = field(default_factory=dict)
    loops: Mapping[tuple[int, int, float, float], Floats] = field(default_factory=dict)
    refusals: Mapping[tuple[int, int, float, float], str] = field(default_factory=dict)
    effort: Effort = NO_EFFORT
    beyond: Mapping[int, NDArray[np.bool_]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, study: Definition, parts: Mapping[RunBatch, PartResult], computed: int, effort: Effort = NO_EFFORT
    ) -> Self:
        """Put the parts of a study together."""
        runs = draw(study)
        values: dict[tuple[int, int], dict[str, Floats]] = {}
        tunings, loops, refusals = {}, {}, {}
        shapes = {**dict.fromkeys(MEASURES, (len(runs),)), "profile": (len(runs), len(PROFILE))}
        for part, result in parts.items():
            cell = part.robot, part.controller, part.rate, part.delay
            of_pair = values.setdefault(
                cell[:2],
                {name: np.full(shape, np.nan if name == "lost_at" else np.inf) for name, shape in shapes.items()},
            )
            if isinstance(result, str):
                refusals[cell] = result
                continue
            loops[cell] = result["loop"]
            if (tuned := Found.of(result)) is not None:
                tunings[cell] = tuned
            chosen = runs.at(part.rate, part.delay)[part.first : part.last]
            for name in shapes:
                of_pair[name][chosen] = result[name]
        beyond = {number: beyond_motors(study, robot, runs) for number, robot in enumerate(study.robots)}
        return cls(study, runs, values, computed, tunings, loops, refusals, effort, beyond)

    def of_pair(self, robot: str, controller: str) -> Mapping[str, Floats]:
        """Measures of each of `runs_on` a robot of a controller, by their titles."""
        numbers = self._numbers(robot, controller)
        able = ~self._beyond(numbers[0])
        return {name: values[able] for name, values in self.values[numbers].items()}

    def runs_on(self, robot: str) -> Runs:
        """Return the runs that the motors of a robot can do."""
        return self.runs.part(~self._beyond([each.title for each in self.study.robots].index(robot)))

    def _beyond(self, robot: int) -> NDArray[np.bool_]:
        """Runs that no law can do on a robot, by its index."""
        return self.beyond.get(robot, np.zeros(len(self.runs), dtype=np.bool_))

    def _numbers(self, robot: str, controller: str) -> tuple[int, int]:
        """Indices of a robot and a controller into those of the study, by their titles."""
        titles = {(self.study.robots[r].title, self.study.controllers[c].title): (r, c) for r, c in self.values}
        if (robot, controller) not in titles:
            pairs = [" / ".join(pair) for pair in titles]
            raise UnknownNameError("pair of robot and controller", f"{robot} / {controller}", pairs)
        return titles[robot, controller]

    def tuned(self, robot: str, controller: str, rate: float, delay: float) -> dict[str, float]:
        """Return the settings with which a controller did best on the training draws, by name.

        `tuned_gains` are those of the joints, to which gradients led from these settings. Empty where nothing was
        searched, or for the study's own settings.
        """
        found = self.tunings.get((*self._numbers(robot, controller), rate, delay))
        return {} if found is None else found.settings

    def tuned_gains(self, robot: str, controller: str, rate: float, delay: float) -> dict[str, Floats]:
        """Return the gains that gradients found on the training draws, by the names of the law's parameters.

        Empty where nothing was searched, for laws without such gains, and where the search's own gains did better.
        """
        key = (*self._numbers(robot, controller), rate, delay)
        found = self.tunings.get(key)
        return gains_by_name(self._law(key), found.gains) if found and found.gains.size else {}

    def _law(self, key: tuple[int, int, float, float]) -> Controller:
        """Controller with which the runs of a robot, controller, rate and delay were made."""
        part = RunBatch(*key, 0, 0)
        if key not in self.tunings:
            return controller_of(self.study, part)
        return tuned_law(self.study, part, self.tunings[key])

    def front(self, robot: str, controller: str, rate: float, delay: float, against: str = "torque_rate") -> Front:
        """Return the Pareto front of a controller's median error against another score, on the training draws.

        Parameters
        ----------
        robot, controller
            Titles.
        rate, delay
            Sample rate, Hz, and delay, in sample periods.
        against
            ``"effort"`` or ``"torque_rate"``, relative to the planned motion's, or ``"lost"``, the share of lost runs.

        Raises
        ------
        UnknownNameError
            There is no such score, or the study did not search gains there.
        """
        choice(against, "score", SCORES[2:])
        key = (*self._numbers(robot, controller), rate, delay)
        if key not in self.tunings:
            searched = [f"{cell[2]:g} Hz, delay {cell[3]:g}" for cell in self.tunings if cell[:2] == key[:2]]
            raise UnknownNameError("search for gains at", f"{rate:g} Hz, delay {delay:g}", searched)
        return front(self.tunings[key].candidates, against)

    def unit(self, robot: str) -> str:
        """Unit of a robot's joint errors: rad, or m for a robot with prismatic joints only."""
        for robot_choice in self.study.robots:
            if robot_choice.title == robot:
                model = bench(self.study, robot_choice).model
                return "rad" if "rad" in joint_units(model, model.n) else "m"
        raise UnknownNameError("robot", robot, [robot_choice.title for robot_choice in self.study.robots])

    def controllers(self, robot: str) -> list[str]:
        """Titles of the controllers that drive a robot."""
        return [self.study.controllers[c].title for r, c in self.values if self.study.robots[r].title == robot]

    def summaries(self) -> list[Summary]:
        """One for each robot and controller, in the order of the study."""
        rows = []
        for r, c in self.values:
            titles = self.study.robots[r].title, self.study.controllers[c].title
            values, runs = self.of_pair(*titles), self.runs_on(titles[0])
            spreads: dict[str, Any] = {name: Quantiles.of(values[name]) for name in MEASURES if name != "lost_at"}
            lost = float(np.isfinite(values["lost_at"]).mean()) if len(runs) else np.nan
            refused = sum(len(runs.at(*cell[2:])) for cell in self.refusals if cell[:2] == (r, c))
            loops = np.array([loop for cell, loop in self.loops.items() if cell[:2] == (r, c)]).reshape(-1, len(LOOP))
            known = loops[~np.isnan(loops[:, 0])]
            disk, pole = ((float(known[:, k].min()), float(known[:, k].max())) if len(known) else None for k in (0, 1))
            share = refused / max(1, len(runs))
            rows.append(Summary(*titles, len(runs), lost, share, disk_margin=disk, slowest_pole=pole, **spreads))
        return rows

    @property
    def factors(self) -> list[str]:
        """Names of the factors: all unknowns that act, ``"rate"`` and ``"delay"``."""
        return [*self.runs.unknowns, "rate", "delay"]

    def compare(self, robot: str, first: str, second: str) -> ControllerComparison:
        """Compare two controllers on a robot run by run; every pair of the robot's controllers counts as compared.

        Examples
        --------
        >>> from chasles import studies
        >>> study = studies.load("mazure").only(["Mazure's arm"]).replace(runs=16, rates=[250.0], delays=[0.0])
        >>> results = study.replace(controllers=study.controllers[2:4]).run()
        >>> results.compare("Mazure's arm", "computed torque", "computed torque with integral").winner
        'computed torque with integral'
        """
        count = len(self.controllers(robot))
        errors = self.of_pair(robot, first)["rms_error"], self.of_pair(robot, second)["rms_error"]
        return compare(first, second, errors, max(1, count * (count - 1) // 2))

    def ranks(self, robot: str) -> dict[str, Rank]:
        """Return intervals of the controllers' ranks on a robot, by paired comparisons of errors.

        A controller is better than another if it errs less in significantly more runs, a lost run's error being
        infinite.
        """
        names = self.controllers(robot)
        return ranks(names, {name: self.of_pair(robot, name)["rms_error"] for name in names})

    def effects(self, robot: str, controller: str) -> dict[str, Interval]:
        """Return the effect of each unknown on the RMS joint error, the others held; see `statistics.rank_effects`."""
        return rank_effects(*self._varied(robot), self.of_pair(robot, controller)["rms_error"])

    def sensitivities(self, robot: str, controller: str) -> SobolIndices:
        """Return Sobol indices of the RMS joint error's ranks: the share of their variance that each factor explains.

        First-order and total indices of each unknown, and of the pair of rate and delay; see
        `chasles.studies.sensitivity`. Lost runs have the highest ranks.

        Examples
        --------
        >>> from chasles import studies
        >>> study = studies.load("mazure").only(["Mazure's arm"]).replace(runs=64, rates=[250.0], delays=[0.0])
        >>> results = study.replace(controllers=study.controllers[2:3]).run()
        >>> found = results.sensitivities("Mazure's arm", "computed torque").factors
        >>> max(found, key=lambda name: found[name].total.value)
        'payload'
        """
        return rank_sensitivities(*self._varied(robot), self.of_pair(robot, controller)["rms_error"])

    def _varied(self, robot: str) -> tuple[dict[str, Floats], NDArray[np.intp]]:
        """Unknowns that vary in the runs on a robot, and the number of each run's pair of rate and delay."""
        runs = self.runs_on(robot)
        varying = {name: values for name, values in runs.unknowns.items() if len(runs) and np.ptp(values) > 0.0}
        _, cell = np.unique(np.stack([runs.rate, runs.delay]), axis=1, return_inverse=True)
        return varying, cell.ravel()

    def cells(self, robot: str, controller: str) -> list[StudyCase]:
        """Return the results of a controller on a robot at each sample rate and delay."""
        key = self._numbers(robot, controller)
        if key not in self._cells:
            self._cells[key] = self._made_cells(robot, controller)
        return self._cells[key]

    @cached_property
    def _cells(self) -> dict[tuple[int, int], list[StudyCase]]:
        """Requested cells, by the indices of robot and controller."""
        return {}

    def _made_cells(self, robot: str, controller: str) -> list[StudyCase]:
        values = self.of_pair(robot, controller)
        robot_index, controller_index = self._numbers(robot, controller)
        choice, study_robot = self.study.controllers[controller_index], self.study.robots[robot_index]
        studied, runs = bench(self.study, study_robot), self.runs_on(robot)
        cases = []
        for rate, delay in self.study.factors.cells:
            chosen = runs.at(rate, delay)
            lost = int(np.isfinite(values["lost_at"][chosen]).sum())
            key = robot_index, controller_index, rate, delay
            settings = {**choice.settings, **self.tuned(robot, controller, rate, delay)}
            poles = None
            if key not in self.tunings or not self.tunings[key].gains.size:  # gains of each joint follow from no poles
                poles = attained_poles(choice.kind, settings, studied.model, studied.motion, 1.0 / rate)
            error = median(values["rms_error"][chosen])
            refusal = self.refusals.get(key, "")
            share = Interval(np.nan, np.nan, np.nan) if refusal else proportion(lost, len(chosen))
            disk, pole, growth = self.loops.get(key, np.full(len(LOOP), np.nan)).tolist()
            cases.append(StudyCase(rate, delay, len(chosen), share, error, poles, disk, pole, growth, refusal))
        return cases

    def margins(self, robot: str, controller: str, payload: float = 0.0) -> dict[tuple[float, float], LoopMargins]:
        """Return the margins of a controller's loop at each sample rate and delay, from the linear models alone.

        Beside `cells`, which have the least of them, they show what could have been said before anything was simulated.
        Velocities are those that the controller gets in the study.

        Parameters
        ----------
        robot, controller
            Titles.
        payload
            Mass at the tool, kg, that the controller does not know of.

        Returns
        -------
        dict
            Margins by rate, Hz, and delay, in sample periods; see `chasles.control.loop_margins`. Refused ones are left
            out.
        """
        robot_index, controller_index = self._numbers(robot, controller)
        mass = real(payload, "payload", at_least=0.0)
        margins = {}
        for rate, delay in self.study.factors.cells:
            key = robot_index, controller_index, rate, delay
            if key not in self.refusals:
                margins[rate, delay] = margins_of(self.study, RunBatch(*key, 0, 0), self._law(key), mass)
        return margins

    def curve(
        self, robot: str, controller: str, factor: str, measure: str = "rms_error", classes: int = 10
    ) -> ResponseCurve:
        """A measure against a factor, over all values of the other factors.

        Parameters
        ----------
        robot, controller
            Titles.
        factor
            A name of `factors`.
        measure
            A name of `MEASURES`.
        classes
            Classes of about equally many runs; rates, delays, and factors with fewer values, have one for each value.
        """
        choice(factor, "factor", self.factors)
        choice(measure, "measure", MEASURES)
        values = self.of_pair(robot, controller)
        x = self.runs_on(robot)[factor]
        groups = _classes(x, len(x) if factor in ("rate", "delay") else classes)
        spreads = [Quantiles.of(values[measure][group], QUARTILES) for group in groups]
        return ResponseCurve(
            np.array([np.median(x[group]) for group in groups]),
            np.array([spread.low for spread in spreads]),
            np.array([spread.median for spread in spreads]),
            np.array([spread.high for spread in spreads]),
            np.array([np.isfinite(values["lost_at"][group]).mean() for group in groups]),
        )

    def profile(self, robot: str, controller: str) -> ResponseCurve:
        """Largest joint error over the run, from its start, 0, to its end, 1."""
        values = self.of_pair(robot, controller)["profile"]
        low, median, high = np.quantile(values, QUARTILES, axis=0, method="higher")
        return ResponseCurve(PROFILE, low, median, high, np.isinf(values).mean(axis=0))


def _classes(x: Floats, count: int) -> list[NDArray[np.intp]]:
    distinct = np.unique(x)
    if len(distinct) <= count:
        return [np.flatnonzero(x == value) for value in distinct]
    order: NDArray[np.intp] = np.argsort(x, kind="stable")
    pieces: Sequence[NDArray[np.intp]] = np.array_split(order, min(count, len(x)))
    return list(pieces)
