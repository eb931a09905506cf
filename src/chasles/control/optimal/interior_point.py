"""The best motion by a primal-dual interior point method, whose Newton step is the regulator of `backward_pass`.

Costs and dynamics are taken to second order around the motion, the constraints are elastic rows (`elastic`), and one
backward and one forward pass over the nodes give the step of torques, states and costates. A filter accepts a share of
it. The barrier μ falls as the equations of the barrier problem hold; the price ρ of a violation rises while multipliers
press on it. There are no active sets, no inner problems, and no restoration phase.

Where the second derivatives have negative curvature in a direction that the dynamics allow, the recursion finds a pivot
that is not positive, and the step is computed again with more curvature: a shift, and if costs determine all positions,
after two shifts the second derivatives without the curvature of residuals, dynamics and constraints (Gauss–Newton).

Sources: Wächter and Biegler, On the implementation of an interior-point filter line-search algorithm for large-scale
nonlinear programming (2006); Gould, Orban and Toint (2003) for elastic constraints.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from chasles.control.optimal.backward_pass import Direction, solve_chain
from chasles.control.optimal.elastic import first_elastic
from chasles.control.optimal.filter import Filter, Merit
from chasles.control.optimal.iterates import Ending, Errors, Iterate, SearchResult, Slots
from chasles.control.optimal.node_programs import LastModel, NodeModel
from chasles.control.optimal.nodes import Model, Nodes

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

#: Scaled violation above which a motion is not within its constraints.
FEASIBLE = 1e-6
TOLERANCE = 1e-8
_FIRST_BARRIERS, _FIRST_PRICE, _PRICE_FACTOR = (0.1, 0.01), 1e2, 10.0
#: Price from which a motion may count as stationary for the violations alone, and price that is never passed.
_HIGH_PRICE, _LAST_PRICE = 1e5, 1e10
#: Share of what violations contribute to a torque below which the cost does not matter beside them: one percent.
_OUTWEIGHED = 1e-2
_REASONS = [Ending.NOT_FINITE, Ending.CONVERGED, Ending.INFEASIBLE, Ending.STALLED, Ending.STOPPED]
#: The barrier falls to a fifth or to its power 3/2 once the error is below ten times itself.
_BARRIER_ERROR, _BARRIER_FACTOR, _BARRIER_POWER, _LAST_BARRIER = 10.0, 0.2, 1.5, 1e-13
#: What the barriers may add to the cost, as a share of it.
_GAP = 1e-8
#: Share of the price from which a multiplier presses on it, and error, as a share of the price, of a stationary motion.
_PRESSES, _STATIONARY = 0.9, 1e-8
#: Numbers of the weights of a block of problems: its models are to lie in the processor's cache.
_BLOCK = 1 << 18
_TRIALS, _MOST_FAILURES, _MOST_SWEEPS = 12, 5, 20
#: Shifts that are tried before the second derivatives of Gauss and Newton.
_SHIFTS = 2
_FIRST_SHIFT, _SHIFT_UP, _SHIFT_UP_AGAIN, _SHIFT_DOWN = 1e-4, 100.0, 8.0, 1.0 / 3.0


def solve(
    nodes: Nodes,
    start: Iterate,
    *,
    iterations: int | NDArray[np.int_],
    barrier: float = 0.0,
    watch: Callable[[int, Errors], None] | None = None,
) -> SearchResult:
    """Iterate from motions to the best ones; each problem of the batch on its own, all of them together.

    Parameters
    ----------
    nodes
        The problems.
    start
        The first iterates; see `first_iterate`.
    iterations
        Largest number of iterations, one number or (problems,).
    barrier
        Parameter at which the barrier stays: the motion is then the best one with that barrier. By default it falls
        as far as it counts.
    watch
        Called with the number of each iteration and the errors of the problems that go on.
    """
    search = _Search(nodes, start, np.broadcast_to(iterations, start.mu.shape), barrier)
    count = 0
    while search.goes_on():
        if watch is not None:
            watch(count, search.errors)
        search.iterate()
        count += 1
    return search.result


def solve_from(
    nodes: Nodes, W: Floats, *, iterations: int, watch: Callable[[int, Errors], None] | None = None
) -> SearchResult:
    """Iterate from motions; where that ends without one that keeps the constraints, once more with a lower barrier.

    A high barrier leads far away from the first motion, a low one keeps near to it: that both find no motion is better
    evidence that there is none. The second result counts only if it converges.
    """
    first = solve(nodes, first_iterate(nodes, W, _FIRST_BARRIERS[0]), iterations=iterations, watch=watch)
    again = np.flatnonzero([ending in (Ending.INFEASIBLE, Ending.STALLED) for ending in first.endings])
    if not len(again):
        return first
    rest = nodes.select(again)
    left = iterations - first.iterations[again]
    second = solve(rest, first_iterate(rest, W[again], _FIRST_BARRIERS[1]), iterations=left, watch=watch)
    first.iterations[again] += second.iterations
    first.sweeps[again] += second.sweeps
    better = np.flatnonzero([ending is Ending.CONVERGED for ending in second.endings])
    for k in better:
        first.endings[again[k]] = second.endings[k]
    first.iterate.put(again[better], second.iterate.select(better))
    first.gains[again[better]] = second.gains[better]
    return first


def first_iterate(nodes: Nodes, W: Floats, mu: float) -> Iterate:
    """Begin at motions, with slacks and multipliers on the central path and no costates."""
    rows, problems = nodes.rows, len(W)
    barrier, price = np.full(problems, mu), np.full((problems, 1), _FIRST_PRICE)
    elastic = first_elastic(nodes.values(W).rows, rows.kinds, barrier[:, None], price).counting(rows.present)
    return Iterate(W, np.zeros((*W.shape[:2], W.shape[2] - nodes.inputs)), elastic, barrier)


class _Search:
    """The state of the iterations: a block of problems that go on, others wait until one of these ends.

    Attributes
    ----------
    all, all_gains
        Iterates and gains of all problems: first ones of those that wait, last ones of those that have ended.
    now
        Iterates of the block.
    which
        Numbers of the block's problems.
    """

    def __init__(self, nodes: Nodes, start: Iterate, iterations: NDArray[np.int_], barrier: float) -> None:
        problems, m, N = len(start.mu), nodes.inputs, nodes.rows.nodes
        self.all_nodes, self.all, self.barrier, self.most = nodes, start.map(np.array), barrier, iterations
        self.all_gains = np.zeros((problems, N, m, start.W.shape[2] - m))
        self.endings = [Ending.STOPPED] * problems
        self.iterations, self.all_sweeps = np.zeros((2, problems), dtype=int)
        block = min(problems, max(1, _BLOCK // (N * (start.W.shape[2] + 1) ** 2)))
        self.which, self.admitted = np.arange(block), block
        self.nodes, self.now = nodes.select(self.which), self.all.select(self.which)
        self.filter = Filter(block)
        self.shift, self.failures, self.count, self.sweeps = np.zeros((4, block))
        self.gains = self.all_gains[:block].copy()
        self._differentiate()

    @property
    def result(self) -> SearchResult:
        """How all problems ended."""
        return SearchResult(self.all, self.all_gains, self.endings, self.iterations, self.all_sweeps)

    def _differentiate(self) -> None:
        self.model = self.nodes.model(self.now.W, self.now.costates, self.now.elastic)
        self.errors = Errors(self.model, self.nodes)

    def goes_on(self) -> bool:
        """Note the results of the problems that end here, and let others take their places; whether any is left."""
        while len(self.which):
            error, price = self.errors.total(self.barrier), self.now.elastic.price[:, 0]
            fails = ~np.isfinite(error)
            converged = (error <= TOLERANCE) & (self.now.mu <= self.last_barrier) & (self.errors.violation <= FEASIBLE)
            infeasible = (error <= np.maximum(TOLERANCE, _STATIONARY * price)) & self.is_pressed & ~converged
            if infeasible.any():
                infeasible &= self.outweighs_cost(infeasible)
            stalled = self.failures >= _MOST_FAILURES
            ends = fails | converged | infeasible | stalled | (self.count >= self.most[self.which])
            if not ends.any():
                return True
            reasons = np.select([fails, converged, infeasible, stalled], [0, 1, 2, 3], 4)
            self._end(ends, [_REASONS[reason] for reason in reasons[ends]])
        return False

    def _end(self, ends: Flags, reasons: list[Ending]) -> None:
        who = self.which[ends]
        for problem, reason in zip(who, reasons, strict=True):
            self.endings[problem] = reason
        self.iterations[who], self.all_sweeps[who] = self.count[ends], self.sweeps[ends]
        self.all.put(who, self.now.select(ends))
        self.all_gains[who] = self.gains[ends]
        slots = Slots(ends, len(self.most) - self.admitted)
        new = slots.taken
        if len(new):
            self.which[new] = np.arange(self.admitted, self.admitted + len(new))
            self.admitted += len(new)
            self.now.put(new, self.all.select(self.which[new]))
            self.filter.clear(new)
            for array in (self.shift, self.failures, self.count, self.sweeps, self.gains):
                array[new] = 0.0
        self.which, self.gains, self.shift, self.failures, self.count, self.sweeps = map(
            slots.close, (self.which, self.gains, self.shift, self.failures, self.count, self.sweeps)
        )
        self.now, self.model = self.now.map(slots.close), self.model.map(slots.close)
        self.filter.map(slots.close)
        self.nodes = self.all_nodes.select(self.which)
        if len(new):
            self._differentiate_again(new)
        elif len(self.which):
            self.errors = Errors(self.model, self.nodes)

    def _differentiate_again(self, some: NDArray[np.intp]) -> None:
        now = self.now.select(some)
        self.model.put(some, self.nodes.select(some).model(now.W, now.costates, now.elastic))
        self.errors = Errors(self.model, self.nodes)

    @property
    def last_barrier(self) -> Floats:
        """Barriers at which the cost is right: each row with its slack and excess adds at most about 2 μ to it."""
        if self.barrier:
            return np.full(len(self.which), self.barrier)
        gap = _GAP * np.abs(self.errors.cost) / max(1, 2 * int(self.nodes.rows.present.sum()))
        return np.asarray(np.minimum(0.1 * TOLERANCE, np.maximum(gap, _LAST_BARRIER)))

    @property
    def is_pressed(self) -> Flags:
        """Whether motions violate constraints and multipliers press on the price of that."""
        return np.asarray((self.errors.violation > FEASIBLE) & (self.errors.pressure > _PRESSES))

    def outweighs_cost(self, which: Flags) -> Flags:
        """Whether the price of violations is so high that torques would not change if the cost did not count.

        At a stationary motion the gradients of cost and violations add up to zero in each torque. Where the motion is
        stationary for the violations alone, what these contribute to a torque cancels to much less than its size: that
        of the positive multipliers and that of the negative ones, as of ends that contradict each other.
        """
        result: Flags = which & (self.now.elastic.price[:, 0] >= _HIGH_PRICE)
        if not result.any():
            return result
        model, m, z = self.model.select(result), self.nodes.inputs, self.now.elastic.z[result]
        A, B = model.stages.A[..., :-1, :-1], model.stages.B[..., :-1, :]
        of_cost, up, down = (
            model.cost_gradient(),
            *(self.nodes.pulled(model, np.where(z * sign > 0.0, z, 0.0)) for sign in (1, -1)),
        )
        for by_w in (of_cost, up, down):  # sums along the linear model from the end to each node
            for k in range(A.shape[1] - 1, -1, -1):
                by_w[:, k, m:] += (by_w[:, k + 1, None, m:] @ A[:, k])[:, 0]
        reduced = of_cost[:, :-1, :m] + (of_cost[:, 1:, None, m:] @ B)[..., 0, :]
        sizes = sum(
            np.abs(by_w[:, :-1, :m]) + (np.abs(by_w[:, 1:, None, m:]) @ np.abs(B))[..., 0, :] for by_w in (up, down)
        )
        result[result] = np.abs(reduced).max(axis=(1, 2)) <= _OUTWEIGHED * np.max(sizes, axis=(1, 2))
        return result

    def iterate(self) -> None:
        """One iteration of all problems."""
        self.lower_barrier()
        direction = self.newton_direction()
        moved = self.move_along(direction)
        self.count += 1
        if not moved.all():
            self.restore(~moved)
        self._differentiate()

    def lower_barrier(self) -> None:
        """Lower μ as far as the errors allow; where multipliers press on the price of a violation, raise that."""
        last, mu = self.last_barrier, self.now.mu
        falls = (mu > last) & (self.errors.total(mu) <= _BARRIER_ERROR * mu)
        if not falls.any():
            return
        self.filter.clear(falls)
        pressed = falls & self.is_pressed & (self.now.elastic.price[:, 0] < _LAST_PRICE)
        if pressed.any():
            pressed &= ~self.outweighs_cost(pressed)
        falls &= ~pressed
        while falls.any():
            mu = np.where(falls, np.maximum(last, np.minimum(_BARRIER_FACTOR * mu, mu**_BARRIER_POWER)), mu)
            falls &= (mu > last) & (self.errors.total(mu) <= _BARRIER_ERROR * mu)
        self.now.mu[...] = mu
        if pressed.any():
            self._raise_price(pressed)

    def _raise_price(self, which: Flags) -> None:
        some, rows = self.now.select(which), self.nodes.rows
        stages, last = self.model.select(which)
        raised = some.elastic.raised(_PRICE_FACTOR, rows.joined(stages.rows, last.rows), some.mu[:, None])
        self.now.put(which, replace(some, elastic=raised.counting(rows.present)))
        self._differentiate_again(np.flatnonzero(which))

    def newton_direction(self) -> Direction:
        """The regulator's steps, each with as much curvature added as it needs to be a minimum."""
        (stages, last), mu = self.model, self.now.mu
        s = last.weights.shape[-1] - 1
        stages.weights[..., :-1, -1] += mu[:, None, None] * stages.pull
        last.weights[..., :s, s] += mu[:, None] * last.pull
        last.weights[..., s, :s] = last.weights[..., :s, s]
        direction = self._chain(stages, last)
        self.sweeps += 1
        exists = direction.exists
        if not exists.all():
            direction = self._with_more_curvature(direction, np.flatnonzero(~exists))
            exists = direction.exists
        self.gains = direction.K[..., :-1] if exists.all() else self._kept_gains(direction, exists)
        return direction

    def _chain(self, stages: NodeModel, last: LastModel) -> Direction:
        stretches = self.nodes.step.stretches
        return solve_chain(stages.A, stages.B, stages.weights, last.weights, chooses_last=stretches)

    def _kept_gains(self, direction: Direction, exists: Flags) -> Floats:
        """Gains of the directions, or those before where there is none."""
        return np.where(exists[:, None, None, None], direction.K[..., :-1], self.gains)

    def _with_more_curvature(self, direction: Direction, who: NDArray[np.intp]) -> Direction:
        """Return the directions with those of some problems from second derivatives with more curvature."""
        stages, last = self.model.select(who)
        s = last.weights.shape[-1] - 1
        shift, before = np.zeros(len(who)), self.shift[who]
        for sweep in range(1, _MOST_SWEEPS):
            up = np.where(before > 0.0, _SHIFT_UP_AGAIN, _SHIFT_UP) * shift
            first = np.where(before > 0.0, np.maximum(1e-12, _SHIFT_DOWN * before), _FIRST_SHIFT)
            following = np.where(shift > 0.0, up, first)
            if sweep == _SHIFTS + 1:
                of_stages, of_last = self.nodes.select(who).gauss_newton(self.now.W[who], self.now.select(who).elastic)
                determines = self._determine_positions(of_stages[0])
                stages.weights[determines, :, :-1, :-1] = (of_stages[0] + of_stages[1])[determines]
                last.weights[determines, :s, :s] = (of_last[0] + of_last[1])[determines]
                following, shift = np.where(determines, 0.0, following), np.where(determines, 0.0, shift)
            _add_to_diagonal(stages.weights, following - shift)
            _add_to_diagonal(last.weights, following - shift)
            shift = following
            again = self._chain(stages, last)
            self.sweeps[who] += 1
            solved = again.exists
            for part, one in zip(direction, again, strict=True):
                part[who[solved]] = one[solved]
            self.shift[who[solved]] = np.where(shift > 0.0, shift, before)[solved]
            if solved.all():
                break
            left = ~solved
            who, shift, before = who[left], shift[left], before[left]
            stages, last = Model(stages, last).select(left)
        return direction

    def _determine_positions(self, gauss_newton: Floats) -> Flags:
        """Whether the costs of a node determine all positions."""
        m, n = self.nodes.inputs, self.nodes.step.robot.n
        positions = gauss_newton[:, 0, m : m + n, m : m + n]
        finite: Flags = np.asarray(np.isfinite(positions).all(axis=(1, 2)))
        ranks = np.linalg.matrix_rank(np.where(finite[:, None, None], positions, 0.0))
        return np.asarray(finite & (ranks == n))

    def move_along(self, direction: Direction) -> Flags:
        """Move by the largest shares of steps that the filter accepts; False where it accepts none."""
        now, nodes, rows = self.now, self.nodes, self.nodes.rows
        mu, price = now.mu, now.elastic.price
        of_stages, of_last = nodes.move(self.model, direction.dW, now.elastic, mu)
        da, db, dz = (rows.joined(one, two) for one, two in zip(of_stages[:3], of_last[:3], strict=True))
        slope = of_stages.slope.sum(axis=1) + of_last.slope
        ratios = np.maximum(of_stages.ratios.max(axis=1), of_last.ratios)
        keep = np.maximum(0.99, 1.0 - mu)  # of the way to a bound
        share, share_of_multipliers = np.minimum(1.0, keep / np.maximum(ratios.T, 1e-300))
        before = self.errors.merit(price[:, 0], mu)
        accepted = np.zeros(len(mu))
        pending = np.flatnonzero(direction.exists)
        for _ in range(_TRIALS):
            if not len(pending):
                break
            some = slice(None) if len(pending) == len(mu) else pending
            trial = nodes.select(some).trial(
                now.W[some], direction.dW[some], now.select(some).elastic, da[some], db[some], share[some], mu[some]
            )
            here = Merit(before.violation[some], before.cost[some])
            good = self.filter.accepts(pending, here, Merit(*trial.T), share[some], slope[some])
            accepted[pending[good]] = share[pending[good]]
            pending = pending[~good]
            share[pending] *= 0.5
        moved: Flags = np.asarray(accepted > 0.0)
        if not moved.all():  # whose steps may not be numbers
            accepted, share_of_multipliers = np.where(moved, accepted, 0.0), np.where(moved, share_of_multipliers, 0.0)
            da, db, dz = (np.where(moved[:, None], part, 0.0) for part in (da, db, dz))
            direction = Direction(
                np.where(moved[:, None, None], direction.dW, 0.0),
                np.where(moved[:, None, None], direction.costates, now.costates),
                direction.K,
            )
        self.failures[moved] = 0.0
        by_node, by_row = accepted[:, None, None], accepted[:, None]
        W, costates, a, b, z, _, _ = now.arrays
        W += by_node * direction.dW
        costates += by_node * (direction.costates - costates)
        a += by_row * da
        b += by_row * db
        z[...] = now.elastic.with_multipliers(z + share_of_multipliers[:, None] * dz, mu[:, None]).z
        return moved

    def restore(self, which: Flags) -> None:
        """Begin anew at some motions, with slacks that fit and more curvature; the second time with torques only."""
        self.failures[which] += 1.0
        self.filter.clear(which)
        self.shift[which] = np.maximum(10.0 * self.shift[which], 1e-3)
        some, nodes = self.now.select(which), self.nodes.select(which)
        rolled = nodes.rolled_out(some.W)
        fits = (self.failures[which] > 1.0) & np.isfinite(rolled).all(axis=(1, 2))
        W = np.where(fits[:, None, None], rolled, some.W)
        elastic = some.elastic.restored(nodes.values(W).rows, some.mu[:, None]).counting(nodes.rows.present)
        self.now.put(which, replace(some, W=W, elastic=elastic))


def _add_to_diagonal(weights: Floats, shift: Floats) -> None:
    """Add a number of each problem to the second derivatives of weights, which have a row of gradients at the end."""
    places = np.arange(weights.shape[-1] - 1)
    weights[..., places, places] += shift.reshape(-1, *[1] * (weights.ndim - 2))
