"""The pendant of a page: steps, other configurations, and motions that the saved files reproduce."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chasles as ch

#: Records three configurations and gives samples of the motion through them.
TEACH = """
for (const shift of [0, 0.4, -0.3]) {{
  page.move(Float64Array.from(page.mechanism.data.home, (x, k) => x + shift * Math.cos(k)));
  find(".record").click();
}}
choose("Motion", "{kind}");
"""


def _taught(opened: Any, robot: ch.Robot, kind: str) -> Any:
    tab = opened(robot)
    tab.ask(TEACH.format(kind=kind))
    return tab


@pytest.mark.slow
@pytest.mark.parametrize("kind", [pytest.param("stops", marks=pytest.mark.slow), "through"])
def test_saved_files_reproduce_the_motion(opened: Any, panda: ch.Robot, tmp_path: Path, kind: str) -> None:
    tab = _taught(opened, panda, kind)
    t, q, qd, qdd = map(
        np.array,
        tab.ask(
            """(() => { const motion = page.pendant.motion(), times = motion.samples.filter((_, k) => k % 7 === 3);
            const at = times.map(t => motion.at(t));
            return [times, at.map(m => [...m.q]), at.map(m => [...m.qd]), at.map(m => [...m.qdd])]; })()"""
        ),
    )
    toml = tomllib.loads(tab.ask("page.pendant.text('toml')"))
    assert (toml["robot"], toml["motion"], toml["coordinates"]) == ("panda", kind, list(panda.coordinate_names))
    rows = list(csv.reader(io.StringIO(tab.ask("page.pendant.text('csv')"))))
    assert rows[0] == ["time", *panda.coordinate_names]
    table = np.array(rows[1:], dtype=float)
    np.testing.assert_array_equal(table[:, 0], toml["times"])
    np.testing.assert_array_equal(table[:, 1:], toml["waypoints"])
    script = tmp_path / "taught.py"
    script.write_text(tab.ask("page.pendant.text('py')"))
    names: dict[str, Any] = {}
    exec(compile(script.read_text(), str(script), "exec"), names)
    assert names["arm"] == panda
    motion = names["motion"](t)
    np.testing.assert_allclose(motion.q, q, atol=1e-12)
    np.testing.assert_allclose(motion.qd, qd, atol=1e-11)
    np.testing.assert_allclose(motion.qdd, qdd, atol=1e-9)
    assert (np.abs(qd) <= 0.5 * panda.velocity_limits * (1.0 + 1e-9)).all()  # half speed
    assert np.abs(qd / panda.velocity_limits).max() > 0.4
    subprocess.run([sys.executable, script], check=True, capture_output=True)
    assert tab.complaints() == []


def test_the_motion_plays_and_shows_its_path(opened: Any, panda: ch.Robot) -> None:
    tab = _taught(opened, panda, "stops")
    tab.ask("find('.play-waypoints').click(), frames(8)")
    assert tab.ask("page.player.playing")
    assert tab.ask("page.player.time") > 0.0
    assert tab.ask("page.scene.trace.count") > 100
    end = tab.ask("page.player.pause(), page.player.seek(page.player.times.at(-1)), [...page.q]")
    np.testing.assert_allclose(end, tab.ask("[...page.pendant.waypoints[2]]"), atol=1e-12)
    tab.ask("slide('panda_joint1', 5)")
    assert not tab.ask("page.player.playing")
    assert tab.complaints() == []


def test_limits_that_a_motion_breaks_are_said(opened: Any, panda: ch.Robot) -> None:
    tab = _taught(opened, panda, "stops")
    tab.ask("slide('payload', 10), find('.play-waypoints').click()")
    said = tab.ask("page.pendant.motion().violations(10).join(' ')")
    motion = ch.HermiteSpline(*tab.ask("(m => [m.times, m.waypoints.map(q => [...q]), 0, 0])(page.pendant.motion())"))
    t = np.linspace(0.0, motion.duration, 401)
    tau = panda.inverse_dynamics(*motion(t), vary={"payload.mass": 10.0})
    over = np.abs(tau) > panda.effort_limits
    assert over.any()
    for name, broken in zip(panda.joint_names, over.any(axis=0), strict=True):
        assert (f"{name} needs" in said) == bool(broken)
    np.testing.assert_array_equal(tab.ask("find('.panels').textContent.includes('N·m of')"), True)


def test_steps_move_the_tool_along_axes(opened: Any, panda: ch.Robot) -> None:
    tab = opened(panda)
    before = panda.forward_kinematics(panda.home)
    tab.ask("find('[aria-label=\"move + along x\"]').click(), choose('Handles', 'tool'), choose('Step', 'small')")
    tab.ask("find('[aria-label=\"turn − about z\"]').click()")
    after = panda.forward_kinematics(tab.ask("[...page.q]"))
    np.testing.assert_allclose(after[:3, 3], before[:3, 3] + [0.01, 0.0, 0.0], atol=1e-7)
    expected = before[:3, :3] @ ch.geometry.rotation_z(np.radians(-0.5))
    np.testing.assert_allclose(after[:3, :3], expected, atol=1e-7)


def test_other_configurations_reach_the_same_pose(opened: Any) -> None:
    robot = ch.load("ur5")
    q = np.array([0.3, -1.0, 1.5, -0.8, 0.9, 0.2])
    tab = opened(robot, q=q)
    tab.ask("find('.branches').click()")
    found = np.array(tab.ask("page.pendant.branches.map(q => [...q])"))
    assert len(found) >= 4  # of eight
    poses = robot.forward_kinematics(found)
    np.testing.assert_allclose(poses, np.broadcast_to(poses[0], poses.shape), atol=1e-7)
    assert tab.ask("page.scene.ghosts.length") == min(len(found) - 1, 8)
    tab.ask("choose('Chosen', '1')")
    np.testing.assert_allclose(tab.ask("[...page.q]"), found[1])
    assert tab.ask("page.scene.ghosts.length") > 0  # it is one of them
    tab.ask("find('.let-go').click(), frames(2)")
    assert tab.ask("page.scene.ghosts.length") == 0
    assert tab.ask("find('.let-go').click(), find('.branches').click(), page.scene.ghosts.length") > 0
    tab.ask(f"slide({robot.joint_names[-1]!r}, 40)")
    assert tab.ask("page.scene.ghosts.length") == 0  # they belong to another pose
    assert tab.complaints() == []


def test_a_waypoint_where_the_robot_already_is_takes_no_time(opened: Any, panda: ch.Robot) -> None:
    tab = _taught(opened, panda, "through")
    alone = tab.ask("page.pendant.motion().times")
    tab.ask("find('.record').click(), find('.record').click()")
    assert tab.ask("page.pendant.waypoints.length") == 5
    assert "Waypoint 4 is where waypoint 3 is" in tab.ask("page.pendant.report.textContent")
    assert tab.ask("page.pendant.motion().times") == alone
    for _ in range(3):
        tab.ask("find('[aria-label=\"Delete waypoint 1\"]').click()")
    assert tab.ask("find('.play-waypoints').disabled")  # two waypoints, no motion


def test_saved_numbers_have_no_residue_of_rounding(opened: Any, panda: ch.Robot) -> None:
    tab = opened(panda)
    tab.ask("page.move(page.q.map((_, k) => k === 3 ? -1 / 3 : -1.65e-29)), find('.record').click()")
    tab.ask("page.move(page.q.map(x => x - 0.1)), find('.record').click()")
    (first, _) = tomllib.loads(tab.ask("page.pendant.text('toml')"))["waypoints"]
    assert list(map(str, first)) == ["0.0", "0.0", "0.0", "-0.333333333333", "0.0", "0.0", "0.0"]


def test_waypoints_can_be_replaced_and_deleted(opened: Any, panda: ch.Robot) -> None:
    tab = _taught(opened, panda, "stops")
    tab.ask("slide('panda_joint1', 12), find('[aria-label=\"Replace waypoint 2\"]').click()")
    assert tab.ask("page.pendant.waypoints[1][0]") == pytest.approx(np.radians(12.0))
    tab.ask("find('[aria-label=\"Delete waypoint 1\"]').click(), find('[aria-label=\"Delete waypoint 1\"]').click()")
    assert tab.ask("page.pendant.waypoints.length") == 1
    assert tab.ask("find('.save-toml').disabled && find('.play-waypoints').disabled")
