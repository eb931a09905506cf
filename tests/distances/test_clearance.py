"""Distances of capsules, spheres and half-spaces: against Coal, closed forms, differences; pairs, fits and limits."""

from __future__ import annotations

import re
from pathlib import Path

import coal
import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.distances import Body, ClearanceLimit, HalfSpace, fitted_bodies
from chasles.geometry import exp_rotation
from chasles.geometry.elementary import rotation_taking_z_to
from chasles.inverse_kinematics import DampingTask, FrameTask, PositionTask, PostureTask, solve_rates
from chasles.model import Box, Capsule, Cylinder, Description, Ellipsoid, Joint, Link, Mesh, Shape, Sphere

PANDA = ch.load("panda")
LINKS = [
    Body("panda_link2", [0.0, 0.0, 0.0], [0.0, -0.2, 0.0], radius=0.06),
    Body("panda_link4", [-0.08, 0.0, 0.0], [-0.08, 0.1, 0.0], radius=0.05),
    Body("panda_link5", [0.0, 0.0, -0.25], [0.0, 0.05, -0.1], radius=0.05),
    Body("panda_link7", radius=0.07, name="wrist"),
]


def distance_by_coal(first: Body, second: Body, poses: tuple[np.ndarray, np.ndarray]) -> float:
    """Distance by the library Coal."""
    made = []
    for body, T in zip((first, second), poses, strict=True):
        start, end = (T[:3, :3] @ point + T[:3, 3] for point in (body.start, body.end))
        length = float(np.linalg.norm(end - start))
        if length == 0.0:
            made.append((coal.Sphere(body.radius), coal.Transform3s(np.eye(3), start)))
        else:
            R = rotation_taking_z_to((end - start) / length)
            made.append((coal.Capsule(body.radius, length), coal.Transform3s(R, 0.5 * (start + end))))
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    return float(coal.distance(*made[0], *made[1], request, result))


def test_distances_are_those_of_coal() -> None:
    """Random capsules and spheres in the world, apart from each other; parallel and touching ends too."""
    rng = np.random.default_rng(0)
    mover = ch.Robot(Description("free", (Link("world"), Link("body")), (Joint("base", "free", "world", "body"),)))
    for kind in range(4):
        first = Body("body", [-0.3, 0.0, 0.0], None if kind & 1 else [0.4, 0.1, 0.0], radius=0.1)
        second = Body(None, [0.0, 0.0, 0.2], None if kind & 2 else [0.0, 0.5, -0.1], radius=0.05)
        apart = ch.clearance(mover, bodies=[first], obstacles=[second])
        q = mover.random_configuration(rng, (60,), reach=1.0)
        found = apart(q)
        poses = mover.forward_kinematics(q, target="body")
        expected = np.array([distance_by_coal(first, second, (T, np.eye(4))) for T in poses])
        clear = expected > 1e-3  # Coal is less exact where bodies overlap
        np.testing.assert_allclose(found[clear], expected[clear], atol=1e-6)
        assert (found[~clear] < 2e-3).all()


def test_parallel_segments_and_axes_that_meet() -> None:
    mover = ch.Robot(Description("free", (Link("world"), Link("body")), (Joint("base", "free", "world", "body"),)))
    bar = Body("body", [-0.5, 0.0, 0.0], [0.5, 0.0, 0.0], radius=0.1)
    wall = Body(None, [-0.5, 0.0, 0.0], [0.5, 0.0, 0.0], radius=0.1)
    apart = ch.clearance(mover, bodies=[bar], obstacles=[wall])
    q = np.tile(mover.neutral, (4, 1))
    q[:, 4:] = [[0.0, 1.0, 0.0], [1.7, 0.0, 0.0], [0.0, 0.0, 0.0], [0.3, 0.0, -0.4]]
    np.testing.assert_allclose(apart(q), [0.8, 0.5, -0.2, 0.2], atol=1e-9)
    assert np.isfinite(apart.distances_and_jacobian(q)[1]).all()


def test_jacobians_are_exact() -> None:
    obstacles = [
        Body(None, [0.5, 0.3, 0.4], [0.3, -0.5, 0.6], radius=0.05),
        Body(None, [0.2, 0.1, 1.1], radius=0.1),
        HalfSpace(),
    ]
    for robot in (PANDA, PANDA.with_free_base()):
        apart = ch.clearance(robot, bodies=LINKS, obstacles=obstacles)
        assert len(apart.pairs) == 5 + 3 * 4  # link4 and link5, link7 and others: only link4-link5 are joined
        q = robot.random_configuration(1, (20,))
        distances, J = apart.distances_and_jacobian(q)
        h = 1e-6
        for k in range(robot.n):
            step = h * np.eye(robot.n)[k]
            rate = (apart.distances(robot.integrate(q, step)) - apart.distances(robot.integrate(q, -step))) / (2.0 * h)
            np.testing.assert_allclose(J[..., k], rate, atol=2e-7)
        np.testing.assert_allclose(apart(q), distances.min(axis=-1), atol=1e-15)
        gradient = apart.smallest.jacobian()(q)
        rates = np.moveaxis(robot.configuration_rate.specialize().jacobian(wrt="qd")(q, np.zeros(robot.n)), -1, 0)
        exact = np.take_along_axis(J, distances.argmin(axis=-1)[:, None, None], axis=1)[:, 0]
        np.testing.assert_allclose(np.einsum("kbi,bi->bk", rates, gradient), exact, atol=1e-9)


