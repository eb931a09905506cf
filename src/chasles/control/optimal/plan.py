"""The result of optimal control: a motion with its torques and gains, and a status that an evaluation confirms."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.findings import Finding, text
from chasles.engine.program.scalar import Count, Quantity
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
    findings
        Violated constraints.
    """

    states: Floats
    torques: Floats
    forces: Floats
    gains: Floats
    cost: float
    status: PlanStatus
    reduced_gradient: float
    iterations: int
    findings: tuple[Finding, ...]


class Plan(JointTrajectory):
    """Motion of optimal control; made by `OptimalControl.solve`.

    It is a joint trajectory of constant acceleration between nodes, which can be checked, plotted, viewed and followed.

    Attributes
    ----------
    states
        Positions and velocities at the nodes, (..., N + 1, nq + n).
    torques
        Torques held from node to node, (..., N, n), N·m (N for prismatic joints).
    forces
        Forces of the environment on each contact, held like these, world axes, (..., N, contacts, 3), N.
    gains
        Gains of the regulator along the motion, (..., N, n, 2n): τ = torques - gains (q ⊟ q_plan, q̇ - q̇_plan).
        They vanish where a torque is at its limit, and are NaN where rates of torques are chosen.
    cost
        Cost, (...).
    status
        `PlanStatus` of each problem, (...).
    reduced_gradient
        Remaining gradient, as a share of the largest costate, (...); at most 1e-5 if optimal.
    iterations
        Number of iterations, (...).
    findings
        Violated constraints, worst first, each with ``value`` in the unit that its sentence names; of all problems.
    """

    states: Floats
    torques: Floats
    forces: Floats
    gains: Floats
    cost: Quantity
    status: Any
    reduced_gradient: Quantity
    iterations: Count
    findings: tuple[Finding, ...]

    def _take(self, solved: list[Solved], batch: tuple[int, ...]) -> None:
        """Take the results of problems."""
        states, torques, forces, gains, cost, status, reduced, iterations, findings = zip(*solved, strict=True)

        def shaped(parts: ArrayLike) -> Any:
            array = np.array(parts)
            return array.reshape((*batch, *array.shape[1:]))

        self.states, self.torques, self.forces, self.gains = (
            np.asarray(shaped(parts), dtype=float) for parts in (states, torques, forces, gains)
        )
        self.cost, self.reduced_gradient, self.iterations = (shaped(parts)[()] for parts in (cost, reduced, iterations))
        self.status = shaped(np.array(status, dtype=object))[()]
        self.findings = tuple(finding for found in findings for finding in found)

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
        words = f"{status}: {status.sentence}; cost {self.cost:.8g} after {self.iterations} iterations"
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


class PlainPlan(Plan, PiecewisePolynomial):
    """Plan of a robot without quaternions and loops."""

    def __init__(self, times: Floats, solved: list[Solved], batch: tuple[int, ...]) -> None:
        self._take(solved, batch)
        n = self.states.shape[-1] // 2
        h = np.diff(times[..., :2])[..., None]
        qd = self.states[..., n:]
        traveled = 0.5 * h * np.cumsum(qd[..., 1:, :] + qd[..., :-1, :], axis=-2)
        first = self.states[..., :1, :n]
        begins = np.concatenate([first, first + traveled[..., :-1, :]], axis=-2)
        pieces = np.stack([begins, qd[..., :-1, :], 0.5 / h * np.diff(qd, axis=-2)], axis=-2)
        PiecewisePolynomial.__init__(self, times, pieces)


class ManifoldPlan(Plan, ManifoldTrajectory):
    """Plan of a robot with quaternions or loops: between nodes, displacements from the node before."""

    def __init__(self, robot: Robot, times: Floats, solved: list[Solved], batch: tuple[int, ...]) -> None:
        self._take(solved, batch)
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
