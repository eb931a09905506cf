"""`robot.inverse_kinematics`: closed form or search, behind one call."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError
from chasles.base.sealed import Sealed
from chasles.engine import Function, Program
from chasles.engine.validators import choice, truth, whole_number
from chasles.inverse_kinematics.arguments import (
    MOST_ITERATIONS,
    MOST_SEEDS,
    MOST_STARTS,
    angles,
    configurations,
    targets,
    tolerance_pair,
)
from chasles.inverse_kinematics.closed_form.solver import ClosedFormSolver
from chasles.inverse_kinematics.frame import RobotFrame
from chasles.inverse_kinematics.iteration import newton
from chasles.inverse_kinematics.numeric import NumericSolver, Search
from chasles.inverse_kinematics.objectives import OBJECTIVES
from chasles.inverse_kinematics.solution import SELECTIONS, Select, Solution, all_true
from chasles.inverse_kinematics.task import PoseWeights
from chasles.mechanics import Mechanics

Method = Literal["auto", "closed form", "numeric"]
METHODS = ("auto", "closed form", "numeric")
Floats = NDArray[np.float64]

#: Sets of options that are kept checked.
_MOST_REQUESTS = 256


@dataclass(frozen=True, eq=False)
class Request:
    """Checked options of a call, and the solver that they choose."""

    frame: RobotFrame
    task: PoseWeights
    tolerance: Floats
    max_iterations: int
    method: str
    select: Select
    starts: int
    objective: str | None
    seed: int
    closed: ClosedFormSolver | None

    @cached_property
    def positions_suffice(self) -> bool:
        """Whether targets may be positions alone."""
        return not self.task.rotations

    @cached_property
    def formula(self) -> Function | None:
        """Compiled closed form of calls without an elbow angle; None if there is none that needs no angle."""
        closed = self.closed
        return closed.function(self.select) if closed is not None and closed.suffices(None) else None


class InverseKinematics(Sealed):
    """Inverse kinematics of one robot; called as ``robot.inverse_kinematics(T, ...)``."""

    def __init__(self, robot: Mechanics) -> None:
        self._robot = robot
        self._requests: dict[Hashable, Request] = {}
        self._frames: dict[Hashable, RobotFrame] = {}
        self._solvers: dict[Hashable, NumericSolver] = {}
        self._closed_forms: dict[Hashable, ClosedFormSolver] = {}
        self._frame("tool", True)

    def __call__(
        self,
        T_world_target: ArrayLike,
        q0: ArrayLike | None = None,
        *,
        target: str = "tool",
        mask: str | ArrayLike | None = None,
        limits: bool = True,
        tolerance: float | tuple[float, float] = 1e-6,
        max_iterations: int = 1000,
        method: Method = "auto",
        select: Select = "first",
        starts: int = 8,
        objective: str | None = None,
        posture: ArrayLike | None = None,
        elbow_angle: ArrayLike | None = None,
        seed: int = 0,
    ) -> Solution:
        """Joint positions that bring a frame of the robot to targets: ``robot.inverse_kinematics(T, q0)``.

        Where the robot's axes allow a closed form (see `family`), the branch nearest to ``q0`` is computed. Otherwise
        each target is searched by damped steps that respect the joint limits, from ``q0`` and then from starts spread
        evenly over the limits, until forward kinematics agrees with the target or the iterations are used up. Targets
        of a batch do not influence each other: alone or in company, each gives the same result.

        Parameters
        ----------
        T_world_target
            Poses, shape (..., 4, 4), m; if only positions count, these alone may be given, shape (..., 3).
        q0
            Configuration at the start, shape (..., nq); moved into the limits. Default: the middle of the limits, zero
            where there are none. Unlimited revolute joints end within half a turn of it. Joints that do not move the
            frame stay there. A floating base moves as joints do; lock it (`Robot.edit.lock`) to keep it where it is.
        target
            Name of the link or frame that is to reach the pose.
        mask
            Pose components to match: ``"pose"`` (default), ``"position"``, ``"orientation"``, ``"direction"`` (of the
            z axis), ``"position and direction"``, or six weights of the rotations about and the displacements along
            the target's x, y and z.
        limits
            Whether the robot's joint limits hold.
        tolerance
            Largest distance (m) and angle (rad) of a solution, one number or (angle, distance), positive and finite.
        max_iterations
            Most iterations for a target, over all its starts; from 1 to 1,000,000,000.
        method
            ``"closed form"``, ``"numeric"``, or ``"auto"``: the closed form where there is one and nothing else is
            asked of redundant joints.
        select
            ``"first"`` solution found; of all branches, or of the solutions from several starts, the ``"nearest"`` to
            q0, or the ``"best"``, which is farthest from the joint limits, or ``"all"``, along one more axis at the
            end of the batch: all branches of a closed form, or the different ones of the numeric solutions.
        starts
            Number of starts that a selection of numeric solutions compares, from 1 to 100,000.
        objective
            Objective of a redundant robot: ``"center"`` (go to the middle of the limits),
            ``"manipulability"``, or ``"posture"`` (stay near the configuration ``posture``).
        posture
            Posture for ``objective="posture"``, shape (..., nq); default q0.
        elbow_angle
            Place of the elbow on its circle, for seven joints with a shoulder and a wrist, shape (...), rad; see
            `elbow_angle`. Default: anywhere; with ``method="closed form"`` that of q0.
        seed
            Whole number below 2**64, not negative, that selects another sequence of starts.

        Returns
        -------
        Solution
            With the leading axes of the targets. Nothing in it is called a success that forward kinematics does not
            confirm.

        Raises
        ------
        ArgumentError
            If shapes or options do not fit, whether or not the solver that is chosen would use them. Targets that are
            no poses (NaN, no rotation) are no error: their status says so.
        UnknownNameError
            If there is no such frame, mask, selection or objective.

        Examples
        --------
        >>> import chasles as ch
        >>> import numpy as np
        >>> arm = ch.load("ur5")
        >>> T_world_tool = arm.forward_kinematics([0.3, -1.0, 1.5, -0.8, 0.5, 0.2])
        >>> solution = arm.inverse_kinematics(T_world_tool)
        >>> np.allclose(arm.forward_kinematics(solution.q), T_world_tool, atol=2e-6)
        True
        >>> T_world_tool[0, 3] += 2.0
        >>> print(arm.inverse_kinematics(T_world_tool))
        not solved: the target lies farther away than the stretched robot reaches; q comes closest: q = [...]
        """
        options = (target, mask, limits, tolerance, max_iterations, method, select, starts, objective, seed)
        request = self._request(options)
        goals = targets(T_world_target, request.positions_suffice)
        near = None if q0 is None else self._closed(configurations(q0, self._robot.nq, "q0", goals))
        if posture is not None:
            if objective != "posture":
                raise ArgumentError("a posture is followed only with objective='posture'")
            posture = configurations(posture, self._robot.nq, "posture", goals)
        if elbow_angle is not None:
            elbow_angle = angles(elbow_angle, "elbow_angle", goals)
        solution = self._in_closed_form(request, goals, near, elbow_angle)
        final = method == "closed form" or select == "all" or elbow_angle is not None
        if solution is not None and (final or all_true(solution.success)):
            return solution
        return self._searched(request, goals, near, posture, solution)

    def _closed(self, q0: Floats) -> Floats:
        """First guesses with the robot's loops closed."""
        if not self._robot.description.loops:
            return q0
        closed = np.asarray(self._robot.normalize(q0))
        if not np.isfinite(closed).all():
            where = "".join(f"[{k}]" for k in np.argwhere(~np.isfinite(closed).all(axis=-1))[0])
            raise ArgumentError(
                f"the loops of robot '{self._robot.name}' cannot be closed at q0{where}; "
                "robot.loops.close finds configurations"
            )
        return closed

    def _request(self, options: tuple[Any, ...]) -> Request:
        """Return the checked options; the same plain options are checked once."""
        _, mask, limits, tolerance, iterations, _, _, starts, _, seed = options
        if not (  # equal values of other types, such as 1 for True, may mean something else
            limits.__class__ is bool
            and tolerance.__class__ is float
            and iterations.__class__ is starts.__class__ is seed.__class__ is int
            and (mask is None or mask.__class__ is str)
        ):
            return self._checked(*options)
        try:
            request = self._requests.get(options)
        except TypeError:  # an option without a hash is a wrong one
            return self._checked(*options)
        if request is None:
            if len(self._requests) >= _MOST_REQUESTS:
                self._requests.clear()
            request = self._requests[options] = self._checked(*options)
        return request

    def _checked(
        self,
        target: str,
        mask: str | ArrayLike | None,
        limits: bool,
        tolerance: ArrayLike,
        max_iterations: int,
        method: Method,
        select: Select,
        starts: int,
        objective: str | None,
        seed: int,
    ) -> Request:
        task = PoseWeights.of(mask)
        choice(select, "selection", SELECTIONS)
        choice(method, "method", METHODS)
        if objective is not None:
            choice(objective, "objective", OBJECTIVES)
        frame = self._frame(target, truth(limits, "limits"))
        return Request(
            frame,
            task,
            tolerance_pair(tolerance),
            whole_number(max_iterations, "max_iterations", 1, MOST_ITERATIONS),
            method,
            select,
            whole_number(starts, "starts", 1, MOST_STARTS),
            objective,
            whole_number(seed, "seed", 0, MOST_SEEDS - 1),
            self._closed_form(frame, task) if method != "numeric" and objective is None else None,
        )

    def _in_closed_form(
        self, request: Request, goals: Floats, near: Floats | None, elbow_angle: Floats | None
    ) -> Solution | None:
        """Solutions by formulas; None where the options ask for a search."""
        closed, formula = request.closed, request.formula
        if closed is not None and formula is not None and elbow_angle is None:
            rows = formula(goals, closed.middle if near is None else near, request.tolerance)
            return Solution(rows, several=request.select == "all")
        if request.method == "closed form" or (closed is not None and closed.suffices(elbow_angle)):
            if closed is None:
                raise ArgumentError("a closed form follows no objective; use method='numeric'")
            solution = closed.solve(goals, near, request.tolerance, request.select, elbow_angle)
            return Solution(solution.rows, several=True) if request.select == "all" else solution
        if elbow_angle is not None:
            raise ArgumentError(
                "an elbow angle is for the closed form of seven joints with shoulder, elbow and wrist, the whole pose "
                "and no objective"
            )
        return None

    def _searched(
        self, request: Request, goals: Floats, near: Floats | None, posture: Floats | None, known: Solution | None
    ) -> Solution:
        """Solutions by iteration: of all targets, or only of those that a closed form did not solve."""
        solver = self._solver(request.frame, request.task, request.objective)
        ranges = solver.ranges
        begin = ranges.middle if near is None else ranges.inside(near)
        seed = request.seed
        search = Search(
            q0=begin,
            near=ranges.middle if near is None else near,
            tolerance=request.tolerance,
            max_iterations=request.max_iterations,
            shift=solver.first_shift if seed == 0 else np.random.default_rng(seed).random(self._robot.nq),
            posture=begin if posture is None else posture,
        )
        if known is not None:  # what has no exact solution gets the closest configuration
            return known.filled_by(lambda failed: solver.solve(*search.part(goals, failed)))
        if request.select == "first":
            return solver.solve(goals, search)
        several = search.spread(request.starts, ranges)
        solutions = solver.solve(goals[..., None, :, :], several)
        if request.select == "all":
            unlimited = np.isinf(ranges.lower) & np.isinf(ranges.upper)
            return solutions.distinct(ranges.turning & unlimited)
        return solutions.best(request.select, search.near)

    def specialize(
        self,
        target: str = "tool",
        *,
        mask: str | ArrayLike | None = None,
        limits: bool = True,
        select: Select = "nearest",
        objective: str | None = None,
    ) -> Function:
        """Return the compiled function at the core of a call, for C export, derivatives or use inside a trace.

        Parameters
        ----------
        target, mask, limits, objective
            See the call of the solver.
        select
            Choice among the branches of a closed form: ``"nearest"``, ``"best"`` or ``"all"``.

        Returns
        -------
        Function
            With a closed form: (T_world_goal, near, tolerance[, elbow_angle]) -> the row, or all rows, of a `Solution`.
            Otherwise one step of the search, a solve kernel; see `chasles.inverse_kinematics.iteration.search`.

        Examples
        --------
        >>> import chasles as ch
        >>> function = ch.load("ur5").inverse_kinematics.specialize(select="all")
        >>> [argument.name for argument in function.program.inputs], function.program.outputs[0].shape
        (['T_world_goal', 'near', 'tolerance'], (8, 14))
        """
        task, frame = PoseWeights.of(mask), self._frame(target, truth(limits, "limits"))
        choice(select, "selection", SELECTIONS)
        closed = self._closed_form(frame, task)
        if objective is None and closed.family is not None:
            return closed.function(select)
        return self._solver(frame, task, objective).search

    def newton(self, target: str = "tool", *, mask: str | ArrayLike | None = None) -> Function:
        """Return Newton's iteration from a configuration to a target, which has the derivatives of its solution.

        A layer for other libraries: `Function.vjp`, ``to_jax()`` and ``to_torch()`` differentiate the solution by the
        implicit-function rule. It heeds no limits and starts once: for a search call the solver, and begin the
        iteration at what it finds.

        Parameters
        ----------
        target, mask
            See the call of the solver.

        Returns
        -------
        Function
            (q, T_world_goal, limit) -> (configuration (..., nq), number of iterations, 1 where it is done): a solve
            kernel of at most `limit` iterations. For a robot with more joints than components that count
            (q, T_world_goal, posture, limit): the solution nearest to the posture (..., nq), nearby. Derivatives are
            NaN where it is not done, or singular.

        Examples
        --------
        How the joints follow the target: the inverse of the Jacobian.

        >>> import chasles as ch
        >>> import numpy as np
        >>> arm = ch.load("ur5")
        >>> q = np.array([0.3, -1.0, 1.5, -0.8, 0.5, 0.2])
        >>> T_world_goal = arm.forward_kinematics(q)
        >>> newton = arm.inverse_kinematics.newton()
        >>> solution, _, done = newton(q + 0.1, T_world_goal, 50)
        >>> bool(np.allclose(solution, q)), float(done)
        (True, 1.0)
        >>> by_goal = newton.vjp(wrt="T_world_goal")(q + 0.1, T_world_goal, 50, np.eye(6)[0])  # of the first joint
        >>> J = arm.jacobian(q, frame="world-aligned")
        >>> bool(np.allclose(by_goal[:3, 3], np.linalg.inv(J)[0, 3:]))
        True
        """
        frame, task = self._frame(target, False), PoseWeights.of(mask)
        return newton(self._robot, frame.motion, task, frame.steps, frame.length)

    @property
    def program(self) -> Program:
        """Program of `specialize` with its defaults."""
        return self.specialize().program

    def family(self, target: str = "tool") -> str | None:
        """Description of the kind of arm if it has a closed form; else None.

        >>> import chasles as ch
        >>> ch.load("ur5").inverse_kinematics.family()
        'six joints, the second to fourth parallel'
        """
        family = self._closed_form(self._frame(target, True), PoseWeights.of(None)).family
        return None if family is None else family.name

    def branches(self, target: str = "tool") -> tuple[str, ...]:
        """Names of the branches of the closed form, in the order of their indices; empty without a closed form.

        The names only distinguish the branches: the sides called left or up depend on the directions of the robot's
        axes.

        >>> import chasles as ch
        >>> ch.load("puma560").inverse_kinematics.branches()[5]
        'shoulder right, elbow up, wrist flipped'
        """
        family = self._closed_form(self._frame(target, True), PoseWeights.of(None)).family
        return () if family is None else family.names

    def elbow_angle(self, q: ArrayLike, target: str = "tool") -> Any:
        """Elbow angle of configurations (..., 7): rad, about the line from shoulder to wrist.

        The angle is 0 where the elbow lies on the side of that line that the first axis points to (Kreutz-Delgado, Long
        and Seraji, 1992).

        >>> import chasles as ch
        >>> ch.load("iiwa14").inverse_kinematics.elbow_angle([0.0, 0.5, 0.0, -1.0, 0.0, 0.5, 0.0])
        np.float64(0.0)
        """
        closed = self._closed_form(self._frame(target, True), PoseWeights.of(None))
        return closed.elbow_angle(configurations(q, self._robot.nq, "q"))

    def _closed_form(self, frame: RobotFrame, task: PoseWeights) -> ClosedFormSolver:
        key = (frame, task)
        if key not in self._closed_forms:
            self._closed_forms[key] = ClosedFormSolver(frame, task)
        return self._closed_forms[key]

    def _solver(self, frame: RobotFrame, task: PoseWeights, objective: str | None) -> NumericSolver:
        key = (frame, task, objective)
        if key not in self._solvers:
            self._solvers[key] = NumericSolver(frame, task, objective)
        return self._solvers[key]

    def _frame(self, target: str, limits: bool) -> RobotFrame:
        name = target
        if isinstance(target, str) and target == "tool" and target not in self._robot.frame_names:
            name = self._robot.description.tool
        key = (str(name), limits)
        if key not in self._frames:
            self._frames[key] = RobotFrame(self._robot, name, limits)
        return self._frames[key]

    def __repr__(self) -> str:
        return f"<inverse kinematics of robot '{self._robot.name}'>"
