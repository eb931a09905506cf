"""Fastest motions along a path within the limits of a robot, of torques and their rates too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import ArgumentError, warn
from chasles.engine.validators import whole_number
from chasles.mechanics.mechanics import require_first
from chasles.trajectories.check_report import QUANTITIES, CheckReport
from chasles.trajectories.joint.continuity import require_continuity
from chasles.trajectories.joint.durations import checked_start_time, require_spacing
from chasles.trajectories.joint.piecewise import PiecewisePolynomial
from chasles.trajectories.joint.trajectory import JointTrajectory
from chasles.trajectories.limits.checks import check
from chasles.trajectories.limits.moved_joints import MovedJoints
from chasles.trajectories.limits.sampling import jumps
from chasles.trajectories.motion import Floats
from chasles.trajectories.planning.fastest_rate import Duration, Fastest, fastest, keeps, slow_start
from chasles.trajectories.planning.geometric_path import Planned, geometric_path
from chasles.trajectories.planning.path_limits import PathLimits
from chasles.trajectories.planning.planners import PlanningError, positive_limits
from chasles.trajectories.planning.rate_spline import knots_of, samples
from chasles.trajectories.planning.rest_to_rest import LEAVES, RestToRest
from chasles.trajectories.planning.retimed import RetimedTrajectory

if TYPE_CHECKING:
    from chasles.robot.robot import Robot

_LIMIT_ROUNDS = 12
#: Where a round begins after limits have been lowered: share of the fastest rates, squared, and barrier that fits.
_SLOWER, _BARRIER = 0.98, 0.01
#: Share of the limits that is left unused for what lies between points, as much as the search leaves of the duration.
_MARGIN = 1e-6
#: By how much a limit is lowered: a multiple of the excess and a share of the limit, but at most another share.
_MORE, _LEAST, _MOST = 2.0, 1e-5, 0.1
_MOST_POINTS = 20_000
#: Share of friction that a joint still has at a millionth of its speed, if it is smooth.
_SMOOTH = 1e-3
#: Share of the duration that may remain to be saved before a warning.
_NEAR_OPTIMUM = 1e-3


class LimitWarning(UserWarning):
    """A planned motion violates limits; its report says which, when and by how much."""


class TimeOptimalTrajectory(RetimedTrajectory):
    """Result of `time_optimal`: motion along the path, from rest to rest.

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
    gap
        Share of the duration that a motion with the same points could still save, to first order; at most 1e-6 where
        the search converged.
    """

    def __init__(
        self, path: JointTrajectory, deviation: float, progress: PiecewisePolynomial, report: CheckReport, gap: float
    ) -> None:
        super().__init__(path, progress)
        self.deviation = deviation
        self.report = report
        self.gap = gap


def time_optimal(
    robot: Robot,
    path: JointTrajectory | Planned | ArrayLike,
    *,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    jerk: ArrayLike | None = None,
    torque: ArrayLike | None = None,
    torque_rate: ArrayLike | None = None,
    power: ArrayLike | None = None,
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
        Joint trajectory, whose times are ignored; a path of `chasles.plan`; or waypoints, shape (k, nq), joined by a
        natural cubic spline of the coordinates. The path must have no corners, and may rest only at its ends.
    velocity, acceleration, jerk, torque, torque_rate, power
        Largest magnitudes, positive, a scalar or shape (n,), as of `chasles.check`; default the robot's velocity and
        torque limits, and no others. Infinite where there is no limit. With a limit of jerk or torque rate the motion
        starts and ends without acceleration, and the curvature of the path must not jump; robots with loops cannot have
        such limits.
    points
        Smallest number of points on the path at which limits are imposed. The duration approaches the least one with
        the square of their distance.
    start_time
        Time at which it starts, s.

    Returns
    -------
    TimeOptimalTrajectory
        Between start and end, acceleration is continuous. ``report`` checks the motion against all limits.

    Raises
    ------
    ArgumentError
        If shapes do not fit, a limit is not positive, the path has zero length or a corner, or nothing limits the
        accelerations.
    PlanningError
        If no such motion exists, for example because the robot cannot hold its weight along the path; the message says
        where.

    Warns
    -----
    LimitWarning
        If limits are violated nevertheless: position limits by the path itself, or other limits between the points. Or
        if the search ended before the duration was the least one.

    See Also
    --------
    chasles.OptimalControl : The fastest motion, where the path is free too.

    Notes
    -----
    The rate of the path's parameter is a spline over the path, found by an interior point method that starts at a slow
    motion; see `chasles.trajectories.planning.fastest_rate`. The result is checked between the points; if it exceeds a
    limit, the motion is replanned with that limit lowered by the excess. Coulomb friction that jumps at rest counts as
    that of the motion; torque rates are not limited at its jump when the motion begins and ends.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("panda")
    >>> waypoints = [arm.home, arm.home + 0.6, arm.home - 0.3]
    >>> fast = time_optimal(arm, waypoints, acceleration=15.0)
    >>> fast.report.ok, bool((fast.report.share > 0.999).any())  # no limit is broken, and some are used to the full
    (True, True)

    Drives cannot change torques at once:

    >>> smooth = time_optimal(arm, waypoints, acceleration=15.0, torque_rate=1000.0)
    >>> smooth.report.ok, bool(fast.duration < smooth.duration < 1.1 * fast.duration)
    (True, True)
    """
    require_first(robot, "time_optimal(robot, path)")
    route = geometric_path(robot, path)
    magnitudes = {
        "velocity": velocity,
        "acceleration": acceleration,
        "jerk": jerk,
        "torque": torque,
        "torque_rate": torque_rate,
        "power": power,
    }
    given = {
        name: None if limit is None else positive_limits(limit, robot.n, name) for name, limit in magnitudes.items()
    }
    moved = MovedJoints(robot, route.path)
    largest = moved.limits(*given.values())[1]
    limits: dict[str, Floats] = {
        name: positive_limits(largest[k], moved.n, name) for k, name in enumerate(QUANTITIES) if k
    }
    points = whole_number(points, "points", 10, _MOST_POINTS)
    begin = checked_start_time(start_time)
    has_rates = bool(np.isfinite([limits["jerk"], limits["torque rate"]]).any())
    law = RestToRest(moved, 3 if has_rates else 2, points // 2)
    if has_rates:
        _require_rates(law)
    problem = _Problem(law, limits)
    problem.refuse_unlimited()
    problem.refuse_too_heavy()
    problem.refuse_jumps()

    def timed(rate: Fastest) -> tuple[PiecewisePolynomial, CheckReport]:
        progress = problem.progress(rate.coefficients, begin)
        motion = RetimedTrajectory(route.path, progress)
        report = check(
            robot,
            motion,
            velocity=given["velocity"],
            acceleration=given["acceleration"],
            jerk=given["jerk"],
            torque=given["torque"],
            torque_rate=given["torque_rate"],
            power=given["power"],
        )
        return progress, report

    rate = problem.solved()
    progress, report = timed(rate)
    for _ in range(_LIMIT_ROUNDS):
        if not problem.lower(report, progress.knots):
            break
        rate = problem.solved(rate.coefficients)
        progress, report = timed(rate)
    if not report.ok:
        warn(f"the planned motion breaks limits: {report}", LimitWarning)
    if rate.gap > _NEAR_OPTIMUM:
        warn(f"the search ended before the duration was the least: {rate.gap:.2g} of it may be saved", LimitWarning)
    return TimeOptimalTrajectory(*route, progress, report, rate.gap)


def _require_rates(law: RestToRest) -> None:
    """Raise an error if jerks or rates of torques are infinite along the path, or not known."""
    robot = law.moved.robot
    if law.moved.closed:
        raise ArgumentError(
            f"robot '{robot.name}' has loops: the jerks of joints that follow from others are not known; leave jerk= "
            "and torque_rate= out"
        )
    bends = jumps(law.path, ())[2].time
    if len(bends):
        raise ArgumentError(
            f"the curvature of the path jumps at s = {bends.min():.6g}, where jerk and torque rate would be infinite; "
            "take a smoother path, such as a spline through its points"
        )


class _Problem:
    """The rate of the law's parameter along a path, as a spline, and the limits that it must keep."""

    def __init__(self, law: RestToRest, limits: dict[str, Floats]) -> None:
        self.law, degree = law, law.order
        self.nodes = law.nodes
        inside = {name: (1.0 - _MARGIN) * limit for name, limit in limits.items()}
        self.limits = PathLimits(law, inside)
        knots = knots_of(self.nodes, degree)
        self.at = samples(knots, degree, self.limits.places.theta)
        self._duration = Duration.over(self.nodes, knots, degree)
        self._at_nodes = samples(knots, degree, self.nodes)
        self._inside = (self.nodes[:-1] + np.diff(self.nodes) * _GAUSS[0][:, None]).ravel()
        self._between = samples(knots, degree, self._inside)

    def refuse_unlimited(self) -> None:
        """Without limits of acceleration or torque a motion would start with infinite acceleration."""
        places, limits = self.limits.places, self.limits.limits
        moves = np.abs(places.tangent).max(axis=0) > 0.0
        loaded = np.abs(self.limits.torques.inertia).max(axis=0) > 0.0
        of_motion = np.minimum(limits["acceleration"], limits["jerk"])[0, moves]
        of_torque = np.minimum(limits["torque"], limits["torque rate"])[0, loaded]
        if not np.isfinite(np.concatenate([of_motion, of_torque])).any():
            raise ArgumentError(
                f"nothing limits the acceleration: robot '{self.law.moved.robot.name}' has no limits of torque for "
                "this path; give acceleration=… or torque=…"
            )

    def refuse_too_heavy(self) -> None:
        """The weight alone, or with friction, may exceed the limits."""
        limits, moved = self.limits, self.law.moved
        weight, torque = limits.torques.weight, limits.limits["torque"]
        place, joint = np.unravel_index(np.argmax(np.abs(weight) - torque), weight.shape)
        unit = "N m" if moved.units[joint] == "rad" else "N"
        if abs(weight[place, joint]) > torque[place, joint]:
            raise PlanningError(
                f"robot '{moved.robot.name}' cannot hold its weight at {self._s(place)} of the path: joint "
                f"'{moved.names[joint]}' needs {abs(weight[place, joint]):.4g} of {torque[place, joint]:.4g} {unit}"
            )
        share = np.abs(limits.torques.to_hold) / torque
        place, joint = np.unravel_index(np.argmax(share), share.shape)
        if share[place, joint] >= 1.0:
            raise PlanningError(
                "no motion from rest to rest along the path keeps the limits; weight and friction alone take "
                f"{100.0 * share[place, joint]:.0f} % of the torque of joint '{moved.names[joint]}' at "
                f"{self._s(place)}"
            )

    def refuse_jumps(self) -> None:
        """Where a joint turns back, its friction may jump, and the rate of its torque is infinite there."""
        torques, limited = self.limits.torques, np.isfinite(self.limits.limits["torque rate"][0])
        slow = (torques.to_hold - torques.weight)[: len(self.nodes)] * limited
        place, joint = np.nonzero(slow[1:] * slow[:-1] < 0.0)
        usual = torques.friction(np.ones(len(torques.weight)), np.zeros(len(torques.weight)))
        jumps_there = np.abs(slow[place, joint]) > _SMOOTH * np.abs(usual).max(axis=0)[joint]
        if jumps_there.any():
            k = int(np.argmax(jumps_there))
            raise ArgumentError(
                f"the Coulomb friction of joint '{self.law.moved.names[joint[k]]}' jumps where it turns back, at "
                f"{self._s(place[k])}: no torque rate is large enough; smooth it, "
                "robot.with_friction(coulomb_velocity=0.1)"
            )

    def _s(self, place: np.intp) -> str:
        return f"s = {self.limits.places.s[place]:.6g}"

    def solved(self, coefficients: Floats | None = None) -> Fastest:
        """Return the fastest rate; the search begins near one of lower limits, if that is given."""
        if coefficients is not None and keeps(self.at, self.limits, _SLOWER * coefficients):
            return fastest(self._duration, self.at, self.limits, _SLOWER * coefficients, _BARRIER)
        start = slow_start(self.at, self.limits)
        if start is None:
            raise PlanningError("no motion from rest to rest along the path keeps the limits, however slow it is")
        return fastest(self._duration, self.at, self.limits, start)

    def progress(self, coefficients: Floats, start_time: float) -> PiecewisePolynomial:
        """The place on the path over time: between nodes, polynomials that meet with their first two derivatives."""
        b, u, _ = self._at_nodes.of(coefficients)
        s, first, second, _ = self.law.law(self.nodes)
        speed, acceleration = first * np.sqrt(b), second * b + first * u
        slowness, slopes = self._between.of(coefficients)[0] ** -0.5, self.law.law(self._inside)[1]
        h, lengths = (
            np.diff(self.nodes) * (_GAUSS[1] @ part.reshape(len(_GAUSS[1]), -1)) for part in (slowness, slopes)
        )
        knots = start_time + np.append(0.0, np.cumsum(h))
        require_spacing(knots, "place on the path")
        progress = PiecewisePolynomial(knots, _hermite(s, lengths, speed, acceleration, h)[..., None])
        time_error = 2.0 * float(np.spacing(np.abs(knots).max()))
        require_continuity(progress, 1, size=np.abs(s).max(), time_error=time_error, remedy="choose fewer points")
        return progress

    def lower(self, report: CheckReport, times: Floats) -> bool:
        """Lower limits where the report of a motion with these times of the nodes finds them exceeded; say if it does.

        The steps in which a limit is exceeded and their neighbours have the lower limit.
        """
        exceeded = False
        for one in report.broken:
            quantity, joint = divmod(int(one["row"]), len(report.joint_names))
            if not quantity:
                continue
            first, last = np.searchsorted(times, (one["start"], one["end"]))
            ends = self.nodes[max(first - 2, 0)], self.nodes[min(last + 1, len(self.nodes) - 1)]
            theta, limit = self.limits.places.theta, self.limits.limits[QUANTITIES[quantity]][:, joint]
            near = (theta >= ends[0] - LEAVES) & (theta <= ends[1] + LEAVES)
            excess = abs(one["value"]) - report.upper[quantity, joint]
            lower = limit[near] - np.minimum(_MORE * excess + _LEAST * limit[near], _MOST * limit[near])
            if QUANTITIES[quantity] == "torque":  # some of what weight and friction leave must remain
                to_hold = np.abs(self.limits.torques.to_hold[near, joint])
                lower = np.maximum(lower, 0.5 * (limit[near] + to_hold))
            limit[near] = lower
            exceeded = True
        return exceeded


#: Gauss' rule on [0, 1], exact to rounding for the smooth rates between two nodes.
_GAUSS = tuple(part * 0.5 + shift for part, shift in zip(np.polynomial.legendre.leggauss(8), (0.5, 0.0), strict=True))


def _hermite(s: Floats, lengths: Floats, speed: Floats, acceleration: Floats, h: Floats) -> Floats:
    """Coefficients (k, 6) of the polynomials of degree 5 with these values and derivatives at both ends of steps h.

    The lengths of the steps are the differences of s, but known to more digits.
    """
    v, a = speed[:-1], acceleration[:-1]
    miss = lengths - (v + 0.5 * a * h) * h
    miss_v = (speed[1:] - v - a * h) * h
    miss_a = (acceleration[1:] - a) * h**2
    third = 10.0 * miss - 4.0 * miss_v + 0.5 * miss_a
    fourth = -15.0 * miss + 7.0 * miss_v - miss_a
    fifth = 6.0 * miss - 3.0 * miss_v + 0.5 * miss_a
    return np.stack([s[:-1], v, 0.5 * a, third / h**3, fourth / h**4, fifth / h**5], axis=-1)
