"""Derivatives of a plan by the numbers of its problem, by the implicit-function rule at the solution.

The plan solves the equations of the barrier problem, whose matrix is that of Newton's step. With a loss L of the motion
W one more backward pass, with the gradient of the loss in place of that of the cost,

    [H  Aᵀ -Jᵀ ] [v]     [∂L/∂W]
    [A  0   0  ] [η] = - [  0  ],    dL/dp = ∂/∂p d/dε ℓ(W + ε v, λ + ε η, z + ε ζ; p),
    [J  0   D⁻¹] [ζ]     [  0  ]

gives the derivatives by all numbers p at once, ℓ = cost + λᵀ (f - x⁺) - zᵀ r being the Lagrangian with the rows r. If L
is the least cost, its derivative is ∂ℓ/∂p, that of a weight 1 + ε of ℓ.

Sources: Fiacco, Sensitivity analysis for nonlinear programming using penalty methods (1976); Amos, Jimenez, Sacks,
Boots and Kolter, Differentiable MPC for end-to-end planning and control (2018).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.control.optimal.elastic import PROXIMAL, Elastic
from chasles.control.optimal.first_motion import given_state
from chasles.control.optimal.interior_point import solve
from chasles.control.optimal.iterates import Ending, Iterate
from chasles.control.optimal.node_programs import NodePrograms
from chasles.control.optimal.nodes import Nodes
from chasles.control.optimal.step import HeldStep
from chasles.control.optimal.workspace import Workspace, workspace
from chasles.engine import Function, Record, jacobian, jvp, trace, vjp
from chasles.engine.kernels.threads import get_threads, run_all
from chasles.engine.program.scalar import Array

Floats = NDArray[np.float64]
Arrays = dict[str, Any]

#: Names of the initial state among the numbers of a problem.
START = ("start", "velocity")
#: Inputs of the Lagrangian that the directions move.
_MOVING = ("weight", "w", "costate", "multiplier")
#: Most backward passes for one solution, and the last correction, as a share of it: each leaves 1e-4 of that or less.
_PASSES, _LAST_CORRECTION = 10, 1e-9
#: Barrier of the solutions that are differentiated, and most iterations from a plan's to it.
_BARRIER, _MOST_ITERATIONS = 1e-12, 20
#: Change of a gradient with half the barrier, relative to its size, from which a plan counts as not smooth.
_KINK = 1e-3


class PlanGradient(NamedTuple):
    """Loss of each plan and its gradient.

    Attributes
    ----------
    loss
        Loss, (...).
    gradient
        Derivatives of a plan's loss with respect to its own numbers, by name, each (..., *shape); NaN for a plan that
        is not optimal, or whose second derivatives leave the least cost undetermined.
    barrier_effect
        Change of the gradient, relative to its largest element, if the barrier of limits had half the weight, (...):
        the order of its distance from the derivative without a barrier. It is large where the loss depends on a limit
        that the motion touches without pressing on it: there the plan has a kink.

    Examples
    --------
    See `Plan.gradient`.
    """

    loss: Floats
    gradient: Mapping[str, Floats]
    barrier_effect: Floats

    @property
    def is_smooth(self) -> NDArray[np.bool_]:
        """Whether each plan is a smooth function of its numbers, as far as the loss depends on it, (...)."""
        return np.asarray(self.barrier_effect < _KINK)


def loss_of_results(loss: Callable[[Any], Any], results: Mapping[str, Floats]) -> tuple[Floats, dict[str, Floats]]:
    """Return a loss of plans, (...), and its derivatives by their results, each (..., *shape)."""
    lead = results["cost"].ndim

    def value(*parts: Array) -> Any:
        number = loss(Record(dict(zip(results, parts, strict=True))))
        if np.shape(number) != ():
            raise ArgumentError(f"the loss must return one number for a plan, not an array of shape {np.shape(number)}")
        return number

    shapes = {name: part.shape[lead:] for name, part in results.items()}
    function = Function(trace(value, shapes, name="loss", outputs=["loss"]))
    by_results = function.jacobian()(*results.values())
    return np.asarray(function(*results.values())), dict(zip(results, by_results, strict=True))


@dataclass(frozen=True, eq=False)
class PlanAdjoint:
    """Solved problems, whose plans can be differentiated by their numbers.

    Attributes
    ----------
    nodes
        The problems, with one leading axis.
    found
        The last iterate of each.
    duration
        Duration of stretch 1, s.
    follows_torques
        Whether a residual takes the torques of a motion to follow, which depend on the robot's parameters.
    """

    nodes: Nodes
    found: Sequence[Iterate]
    duration: float
    follows_torques: bool

    @cached_property
    def iterates(self) -> list[Iterate]:
        """The solutions with a barrier so low that it does not count: the derivative follows limits more closely."""
        return [self._sharpened(self.nodes.select(k), each) for k, each in enumerate(self.found)]

    def _sharpened(self, nodes: Nodes, found: Iterate) -> Iterate:
        result = solve(nodes, found, iterations=_MOST_ITERATIONS, barrier=_BARRIER)
        return result.iterate if result.ending is Ending.CONVERGED else found

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the numbers: the initial state, values of residuals, and parameters of the robot that vary."""
        return (*START, *_values(self.nodes.rows.stage), *self.nodes.step.parameters.names)

    def check(self, by: Sequence[str]) -> None:
        """Raise where there is no derivative by a name."""
        if isinstance(by, str):
            raise ArgumentError(f"by must be a list of names such as ['start'], not the text {by!r}")
        if not by:
            raise ArgumentError("by is empty: name what the loss is to be differentiated by")
        for name in by:
            if name in START and self.nodes.step.free_start:
                raise ArgumentError(f"the start of this problem is free: no plan depends on '{name}'")
            if self.follows_torques and name in self.nodes.step.varied:
                raise ArgumentError(
                    f"the torques of the reference depend on '{name}', which is not differentiated; follow its motion "
                    "without residuals.torque('reference')"
                )
            if name in self.nodes.step.robot.parameters and name not in self.names:
                raise ArgumentError(f"'{name}' is no number of this problem; give its value in solve(vary=)")
            if name not in self.names:
                raise UnknownNameError("number", name, self.names, of="this problem")

    def __call__(self, of_results: Mapping[str, Floats], *, halved: bool = False) -> dict[str, Floats]:
        """Return the adjoints of all numbers by name, each (problems, *shape); NaN where no least cost is determined.

        Parameters
        ----------
        of_results
            Adjoints of the plan's states, torques, forces, cost and duration, each with the axis of problems.
        halved
            Whether the last barrier has half its weight.
        """
        W = np.stack([each.W for each in self.iterates])
        by_W, of_cost = self._by_motion(W, of_results), of_results["cost"] / self.nodes.scale
        totals: dict[int, dict[str, Floats]] = {}

        def differentiate(k: int) -> Iterator[None]:
            nodes = self.nodes.select(k)
            with workspace(nodes) as space:
                totals[k] = _Equations(space, nodes, self.iterates[k], halved).adjoints(by_W[k], float(of_cost[k]))
            yield

        run_all(map(differentiate, range(len(W))), min(len(W), get_threads()))
        return self._by_name({name: np.stack([totals[k][name] for k in range(len(W))]) for name in totals[0]})

    def _by_name(self, totals: dict[str, Any]) -> dict[str, Floats]:
        """Return the adjoints of numbers by name, from those of what the programs of the nodes are given."""
        nodes, step = self.nodes, self.nodes.step
        start = {"adjoint_x": totals.pop("w")[:, : step.moving_states], "adjoint_start": totals.pop("given_start")}
        known: Arrays = {"q": nodes.start, "qd": nodes.x0[:, step.robot.n : 2 * step.robot.n]}
        known["parameters"] = nodes.parameters
        known["centre"] = next(iter(step.coordinates.centres(nodes.instants[..., 0, :])), None)
        pulled = _called(_programs(nodes.rows.stage, nodes.rows.last).start, known | start)
        result = {"start": pulled["q"], "velocity": pulled["qd"]}
        result |= {name.removeprefix("given_"): each for name, each in totals.items() if name.startswith("given_")}
        if step.varied:
            result |= step.parameters.values(totals["parameters"] + pulled["parameters"])
        return {name: np.asarray(result[name]) for name in self.names}

    def _by_motion(self, W: Floats, of_results: Mapping[str, Floats]) -> Floats:
        """Return the gradient of a loss to (u, x), (problems, N + 1, m + s)."""
        nodes, step, n = self.nodes, self.nodes.step, self.nodes.step.robot.nq
        states = of_results["states"]
        parts = {"adjoint_q": states[..., :n], "adjoint_qd": states[..., n:]}
        for name in ("torques", "forces"):
            part = of_results[name]
            parts[f"adjoint_{name}"] = np.concatenate([part, np.zeros_like(part[:, :1])], axis=1)
        centre = next(iter(step.coordinates.centres(nodes.instants)), None)
        results = _called(_programs(nodes.rows.stage, nodes.rows.last).outcome, {"w": W, "centre": centre} | parts)
        by_W = np.array(np.broadcast_to(results["w"], W.shape))
        if step.stretches:
            by_W[:, 0, -1] += of_results["duration"] * self.duration
        return by_W


