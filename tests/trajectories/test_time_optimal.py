"""Time-optimal motions against bang-bang solutions, toppra, Pinocchio, and the limits sampled densely."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.optimize import brentq, fsolve
from tests.oracles.pinocchio_models import model_of

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.model import Description, Inertia, Joint, Limits, Link
from chasles.trajectories import PiecewisePolynomial
from chasles.trajectories.joint.splines import CubicSpline
from chasles.trajectories.planning.planners import PlanningError
from chasles.trajectories.planning.retimed import RetimedTrajectory
from chasles.trajectories.planning.time_optimal import LimitWarning, time_optimal

PANDA = ch.load("panda")
WAYPOINTS = PANDA.home + np.array([[0.0], [0.6], [-0.3], [0.2]]) * np.linspace(1.0, -0.5, 7)


def slider(axis: tuple[float, float, float] = (1.0, 0.0, 0.0), viscous: float = 0.0, **limits: float) -> ch.Robot:
    """A mass of 2 kg on a rail."""
    joint = Joint("rail", "prismatic", "base", "cart", axis=axis, viscous_friction=viscous, limits=Limits(**limits))
    return ch.Robot(Description("slider", links=(Link("base"), Link("cart", Inertia(mass=2.0))), joints=(joint,)))


@pytest.mark.parametrize(("distance", "expected"), [(3.0, 3.0 / 1.5 + 1.5 / 4.0), (0.2, 2.0 * np.sqrt(0.2 / 4.0))])
def test_on_a_line_it_is_the_trapezoid(distance: float, expected: float) -> None:
    """By a limit of the acceleration, and by the force that gives it; the optimum is never beaten."""
    for robot, options in (
        (slider(velocity=1.5), {"acceleration": 4.0}),
        (slider(velocity=1.5, effort=8.0), {}),
        (slider(effort=100.0), {"velocity": 1.5, "torque": 8.0}),
    ):
        durations = [time_optimal(robot, [[0.5], [0.5 + distance]], points=k, **options).duration for k in (50, 400)]
        assert expected - 1e-9 <= durations[1] <= durations[0] + 1e-9
        assert durations[1] == pytest.approx(expected, rel=3e-4)


def test_lifting_takes_the_weight_into_account() -> None:
    """Up with F/m - g, braking with F/m + g."""
    up, down = 40.0 / 2.0 - 9.81, 40.0 / 2.0 + 9.81
    fastest = np.sqrt(2.0 * 1.5 * up * down / (up + down))
    with np.errstate(all="raise"):
        lift = time_optimal(slider((0.0, 0.0, 1.0), effort=40.0), [[0.0], [1.5]], points=1000)
    assert lift.duration == pytest.approx(fastest / up + fastest / down, rel=1e-5)
    assert lift.report.ok


def test_friction_is_part_of_the_torque() -> None:
    """m v' = ±F - b v, switched where it then stops at the goal; the time from an accurate integration."""
    m, force, b, goal = 2.0, 8.0, 3.0, 2.0

    def stopped(switch: float) -> tuple[float, float]:
        v = force / b * (1.0 - np.exp(-b / m * switch))
        x = force / b * switch - m / b * v
        braking = m / b * np.log1p(b * v / force)
        path = solve_ivp(lambda _, y: [y[1], (-force - b * y[1]) / m], (0.0, braking), [x, v], rtol=1e-12, atol=1e-12)
        return path.y[0, -1], switch + braking

    switch = brentq(lambda t: stopped(t)[0] - goal, 0.1, 5.0, xtol=1e-12)
    motion = time_optimal(slider(viscous=b, effort=force), [[0.0], [goal]], points=1000)
    assert motion.duration == pytest.approx(stopped(switch)[1], rel=1e-5)
    assert motion.duration >= stopped(switch)[1] - 1e-9
    assert motion.report.ok


