"""Planners: proofs of edges against dense samples, paths by every method, turns, failures, curves and motions."""

from __future__ import annotations

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.distances import Body, HalfSpace
from chasles.model import Description, Joint, Limits, Link, Mimic
from chasles.planning import ConfigurationSpace, Roadmap, a_star
from chasles.planning.motion_bounds import motion_bounds

RODS = [Body("link1", end=[-0.5, 0.0, 0.0], radius=0.05), Body("link2", end=[-0.25, 0.0, 0.0], radius=0.05)]
BALL = Body(None, [0.6, 0.35, 0.0], radius=0.1, name="ball")
PLANAR = ch.clearance(ch.load("planar2r"), bodies=RODS, obstacles=[BALL])
SPACE = ConfigurationSpace(PLANAR, margin=0.01)
BOUNDED = ConfigurationSpace(PLANAR, margin=0.01, lower=[-1.0, -2.5], upper=[2.0, 2.5])


def planar_distance(q: np.ndarray) -> np.ndarray:
    """Distance of the two rods from the ball, by the arm's closed form."""
    elbow = 0.5 * np.stack([np.cos(q[..., 0]), np.sin(q[..., 0])], axis=-1)
    angle = q[..., 0] + q[..., 1]
    tip = elbow + 0.25 * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    found = []
    for start, end in ((0.0 * elbow, elbow), (elbow, tip)):
        way = end - start
        share = np.clip(((BALL.start[:2] - start) * way).sum(axis=-1) / (way**2).sum(axis=-1), 0.0, 1.0)
        found.append(np.linalg.norm(start + share[..., None] * way - BALL.start[:2], axis=-1) - 0.15)
    return np.min(found, axis=0)


def slider(limits: Limits | None = None, kind: str = "prismatic") -> ch.Robot:
    """A rod that slides along x on a turntable."""
    axis = np.array([1.0, 0.0, 0.0])
    joints = (
        Joint("turn", "revolute", "ground", "table", axis=np.array([0.0, 0.0, 1.0])),
        Joint("slide", kind, "table", "rod", axis=axis, limits=limits or Limits(0.0, 0.3)),
    )
    return ch.Robot(Description("slider", (Link("ground"), Link("table"), Link("rod")), joints))


def mimicking() -> ch.Robot:
    """Two rods, the second of which turns back twice as fast as the first one turns."""
    axis, ahead = np.array([0.0, 0.0, 1.0]), np.eye(4)
    ahead[0, 3] = 0.4
    joints = (
        Joint("first", "revolute", "ground", "rod", axis=axis),
        Joint("second", "revolute", "rod", "tip", ahead, axis=axis, mimic=Mimic("first", -2.0, 0.1)),
    )
    return ch.Robot(Description("mimicking", (Link("ground"), Link("rod"), Link("tip")), joints))


@pytest.mark.parametrize("name", ["panda", "scara", "slider", "mimicking"])
def test_distances_change_no_faster_than_their_bounds(name: str) -> None:
    """Motion bounds hold for random pairs of configurations, near and far, self-distances and obstacles alike."""
    robot = {"slider": slider, "mimicking": mimicking}.get(name, lambda: ch.load(name))()
    frames = [link.name for link in robot.description.links][1:]
    bodies = [Body(frame, [0.1, 0.0, -0.1], [0.0, 0.2, 0.1], radius=0.03) for frame in frames[-4:]]
    apart = ch.clearance(robot, bodies=bodies, obstacles=[Body(None, [0.4, 0.2, 0.5], radius=0.1), HalfSpace()])
    lower, upper = np.maximum(robot.lower_limits, -np.pi), np.minimum(robot.upper_limits, np.pi)
    bounds = motion_bounds(apart, lower, upper)
    rng = np.random.default_rng(0)
    q = rng.uniform(lower, upper, (2, 400, robot.nq))
    q[1, :200] = np.clip(q[0, :200] + 1e-3 * rng.standard_normal((200, robot.nq)), lower, upper)
    change = np.abs(apart.distances(q[1]) - apart.distances(q[0]))
    allowed = np.abs(q[1] - q[0]) @ bounds.T
    assert (change <= allowed + 1e-12).all()
    assert (change[:200] / allowed[:200]).max() > 0.3  # and they are no idle bounds


