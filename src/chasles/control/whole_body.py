"""Torques of a whole robot for several tasks and contacts at once, as a quadratic program in each period.

The unknowns are the accelerations q̈ and the forces f of the ground on the contact points. Source: Del Prete, Nori,
Metta and Natale, Prioritized motion-force control of constrained fully-actuated robots: "Task Space Inverse Dynamics"
(2015); for the pyramid inside the cone of friction, Caron, Pham and Nakamura, Stability of surface contacts for
humanoid robots (2015).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError, warn
from chasles.control.contact import Contact, ContactWarning, contact_jacobian, with_contacts
from chasles.control.floating_base import has_motors
from chasles.control.now import Now
from chasles.control.pole_design import PoleDesign
from chasles.control.robot_controller import RobotController
from chasles.engine import Function, trace
from chasles.engine.function import inlined
from chasles.engine.validators import NOT_NEGATIVE, Bound, choice, reals
from chasles.geometry.elementary import Array, rotation_taking_z_to
from chasles.inverse_kinematics import FormulaTask, FrameTask, PostureTask
from chasles.inverse_kinematics.differential.limits import UNBOUNDED, Inequalities
from chasles.inverse_kinematics.differential.program import Feasible, minimum
from chasles.model import build_tree
from chasles.robot.robot import Robot
from chasles.trajectories.motion import Motion

Floats = NDArray[np.float64]
#: Weight of accelerations of contact points that slip, relative to tasks of weight 1.
_CONTACT_WEIGHT = 1e2
#: Weights of all accelerations and of all forces, in units of the robot's weight: what tasks leave open is small.
_SMALL_ACCELERATIONS, _SMALL_FORCES = 1e-5, 1e-4


class Stance(NamedTuple):
    """Tasks of a robot and its contacts with the ground at one time.

    Attributes
    ----------
    tasks
        Tasks of `chasles.inverse_kinematics`: their errors e obey e'' + 2 g e' + g² e = 0 with the gain g, as far as
        costs and contacts allow.
    contacts
        Contacts whose points do not move.
    motion
        Motion of the whole robot that provides moving goals of all tasks. The tasks then also track its velocities and
        accelerations, and do not lag.
    """

    tasks: Sequence[FormulaTask]
    contacts: Sequence[Contact] = ()
    motion: Motion | None = None


class Forces(NamedTuple):
    """Solution of one period.

    Attributes
    ----------
    tau
        Torques, (n,); zero at free joints.
    qdd
        Accelerations, (n,).
    contact_forces
        Forces of the ground on the contact points, in world axes, (k, 3), N.
    contact_slip
        Accelerations of the contact points beyond those that keep them in place, in world axes, (k, 3), m/s². Zero
        where the contacts hold.
    """

    tau: Floats
    qdd: Floats
    contact_forces: Floats
    contact_slip: Floats


class _Problem(NamedTuple):
    """Quadratic program of one state in (q̈, f), the forces in units of the robot's weight.

    `M` and `h` are those of the equation of motion M q̈ + h = τ + Jᵀ f, `J` is the Jacobian of the contact points, and
    `kept` the value of J q̈ with which these points stay.
    """

    cost: Floats
    linear: Floats
    feasible: Feasible
    M: Floats
    h: Floats
    J: Floats
    kept: Floats


class WholeBodyTorque(RobotController):
    """Torques for several simultaneous tasks, within the limits of ground friction and motor torque.

    In each period accelerations q̈ and contact forces f minimise the weighted squared task errors, subject to

        M_b q̈ + h_b = J_bᵀ f                   (no motor at free joints)
        J q̈ + J' q' = -d J q'                   (contact points stay)
        |f_x|, |f_y| <= μ f_z / √2,  0 <= f_z   (friction)
        |M_a q̈ + h_a - J_aᵀ f| <= τ_max         (motors),

    with the rate d of `contact_damping`. Several points of a link that rotates cannot all stay: they move as little as
    a rigid link allows. If no accelerations meet all constraints, the contact points move instead, at a cost of weight
    100 beside those of the tasks: a warning says so once, and `Forces.contact_slip` by how much. DAQP solves this
    quadratic program from Python: simulations call the law once a period, and only the plant is compiled.

    Parameters
    ----------
    robot
        Controller's model of the robot.
    plan
        A `Stance`, or a function (t, reference) -> `Stance` of the time and the reference motion at that time.
    contact_damping
        Decay rate of contact point velocities, 1/s.

    Raises
    ------
    MissingExtraError
        When the law is called and DAQP is not installed.

    Examples
    --------
    >>> import chasles as ch
    >>> from chasles.inverse_kinematics import PostureTask
    >>> arm = ch.load("planar2r")
    >>> law = ch.control.WholeBodyTorque(arm, ch.control.Stance([PostureTask([0.0, 0.0], cost=1.0, gain=10.0)]))
    >>> forces = law.solve([0.1, 0.0], [0.0, 0.0], law.plan)
    >>> forces.qdd.round(3), np.allclose(forces.tau, arm.inverse_dynamics([0.1, 0.0], [0.0, 0.0], forces.qdd))
    (array([-10.,   0.]), True)
    """

    name = "whole-body torque"
    follows_reference = False
    contact_damping: Array
    bounds: Mapping[str, Bound] = {**RobotController.bounds, "contact_damping": NOT_NEGATIVE}
    traceable = False

    def __init__(
        self,
        robot: Robot,
        plan: Stance | Callable[[float, Motion], Stance],
        *,
        contact_damping: float = 20.0,
    ) -> None:
        super().__init__(robot, {"contact_damping": reals(contact_damping, "contact_damping", ())})
        if not callable(plan) and not isinstance(plan, Stance):
            raise ArgumentError(f"the plan of a {type(self).__name__} is a Stance or a function of t and the reference")
        self.plan = plan
        self._programs: dict[Any, Function] = {}
        self._motors = has_motors(robot)
        self._unit_force = 9.81 * max(float(sum(body.mass for body in build_tree(robot.description).bodies)), 1e-3)

    def law(self, now: Now) -> Any:
        """Return the torques of the law."""
        stance = self.plan(float(now.t), now.reference) if callable(self.plan) else self.plan
        return self.solve(now.q, now.qd, stance, contact_damping=self.contact_damping).tau

    def solve(self, q: ArrayLike, qd: ArrayLike, stance: Stance, *, contact_damping: ArrayLike | None = None) -> Forces:
        """Return torques, accelerations and contact forces at one state.

        Raises
        ------
        ArgumentError
            The quadratic program of a stance has no solution, or a task is not one of `chasles.inverse_kinematics`.
        """
        robot = self.robot
        q, qd = reals(q, "q", (robot.nq,)), reals(qd, "qd", (robot.n,))
        damping = np.asarray(self.contact_damping if contact_damping is None else contact_damping)
        problem = self._problem(q, qd, stance, float(damping))
        solution = self._minimum(problem, [contact.frame for contact in stance.contacts], q)
        qdd, local = solution[: robot.n], self._unit_force * solution[robot.n :]
        tau = np.where(self._motors, problem.M @ qdd + problem.h - problem.J.T @ local, 0.0)
        forces, slip = (_in_world(stance.contacts, points) for points in (local, problem.J @ qdd - problem.kept))
        return Forces(tau, qdd, forces, slip)

    def _problem(self, q: Floats, qd: Floats, stance: Stance, damping: float) -> _Problem:
        """Return the quadratic program of a state."""
        n, tasks, contacts = self.robot.n, list(stance.tasks), list(stance.contacts)
        numbers = [number for task in tasks for number in task.numbers(self.robot)]
        gains = [np.asarray(getattr(task, "gain", 0.0), dtype=np.float64) for task in tasks]
        motion: Sequence[Any] = () if stance.motion is None else stance.motion
        H, f, M, h, *moved = self._program(tasks, contacts, bool(motion))(q, qd, *gains, *motion, *numbers)
        J, drift, velocity = moved if moved else (np.zeros((0, n)), np.zeros(0), np.zeros(0))
        k = len(J)
        cost = np.zeros((n + k, n + k))
        cost[:n, :n] = H
        cost.flat[:: n + k + 1] += np.r_[np.full(n, _SMALL_ACCELERATIONS), np.full(k, _SMALL_FORCES)]
        linear = np.concatenate([f, np.zeros(k)])
        return _Problem(cost, linear, self._feasible(contacts, M, h, J), M, h, J, -damping * velocity - drift)

    def _minimum(self, problem: _Problem, frames: Sequence[str], q: Floats) -> Floats:
        """Return (q̈, f) with contact points that stay, or whose slip has a large cost."""
        cost, linear, feasible, J, kept = problem.cost, problem.linear, problem.feasible, problem.J, problem.kept
        n, has_contacts = J.shape[1], len(J) > 0
        result = minimum(cost, linear, with_contacts(feasible, J, kept) if has_contacts else feasible)
        if has_contacts and (result.flag is not None or result.missed.size):
            warn(
                f"the contacts {frames} of robot '{self.robot.name}' cannot all be kept "
                "within friction and the motors' limits, and slip; contact_slip in the result of solve says how fast",
                ContactWarning,
            )
            cost[:n, :n] += _CONTACT_WEIGHT * J.T @ J
            linear[:n] -= _CONTACT_WEIGHT * J.T @ kept
            result = minimum(cost, linear, feasible)
        if result.flag is not None or result.missed.size:
            raise ArgumentError(
                f"no torques within the motors' limits keep the contacts {frames} of "
                f"robot '{self.robot.name}' at q = {np.array2string(q, precision=3)}"
            )
        return result.x

    def _feasible(self, contacts: Sequence[Contact], M: Floats, h: Floats, J: Floats) -> Feasible:
        """Constraints on (q̈, f), the forces in the axes of their planes and in units of the robot's weight."""
        n, k, motors = len(h), len(J), self._motors
        limits = self.robot.effort_limits
        limited = motors & np.isfinite(limits) & (limits > 0.0)
        frictions = [contact.friction for contact in contacts for _ in contact.points]
        pyramid = np.zeros((4 * len(frictions), n + k))
        for index, friction in enumerate(frictions):
            x = n + 3 * index
            for row, (axis, sign) in enumerate(((0, 1.0), (0, -1.0), (1, 1.0), (1, -1.0))):
                pyramid[4 * index + row, [x + axis, x + 2]] = sign, -friction / np.sqrt(2.0)
        motion = np.hstack([M, -self._unit_force * J.T])
        A = np.concatenate([motion[~motors], motion[limited], pyramid])
        lower = np.concatenate([-h[~motors], -limits[limited] - h[limited], np.full(len(pyramid), -UNBOUNDED)])
        upper = np.concatenate([-h[~motors], limits[limited] - h[limited], np.zeros(len(pyramid))])
        least, most = np.full(n + k, -UNBOUNDED), np.full(n + k, UNBOUNDED)
        least[n + 2 :: 3] = 0.0
        most[n + 2 :: 3] = np.minimum(
            [c.highest_force / self._unit_force for c in contacts for _ in c.points], UNBOUNDED
        )
        return Feasible(least, most, Inequalities(A, lower, upper))

    def _program(self, tasks: Sequence[FormulaTask], contacts: Sequence[Contact], follows: bool) -> Function:
        for task in tasks:
            if not isinstance(task, FormulaTask):
                raise ArgumentError(f"{task!r} is no task: a whole-body controller takes tasks with a formula")
        key = (follows, *[(type(task), task.form) for task in tasks], None, *[contact.form for contact in contacts])
        if key not in self._programs:
            for contact in contacts:
                choice(contact.frame, "frame", [*self.robot.frame_names, "tool"])
            self._programs[key] = self._traced(tasks, contacts, follows)
        return self._programs[key]

    def _traced(self, tasks: Sequence[FormulaTask], contacts: Sequence[Contact], follows: bool) -> Function:
        """(q, qd, gain of each task, motion, numbers of each task) -> H, f, M, h, J, drift and velocity of contacts."""
        robot, n = self.robot, self.robot.n
        numbers_of = [task.numbers(robot) for task in tasks]
        state: dict[str, tuple[int, ...]] = {"q": (robot.nq,), "qd": (n,)}
        gains: dict[str, tuple[int, ...]] = {f"gain{k}": () for k in range(len(tasks))}
        motion = {"q_goal": (robot.nq,), "qd_goal": (n,), "qdd_goal": (n,)} if follows else {}
        numbers = {
            f"task{k}_{i}": np.shape(number) for k, part in enumerate(numbers_of) for i, number in enumerate(part)
        }
        ends = np.cumsum([len(part) for part in numbers_of]).tolist()

        def split(values: Sequence[Any]) -> list[Sequence[Any]]:
            return [values[end - len(part) : end] for end, part in zip(ends, numbers_of, strict=True)]

        def moved(q: Array, qd: Array, *values: Array) -> tuple[Array, ...]:
            """Velocity of each task's rows, and of all contact points."""
            rows = [task.formula(robot, q, *part).J @ qd for task, part in zip(tasks, split(values), strict=True)]
            return (*rows, contact_jacobian(robot, q, contacts) @ qd)

        velocities = Function(trace(moved, state | numbers, name="velocities_of_tasks"))
        rates = velocities.jvp("q")

        def drift(q: Array, qd: Array, values: Sequence[Any]) -> Sequence[Array]:
            """Acceleration of each task's rows, and of all contact points, when that of the joints is zero."""
            accelerations = inlined(rates, q, qd, *values, inlined(robot.configuration_rate.specialize(), q, qd))
            return accelerations if tasks else (accelerations,)

        def feedforward(motion: Sequence[Array], gain: Sequence[Any], values: Sequence[Any]) -> list[Any]:
            """Acceleration of each task's rows in the motion, and the damping of what they lack of its velocity."""
            if not follows:
                return [0.0] * len(tasks)
            q, qd, qdd = motion
            rows = [task.formula(robot, q, *part).J for task, part in zip(tasks, split(values), strict=True)]
            further = drift(q, qd, values)[: len(tasks)]
            return [J @ (qdd + 2.0 * g * qd) + part for J, g, part in zip(rows, gain, further, strict=True)]

        def assemble(q: Array, qd: Array, *values: Array) -> Any:
            gain, further = values[: len(tasks)], values[len(tasks) + len(motion) :]
            drifts = drift(q, qd, further)
            moving = feedforward(values[len(tasks) : len(tasks) + len(motion)], gain, further)
            contact = contact_jacobian(robot, q, contacts)
            H: Any = np.zeros((n, n))
            f: Any = np.zeros(n)
            for k, (task, part) in enumerate(zip(tasks, split(further), strict=True)):
                J, b, weight = task.formula(robot, q, *part)
                desired = moving[k] + gain[k] * (b - 2.0 * J @ qd) - drifts[k]
                weighted = weight[:, None] * J
                H, f = H + J.T @ weighted, f - weighted.T @ desired
            M = inlined(robot.mass_matrix.specialize(), q)
            h = inlined(robot.inverse_dynamics.specialize(), q, qd, np.zeros(n))
            return (H, f, M, h, contact, drifts[-1], contact @ qd) if contacts else (H, f, M, h)

        return Function(trace(assemble, state | gains | motion | numbers, name="whole_body_program"))