@pytest.mark.parametrize(
    ("distance", "limits", "expected"),
    [
        (1.0, {}, 4.0 * np.cbrt(1.0 / 40.0)),
        (1.0, {"acceleration": 4.0}, 0.2 + np.sqrt(0.2**2 + 4.0 * 1.0 / 4.0)),
        (3.0, {"acceleration": 4.0, "velocity": 1.5}, 3.0 / 1.5 + 1.5 / 4.0 + 4.0 / 20.0),
        (0.4, {"acceleration": 50.0, "velocity": 0.5}, 0.4 / 0.5 + 2.0 * np.sqrt(0.5 / 20.0)),
    ],
)
def test_with_jerk_on_a_line_it_has_seven_segments(distance: float, limits: dict[str, float], expected: float) -> None:
    """Biagiotti and Melchiorri, Trajectory Planning for Automatic Machines and Robots (2008), section 3.4."""
    by_jerk = time_optimal(slider(), [[0.5], [0.5 + distance]], jerk=20.0, **limits)
    assert by_jerk.duration == pytest.approx(expected, rel=1e-4)
    assert by_jerk.duration > expected
    assert by_jerk.report.ok
    by_force = time_optimal(slider(), [[0.5], [0.5 + distance]], torque_rate=40.0, **limits)  # 2 kg
    assert by_force.duration == pytest.approx(by_jerk.duration, rel=1e-6)
    ends = by_jerk([0.0, by_jerk.duration])
    np.testing.assert_allclose(ends.qdd, 0.0, atol=1e-9)


def test_rates_of_the_force_against_friction() -> None:
    """m v' = F - b v, F' = R, -R, R: three arcs from rest to rest, whose lengths solve three equations."""
    m, b, rate, goal = 2.0, 3.0, 60.0, 1.5
    drift = np.zeros((4, 4))
    drift[0, 1], drift[1, 1], drift[1, 2] = 1.0, -b / m, 1.0 / m

    def end(lengths: Any) -> Any:
        state = np.array([0.0, 0.0, 0.0, 1.0])
        for sign, length in zip((1.0, -1.0, 1.0), lengths, strict=True):
            drift[2, 3] = sign * rate
            state = expm(drift * length) @ state
        return state[:3] - [goal, 0.0, 0.0]

    lengths = fsolve(end, [0.4, 0.7, 0.2], xtol=1e-13)
    assert np.abs(end(lengths)).max() < 1e-10
    motion = time_optimal(slider(viscous=b), [[0.0], [goal]], torque_rate=rate)
    assert motion.duration == pytest.approx(lengths.sum(), rel=1e-4)
    assert motion.duration > lengths.sum()
    assert motion.report.ok


def test_power_on_a_line() -> None:
    """m v' = F up to v = P / F, then m v v' = P; braking is the same backwards."""
    m, force, power, goal = 2.0, 8.0, 6.0, 4.0
    first = power / force
    largest = np.cbrt(first**3 + (goal / 2.0 - 0.5 * m * first**2 / force) * 3.0 * power / m)
    expected = 2.0 * (m * first / force + 0.5 * m * (largest**2 - first**2) / power)
    motion = time_optimal(slider(effort=force), [[0.0], [goal]], power=power)
    assert motion.report.ok
    assert motion.duration == pytest.approx(expected, rel=1e-4)
    assert motion.duration > expected
    (violation,) = {(v.quantity, v.unit) for v in motion.check(slider(effort=force), power=0.99 * power).violations}
    assert violation == ("power", "W")


