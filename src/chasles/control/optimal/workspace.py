"""One iteration of the interior point method as a schedule of compiled programs, on the arrays of one problem.

The schedule reads as Wächter's and Biegler's algorithm does: derivatives and errors, the barrier, the step, the line
search. It stops where a decision is rare: where the motion may be one to end at, multipliers press on the price of
violations, shifts give the step no minimum, or the line search finds no better motion (see `interior_point`).
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from chasles.base.cached import cached_property
from chasles.control.optimal.backward_pass import Chain
from chasles.control.optimal.curvature import add_curvature, fallen_back
from chasles.control.optimal.errors import EMPTY, Errors, judge, lower_barrier, totals
from chasles.control.optimal.filter import PAIRS, accept, shares, sum_and_largest, sums
from chasles.control.optimal.iterates import Iterate
from chasles.control.optimal.nodes import Nodes
from chasles.control.optimal.rows import ConstraintRows
from chasles.engine import Function
from chasles.engine.schedule import Schedule

Floats = NDArray[np.float64]
#: Numbers of an iteration.
_NUMBERS = (
    "price", "mu", "fixed", "left", "judges", "first", "ends", "stays", "pressed", "change", "again", "share",
    "share_of_multipliers", "trials", "refused", "repeats", "falls_back", "asks", "gives_up", "added", "shift",
    "before", "failures", "sweeps", "may_fall_back", "turn",
)  # fmt: skip
Label = Literal[
    "begin", "restore", "roll out", "differentiate", "go on", "lower", "press", "step", "curvature", "fall back",
    "gauss-newton",
]  # fmt: skip
Stop = Literal["end", "enough", "pressed", "asks for other curvature", "no minimum", "refused", "done"]
#: Labels to which the iterations go where a decision is rare.
STOPS = ("end", "pressed", "asks for other curvature", "no minimum", "refused")
Arrays = dict[str, Floats]


class Part:
    """Arrays of all nodes but the last, (N, ...), or of the last, (...), by the names that the programs give them."""

    def __init__(self, space: Workspace, rows: ConstraintRows, *, is_last: bool) -> None:
        self.programs = rows.last if is_last else rows.stage
        N, m = rows.nodes, rows.inputs
        first, sizes = (m, ()) if is_last else (0, (N,))

        def of(array: Floats, first: int = 0) -> Floats:
            return array[-1, first:] if is_last else array[:-1, first:]

        W, chain = space.W, space.chain
        own = {"w": of(W, first), "dw": of(chain.dW, first)}
        own |= {"costate": of(space.costates), "aim": of(chain.costates)}
        own |= {"given_instant": of(space.instants), "bounds": space.bounds[:, first:]}
        own |= {name: rows.by_node(array)[is_last] for name, array in space.rows.items()}
        if is_last:
            own["weights"] = chain.terminal
        else:
            own |= {**chain.model, "weights": chain.weights}
            x, free = W[1:, m:], np.ones(N)
            free[0] = 0.0
            own |= {"following": x, "costate_ahead": space.costates[1:], "free": free, "moves": chain.dW[1:, m:]}
        for program in (self.programs.model, self.programs.move, self.programs.trial, self.programs.gauss_newton):
            for result in program.program.outputs:
                own.setdefault(result.name, np.zeros((*sizes, *result.shape)))
        self.arrays = {**space.numbers, **space.given, **own}

    def call(self, to: Schedule, function: Function[Any], **others: Floats) -> None:
        """Add a call of a program to a schedule, on the arrays of the names of what it takes and gives."""
        _call(to, function, self.arrays | others)


class Workspace:
    """Arrays of one problem on its way to the best motion, and the schedule of the iterations on them.

    Attributes
    ----------
    W
        Torques and states (u, x) at the nodes, (N + 1, m + s).
    costates
        Multipliers of the steps that end at each node, (N + 1, s).
    rows
        Slacks a, excesses b and multipliers z of the rows, their changes and values, and which count, (rows,).
    numbers
        Numbers, (): price of violations, barrier mu, barrier at which it stays or 0 as fixed, number of iterations
        left, whether the motion after the last iteration is judged, and others that one program gives to another.
    chain
        The linear-quadratic model around the motion, whose solution is Newton's step.
    stages, last
        Arrays of the nodes but the last, and of the last one, by name.
    """

    def __init__(self, rows: ConstraintRows) -> None:
        stage, N = rows.stage, rows.nodes
        m, s, shapes = rows.inputs, stage.states, dict(stage.costs.shapes)
        self.W, self.costates = np.zeros((N + 1, m + s)), np.zeros((N + 1, s))
        self.chain = Chain(N, s, m, drift=stage.step.drift_times, chosen=stage.step.chosen)
        self.rows = {name: np.zeros(rows.count) for name in ("a", "b", "z", "da", "db", "dz", "rows", "present")}
        self.bounds, self.instants = np.zeros((3, m + s)), np.zeros((N + 1, *shapes["instant"]))
        self.given = {f"given_{name}": np.zeros(shape) for name, shape in list(shapes.items())[2:]}
        self.numbers = {name: np.zeros(()) for name in _NUMBERS}
        self._totals, self._sizes = np.zeros(Errors.SUMS + Errors.LARGEST), np.zeros(2)
        self._context = stage.step.context_count
        self._rolled = np.zeros((N, 1, *stage.step.rollout.program.inputs[1].shape))
        self.parts = Part(self, rows, is_last=False), Part(self, rows, is_last=True)
        self.stages, self.last = (part.arrays for part in self.parts)
        self._shared = {"totals": self._totals, "sizes": self._sizes, "pairs": np.zeros((PAIRS, 2))}
        self._shared |= {"progress": np.zeros(4), "trial": np.zeros(2), "gain": self.chain.first_gain}

    def pose(self, nodes: Nodes, start: Iterate) -> None:
        """Take the numbers of a problem and a first iterate."""
        rows = nodes.rows
        self.rows["present"][...], self.bounds[...] = rows.present, rows.bounds
        self.count_rows(rows.present)
        self.instants[...] = nodes.instants
        for array, part in zip(self.given.values(), nodes.given, strict=True):
            array[...] = part
        self.W[...], self.costates[...] = start.W, start.costates
        for name, part in zip("abz", start.rows, strict=True):
            self.rows[name][...] = part
        for name in ("price", "mu", "turn"):
            self.numbers[name][...] = getattr(start, name)
        for name in ("shift", "before", "failures", "sweeps"):
            self.numbers[name][...] = 0.0
        self.numbers["may_fall_back"][...] = 1.0
        self.forget()

    def count_rows(self, present: NDArray[Any]) -> None:
        """Take the numbers of equations of motion, and of rows that count."""
        self._sizes[...] = self.costates[1:].size, present.sum()

    def forget(self) -> None:
        """Empty the filter."""
        self.numbers["first"][...] = EMPTY

    def compile(self) -> None:
        """Compile all that may ever be needed, so that no iteration waits for that."""
        self._schedule.compile()

    def run(self, label: Label) -> Stop:
        """Iterate from a place in the schedule on, until there is a decision that is left to others."""
        return cast(Stop, self._schedule.run(label))

    @property
    def errors(self) -> Errors:
        """Errors of the motion."""
        return Errors(self._totals, self._sizes)

    def cost_gradient(self) -> Floats:
        """Gradient of the cost, (N + 1, m + s)."""
        result = np.zeros(self.W.shape)
        result[:-1], result[-1, -self.costates.shape[1] :] = self.stages["gradient"], self.last["gradient"]
        return result

    def pulled(self, rows: ConstraintRows, z: Floats) -> Floats:
        """Return Jᵀ z for rows (rows,), (N + 1, m + s)."""
        result = rows.gradient(z)
        distances, kept, ends = rows.of_terms(z)
        of_stages, of_last = np.concatenate([distances[:-1], kept], axis=1), np.concatenate([distances[-1], ends])
        result[:-1] += (of_stages[:, None] @ self.stages["jacobian"][:, : of_stages.shape[1]])[:, 0]
        result[-1, rows.inputs :] += of_last @ self.last["jacobian"][: len(of_last)]
        return result

    def along(self, rows: ConstraintRows, dW: Floats) -> Floats:
        """Return J dW, the change of the rows along a step (N + 1, m + s), (rows,)."""
        of_stages = (self.stages["jacobian"] @ dW[:-1, :, None])[:, : rows.stage.general, 0]
        of_last = (self.last["jacobian"] @ dW[-1, rows.inputs :])[: rows.last.general]
        count = rows.stage.distances.count
        distances = np.concatenate([of_stages[:, :count], of_last[None, :count]])
        general = distances, of_stages[:, count:], of_last[count:]
        return rows.values(dW, *general) - rows.values(np.zeros(dW.shape), *map(np.zeros_like, general))

    def roll_out(self) -> None:
        """Replace the states by those that the torques lead to, if these are numbers."""
        size = self.W.shape[1]
        self._rolled[:, 0, :size] = self.W[:-1]
        context = self.instants.shape[1] - self._context
        self._rolled[:, 0, self._rolled.shape[2] - self._context :] = self.instants[:-1, context:]
        self.run("roll out")
        if np.isfinite(self._rolled[:, 0, :size]).all() and np.isfinite(self._end).all():
            self.W[:-1], self.W[-1, -len(self._end) :] = self._rolled[:, 0, :size], self._end

    @cached_property
    def _schedule(self) -> Schedule:
        """The iterations, which stop where a decision is rare."""
        to = Schedule()
        self.add_iterations(to)
        to.stop("enough")
        for stop in STOPS:
            to.label(stop)
            to.stop(stop)
        self.add_repairs(to)
        to.label("gauss-newton")
        self.parts[0].call(to, self.parts[0].programs.gauss_newton)
        to.stop("done")
        to.label("roll out")
        size, step = self.W.shape[1], self.parts[0].programs.step
        self._end = np.zeros(step.states)
        to.call(step.rollout, [self.W[0, size - step.states :], self._rolled], [self._end, self._rolled[:, 0, :size]])
        to.stop("done")
        return to

    def call(self, to: Schedule, function: Function[Any], **others: Floats) -> None:
        """Add a call of a program on numbers of the iterations, and other arrays by name, to a schedule."""
        _call(to, function, self.numbers | self._shared | others)

    def _over_nodes(self, to: Schedule, scan: Function[Any], name: str, result: str) -> None:
        to.call(scan, [self.last[name], self.stages[name][:, None]], [self._shared[result]])

    def _differentiate(self, to: Schedule) -> None:
        for part in self.parts:
            part.call(to, part.programs.model)
        self._over_nodes(to, totals, "errors", "totals")

    def add_iterations(self, to: Schedule) -> None:
        """Write the iterations down; they go to the labels of `STOPS`, or have come to their last one at the end."""
        numbers = self.numbers
        to.label("begin")
        for part in self.parts:
            part.call(to, part.programs.begin)
        to.label("differentiate")
        self._differentiate(to)
        self.call(to, judge)
        to.jump("end", numbers["ends"])
        to.label("go on")
        to.jump("pressed", numbers["pressed"])
        to.jump("step", numbers["stays"])
        to.label("lower")
        self.call(to, lower_barrier)
        _, last = self.parts
        for part in self.parts:
            if part.programs.rows:  # else the barrier is that of the other nodes
                part.call(to, part.programs.lower, slopes=part.arrays["weights"][..., :-1, -1])
        if last.programs.rows:
            last.call(to, last.programs.lower, slopes=last.arrays["weights"][-1, :-1])
        to.jump("lower", numbers["again"])
        to.label("step")
        self.chain.add_to(to)
        to.label("curvature")
        self.call(to, add_curvature)
        to.jump("shift", numbers["repeats"])
        to.jump("fall back", numbers["falls_back"])
        to.jump("asks for other curvature", numbers["asks"])
        to.jump("no minimum", numbers["gives_up"])
        for part in self.parts:
            part.call(to, part.programs.move)
        self._over_nodes(to, sum_and_largest, "progress", "progress")
        self.call(to, shares)
        to.label("try")
        for part in self.parts:
            part.call(to, part.programs.trial)
        self._over_nodes(to, sums, "merit", "trial")
        self.call(to, accept)
        to.jump("try", numbers["again"])
        to.jump("refused", numbers["refused"])
        for part in self.parts:
            part.call(to, part.programs.follow)
        to.jump("differentiate", numbers["judges"])
        to.jump("differentiate", numbers["left"])

    def add_repairs(self, to: Schedule) -> None:
        """Write down what goes back into the iterations: more curvature, a higher price, slacks that fit the motion."""
        always = np.ones(())
        to.label("shift")
        for part in self.parts:
            diagonal = np.einsum("...ii->...i", part.arrays["weights"])[..., :-1]
            part.call(to, part.programs.shift, diagonal=diagonal)
        to.jump("step", always)
        to.label("fall back")
        for part in self.parts:
            part.call(to, part.programs.gauss_newton, hessian=part.arrays["weights"][..., :-1, :-1])
        self.call(to, fallen_back)
        to.jump("step", always)
        to.label("press")
        for part in self.parts:
            part.call(to, part.programs.press)
        self._differentiate(to)
        to.jump("step", always)
        to.label("restore")
        for part in self.parts:
            part.call(to, part.programs.restore)
        to.jump("differentiate", always)


def _call(to: Schedule, function: Function[Any], arrays: Arrays) -> None:
    program = function.program
    to.call(function, [arrays[each.name] for each in program.inputs], [arrays[each.name] for each in program.outputs])


def workspace(nodes: Nodes) -> AbstractContextManager[Workspace]:
    """Lend a workspace for a kind of problem: one that was used before, so that nothing is allocated, or a new one."""
    rows = nodes.rows
    return rows.stage.workspaces.lent(rows.nodes, lambda: Workspace(rows))
