"""The best motion by a primal-dual interior point method, whose Newton step is the regulator of `backward_pass`.

Costs and dynamics are taken to second order around the motion, the constraints are elastic rows (`elastic`), and one
backward and one forward pass over the nodes give the step of torques, states and costates. A filter accepts a share of
it. The barrier μ falls as the equations of the barrier problem hold; the price ρ of a violation rises while multipliers
press on it. There are no active sets, no inner problems, and no restoration phase. Iterations run in machine code (see
`workspace`); here is what they begin with, and the decisions that are rare.

Where the second derivatives have negative curvature in a direction that the dynamics allow, the recursion finds a pivot
that is not positive, and the step is computed again with more `curvature`.

Sources: Wächter and Biegler, On the implementation of an interior-point filter line-search algorithm for large-scale
nonlinear programming (2006); Gould, Orban and Toint (2003) for elastic constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from chasles.control.optimal.detours import detours
from chasles.control.optimal.elastic import PRICE_FACTOR
from chasles.control.optimal.errors import HIGH_PRICE, Errors
from chasles.control.optimal.first_motion import inside
from chasles.control.optimal.impossible import impossible
from chasles.control.optimal.iterates import Ending, Iterate, SearchResult
from chasles.control.optimal.nodes import Nodes
from chasles.control.optimal.saddle import descent_both_ways
from chasles.control.optimal.workspace import Label, Workspace, workspace
from chasles.engine.kernels.threads import get_threads, run_all

Floats = NDArray[np.float64]
Watch = Callable[[int, Errors], None]

_FIRST_BARRIERS, _FIRST_PRICE = (0.1, 0.01, 1.0), 1e2
#: Largest rotation of a joint by the first step of the first search, rad: the linear model of such a rotation is off by
#: an eighth of it. Further searches are those where this led nowhere; a long step may pass an obstacle.
_FIRST_TURN = 0.5
#: Iterations after which a search leads nowhere, ten times what hard ones need, and endings after which another begins.
_LONGEST, _GOES_ON = 500, (Ending.INFEASIBLE, Ending.STALLED, Ending.STOPPED)
#: Saddles that are left one after the other, and how far aside of one the next search begins, rad or m.
_SADDLES, _ASIDE = 3, 0.1
#: Share of what violations contribute to a torque below which the cost does not matter beside them: one percent.
_OUTWEIGHED = 1e-2
_MOST_FAILURES = 5
#: Iterations between which Python answers an interrupt.
_UNINTERRUPTED = 20


def solve(
    nodes: Nodes,
    start: Iterate,
    *,
    iterations: int,
    barrier: float = 0.0,
    judges: bool = True,
    watch: Watch | None = None,
) -> SearchResult:
    """Iterate from a motion to the best one.

    Parameters
    ----------
    nodes
        One problem.
    start
        The first iterate; see `first_iterate`.
    iterations
        Largest number of iterations.
    barrier
        Parameter at which the barrier stays: the motion is then the best one with that barrier. By default it falls
        as far as it counts.
    judges
        Whether the last motion is judged, which takes as long as most of an iteration; else it just is the last.
    watch
        Called with the number of each iteration and the errors of the motion.
    """
    with workspace(nodes) as space:
        space.pose(nodes, start)
        space.numbers["fixed"][...], space.numbers["judges"][...] = barrier, judges
        search = _Search(nodes, space, iterations, watch)
        ending = search.run("differentiate" if start.rows.any() else "begin")
        price, mu = (float(space.numbers[name]) for name in ("price", "mu"))
        rows = np.stack([space.rows[name] for name in "abz"])
        last = Iterate(space.W.copy(), space.costates.copy(), rows, price, mu)
        sweeps, chain = search.count + int(space.numbers["sweeps"]), space.chain
        result = SearchResult(last, chain.K[..., :-1].copy(), ending, search.count, sweeps)
        if ending is not Ending.CONVERGED:
            return result
        chain.solve()  # with the second derivatives at this motion, and no curvature added
        if chain.has_minimum:
            return replace(result, gains=chain.K[..., :-1].copy(), is_minimum=True)
        return replace(result, descent=descent_both_ways(chain))


def solve_all(nodes: Nodes, W: Floats, *, iterations: int, watch: Watch | None = None) -> list[SearchResult]:
    """Solve each problem of a batch (problems, …) from its motion, by as many threads as `chasles.engine` may use."""
    results: dict[int, SearchResult] = {}

    def solved(k: int) -> Iterator[None]:
        results[k] = solve_from(nodes.select(k), W[k], iterations=iterations, watch=watch)
        yield

    run_all(map(solved, range(len(W))), min(len(W), get_threads()) if watch is None else 1)
    return [results[k] for k in range(len(W))]


def solve_from(nodes: Nodes, W: Floats, *, iterations: int, watch: Watch | None = None) -> SearchResult:
    """Iterate from a motion; where that ends without one that keeps the constraints, with other barriers and `detours`.

    A high barrier leads far away from the first motion, a low one keeps near to it. A later result counts only if it
    converges. Where no motion can keep the constraints, the first search is the only one. A stationary motion that is
    no minimum is left on a side where the cost goes down.
    """
    results: list[SearchResult] = []
    for first, barrier, turn in _first_motions(nodes, W):
        left = iterations - sum(each.iterations for each in results)
        most = min(left, _LONGEST)
        results.append(solve(nodes, first_iterate(nodes, first, barrier, turn), iterations=most, watch=watch))
        if results[-1].ending not in _GOES_ON or left <= results[-1].iterations or impossible(nodes):
            break
    best = results[-1] if results[-1].ending is Ending.CONVERGED else results[0]
    for _ in range(_SADDLES):
        if best.descent is None:
            break
        best = _beyond(nodes, best, results, iterations, watch)
    spent, sweeps = (sum(counts) for counts in zip(*((each.iterations, each.sweeps) for each in results), strict=True))
    return replace(best, iterations=spent, sweeps=sweeps)


def _beyond(
    nodes: Nodes, saddle: SearchResult, results: list[SearchResult], iterations: int, watch: Watch | None
) -> SearchResult:
    """Search from both sides of a saddle; return what costs less, or the saddle without a way on."""
    m, W, descent = nodes.inputs, saddle.iterate.W, np.asarray(saddle.descent)
    size = np.abs(descent[:, m : m + nodes.step.robot.n]).max()
    for side in (1.0, -1.0):
        left = iterations - sum(each.iterations for each in results)
        if left <= 0 or size == 0.0:
            break
        first = inside(nodes, W + side * _ASIDE / size * descent)
        results.append(solve(nodes, first_iterate(nodes, first, _FIRST_BARRIERS[0]), iterations=left, watch=watch))
        lower = nodes.values(results[-1].iterate.W).cost < nodes.values(W).cost
        if results[-1].ending is Ending.CONVERGED and lower:
            return results[-1]
    return replace(saddle, descent=None)


def _first_motions(nodes: Nodes, W: Floats) -> Iterator[tuple[Floats, float, float]]:
    """Motions, barriers, and largest rotations of the first step to begin with, one after the other."""
    yield W, _FIRST_BARRIERS[0], _FIRST_TURN
    for barrier in _FIRST_BARRIERS[1:]:
        yield W, barrier, np.inf
    for detour in detours(nodes, W):
        yield detour, _FIRST_BARRIERS[0], np.inf


def first_iterate(nodes: Nodes, W: Floats, mu: float, turn: float = np.inf) -> Iterate:
    """Begin at a motion, with slacks and multipliers on the central path and no costates."""
    costates = np.zeros((len(W), W.shape[1] - nodes.inputs))
    return Iterate(W, costates, np.zeros((3, nodes.rows.count)), _FIRST_PRICE, mu, turn)


def determines_positions(H: Floats) -> bool:
    """Whether costs determine all positions, by second derivatives H (n, n) without those of residuals."""
    return bool(np.isfinite(H).all() and np.linalg.matrix_rank(H, hermitian=True) == len(H))


class _Search:
    """The iterations on one problem."""

    def __init__(self, nodes: Nodes, space: Workspace, most: int, watch: Watch | None) -> None:
        self.nodes, self.space, self.most, self.watch = nodes, space, most, watch
        self.price, self.mu, self.fixed, self.left = (space.numbers[name] for name in ("price", "mu", "fixed", "left"))
        self.allowed = most
        if watch is not None:
            self.allowed = 0
        elif space.numbers["judges"]:
            self.allowed = min(most, _UNINTERRUPTED)
        self.left[...] = self.allowed
        self.failures, self.failed_at = 0, 0

    @property
    def count(self) -> int:
        """Number of iterations."""
        return self.allowed - int(self.left)

    def run(self, label: Label) -> Ending:
        """Iterate to an end, from a place in the schedule on."""
        while True:
            stop = self.space.run(label)
            if stop == "pressed":
                label = self.raise_price()
            elif stop == "asks for other curvature":
                label = self.fall_back()
            elif stop == "no minimum":
                self.space.chain.K[...] = 0.0
                label = self.restore()
            elif stop == "refused":
                label = self.restore()
            elif stop == "enough":
                return Ending.STOPPED
            elif (ending := self.ending()) is not None:
                return ending
            else:
                label = self.go_on()

    def ending(self) -> Ending | None:
        """Return why the iterations end here, if they do."""
        errors = self.space.errors
        if not errors.is_finite:
            return Ending.NOT_FINITE
        if errors.has_converged(self.mu, self.fixed):
            return Ending.CONVERGED
        if errors.is_stuck(self.price, self.fixed) and self.outweighs_cost():
            return Ending.INFEASIBLE
        if self.failures >= _MOST_FAILURES:
            return Ending.STALLED
        return Ending.STOPPED if self.count >= self.most else None

    def go_on(self) -> Label:
        """Allow more iterations."""
        if self.left <= 0.0:
            if self.watch is not None:
                self.watch(self.count, self.space.errors)
            more = min(_UNINTERRUPTED if self.watch is None else 1, self.most - self.count)
            self.allowed += more
            self.left[...] += more
        return "go on"

    def outweighs_cost(self) -> bool:
        """Whether the price of violations is so high that torques would not change if the cost did not count.

        At a stationary motion the gradients of cost and violations add up to zero in each torque. Where the motion is
        stationary for the violations alone, what these contribute to a torque cancels to much less than its size: that
        of the positive multipliers and that of the negative ones, as of ends that contradict each other.
        """
        space, m, z = self.space, self.nodes.inputs, self.space.rows["z"]
        if self.price < HIGH_PRICE:
            return False
        B, A, _ = np.split(space.chain.transitions(), [m, -1], axis=-1)
        of_cost = space.cost_gradient()
        up, down = (space.pulled(self.nodes.rows, np.where(sign * z > 0.0, z, 0.0)) for sign in (1, -1))
        for by_w in (of_cost, up, down):  # sums along the linear model from the end to each node
            for k in range(len(A) - 1, -1, -1):
                by_w[k, m:] += by_w[k + 1, m:] @ A[k]
        reduced = of_cost[:-1, :m] + (of_cost[1:, None, m:] @ B)[:, 0]
        sizes = sum(np.abs(by_w[:-1, :m]) + (np.abs(by_w[1:, None, m:]) @ np.abs(B))[:, 0] for by_w in (up, down))
        return bool(np.abs(reduced).max() <= _OUTWEIGHED * np.max(sizes))

    def raise_price(self) -> Label:
        """Raise the price of violations that multipliers press on, unless the cost does not count any more."""
        self.space.forget()
        if self.outweighs_cost():
            return "lower"
        self.price[...] *= PRICE_FACTOR
        return "press"

    def fall_back(self) -> Label:
        """Take the second derivatives of Gauss and Newton, if the costs of a node determine all positions by them."""
        self.space.run("gauss-newton")
        determined = determines_positions(self.space.stages["positions"][0])
        self.space.numbers["may_fall_back"][...] = 2.0 if determined else 0.0
        return "fall back" if determined else "curvature"

    def restore(self) -> Label:
        """Begin anew with slacks that fit and more curvature; the second time in a row with torques only."""
        self.failures = self.failures + 1 if self.count == self.failed_at else 1
        self.left[...] -= 1.0
        self.failed_at = self.count
        if self.failures >= _MOST_FAILURES:
            self.allowed, self.left[...] = self.count, 0.0
        self.space.forget()
        shift = self.space.numbers["before"]
        shift[...] = np.maximum(10.0 * shift, 1e-3)
        if self.failures > 1:
            self.space.roll_out()
        return "restore"
