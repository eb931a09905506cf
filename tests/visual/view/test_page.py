"""A robot's page in a browser: its numbers are Python's, and it can be moved by sliders, handles, keys and fingers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.visual.browser import Tab

import chasles as ch
from chasles.inverse_kinematics.jacobians import velocity_ellipsoid
from chasles.model import Description, Joint, Link, Mesh, Shape, Sphere
from chasles.visual.view.page import view_page


def _shown(tab: Tab) -> tuple[np.ndarray[Any, Any], ...]:
    """Joint positions, tool pose, Jacobian, torques, and lengths of the ellipsoid, as the page has them."""
    values = tab.ask(
        """(() => { const { q, mechanism, mass } = page, { T, J } = mechanism.tool(q);
        return [[...q], [...T], [...J], [...mechanism.gravity(q, mass)], mechanism.ellipsoid(J).lengths, mass]; })()"""
    )
    return tuple(map(np.array, values))


@pytest.mark.parametrize("name", ["panda", pytest.param("puma560", marks=pytest.mark.slow), "planar2r"])
def test_numbers_are_those_of_python(opened: Any, name: str) -> None:
    robot = ch.load(name)
    tab = opened(robot)
    for k, joint in enumerate(robot.joint_names):
        tab.ask(f"slide({joint!r}, {20.0 + 7.0 * k})")
    tab.ask("slide('payload', 1.7)")
    q, T, J, g, lengths, mass = _shown(tab)
    expected = np.radians(20.0 + 7.0 * np.arange(robot.n))
    np.testing.assert_allclose(q, np.clip(expected, robot.lower_limits, robot.upper_limits), atol=1e-12)
    np.testing.assert_allclose(T.reshape(4, 4), robot.forward_kinematics(q), atol=1e-12)
    jacobian = robot.jacobian(q, frame="world-aligned")
    np.testing.assert_allclose(J.reshape(6, -1), jacobian, atol=1e-12)
    np.testing.assert_allclose(g, robot.gravity_torque(q, vary={"payload.mass": float(mass)}), rtol=1e-12, atol=1e-12)
    ellipsoid = velocity_ellipsoid(jacobian[3:])
    np.testing.assert_allclose(lengths[: len(ellipsoid.lengths)], ellipsoid.lengths[:3], atol=1e-12)
    assert tab.complaints() == []


def test_the_picture_shows_the_links_where_python_has_them(opened: Any, panda: ch.Robot) -> None:
    tab = opened(panda)
    links, places = tab.ask("[page.scene.scene.links, page.scene.posesNow().map(T => [...T])]")
    for link, T in zip(links, places, strict=True):
        expected = panda.forward_kinematics(panda.home, target=link)
        np.testing.assert_allclose(np.array(T).reshape(4, 4).T, expected, atol=1e-6)
    assert tab.ask("new Set(new Uint32Array(painted().buffer)).size") > 100  # colors: it is no empty view
    assert tab.ask("page.scene.graphics.gl.getError()") == 0
    # Some room is left at all sides, and no more than needed at two that are opposite.
    places = np.array(tab.ask("page.scene.scene.outline.map(p => page.scene.camera.project(p))"))
    size = np.array(tab.ask("[page.scene.canvas.clientWidth, page.scene.canvas.clientHeight]"))
    free = np.array([places.min(axis=0), size - places.max(axis=0)]) / size
    tight = free.min(axis=0).argmin()
    np.testing.assert_allclose(free[:, tight], 0.1, atol=1e-6)


def test_the_page_is_small_and_alone(panda: ch.Robot) -> None:
    page = view_page(panda, panda.home, title="panda")
    assert len(page.encode()) < 250_000
    assert "connect-src 'none'" in page
    assert "http" not in page.replace("http-equiv", "")


def _drag(tab: Tab, start: list[float], way: tuple[float, float], kind: str = "mouse") -> None:
    x, y = start
    steps = [(x + f * way[0], y + f * way[1]) for f in (0.2, 0.4, 0.6, 0.8, 1.0)]
    if kind == "mouse":
        tab.mouse("Pressed", x, y, buttons=1)
        for step in steps:
            tab.mouse("Moved", *step, buttons=1)
        tab.mouse("Released", *steps[-1])
        return
    tab.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
    for to_x, to_y in steps:
        tab.call("Input.dispatchTouchEvent", type="touchMove", touchPoints=[{"x": to_x, "y": to_y}])
    tab.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])


def _handle(tab: Tab, kind: str, axis: int, point: int) -> list[float]:
    """Place in the window of a point of a handle."""
    place = f"page.gizmo.handles().find(h => h.kind === '{kind}' && h.axis === {axis}).points[{point}]"
    found: list[float] = tab.ask(
        f"(({{ left, top }}, p) => [left + p[0], top + p[1]])(find('canvas').getBoundingClientRect(), {place})"
    )
    return found


@pytest.mark.parametrize("kind", [pytest.param("mouse", marks=pytest.mark.slow), "touch"])
def test_the_tool_follows_its_handles(opened: Any, panda: ch.Robot, kind: str) -> None:
    tab = opened(panda)
    before = panda.forward_kinematics(panda.home)
    _drag(tab, _handle(tab, "arrow", 2, 4), (0.0, -60.0), kind)  # upward along the world's z
    q, T, *_ = _shown(tab)
    T = T.reshape(4, 4)
    np.testing.assert_allclose(T, panda.forward_kinematics(q), atol=1e-12)
    np.testing.assert_allclose(T[:3, :3], before[:3, :3], atol=1e-8)
    np.testing.assert_allclose(T[:2, 3], before[:2, 3], atol=1e-8)
    assert T[2, 3] > before[2, 3] + 0.05
    assert (q >= panda.lower_limits).all()
    assert (q <= panda.upper_limits).all()
    _drag(tab, _handle(tab, "ring", 2, 3), (25.0, 10.0), kind)  # about the vertical
    turned = _shown(tab)[1].reshape(4, 4)
    np.testing.assert_allclose(turned[:3, 3], T[:3, 3], atol=1e-8)
    np.testing.assert_allclose(turned[:3, 2], T[:3, 2], atol=1e-8)
    assert np.abs(turned[:2, 0] - T[:2, 0]).max() > 0.05
    assert tab.complaints() == []


def test_a_place_out_of_reach_is_said_and_limits_hold(opened: Any, panda: ch.Robot) -> None:
    tab = opened(panda)
    tab.ask("page.drag([1, 0, 0, 3, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1])")
    assert "Not reached" in tab.ask("find('.status').textContent")
    q, T, *_ = _shown(tab)
    assert (q >= panda.lower_limits).all()
    assert (q <= panda.upper_limits).all()
    assert np.isfinite(T).all()


def test_the_pose_of_the_tool_can_be_typed(opened: Any, panda: ch.Robot) -> None:
    tab = opened(panda)
    before = panda.forward_kinematics(panda.home)
    write = "(field => {{ field.value = '{}'; field.dispatchEvent(new Event('change')); }})(page.tool.values[{}])"
    tab.ask(write.format("0.35", 0))
    T = _shown(tab)[1].reshape(4, 4)
    np.testing.assert_allclose(T[:3, 3], [0.35, *before[1:3, 3]], atol=1e-8)
    np.testing.assert_allclose(T[:3, :3], before[:3, :3], atol=1e-8)
    tab.ask("choose('Drag', 'position')")
    tab.ask(write.format("30", 5))  # a typed angle counts all the same
    turned = _shown(tab)[1].reshape(4, 4)
    np.testing.assert_allclose(turned[:3, 3], T[:3, 3], atol=1e-8)
    expected = ch.geometry.rotation_z(np.radians(30.0)) @ T[:3, :3]  # yaw was 0
    np.testing.assert_allclose(turned[:3, :3], expected, atol=1e-8)
    tab.ask(write.format("", 1))
    np.testing.assert_allclose(_shown(tab)[1].reshape(4, 4), turned, atol=1e-12)
    tab.ask(write.format("9", 2))
    assert "Not reached" in tab.ask("find('.status').textContent")
    assert tab.complaints() == []


def test_long_lists_of_joints_can_be_searched(opened: Any) -> None:
    tab = opened(_chain(13, 0.1))
    tab.ask("(field => { field.value = '13'; field.dispatchEvent(new Event('input')); })(find('.filter'))")
    shown = "[...document.querySelectorAll('.row:not(.wide)')].filter(row => row.checkVisibility()).length"
    assert tab.ask(shown) == 1
    sizes = "[...new Set([...document.querySelectorAll('.row .name')].map(x => getComputedStyle(x).fontSize))].length"
    assert tab.ask(sizes) == 1


def test_dragging_costs_less_than_a_frame(opened: Any, panda: ch.Robot) -> None:
    """The fastest of twenty groups of ten steps: what else the machine does makes the other groups slower."""
    tab = opened(panda)
    milliseconds = tab.ask(
        """(() => { const T = [...page.gizmo.T]; let q = page.q, fastest = Infinity;
        for (let group = 0; group < 20; group++) {
          const start = performance.now();
          for (let k = 10 * group; k < 10 * group + 10; k++) {
            T[7] = 0.1 * Math.sin(0.1 * k);
            q = page.mechanism.reach(q, T, true).q;
            page.mechanism.places(q); page.mechanism.tool(q); page.mechanism.gravity(q, 1);
          }
          fastest = Math.min(fastest, (performance.now() - start) / 10);
        }
        return fastest; })()"""
    )
    assert milliseconds < 8.0  # 0.2 on a quiet machine


def test_keys_move_joints_and_the_camera(opened: Any, panda: ch.Robot) -> None:
    tab = opened(panda)
    tab.ask("find('input[type=range]').focus()")
    for _ in range(3):
        tab.call(
            "Input.dispatchKeyEvent", type="keyDown", key="ArrowRight", code="ArrowRight", windowsVirtualKeyCode=39
        )
    np.testing.assert_allclose(_shown(tab)[0][0], np.radians(3.0), atol=1e-12)
    azimuth = tab.ask("page.scene.camera.azimuth")
    tab.ask("find('canvas').focus()")
    tab.call("Input.dispatchKeyEvent", type="keyDown", key="ArrowLeft", windowsVirtualKeyCode=37)
    assert tab.ask("page.scene.camera.azimuth") != azimuth


def test_dark_and_narrow(opened: Any, panda: ch.Robot) -> None:
    tab = opened(panda)
    tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    tab.call("Emulation.setDeviceMetricsOverride", width=400, height=800, deviceScaleFactor=2, mobile=True)
    tab.ask("frames(3)")
    assert max(tab.ask("[...painted().subarray(0, 3)]")) < 60
    right = "x.getBoundingClientRect().right > 401 && !x.closest('.cameras')"
    assert tab.ask(f"[...document.querySelectorAll('body *')].filter(x => {right}).length") == 0
    assert tab.ask("document.documentElement.scrollWidth") <= 400
    tab.ask("find('.theme').click(), frames(2)")
    assert min(tab.ask("[...painted().subarray(0, 3)]")) > 200


def _chain(joints: int, length: float) -> ch.Robot:
    return ch.Robot.from_dh([{"a": length, "alpha": 1.57 * (k % 2), "mass": 0.1} for k in range(joints)], name="chain")


@pytest.mark.parametrize(
    ("joints", "length"),
    [
        (0, 0.0),
        pytest.param(1, 0.0, marks=pytest.mark.slow),
        (1, 0.02),
        pytest.param(500, 0.02, marks=pytest.mark.slow),
    ],
)
def test_robots_of_any_size_are_shown(opened: Any, joints: int, length: float) -> None:
    stone = ch.Robot(Description("stone", links=(Link("base"),), joints=()))
    robot = _chain(joints, length) if joints else stone
    tab = opened(robot)
    q, T, *_ = _shown(tab)
    np.testing.assert_allclose(T.reshape(4, 4), robot.forward_kinematics(q), atol=1e-12 * max(joints, 1))
    assert tab.ask("document.querySelectorAll('.panels .row:not(.wide)').length") == joints
    assert tab.ask("new Set(new Uint32Array(painted().buffer)).size") > 20
    assert tab.ask("find('.notice').textContent") == ""
    assert tab.complaints() == []


def test_free_bases_and_balls_have_angles(opened: Any) -> None:
    joints = (
        Joint("float", "free", "world", "body"),
        Joint("ball", "spherical", "body", "head", T_parent_joint=ch.geometry.pose(np.eye(3), [0.0, 0.0, 0.4])),
    )
    robot = ch.Robot(Description("diver", links=(Link("world"), Link("body"), Link("head")), joints=joints))
    tab = opened(robot)
    tab.ask("slide('float yaw', 90), slide('float.x', 250), slide('ball roll', 30)")
    q, T, *_ = _shown(tab)
    np.testing.assert_allclose(np.linalg.norm(q[:4]), 1.0, atol=1e-12)
    np.testing.assert_allclose(T.reshape(4, 4), robot.forward_kinematics(q), atol=1e-12)
    expected = ch.geometry.rotation_z(np.pi / 2) @ ch.geometry.rotation_x(np.pi / 6)
    np.testing.assert_allclose(T.reshape(4, 4)[:3, :3], expected, atol=1e-12)
    assert tab.ask("page.mechanism.dragged")  # see test_dragging
    assert tab.complaints() == []


def test_positions_that_are_no_numbers_are_said(opened: Any, panda: ch.Robot) -> None:
    tab = opened(panda)
    tab.ask("page.move(page.q.map(() => NaN))")
    assert "no pose" in tab.ask("find('.notice').textContent")
    tab.ask("find('.go-home').click()")
    assert tab.ask("find('.notice').textContent") == ""
    assert tab.complaints() == []


def test_a_lost_graphics_card_is_said_and_the_picture_returns(opened: Any, panda: ch.Robot) -> None:
    tab = opened(panda)
    kept = tab.ask("new Set(new Uint32Array(painted().buffer)).size")
    tab.ask("(window.loss = page.scene.graphics.gl.getExtension('WEBGL_lose_context')).loseContext(), frames(3)")
    assert "graphics card" in tab.ask("find('.notice').textContent")
    tab.ask("slide('panda_joint1', 10)")  # goes on computing
    tab.ask("loss.restoreContext(), new Promise(done => setTimeout(done, 300))")
    assert tab.ask("find('.notice').textContent") == ""
    assert tab.ask("new Set(new Uint32Array(painted().buffer)).size") > 0.5 * kept


def test_without_webgl_the_numbers_remain(shown: Any, panda: ch.Robot, tmp_path: Path) -> None:
    page = view_page(panda, panda.home, title="panda")
    path = tmp_path / "view.html"
    path.write_text(
        page.replace("<script>", "<script>HTMLCanvasElement.prototype.getContext = () => null;</script><script>", 1)
    )
    tab = shown(path)
    assert "cannot be drawn here: this browser offers no WebGL 2" in tab.ask("find('.notice').textContent")
    tab.ask("slide('panda_joint1', 30)")
    np.testing.assert_allclose(_shown(tab)[0][0], np.radians(30.0), atol=1e-12)
    assert tab.complaints() == []


@pytest.mark.parametrize("name", ["]]></script><script>alert(1)</script><!--<script>a'b\"c"])
def test_hostile_names_stay_text(opened: Any, name: str) -> None:
    robot = ch.Robot.from_dh([{"a": 0.3, "name": name}], name=name)
    tab = opened(robot)
    assert tab.ask("find('h1').textContent") == robot.name
    assert tab.ask("find('.row .name').textContent") == robot.joint_names[0]
    assert tab.complaints() == []


def _bodied(path: Path) -> ch.Robot:
    """A bar with a mesh of its own, a sphere with half its light, and a link whose file is missing."""
    trimesh = pytest.importorskip("trimesh")
    trimesh.creation.box([0.1, 0.1, 0.4]).export(path / "bar.stl")
    links = (
        Link("base", visuals=(Shape(Mesh("bar.stl", folder=str(path)), rgba=(1.0, 0.0, 0.0, 1.0)),)),
        Link("arm", visuals=(Shape(Sphere(0.1), rgba=(0.0, 0.0, 1.0, 0.5)),), collisions=(Shape(Sphere(0.2)),)),
        Link("hand", visuals=(Shape(Mesh("gone.stl", folder=str(path))),)),
    )
    place = ch.geometry.pose(np.eye(3), [0.0, 0.0, 0.3])
    joints = (
        Joint("turn", "revolute", "base", "arm", place, axis=[0.0, 1.0, 0.0]),
        Joint("wrist", "revolute", "arm", "hand", place, axis=[0.0, 1.0, 0.0]),
    )
    return ch.Robot(Description("bodied", links, joints))


def test_bodies_are_shown_with_their_colors_and_what_is_missing_is_said(opened: Any, tmp_path: Path) -> None:
    tab = opened(_bodied(tmp_path))
    tab.ask("page.scene.unpacked")
    assert tab.ask("Object.keys(page.scene.surfaces)") == ["visual", "collision"]
    assert "gone.stl' is not there" in tab.ask("find('.missing').textContent")
    red = """(() => { page.gizmo.shown = false; const pixels = painted(); let count = 0;
    for (let k = 0; k < pixels.length; k += 4) if (pixels[k] > 90 && pixels[k + 1] < 60 && pixels[k + 2] < 60) count++;
    return count; })()"""
    shown = tab.ask(red)
    assert shown > 500
    vertices = np.array(tab.ask("[...page.scene.surfaces.visual[0]]")).reshape(-1, 7)
    np.testing.assert_allclose(np.ptp(vertices[:, :3], axis=0), [0.1, 0.1, 0.4], atol=1e-5)
    np.testing.assert_allclose(np.abs(vertices[:, 4:]).max(axis=1), 1.0, atol=1e-3)  # edges of a box are sharp
    tab.ask("choose('Bodies', 'drawn')")
    assert tab.ask(red) < 0.2 * shown
    tab.ask("choose('Bodies', 'visual'), page.scene.graphics.gl.getExtension('WEBGL_lose_context').loseContext()")
    tab.ask("frames(2)")
    assert tab.complaints() == []


def _moving_pair(opened: Any) -> Tab:
    """A page with two motions of 0.6 s."""
    q = np.linspace([0.0, 0.0], [1.0, 0.5], 5)
    recording = {"times": np.linspace(0.0, 0.6, 5), "runs": {"one": q, "two": 0.5 * q}}
    tab: Tab = opened(ch.load("planar2r"), recording=recording)
    return tab


@pytest.mark.slow
def test_a_motion_is_saved_as_a_movie(opened: Any) -> None:
    """The whole motion, however long the encoder takes until it records: here longer than the motion."""
    tab = _moving_pair(opened)
    moments, kind, size = tab.ask(
        """(async () => { const moments = [], { start, stop } = MediaRecorder.prototype;
        MediaRecorder.prototype.start = function () {
          this.addEventListener("start", () => moments.push(page.player.time));
          setTimeout(() => start.call(this), 1000);
        };
        MediaRecorder.prototype.stop = function () { moments.push(page.player.time); stop.call(this); };
        const movie = await page.player.movie();
        return [moments, movie.type, movie.size]; })()"""
    )
    assert moments == [0.0, 0.6]
    assert kind.startswith("video/")
    assert size > 500
    assert tab.ask("page.ghostConfigurations.length") == 1  # the other run
    assert tab.ask("page.scene.otherTraces.length") == 1
    assert tab.complaints() == []


def test_a_browser_that_saves_no_movie_says_so(opened: Any) -> None:
    tab = _moving_pair(opened)
    said = """(async () => {
        MediaRecorder.prototype.start = () => { throw new Error("no encoder"); };
        find('.movie').click();
        await frames(3);
        return [find('.notice').textContent, find('.movie').disabled, page.gizmo.shown, page.scene.keepsFine]; })()"""
    assert tab.ask(said) == ["This browser saves no movie: no encoder", False, True, False]


def test_several_robots_stand_in_one_scene(opened: Any, panda: ch.Robot) -> None:
    arm = ch.load("planar2r")
    q = np.linspace([0.0, 0.0], [1.0, 0.5], 5)
    recording = {"times": np.linspace(0.0, 0.4, 5), "runs": {"panda": panda.home + 0.1 * np.arange(5)[:, None]}}
    tab = opened(panda, companions=[(arm, q), (panda, panda.home)], recording=recording)
    assert tab.ask("page.scene.companions.length") == 2
    tab.ask("slide('time', 0.2)")
    link = arm.frame_names.index("link2")
    place = "page.scene.companions[0].places.map(T => [...T])"
    shift = np.array(tab.ask("page.data.companions[0].shift"))
    shown = [np.array(T).reshape(4, 4).T[:3, 3] for T in tab.ask(place)]
    x, y, _ = arm.frame_poses(q[2])[link][:3, 3]
    expected = np.array([x, 0.0, y])  # gravity along -y points down in the picture
    assert min(np.abs(p - shift - expected).max() for p in shown) < 1e-6
    tab.ask("[...document.querySelectorAll('.check')].find(l => l.textContent === 'side by side').firstChild.click()")
    shown = [np.array(T).reshape(4, 4).T[:3, 3] for T in tab.ask(place)]
    assert min(np.abs(p - expected).max() for p in shown) < 1e-6
    assert tab.ask("new Set(new Uint32Array(painted().buffer)).size") > 100
    assert tab.complaints() == []


@pytest.mark.slow
def test_pictures_become_coarser_while_they_come_too_late_and_fine_again(opened: Any, panda: ch.Robot) -> None:
    tab = opened(panda)
    fine = tab.ask("page.scene.paint(), page.scene.canvas.width")
    coarse = tab.ask("""(() => { const { scene } = page;
      for (let t = 0; t < 20; t++) scene.pace(1e6 + 100 * t);
      scene.paint(scene.coarseness);
      return [scene.coarseness, scene.canvas.width]; })()""")
    assert coarse == [3, round(fine / 2)]
    tab.ask("new Promise(done => setTimeout(done, 400))")
    assert tab.ask("page.scene.canvas.width") == fine
    assert (
        tab.ask("page.scene.coarseness = 0, page.scene.pace(2e6), page.scene.pace(2e6 + 16), page.scene.coarseness")
        == 0
    )
    assert tab.complaints() == []
