"""Optimal control: the motion of least cost within the limits of a robot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError
from chasles.base.sealed import Sealed
from chasles.control.optimal.contact import PhasedContact, without_contacts
from chasles.control.optimal.contact_rows import Contacts
from chasles.control.optimal.drives import Drivable, DrivenRobot, Drives, DrivesByRates
from chasles.control.optimal.duration import duration_of
from chasles.control.optimal.errors import Errors
from chasles.control.optimal.evaluation import evaluated
from chasles.control.optimal.first_motion import (
    Path,
    as_motion,
    centres_along,
    first_motion,
    given_state,
    instants,
    node_times,
    one_motion,
    usual_scale,
)
from chasles.control.optimal.interior_point import solve_all
from chasles.control.optimal.limits import LIMITS, bounds, motors_of
from chasles.control.optimal.methods import OneStage
from chasles.control.optimal.node_programs import NodePrograms
from chasles.control.optimal.nodes import Nodes
from chasles.control.optimal.numbers import Numbers, checked_numbers
from chasles.control.optimal.plan import ManifoldPlan, PlainPlan, Plan, Solved
from chasles.control.optimal.plan_gradient import PlanAdjoint
from chasles.control.optimal.plan_layer import PlanExports
from chasles.control.optimal.problem_terms import ProblemTerms
from chasles.control.optimal.residuals import FIRST, REFERENCE, Residual, as_residuals, shapes_of_values
from chasles.control.optimal.rows import ConstraintRows
from chasles.control.optimal.smoothness import require_robot, require_smooth_dynamics
from chasles.control.optimal.step import HeldStep
from chasles.distances import Clearance
from chasles.engine.validators import real, whole_number
from chasles.integrators import Integrator, Steps
from chasles.robot.robot import Robot
from chasles.trajectories import JointTrajectory

Floats = NDArray[np.float64]
_MOST_NODES, _MOST_ITERATIONS = 100_000, 100_000
#: Cached properties that depend on the step or on limits.
_DERIVED = ("_programs_by_limits", "receding", "rows", "terms", "_of_varied")


class OptimalControl(PlanExports, Sealed):
    """The motion that costs least, within limits, from an initial state.

    Minimises the integral of ½ Σ w r² of the running residuals plus ½ Σ w r² of the final ones by choice of the torques
    of N steps. Constraints hold at the nodes.

    Parameters
    ----------
    plant
        Robot: a chain, a tree, with a free base or spherical joints, or with loops. Or a `chasles.Plant`: currents and
        motors behind springs are states, saturations are limits, and commands are sent its delay before they act.
    duration
        Duration of the motion, s; or the shortest and the longest one, between which that of each problem is free and
        chosen at least cost, as with `residuals.time` among the running ones.
    nodes
        Number N of steps of equal length, over each of which torques are held.
    running
        Residuals of the running cost, or functions of q, qd, tau, t; see `Residual`.
    final
        Residuals of the final cost, of q and qd.
    exact_end
        Residuals of q and qd that must be zero at the end. Where one of them, or of the others, is of the first state,
        as `residuals.periodic` and `residuals.at_start` are, the start is free.
    limits
        Limits of the robot that hold: ``"position"``, ``"velocity"``, ``"torque"``; or a mapping from these names to
        bounds of the absolute values, a number or (n,), or None for those of the robot. A mapping may limit
        ``"torque_rate"`` too, N·m/s (N/s): torques then begin as those that hold the start without acceleration.
    keep
        Residuals that must not be negative: of q and qd at any node but the first, such as a region of a frame, a stop,
        a distance of your own; of tau too at any node but the last, such as `residuals.power_reserve`. Those of
        `residuals.held` must be zero. Scale them to the order of one; a weight w scales by √w. Each
        `PhasedContact` with the environment is kept too.
    clearance
        Distances that must stay above `margin`; see `chasles.clearance`.
    margin
        Smallest distance, m.
    motors
        Names of the joint velocities that have a motor; default those that the description states as actuated, or
        all but those of free joints.
    integrator
        Method of a step: ``"leapfrog"``, of second order where forces depend on positions;
        ``"implicit-friction-leapfrog"``, with friction at the end of the step, however stiff it is;
        ``"semi-implicit-euler"``, of first order, as in many programs; ``"rk4"``; a method of `chasles.integrators`
        that needs no Jacobian; or `chasles.integrators.Steps`, a number of its steps between two nodes.

    Raises
    ------
    ArgumentError
        The robot has friction that jumps, or a motor in a joint that follows from others; the plant has an effect that
        no motion can be optimised across; limits contradict each other; or a value is not what it should be.
    UnknownNameError
        A limit, a joint or an argument of a residual does not exist.

    See Also
    --------
    chasles.time_optimal : The fastest motion along a given path.

    Notes
    -----
    A primal-dual interior point method, whose Newton step is a regulator along the motion; see
    `chasles.control.optimal.interior_point`. Its optimum is a local one; `Plan.is_minimum` says whether second
    derivatives confirm it. Problems of a batch share compiled programs, and come out as alone.

    Examples
    --------
    >>> import chasles as ch
    >>> from chasles.control.optimal import residuals
    >>> arm = ch.load("planar2r")
    >>> reach = ch.OptimalControl(
    ...     arm,
    ...     duration=1.0,
    ...     nodes=50,
    ...     running=[residuals.torque()],
    ...     exact_end=[residuals.position("goal"), residuals.velocity()],
    ... )
    >>> plan = reach.solve([0.0, 0.0], goal=[1.0, 0.5])
    >>> bool(plan.success), plan(1.0).q.round(6)
    (True, array([1. , 0.5]))
    """

    def __init__(
        self,
        plant: Robot | Drivable,
        *,
        duration: float | tuple[float, float],
        nodes: int,
        running: Sequence[Residual | Callable[..., Any]] = (),
        final: Sequence[Residual | Callable[..., Any]] = (),
        exact_end: Sequence[Residual | Callable[..., Any]] = (),
        keep: Sequence[Residual | Callable[..., Any] | PhasedContact] = (),
        limits: Sequence[str] | Mapping[str, ArrayLike | None] = LIMITS,
        clearance: Clearance | None = None,
        margin: float = 0.02,
        motors: Sequence[str] | None = None,
        integrator: str | Integrator | Steps = "leapfrog",
    ) -> None:
        self.nodes = whole_number(nodes, "nodes", 1, _MOST_NODES)
        self.span = duration_of(duration)
        self.duration = self.span.usual
        driven = plant.driven(self.span.longest) if isinstance(plant, Drivable) else DrivenRobot(plant)
        self.robot = robot = driven.robot
        require_robot(robot)
        kept, contacts = without_contacts(keep)
        self.running, self.final, self.exact_end, self.keep = (
            as_residuals(given, name)
            for given, name in (
                (running, "running"),
                (final, "final"),
                (exact_end, "exact_end"),
                ((*kept, *driven.keep), "keep"),
            )
        )
        self.clearance, self.margin = clearance, real(margin, "margin")
        if clearance is not None and clearance.robot.n != robot.n:
            raise ArgumentError(f"clearance is of robot '{clearance.robot.name}', not of '{robot.name}'")
        self.motors = motors_of(robot, motors)
        if self.span.is_free and not self.running:
            raise ArgumentError(
                "the duration is free, but no cost depends on it; add one to running, such as residuals.time()"
            )
        given = (*self.running, *self.final, *self.exact_end, *self.keep)
        taken = {name for each in given for name in each.arguments}
        by_rates, free_start = "torque_rate" in limits or "tau_rate" in taken, not taken.isdisjoint(FIRST)
        drives = driven.drives(self.motors)
        drives = DrivesByRates(self.motors, drives) if by_rates else drives
        self.step = self._step(drives, integrator, contacts, free_start)
        self.lower, self.upper, self.scale = bounds(self.step, limits, self.span)
        self.values = shapes_of_values(given, robot)

    def _step(
        self, drives: Drives, integrator: str | Integrator | Steps, contacts: Sequence[PhasedContact], free_start: bool
    ) -> HeldStep:
        """Return the step between two nodes."""
        if drives.count and (contacts or free_start):
            raise ArgumentError(
                "torques whose rates count, and motors, begin as they hold the start, which must be given, without "
                "contacts; leave them out, or the " + ("contacts" if contacts else "residuals of the first state")
            )
        h = self.duration / self.nodes
        step = HeldStep(self.robot, drives, h, integrator, self.span.is_free, free_start=free_start)
        if step.method.has_implicit_friction:
            step.friction.require_separate_joints()
        if not contacts:
            return step
        return replace(step, contacts=Contacts(contacts, self.robot, self.nodes, h, free_start=free_start))

    def solve(
        self,
        start: ArrayLike,
        velocity: ArrayLike = 0.0,
        *,
        guess: JointTrajectory | Path | None = None,
        reference: JointTrajectory | None = None,
        vary: Mapping[str, ArrayLike] | None = None,
        iterations: int = 1000,
        watch: Callable[[int, Errors], None] | None = None,
        **values: ArrayLike,
    ) -> Plan:
        """Return the best motion from an initial state.

        Parameters
        ----------
        start, velocity
            Initial positions (..., nq) and velocities (..., n), or where the start is free those at which the search
            begins; leading axes are a batch of problems.
        guess
            Motion to begin at, with its velocities and the torques that it needs, or a path of `chasles.plan`; default
            the reference, or the robot held at `start`.
        reference
            Motion to follow, for residuals whose target is ``"reference"``.
        vary
            Values in place of those of the robot, such as ``{"payload.mass": [0.0, 1.0, 2.0]}``, each (..., *shape),
            by their names in `Robot.parameters`; those that move joints or frames cannot vary. Each set of names is
            compiled once.
        iterations
            Largest number of iterations, of all searches together.
        watch
            Called with the number of each iteration and the errors of the problems that go on, for progress.
        **values
            Values that the residuals name, such as ``goal``, each (..., *shape).

        Returns
        -------
        Plan
            Motion with torques and gains, and a status that an independent evaluation confirms.

        Raises
        ------
        ArgumentError
            A value is missing, is not finite, or has a wrong shape.
        UnknownNameError
            No residual takes a value of this name.
        """
        most = whole_number(iterations, "iterations", 0, _MOST_ITERATIONS)
        problem = self._varying(tuple(vary or ()))
        parameters = problem.step.parameters
        batch, numbers = checked_numbers(parameters, start, velocity, vary or {}, self.values, values)
        reference = self._reference(reference)
        guess = reference if guess is None else as_motion(guess, None if self.span.is_free else self.duration)
        if self.step.contacts is not None:
            self.step.contacts.require_start(numbers.q, numbers.qd)
        solved, stretches, adjoint = problem._solved(numbers, reference, guess, most, watch)
        durations = self.duration * (stretches.reshape(batch) if self.span.is_free else np.ones(()))
        times = np.linspace(0.0, durations, self.nodes + 1, axis=-1)
        if self.robot.nq == self.robot.n:
            return PlainPlan(times, solved, batch, adjoint, by_cubics=not isinstance(self.step.method, OneStage))
        return ManifoldPlan(self.robot, times, solved, batch, adjoint)

    def _varying(self, names: tuple[str, ...]) -> OptimalControl:
        """Return the same problem in which parameters of the robot are numbers."""
        if names == self.step.varied:
            return self
        if names not in self._of_varied:
            require_smooth_dynamics(self.robot, names)
            self._of_varied[names] = self._changed(step=replace(self.step, varied=names))
        return self._of_varied[names]

    @cached_property
    def _of_varied(self) -> dict[tuple[str, ...], OptimalControl]:
        """Problems in which parameters of the robot are numbers, by their names."""
        return {}

    def _changed(self, **attributes: Any) -> OptimalControl:
        """Return a copy with other attributes, without what was derived from these."""
        other = copy(self)
        for name in _DERIVED:
            other.__dict__.pop(name, None)
        other.__dict__.update(attributes)
        return other

    def with_limits(self, limits: Sequence[str] | Mapping[str, ArrayLike | None]) -> OptimalControl:
        """Return the same problem with other limits; those of the same quantities need no compilation.

        Parameters
        ----------
        limits
            Limits as of the constructor.

        Examples
        --------
        >>> import chasles as ch
        >>> from chasles.control.optimal import residuals
        >>> turn = OptimalControl(ch.load("planar2r"), duration=1.0, nodes=20, running=[residuals.torque()])
        >>> turn.with_limits({"torque": 60.0}).upper
        array([60., 60., inf, inf, inf, inf])
        """
        lower, upper, scale = bounds(self.step, limits, self.span)
        varying = {names: problem.with_limits(limits) for names, problem in self._of_varied.items()}
        known = {"_programs_by_limits": self._programs_by_limits, "_of_varied": varying}
        return self._changed(lower=lower, upper=upper, scale=scale, **known)

    @cached_property
    def receding(self) -> OptimalControl:
        """The same problem for horizons that begin at any node of a sequence of contacts."""
        if self.step.contacts is None:
            return self
        return self._changed(step=replace(self.step, contacts=self.step.contacts.receding()))

    def _reference(self, reference: JointTrajectory | None) -> JointTrajectory | None:
        """Return the motion to follow, if the residuals take what is given."""
        if self.takes_reference and self.span.is_free:
            raise ArgumentError("the residuals follow a motion, which has a duration; give the problem a fixed one")
        if reference is None and self.takes_reference:
            raise ArgumentError("the residuals follow a motion; give reference=, a joint trajectory")
        if reference is not None and not self.takes_reference:
            raise ArgumentError("no residual follows the reference: use one such as residuals.position('reference')")
        return None if reference is None else one_motion(reference, self.robot, "reference")

    def _solved(
        self,
        numbers: Numbers,
        reference: JointTrajectory | None,
        guess: JointTrajectory | None,
        most: int,
        watch: Callable[[int, Errors], None] | None,
    ) -> tuple[list[Solved], Floats, PlanAdjoint]:
        """Solve problems; also by what the durations that were found exceed the usual one, and what differentiates."""
        nodes, W = self.posed(numbers, reference=reference, guess=guess)
        nodes = replace(nodes, given=(usual_scale(nodes, W), *nodes.given[1:]))
        outcomes = solve_all(nodes, W, iterations=most, watch=watch)
        adjoint = PlanAdjoint(nodes, [each.iterate for each in outcomes], self.duration, "tau_reference" in self._known)
        return *evaluated(nodes, outcomes, self.clearance), adjoint

    def at_nodes(
        self, instants: Floats, x0: Floats, start: Floats, values: Sequence[Floats], scale: Floats | float = 1.0
    ) -> Nodes:
        """Return problems with their numbers; leading axes are a batch.

        Parameters
        ----------
        instants
            Data of the nodes; see `first_motion.instants`.
        x0
            State at the first node, (..., 2n), with the stretch of time where the duration is free.
        start
            Positions that residuals know as ``start``, (..., nq).
        values
            Values of the residuals in the order of `values`, each (..., *shape).
        scale
            Scale of the cost, one number or (...).
        """
        return Nodes(self.rows, instants, x0, (np.broadcast_to(scale, x0.shape[:-1]), start, *values))

    def posed(
        self, numbers: Numbers, *, reference: JointTrajectory | None = None, guess: JointTrajectory | None = None
    ) -> tuple[Nodes, Floats]:
        """Return problems with their numbers, and the motions at which iterations begin."""
        q, qd, values, parameters = numbers
        times = np.linspace(0.0, self.duration, self.nodes + 1)
        guess = None if guess is None else one_motion(guess, self.robot, "guess")
        centres = centres_along(self.robot, node_times(self.nodes, self.step, guess), guess, q)
        if centres is not None and self.step.free_start:
            centres = np.concatenate([q[..., None, :], centres[..., 1:, :]], axis=-2)
        of_nodes = instants(self.step, times, reference, centres, parameters)
        state = given_state(self.step, q, qd, parameters, *(() if centres is None else (centres[..., 0, :],)))
        stretch = self.span.first_stretch(guess)
        constants = [state[..., : 2 * self.robot.n]] if self.step.free_start else []
        constants.append(np.broadcast_to(stretch, (*q.shape[:-1], len(stretch))))
        x0 = np.concatenate([state, *constants], axis=-1)
        nodes = self.at_nodes(of_nodes, x0, q, values)
        return nodes, first_motion(nodes, guess)

    @cached_property
    def takes_reference(self) -> bool:
        """Whether a residual depends on a motion to follow."""
        return not self._known.isdisjoint(REFERENCE)

    @property
    def _known(self) -> set[str]:
        """Names of what residuals take."""
        return {name for each in (*self.running, *self.final, *self.exact_end, *self.keep) for name in each.arguments}

    @cached_property
    def _programs_by_limits(self) -> dict[bytes, tuple[NodePrograms, NodePrograms]]:
        """Programs of the nodes but the last, and of the last, by which elements have limits."""
        return {}

    @property
    def _programs(self) -> tuple[NodePrograms, NodePrograms]:
        """Programs of the nodes but the last, and of the last."""
        limited = np.isfinite(self.lower) | np.isfinite(self.upper)
        if limited.tobytes() not in self._programs_by_limits:
            self._programs_by_limits[limited.tobytes()] = self.terms.programs(limited)
        return self._programs_by_limits[limited.tobytes()]

    @cached_property
    def rows(self) -> ConstraintRows:
        """The constraints."""
        return ConstraintRows(self.lower, self.upper, self.scale, self.nodes, *self._programs, self.step.contacts)

    @cached_property
    def terms(self) -> ProblemTerms:
        """Costs and rows of the nodes."""
        parts = self.running, self.final, self.exact_end, self.keep
        return ProblemTerms(self.step, *parts, self.clearance, self.margin, self.values)

    def __repr__(self) -> str:
        return f"<OptimalControl of robot '{self.robot.name}' over {self.span} in {self.nodes} steps>"
