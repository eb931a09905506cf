"""The verb `view`: pages of robots, solutions, motions and runs, as files and live."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.visual.browser import Browser, Tab
from tests.visual.view_in_a_tab import ready
from typer.testing import CliRunner

import chasles as ch
from chasles.base.errors import ArgumentError, ArgumentTypeError
from chasles.cli.application import application
from chasles.distances import Body, HalfSpace
from chasles.visual.view import live
from chasles.visual.view.live import LiveView


def test_a_robot_without_masses_is_shown(shown: Any, tmp_path: Path) -> None:
    """The book's 3R arm, made of screws."""
    M = np.eye(4)
    M[0, 3] = 3.0
    arm = ch.Robot.from_screws(M, Slist=np.transpose([[0, 0, 1, 0, -x, 0] for x in range(3)]))
    tab = shown(arm.view(path=tmp_path / "arm.html"))
    np.testing.assert_allclose(tab.ask("[...page.mechanism.tool(page.q).T]"), M.ravel(), atol=1e-12)
    assert "The links have no masses" in tab.ask("find('.panels').textContent")


def test_solutions_are_shown_as_ghosts(shown: Any, tmp_path: Path) -> None:
    arm = ch.load("ur5")
    solution = arm.inverse_kinematics(arm.forward_kinematics([0.3, -1.0, 1.5, -0.8, 0.9, 0.2]), select="all")
    tab = shown(solution.view(arm, path=tmp_path / "solutions.html"))
    reached = solution.q[solution.success]
    assert tab.ask("page.scene.ghosts.length") == np.isfinite(solution.q).all(axis=-1).sum() - 1
    np.testing.assert_allclose(tab.ask("[...page.q]"), reached[0])
    tab.ask("choose('Go to', '1')")
    np.testing.assert_allclose(tab.ask("[...page.q]"), reached[1])


def test_motions_play(shown: Any, panda: ch.Robot, tmp_path: Path) -> None:
    motion = ch.PointToPoint(panda.home, panda.home + 0.3, duration=2.0)
    tab = shown(motion.view(panda, path=tmp_path / "motion.html"))
    tab.ask("slide('time', 1.37)")
    np.testing.assert_allclose(tab.ask("[...page.q]"), motion(1.37).q, atol=1e-4)
    assert tab.ask("page.scene.trace.count") > 100
    assert tab.complaints() == []


def test_runs_play_and_can_be_chosen(shown: Any, tmp_path: Path) -> None:
    arm = ch.load("planar2r")
    motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=0.5)
    law = ch.ComputedTorque(arm, kp=400.0, kd=40.0)
    run = ch.simulate(arm, law, motion, vary={"payload.mass": [0.0, 5.0]})
    tab = shown(run.view(path=tmp_path / "run.html"))
    tab.ask("choose('Run', '1'), slide('time', 0.25)")
    expected = run["q"].isel(run=1).interp(time=0.25).values
    np.testing.assert_allclose(tab.ask("[...page.q]"), expected, atol=1e-3)


def test_runs_play_beside_each_other(tmp_path: Path) -> None:
    arm = ch.load("planar2r")
    law, motion = ch.ComputedTorque(arm, kp=400.0, kd=40.0), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=0.2)
    short, long = (ch.simulate(arm, law, motion, duration=duration) for duration in (0.2, 0.4))
    page = short.view(path=tmp_path / "run.html", companions=[long])
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.S)[1])
    (other,) = data["companions"]
    expected = long["q"].interp(time=np.ravel(data["recording"]["times"])).values
    np.testing.assert_allclose(np.reshape(other["q"], (-1, 2)), expected, atol=1e-3)