def _in_world(contacts: Sequence[Contact], vectors: Floats) -> Floats:
    """Return vectors of all contact points, (3 k,) in the axes of their planes, in world axes, (k, 3)."""
    rotations = [rotation_taking_z_to(contact.normal) for contact in contacts for _ in contact.points]
    return np.array([R @ v for R, v in zip(rotations, vectors.reshape(-1, 3), strict=True)]).reshape(-1, 3)


class WholeBodyFollowing(WholeBodyTorque):
    """Whole-body torques that track a joint motion with frames and posture, on fixed supports.

    The errors of all tasks obey e'' + 2 w e' + w² e = 0 with the gain w, apart from the hold between samples, while
    they are small (frames and posture then agree on one motion) and motors and supports give the torques.

    Parameters
    ----------
    robot
        Controller's model of the robot.
    gain
        w, 1/s.
    targets
        Frames that track the motion; default the tool.
    posture_cost
        Weight of the posture.
    supports
        Frames whose contacts stay fixed.

    Examples
    --------
    >>> import chasles as ch
    >>> law = WholeBodyFollowing(ch.load("planar2r"), gain=20.0)
    """

    kind = "whole-body-torque"
    follows_reference = True

    def __init__(
        self,
        robot: Robot,
        *,
        gain: float,
        targets: Sequence[str] | str = "tool",
        posture_cost: float = 0.1,
        supports: Sequence[str] = (),
    ) -> None:
        names = (targets,) if isinstance(targets, str) else tuple(targets)
        contacts = [Contact(name) for name in supports]

        def plan(t: float, reference: Motion) -> Stance:
            goals = [(robot.forward_kinematics(reference.q, target=name), name) for name in names]
            tasks = [FrameTask(T, name, gain=gain) for T, name in goals]
            return Stance([*tasks, PostureTask(reference.q, cost=posture_cost, gain=gain)], contacts, reference)

        super().__init__(robot, plan)

    @classmethod
    def gains(cls, design: PoleDesign) -> dict[str, Any]:
        """Return the designed frequency."""
        return {"gain": design.attainable}
