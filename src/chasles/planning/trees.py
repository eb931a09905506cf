"""Rapidly exploring random trees: RRT (LaValle 1998) and RRT-Connect (Kuffner and LaValle 2000).

Modern Robotics, section 10.5.1, algorithm 10.3 and its bidirectional form.
"""

from __future__ import annotations

import numpy as np

from chasles.planning.space import ConfigurationSpace, Floats

#: RRT tries to reach the goal with this share of its samples.
_GOAL_SHARE = 0.1


class SearchTree:
    """Configurations that are joined to a root by free edges."""

    def __init__(self, space: ConfigurationSpace, root: Floats) -> None:
        self.space, self.count = space, 1
        self.q = np.empty((64, len(root)))
        self.q[0] = root
        self.parents = [-1]

    def nearest(self, q: Floats) -> int:
        """Index of the configuration nearest to q (nq,)."""
        return int(self.space.lengths(self.space.way(self.q[: self.count], q)).argmin())

    def grow(self, target: Floats, step: float, most: int) -> tuple[int, bool]:
        """Go from the nearest configuration towards a target, in at most `most` steps, as far as the way is free.

        Returns
        -------
        last : int
            Index of the last configuration that was reached.
        arrived : bool
            Whether it is the target.
        """
        last = self.nearest(target)
        way = self.space.way(self.q[last], target)
        pieces = max(int(np.ceil(self.space.lengths(way) / step)), 1)
        ends = self.q[last] + np.linspace(0.0, 1.0, pieces + 1)[: most + 1, None] * way
        free = self.space.free_edges(ends[:-1], ends[1:])
        reached = len(free) if free.all() else int(free.argmin())
        for q in ends[1 : reached + 1]:
            last = self._add(q, last)
        return last, reached == pieces

    def branch(self, index: int) -> list[Floats]:
        """Configurations from the root to one of the tree."""
        to_root = []
        while index >= 0:
            to_root.append(self.q[index])
            index = self.parents[index]
        return to_root[::-1]

    def _add(self, q: Floats, parent: int) -> int:
        if self.count == len(self.q):
            self.q = np.concatenate([self.q, np.empty_like(self.q)])
        self.q[self.count] = q
        self.parents.append(parent)
        self.count += 1
        return self.count - 1


def rrt(
    space: ConfigurationSpace, start: Floats, goal: Floats, samples: int, step: float, generator: np.random.Generator
) -> tuple[list[Floats], int]:
    """Grow one tree from the start, a step towards each sample; return the path, empty without success, and samples."""
    tree = SearchTree(space, start)
    for count in range(1, samples + 1):
        aim = count == 1 or generator.random() < _GOAL_SHARE
        target = goal if aim else space.sample(generator, 1)[0]
        last, arrived = tree.grow(target, step, most=1)
        if aim and arrived:
            return tree.branch(last), count
    return [], samples


def rrt_connect(
    space: ConfigurationSpace, start: Floats, goal: Floats, samples: int, step: float, generator: np.random.Generator
) -> tuple[list[Floats], int]:
    """Grow trees from both ends in turn; each new configuration is a target that the other tree tries to reach."""
    trees = [SearchTree(space, start), SearchTree(space, goal)]
    last, arrived = trees[0].grow(goal, step, most=np.iinfo(np.int64).max - 1)
    if arrived:
        return trees[0].branch(last), 1
    for count in range(2, samples + 1):
        near, far = trees if count % 2 else trees[::-1]
        last, _ = near.grow(space.sample(generator, 1)[0], step, most=1)
        other, met = far.grow(near.q[last], step, most=np.iinfo(np.int64).max - 1)
        if met:
            from_start, from_goal = (last, other) if near is trees[0] else (other, last)
            return trees[0].branch(from_start) + trees[1].branch(from_goal)[-2::-1], count
    return [], samples