def test_edges_are_free_if_and_only_if_dense_samples_are() -> None:
    """Accepted edges keep the margin everywhere; refused ones come nearer than margin and resolution."""
    rng = np.random.default_rng(1)
    start, goal = SPACE.sample(rng, 400), SPACE.sample(rng, 400)
    way = SPACE.way(start, goal)
    free = SPACE.free_edges(start, goal)
    along = start[:, None] + np.linspace(0.0, 1.0, 1001)[:, None] * way[:, None]
    nearest = planar_distance(along).min(axis=1)
    assert 50 < free.sum() < 350
    assert (nearest[free] > SPACE.margin).all()
    assert (nearest[~free] < SPACE.margin + SPACE.resolution + 1e-4).all()


def test_a_needle_between_two_samples_is_not_missed() -> None:
    """An obstacle of 20 µm on the way of 2 m stops an edge whose ends are free."""
    needle = Body(None, [0.6, 0.2012345, 0.0], radius=1e-5)
    apart = ch.clearance(ch.load("planar2r"), bodies=[Body("link2", radius=0.0)], obstacles=[needle])
    space = ConfigurationSpace(apart, resolution=1e-6)
    tip = np.arctan2(0.2012345, 0.6)
    bend = np.arccos((0.6**2 + 0.2012345**2 - 0.3125) / 0.25)
    first = tip - np.arctan2(0.25 * np.sin(bend), 0.5 + 0.25 * np.cos(bend))
    assert space.free([[first - 1.5, bend], [first + 1.1, bend]]).all()
    assert not space.free_edges([first - 1.5, bend], [first + 1.1, bend])
    assert space.free_edges([first - 1.5, bend + 1e-3], [first + 1.1, bend + 1e-3])


@pytest.mark.parametrize("method", ["rrt-connect", "rrt", "prm"])
def test_every_method_leads_around_the_ball(method: str) -> None:
    found = ch.plan(BOUNDED, [0.0, 0.0], [1.2, 0.0], method=method, samples=600, seed=3)
    assert found.success, found.reason
    np.testing.assert_array_equal(found.waypoints[[0, -1]], [[0.0, 0.0], [1.2, 0.0]])
    shares = np.linspace(0.0, 1.0, 201)[:, None]
    along = np.concatenate(
        [a + shares * (b - a) for a, b in zip(found.waypoints[:-1], found.waypoints[1:], strict=True)]
    )
    assert planar_distance(along).min() > 0.01
    again = ch.plan(BOUNDED, [0.0, 0.0], [1.2, 0.0], method=method, samples=600, seed=3)
    np.testing.assert_array_equal(found.waypoints, again.waypoints)
    rough = ch.plan(BOUNDED, [0.0, 0.0], [1.2, 0.0], method=method, samples=600, seed=3, shortcuts=0)
    assert found.length < rough.length


def test_joints_that_turn_without_end_take_the_short_way_round() -> None:
    free = ConfigurationSpace(PLANAR.__class__(PLANAR.robot, RODS, [Body(None, [0.0, 0.0, 9.0], radius=0.1)], ()))
    path = ch.plan(free, [3.0, 0.0], [-3.0, 0.0])
    np.testing.assert_allclose(path.waypoints, [[3.0, 0.0], [2.0 * np.pi - 3.0, 0.0]])
    wall = Body(None, [-0.6, 0.0, 0.0], radius=0.2)
    apart = ch.clearance(ch.load("planar2r"), bodies=RODS, obstacles=[wall])
    round_it = ch.plan(apart, [2.2, 0.0], [-2.2, 0.0], method="prm", samples=500)
    assert round_it.success
    np.testing.assert_allclose(np.abs(round_it.waypoints[-1] - [-2.2, 0.0]) % (2.0 * np.pi), 0.0, atol=1e-9)
    assert (apart(round_it.waypoints) > 0.0).all()


