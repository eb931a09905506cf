"""A robot's steps along a moving target: from configuration to configuration on the same branch."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.engine import Function, trace
from chasles.engine.linear.pseudo_inverse import PseudoInverse
from chasles.engine.program.scalar import Real
from chasles.geometry.elementary import Array, cross
from chasles.inverse_kinematics.damped_step import DAMPING, damped_step, free_joints, limited_step
from chasles.inverse_kinematics.frame import RobotFrame
from chasles.inverse_kinematics.iteration import closest_configurations, descent
from chasles.inverse_kinematics.task import NAMED, PoseWeights
from chasles.robot.robot import Robot
from chasles.trajectories.cartesian.trajectory import CartesianTrajectory
from chasles.trajectories.joint.tangent import continuous_quaternions
from chasles.trajectories.motion import Floats, PoseMotion

Flags = NDArray[np.bool_]

#: Share of the duration by which a time is before or after a jump of the velocity or acceleration.
_MOMENT = 1e-12
#: Residual (rad, m) at which a sample needs no more steps, and how many it gets before it is searched for.
_FINE = 1e-12
_STEPS = 10
#: Iterations of this search.
_SEARCH = 200
#: Least damping of steps; see `damped_step.DAMPING`.
_LEAST_DAMPING = 1e-13
#: Damping of the rates that predict a step.
_RATE_DAMPING = 1e-8
#: Joints this near to a limit, rad or m, stand at it.
_AT_LIMIT = 1e-9
#: Distance, rad (of the robot's size, for prismatic joints), from a prediction that is a surprise.
_SURPRISE = 0.1
#: Conditioning below which the Jacobian does not give rates.
_SINGULAR = 1e-4
#: Masks whose components change at the rates that the twist gives.
_INTEGRABLE = {tuple(float(weight > 0.0) for weight in weights) for weights in NAMED.values()}


class TargetSamples(NamedTuple):
    """Motion of the target just after and just before times (k,), and half way between them, (k, *batch, ...)."""

    times: Floats
    after: PoseMotion
    before: PoseMotion
    middles: PoseMotion

    @classmethod
    def of(cls, motion: CartesianTrajectory, times: Floats) -> TargetSamples:
        """Sample a motion."""
        moment = _MOMENT * (times[-1] - times[0])
        axes = (-1, *(1,) * len(motion.batch))
        after = np.minimum(times + moment, times[-1])
        before = np.maximum(times - moment, times[0])
        at = motion(times.reshape(axes))
        return cls(
            times,
            motion(after.reshape(axes))._replace(pose=at.pose),
            motion(before.reshape(axes))._replace(pose=at.pose),
            motion((0.5 * (times[:-1] + times[1:])).reshape(axes)),
        )


class TrackedSamples(NamedTuple):
    """Configurations at the samples, (k, *batch, nq); which are solved, and to which the robot jumps, (k, *batch)."""

    q: Floats
    solved: Flags
    jumped: Flags


class Rates(NamedTuple):
    """Rates of the elements of q and their rates, (..., nq)."""

    qd: Floats
    qdd: Floats


class Tracker:
    """Inverse kinematics along a motion, for one robot, frame and mask.

    Parameters
    ----------
    robot, target
        Robot, and name of its frame that follows.
    task
        Components of the pose that count.
    limits
        Whether joint limits hold.
    tolerance
        Largest angle and distance, rad and m.
    """

    def __init__(
        self, robot: Robot, target: str, task: PoseWeights, limits: bool, tolerance: tuple[float, float]
    ) -> None:
        self.robot, self.target, self.task, self.limits, self.tolerance = robot, target, task, limits, tolerance
        frame = RobotFrame(robot, target, limits)
        self.length, self.ranges, self._kinematics = frame.length, frame.ranges, frame.motion
        self._configurations = frame.steps
        self._descent = descent(frame.motion, task, frame.steps, frame.length)
        self._stops = self.ranges.lower + _AT_LIMIT, self.ranges.upper - _AT_LIMIT
        self.rows = [*self.task.rotations, *(3 + k for k in self.task.displacements)]
        self.redundant = len(self.rows) < robot.n
        self._units = np.array([self.length if unit == "m" else 1.0 for unit in robot.description.coordinate_units])
        self._integrable = tuple(float(weight > 0.0) for weight in self.task.weights) in _INTEGRABLE
        self._jacobian_derivative = robot.jacobian_derivative.specialize(frame="world-aligned", target=target)
        at, ends = {"q": (robot.nq,), "goal": (4, 4)}, {"lower": (robot.nq,), "upper": (robot.nq,)}
        self._step = _compiled(self._corrected, at | ends, ["q", "angle", "distance"])
        self._rates = _compiled(self._damped_rates, at | {"twist": (6,)} | ends, ["rates"])
        self._joint_motion = _compiled(
            self._joint_motion_formula,
            at | {"twist": (6,), "acceleration": (6,)} | ends,
            ["qd", "qdd", "conditioning"],
        )
        self.remaining = _compiled(
            lambda q, goal: self.task.remaining(goal, self._kinematics(q)[0]), at, ["angle", "distance"]
        )
        self.conditioning = _compiled(self._conditioning_formula, {"q": (robot.nq,)}, ["conditioning"])

    def solve(self, goal: Floats, guess: Floats) -> tuple[Floats, Flags]:
        """Configurations (..., n) near guesses for targets (..., 4, 4), and whether they reach them within the limits.

        If the target is out of reach, it is the configuration next to the guess that comes closest.
        """
        ends = self.ranges.lower, self.ranges.upper
        q = np.asarray(guess)
        for _ in range(_STEPS):
            q, angle, distance = self._step(q, goal, *ends)
            if ((angle <= _FINE) & (distance <= _FINE)).all():
                break
        solved = self.reached(q, goal)
        if solved.all():
            return q, solved
        q, lost = np.array(q), ~solved
        goals, near = np.broadcast_to(goal, (*lost.shape, 4, 4))[lost], np.asarray(guess)[lost]
        q_found = self.robot.inverse_kinematics(
            goals,
            near,
            target=self.target,
            mask=self.task.weights,
            limits=self.limits,
            tolerance=self.tolerance,
            max_iterations=_SEARCH,
        ).q
        for _ in range(_STEPS):
            q_found = self._step(q_found, goals, *ends)[0]
        reached = self.reached(q_found, goals)
        closest = closest_configurations(self._descent, near, goals, *ends)
        q[lost], solved[lost] = np.where(reached[:, None], q_found, closest), reached
        return q, solved

    def reached(self, q: Floats, goal: Floats) -> Flags:
        """Whether forward kinematics confirms configurations, (...)."""
        angle, distance = self.remaining(q, goal)
        return np.asarray((angle <= self.tolerance[0]) & (distance <= self.tolerance[1]))

    def track(self, samples: TargetSamples, q: Floats) -> TrackedSamples:
        """Follow the target from a configuration at the first sample, (*batch, n)."""
        times, goals = samples.times, samples.after.pose
        positions, solved = np.empty((len(times), *q.shape)), np.zeros((len(times), *q.shape[:-1]), dtype=bool)
        positions[0], solved[0] = q, self.reached(q, goals[0])
        smooth = 0  # samples in a row without trouble
        for k in range(1, len(times)):
            last = positions[k - 1]
            guess = last
            if self.redundant:
                guess = self._predicted(samples, k, last)
            elif smooth >= 2:
                share = (times[k] - times[k - 1]) / (times[k - 1] - times[k - 2])
                guess = last + share * (last - positions[k - 2])
            guess = np.where(solved[k - 1][..., None], self.ranges.inside(guess), last)
            next_q, solved[k] = self.solve(goals[k], guess)
            positions[k] = continuous_quaternions(self.robot, np.stack([last, next_q]))[1]
            surprised = (np.abs(positions[k] - guess) / self._units).max(initial=0.0) > _SURPRISE
            smooth = smooth + 1 if solved[k].all() and not surprised else 0
        return TrackedSamples(positions, solved, solved & self._jumped(samples, positions))

    def _jumped(self, samples: TargetSamples, q: Floats) -> Flags:
        """Samples that lie much farther from the one before than the velocities at both can explain, (k, *batch)."""
        start = self._rates(q[:-1], samples.after.pose[:-1], samples.after.twist[:-1], *self._stops)
        end = self._rates(q[1:], samples.before.pose[1:], samples.before.twist[1:], *self._stops)
        h = np.diff(samples.times).reshape(-1, *(1,) * (q.ndim - 1))
        explained = 2.0 * h * np.maximum(np.abs(start), np.abs(end)) + _SURPRISE * self._units
        jumped = (np.abs(np.diff(q, axis=0)) > explained).any(axis=-1)
        return np.concatenate([np.zeros_like(jumped[:1]), jumped])

    def rates(self, tracked: TrackedSamples, motion: PoseMotion, times: Floats) -> Rates:
        """Velocities and accelerations of the joints at the samples, for the twists and accelerations of a motion.

        From J qd = V and J qdd = A - Jdot qd; a redundant robot moves with the smallest velocities, and its
        accelerations are their exact derivative. Near singular configurations they are those of polynomials through
        neighbouring samples; out of reach velocities are such that nothing overshoots.
        """
        qd, qdd, conditioning = self._joint_motion(tracked.q, *motion, *self._stops)
        known = tracked.solved & (conditioning > _SINGULAR) & self._integrable
        if known.all():
            return Rates(qd, qdd)
        slope, bend = _differences(times, tracked.q)
        solved, known = tracked.solved[..., None], known[..., None]
        from scipy.interpolate import pchip_interpolate  # takes long to load

        slope = np.where(solved, slope, pchip_interpolate(times, tracked.q, times, der=1))
        return Rates(np.where(known, qd, slope), np.where(known, qdd, np.where(solved, bend, 0.0)))

    def _predicted(self, samples: TargetSamples, k: int, q: Floats) -> Floats:
        """One step of Runge and Kutta's method along the rates, to sample k."""
        h = samples.times[k] - samples.times[k - 1]
        start, middle, end = (
            (motion.pose[index], motion.twist[index], *self._stops)
            for motion, index in ((samples.after, k - 1), (samples.middles, k - 1), (samples.before, k))
        )
        first = self._rates(q, *start)
        second = self._rates(q + 0.5 * h * first, *middle)
        third = self._rates(q + 0.5 * h * second, *middle)
        fourth = self._rates(q + h * third, *end)
        predicted: Floats = q + h / 6.0 * (first + 2.0 * second + 2.0 * third + fourth)
        return predicted

    def _corrected(self, q: Array, goal: Array, lower: Array, upper: Array) -> tuple[Any, Any, Any]:
        """Formula of a step towards a target within limits; angle and distance are those before it."""
        error = self.task.error(goal, self._kinematics(q), self.length)
        damping = DAMPING * (error.twist @ error.twist) + _LEAST_DAMPING
        step = limited_step(q, error.jacobian, error.twist, damping, lower, upper, None, self._configurations.places)
        return self._configurations.within(q, step, lower, upper), error.angle, error.distance

    def _damped_rates(self, q: Array, goal: Array, twist: Array, lower: Array, upper: Array) -> Array:
        """Formula of the rates of q at the smallest velocities for a twist, which lead no joint beyond its limits."""
        J = self.task.error(goal, self._kinematics(q), self.length).jacobian
        V = self._wanted(goal, twist)
        free = free_joints(q, lower, upper, damped_step(J, V, _RATE_DAMPING), self._configurations.places)
        return self._coordinate_rates(q, free * damped_step(J * free, V, _RATE_DAMPING))

    def _wanted(self, goal: Array, twist: Array) -> Array:
        """Components of a twist that count, weighted as the rows of the task's Jacobian; a plain formula."""
        scaled = np.concatenate([twist[:3], twist[3:] / self.length])
        if self.task.whole:
            return scaled
        return np.array([self.task.weights[row] * self._seen(goal, twist)[k] for k, row in enumerate(self.rows)])

    def _seen(self, goal: Array, columns: Array) -> Array:
        """Rows that count of columns (6, ...), in the target's axes and units of the robot's size; a plain formula."""
        R = goal[:3, :3].T
        return np.concatenate([R @ columns[:3], R @ columns[3:] / self.length])[self.rows]

    def _joint_motion_formula(
        self, q: Array, goal: Array, V: Array, A: Array, lower: Array, upper: Array
    ) -> tuple[Any, Any, Any]:
        """Formula of the rates of q and their rates, and of the conditioning."""
        J_world = self._kinematics(q)[1]
        inverse = PseudoInverse.of(self._seen(goal, J_world))
        qd = inverse.solve(self._seen(goal, V))
        if self.redundant:  # joints at limits stay there, and the others make up for it
            free = free_joints(q, lower, upper, qd, self._configurations.places)
            inverse = PseudoInverse.of(inverse.J * free)
            qd = inverse.solve(self._seen(goal, V))
        Jdot = np.asarray(self._jacobian_derivative(q, qd))
        spin = _crossed(V[:3], J_world @ qd - V)  # the components that count turn with the target
        qdd = inverse.solve(self._seen(goal, A - Jdot @ qd + spin))
        if self.redundant:
            rate = free * self._seen(goal, Jdot - np.array([_crossed(V[:3], column) for column in J_world.T]).T)
            slack = rate.T @ inverse.transposed(qd)
            qdd = qdd + slack - inverse.solve(inverse.J @ slack)
        if self._configurations.integrate is None:
            return qd, qdd, inverse.conditioning
        rate = self._coordinate_rates(q, qd)
        turning = self.robot.configuration_rate.specialize().jvp("q")(q, qd, rate)
        return rate, self._coordinate_rates(q, qdd) + turning, inverse.conditioning

    def _coordinate_rates(self, q: Array, qd: Array) -> Array:
        """Rates (nq,) of the elements of q at velocities (n,); a plain formula."""
        if self._configurations.integrate is None:
            return qd
        return np.asarray(self.robot.configuration_rate(q, qd))

    def _conditioning_formula(self, q: Array) -> Real:
        pose, J_world = self._kinematics(q)
        return PseudoInverse.of(self._seen(pose, J_world)).conditioning