def test_what_does_not_fit_is_said(panda: ch.Robot, tmp_path: Path) -> None:
    two = ch.load("planar2r")
    motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=0.5)
    with pytest.raises(ArgumentError, match="the motion has 2 joints, but robot 'panda' has 7"):
        motion.view(panda, path=tmp_path / "x.html")
    with pytest.raises(ArgumentError, match="the solution has 2 coordinates"):
        two.inverse_kinematics(two.forward_kinematics([0.1, 0.2])).view(panda, path=tmp_path / "x.html")
    with pytest.raises(ArgumentError, match=r"q\[2\] is nan"):
        panda.view([0, 0, np.nan, 0, 0, 0, 0], path=tmp_path / "x.html")
    with pytest.raises(ArgumentError, match=r"q has shape \(3,\)"):
        panda.view([0, 0, 0], path=tmp_path / "x.html")
    with pytest.raises(ArgumentError, match="cannot be written"):
        panda.view(path=tmp_path / "no" / "x.html")
    with pytest.raises(ArgumentTypeError, match="view does not know the type str"):
        ch.view("panda")


def _request(view: LiveView, method: str, path: str, body: str = "", **headers: str) -> tuple[int, dict[str, str], str]:
    connection = http.client.HTTPConnection("127.0.0.1", view.port, timeout=10)
    connection.request(method, path, body or None, {name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    found = answer.status, dict(answer.getheaders()), answer.read().decode()
    connection.close()
    return found


def test_the_address_works_once_and_only_for_this_machine(panda: ch.Robot) -> None:
    with panda.view(browser=False) as view:
        own, origin = f"127.0.0.1:{view.port}", f"http://127.0.0.1:{view.port}"
        path = view.url.removeprefix(origin)
        assert _request(view, "GET", "/")[0] == 403
        assert _request(view, "GET", "/?token=guess")[0] == 403
        assert _request(view, "GET", path, Host="evil.example")[0] == 403
        status, headers, _ = _request(view, "GET", path)
        assert (status, headers["Location"]) == (303, "/")
        assert "HttpOnly; SameSite=Strict" in headers["Set-Cookie"]
        cookie = headers["Set-Cookie"].split(";")[0]
        assert _request(view, "GET", path)[0] == 403  # the token is spent
        status, headers, page = _request(view, "GET", "/", Cookie=cookie)
        assert (status, "connect-src 'self'" in page) == (200, True)
        assert _request(view, "GET", "/other", Cookie=cookie)[0] == 404
        moved = json.dumps({"q": (panda.home + 0.1).tolist(), "waypoints": [panda.home.tolist()]})
        assert _request(view, "POST", "/state", moved, Cookie=cookie, Origin="http://evil.example")[0] == 403
        assert _request(view, "POST", "/state", moved, Origin=origin)[0] == 403
        np.testing.assert_array_equal(view.q, panda.home)
        assert _request(view, "POST", "/state", moved, Cookie=cookie, Origin=origin)[0] == 204
        np.testing.assert_array_equal(view.q, panda.home + 0.1)
        np.testing.assert_array_equal(view.waypoints, [panda.home])
        for bad in ("", "[", "[1]", '{"q": [1]}', '{"q": "1234567"}', '{"q": null}', '{"q": [1,2,3,4,5,6,NaN]}'):
            assert _request(view, "POST", "/state", bad, Cookie=cookie, Origin=origin)[0] == 400, bad
        np.testing.assert_array_equal(view.q, panda.home + 0.1)
        with pytest.raises(OSError, match="refused"):
            socket.create_connection((_other_address(), view.port), timeout=1.0)
        assert own in view.url
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", view.port), timeout=1.0)


@pytest.mark.parametrize(
    ("length", "known", "status"),
    [("4000000", False, 403), ("²", True, 413), ("9" * 5000, True, 413), ("-1", True, 413), ("4000001", True, 413)],
)
def test_a_message_is_judged_before_it_is_read(panda: ch.Robot, length: str, known: bool, status: int) -> None:
    """The answer comes although the message never does."""
    with panda.view(browser=False) as view:
        origin = f"http://127.0.0.1:{view.port}"
        cookie = _request(view, "GET", view.url.removeprefix(origin))[1]["Set-Cookie"].split(";")[0]
        lines = [
            "POST /state HTTP/1.1",
            f"Host: 127.0.0.1:{view.port}",
            f"Origin: {origin}",
            f"Content-Length: {length}",
            *([f"Cookie: {cookie}"] if known else []),
        ]
        with socket.create_connection(("127.0.0.1", view.port), timeout=10.0) as link:
            link.sendall("\r\n".join([*lines, "", ""]).encode())
            answer = http.client.HTTPResponse(link)
            answer.begin()
            assert answer.status == status


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # of forks beside threads
@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # of JAX, which other tests may have started
def test_a_view_closes_in_a_forked_process(panda: ch.Robot) -> None:
    with panda.view(browser=False) as view:
        child = os.fork()
        if not child:
            signal.alarm(10)  # ends a process that hangs
            view.close()
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert _request(view, "GET", "/")[0] == 403  # here it goes on


def _other_address() -> str:
    """Return another address of this machine: all of 127.0.0.0/8 are its own."""
    return "127.0.0.2"


class _Live(Tab):
    """A tab at an address instead of a file."""

    def __init__(self, browser: Browser, url: str) -> None:
        class Address:
            def as_uri(self) -> str:
                return url

        super().__init__(browser, Address())  # type: ignore[arg-type]


def _until(holds: Any) -> None:
    deadline = time.monotonic() + 30.0
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.slow
def test_the_live_page_and_python_move_each_other(
    browser: Browser, panda: ch.Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "_GRACE", 0.1)  # s
    with panda.view(browser=False) as view:
        tab = ready(_Live(browser, view.url))
        assert tab.ask("location.search") == ""
        tab.ask("slide('panda_joint1', 30), find('.record').click()")
        _until(lambda: abs(view.q[0] - np.radians(30.0)) < 1e-12 and len(view.waypoints) == 1)
        view.show(panda.home + 0.2)
        _until(lambda: abs(tab.ask("page.q[1]") - panda.home[1] - 0.2) < 1e-12)
        other = ready(_Live(browser, view.url))  # a second window of the same browser
        other.ask("slide('panda_joint1', 40)")
        _until(lambda: abs(tab.ask("page.q[0]") - np.radians(40.0)) < 1e-12)
        tab.ask("slide('panda_joint1', 50)")
        _until(lambda: abs(other.ask("page.q[0]") - np.radians(50.0)) < 1e-12)
        other.close()
        waiting = threading.Thread(target=view.wait)
        waiting.start()
        tab.call("Page.navigate", url="about:blank")  # the page is closed
        waiting.join(20.0)
        assert not waiting.is_alive()
        tab.close()
    assert re.fullmatch("<LiveView, closed>", repr(view))
    with panda.view(browser=False) as view:
        tab = ready(_Live(browser, view.url))
        _until(lambda: view._listeners)
    _until(lambda: "Python has closed this view" in tab.ask("find('.notice').textContent"))
    tab.close()


@pytest.mark.slow
def test_the_command_writes_a_page_or_serves_one_until_interrupted(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "chasles", "view", "planar2r"]
    page = tmp_path / "arm.html"
    written = subprocess.run([*command, "--output", page], capture_output=True, text=True, check=True)
    assert f"Written: {page}" in written.stdout
    assert page.read_text().startswith("<!doctype html>")
    with subprocess.Popen([*command, "--no-browser"], stdout=subprocess.PIPE, text=True) as serving:
        try:
            assert serving.stdout is not None
            found = re.search(r"http://127\.0\.0\.1:(\d+)(/\S+)", serving.stdout.readline())
            assert found is not None
            connection = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=30)
            connection.request("GET", found[2])
            assert connection.getresponse().status == 303
            connection.close()
            serving.send_signal(signal.SIGINT)
            assert serving.wait(60.0) == 0
        finally:
            serving.kill()


def test_packages_of_meshes_are_named_on_the_command_line(tmp_path: Path) -> None:
    robot = """<robot name="r"><link name="base"><visual><geometry>
        <mesh filename="package://parts/m/ball.stl"/></geometry></visual></link></robot>"""
    (tmp_path / "arm").mkdir()
    (tmp_path / "arm" / "r.urdf").write_text(robot)
    (tmp_path / "elsewhere" / "m").mkdir(parents=True)
    (tmp_path / "elsewhere" / "m" / "ball.stl").write_bytes(_tetrahedron())
    page, packages = tmp_path / "r.html", ["--package", f"parts={tmp_path / 'elsewhere'}"]
    for options, given in (([], False), (packages, True)):
        found = CliRunner().invoke(application, ["view", str(tmp_path / "arm" / "r.urdf"), "-o", str(page), *options])
        assert found.exit_code == 0, found.output
        assert ("ball.stl' is not there" in page.read_text()) is not given
    wrong = CliRunner().invoke(application, ["view", "panda", "-o", str(page), "--package", "parts"])
    assert "expected NAME=FOLDER, not 'parts'" in wrong.output


def _tetrahedron() -> bytes:
    """A binary STL file."""
    corners = np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 0.1]], dtype="<f4")
    faces = [
        np.zeros(3, "<f4").tobytes() + corners[f].tobytes() + b"\0\0"
        for f in ([0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3])
    ]
    return bytes(80) + len(faces).to_bytes(4, "little") + b"".join(faces)