def test_failures_say_what_is_wrong() -> None:
    start = ch.plan(PLANAR, [np.arctan2(0.35, 0.6), 0.0], [0.0, 0.0])
    assert not start.success
    assert start.reason == "the start is not free: 'link2' and 'ball' overlap by 150 mm"
    assert ch.plan(PLANAR, [0.0, 0.0], [0.5, 0.0]).reason.startswith("the goal is not free: 'link2' and 'ball'")
    near = ch.plan(PLANAR, [0.0, 0.0], [1.2, 0.0], margin=0.3)
    assert "mm apart; the margin is 301 mm" in near.reason
    outside = ch.plan(ConfigurationSpace(PLANAR, lower=[-1.0, -2.0], upper=[1.0, 2.0]), [0.0, 0.0], [1.2, 0.0])
    assert outside.reason == "the goal is not free: joint 'joint1' at 1.2 is outside of its range, -1 to 1"
    too_near = Body(None, [0.55, 0.3, 0.0], radius=0.1)  # the first rod cannot pass, and its joint has limits
    caught = ch.clearance(ch.load("planar2r"), bodies=RODS, obstacles=[too_near])
    between = ConfigurationSpace(caught, lower=BOUNDED.lower, upper=BOUNDED.upper)
    for method in ("rrt-connect", "rrt", "prm"):
        blocked = ch.plan(between, [0.0, 0.0], [1.2, 0.0], method=method, samples=60)
        assert not blocked.success
        assert blocked.reason.startswith("no path was found with 60 samples")
        assert not len(blocked.waypoints)
        with pytest.raises(ArgumentError, match="there is no path: no path was found"):
            blocked.to_trajectory()


def test_a_star_finds_what_a_roadmap_finds() -> None:
    roadmap = Roadmap(BOUNDED, 150, seed=2, include=[[0.0, 0.0], [1.2, 0.0]])
    found = a_star(roadmap.graph, 0, 1)
    assert roadmap.path([0.0, 0.0], [1.2, 0.0]).shape == roadmap.q[found.nodes].shape
    np.testing.assert_array_equal(roadmap.path([0.0, 0.0], [1.2, 0.0]), roadmap.q[found.nodes])
    np.testing.assert_allclose(found.cost, BOUNDED.lengths(np.diff(roadmap.q[found.nodes], axis=0)).sum())


def test_motions_that_nothing_limits_are_refused() -> None:
    path = ch.plan(BOUNDED, [0.0, 0.0], [-0.5, 0.0])
    assert repr(path) == f"<PlannedPath: {path.reason}>"
    with pytest.raises(ArgumentError, match="nothing limits the motion; give velocity= or acceleration="):
        path.to_trajectory(velocity=np.inf, acceleration=np.inf)


def test_robots_and_arguments_that_are_refused() -> None:
    with pytest.raises(ArgumentError, match="joint 'slide' has no limits on both sides; give lower= and upper="):
        ConfigurationSpace(ch.clearance(slider(Limits(0.0, np.inf)), bodies=[Body("rod", radius=0.1)]))
    with pytest.raises(ArgumentError, match=r"lock joint 'base' of robot 'planar2r' first"):
        ConfigurationSpace(ch.clearance(ch.load("planar2r").with_free_base(), bodies=RODS, obstacles=[BALL]))
    with pytest.raises(ArgumentError, match="the range of joint 'joint1' is empty: 1 to -1"):
        ConfigurationSpace(PLANAR, lower=1.0, upper=-1.0)
    with pytest.raises(ArgumentError, match="clearance must come from"):
        ConfigurationSpace(lambda q: 1.0)  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="there is no method 'rrt-star'"):
        ch.plan(PLANAR, [0.0, 0.0], [1.0, 0.0], method="rrt-star")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"the space has the margin 0\.01 m; leave margin= out"):
        ch.plan(SPACE, [0.0, 0.0], [1.0, 0.0], margin=0.05)
    with pytest.raises(ArgumentError, match="expected one trajectory of 2 joints"):
        SPACE.free_along(ch.PointToPoint(np.zeros(3), np.ones(3), 1.0))
    same = ch.plan(PLANAR, [0.0, 0.0], [0.0, 0.0])
    assert same.success
    with pytest.raises(ArgumentError, match="start and goal are the same"):
        same.to_trajectory()


