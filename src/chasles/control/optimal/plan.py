"""The result of optimal control: a motion with its torques and gains, and a status that an evaluation confirms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.base.findings import Finding, text
from chasles.control.optimal.plan_gradient import PlanAdjoint, PlanGradient, loss_of_results
from chasles.engine.program.scalar import Count, Quantity
from chasles.engine.validators import choice, reals
from chasles.robot.robot import Robot
from chasles.trajectories import JointTrajectory
from chasles.trajectories.joint.piecewise import PiecewisePolynomial
from chasles.trajectories.joint.tangent import ManifoldTrajectory
from chasles.trajectories.pieces import of_piece, piece_at

Floats = NDArray[np.float64]


class PlanStatus(StrEnum):
    """Status of a plan, which the independent evaluation decides."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    IMPOSSIBLE = "impossible"
    LOCALLY_INFEASIBLE = "locally infeasible"
    STOPPED = "stopped"
    NOT_FINITE = "not finite"

    @property
    def sentence(self) -> str:
        """The status in words."""
        return _SENTENCES[self]


#: Findings that are said in words.
_SAID = 5
_MINIMUM = "the motion keeps all constraints, and to second order no small change of it costs less"
_SENTENCES = {
    PlanStatus.OPTIMAL: "the motion keeps all constraints, and to first order no small change of it costs less",
    PlanStatus.FEASIBLE: "the motion keeps all constraints, but is not optimal to the tolerance",
    PlanStatus.IMPOSSIBLE: "no motion keeps all constraints, wherever a search begins",
    PlanStatus.LOCALLY_INFEASIBLE: (
        "no motion within the constraints was found: small changes of this one only make the violations larger, which "
        "says nothing of motions far from it; begin at another guess, such as a path of chasles.plan"
    ),
    PlanStatus.STOPPED: "the search ended before the motion kept all constraints",
    PlanStatus.NOT_FINITE: "a value of the problem is not finite along the motion",
}


class Solved(NamedTuple):
    """One solved problem of a batch.

    Attributes
    ----------
    states, torques, forces, gains
        (N + 1, nq + n), (N, n), (N, contacts, 3) and (N, n, 2n).
    cost
        Cost.
    status
        Status of the problem.
    reduced_gradient
        Largest change of the Lagrangian per unit of a torque, as a share of the largest costate.
    iterations
        Number of iterations.
    is_minimum
        Whether second derivatives confirm a minimum.
    findings
        Violated constraints.
    drives
        States of the drives by name, (N + 1, n) each.
    """

    states: Floats
    torques: Floats
    forces: Floats
    gains: Floats
    cost: float
    status: PlanStatus
    reduced_gradient: float
    iterations: int
    is_minimum: bool
    findings: tuple[Finding, ...]
    drives: Mapping[str, Floats]


