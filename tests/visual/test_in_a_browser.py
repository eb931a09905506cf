"""What a reader of a page sees: its scripts run in a browser, if there is one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.studies.tiny_studies import tiny
from tests.visual.browser import Browser, Tab
from tests.visual.stand_in_run import stand_in

import chasles as ch
from chasles.visual.encoding import with_still
from chasles.visual.report import write_report

#: Each image that the page paints is kept, with its time and its poses.
WATCH = """
let shown;
const paint = RobotView.prototype.paint;
RobotView.prototype.paint = function () {
  paint.call(this);
  const { canvas, graphics: { gl } } = this, pixels = new Uint8Array(4 * canvas.width * canvas.height);
  gl.readPixels(0, 0, canvas.width, canvas.height, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
  const poses = this.posesNow().map(T => [...T]);
  shown = { time: this.time, links: this.scene.links, poses, pixels, error: gl.getError() };
};
const find = selector => document.querySelector(selector);
const frames = async count => { while (count--) await new Promise(requestAnimationFrame); };
const choose = async (selector, value, kind) => {
  find(selector).value = value;
  find(selector).dispatchEvent(new Event(kind));
  await frames(3);
};
let kept;
const keep = () => { kept = shown.pixels; };
const differing = () => shown.pixels.filter((value, k) => value !== kept[k]).length;
"""
#: A robot that is a red mesh, in a package beside its file, on ground whose mesh is missing.
BLOCK = """<robot name="block">
  <link name="ground"><visual><geometry><mesh filename="no.stl"/></geometry></visual></link>
  <link name="block">
  <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  <visual><geometry><mesh filename="package://house/meshes/block.stl"/></geometry>
    <material name="red"><color rgba="1 0 0 1"/></material></visual></link>
  <joint name="turn" type="continuous"><parent link="ground"/><child link="block"/><axis xyz="0 0 1"/></joint>
</robot>"""
#: Traces that each plot should have and has, and its lines of some length.
PLOTS = """[...document.querySelectorAll(".js-plotly-plot")].map(plot => ({
  wanted: plot.data.length, drawn: plot.querySelectorAll(".scatterlayer .trace").length,
  long: [...plot.querySelectorAll(".js-line")].filter(line => line.getBBox().width > 100).length }))"""

#: Left and right ends of all panels.
PANELS = """[...document.querySelectorAll(".nsewdrag")].map(panel => panel.getBoundingClientRect()).map(
  ({ left, right }) => [left, right])"""


@pytest.fixture(scope="module")
def report(browser: Browser, panda: ch.Robot, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    path = tmp_path_factory.mktemp("report") / "run.html"
    tab = Tab(browser, write_report({"some": stand_in(panda, runs=3)}, path))
    tab.ask(WATCH)
    yield tab
    tab.close()


@pytest.fixture
def tab(report: Tab) -> Iterator[Tab]:
    """The report, paused at 0.5 s; after the test it has nothing to complain about."""
    report.ask("choose('input[type=range]', 0.5, 'input')")
    yield report
    assert report.complaints() == []


def test_the_plots_are_drawn(tab: Tab) -> None:
    along, over = tab.ask(PLOTS)  # the motion, and what varies
    for plot in (along, over):
        assert plot["drawn"] == plot["wanted"] > 0
        assert plot["long"] > 0


def test_a_report_follows_the_wish_for_dark_pages(tab: Tab) -> None:
    look = """(async () => { await frames(3); const plot = find(".js-plotly-plot");
        return [getComputedStyle(document.body).backgroundColor, plot._fullLayout.plot_bgcolor,
          plot._fullLayout.font.color, [...shown.pixels.slice(0, 3)]]; })()"""
    light = tab.ask(look)
    tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    dark = tab.ask(look)
    tab.call("Emulation.setEmulatedMedia", features=[])
    assert (dark[0], light[0]) == ("rgb(18, 22, 26)", "rgb(244, 246, 248)")
    assert (dark[1], light[1]) == ("#1b2127", "#ffffff")
    assert (dark[2], light[2]) == ("#c3ccd4", "#33414e")
    assert max(dark[3]) < 60
    assert min(light[3]) > 200
    assert tab.ask(look) == light


@pytest.mark.slow
def test_the_plots_of_a_study_are_drawn(in_a_tab: Callable[[Path], Tab], tmp_path: Path) -> None:
    tab = in_a_tab(tiny().run().report(tmp_path / "study.html"))
    (plot,) = tab.ask(PLOTS)
    assert plot["drawn"] == plot["wanted"] > 0
    assert tab.complaints() == []


@pytest.mark.slow
def test_an_identification_fits_a_narrow_dark_page(in_a_tab: Callable[[Path], Tab], tmp_path: Path) -> None:
    log = ch.identification.shipped_log("ur10")
    page = ch.identify(ch.load("ur10"), log).report(tmp_path / "page.html")
    blank = tmp_path / "blank.html"
    blank.touch()
    tab = in_a_tab(blank)
    tab.call("Emulation.setDeviceMetricsOverride", width=400, height=800, deviceScaleFactor=1, mobile=False)
    tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    tab.go(page)
    assert tab.ask("document.scrollingElement.scrollWidth") <= 400
    assert tab.ask("getComputedStyle(document.body).backgroundColor") == "rgb(18, 22, 26)"
    panels = tab.ask(PANELS)
    assert len(panels) == 4 * 6  # figures and joints
    assert all(0.0 <= left < right <= 400.0 for left, right in panels)
    assert tab.complaints() == []


def test_a_still_holds_the_place_of_a_figure_until_it_is_drawn(in_a_tab: Callable[[Path], Tab], tmp_path: Path) -> None:
    """Without a network Plotly never draws: then no blank stands below the still."""
    still = '<svg width="90" height="50" style="display:block"></svg>'
    page = tmp_path / "notebook.html"
    page.write_text("<!doctype html><body>" + with_still('<div id="figure" style="height:300px"></div>', still))
    tab = in_a_tab(page)
    height = "document.body.firstElementChild.offsetHeight"
    assert tab.ask(height) == 50
    tab.ask("document.getElementById('figure').innerHTML = '<svg class=main-svg></svg>'")
    tab.ask("new Promise(done => setTimeout(done, 500))")
    assert tab.ask(height) == 300
    assert tab.complaints() == []


def test_the_slider_moves_the_robot_and_the_cursor(tab: Tab, panda: ch.Robot) -> None:
    run = stand_in(panda, runs=3)
    cursors = []
    for time in (0.2537, 0.7512):  # between frames
        tab.ask(f"choose('input[type=range]', {time}, 'input')")
        shown = tab.ask("({ time: shown.time, links: shown.links, poses: shown.poses, error: shown.error })")
        assert (shown["time"], shown["error"]) == (time, 0)
        assert tab.ask("find('.clock').textContent") == f"{time:.2f} s"
        cursors.append(tab.ask("find('.cursor').offsetLeft"))
        q = run["q"].interp(time=time).values[0]
        T_world_links = np.array(shown["poses"]).reshape(-1, 4, 4).swapaxes(1, 2)
        for T, name in zip(T_world_links, shown["links"], strict=True):
            np.testing.assert_allclose(T, panda.forward_kinematics(q, target=name), atol=1e-3)
    assert cursors[0] < cursors[1]


def test_the_picture_changes_with_time_run_and_view(tab: Tab) -> None:
    assert tab.ask("new Set(new Uint32Array(shown.pixels.buffer)).size") > 100  # colors: it is no empty view
    tab.ask("keep()")
    tab.ask("choose('input[type=range]', 0.5, 'input')")
    assert tab.ask("differing()") == 0
    tab.ask("choose('input[type=range]', 0.9, 'input')")
    assert tab.ask("differing()") > 1000
    tab.ask("choose('input[type=range]', 0.5, 'input').then(() => choose('select.run', 2, 'change'))")
    assert tab.ask("differing()") > 1000
    tab.ask("choose('select.run', 0, 'change')")
    assert tab.ask("differing()") == 0
    x, y = tab.ask(
        "(({ x, y, width, height }) => [x + width / 2, y + height / 2])(find('canvas').getBoundingClientRect())"
    )
    tab.mouse("Pressed", x, y, buttons=1)
    tab.mouse("Moved", x + 80, y + 20, buttons=1)
    tab.mouse("Released", x + 80, y + 20)
    tab.ask("frames(3)")
    assert tab.ask("differing()") > 1000
    tab.ask("find('canvas').dispatchEvent(new MouseEvent('dblclick')), frames(3)")
    assert tab.ask("differing()") == 0


def test_the_motion_plays_and_pauses(tab: Tab) -> None:
    assert tab.ask("find('.play').textContent") == "Play"
    tab.ask("find('.play').click(), frames(10)")
    assert tab.ask("find('.play').textContent") == "Pause"
    tab.ask("find('.play').click(), frames(3)")
    paused = tab.ask("shown.time")
    assert 0.5 < paused <= 1.0
    tab.ask("frames(10)")
    assert tab.ask("shown.time") == paused


def test_complaints_of_a_page_are_heard(in_a_tab: Callable[[Path], Tab], tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    policy = "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; script-src 'unsafe-inline'\">"
    image = "<img src='http://localhost:9/x.png'>"
    page.write_text(f"{policy}{image}<script>console.warn('beware')</script><script>no.such</script>")
    assert len(in_a_tab(page).complaints()) == 3


@pytest.mark.slow
def test_a_report_shows_the_meshes_of_the_file_that_was_loaded(in_a_tab: Callable[[Path], Tab], tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    (tmp_path / "house" / "meshes").mkdir(parents=True)
    (tmp_path / "house" / "urdf").mkdir()
    trimesh.creation.box([0.6, 0.6, 0.6]).export(tmp_path / "house" / "meshes" / "block.stl")
    (tmp_path / "house" / "urdf" / "block.urdf").write_text(BLOCK)
    robot = ch.load(tmp_path / "house" / "urdf" / "block.urdf")
    run = ch.simulate(robot, duration=0.02)
    tab = in_a_tab(run.report(tmp_path / "run.html"))
    tab.ask(WATCH)
    tab.ask("choose('input[type=range]', 0.01, 'input')")
    red = (
        "{const p = shown.pixels; let n = 0; for (let k = 0; k < p.length; k += 4) n += p[k] > 90 && p[k + 1] < 60; n}"
    )
    assert tab.ask(red) > 2000
    assert tab.ask("find('.missing').textContent").startswith("mesh 'no.stl' is not there")
    assert tab.complaints() == []