@pytest.mark.slow
def test_torques_and_their_rates_by_pinocchio() -> None:
    """A loaded arm with viscous and smooth Coulomb friction, which Pinocchio does not know."""
    pin = pytest.importorskip("pinocchio")
    viscous, coulomb = np.full(7, 1.5), np.full(7, 2.0)
    arm = PANDA.with_payload(1.5).with_friction(viscous=viscous, coulomb=coulomb, coulomb_velocity=0.2)
    rate = 12.0 * arm.effort_limits
    motion = time_optimal(arm, PANDA.home + rng_waypoints(), torque_rate=rate, jerk=2000.0, points=1000)
    assert motion.report.ok
    assert motion.gap < 1e-6
    model = model_of(PANDA.with_payload(1.5))
    data = model.createData()
    t = np.linspace(0.0, float(motion.duration), 4001)
    parts = motion(t)
    tau = np.array([pin.rnea(model, data, *at) for at in zip(*parts, strict=True)])
    tau += viscous * parts.qd + coulomb * np.tanh(parts.qd / 0.2)
    torques, rates = np.abs(tau) / arm.effort_limits, np.abs(np.diff(tau, axis=0)) / (t[1] * rate)
    jerks = np.abs(motion.jerk(t)) / 2000.0
    speeds = np.abs(parts.qd) / arm.velocity_limits
    assert max(part.max() for part in (torques, rates, jerks, speeds)) < 1.0 + 1e-6
    used = np.maximum.reduce([part[:-1].max(axis=1) for part in (torques, jerks, speeds)])
    assert np.mean(np.maximum(used, rates.max(axis=1)) > 0.99) > 0.9  # but for the steps in which the limit changes


def rng_waypoints() -> Any:
    """Displacements of five waypoints."""
    return np.random.default_rng(3).uniform(-0.5, 0.5, (5, 7))


def test_friction_of_the_load_is_part_of_the_torque() -> None:
    """A hoist whose gear loses a share μ, up with F = m (g + a) (1 + μ), braking by a limit of acceleration."""
    m, g, share, force, goal = 2.0, 9.81, 0.2, 30.0, 1.5
    up, down = force / (m * (1.0 + share)) - g, 0.5 * g
    hoist = slider((0.0, 0.0, 1.0), effort=force).with_friction(load=share, load_velocity=1e-4)
    motion = time_optimal(hoist, [[0.0], [goal]], acceleration=down)
    speed = np.sqrt(2.0 * goal * up * down / (up + down))
    assert motion.duration == pytest.approx(speed / up + speed / down, rel=1e-4)
    assert motion.report.ok


def test_a_robot_arm_uses_its_limits_to_the_full_and_keeps_them() -> None:
    arm = PANDA.with_payload(2.0)
    motion = time_optimal(arm, WAYPOINTS, acceleration=40.0)
    assert motion.report.ok
    t = np.linspace(0.0, float(motion.duration), 100_001)
    q, qd, qdd = motion(t)
    tau = arm.inverse_dynamics(q, qd, qdd)
    shares = [np.abs(qd) / arm.velocity_limits, np.abs(qdd) / 40.0, np.abs(tau) / arm.effort_limits]
    used = np.concatenate(shares, axis=1).max(axis=1)
    assert used.max() <= 1.0 + 1e-9
    assert np.mean(used > 0.98) > 0.95  # a time-optimal motion always uses some limit
    without = time_optimal(arm, WAYPOINTS, acceleration=40.0, torque=np.inf)
    assert without.duration < motion.duration
    assert without.report.ok  # held against the limits that were asked for
    assert not without.check(arm, acceleration=40.0).ok


def test_friction_and_motors_of_the_puma() -> None:
    arm = ch.load("puma560")
    motion = time_optimal(
        arm, [arm.home, arm.home + 0.5, arm.home + np.array([1.0, -0.5, 0.3, 0.2, 0.1, 0.0])], points=200
    )
    assert motion.report.ok
    assert np.abs(arm.friction_torque(arm.home, np.ones(6))).max() > 10.0
    assert float(motion.report.share[4].max()) > 0.99


def test_it_stays_on_the_path() -> None:
    motion = time_optimal(PANDA, WAYPOINTS, acceleration=15.0, points=200, start_time=3.0)
    assert motion.start_time == 3.0
    np.testing.assert_allclose(motion(3.0).q, WAYPOINTS[0], atol=1e-14)
    np.testing.assert_allclose(motion(motion.end_time).q, WAYPOINTS[-1], atol=1e-14)
    np.testing.assert_allclose(motion([3.0, motion.end_time]).qd, 0.0, atol=1e-13)
    for waypoint, s in zip(WAYPOINTS[1:-1], motion.path.knots[1:-1], strict=True):
        passed = brentq(lambda t, s=s: motion.progress(t).q[0] - s, *motion.knots[[0, -1]], xtol=1e-14)
        np.testing.assert_allclose(motion(passed).q, waypoint, atol=1e-12)
    inner = motion.knots[1:-1]
    left, right = motion(np.nextafter(inner, -np.inf)), motion(inner)
    np.testing.assert_allclose(left.q, right.q, atol=1e-13)
    np.testing.assert_allclose(left.qd, right.qd, atol=1e-11)


