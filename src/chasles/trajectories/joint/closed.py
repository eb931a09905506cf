"""Motions on the manifold of a robot's configurations: with loops all joints follow from the independent ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import ArgumentError
from chasles.engine.validators import reals
from chasles.trajectories.joint.tangent import ManifoldTrajectory, TangentTrajectory
from chasles.trajectories.joint.trajectory import JointTrajectory
from chasles.trajectories.motion import Floats

if TYPE_CHECKING:
    from chasles.robot.robot import Robot

#: Number of steps from start to end at first, and the largest number.
_STEPS, _MOST_STEPS = 128, 1 << 15
#: Distance, as a share of a step, from where the velocities at both ends lead: beyond it there are more steps.
_SURPRISE = 0.1
_SMALL = 1e-6


class AllJoints(NamedTuple):
    """Motion of all joints, and velocities ν and accelerations ν' of the independent ones, (..., n)."""

    q: Floats
    """Configurations, (..., nq)."""
    velocity: Floats
    """Shape (..., joint velocities)."""
    acceleration: Floats
    """Shape (..., joint velocities)."""
    nu: Floats
    nu_rate: Floats


class ClosedMotion(ManifoldTrajectory):
    """Motion of a robot with loops, given by the motion of its independent joints.

    The dependent joints are tracked from the start in small steps, on the assembly mode of the start, and close the
    loops to rounding at each time. The velocities are the independent ones; all derivatives are exact.

    Parameters
    ----------
    robot
        Robot with loops.
    motion
        Motion of the independent joints, in the order of `Robot.velocity_names`, or a curve of all coordinates, whose
        dependent ones are ignored. One motion or a batch.
    q0
        Configuration near the start, shape (nq,) or (*batch, nq), which chooses the assembly mode; default the start
        of a curve of all coordinates, or the robot's home.

    Raises
    ------
    ArgumentError
        The robot has no loops, the motion has the wrong number of joints, or the loops cannot be kept closed along it;
        the message gives the time at which they open.

    Notes
    -----
    Featherstone, *Rigid Body Dynamics Algorithms* (2008), section 8.5: q' = G ν, q'' = G ν' + G' ν.

    Examples
    --------
    A rod holds the tip of an arm whose first joint has the motor:

    >>> import chasles as ch
    >>> rod = {"T_first_joint": [0.75, 0.3, 0.0], "length": 0.3, "actuated": ["joint1"]}
    >>> arm = ch.load("planar2r").with_loop("rod", "rod", "link0", "tool", **rod)
    >>> motion = ClosedMotion(arm, ch.PointToPoint([0.3], [-0.2], duration=1.0))
    >>> motion(1.0).q.round(4), motion(0.5).qd.round(4)
    (array([-0.2   ,  0.6157]), array([-0.9375]))
    >>> bool(abs(arm.loops.constraints(motion(0.6).q).residual).max() < 1e-12)
    True
    """

    def __init__(self, robot: Robot, motion: JointTrajectory, q0: ArrayLike | None = None) -> None:
        if not robot.description.loops:
            raise ArgumentError(f"robot '{robot.name}' has no loops; its joints move as the motion says")
        self.robot, self._free = robot, list(robot.description.independent_indices)
        self._tree, self._kept = robot.edit.without_loops(), self._kept_coordinates()
        guess: ArrayLike = robot.home
        if motion.n == robot.nq:
            guess = motion(motion.start_time).q
        elif motion.n != robot.n or len(self._kept) != robot.n:
            joints = f"{robot.n} independent joints or all " if len(self._kept) == robot.n else "all "
            raise ArgumentError(
                f"the motion moves {motion.n} joints, but robot '{robot.name}' takes {joints}{robot.nq} coordinates"
            )
        self.given = motion
        if motion.n == robot.nq and motion.nv == robot.nq and self._tree.n != robot.nq:
            self.given = TangentTrajectory(self._tree, motion)
        self.knots, self.batch = motion.knots, motion.batch
        if q0 is not None:
            guess = np.broadcast_to(reals(q0, "q0", (..., robot.nq)), (*self.batch, robot.nq))
        self._grid = self._followed(self._start(np.asarray(guess)))

    def derivatives(self, t: Floats) -> tuple[Any, Any, Any, Any]:
        """Configurations (..., nq); independent velocities, accelerations and jerks (..., n)."""
        c, *rates = (np.asarray(part) for part in self.given.derivatives(t))
        q = np.asarray(self.robot.normalize(self._placed(c, self._interpolated(t))))
        first, second, third = (self._independent(rate) for rate in rates)
        return q, first, second, third

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of robot '{self.robot.name}', {self.given!r}>"

    def _independent(self, rates: Floats) -> Floats:
        """Rates of the independent joints among those of the given motion."""
        return rates if rates.shape[-1] == self.robot.n else rates[..., self._free]

    def _kept_coordinates(self) -> list[int]:
        """Coordinates that the motion decides: those of the independent velocities, and their joints' quaternions."""
        description = self.robot.description
        kept: list[int] = []
        for joint in description.coordinates:
            q, v = description.starts[joint.name]
            free = [k for k in range(len(joint.velocity_names)) if v + k in self._free]
            if joint.has_quaternion and 0 < len(free) < len(joint.velocity_names):
                names = [description.joint_velocity_names[v + k] for k in free]
                raise ArgumentError(
                    f"joint '{joint.name}' of robot '{self.robot.name}' is independent in {', '.join(names)} alone, "
                    "which is the rate of no coordinate; name other independent velocities, or another kind of joint"
                )
            kept += (
                range(q, q + len(joint.coordinate_names)) if free and joint.has_quaternion else [q + k for k in free]
            )
        return kept

    def _placed(self, c: Floats, q: Floats) -> Floats:
        """Guesses q (..., nq) with the coordinates that the motion decides."""
        q = np.array(np.broadcast_to(q, (*np.broadcast_shapes(c.shape[:-1], q.shape[:-1]), q.shape[-1])))
        q[..., self._kept] = c if self.given.n == self.robot.n else c[..., self._kept]
        return q

    def _start(self, guess: Floats) -> Floats:
        """Closed configurations at the start, (*batch, nq)."""
        wanted = self._placed(np.asarray(self.given(self.given.start_time).q), guess)
        names = [self.robot.description.joint_velocity_names[index] for index in self._free]
        closed = self.robot.loops.close(wanted, hold=names)
        if not closed.success.all():
            raise ArgumentError(f"the motion cannot start on robot '{self.robot.name}': {closed.message}")
        return closed.q

    def _followed(self, start: Floats) -> Floats:
        """Configurations (steps + 1, *batch, nq) at even times from start to end."""
        steps, trouble = _STEPS, 0.0
        while steps <= _MOST_STEPS:
            followed, trouble = self._attempt(start, steps)
            if followed is not None:
                return followed
            steps *= 4
        raise ArgumentError(
            f"the loops of robot '{self.robot.name}' cannot be kept closed along the motion beyond t = {trouble:.6g} "
            f"s: the independent joints ({', '.join(self.robot.velocity_names)}) lead out of reach there, or no longer "
            "determine the others"
        )

    def _attempt(self, q: Floats, steps: int) -> tuple[Floats | None, float]:
        """The configurations by steps of one length, or none and the time at which a step surprises."""
        shares = np.linspace(0.0, 1.0, steps + 1).reshape(-1, *(1,) * len(self.batch))
        times, step = self.start_time + shares * self.duration, np.asarray(self.duration)[..., None] / steps
        curve, rates, *_ = (np.asarray(part) for part in self.given.derivatives(times))
        rates = self._independent(rates)

        def velocity_at(k: int) -> Floats:
            return np.asarray(np.einsum("...ij,...j->...i", self.robot.loops.velocity_map(path[k]), rates[k]))

        path = np.empty((steps + 1, *q.shape))
        path[0] = q
        velocity = velocity_at(0)
        for k in range(1, steps + 1):
            path[k] = self.robot.normalize(self._placed(curve[k], self._tree.integrate(path[k - 1], step * velocity)))
            before, velocity = velocity, velocity_at(k)
            moved = np.asarray(self._tree.difference(path[k - 1], path[k]))
            surprise = np.abs(moved - 0.5 * step * (before + velocity)).max(axis=-1)
            if not (surprise <= _SURPRISE * np.abs(moved).max(axis=-1) + _SMALL).all():
                return None, float(np.max(times[k]))
        return path, 0.0

    def _interpolated(self, t: Floats) -> Floats:
        """Configurations between those of the steps, not quite closed, (..., nq)."""
        share = (np.asarray(t) - self.start_time) / np.where(self.duration > 0.0, self.duration, 1.0)
        place = np.clip(np.nan_to_num(share), 0.0, 1.0) * (len(self._grid) - 1)
        before = np.minimum(place.astype(np.intp), len(self._grid) - 2)
        flat = self._grid.reshape(len(self._grid), -1, self.robot.nq)
        lane = np.broadcast_to(np.arange(flat.shape[1]).reshape(self.batch), before.shape)
        left, right, part = flat[before, lane], flat[before + 1, lane], (place - before)[..., None]
        return np.asarray((1.0 - part) * left + part * right)


