"""`excite`: motions whose log tells a robot's parameters apart.

The motion of each joint is a Fourier series or a B-spline (`motion_shapes`), whose coefficients an optimisation finds
(`excitation_problem`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.arguments import choice, real, whole_number
from chasles.errors import ArgumentError, UnknownNameError, warn
from chasles.identification.excitation_problem import ExcitationProblem
from chasles.identification.motion_shapes import FourierShape, MotionShape, SplineShape
from chasles.identification.regions import Region
from chasles.mechanics.base_parameters import BaseParameters
from chasles.model import ModelWarning, has_masses
from chasles.progress import is_watched, with_progress
from chasles.robot import Robot
from chasles.trajectories.joint.trajectory import JointTrajectory

FloatArray = NDArray[np.float64]

UNEXCITED = 1e6
"""Condition number of a motion that tells hardly any parameters apart."""
CRITERIA = ("condition", "determinant", "parameters")


def _spline(period: float, harmonics: int) -> MotionShape:
    return SplineShape(period, FourierShape(period, harmonics).size)


SHAPES = {"fourier": FourierShape, "spline": _spline}


@dataclass(frozen=True)
class Excitation:
    """Planned motion; made by `chasles.excite`.

    Attributes
    ----------
    robot
        Robot that is to move.
    motion
        Motion within all limits: a `FourierMotion` or a `BSpline`.
    condition
        Condition number of its observation matrix.
    base
        Base parameters that are the matrix's columns.
    accuracy
        Standard error of each base parameter for torque noise of 1 N·m at each sample of the optimisation, shape
        (base,).
    """

    robot: Robot
    motion: JointTrajectory
    condition: float
    base: BaseParameters
    accuracy: FloatArray

    @property
    def start(self) -> FloatArray:
        """Configuration where the motion starts and ends, shape (n,)."""
        return np.asarray(self.motion(0.0).q)

    def __repr__(self) -> str:
        return f"<Excitation of '{self.robot.name}': {self.motion!r}, condition number {self.condition:.3g}>"


def excite(
    robot: Robot,
    *,
    period: float = 10.0,
    harmonics: int = 5,
    repetitions: int = 1,
    criterion: str | None = None,
    acceleration_limits: ArrayLike | None = None,
    jerk_limits: ArrayLike | None = None,
    regions: Sequence[Region] = (),
    complement: Sequence[JointTrajectory] = (),
    shape: str = "fourier",
    parameters: Sequence[str] = (),
    starts: int = 3,
    iterations: int = 300,
    seed: int = 0,
    progress: bool | None = None,
) -> Excitation:
    """Plan a periodic motion that excites a robot's base parameters, within all its limits.

    Parameters
    ----------
    robot
        Robot that is to move. Its position, velocity and effort limits hold; where it has none, π from home and 2
        rad/s. A robot without masses is planned for with those of `chasles.model.with_nominal_bodies`, with a warning
        if it has effort limits.
    period
        Duration of one period, s.
    harmonics
        Number of harmonics, at least 3. A spline has as many free control points as the series has coefficients.
    repetitions
        Number of periods of the motion that is handed out. Averages over periods lessen noise.
    criterion
        ``"condition"``: condition number of the observation matrix; ``"determinant"``: determinant of WᵀW (D-optimal);
        ``"parameters"``: standard errors of `parameters` alone. Default: ``"parameters"`` if they are given, else
        ``"condition"``.
    acceleration_limits, jerk_limits
        One number or shape (n,), rad/s², rad/s³. Default: the speed limit in 0.25 s; no limit.
    regions
        Half-spaces that points of links must stay in, such as the one above a table; `Region.box` makes a box.
    complement
        Motions that are logged as well: the plan supplies what they lack.
    shape
        ``"fourier"``: Fourier series; ``"spline"``: B-splines of degree 5, whose parts move more independently.
    parameters
        Base parameters that matter most, by name (``"link2.mx"``), or links, for all of theirs (``"link7"``).
    starts
        Number of random starts; the best result is taken.
    iterations
        Largest number of iterations from each start, for each of the two stages.
    seed
        Seed of the random starts.
    progress
        Whether to show a progress bar over the starts; by default on a terminal.

    Raises
    ------
    ArgumentError
        If an argument is out of range, or no start satisfies limits and regions.

    Examples
    --------
    >>> import chasles as ch
    >>> plan = ch.excite(ch.load("planar2r"), period=5.0, starts=1)
    >>> plan.motion.check(plan.robot).ok, plan.condition < 100.0
    (True, True)
    """
    if not has_masses(robot.description):
        robot = _with_guessed_bodies(robot)
    wanted = tuple(parameters)
    kind = choice(criterion or ("parameters" if wanted else "condition"), "criterion", CRITERIA)
    duration, order = real(period, "period", above=0.0), whole_number(harmonics, "harmonics", 3, 50)
    own = SHAPES[choice(shape, "shape", SHAPES)](duration, order)
    problem = ExcitationProblem(
        robot, duration, order, acceleration_limits, jerk_limits, regions, complement, own
    )  # fmt: skip
    problem.wanted = _places(wanted, problem.base.names)
    if (kind == "parameters") != bool(wanted):
        raise ArgumentError("criterion='parameters' and parameters=[...] belong together: give both, or neither")
    rng = np.random.default_rng(seed)
    best: tuple[float, FloatArray] | None = None
    most = whole_number(iterations, "iterations", 1, 100_000)
    attempts = range(whole_number(starts, "starts", 1, 1000))
    for _ in with_progress(attempts, "planning", show=is_watched() if progress is None else progress):
        found = problem.optimized(problem.random_start(rng), kind, most)
        if found is not None:
            score = problem.score(found, kind)
            if best is None or score < best[0]:
                best = score, found
    if best is None:
        raise ArgumentError(
            f"no motion of robot '{robot.name}' within limits and regions was found from {starts} starts; even with "
            f"the smallest motion of the last one, this was broken: {problem.broken}. Try more starts, a longer "
            "period, or wider regions and limits"
        )
    condition = problem.condition(best[1])
    if kind != "parameters" and condition > UNEXCITED:
        raise ArgumentError(
            f"within its limits, robot '{robot.name}' cannot excite its parameters in a period of {duration:g} s "
            f"(condition number {condition:.1e}): try a longer period or wider limits"
        )
    motion = problem.motion(best[1], whole_number(repetitions, "repetitions", 1, 1000))
    return Excitation(robot, motion, condition, problem.base, problem.accuracy(best[1]))


def _with_guessed_bodies(robot: Robot) -> Robot:
    guessed = robot.with_nominal_bodies()
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