class _Equations:
    """Newton's equations at the solution of one problem, in a workspace."""

    def __init__(self, space: Workspace, nodes: Nodes, solution: Iterate, halved: bool) -> None:
        self.space, self.nodes, self.solution = space, nodes, solution
        self.sensitivities = _programs(nodes.rows.stage, nodes.rows.last).sensitivities
        space.pose(nodes, solution)
        a, b, z = (space.rows[name] for name in "abz")
        elastic = Elastic(a, b, z, nodes.rows.kinds, solution.price)
        if halved:  # slacks of active rows halve with the barrier, and multipliers of the others
            a *= np.where(elastic.above > elastic.a, 0.5, 2.0)
        space.numbers["left"][...] = 0.0
        space.run("differentiate")
        self.D = nodes.rows.present * elastic.stiffness()
        self.compliance = 1.0 / elastic.stiffness() - PROXIMAL

    def adjoints(self, by_W: Floats, of_cost: float) -> dict[str, Floats]:
        """Return the adjoints of the first state as ``w``, and of what the nodes are given, by name.

        The bound of D, and rounding where it is large, are made up for by solving again for what is missing.
        """
        space, rows, m = self.space, self.nodes.rows, self.nodes.inputs
        F = space.chain.transitions()[..., :-1].copy()
        v, eta, zeta = np.zeros(by_W.shape), np.zeros(space.costates.shape), np.zeros(rows.count)
        for _ in range(_PASSES):
            along = self._along(v, eta, zeta, 0.0)["w"]
            gradient = by_W + along - rows.gradient(zeta)
            gradient[:, m:] -= eta
            missed = (F @ v[:-1, :, None])[..., 0] - v[1:, m:]
            e = -(space.along(rows, v) + self.compliance * zeta)
            space.chain.take(gradient - space.pulled(rows, self.D * e), missed)
            space.chain.solve()
            moves = space.chain.dW
            change = self.D * (e - space.along(rows, moves))
            v, eta, zeta = v + moves, eta + space.chain.costates, zeta + change
            if not np.abs(moves).max() > _LAST_CORRECTION * np.abs(v).max():
                break
        result = self._along(v, eta, zeta, of_cost)
        return {name: (each + by_W)[0, m:] if name == "w" else each for name, each in result.items()}

    def _along(self, v: Floats, eta: Floats, zeta: Floats, of_cost: float) -> dict[str, Floats]:
        """Return the change of the Lagrangian's gradient along a direction, by name; of ``w`` at each node."""
        nodes, solution, m = self.nodes, self.solution, self.nodes.inputs
        common = dict(zip(list(_given(nodes.rows.stage))[1:], nodes.given, strict=True))
        common |= {"parameters": nodes.parameters, "weight": 1.0, "d_weight": of_cost}
        multipliers, changes = (_by_node(nodes, each) for each in (solution.rows[2], zeta))
        by_w, total = np.zeros(v.shape), dict[str, Any]()
        places: list[tuple[Any, Any, int]] = [(slice(None, -1), slice(1, None), 0), (-1, -1, m)]
        for k, (here, ahead, first) in enumerate(places):
            at = {"w": solution.W[here, first:], "d_w": v[here, first:], "given_instant": nodes.instants[here]}
            at |= {"costate": solution.costates[ahead], "d_costate": eta[ahead]}
            at |= {"multiplier": multipliers[k], "d_multiplier": changes[k]}
            results = _called(self.sensitivities[k], common | at)
            by_w[here, first:] = results.pop("w")
            for name, each in results.items():
                total[name] = total[name] + each if k else each.sum(axis=0)
        return {"w": by_w, **total}