@lru_cache(maxsize=16)
def tracker_of(robot: Robot, target: str, task: PoseWeights, limits: bool, tolerance: tuple[float, float]) -> Tracker:
    """Tracker whose programs are traced once."""
    return Tracker(robot, target, task, limits, tolerance)


def _compiled(formula: Any, inputs: dict[str, tuple[int, ...]], outputs: list[str]) -> Function:
    return Function(trace(formula, inputs, name=formula.__name__.strip("_<>"), outputs=outputs))


def _differences(times: Floats, q: Floats) -> tuple[Floats, Floats]:
    """First and second derivatives at samples (k, ...) of the polynomials through five neighbours."""
    count = min(5, len(times))
    first = np.clip(np.arange(len(times)) - count // 2, 0, len(times) - count)
    window = first[:, None] + np.arange(count)
    unit = np.ptp(times[window], axis=-1)
    x = (times[window] - times[:, None]) / unit[:, None]
    weights = np.linalg.inv(np.stack([x**power for power in range(count)], axis=-1))
    slope = np.einsum("kj,kj...->k...", weights[:, 1] / unit[:, None], q[window])
    if count < 3:
        return slope, np.zeros_like(slope)
    return slope, np.einsum("kj,kj...->k...", 2.0 * weights[:, 2] / unit[:, None] ** 2, q[window])


def _crossed(a: Array, b: Array) -> Array:
    """Cross products of a vector with both halves of another (6,)."""
    return np.concatenate([cross(a, b[:3]), cross(a, b[3:])])
