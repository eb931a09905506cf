"""Shorter paths: random shortcuts that are proven free.

Geraerts and Overmars, Creating high-quality paths for motion planning, International Journal of Robotics Research 26
(2007), shortcut by all coordinates at once.
"""

from __future__ import annotations

import numpy as np

from chasles.planning.space import TURN, Booleans, ConfigurationSpace, Floats

#: Shortcuts that are tried at once; the one that saves most is taken.
_AT_ONCE = 32


def shortened(space: ConfigurationSpace, waypoints: Floats, tries: int, generator: np.random.Generator) -> Floats:
    """Replace parts of a path by straight lines, and leave out waypoints that are not needed."""
    path = waypoints
    for _ in range(-(-tries // _AT_ONCE)):
        lengths = _places(space, path)
        if len(path) == 2:
            return path
        ends = np.sort(generator.uniform(0.0, lengths[-1], (2, _AT_ONCE)), axis=0)
        ends[:, 0] = 0.0, lengths[-1]
        from_, to = (_at(path, lengths, end) for end in ends)
        saved = ends[1] - ends[0] - space.lengths(to - from_)
        ways = np.flatnonzero(saved > 1e-9 * lengths[-1])
        free = ways[_straight(space, from_[ways], to[ways])]
        if len(free):
            best = free[saved[free].argmax()]
            before, after = path[lengths < ends[0, best]], path[lengths > ends[1, best]]
            path = _without_repeats(np.concatenate([before, [from_[best], to[best]], after]))
    return _without_needless(space, path)


def unwrapped(space: ConfigurationSpace, path: Floats) -> Floats:
    """Return the path with unwrapped angles, which pass ±π without jumps."""
    turns = np.where(space.turns, np.round(np.diff(path, axis=0) / TURN), 0.0)
    return np.concatenate([path[:1], path[1:] - TURN * np.cumsum(turns, axis=0)])


def _straight(space: ConfigurationSpace, start: Floats, goal: Floats) -> Booleans:
    """Whether the lines are free, and no shorter ones around a joint that turns without end would replace them."""
    short = (np.abs(goal - start) <= np.pi) | ~space.turns
    return np.asarray(space.free_edges(start, goal) & short.all(axis=-1), dtype=bool)


def _without_needless(space: ConfigurationSpace, path: Floats) -> Floats:
    """Leave out waypoints whose neighbors see each other."""
    k = 1
    while k < len(path) - 1:
        if _straight(space, path[k - 1 : k], path[k + 1 : k + 2])[0]:
            path = np.delete(path, k, axis=0)
            k = max(k - 1, 1)
        else:
            k += 1
    return path


def _without_repeats(path: Floats) -> Floats:
    moves = (np.diff(path, axis=0) != 0.0).any(axis=-1)
    return np.concatenate([path[:1], path[1:][moves]])


def _places(space: ConfigurationSpace, path: Floats) -> Floats:
    """Length of the path up to each waypoint."""
    return np.concatenate([[0.0], np.cumsum(space.lengths(np.diff(path, axis=0)))])


def _at(path: Floats, lengths: Floats, along: Floats) -> Floats:
    """Configurations at lengths along a path."""
    k = np.clip(np.searchsorted(lengths, along, side="right") - 1, 0, len(path) - 2)
    share = (along - lengths[k]) / np.maximum(lengths[k + 1] - lengths[k], np.finfo(float).tiny)
    return np.asarray(path[k] + np.clip(share, 0.0, 1.0)[:, None] * (path[k + 1] - path[k]))
