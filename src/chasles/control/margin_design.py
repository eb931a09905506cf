"""Gains of one scalar, as large as a disk margin over everything declared unknown allows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from chasles.base.errors import ArgumentError
from chasles.base.findings import Finding, Rule
from chasles.control.controller import Controller
from chasles.control.drawn_plants import survives_drawn_plants
from chasles.control.frozen_law import FrozenLaw, LawFunction
from chasles.control.frozen_loops import FrozenLoops
from chasles.control.vertex_plants import UNLOADED, FrozenPlants, Uncertainty, frozen_plants
from chasles.engine.validators import real
from chasles.robot.robot import Robot
from chasles.trajectories import JointTrajectory, Motion
from chasles.trajectories.joint.closed import on_manifold

_PLACES = 5  # of the motion, its start and end among them
_SHARES = (0.15, 0.4, 0.8)  # of the payload, which the law's model carries
_SCAN = 1.5  # factor between the frequencies of the first search
_BISECTIONS = 5  # which leave 1 % of the frequency
_SLOWEST = 0.8  # rad/s: slower loops do not follow a motion
_FASTEST = 2.5  # rad in a period: no sampled loop is faster
_RATES, _LIGHTER = (
    (2.0, 4.0, 8.0, 16.0, 32.0),
    (0.5, 0.25, 0.0),
)  # of rate and payload, which are tried for those who are refused
_LARGEST_ERROR = 0.5  # rad (m): a torque that sets in leaves twice as much at first, and linear loops hold for a radian
_SLOWER, _TRIES = 0.8, 5  # factor of the frequency, and tries, where drawn plants are lost

_UNITS = {"cap": "rad/s", "rate": "Hz", "payload": "kg"}  # of what would allow a margin

#: The refusal where the margin cannot be had.
NO_MARGIN = Rule(
    "no-margin", math.nan,
    "a disk margin of 0.3 bears gains 0.74 to 1.35 times those of the model on every joint at once",
    "{law} reaches a disk margin of {value:.2g}, at {frequency:.3g} rad/s, where {asked:g} is asked for",
    "refusal",
)  # fmt: skip

#: The refusal where no frequency gives stable loops.
NO_STABLE_LOOP = Rule(
    "no-stable-loop", 0.0, "loops with a pole outside of the unit circle diverge",
    "{law} has unstable loops at every frequency from {least:g} to {frequency:.3g} rad/s, where a disk margin of "
    "{asked:g} is asked for",
    "refusal",
)  # fmt: skip

#: The refusal of laws that learn or switch, where they have the margin.
LOSES_PLANTS = Rule(
    "loses-drawn-plants", math.nan,
    "the margin holds for small errors; 32 drawn plants show what becomes of larger ones",
    "{law} has a disk margin of {value:.2g} and loses plants drawn from what is unknown, down to {frequency:.3g} rad/s",
    "refusal",
)  # fmt: skip

#: The refusal where the margin leaves errors in which the loops are not those that were judged.
TOO_FAR_OFF = Rule(
    "too-far-off", _LARGEST_ERROR,
    "margins are those of small errors, and a torque that sets in leaves twice as much at first",
    "{law} with a disk margin of {asked:g} leaves an error of {value:.2g} rad (m) to a joint under the largest unknown "
    "torques, at {frequency:.3g} rad/s, where {limit:g} is the most that linear loops describe",
    "refusal",
)  # fmt: skip


class DesignError(ArgumentError):
    """No gains have the margin that is asked for; the message says which margin can be had and what would allow more.

    Attributes
    ----------
    finding
        The refusal: its value is the largest margin that can be had, or the largest error. Its facts are
        ``frequency``, rad/s, and what would do: ``margin`` that can be accepted, or, for the one asked for, ``rate``,
        Hz, ``payload``, kg, or ``cap``, rad/s.
    """

    def __init__(self, finding: Finding) -> None:
        self.finding = finding
        facts = finding.facts
        ways = [f"a {name} of {facts[name]:.4g} {unit}" for name, unit in _UNITS.items() if name in facts]
        ways = [f"it is met with {' or '.join(ways)}"] if ways else []
        ways += [f"accept margin={facts['margin']:g}"] if "margin" in facts else []
        super().__init__("; ".join([str(finding), ", or ".join(ways)] if ways else [str(finding)]))

    def __reduce__(self) -> tuple[type[DesignError], tuple[Finding]]:
        return type(self), (self.finding,)


@dataclass(frozen=True)
class MarginDesign:
    """Promises of a design with margins.

    Attributes
    ----------
    frequency
        Natural frequency ω from which all gains follow, rad/s.
    margin
        Least disk margin of the loops frozen at five places of the motion, over all vertex plants.
    expected_error
        Root mean square joint error that the unknown torques are expected to leave, rad (m).
    model_payload
        Mass at the tool that the law's model carries, kg.
    period, delay
        Sample period, s, and delay in sample periods.
    promised
        Margin that was asked for.
    unknown
        Uncertainty that was declared.
    """

    frequency: float
    margin: float
    expected_error: float
    model_payload: float
    period: float
    delay: float
    promised: float
    unknown: Uncertainty

    def __str__(self) -> str:
        carried = f", model with {self.model_payload:.3g} kg at the tool" if self.model_payload else ""
        return (
            f"{self.frequency:.3g} rad/s{carried}: disk margin {self.margin:.2f}, expected error "
            f"{1e3 * self.expected_error:.3g} mrad"
        )


@dataclass(frozen=True, kw_only=True)
class Demand:
    """Demands on a design.

    Attributes
    ----------
    period, delay
        Sample period, s, and delay from a call to the effect of its torque, in sample periods.
    margin
        Least disk margin.
    cap
        Highest natural frequency, rad/s: what gears and drives bear.
    """

    period: float
    delay: float = 0.0
    margin: float = 0.3
    cap: float = 60.0

    def __post_init__(self) -> None:
        real(self.period, "period", above=0.0)
        real(self.delay, "delay", at_least=0.0, at_most=9.0)
        real(self.margin, "margin", above=0.0, at_most=1.5)
        real(self.cap, "cap", above=_SLOWEST)


class Candidate(NamedTuple):
    """A law with a design payload and gains of one frequency, its least margin (0: unstable) and expected errors."""

    controller: Controller
    mass: float
    frequency: float
    margin: float
    expected_error: float
    largest_error: float

    @property
    def is_near(self) -> bool:
        """Whether the errors are small enough for the loops that were judged."""
        return self.largest_error <= _LARGEST_ERROR


_Asked = TypeVar("_Asked")

#: Function of model, sample period and frequency to the law with its gains.
Make = Callable[[Robot, float, float], Controller]
#: Function of robot, places of a motion and uncertainty to vertex plants.
Plants = Callable[[Robot, Motion, Uncertainty], FrozenPlants]


class MarginSearch:
    """Search for the frequency of a law's gains.

    Parameters
    ----------
    make
        Function of model, sample period and frequency to the law.
    robot, motion
        Controller's model of the robot without unknown payload, and reference.
    unknown
        Uncertainty of the model.
    plants
        Function of robot, places of the motion and uncertainty to the vertex plants.
    """

    def __init__(
        self,
        make: Make,
        robot: Robot,
        motion: JointTrajectory,
        unknown: Uncertainty,
        plants: Plants = frozen_plants,
    ) -> None:
        self._make, self._robot, self._unknown, self._frozen_plants = make, robot, unknown, plants
        self._motion = on_manifold(robot, motion)
        self._reference = motion
        self._times = float(motion.start_time) + np.linspace(0.0, motion.duration, _PLACES)
        self._places = self._motion(self._times)
        masses = [share * unknown.payload for share in _SHARES] if unknown.payload else [0.0]
        self._models = {mass: unknown.with_model_payload(robot, mass) for mass in masses}
        self._functions: dict[float, LawFunction] = {}
        self._plants: dict[float, FrozenPlants] = {}
        self._matching: list[Mapping[str, Any]] | None = None
        self._laws: dict[tuple[float, float, float], tuple[Controller, FrozenLaw]] = {}

    def designed(self, demand: Demand) -> tuple[Controller, MarginDesign]:
        """Return the law with the least expected error that has the margin, of all design payloads.

        Raises
        ------
        DesignError
            None has it.
        """
        tried: list[Candidate] = []
        chosen = self._chosen(list(self._models), self._unknown, demand, tried)
        if chosen is None:
            raise DesignError(self._refusal(demand, tried))
        return chosen.controller, MarginDesign(
            chosen.frequency,
            chosen.margin,
            chosen.expected_error,
            chosen.mass,
            demand.period,
            demand.delay,
            demand.margin,
            self._unknown,
        )

    def _chosen(
        self,
        masses: Sequence[float],
        unknown: Uncertainty,
        demand: Demand,
        tried: list[Candidate],
        slowest: float = _SLOWEST,
    ) -> Candidate | None:
        """Return the candidate of the least expected error, of all design payloads, that loses no drawn plant.

        One that does is made slower.
        """
        loops = self._loops(unknown, demand)
        fastest = [self._fastest(mass, loops, demand, tried, slowest) for mass in masses]
        candidates = [candidate for candidate in fastest if candidate is not None and candidate.is_near]
        for _ in range(_TRIES * len(candidates)):
            best = min(candidates, key=lambda candidate: candidate.expected_error, default=None)
            if best is None or self._survives(best, unknown, demand):
                return best
            candidates.remove(best)
            slower = self._candidate(best.mass, _SLOWER * best.frequency, loops, demand.margin)
            if slower.margin >= demand.margin and slower.frequency > slowest:
                tried.append(slower)
                candidates += [slower] if slower.is_near else []
        return None

    def _fastest(
        self, mass: float, loops: FrozenLoops, demand: Demand, tried: list[Candidate], slowest: float
    ) -> Candidate | None:
        """Return the candidate of the highest frequency that has the margin: scan down, then bisect."""
        high = frequency = min(demand.cap, _FASTEST / demand.period)
        best = None
        while frequency > slowest and best is None:
            tried.append(self._candidate(mass, frequency, loops, _least(demand, tried)))
            if tried[-1].margin >= demand.margin:
                best = tried[-1]
            else:
                high, frequency = frequency, frequency / _SCAN
        for _ in range(_BISECTIONS if best is not None and best.frequency < high else 0):
            tried.append(self._candidate(mass, math.sqrt(frequency * high), loops, demand.margin))
            if tried[-1].margin >= demand.margin:
                best, frequency = tried[-1], tried[-1].frequency
            else:
                high = tried[-1].frequency
        return best

    def _survives(self, candidate: Candidate, unknown: Uncertainty, demand: Demand) -> bool:
        """Whether a law loses no drawn plant: a margin does not bind those that learn or switch."""
        return candidate.controller.is_linear or survives_drawn_plants(
            self._functions[candidate.mass],
            candidate.controller,
            self._robot,
            self._reference,
            unknown,
            demand.period,
            demand.delay,
            demand.margin,
        )

    def _candidate(self, mass: float, frequency: float, loops: FrozenLoops, least: float) -> Candidate:
        """Return a law for a design payload and a frequency, with its margin; 0 if a loop is unstable.

        The margin is an upper bound where that is less than `least`: the estimates that match each vertex are for laws
        whose first estimates have as much.
        """
        controller, frozen = self._law(mass, loops.period, frequency)
        margin = loops.disk(frozen) if loops.is_stable(frozen) else 0.0
        if margin and margin >= least and (matching := self._estimates(controller)):
            rows = controller.settled_schedule(self._places, loops.period)
            where = controller, self._motion, self._times, loops.period, rows
            unloaded, *loaded = self._functions[mass].frozen_with(matching, *where)
            matched = [*UNLOADED * [unloaded], *loaded][: loops.vertices]
            margin = loops.disk(frozen, matched) if loops.is_stable(*matched) else 0.0
        errors = loops.expected_errors(frozen) if margin >= least else (math.inf, math.inf)
        return Candidate(controller, mass, frequency, margin, *errors)

    def _law(self, mass: float, period: float, frequency: float) -> tuple[Controller, FrozenLaw]:
        """Return a law for a design payload and a frequency, and what it is at the places of the motion."""
        key = mass, period, frequency
        if key not in self._laws:
            controller = self._make(self._models[mass], period, frequency)
            rows = controller.settled_schedule(self._places, period)
            if mass not in self._functions:
                self._functions[mass] = LawFunction(controller, rows)
            where = controller, self._motion, self._times, period, rows
            kept = {name: controller.memory[name] for name in next(iter(self._estimates(controller)), ())}
            self._laws[key] = controller, self._functions[mass].frozen_with([kept], *where)[0]
        return self._laws[key]

    def _estimates(self, controller: Controller) -> list[Mapping[str, Any]]:
        """Estimates of an adaptive law that match the robot, and it with each payload; none for other laws."""
        if self._matching is None:
            robots = self._unknown.robots(self._robot)
            self._matching = [known for robot in robots if (known := controller.matching_memory(robot)) is not None]
        return self._matching

    def _loops(self, unknown: Uncertainty, demand: Demand) -> FrozenLoops:
        if unknown.payload not in self._plants:
            self._plants[unknown.payload] = self._frozen_plants(self._robot, self._places, unknown)
        return FrozenLoops(self._plants[unknown.payload], demand.period, demand.delay, float(self._reference.duration))

    def _refusal(self, demand: Demand, tried: Sequence[Candidate]) -> Finding:
        """Return the largest margin that was met, and the cap, rate and payload that allow the one asked for."""
        best = max(tried, key=lambda candidate: candidate.margin)
        rule = NO_MARGIN if best.margin else NO_STABLE_LOOP
        value = best.margin
        if best.margin >= demand.margin:
            enough = [one for one in tried if one.margin >= demand.margin]
            nearest = min(enough, key=lambda candidate: candidate.largest_error)
            if not nearest.is_near:
                rule, best, value = TOO_FAR_OFF, nearest, nearest.largest_error
            else:
                rule, best = LOSES_PLANTS, min(enough, key=_frequency)
                value = best.margin
        facts: dict[str, object] = {"law": best.controller.name, "frequency": best.frequency, "asked": demand.margin}
        rounded = math.floor(100.0 * best.margin) / 100.0
        if 0.0 < rounded < demand.margin and best.is_near:
            facts["margin"] = rounded
        wide = replace(demand, cap=max(demand.cap, _FASTEST / demand.period))
        if (faster := self._with_less(self._unknown, wide, slowest=demand.cap)) is not None:
            facts["cap"] = faster.frequency
        quicker = [replace(demand, period=demand.period / factor) for factor in _RATES]
        if (sampled := _mildest(quicker, lambda one: self._with_less(self._unknown, one))) is not None:
            facts["rate"] = 1.0 / sampled.period
        shares = _LIGHTER if self._unknown.payload else ()
        lighter = [replace(self._unknown, payload=share * self._unknown.payload) for share in shares]
        if (loaded := _mildest(lighter, lambda one: self._with_less(one, demand))) is not None:
            facts["payload"] = loaded.payload
        (finding,) = rule.told(value, least=_SLOWEST, **facts)
        return finding

    def _with_less(self, unknown: Uncertainty, demand: Demand, slowest: float = _SLOWEST) -> Candidate | None:
        """Return the candidate with the lightest design payload where something else is asked for."""
        return self._chosen([min(self._models)], unknown, demand, [], slowest)


def _least(demand: Demand, tried: Sequence[Candidate]) -> float:
    """Return the margin from which on a candidate counts: as much as is asked for, or as the best so far."""
    return min(demand.margin, max((candidate.margin for candidate in tried), default=0.0))


def _mildest(changes: Sequence[_Asked], allows: Callable[[_Asked], object]) -> _Asked | None:
    """Return the first of changes, from mild to drastic, that allows the margin; none if the last does not."""
    if not changes or allows(changes[-1]) is None:
        return None
    return next((change for change in changes[:-1] if allows(change) is not None), changes[-1])


def _frequency(candidate: Candidate) -> float:
    return candidate.frequency
