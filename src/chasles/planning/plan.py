"""Plan a path from one configuration to another without collisions."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import ArgumentError
from chasles.distances import Clearance
from chasles.engine.validators import choice, real, reals, whole_number
from chasles.planning.planned_path import PlannedPath
from chasles.planning.roadmap import Roadmap
from chasles.planning.shortcuts import shortened, unwrapped
from chasles.planning.space import ConfigurationSpace, Floats
from chasles.planning.trees import rrt, rrt_connect

Method = Literal["rrt-connect", "rrt", "prm"]
_MOST = 10_000_000
#: A step of a tree, as a share of the length of the space's diagonal.
_STEP = 0.05
#: Distance beyond the margin, m, that shortcuts keep: a path that touches obstacles has corners no motion can round.
_ROOM = 0.02


def plan(
    where: Clearance | ConfigurationSpace,
    start: ArrayLike,
    goal: ArrayLike,
    *,
    method: Method = "rrt-connect",
    margin: float | None = None,
    samples: int = 5000,
    seed: int = 0,
    step: float | None = None,
    shortcuts: int = 500,
) -> PlannedPath:
    """Plan a path from one configuration to another without collisions and within the robot's limits.

    Parameters
    ----------
    where
        Clearance of the robot, from `chasles.clearance`; or a `ConfigurationSpace` with its own ranges.
    start, goal
        Configurations, shape (nq,).
    method
        Planner: ``"rrt-connect"`` grows two trees towards each other, ``"rrt"`` one from the start; ``"prm"`` draws all
        samples first and connects them to a roadmap. For many queries create a `Roadmap` once.
    margin
        Safety distance, m, default 0; a `ConfigurationSpace` has its own. Planning adds a millimetre (the space's
        `resolution`), and shortcuts add 20 mm, so that corners can be rounded.
    samples
        Number of samples after which the planner gives up.
    seed
        Seed of the samples: the same seed gives the same path.
    step
        Longest step of a tree, m, in the metric of `ConfigurationSpace.weights`; default 5 % of the diagonal of the
        robot's ranges.
    shortcuts
        Number of shortcuts tried; 0 leaves the path as found.

    Returns
    -------
    PlannedPath
        Path, with ``success`` and ``reason``. Failure within the number of samples does not prove that no path exists.

    Raises
    ------
    ArgumentError
        Shapes or values do not fit, or the robot has loops or joints with quaternions.
    UnknownNameError
        The method does not exist.

    Examples
    --------
    >>> import chasles as ch
    >>> from chasles.distances import Body
    >>> rods = [Body("link1", end=[-0.5, 0.0, 0.0], radius=0.05), Body("link2", end=[-0.25, 0.0, 0.0], radius=0.05)]
    >>> apart = ch.clearance(ch.load("planar2r"), bodies=rods, obstacles=[Body(None, [0.7, 0.3, 0.0], radius=0.1)])
    >>> path = plan(apart, [0.0, 0.0], [1.0, 0.0], margin=0.02)
    >>> path.success, bool((apart(path.waypoints) > 0.02).all())
    (True, True)
    >>> plan(apart, [0.0, 0.0], [0.4, 0.0]).reason
    "the goal is not free: 'link2' and 'obstacle' overlap by 138 mm"
    """
    if isinstance(where, ConfigurationSpace):
        if margin is not None:
            raise ArgumentError(f"the space has the margin {where.margin:g} m; leave margin= out, or use with_margin")
        stated_space = where
    else:
        stated_space = ConfigurationSpace(where, margin=0.0 if margin is None else margin)
    space = stated_space.with_margin(stated_space.margin + stated_space.resolution)  # leaves room to round the corners
    first, last = (reals(q, name, (space.robot.nq,)) for q, name in ((start, "start"), (goal, "goal")))
    known_method = choice(method, "method", get_args(Method))
    count = whole_number(samples, "samples", 1, _MOST)
    tries = whole_number(shortcuts, "shortcuts", 0, _MOST)
    longest = _STEP * _diagonal(space) if step is None else real(step, "step", above=0.0)
    generator = np.random.default_rng(whole_number(seed, "seed", 0, 2**63))
    nothing = np.empty((0, space.robot.nq))
    for name, q in (("start", first), ("goal", last)):
        if obstruction := space.obstruction(q):
            return PlannedPath(stated_space, False, f"the {name} is not free: {obstruction}", nothing, 0)
    path, drawn = _found(space, first, last, known_method, count, longest, generator, seed)
    if not len(path):
        reason = f"no path was found with {drawn:,} samples; try more samples, another seed or a smaller margin"
        return PlannedPath(stated_space, False, reason, nothing, drawn)
    waypoints = unwrapped(space, path)
    if tries:
        roomy = stated_space.with_margin(stated_space.margin + _ROOM)
        waypoints = shortened(roomy, waypoints, tries, generator)
    edges = max(len(waypoints) - 1, 1)
    reason = f"a path of {edges} edge{'s' if edges > 1 else ''}, found with {drawn:,} samples and proven free"
    return PlannedPath(stated_space, True, reason, waypoints, drawn)


def _found(
    space: ConfigurationSpace,
    start: Floats,
    goal: Floats,
    method: str,
    samples: int,
    step: float,
    generator: np.random.Generator,
    seed: int,
) -> tuple[Floats, int]:
    """Path (k, nq) by a method, and the number of samples drawn."""
    if method == "prm":
        return Roadmap(space, samples, seed=seed).path(start, goal), samples
    grow = rrt_connect if method == "rrt-connect" else rrt
    path, drawn = grow(space, start, goal, samples, step, generator)
    return np.reshape(path, (-1, space.robot.nq)), drawn


def _diagonal(space: ConfigurationSpace) -> float:
    ranges = np.where(space.turns, 2.0 * np.pi, space.upper - space.lower)
    return float(space.lengths(np.where(np.isfinite(ranges), ranges, 0.0)))
