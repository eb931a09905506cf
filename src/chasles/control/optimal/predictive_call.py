"""One call of model predictive control as a schedule of compiled programs: no Python between measurement and torque.

The motion of the last call with its multipliers, slacks and gains is moved on by a period; the iterations go on from it
(see `workspace`); their motion is kept, and its torque sent. Where no step was accepted or a value is not finite, the
motion before is kept instead, and its regulator gives the torque.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.control.delayed_hold import pending_count
from chasles.control.optimal.errors import EMPTY, Errors
from chasles.control.optimal.predictive_programs import CallPrograms, copy_of
from chasles.control.optimal.workspace import Workspace
from chasles.engine import Function, trace
from chasles.engine.program.scalar import Array
from chasles.engine.schedule import Schedule

Floats = NDArray[np.float64]
Shapes = dict[str, tuple[int, ...]]
#: Curvature that is added at least where no step was accepted, and its growth.
_FIRST_MORE, _MORE = 1e-3, 10.0


def memory_shapes(programs: CallPrograms) -> Shapes:
    """Shapes of what goes from call to call: the motion with all that belongs to it, and what is known of the plant."""
    problem, step = programs.problem, programs.step
    N, m, n, s, rows = problem.nodes, step.inputs, step.robot.n, step.states, problem.rows
    return {
        "motion": (N + 1, m + s),
        "centres": (N + 1, *programs.centre),
        "costates": (N + 1, s),
        "gains": (N, m, s),
        "rows": (3, N, rows.stage.rows),
        "last_rows": (3, rows.last.rows),
        "price": (),
        "scale": (),
        "determined": (),
        "start": (step.robot.nq,),
        "pending": (pending_count(programs.delay), n),
        "predicted": (n,),
        "load": (n,),
        "torque": (step.motor_count * step.by_rates,),
    }


class PredictiveCall:
    """The arrays of a call, and its schedule.

    Parameters
    ----------
    programs
        What a call computes beside the iterations.
    iterations
        Largest number of iterations.
    barrier
        Barrier at which they stay.

    Attributes
    ----------
    given
        What is given at each call, by name: ``t``, ``q``, ``qd``, the motion to follow at the nodes as ``planned``, and
        the values that residuals name, as ``value of NAME``.
    memory
        What goes from call to call, by the names of `memory_shapes`.
    tau
        Torques of all joints, (n,).
    failed
        1 where the motion before stood in, else 0, ().
    """

    def __init__(self, programs: CallPrograms, iterations: int, barrier: float) -> None:
        problem, step = programs.problem, programs.step
        self.programs, self.rows = programs, problem.rows
        self.space = Workspace(self.rows)
        self._iterations, self._barrier = iterations, barrier
        n, nq, N, (whole, _) = step.robot.n, step.robot.nq, problem.nodes, programs.steps_later
        shapes = memory_shapes(programs)
        self._long = {name: np.zeros(_longer(name, shapes[name], whole + 1)) for name in _ALONG}
        self._before = {name: np.zeros(shapes[name]) for name in _ALONG}
        numbers = self.space.numbers
        space_given = self.space.given
        self.memory: dict[str, Floats] = {name: _shorter(name, self._long[name], shapes[name]) for name in _ALONG}
        self.memory |= {"price": numbers["price"], "scale": space_given["given_scale"]}
        self.memory |= {"determined": np.zeros(()), "start": space_given["given_start"]}
        self.memory |= {
            name: np.zeros(shapes[name]) for name in ("last_rows", "pending", "predicted", "load", "torque")
        }
        self.given: dict[str, Floats] = {"t": np.zeros(()), "q": np.zeros(nq), "qd": np.zeros(n)}
        self.given["planned"] = self.space.instants[:, 1 : 1 + nq + 2 * n]
        self.given |= {f"value of {name}": space_given[f"given_{name}"] for name in problem.values}
        self.tau, self.failed = np.zeros(n), np.zeros(())
        self._x, self._centre = np.zeros(step.states), np.zeros(programs.centre)
        self._u, self._centres = np.zeros(step.inputs), np.zeros((N + 1, *programs.centre))
        self._floor, self._ceiling, self._refusals = np.zeros(step.inputs), np.zeros(step.inputs), np.zeros(())
        self._carried = {name: self.space.rows[name] for name in "abz"}
        self._fresh = np.zeros(self.rows.count)
        self._presences: dict[int, Floats] = {}
        if self.rows.contacts is not None:
            self._carried = {name: np.ones(self.rows.count) for name in "abz"}
        self.space.bounds[...] = self.rows.bounds
        self._take_rows(self._present(0))
        self.space.forget()
        self.schedule = self._written()

    def run(self) -> None:
        """Compute torques and what goes to the next call."""
        self.schedule.run("call")

    def _take_rows(self, present: Floats) -> None:
        self.space.rows["present"][...] = present
        self.space.count_rows(present)

    def go_on(self, before: int, node: int) -> None:
        """Take the contacts of a horizon that begins at a node of their sequence, where the last one began before."""
        if self.rows.contacts is None:
            return
        stages, last = self.rows.by_node(self._present(node))
        stages_before, last_before = self.rows.by_node(self._present(before))
        carried = stages_before[np.minimum(np.arange(len(stages)) + node - before, len(stages) - 1)]
        self._fresh[...] = self.rows.joined(stages * (1.0 - carried), last * (1.0 - last_before))
        self._take_rows(self._present(node))

    def rows_stay(self) -> bool:
        """Whether the same rows count in all horizons."""
        last = 0 if self.rows.contacts is None else self.rows.contacts.last_node
        return all(np.array_equal(self._present(node), self._present(0)) for node in range(last + 1))

    def _present(self, node: int) -> Floats:
        """1 for each row that counts, else 0, in a horizon from a node of the sequence of contacts on, (rows,)."""
        contacts = self.rows.contacts
        node = node if contacts is None else min(node, contacts.last_node)
        if node not in self._presences:
            self._presences[node] = replace(self.rows, first=node).present.astype(float)
        return self._presences[node]

    def take(self, given: Mapping[str, Any], memory: Mapping[str, Any]) -> None:
        """Take what is given at a call, and the memory."""
        for arrays, values in ((self.given, given), (self.memory, memory)):
            for name, array in arrays.items():
                array[...] = values[name]

    def give(self, memory: Any) -> None:
        """Give the memory for the next call."""
        for name, array in self.memory.items():
            setattr(memory, name, array.copy())

    def _copy(self, to: Schedule, source: Floats, target: Floats, lead: int = 1) -> None:
        """Copy an array, of which the first axis may be one of samples."""
        if target.size:
            to.call(copy_of(target.shape[lead:]), [source], [target])

    def _written(self) -> Schedule:
        to, space = Schedule(), self.space
        to.label("call")
        self._add_beginning(to)
        to.jump("differentiate", np.ones(()))
        space.add_iterations(to)
        to.jump("sound", np.ones(()))
        to.label("end")
        space.call(to, _outcome, refusals=self._refusals, most=np.array(float(self._iterations)), failed=self.failed)
        to.jump("failed", self.failed)
        to.label("sound")
        self._add_keeping(to)
        to.jump("send", np.ones(()))
        to.label("failed")
        self._add_standing_in(to)
        to.label("send")
        self._add_sending(to)
        to.stop("sent")
        for label in ("pressed", "asks for other curvature"):  # not at a barrier that stays, where all is known
            to.label(label)
        to.jump("step", np.ones(()))
        to.label("no minimum")
        to.label("refused")
        space.call(to, _refused, refusals=self._refusals)
        to.jump("restore", np.ones(()))
        space.add_repairs(to)
        return to

    def _add_beginning(self, to: Schedule) -> None:
        """Write down what comes before the iterations."""
        programs, space, m = self.programs, self.space, self.programs.step.inputs
        memory, given, N = self.memory, self.given, self.rows.nodes
        remembered = [memory[name] for name in ("predicted", "load", "pending", "torque")]
        to.call(programs.arrive, [given["q"], given["qd"], *remembered], [memory["load"], self._x, self._centre])
        to.call(programs.limits, [memory["load"]], [space.bounds, self._floor, self._ceiling])
        self._add_moving_on(to)
        before = self._before
        self._copy(to, before["motion"], space.W)
        self._copy(to, before["centres"], self._centres)
        self._copy(to, self._x, space.W[0, m:], 0)
        self._copy(to, self._centre, self._centres[0], 0)
        self._copy(to, before["costates"], space.costates)
        for k, name in enumerate("abz"):
            stages, last = self.rows.by_node(self._carried[name])
            self._copy(to, before["rows"][k], stages)
            self._copy(to, memory["last_rows"][k], last, 0)
        to.call(programs.times, [given["t"], np.arange(N + 1.0)], [space.instants[:, 0]])
        if nq := self._centres.shape[1]:
            own, following = space.instants[:, -2 * nq : -nq], space.instants[:, -nq:]
            self._copy(to, self._centres, own)
            self._copy(to, self._centres[1:], following[:-1])
            self._copy(to, self._centres[-1], following[-1], 0)
        begin = {"refusals": self._refusals, "determined": memory["determined"], "failed": self.failed}
        space.call(to, _begun(float(self._iterations), self._barrier), **begin)
        if self.rows.contacts is not None:
            self._copy(to, given["q"], memory["start"], 0)
            for part in space.parts:
                part.call(to, part.programs.begin)
            for name, carried in self._carried.items():
                known = [space.rows["present"], self._fresh, carried, space.rows[name]]
                to.call(_chosen, known, [space.rows[name]])

    def _add_moving_on(self, to: Schedule) -> None:
        """Write down how the motion of the last call becomes that a period later."""
        programs, long, before, N = self.programs, self._long, self._before, self.rows.nodes
        m, (whole, _) = programs.step.inputs, programs.steps_later
        W, C = long["motion"], long["centres"]
        to.call(programs.hold, [W[N - 1]], [W[N, :m]])
        for k in range(N, N + whole + 1):
            to.call(programs.extend, [W[k], C[k]], [W[k + 1], C[k + 1]])
        here, there = slice(whole, whole + N + 1), slice(whole + 1, whole + N + 2)
        limits = [self._floor, self._ceiling]
        to.call(programs.shift, [W[here], W[there], C[here], C[there], *limits], [before["motion"], before["centres"]])
        self._copy(to, np.zeros(m), before["motion"][-1, :m], 0)
        parts = [(long[name], before[name]) for name in ("costates", "gains")]
        parts += list(zip(long["rows"], before["rows"], strict=True))
        for source, target in parts:
            if target.size:
                count = len(target)
                self._copy(to, source[count - 1], source[count:])
                ends = source[whole : whole + count], source[whole + 1 : whole + 1 + count]
                to.call(programs.between(*target.shape[1:]), list(ends), [target])

    def _add_keeping(self, to: Schedule) -> None:
        """Write down how the motion that was found is kept, and its inputs."""
        programs, space, memory, m = self.programs, self.space, self.memory, self.programs.step.inputs
        K = space.chain.K[..., :-1]
        for k, name in enumerate("abz"):
            stages, last = self.rows.by_node(space.rows[name])
            self._copy(to, stages, memory["rows"][k])
            self._copy(to, last, memory["last_rows"][k], 0)
        if programs.coordinates.is_plain:
            for source, name in ((space.W, "motion"), (space.costates, "costates"), (K, "gains")):
                self._copy(to, source, memory[name])
        else:
            kept = [memory[name] for name in ("motion", "centres", "costates")]
            to.call(programs.recentre, [space.W, self._centres, space.costates], kept)
            to.call(programs.recentre_gains, [space.W[:-1], self._centres[:-1], K], [memory["gains"]])
        self._copy(to, np.zeros(m), memory["motion"][-1, :m], 0)
        W, (whole, _) = space.W, programs.steps_later
        nodes = [W[0], W[whole], W[min(whole + 1, self.rows.nodes)]]
        to.call(programs.first_inputs, [*nodes, self._floor, self._ceiling], [self._u])

    def _add_standing_in(self, to: Schedule) -> None:
        """Write down how the motion before is kept, and the inputs of its regulator."""
        before, C = self._before, self._before["centres"]
        for name, source in before.items():
            for part, target in zip(source, self.memory[name], strict=True) if name == "rows" else [(source, None)]:
                self._copy(to, part, self.memory[name] if target is None else target)
        limits = [self._floor, self._ceiling]
        W, K = before["motion"][0], before["gains"][0]
        to.call(self.programs.regulate, [W, K, self._x, self._centre, C[0], *limits], [self._u])

    def _add_sending(self, to: Schedule) -> None:
        """Write down what becomes of the inputs."""
        memory, given = self.memory, self.given
        known = [self._u, given["q"], given["qd"], memory["load"], memory["pending"], memory["torque"]]
        results = [memory["pending"], memory["predicted"], memory["torque"]]
        to.call(self.programs.send, known, [self.tau, *results])


#: Parts of the memory that belong to a node of the motion.
_ALONG = ("motion", "centres", "costates", "gains", "rows")


def _longer(name: str, shape: tuple[int, ...], more: int) -> tuple[int, ...]:
    """Shape with more nodes."""
    axis = int(name == "rows")
    return (*shape[:axis], shape[axis] + more, *shape[axis + 1 :])


def _shorter(name: str, array: Floats, shape: tuple[int, ...]) -> Floats:
    """The nodes of a motion, without those beyond its end."""
    return array[:, : shape[1]] if name == "rows" else array[: shape[0]]


def _begun(iterations: float, barrier: float) -> Function[Any]:
    """Numbers to begin the iterations of a call with."""

    def begun(determined: Any) -> tuple[Any, ...]:
        return iterations, 0.0, barrier, barrier, 0.0, 0.0, 0.0, 0.0, 2.0 * determined, EMPTY, np.inf, 0.0, 0.0

    names = ["left", "judges", "fixed", "mu", "shift", "before", "failures", "sweeps", "may_fall_back", "first", "turn"]
    return Function(lambda: trace(begun, {"determined": ()}, name="begun", outputs=[*names, "refusals", "failed"]))


def _is_failed(totals: Array, sizes: Array, left: Any, refusals: Any, most: Any) -> Any:
    """Whether the motion is not finite, or only refusals have come to its end."""
    is_finite = Errors(totals, sizes).is_finite
    taken = most - left - refusals
    return np.where(is_finite & ((refusals < 0.5) | (taken > 0.5)), 0.0, 1.0)


_outcome = Function(
    lambda: trace(
        _is_failed,
        {"totals": (Errors.SUMS + Errors.LARGEST,), "sizes": (2,), "left": (), "refusals": (), "most": ()},
        name="outcome",
        outputs=["failed"],
    )
)
_refused = Function(
    lambda: trace(
        lambda left, before, refusals: (left - 1.0, np.maximum(_MORE * before, _FIRST_MORE), EMPTY, refusals + 1.0),
        {"left": (), "before": (), "refusals": ()},
        name="refused",
        outputs=["left", "before", "first", "refusals"],
    )
)


def _of_row(present: Any, fresh: Any, carried: Any, begun: Any) -> Any:
    """Slack, excess or multiplier to begin with: that of the call before, or a new one for a row that now counts."""
    return np.where(present > 0.0, np.where(fresh > 0.0, begun, carried), 1.0)


_chosen = Function(
    lambda: trace(
        _of_row, dict.fromkeys(("present", "fresh", "carried", "begun"), ()), name="chosen", outputs=["value"]
    )
)


def predictive_call(programs: CallPrograms, iterations: int, barrier: float) -> AbstractContextManager[PredictiveCall]:
    """Lend a call: one that was used before, so that nothing is allocated, or a new one, compiled."""

    def compiled() -> PredictiveCall:
        call = PredictiveCall(programs, iterations, barrier)
        call.schedule.compile()
        return call

    key = programs.period, programs.delay, programs.observer, iterations, barrier
    return programs.problem.rows.predictive_calls.lent(key, compiled)
