"""One iteration of the interior point method as a schedule of compiled programs, on the arrays of one problem.

The schedule reads as Wächter's and Biegler's algorithm does: derivatives and errors, the barrier, the step, the line
search. It stops where a decision is rare: where the motion may be one to end at, multipliers press on the price of
violations, the step has no minimum, or the line search finds no better motion (see `interior_point`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, cast
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from chasles.control.optimal.backward_pass import Direction, solve_chain
from chasles.control.optimal.elastic import Elastic
from chasles.control.optimal.errors import EMPTY, Errors, judge, lower_barrier, totals
from chasles.control.optimal.filter import PAIRS, accept, shares, sum_and_largest, sums
from chasles.control.optimal.node_programs import LastModel, NodeModel, NodePrograms
from chasles.control.optimal.nodes import Nodes
from chasles.control.optimal.rows import ConstraintRows
from chasles.engine.schedule import Schedule

Floats = NDArray[np.float64]
Label = Literal["differentiate", "go on", "lower", "differentiate again", "move", "new barrier"]
Stop = Literal["end", "pressed", "no minimum", "refused"]


class Part:
    """Views of a workspace's arrays, for the programs of all nodes but the last, (N, ...), or of the last, (...).

    Attributes
    ----------
    model
        Linear-quadratic model.
    w, costate, dw, aim
        Torques and state, costates, and Newton's step: the change of w, and the costates after it.
    rows
        Slacks and whatever else the rows have, by name.
    ahead, moves
        What the programs of nodes but the last take of the node after them, for a model and for a trial.
    """

    def __init__(self, space: Workspace, rows: ConstraintRows, *, is_last: bool) -> None:
        programs, N, m = rows.last if is_last else rows.stage, rows.nodes, rows.inputs
        first, sizes = (m, ()) if is_last else (0, (N,))

        def of(array: Floats, first: int = 0) -> Floats:
            return array[-1, first:] if is_last else array[:-1, first:]

        W, dW = space.W, space.direction.dW
        self.w, self.dw, self.bounds = of(W, first), of(dW, first), space.bounds[:, first:]
        self.costate, self.aim, self.instant = of(space.costates), of(space.direction.costates), of(space.instants)
        self.rows = {name: rows.by_node(array)[is_last] for name, array in space.rows.items()}
        results = {each.name: np.zeros((*sizes, *each.shape)) for each in programs.model.program.outputs}
        kind: Any = LastModel if is_last else NodeModel
        self.model = kind(**results | {"rows": self.rows["r"]})
        self.progress, self.merit = np.zeros((*sizes, 3)), np.zeros((*sizes, 2))
        self.ahead: list[Floats] = []
        self.moves: list[Floats] = []
        if not is_last:
            free = np.ones(N)
            free[0] = 0.0
            self.ahead, self.moves = [W[1:, m:], space.costates[1:], free], [W[1:, m:], dW[1:, m:]]


class Workspace:
    """Arrays of one problem on its way to the best motion, and the schedule of the iterations on them.

    Attributes
    ----------
    W
        Torques and states (u, x) at the nodes, (N + 1, m + s).
    costates
        Multipliers of the steps that end at each node, (N + 1, s).
    rows
        Slacks a, excesses b and multipliers z of the rows, their changes, their values r, and which count, (rows,).
    price, mu, fixed, left
        Price of violations, barrier, barrier at which it stays or 0, and number of iterations left, ().
    direction
        Newton's step.
    stages, last
        The nodes but the last, and the last one.
    """

    def __init__(self, rows: ConstraintRows) -> None:
        stage, N = rows.stage, rows.nodes
        m, s, shapes = rows.inputs, stage.states, list(stage.costs.shapes.values())
        self.stretches, self.kinds = stage.step.stretches, rows.kinds
        self.W, self.costates = np.zeros((N + 1, m + s)), np.zeros((N + 1, s))
        self.direction = Direction(np.zeros((N + 1, m + s)), np.zeros((N + 1, s)), np.zeros((N, m, s + 1)))
        self.rows = {name: np.zeros(rows.count) for name in ("a", "b", "z", "da", "db", "dz", "r", "present")}
        self.bounds, self.instants = np.zeros((3, m + s)), np.zeros((N + 1, *shapes[1]))
        self.given = [np.zeros(shape) for shape in shapes[2:]]
        self.price, self.mu, self.fixed, self.left, self._first = (np.zeros(()) for _ in range(5))
        self._totals, self._sizes = np.zeros(Errors.SUMS + Errors.LARGEST), np.zeros(2)
        self.stages, self.last = Part(self, rows, is_last=False), Part(self, rows, is_last=True)
        self._schedule = self._iteration(rows)

    def pose(self, nodes: Nodes) -> None:
        """Take the numbers of a problem."""
        rows = nodes.rows
        self.rows["present"][...], self.bounds[...] = rows.present, rows.bounds
        self._sizes[...] = self.costates.size, rows.present.sum()
        self.instants[...] = nodes.instants
        for array, part in zip(self.given, nodes.given, strict=True):
            array[...] = part
        self.forget()

    def forget(self) -> None:
        """Empty the filter."""
        self._first[...] = EMPTY

    def run(self, label: Label) -> Stop:
        """Iterate from a place in the schedule on, until there is a decision that is left to others."""
        return cast(Stop, self._schedule.run(label))

    @property
    def errors(self) -> Errors:
        """Errors of the motion."""
        return Errors(self._totals, self._sizes)

    @property
    def elastic(self) -> Elastic:
        """The rows; its arrays are those of this workspace."""
        a, b, z = (self.rows[name] for name in ("a", "b", "z"))
        return Elastic(a, b, z, self.kinds, self.price)

    @elastic.setter
    def elastic(self, other: Elastic) -> None:
        counting = other.counting(self.rows["present"] > 0.0)
        self.price[...] = other.price
        for name in ("a", "b", "z"):
            self.rows[name][...] = getattr(counting, name)

    def solve_chain(self) -> None:
        """Compute Newton's step of the linear-quadratic model."""
        stages, last = self.stages.model, self.last.model
        solve_chain(stages.A, stages.B, stages.weights, last.weights, chooses_last=self.stretches, out=self.direction)

    def cost_gradient(self) -> Floats:
        """Gradient of the cost, (N + 1, m + s)."""
        result = np.zeros(self.W.shape)
        result[:-1], result[-1, -self.costates.shape[1] :] = self.stages.model.gradient, self.last.model.gradient
        return result

    def pulled(self, rows: ConstraintRows, z: Floats) -> Floats:
        """Return Jᵀ z for rows (rows,), (N + 1, m + s)."""
        result = rows.gradient(z)
        distances, kept, ends = rows.of_terms(z)
        of_stages, of_last = np.concatenate([distances[:-1], kept], axis=1), np.concatenate([distances[-1], ends])
        result[:-1] += (of_stages[:, None] @ self.stages.model.jacobian[:, : of_stages.shape[1]])[:, 0]
        result[-1, rows.inputs :] += of_last @ self.last.model.jacobian[: len(of_last)]
        return result

    def gauss_newton(self, programs: NodePrograms, part: Part) -> tuple[Floats, Floats]:
        """Second derivatives of costs without the curvature of residuals, and those of constraints."""
        a, b, z, present = (part.rows[name] for name in ("a", "b", "z", "present"))
        cost, constraints = programs.gauss_newton(
            part.w, a, b, z, self.price, present, part.bounds, part.instant, *self.given
        )
        return cost, constraints

    def _iteration(self, rows: ConstraintRows) -> Schedule:
        """Write an iteration down."""
        to, both = Schedule(), ((rows.stage, self.stages), (rows.last, self.last))
        ends, stays, pressed, change, again, missing, refused = (np.zeros(()) for _ in range(7))
        share, share_of_multipliers, trials, always = *(np.zeros(()) for _ in range(3)), np.ones(())
        progress, trial, pairs = np.zeros(3), np.zeros(2), np.zeros((PAIRS, 2))
        errors, mu, price = [self._totals, self._sizes], self.mu, self.price

        def differentiate() -> None:
            for programs, part in both:
                a, b, z, present = (part.rows[name] for name in ("a", "b", "z", "present"))
                of_rows = [a, b, z, price, present, part.bounds, mu]
                given = [part.w, part.costate, *part.ahead, *of_rows, part.instant, *self.given]
                to.call(programs.model, given, [*part.model])
            to.call(totals, [self.last.model.errors, self.stages.model.errors[:, None]], [self._totals])

        to.label("differentiate")
        differentiate()
        to.call(judge, [*errors, mu, price, self.fixed, self.left], [ends, stays, pressed])
        to.jump("end", ends)
        to.label("go on")
        to.jump("pressed", pressed)
        to.jump("step", stays)
        to.label("lower")
        to.call(lower_barrier, [*errors, mu, self.fixed], [mu, change, again, self._first])
        for programs, part in both:
            gradient = part.model.weights[..., :-1, -1]
            to.call(programs.lower, [gradient, part.model.pull, change], [gradient])
        gradient = self.last.model.weights[-1, :-1]
        to.call(rows.last.lower, [gradient, self.last.model.pull, change], [gradient])
        to.jump("lower", again)
        to.label("step")
        to.python(self.solve_chain)
        to.label("move")
        for programs, part in both:
            a, b, z, present, da, db, dz = (part.rows[name] for name in ("a", "b", "z", "present", "da", "db", "dz"))
            model = part.model
            of_rows = [a, b, z, price, present, part.bounds, mu]
            given = [part.dw, model.rows, model.jacobian, model.gradient, *of_rows]
            to.call(programs.move, given, [da, db, dz, part.progress])
        to.call(sum_and_largest, [self.last.progress, self.stages.progress[:, None]], [progress])
        first_gain = self.direction.K[0, 0, -1:].reshape(())
        to.call(shares, [progress, mu, first_gain], [share, share_of_multipliers, missing, trials])
        to.jump("no minimum", missing)
        to.label("try")
        for programs, part in both:
            a, b, da, db, present = (part.rows[name] for name in ("a", "b", "da", "db", "present"))
            of_rows = [a, b, da, db, price, present, *part.moves, part.bounds]
            given = [part.w, part.dw, *of_rows, share, mu, part.instant, *self.given]
            to.call(programs.trial, given, [part.merit])
        to.call(sums, [self.last.merit, self.stages.merit[:, None]], [trial])
        line = [share, trials, self.left, self._first, pairs]
        to.call(accept, [*errors, mu, price, trial, progress, *line], [again, refused, *line])
        to.jump("try", again)
        to.jump("refused", refused)
        for programs, part in both:
            here = [part.w, part.costate, *(part.rows[name] for name in ("a", "b", "z"))]
            step = [part.dw, part.aim, *(part.rows[name] for name in ("da", "db", "dz"))]
            to.call(programs.follow, [*here, *step, price, mu, share, share_of_multipliers], here)
        to.jump("differentiate", always)
        to.label("differentiate again")
        differentiate()
        to.jump("step", always)
        for stop in ("end", "pressed", "no minimum", "refused"):
            to.label(stop)
            to.stop(stop)
        return to


#: Workspaces that nobody uses, by the programs of their problems and numbers of nodes.
_SPARE: WeakKeyDictionary[object, dict[int, list[Workspace]]] = WeakKeyDictionary()


@contextmanager
def workspace(nodes: Nodes) -> Iterator[Workspace]:
    """Lend a workspace for a kind of problem: one that was used before, so that nothing is allocated, or a new one."""
    rows = nodes.rows
    spare = _SPARE.setdefault(rows.stage, {}).setdefault(rows.nodes, [])
    space = spare.pop() if spare else Workspace(rows)
    try:
        yield space
    finally:
        spare.append(space)