def test_it_is_traced_into_functions_of_users() -> None:
    apart = ch.clearance(PANDA, bodies=LINKS, obstacles=[HalfSpace(name="floor")])

    @ch.function(q=(7,))
    def barrier(q):
        return 1.0 / apart(q)

    q = PANDA.home
    np.testing.assert_allclose(barrier(q), 1.0 / apart(q))
    assert apart.nearest(q) in apart.pairs


def test_pairs_that_joints_connect_or_the_user_names_are_left_out() -> None:
    plain = ch.clearance(PANDA, bodies=LINKS)
    names = {frozenset(pair) for pair in plain.pairs}
    assert frozenset(("panda_link4", "panda_link5")) not in names
    assert frozenset(("panda_link2", "panda_link5")) in names
    fewer = ch.clearance(PANDA, bodies=LINKS, ignore=[("panda_link2", "wrist")])
    assert names - {frozenset(pair) for pair in fewer.pairs} == {frozenset(("panda_link2", "wrist"))}
    assert ch.clearance(PANDA, bodies=LINKS[:1])(PANDA.home) == np.inf


@pytest.mark.parametrize(
    ("geometry", "surface"),
    [
        (Box([0.1, 0.4, 0.2]), "box"),
        (Box([0.2, 0.2, 0.2]), "box"),
        (Cylinder(0.1, 0.3), "cylinder"),
        (Ellipsoid([0.1, 0.3, 0.2]), "ellipsoid"),
        (Capsule(0.1, 0.2), "capsule"),
        (Sphere(0.2), "sphere"),
    ],
)
def test_fits_enclose_shapes_and_touch_them(geometry: object, surface: str) -> None:
    rng = np.random.default_rng(5)
    directions = rng.normal(size=(20000, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    if surface == "box":
        points = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]) * geometry.size
    elif surface == "ellipsoid":
        points = directions * geometry.radii
    elif surface == "sphere":
        points = directions * geometry.radius
    else:
        side = directions[:, :2] / np.linalg.norm(directions[:, :2], axis=1, keepdims=True)
        points = np.c_[geometry.radius * side, geometry.length * rng.choice([-0.5, 0.5], len(side))]
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = exp_rotation([0.3, 0.5, -0.2]), [0.1, 0.2, 0.3]
    (body,) = fitted_bodies(Description("one", (Link("link", collisions=(Shape(geometry, T),)),)))
    points = points @ T[:3, :3].T + T[:3, 3]
    way = body.end - body.start
    share = np.clip((points - body.start) @ way / max(way @ way, 1e-30), 0.0, 1.0)
    depth = body.radius - np.linalg.norm(points - body.start - share[:, None] * way, axis=1)
    assert depth.min() > -1e-9
    assert depth.min() < 2e-3