def _by_node(nodes: Nodes, rows: Floats) -> tuple[Floats, Floats]:
    """Return the multipliers of distances and own rows of the nodes but the last, and of the last."""
    distances, kept, ends = nodes.rows.of_terms(rows)
    return np.concatenate([distances[:-1], kept], axis=-1), np.concatenate([distances[-1], ends])


class _Programs(NamedTuple):
    """Programs for the derivatives of a kind of problem.

    Attributes
    ----------
    sensitivities
        Derivatives ∂/∂p d/dε ℓ of the nodes but the last, and of the last.
    start
        Adjoint of the first state, of positions, velocities and parameters.
    outcome
        Adjoint of positions, velocities, torques and forces of a node, of (u, x).
    """

    sensitivities: tuple[Function[Any], Function[Any]]
    start: Function[Any]
    outcome: Function[Any]


#: Programs that were written down, by those of the nodes.
_WRITTEN: WeakKeyDictionary[NodePrograms, _Programs] = WeakKeyDictionary()


def _programs(stage: NodePrograms, last: NodePrograms) -> _Programs:
    if stage not in _WRITTEN:
        sensitivities = _sensitivity(stage), _sensitivity(last)
        _WRITTEN[stage] = _Programs(sensitivities, _start(stage.step), _outcome(stage.step))
    return _WRITTEN[stage]