def test_without_anything_to_hit_all_ways_are_free() -> None:
    space = ConfigurationSpace(ch.clearance(ch.load("planar2r"), bodies=RODS[:1]))
    assert space.free_edges([0.0, 0.0], [1.0, 1.0])
    assert Roadmap(space, 1).path([0.0, 0.0], [1.0, 1.0]).shape[0] >= 2


def test_slides_and_turns_are_searched_together() -> None:
    """The rod must be drawn in to pass the post; the roadmap's metric weighs metres against radians."""
    post = Body(None, [0.5, 0.0, 0.0], radius=0.05, name="post")
    apart = ch.clearance(slider(), bodies=[Body("rod", end=[0.3, 0.0, 0.0], radius=0.01)], obstacles=[post])
    path = ch.plan(apart, [-0.6, 0.3], [0.6, 0.3], seed=1)
    assert path.success
    assert path.waypoints[:, 1].min() < 0.14
    q = path.to_trajectory(velocity=1.0)(np.linspace(0.0, 60.0, 5001)).q
    tip, base = q[:, 1] + 0.3, q[:, 1]
    share = np.clip(0.5 * np.cos(q[:, 0]), base, tip)
    nearest = np.hypot(share * np.cos(q[:, 0]) - 0.5, share * np.sin(q[:, 0]))
    assert nearest.min() > 0.06


def test_a_panda_among_obstacles_moves_within_its_limits() -> None:
    """The planned motion is proven free, as dense samples are, and keeps position, velocity and torque limits."""
    arm = ch.load("panda")
    links = [
        Body("panda_link2", [0.0, 0.0, 0.0], [0.0, -0.3, 0.0], radius=0.06),
        Body("panda_link4", [-0.08, 0.0, 0.0], [-0.08, 0.1, 0.0], radius=0.05),
        Body("panda_link5", [0.0, 0.0, -0.25], [0.0, 0.05, -0.1], radius=0.05),
        Body("panda_link7", radius=0.07, name="wrist"),
    ]
    post = Body(None, [0.5, 0.0, 0.0], [0.5, 0.0, 0.8], radius=0.05, name="post")
    beam = Body(None, [0.3, -0.5, 0.75], [0.3, 0.5, 0.75], radius=0.03, name="beam")
    apart = ch.clearance(arm, bodies=links, obstacles=[post, beam, HalfSpace(name="floor")])
    start, goal = arm.home.copy(), arm.home.copy()
    start[0], goal[0] = 0.9, -0.9
    path = ch.plan(apart, start, goal, margin=0.02)
    assert path.success, path.reason
    motion = path.to_trajectory(acceleration=4.0)
    assert path.space.free_along(motion).all()
    q = motion(np.linspace(0.0, motion.duration, 3001)).q
    assert apart(q).min() > 0.02
    report = ch.check(arm, motion, acceleration=4.0 * (1.0 + 1e-6))
    assert report.ok, str(report)
    assert np.nanmax(report.share[:3]) > 0.99  # and no slower than they ask for
    np.testing.assert_allclose(motion([0.0, motion.duration]).q, [start, goal], atol=1e-12)
    np.testing.assert_allclose(motion([0.0, motion.duration]).qd, 0.0, atol=1e-9)
    slower = path.to_trajectory(duration=4.0 * motion.duration)
    assert slower.duration == pytest.approx(4.0 * motion.duration)
    np.testing.assert_allclose(slower(2.0 * motion.duration).q, motion(0.5 * motion.duration).q, atol=1e-9)
    straight = ch.PointToPoint(start, goal, 2.0)
    assert not path.space.free_along(straight).all()