def test_durations_are_those_of_toppra() -> None:
    toppra = pytest.importorskip("toppra")
    s = np.linspace(0.0, 1.0, len(WAYPOINTS))
    peer_path = toppra.SplineInterpolator(s, WAYPOINTS, bc_type="natural")
    limits = [
        toppra.constraint.JointVelocityConstraint(np.tile(PANDA.velocity_limits[:, None], 2) * [-1.0, 1.0]),
        toppra.constraint.JointAccelerationConstraint(np.tile([-15.0, 15.0], (7, 1))),
    ]
    peer = toppra.algorithm.TOPPRA(limits, peer_path, gridpoints=np.linspace(0.0, 1.0, 2000)).compute_trajectory()
    ours = time_optimal(PANDA, CubicSpline(s, WAYPOINTS, boundary="natural"), acceleration=15.0, torque=np.inf)
    assert ours.report.ok
    assert ours.duration == pytest.approx(peer.duration, rel=2e-4)


def test_only_the_path_counts_not_its_times() -> None:
    slow = CubicSpline([0.0, 10.0, 20.0, 30.0], WAYPOINTS, boundary="natural")
    quick = CubicSpline([0.0, 1e-3, 2e-3, 3e-3], WAYPOINTS, boundary="natural")
    durations = [time_optimal(PANDA, path, acceleration=15.0).duration for path in (slow, quick)]
    assert durations[0] == pytest.approx(durations[1], rel=1e-9)


def test_a_path_that_rests_at_its_ends() -> None:
    line = ch.PointToPoint([0.0], [3.0], duration=1.0)
    motion = time_optimal(slider(velocity=1.5), line, acceleration=4.0, points=1000)
    assert motion.report.ok
    assert motion.duration == pytest.approx(3.0 / 1.5 + 1.5 / 4.0, rel=1e-2)


def test_curvature_may_jump() -> None:
    """Straight on, then along a parabola: both sides of the knot bound the speed."""
    bend = PiecewisePolynomial(
        [0.0, 1.0, 2.0], [[[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]], [[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]]]
    )
    arm = ch.load("planar2r")
    motion = time_optimal(arm, bend, velocity=2.0, acceleration=3.0, torque=np.inf)
    assert motion.report.ok
    s = motion.progress.derivatives(motion.knots)
    speed = float(np.interp(1.0, s[0][:, 0], s[1][:, 0]))
    assert speed <= np.sqrt(3.0 / 4.0) + 1e-6  # the acceleration 4 v² of joint 2 just after the knot