def _called(function: Function[Any], arrays: Arrays) -> dict[str, Floats]:
    """Return the results of an adjoint by the names of what they are adjoints of."""
    results = function(*(arrays[each.name] for each in function.program.inputs))
    several = results if isinstance(results, tuple) else (results,)
    names = [each.name.removeprefix("d_d_l_d_").removeprefix("adjoint_") for each in function.program.outputs]
    return dict(zip(names, several, strict=True))


def _values(programs: NodePrograms) -> list[str]:
    """Names of the values of residuals."""
    return list(programs.costs.shapes)[4:]


def _given(programs: NodePrograms) -> dict[str, tuple[int, ...]]:
    """Shapes of a node's data, the scale of the cost, the initial positions and the values of residuals."""
    return {f"given_{name}": shape for name, shape in list(programs.costs.shapes.items())[1:]}


def _sensitivity(programs: NodePrograms) -> Function[Any]:
    """Change of the gradient of a node's Lagrangian to w and the numbers, along directions of what the solution is."""
    step, costs, m = programs.step, programs.costs, programs.inputs
    end = costs.shapes["instant"][0] - step.coordinates.count
    first = end - step.parameters.count

    def lagrangian(weight: Any, w: Array, costate: Array, multiplier: Array, *more: Any) -> Any:
        parameters, instant, *given = more if step.varied else (np.zeros(0), *more)
        instant = np.concatenate([instant[:first], parameters, instant[end:]])
        cost, own = costs.values(w, instant, *given)
        rows = [own]
        if programs.distances.count:
            rows.insert(0, programs.distances.values(w[m:], instant, *given)[1])
        of_step = 0.0 if programs.is_last else costate @ step(w[m:], w[:m], *step.context(instant))
        return weight * (cost + of_step - multiplier @ np.concatenate(rows))

    shapes = {"weight": (), "w": (programs.size,), "costate": (step.states,), "multiplier": (programs.general,)}
    shapes |= {"parameters": (step.parameters.count,)} if step.varied else {}
    wanted = ["w", "given_start", *(f"given_{name}" for name in _values(programs)), *["parameters"] * bool(step.varied)]
    program = trace(lagrangian, shapes | _given(programs), name="lagrangian", outputs=["l"])
    return Function(jvp(jacobian(program, wrt=wanted, mode="reverse"), wrt=_MOVING))


def _start(step: HeldStep) -> Function[Any]:
    """Adjoint of the state and positions at the first node, of what `OptimalControl.solve` is given."""

    def start(q: Array, qd: Array, *more: Array) -> tuple[Array, Array]:
        parameters, centre = (more[0] if step.varied else None), more[len(more) - len(of_centre) :]
        q = np.asarray(step.robot.normalize(q))
        return given_state(step, q, qd, parameters, *centre), q

    of_centre = {} if step.coordinates.is_plain else {"centre": (step.robot.nq,)}
    shapes = {"q": (step.robot.nq,), "qd": (step.robot.n,)}
    shapes |= {"parameters": (step.parameters.count,)} if step.varied else {}
    program = trace(start, shapes | of_centre, name="start", outputs=["x", "start"])
    return Function(vjp(program, wrt=list(shapes)))


def _outcome(step: HeldStep) -> Function[Any]:
    """Adjoint of what a plan says of a node, of (u, x)."""

    def outcome(w: Array, *centre: Array) -> tuple[Array, ...]:
        m, n = step.inputs, step.robot.n
        q = step.coordinates.configuration(w[m : m + n], *centre)
        forces = np.zeros((0, 3)) if step.contacts is None else step.contacts.in_world(w[step.motor_count : m])
        return q, w[m + n : m + 2 * n], step.torques(w), forces

    shapes = {"w": (step.inputs + step.states,)}
    shapes |= {} if step.coordinates.is_plain else {"centre": (step.robot.nq,)}
    return Function(vjp(trace(outcome, shapes, name="outcome", outputs=["q", "qd", "torques", "forces"]), wrt="w"))