def all_joints(robot: Robot, motion: JointTrajectory, t: Floats) -> AllJoints:
    """Return the motion of all joints at times (..., *batch), from one with the rates of the degrees of freedom."""
    q, nu, nu_rate, _ = motion.derivatives(t)
    velocity = np.asarray(np.einsum("...ij,...j->...i", robot.loops.velocity_map(q), nu))
    return AllJoints(q, velocity, np.asarray(robot.loops.joint_accelerations(q, nu, nu_rate)), nu, nu_rate)


def on_manifold(robot: Robot, trajectory: JointTrajectory) -> JointTrajectory:
    """Return a trajectory whose rates are those of the robot's degrees of freedom, and which keeps its loops closed.

    Raises
    ------
    ArgumentError
        The trajectory moves another number of joints than the robot has, or the loops cannot be closed along it.

    Examples
    --------
    >>> import chasles as ch
    >>> motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=2.0)
    >>> on_manifold(ch.load("planar2r"), motion) is motion
    True
    """
    if robot.description.loops:
        known = isinstance(trajectory, ClosedMotion) and trajectory.robot == robot
        retimed = trajectory.n == robot.nq and trajectory.nv == robot.n
        return trajectory if known or retimed else ClosedMotion(robot, trajectory)
    if trajectory.n != robot.nq or trajectory.nv not in (robot.nq, robot.n):
        what = "joints" if robot.nq == robot.n else "coordinates"
        raise ArgumentError(f"the trajectory moves {trajectory.n} {what}, but robot '{robot.name}' has {robot.nq}")
    return trajectory if trajectory.nv == robot.n else TangentTrajectory(robot, trajectory)