def test_derivatives_of_a_retimed_path_are_exact() -> None:
    """Against NumPy's composition of polynomials."""
    rng = np.random.default_rng(0)
    path = PiecewisePolynomial([1.0, 3.0], rng.normal(size=(1, 5, 2)))
    place = np.polynomial.Polynomial([0.2, 0.5, 0.3, 0.1])
    motion = RetimedTrajectory(path, PiecewisePolynomial([0.0, 1.2], [[[1.2], [0.5], [0.3], [0.1]]]))
    t = np.linspace(0.0, 1.2, 13)
    for joint in range(2):
        q = np.polynomial.Polynomial(path.coefficients[0, :, joint])(place)
        for order, part in enumerate(motion.derivatives(t)):
            expected = q.deriv(order)(t) if order else q(t)
            np.testing.assert_allclose(part[:, joint], expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(motion([-1.0, 2.0]).qd, 0.0)
    with pytest.raises(ArgumentError, match="leaves the path, which goes from 1 to 3"):
        RetimedTrajectory(path, PiecewisePolynomial([0.0, 1.0], [[[0.0], [1.0]]]))
    with pytest.raises(ArgumentError, match="must be a single number"):
        RetimedTrajectory(path, path)


def test_positions_beyond_their_limits_are_told() -> None:
    with pytest.warns(LimitWarning, match="position of rail: 3 m"):
        motion = time_optimal(slider(lower=0.0, upper=2.5), [[0.0], [3.0]], acceleration=4.0)
    assert [violation.quantity for violation in motion.report.violations] == ["position"]


def test_a_simulation_follows_it() -> None:
    motion = time_optimal(PANDA, WAYPOINTS, acceleration=15.0, points=200)
    run = ch.simulate(PANDA, ch.ComputedTorque(PANDA, kp=900.0, kd=60.0), motion)
    assert float(np.abs(run.error).max()) < 5e-3


def test_weights_that_cannot_be_held_are_told() -> None:
    with pytest.raises(PlanningError, match=r"cannot hold its weight.*joint 'rail' needs 19\.62 of 10 N$"):
        time_optimal(slider((0.0, 0.0, 1.0), effort=10.0), [[0.0], [1.0]])


def test_friction_that_cannot_be_overcome_is_told() -> None:
    arm = slider(effort=10.0).with_friction(coulomb=12.0)
    with pytest.raises(PlanningError, match=r"weight and friction alone take 120 % of the torque of joint 'rail'"):
        time_optimal(arm, [[0.0], [1.0]])


def test_payloads_that_cannot_be_held_are_told() -> None:
    with pytest.raises(
        PlanningError, match=r"cannot hold its weight at s = .* of the path: joint 'panda_joint4' needs 166"
    ):
        time_optimal(PANDA.with_payload(30.0), WAYPOINTS, torque_rate=1000.0)


def test_friction_that_jumps_where_a_joint_turns_back_has_no_rate() -> None:
    arm = ch.load("planar2r").with_friction(coulomb=1.0)
    there_and_back = np.array([[0.0, 0.0], [0.5, 0.4], [1.0, 0.0]])
    with pytest.raises(ArgumentError, match="friction of joint 'joint2' jumps where it turns back, at s = "):
        time_optimal(arm, there_and_back, torque=100.0, torque_rate=1000.0)


def test_robots_with_loops_have_no_limits_of_jerk() -> None:
    rod = {"T_first_joint": [0.75, 0.3, 0.0], "length": 0.3, "actuated": ["joint1"]}
    arm = ch.load("planar2r").with_loop("rod", "rod", "link0", "tool", **rod)
    with pytest.raises(ArgumentError, match=r"has loops: .* leave jerk= and torque_rate= out"):
        time_optimal(arm, ch.PointToPoint([0.3], [-0.2], duration=1.0), jerk=10.0)


CORNER = PiecewisePolynomial([0.0, 1.0, 2.0], [[[0.0], [1.0]], [[1.0], [-2.0]]])
BEND = PiecewisePolynomial([0.0, 1.0, 2.0], [[[0.0], [1.0], [0.0]], [[1.0], [1.0], [2.0]]])
GAP = PiecewisePolynomial([0.0, 1.0, 2.0], [[[0.0], [1.0]], [[2.0], [1.0]]])


@pytest.mark.parametrize(
    ("path", "options", "message"),
    [
        ([[0.0]], {}, "a path needs two waypoints at least"),
        ([0.0, 1.0], {}, r"waypoints has shape \(2,\); expected \(k, n\)"),
        ("path", {}, "waypoints must be an array of real numbers, not 'path'"),
        ([[0.0], [np.nan]], {}, r"waypoints\[1, 0\] is nan; it must be finite"),
        ([[0.0], [1.0], [1.0]], {}, "waypoints 1 and 2 coincide"),
        ([[0.0, 0.0], [1.0, 1.0]], {}, "waypoints have 2 coordinates, but robot 'slider' has 1"),
        (CORNER, {}, r"the path has a corner at s = 1 \(joint 0\)"),
        (GAP, {}, r"the path has a gap at s = 1 \(joint 0\)"),
        (PiecewisePolynomial([0.0, 1.0], np.zeros((3, 1, 2, 1))), {}, r"this batch has shape \(3,\)"),
        (PiecewisePolynomial([0.0, 1.0], np.ones((1, 1, 1))), {}, "the path does not move"),
        (ch.PointToPoint([0.0], [0.0], duration=0.0), {}, "the path has no length"),
        ([[0.0], [1.0]], {"acceleration": None}, "nothing limits the acceleration: robot 'slider'"),
        ([[0.0], [1.0]], {"acceleration": 0.0}, r"acceleration\[0\] is 0\.0; it must be positive"),
        ([[0.0], [1.0]], {"velocity": [1.0, 2.0]}, r"velocity has shape \(2,\); expected \(1,\) or one number"),
        ([[0.0], [1.0]], {"points": 9}, "points must be a whole number from 10 to 20,000, not 9"),
        ([[0.0], [1.0]], {"jerk": 0.0}, r"jerk\[0\] is 0\.0; it must be positive"),
        ([[0.0], [1.0]], {"torque_rate": np.nan}, r"torque_rate\[0\] is nan; it must be a number"),
        (BEND, {"jerk": 9.0}, "the curvature of the path jumps at s = 1, where jerk and torque rate would be infinite"),
        ([[0.0], [1.0]], {"start_time": np.inf}, "start_time is inf; it must be finite"),
    ],
)
def test_bad_input_is_named(path: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        time_optimal(slider(velocity=1.0), path, **{"acceleration": 1.0, **options})


@pytest.mark.parametrize("speed", [1e-9, 4e-6, 1e-4, 1e-3])
def test_a_path_that_almost_rests_at_its_ends_is_one_that_rests(speed: float) -> None:
    """Speeds at the ends that rounding leaves say nothing of the path: the motion is as fast as without them."""
    times = np.linspace(0.0, 1.0, 9)
    q = ch.PointToPoint(PANDA.home, PANDA.home + 0.3, 1.0)(times).q
    rest = time_optimal(PANDA, CubicSpline(times, q), acceleration=10.0, points=50)
    slow = CubicSpline(times, q, start_velocity=np.full(7, speed), end_velocity=np.full(7, speed))
    fast = time_optimal(PANDA, slow, acceleration=10.0, points=50)
    assert fast.duration == pytest.approx(rest.duration, rel=0.01)
    assert fast.deviation < 1e-4
    assert fast.report.ok


@pytest.mark.parametrize("knots", [130, 220])
def test_paths_with_about_as_many_knots_as_points(knots: int) -> None:
    """A recorded line through many waypoints takes as long as through two."""
    line = np.linspace(PANDA.home, PANDA.home + 0.4, knots)
    motion = time_optimal(PANDA, line, acceleration=15.0)
    assert motion.report.ok
    assert motion.duration == pytest.approx(time_optimal(PANDA, line[[0, -1]], acceleration=15.0).duration, rel=1e-4)


def test_many_points_and_late_starts_lose_no_digits() -> None:
    """Jerks are third differences of places: 5,000 points apart, and counted from a million seconds."""
    expected = 4.0 * np.cbrt(0.5)
    assert time_optimal(slider(), [[0.0], [1.0]], jerk=1.0, points=5000).duration == pytest.approx(expected, rel=1e-6)
    late = time_optimal(slider(), [[0.0], [1.0]], jerk=1.0, start_time=1e6)
    assert late.report.ok
    assert late.duration == pytest.approx(expected, rel=1e-4)


def test_it_pickles() -> None:
    motion = time_optimal(PANDA, WAYPOINTS, acceleration=15.0, points=50)
    again = pickle.loads(pickle.dumps(motion))
    np.testing.assert_array_equal(again(0.4).qdd, motion(0.4).qdd)
    assert str(again.report) == str(motion.report)
