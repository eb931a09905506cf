"""Searches for closed configurations of a robot with loops, over batches.

A few searches run on numbers. Of many, all run in one *solve* kernel, whose lanes take the next guess when they are
done; it is compiled when it is first worth it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles import algorithms, model
from chasles.algorithms import Closing, LoopConstraints, closing
from chasles.algorithms.closing import ClosingState
from chasles.base.cached import cached_property
from chasles.engine import Function, Layout, trace
from chasles.engine.program.program import Program
from chasles.engine.trace_cache import remembered
from chasles.mechanics.computation import TRACED_PACKAGES, Array
from chasles.model import Description

WORTH_COMPILING = 64
"""Number of searches that take about as long as compiling one for all."""


class Closings(NamedTuple):
    """What searches for closed configurations found, for each guess."""

    q: Array
    """Configurations (k, nq), closed or as near as the searches came."""
    gap: Array
    """Largest residuals (k,), m and rad."""
    tolerated: NDArray[np.bool_]
    """Whether no residual is beyond the tolerance of the loops, (k,)."""
    flipped: NDArray[np.bool_]
    """Whether a loop is closed with a joint axis turned round, (k,)."""
    loops: list[str]
    """Name of the loop with the largest residual."""
    iterations: NDArray[np.intp]

    @property
    def closed(self) -> NDArray[np.bool_]:
        """Whether all loops are closed, (k,)."""
        return self.tolerated & ~self.flipped


@lru_cache(maxsize=64)
def closing_search(description: Description) -> ClosingSearch:
    """Return the searches of a robot; those of the same description are compiled once."""
    return ClosingSearch(description)


class ClosingSearch:
    """Searches of one robot."""

    def __init__(self, description: Description) -> None:
        self._description = description
        tolerant = any(loop.tolerance for loop in description.loops)
        self.tree = model.build_tree(description) if tolerant else model.spanning_tree(description)

    def close(
        self,
        guesses: Array,
        held: Sequence[int] = (),
        most_iterations: int = 100,
        constraints: Callable[[Array], LoopConstraints] | None = None,
    ) -> Closings:
        """Search from guesses (k, nq) while velocities with the indices `held` keep their coordinates.

        A few searches call `constraints` in place of `algorithms.loop_constraints`, such as a compiled one.
        """
        if len(guesses) < WORTH_COMPILING and "_search" not in self.__dict__:
            closings = [algorithms.close_loops(self.tree, q, held, most_iterations, constraints) for q in guesses]
            return _together(closings, guesses)
        moving = np.ones(self.tree.n)
        moving[list(held)] = 0.0
        state = _layout(self.tree.nq).join(ClosingState.at(guesses))
        ended, iterations, _ = self._search(state, moving, float(most_iterations))
        q = np.asarray(_layout(self.tree.nq).split(ended).best)
        residual, beyond, alignment = (np.asarray(part) for part in self._judge(q))
        names = [loop.name for loop in self.tree.loops for _ in loop.constraints]
        sizes = np.abs(residual)
        return Closings(
            q,
            sizes.max(axis=-1, initial=0.0),
            beyond <= closing.CLOSED,
            alignment < 0.0,
            [names[worst] for worst in sizes.argmax(axis=-1)] if names else [""] * len(q),
            np.asarray(iterations).astype(np.intp),
        )

    def displaced(self, q: Array, displacements: Array) -> Array:
        """Configurations (k, nq) after displacements (k, n) of all joints from one configuration (nq,)."""
        if len(displacements) < WORTH_COMPILING:
            moved = [algorithms.integrate(self.tree, q, displacement) for displacement in displacements]
            return np.array(moved).reshape(-1, self.tree.nq)
        return np.asarray(self._displacement(q, displacements))

    @cached_property
    def _search(self) -> Function:
        """Solve kernel: (state, moving) -> (state, done)."""
        tree, layout = self.tree, _layout(self.tree.nq)
        constraints = partial(algorithms.loop_constraints, tree)

        def step(state: Array, moving: Array) -> tuple[Array, Array]:
            following, done = closing.closing_step(tree, constraints, layout.split(state), moving)
            return layout.join(following), done

        def traced() -> Program:
            shapes = {"state": (layout.size,), "moving": (tree.n,)}
            return trace(step, shapes, name="close_loops", outputs=["state_next", "done"])

        return Function(remembered(traced, TRACED_PACKAGES, (closing.closing_step, self._description)), shape="solve")

    @cached_property
    def _judge(self) -> Function:
        """Map: q -> (residual, its largest part beyond the tolerances, alignment)."""
        tree = self.tree

        def judge(q: Array) -> tuple[Array, Array, Array]:
            residual = algorithms.loop_constraints(tree, q).residual
            return residual, closing.beyond_tolerance(tree, residual), closing.alignment(tree, q)

        outputs = ["residual", "beyond", "alignment"]
        return Function(trace(judge, {"q": (tree.nq,)}, name="closure", outputs=outputs))

    @cached_property
    def _displacement(self) -> Function:
        """Map: (q, displacement of all joints) -> q."""
        shapes = {"q": (self.tree.nq,), "v": (self.tree.n,)}
        return Function(trace(partial(algorithms.integrate, self.tree), shapes, name="displace", outputs=["q_next"]))


def _together(closings: Sequence[Closing], guesses: Array) -> Closings:
    return Closings(
        np.array([one.q for one in closings]).reshape(guesses.shape),
        np.array([one.gap for one in closings]),
        np.array([one.tolerated for one in closings], dtype=bool),
        np.array([one.flipped for one in closings], dtype=bool),
        [one.loop for one in closings],
        np.array([one.iterations for one in closings], dtype=np.intp),
    )


def _layout(nq: int) -> Layout:
    return Layout(ClosingState((nq,), (nq,), (), (), ()))
