"""`excite`: motions whose log tells a robot's parameters apart.

The motion of each joint is a Fourier series (`fourier`), whose coefficients an optimisation finds
(`excitation_problem`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

from chasles.base.errors import ArgumentError, UnknownNameError, warn
from chasles.base.findings import Finding
from chasles.base.progress import Advance, is_watched, progress_bar
from chasles.distances import Clearance
from chasles.engine.validators import real, whole_number
from chasles.identification.excitation_problem import ExcitationProblem, stages_of
from chasles.identification.fourier import FourierMotion
from chasles.identification.free_space import CONFIGURATIONS, above_floor, fitted_clearance
from chasles.identification.joint_paths import JointPaths
from chasles.identification.regions import Region
from chasles.mechanics.base_parameters import BaseParameters
from chasles.model import ModelWarning, has_masses
from chasles.model.placement import FloatArray
from chasles.robot.robot import Robot
from chasles.trajectories.joint.trajectory import JointTrajectory

UNEXCITED = 1e6
"""Condition number of a motion that tells hardly any parameters apart."""


@dataclass(frozen=True)
class Excitation:
    """Planned excitation; result of `chasles.excite`.

    Attributes
    ----------
    robot
        Robot to move.
    motion
        Motion within all limits: a Fourier series.
    condition
        Condition number of the motion's observation matrix.
    base
        Base parameters, in the order of the matrix columns.
    accuracy
        Standard error of each base parameter for torque noise of 1 N·m at each sample of the optimisation, shape
        (base,).
    complete
        Whether all starts finished within the time limit; if not, this is the best motion found until then.
    clearance
        Smallest distance between bodies of the robot and to the floor along the motion, m; NaN if none was looked at.
    findings
        Checks that were not made, as `chasles.base.findings.Finding`.
    """

    robot: Robot
    motion: FourierMotion
    condition: float
    base: BaseParameters
    accuracy: FloatArray
    complete: bool = True
    clearance: float = math.nan
    findings: tuple[Finding, ...] = ()

    @property
    def start(self) -> FloatArray:
        """Configuration at the start and end of the motion, shape (n,)."""
        return np.asarray(self.motion(0.0).q)

    def __repr__(self) -> str:
        state = "" if self.complete else ", time limit reached"
        free = "" if math.isnan(self.clearance) else f", clearance {self.clearance:.2g} m"
        return (
            f"<Excitation of '{self.robot.name}': {self.motion!r}, condition number {self.condition:.3g}{free}{state}>"
        )


def excite(
    robot: Robot,
    *,
    period: float = 10.0,
    harmonics: int = 5,
    repetitions: int = 1,
    acceleration_limits: ArrayLike | None = None,
    jerk_limits: ArrayLike | None = None,
    regions: Sequence[Region] = (),
    clearance: Clearance | None = None,
    floor: float | None = None,
    complement: Sequence[JointTrajectory] = (),
    parameters: Sequence[str] = (),
    starts: int = 3,
    iterations: int = 300,
    time_limit: float = 60.0,
    seed: int = 0,
    progress: bool | None = None,
) -> Excitation:
    """Plan a periodic motion that excites a robot's base parameters, within all its limits.

    Parameters
    ----------
    robot
        Robot to move. Its position, velocity and effort limits apply; missing limits default to π from home and 2
        rad/s. With loops its independent joints are moved: the loops stay closed on the assembly mode of home and
        clear of singular configurations (`chasles.identification.joint_paths`). A robot without masses gets those of
        `chasles.model.with_nominal_bodies`, with a warning if it has effort limits.
    period
        Duration of one period, s.
    harmonics
        Number of harmonics, at least 3.
    repetitions
        Number of periods of the returned motion. Averaging over periods reduces noise.
    acceleration_limits, jerk_limits
        Acceleration limits, rad/s², and jerk limits, rad/s³, a scalar or shape (n,). Default: acceleration that reaches
        the speed limit in 0.25 s; no jerk limit.
    regions
        Half-spaces in which points of links must stay, such as the space above a table; `Region.box` makes a box.
    clearance
        Distances to keep above zero, from `chasles.clearance`: the robot's bodies, and obstacles if given. Default:
        capsules around the collision shapes of the links; a finding says what they do not look at.
    floor
        Height, m, that all bodies and link origins stay above, but for those that no joint lifts. Default: no floor.
    complement
        Other motions to be logged: the plan complements their excitation.
    parameters
        Most important base parameters, by name (``"link2.mx"``), or by link for all of its parameters (``"link7"``).
        Their standard errors are minimised instead of the condition number of the observation matrix.
    starts
        Number of random starts; the best result is returned.
    iterations
        Largest number of iterations from each start in each of two stages.
    time_limit
        Time after which the search ends with the best motion so far, s; `Excitation.complete` is then false. The result
        of a search that ends earlier depends only on the seed, not on the speed of the machine.
    seed
        Seed of the random starts.
    progress
        Whether to show a progress bar over the iterations; by default on a terminal.

    Raises
    ------
    ArgumentError
        If an argument is out of range, or no motion within limits, regions and clearance was found; the message says
        what stands in the way.

    Examples
    --------
    >>> import chasles as ch
    >>> plan = ch.excite(ch.load("planar2r"), period=5.0, starts=1)
    >>> plan.motion.check(plan.robot).ok, plan.condition < 100.0
    (True, True)
    """
    begin = time.monotonic()
    if not has_masses(robot.description):
        robot = _with_guessed_bodies(robot)
    wanted = tuple(parameters)
    kind = "parameters" if wanted else "condition"
    duration, order = real(period, "period", above=0.0), whole_number(harmonics, "harmonics", 3, 50)
    most = whole_number(iterations, "iterations", 1, 100_000)
    periods, count = whole_number(repetitions, "repetitions", 1, 1000), whole_number(starts, "starts", 1, 1000)
    limit = real(time_limit, "time_limit", above=0.0, infinite=True)
    parts = count * _iterations(kind, most)
    with (
        progress_bar("compiling", parts, show=is_watched() if progress is None else progress) as advance,
        # Matrices of a few hundred rows: BLAS's threads cost more than they give, on busy machines twenty times more.
        threadpool_limits(limits=1, user_api="blas"),
    ):
        rng = np.random.default_rng(whole_number(seed, "seed", 0, 2**63))
        bounds, distances, findings = _bounds(robot, regions, clearance, floor)
        problem = ExcitationProblem(
            robot, duration, order, acceleration_limits, jerk_limits, bounds, complement, distances
        )
        problem.space.require_some(np.random.default_rng(0))
        problem.wanted = _places(wanted, problem.base.names)
        search = _Search(problem, kind, most, begin + limit, advance)
        best = search.best(count, rng)
        if best is None:
            tried = f"{search.starts} start{'' if search.starts == 1 else 's'}"
            reached = f" within the time limit of {limit:g} s" if search.ended_early else ""
            raise ArgumentError(
                f"no motion of robot '{robot.name}' within limits, regions and clearance was found from "
                f"{tried}{reached}; even with the smallest motion of the last one, this was broken: {problem.broken}. "
                "Try more starts, a longer period, or wider regions and limits"
            )
        condition = problem.condition(best)
        if kind != "parameters" and condition > UNEXCITED:
            raise ArgumentError(
                f"within its limits, robot '{robot.name}' cannot excite its parameters in a period of {duration:g} s "
                f"(condition number {condition:.1e}): try a longer period or wider limits"
            )
        accuracy, nearest = problem.accuracy(best), problem.nearest(best)
    motion = problem.motion(best, periods)
    return Excitation(robot, motion, condition, problem.base, accuracy, not search.ended_early, nearest, findings)


def _bounds(
    robot: Robot, regions: Sequence[Region], clearance: Clearance | None, floor: float | None
) -> tuple[list[Region], Clearance | None, tuple[Finding, ...]]:
    """Regions with those above the floor, distances to keep, and what they do not look at."""
    paths = JointPaths(robot)
    q = paths.drawn(np.random.default_rng(0), CONFIGURATIONS, paths.half)
    height = None if floor is None else real(floor, "floor")
    above = [] if height is None else above_floor(robot, q, height)
    findings: tuple[Finding, ...] = ()
    if clearance is None:
        clearance, findings = fitted_clearance(robot, q, height)
    return [*regions, *above], clearance, findings


def _iterations(criterion: str, most: int) -> int:
    """Largest number of iterations from one start in all stages."""
    return sum(int(share * most) for _, share in stages_of(criterion))


class _Search:
    """Search from random starts, with a progress bar over its iterations, that ends at a moment of `time.monotonic`."""

    def __init__(
        self, problem: ExcitationProblem, criterion: str, iterations: int, ends: float, advance: Advance
    ) -> None:
        self.problem, self.criterion, self.iterations = problem, criterion, iterations
        self.ends, self.advance = ends, advance
        self.starts, self.ended_early = 0, False

    def best(self, starts: int, rng: np.random.Generator) -> FloatArray | None:
        """Return the coefficients of the best motion within all limits, or None if no start leads to one."""
        found: list[tuple[float, FloatArray]] = []
        while self.starts < starts and not self.ended_early:
            self.starts += 1
            x = self._from_start(self.problem.random_start(rng), f"planning, start {self.starts} of {starts}")
            if x is not None:
                found.append((self.problem.score(x, self.criterion), x))
        return min(found, key=lambda each: each[0])[1] if found else None

    def _from_start(self, x: FloatArray, title: str) -> FloatArray | None:
        left = _iterations(self.criterion, self.iterations)

        def count() -> None:
            nonlocal left
            part = min(left, 1)  # tightened penalties cost iterations that the bar does not count
            left -= part
            self.advance(part, title)
            if time.monotonic() > self.ends:
                self.ended_early = True
                raise StopIteration

        result = self.problem.optimized(x, self.criterion, self.iterations, count)
        self.advance(left, title)
        return result


def _with_guessed_bodies(robot: Robot) -> Robot:
    guessed = robot.edit.nominal_bodies()
    if (np.isfinite(robot.effort_limits) & (robot.effort_limits > 0.0)).any():
        warn(
            f"robot '{robot.name}' has no masses: its effort limits are kept for solid rods of "
            f"{guessed.description.mass:.3g} kg in all; begin slowly, or give it masses",
            ModelWarning,
        )
    return guessed


def _places(wanted: Sequence[str], names: Sequence[str]) -> NDArray[np.intp]:
    """Indices of the base parameters with these names, or of these links."""
    links = dict.fromkeys(name.rpartition(".")[0] for name in names)
    found = []
    for name in wanted:
        own = [k for k, each in enumerate(names) if name in (each, each.rpartition(".")[0])]
        if not own:
            raise UnknownNameError("base parameter or link with base parameters", name, [*links, *names])
        found += own
    return np.array(list(dict.fromkeys(found)), dtype=np.intp)
