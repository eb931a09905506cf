"""Fastest motions along a path within the limits of a robot, by the package toppra."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import ArgumentError, warn
from chasles.mechanics.mechanics import require_first
from chasles.trajectories.check_report import QUANTITIES, CheckReport
from chasles.trajectories.joint.continuity import require_continuity
from chasles.trajectories.joint.durations import checked_start_time, require_spacing
from chasles.trajectories.joint.piecewise import PiecewisePolynomial
from chasles.trajectories.joint.trajectory import JointTrajectory
from chasles.trajectories.limits.checks import check
from chasles.trajectories.limits.moved_joints import MovedJoints
from chasles.trajectories.motion import Floats
from chasles.trajectories.planning.geometric_path import geometric_path, places
from chasles.trajectories.planning.parametrization import Constraints, fastest_speeds
from chasles.trajectories.planning.planners import PlanningError, positive_limits
from chasles.trajectories.planning.retimed import RetimedTrajectory

if TYPE_CHECKING:
    from chasles.robot.robot import Robot

_FRICTION_ROUNDS = 50
_LIMIT_ROUNDS = 6
_SETTLED = 1e-9  # change of friction, as a share of the limit of torque
_FASTEST = 1e8  # rad²/s², where no limit bounds the speed at a place


class LimitWarning(UserWarning):
    """A planned motion violates limits; its report says which, when and by how much."""


class TimeOptimalTrajectory(RetimedTrajectory):
    """Result of `time_optimal`: motion along the path with piecewise constant path acceleration.

    Attributes
    ----------
    path
        Path, a trajectory over its parameter s.
    deviation
        Largest distance of this path from the given one, rad: 0, except for a given path that rests at its ends. Such a
        path is replaced by a spline through many of its configurations.
    progress
        Path parameter s over time.
    report
        Check of the motion against the limits, sampled between the planned points.
    """

    def __init__(
        self, path: JointTrajectory, deviation: float, progress: PiecewisePolynomial, report: CheckReport
    ) -> None:
        super().__init__(path, progress)
        self.deviation = deviation
        self.report = report


def time_optimal(
    robot: Robot,
    path: JointTrajectory | ArrayLike,
    *,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    torque: ArrayLike | None = None,
    points: int = 500,
    start_time: float = 0.0,
) -> TimeOptimalTrajectory:
    """Plan the fastest motion along a path, from rest to rest, within limits of velocity, acceleration and torque.

    The torques are those of the robot's equation of motion, with gravity, friction, motor inertia and payload. The path
    of a robot with spherical or free joints lies on the manifold of its configurations. A free base has only the limits
    given here; the wrench that moves it, from the ground or thrusters, counts as torques. With loops, the limits of all
    joints and motors apply.

    Parameters
    ----------
    robot
        Robot that moves; use ``robot.with_payload(...)`` for a payload.
    path
        Joint trajectory, whose times are ignored; or waypoints, shape (k, nq), joined by a natural cubic spline of the
        coordinates. The path must have no corners, and may rest only at its ends.
    velocity, acceleration, torque
        Largest magnitudes, positive, a scalar or shape (n,); default the robot's velocity and torque limits, and no
        acceleration limits. Infinite where there is no limit.
    points
        Minimum number of points on the path, between which the path acceleration is constant. More points come closer
        to the optimum.
    start_time
        Time at which it starts, s.

    Returns
    -------
    TimeOptimalTrajectory
        Velocity is continuous; acceleration and torques jump. ``report`` checks the motion against all limits.

    Raises
    ------
    MissingExtraError
        If toppra is not installed.
    ArgumentError
        If shapes do not fit, a limit is not positive, the path has zero length or a corner, or nothing limits the
        accelerations.
    PlanningError
        If no such motion exists, for example because the robot cannot hold its weight along the path; the message says
        where.

    Warns
    -----
    LimitWarning
        If limits are violated nevertheless: position limits by the path itself, or other limits between the points.

    Notes
    -----
    Pham and Pham, A New Approach to Time-Optimal Path Parameterization Based on Reachability Analysis, IEEE
    Transactions on Robotics 34 (2018); the package toppra is theirs. It solves for limits that are linear in the
    acceleration and the square of the speed along the path; friction depends differently on the speed and is found by
    iteration. The result is checked between the points; if it exceeds a limit, the motion is replanned with that limit
    lowered by the excess.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("panda")
    >>> fast = time_optimal(arm, [arm.home, arm.home + 0.6, arm.home - 0.3], acceleration=15.0)
    >>> fast.report.ok, bool((fast.report.share > 0.999).any())  # no limit is broken, and some are used to the full
    (True, True)
    """
    require_first(robot, "time_optimal(robot, path)")
    route = geometric_path(robot, path)
    given = {
        name: None if limit is None else positive_limits(limit, robot.n, name)
        for name, limit in (("velocity", velocity), ("acceleration", acceleration), ("torque", torque))
    }
    moved = MovedJoints(robot, route.path)
    largest = moved.limits(given["velocity"], given["acceleration"], None, given["torque"])[1]
    limits: dict[str, Floats] = {
        name: positive_limits(largest[QUANTITIES.index(name)], moved.n, name) for name in QUANTITIES if name in given
    }
    if not isinstance(points, int) or points < 2:
        raise ArgumentError(f"points must be a whole number of at least 2, not {points!r}")
    begin = checked_start_time(start_time)
    grid = places(route.path, points)
    problem = _Problem.along(moved, grid)
    problem.refuse_unlimited(limits)
    problem.refuse_too_heavy(limits["torque"])
    lowered = {name: limit.copy() for name, limit in limits.items()}
    for _ in range(_LIMIT_ROUNDS):
        speed = problem.fastest(lowered)
        progress = _progress(grid, speed, begin)
        motion = RetimedTrajectory(route.path, progress)
        report = check(
            robot, motion, velocity=given["velocity"], acceleration=given["acceleration"], torque=given["torque"]
        )
        if not _lower(lowered, report):
            break
    if not report.ok:
        warn(f"the planned motion breaks limits: {report}", LimitWarning)
    return TimeOptimalTrajectory(*route, progress, report)


def _lower(limits: dict[str, Floats], report: CheckReport) -> bool:
    """Lower the limits by what the report finds exceeded; say whether there was anything."""
    exceeded = False
    for name, limit in limits.items():
        excess = -report.margin[QUANTITIES.index(name)]
        broken = excess > 1e-10 * limit
        limit[broken] -= np.minimum(1.2 * excess[broken], 0.1 * limit[broken])
        exceeded |= bool(broken.any())
    return exceeded


class _Problem(NamedTuple):
    """Quantities at places s of a path, each (k, joints), that say how its motion loads the robot.

    With the speed v and the acceleration u along the path, joint velocities are ``tangent v``, accelerations
    ``tangent u + curvature v²`` and torques ``inertia u + coriolis v² + weight + friction``. Curvature and coriolis
    have the shape (2, k, joints): just after a place and just before it, for they may jump where pieces of the path
    meet. The joints are those of `MovedJoints`: with loops, the torques are those of the motors.
    """

    moved: MovedJoints
    grid: Floats
    q: Floats
    rates: Floats
    tangent: Floats
    curvature: Floats
    inertia: Floats
    coriolis: Floats
    weight: Floats

    @classmethod
    def along(cls, moved: MovedJoints, grid: Floats) -> _Problem:
        robot = moved.robot
        with np.errstate(under="ignore"):  # before 0 comes a denormal number
            earlier = np.maximum(np.nextafter(grid, -np.inf), grid[0])
        at, before = (moved.along(s) for s in (grid, earlier))
        mass, rates = robot.mass_matrix(at.q), at.rates
        bend = np.stack([at.rates_of_rates, before.rates_of_rates])
        return cls(
            moved,
            grid,
            at.q,
            rates,
            at.tangent,
            np.stack([at.curvature, before.curvature]),
            moved.driven(at.q, np.einsum("kij,kj->ki", mass, rates)),
            moved.driven(at.q, np.einsum("kij,skj->ski", mass, bend) + robot.coriolis_vector(at.q, rates)),
            moved.driven(at.q, np.asarray(robot.gravity_torque(at.q))),
        )

    def refuse_unlimited(self, limits: dict[str, Floats]) -> None:
        """Without limits of acceleration or torque a motion would start with infinite acceleration."""
        moves = np.abs(self.tangent).max(axis=0) > 0.0
        loaded = np.abs(self.inertia).max(axis=0) > 0.0
        if not (np.isfinite(limits["acceleration"][moves]).any() or np.isfinite(limits["torque"][loaded]).any()):
            raise ArgumentError(
                f"nothing limits the acceleration: robot '{self.moved.robot.name}' has no limits of torque for this "
                "path; give acceleration=… or torque=…"
            )

    def refuse_too_heavy(self, torque: Floats) -> None:
        """The weight alone may exceed the limits."""
        excess = np.abs(self.weight) - torque
        place, joint = np.unravel_index(np.argmax(excess), excess.shape)
        if excess[place, joint] > 0.0:
            raise PlanningError(
                f"robot '{self.moved.robot.name}' cannot hold its weight at s = {self.grid[place]:.6g} of the path: "
                f"joint '{self.moved.names[joint]}' needs {abs(self.weight[place, joint]):.4g} of {torque[joint]:.4g} "
                f"{'N m' if self.moved.units[joint] == 'rad' else 'N'}"
            )

    def fastest(self, limits: dict[str, Floats]) -> Floats:
        """Largest speeds along the path at all places (k,), with the friction that belongs to them."""
        friction = np.zeros_like(self.weight)
        speed = np.zeros(len(self.grid))
        for _ in range(_FRICTION_ROUNDS if self._friction(np.ones(len(self.grid))).any() else 1):
            speed = self._solve(limits, friction)
            next_friction = self._friction(speed)
            if np.abs((next_friction - friction) / limits["torque"]).max() < _SETTLED:
                break
            friction = 0.5 * (friction + next_friction) if friction.any() else next_friction
        return speed

    def _friction(self, speed: Floats) -> Floats:
        """Torques of friction at speeds along the path."""
        tau = self.moved.robot.friction_torque(self.q, self.rates * speed[:, None])
        return self.moved.driven(self.q, np.asarray(tau))

    def _solve(self, limits: dict[str, Floats], friction: Floats) -> Floats:
        """Speeds for a friction that does not depend on them."""
        accelerating, loading = (np.isfinite(limits[name]) for name in ("acceleration", "torque"))
        size = np.concatenate([limits["acceleration"][accelerating], limits["torque"][loading]])
        # Along its length the speed of the motion is about 1 rad/s, as the solver's tolerances expect.
        unit = np.abs(self.tangent).max()
        with np.errstate(divide="ignore"):
            fastest = (limits["velocity"] * unit / np.abs(self.tangent)).min(axis=1) ** 2

        def rows(of_acceleration: Floats, of_torque: Floats) -> Floats:
            return np.asarray(
                np.concatenate([of_acceleration[..., accelerating], of_torque[..., loading]], axis=-1) / size
            )

        constraints = Constraints(
            rows(self.tangent, self.inertia) / unit,
            rows(self.curvature, self.coriolis) / unit**2,
            rows(np.zeros_like(self.tangent), self.weight + friction),
            np.minimum(fastest, _FASTEST),
        )
        speed = fastest_speeds(constraints, self.grid * unit)
        if speed is None:
            raise PlanningError(self._reason(limits, friction))
        return np.asarray(speed / unit)

    def _reason(self, limits: dict[str, Floats], friction: Floats) -> str:
        torque = np.abs(self.weight + friction) / limits["torque"]
        place, joint = np.unravel_index(np.argmax(torque), torque.shape)
        return (
            "no motion from rest to rest along the path keeps the limits; weight and friction alone take "
            f"{100.0 * torque[place, joint]:.0f} % of the torque of joint '{self.moved.names[joint]}' at "
            f"s = {self.grid[place]:.6g}"
        )


def _progress(grid: Floats, speed: Floats, start_time: float) -> PiecewisePolynomial:
    """The place on the path over time, with constant acceleration between the places of the grid."""
    steps = 2.0 * np.diff(grid) / (speed[1:] + speed[:-1])
    acceleration = np.diff(speed**2) / (2.0 * np.diff(grid))
    knots = start_time + np.append(0.0, np.cumsum(steps))
    require_spacing(knots, "place on the path")
    progress = PiecewisePolynomial(knots, np.stack([grid[:-1], speed[:-1], 0.5 * acceleration], axis=-1)[..., None])
    time_error = 2.0 * float(np.spacing(np.abs(knots).max()))
    require_continuity(progress, 1, size=np.abs(grid).max(), time_error=time_error, remedy="choose fewer points")
    return progress