class Plan(JointTrajectory):
    """Motion of optimal control; made by `OptimalControl.solve`.

    It is a joint trajectory, of constant acceleration between nodes where a step has one stage. It can be checked,
    plotted, viewed and followed.

    Attributes
    ----------
    states
        Positions and velocities at the nodes, (..., N + 1, nq + n).
    torques
        Torques held from node to node, (..., N, n), N·m (N for prismatic joints); of a plant, those commanded.
    forces
        Forces of the environment on each contact, held like these, world axes, (..., N, contacts, 3), N.
    gains
        Gains of the regulator along the motion, (..., N, n, 2n): τ = torques - gains (q ⊟ q_plan, q̇ - q̇_plan).
        They vanish where a torque is at its limit, and are NaN where rates of torques are chosen.
    drives
        States of a plant's drives at the nodes by name, such as ``"motor_position"``, (..., N + 1, n) each.
    delay
        Time, s, by which a plant's commands are sent before they act: `torques` act where they stand.
    cost
        Cost, (...).
    status
        `PlanStatus` of each problem, (...).
    reduced_gradient
        Remaining gradient, as a share of the largest costate, (...); at most 1e-5 if optimal.
    iterations
        Number of iterations, (...).
    is_minimum
        Whether an optimal motion is a local minimum to second order, (...): the reduced Hessian, the second derivatives
        by the torques with states following and limits kept, is positive definite. Where it is not, the motion is a
        saddle, or some directions are flat.
    findings
        Violated constraints, worst first, each with ``value`` in the unit that its sentence names; of all problems.
    """

    states: Floats
    torques: Floats
    forces: Floats
    gains: Floats
    drives: Mapping[str, Floats]
    delay: float
    cost: Quantity
    status: Any
    reduced_gradient: Quantity
    iterations: Count
    is_minimum: Any
    findings: tuple[Finding, ...]
    _adjoint: PlanAdjoint | None = None

    def gradient(self, loss: Callable[[Any], Any], by: Sequence[str]) -> PlanGradient:
        """Differentiate a loss of the plan by the numbers of its problem.

        The implicit-function rule at the solution: one more backward pass gives the derivatives by all numbers, to the
        tolerance to which the plan is solved.

        Parameters
        ----------
        loss
            Function of a record of ``states``, ``torques``, ``forces``, ``cost`` and ``duration`` of one plan, with
            the shapes of these attributes, that returns one number, in operations that `chasles.function` traces.
        by
            Names of numbers as `OptimalControl.solve` was given them: ``"start"``, ``"velocity"``, values of residuals
            such as ``"goal"``, and parameters of the robot in ``vary``. The derivatives to a quaternion are those along
            quaternions of unit length; to the positions of a robot with loops, those by the independent ones.

        Raises
        ------
        UnknownNameError
            The problem has no such number.
        ArgumentError
            The loss is no number, or the plan does not know its problem, as after pickling.

        Examples
        --------
        >>> import chasles as ch
        >>> from chasles.control.optimal import residuals
        >>> swing = ch.OptimalControl(
        ...     ch.load("planar2r"), duration=1.0, nodes=20, running=[residuals.torque()],
        ...     exact_end=[residuals.position("goal"), residuals.velocity()],
        ... )
        >>> plan = swing.solve([0.0, 0.0], goal=[1.0, 0.5], vary={"payload.mass": 1.0})
        >>> effort = plan.gradient(lambda plan: (plan.torques**2).mean(), by=["goal", "payload.mass"])
        >>> effort.gradient["goal"].shape, bool(effort.gradient["payload.mass"] > 0.0), bool(effort.is_smooth)
        ((2,), True, True)
        """
        adjoint = self._differentiable(by)
        value, of_results = loss_of_results(loss, self._results)
        flat = self._flat(of_results)
        gradient, halved = (self._by_name(by, adjoint(flat, halved=half)) for half in (False, True))
        sizes, changes = (
            np.max([_largest(each, value.ndim) for each in parts], axis=0)
            for parts in (list(gradient.values()), [gradient[name] - halved[name] for name in by])
        )
        effect = np.where(sizes > 0.0, changes / np.where(sizes > 0.0, sizes, 1.0), changes)
        return PlanGradient(value, gradient, effect)

    def vjp(self, by: Sequence[str], **of_results: ArrayLike) -> dict[str, Floats]:
        """Return the adjoints of numbers of the problem, for adjoints of results: the gradient of a loss of your own.

        Parameters
        ----------
        by
            Names of numbers; see `gradient`.
        **of_results
            Derivatives of the loss by ``states``, ``torques``, ``forces``, ``cost`` and ``duration``, with the shapes
            of these attributes or broadcasting to them; default 0.

        Returns
        -------
        dict
            Derivatives of each plan's loss by its own numbers, each (..., *shape); NaN for a plan that is not optimal,
            or whose second derivatives leave the least cost undetermined.

        Examples
        --------
        See `gradient`; ``plan.vjp(["start"], cost=1.0)`` is the gradient of the least cost.
        """
        adjoint = self._differentiable(by)
        results, given = self._results, {}
        for name, part in of_results.items():
            choice(name, "result", results)
            given[name] = reals(part, name)
        full = {}
        for name, part in results.items():
            try:
                full[name] = np.broadcast_to(given.get(name, np.zeros(())), part.shape)
            except ValueError:
                raise ArgumentError(f"{name} has shape {given[name].shape}; expected {part.shape}") from None
        return self._by_name(by, adjoint(self._flat(full)))

    @property
    def _results(self) -> dict[str, Floats]:
        """What a loss may depend on, by name, each (..., *shape)."""
        parts = {name: np.asarray(getattr(self, name)) for name in ("states", "torques", "forces", "cost")}
        return parts | {"duration": np.broadcast_to(np.asarray(self.duration, dtype=float), parts["cost"].shape)}

    def _differentiable(self, by: Sequence[str]) -> PlanAdjoint:
        if self._adjoint is None:
            raise ArgumentError("this plan does not know its problem any more, as after pickling; solve it again")
        self._adjoint.check(by)
        return self._adjoint

    def _flat(self, parts: Mapping[str, Floats]) -> dict[str, Floats]:
        """Return adjoints of results with one axis of problems."""
        lead = np.ndim(self.cost)
        return {name: part.reshape((np.size(self.cost), *part.shape[lead:])) for name, part in parts.items()}

    def _by_name(self, by: Sequence[str], adjoints: Mapping[str, Floats]) -> dict[str, Floats]:
        """Return the wanted adjoints with the axes of the batch, NaN where a plan is not optimal."""
        optimal = np.atleast_1d(self.success).ravel()
        result = {}
        for name in by:
            part = adjoints[name]
            lost = np.where(optimal.reshape(-1, *[1] * (part.ndim - 1)), part, np.nan)
            result[name] = lost.reshape((*np.shape(self.cost), *part.shape[1:]))
        return result

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the problem, whose functions cannot be stored."""
        return {name: part for name, part in self.__dict__.items() if name != "_adjoint"}

    def _take(self, solved: list[Solved], batch: tuple[int, ...], adjoint: PlanAdjoint) -> None:
        """Take the results of problems."""
        self._adjoint, self.delay = adjoint, adjoint.nodes.step.drives.delay
        columns = zip(*solved, strict=True)
        states, torques, forces, gains, cost, status, reduced, iterations, minima, findings, drives = columns

        def shaped(parts: ArrayLike) -> Any:
            array = np.array(parts)
            return array.reshape((*batch, *array.shape[1:]))

        self.states, self.torques, self.forces, self.gains = (
            np.asarray(shaped(parts), dtype=float) for parts in (states, torques, forces, gains)
        )
        self.cost, self.reduced_gradient, self.iterations = (shaped(parts)[()] for parts in (cost, reduced, iterations))
        is_minimum = np.asarray(shaped(minima), dtype=bool)
        self.is_minimum = is_minimum if batch else bool(is_minimum)
        self.status = shaped(np.array(status, dtype=object))[()]
        self.findings = tuple(finding for found in findings for finding in found)
        self.drives = {name: shaped([each[name] for each in drives]) for name in drives[0]}

    @property
    def success(self) -> NDArray[np.bool_] | bool:
        """Whether the motion keeps all constraints and is optimal, (...)."""
        found = np.asarray(self.status == PlanStatus.OPTIMAL)
        return found if found.ndim else bool(found)

    def __str__(self) -> str:
        if self.batch:
            found = np.atleast_1d(self.status).ravel().tolist()
            counted = ", ".join(f"{found.count(kind)} {kind}" for kind in PlanStatus if kind in found)
            return f"{len(found)} problems: {counted}; {np.mean(self.iterations):.1f} iterations on average"
        status = PlanStatus(self.status)
        sentence = _MINIMUM if self.is_minimum else status.sentence
        words = f"{status}: {sentence}; cost {self.cost:.8g} after {self.iterations} iterations"
        if status in (PlanStatus.OPTIMAL, PlanStatus.FEASIBLE):
            words += f", gradient {self.reduced_gradient:.1e} of the largest costate"
        words = f"{words}. {text(self.findings[:_SAID])}".rstrip()
        return (
            words if len(self.findings) <= _SAID else f"{words} And {len(self.findings) - _SAID} more: plan.findings."
        )

    def __repr__(self) -> str:
        shortest, longest = np.min(self.duration), np.max(self.duration)
        span = f"{longest:g} s" if shortest == longest else f"{shortest:g} to {longest:g} s"
        return f"<Plan of {self.nv} joints over {span}: {str(self).split(':')[0]}>"


def _largest(array: Floats, lead: int) -> Floats:
    """Return the largest absolute value of arrays with leading axes."""
    return np.asarray(np.abs(array).max(axis=tuple(range(lead, array.ndim)), initial=0.0))


class PlainPlan(Plan, PiecewisePolynomial):
    """Plan of a robot without quaternions and loops.

    Between nodes are parabolas, or cubics where a step has several stages, whose accelerations differ.
    """

    def __init__(
        self, times: Floats, solved: list[Solved], batch: tuple[int, ...], adjoint: PlanAdjoint, *, by_cubics: bool
    ) -> None:
        self._take(solved, batch, adjoint)
        n = self.states.shape[-1] // 2
        h = np.diff(times[..., :2])[..., None]
        q, qd = self.states[..., :n], self.states[..., n:]
        if by_cubics:
            rest = np.diff(q, axis=-2) - 0.5 * h * (qd[..., 1:, :] + qd[..., :-1, :])
            bent = [0.5 / h * np.diff(qd, axis=-2) + 3.0 / h**2 * rest, -2.0 / h**3 * rest]
            PiecewisePolynomial.__init__(self, times, np.stack([q[..., :-1, :], qd[..., :-1, :], *bent], axis=-2))
            return
        traveled = 0.5 * h * np.cumsum(qd[..., 1:, :] + qd[..., :-1, :], axis=-2)
        first = self.states[..., :1, :n]
        begins = np.concatenate([first, first + traveled[..., :-1, :]], axis=-2)
        pieces = np.stack([begins, qd[..., :-1, :], 0.5 / h * np.diff(qd, axis=-2)], axis=-2)
        PiecewisePolynomial.__init__(self, times, pieces)


class ManifoldPlan(Plan, ManifoldTrajectory):
    """Plan of a robot with quaternions or loops: between nodes, displacements from the node before."""

    def __init__(
        self, robot: Robot, times: Floats, solved: list[Solved], batch: tuple[int, ...], adjoint: PlanAdjoint
    ) -> None:
        self._take(solved, batch, adjoint)
        self.robot, self.knots, self.batch = robot, times, batch
        self._q, qd = self.states[..., : robot.nq], self.states[..., robot.nq :]
        h = np.diff(times[..., :2])[..., None]
        turns = np.diff(qd, axis=-2)
        moved = np.asarray(robot.difference(self._q[..., :-1, :], self._q[..., 1:, :]))
        rest = moved - 0.5 * h * (qd[..., 1:, :] + qd[..., :-1, :])  # is left where rotations change their axes
        begins = qd[..., :-1, :]
        shares = [np.zeros_like(rest), begins, 0.5 / h * turns + 3.0 / h**2 * rest, -2.0 / h**3 * rest]
        self._displacements = PiecewisePolynomial(times, np.stack(shares, axis=-2))
        self._velocities = PiecewisePolynomial(times, np.stack([begins, turns / h], axis=-2))

    def derivatives(self, t: Floats) -> tuple[Any, Any, Any, Any]:
        """Configurations (..., nq); velocities, accelerations and jerks (..., n) in the tangent space."""
        before = of_piece(self._q, piece_at(self.knots, t), self.batch)
        displacement = self._displacements.derivatives(t)[0]
        qd, qdd, jerk, _ = self._velocities.derivatives(t)
        beyond = ((t < self.knots[..., 0]) | (t > self.knots[..., -1]))[..., None]
        return np.asarray(self.robot.integrate(before, displacement)), np.where(beyond, 0.0, qd), qdd, jerk