def test_meshes_are_enclosed(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    points = rng.uniform(-1.0, 1.0, (60, 3)) * [0.05, 0.08, 0.4]
    lines = [f"v {x} {y} {z}" for x, y, z in points] + [f"f {k + 1} {k + 2} {k + 3}" for k in range(58)]
    (tmp_path / "stone.obj").write_text("\n".join(lines))
    mesh = Mesh("stone.obj", scale=[2.0, 2.0, 2.0], folder=str(tmp_path))
    (body,) = fitted_bodies(Description("one", (Link("link", collisions=(Shape(mesh),)),)))
    way, points = body.end - body.start, 2.0 * points
    share = np.clip((points - body.start) @ way / (way @ way), 0.0, 1.0)
    assert np.linalg.norm(points - body.start - share[:, None] * way, axis=1).max() <= body.radius + 1e-9
    assert body.radius < 0.25  # 0.8 m long, and slim


def test_the_unit_of_a_mesh_file_counts(tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    trimesh.creation.box([100.0, 20.0, 20.0]).export(tmp_path / "bar.dae")
    text = (tmp_path / "bar.dae").read_text()
    unit = '<unit meter="0.01" name="centimeter"/>'
    changed = re.sub(r"<unit [^>]*/>", unit, text) if "<unit" in text else text.replace("<asset>", f"<asset>{unit}")
    (tmp_path / "bar.dae").write_text(changed)
    bar = Description("bar", (Link("bar", collisions=(Shape(Mesh("bar.dae", folder=str(tmp_path))),)),))
    (body,) = fitted_bodies(bar)
    assert body.radius == pytest.approx(np.hypot(0.1, 0.1), rel=1e-6)  # about a bar of 1 m x 0.2 m x 0.2 m
    assert body.end - body.start == pytest.approx([1.0, 0.0, 0.0], abs=1e-6)


def test_a_robot_of_a_file_has_pairs_of_its_own() -> None:
    limit = '<limit lower="-1" upper="2" effort="1" velocity="1"/>'
    text = f"""<robot name="r">
    <link name="a"><collision><geometry><box size="0.1 0.1 0.4"/></geometry></collision></link>
    <link name="b"/>
    <link name="c"><collision><geometry><sphere radius="0.1"/></geometry></collision></link>
    <joint name="j" type="prismatic"><parent link="a"/><child link="b"/><axis xyz="1 0 0"/>{limit}</joint>
    <joint name="k" type="revolute"><parent link="b"/><child link="c"/><origin xyz="0.5 0 0"/>{limit}</joint>
    </robot>"""
    from chasles.model.formats.urdf import parse_urdf

    robot = ch.Robot(parse_urdf(text, check=False))
    apart = ch.clearance(robot)
    assert apart.pairs == (("a", "c"),)
    np.testing.assert_allclose(apart([0.0, 0.5]), 0.5 - 0.1 - np.hypot(0.05, 0.05), atol=1e-9)


def test_rates_keep_the_distance_while_the_tool_goes_on() -> None:
    """The goal lies behind a ball; without the limit the wrist goes through it."""
    start = PANDA.home
    T = PANDA.forward_kinematics(start)
    goal = T.copy()
    goal[1, 3] += 0.4
    wrist = PANDA.forward_kinematics(start, target="panda_link7")[:3, 3]
    ball = Body(None, wrist + np.array([0.02, 0.2, 0.0]), radius=0.06, name="ball")
    apart = ch.clearance(PANDA, bodies=[Body("panda_link7", radius=0.05)], obstacles=[ball])
    limit = ClearanceLimit(apart, margin=0.01)
    tasks = [PositionTask(goal[:3, 3], gain=4.0), PostureTask(start, cost=1e-2), DampingTask(1e-3)]
    closest = {}
    for limits in ([], [limit]):
        q, found = start.copy(), []
        for _ in range(300):
            q = q + 0.01 * solve_rates(PANDA, q, tasks, 0.01, limits=limits).qd
            found.append(float(apart(q)))
        closest[len(limits)] = min(found)
    assert closest[0] < 0.0
    assert closest[1] > 0.0095


def test_inequalities_hold_on_floating_bases_too() -> None:
    robot = PANDA.with_free_base()
    apart = ch.clearance(robot, bodies=LINKS, obstacles=[HalfSpace([0.0, 0.0, -0.3], name="floor")])
    q = robot.home.copy()
    down = robot.forward_kinematics(q, target="panda_link0")
    down[2, 3] -= 1.0
    hold = [FrameTask(down, "panda_link0", gain=2.0), PostureTask(robot.home, cost=1.0)]
    for _ in range(200):
        q = robot.integrate(q, 0.02 * solve_rates(robot, q, hold, 0.02, limits=[ClearanceLimit(apart, margin=0.05)]).qd)
    assert float(apart(q)) == pytest.approx(0.05, abs=5e-3)


def test_bad_bodies_are_refused() -> None:
    for call, text in (
        (lambda: Body("panda_link2", radius=-1.0), "radius"),
        (lambda: Body("panda_link2", [0.0, np.nan, 0.0], radius=0.1), "start"),
        (lambda: HalfSpace(normal=[0.0, 0.0, 0.0]), "normal"),
        (lambda: ch.clearance(PANDA, bodies=[Body(None, radius=0.1)]), "is on no link"),
        (lambda: ch.clearance(PANDA, bodies=LINKS, obstacles=[LINKS[0]]), "is on a link"),
        (lambda: ch.clearance(ch.load("planar2r")), "no collision shapes"),
        (lambda: ch.clearance(PANDA, bodies=LINKS[:1]).nearest(PANDA.home), "no pairs"),
        (
            lambda: ClearanceLimit(ch.clearance(PANDA, bodies=LINKS), fraction=0.0).inequalities(
                PANDA, PANDA.home, 0.1
            ),
            "fraction",
        ),
    ):
        with pytest.raises(ArgumentError, match=text):
            call()
    with pytest.raises(LookupError, match="nowhere"):
        ch.clearance(PANDA, bodies=[Body("nowhere", radius=0.1)])
    with pytest.raises(LookupError, match="nothing"):
        ch.clearance(PANDA, bodies=LINKS, ignore=[("nothing", "wrist")])