def test_a_deleted_working_directory_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(ArgumentError, match=r"arm.html cannot be written: No such file or directory"):
        ch.load("planar2r").view(path="arm.html")


def test_half_spaces_that_the_viewer_stands_in_leave_the_robot_as_it_is(opened: Any) -> None:
    look = np.array([np.cos(-0.85), np.sin(-0.85), 0.0])  # from the viewer's side
    pixel = """(() => {
      page.gizmo.shown = false;
      const { camera, canvas } = page.scene, [x, y] = camera.project([0, 0, 0.16]);
      const at = 4 * (Math.round(x) + canvas.width * Math.round(canvas.height - y));
      return [...painted().slice(at, at + 3)];
    })()"""
    tab = opened(ch.load("panda"), obstacles=[HalfSpace(0.5 * look, -look), HalfSpace(0.5 * look, look)])
    tab.ask("page.kept = page.scene.planes")
    plain, before, behind = (
        tab.ask(f"page.scene.planes = {planes}, {pixel}") for planes in ("[]", "[page.kept[0]]", "[page.kept[1]]")
    )
    assert before == plain
    assert behind != plain


def test_obstacles_are_drawn_and_framed(opened: Any) -> None:
    arm = ch.load("planar2r")
    wall = HalfSpace([0.0, -0.3, 0.0], [0.0, 2.0, 0.0])
    rod, ball = Body(None, [0.5, 0.5, 0.0], [0.5, 0.5, 1.0], radius=0.05), Body(None, [3.0, 0.0, 0.2], radius=0.2)
    tab = opened(arm, obstacles=[wall, rod, ball])
    found = tab.ask("page.scene.parts.filter(part => part.color[0] === 0.86).map(part => [part.radius, part.length])")
    np.testing.assert_allclose(found, [[0.05, 1.0], [0.2, 0.0]], atol=1e-6)
    assert tab.ask("page.scene.planes.map(part => [part.placed[10], part.placed[14]])")[0] == pytest.approx(
        [1.0, -0.3], abs=0.02
    )
    assert tab.ask("page.scene.camera.project([3, 0, 0.2])[0] < page.scene.canvas.clientWidth")
    amber = (
        "{const p = painted(); let n = 0; for (let k = 0; k < p.length; k += 4) n += p[k] > 110 && p[k + 2] < 70; n}"
    )
    assert tab.ask(amber) > 500
    assert tab.complaints() == []
    with pytest.raises(ArgumentError, match="obstacles must be bodies in the world"):
        arm.view(path="unwritten.html", obstacles=[Body("link1", radius=0.1)])


def test_two_reloads_do_not_end_the_view(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chasles.visual.view.live._GRACE", 0.4)
    with ch.load("planar2r").view(browser=False) as view:
        view._disconnect(view._connect())
        time.sleep(0.25)
        view._disconnect(view._connect())
        assert not view._left.wait(0.25)  # the first leaving is 0.5 s old, the second less than the grace
        assert view._left.wait(5.0)
