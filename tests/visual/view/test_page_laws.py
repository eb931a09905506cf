"""Laws of every kind on pages: with schedules, handed over, along motions and runs; pushes; and what is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.visual.view.handed import moderate_motion, packed_table
from chasles.visual.view.loops import PageLoops

SLOW = pytest.mark.slow
RK4 = ch.integrators.Steps("rk4", 1)
#: Holds the robot from a configuration, pushed at its tool all the time.
HELD = """
window.held = (law, bandwidth, q, goal, force, steps) => {
  const loop = new ClosedLoop(page.mechanism, q, { law, bandwidth, damping: 0, mass: page.mass, limited: true });
  loop.reference = { ...loop.reference, q: goal };
  loop.push(force, 1);
  loop.run(new Array(steps).fill(loop.reference));
  return [[...loop.q], [...loop.qd]];
};
"""
#: Lets the robot follow the page's motion, and tells where it was at each recorded time.
FOLLOWED = """
page.simulation.choose(%r);
page.simulation.followPage().then(({ finite, worst, q }) => [finite, worst.error, q, page.simulation.error.textContent])
"""
PUSH = np.array([3.0, -8.0, 5.0])  # N
SCHEDULED = ("time-varying-regulator", "gain-scheduled-regulator", "linear-quadratic-gaussian")


def _tuned(robot: ch.Robot, kind: str, frequency: float = 8.0) -> ch.Controller:
    return ch.control.laws()[kind].tuned(robot, moderate_motion(robot), 1e-3, frequency=frequency)


def _pushed(robot: ch.Robot, duration: float) -> ch.Plant:
    always = np.tile(np.r_[0.0, 0.0, 0.0, PUSH], (2, 1))
    push = ch.ExternalWrench("push", times=[0.0, duration + 1.0], samples=always, axes="world")
    return ch.Plant(robot, wrenches=[push])


def _list(values: Any) -> str:
    return f"Float64Array.from({np.asarray(values).tolist()})"


def sinusoidal(now: Any, *, stiffness: float = 300.0) -> Any:
    """A law of time and of a memory that nobody has written before."""
    now.memory.age += now.period
    return (
        stiffness * ch.engine.sin(now.reference.q - now.q) - 20.0 * now.qd + ch.engine.sin(9.0 * now.memory.age + now.t)
    )


def _handed(robot: ch.Robot) -> dict[str, ch.Controller]:
    soft: dict[str, Any] = {"stiffness": 400.0, "damping": 80.0, "inertia": 4.0}
    if robot.n < 6:
        soft["components"] = ("x", "y")
    else:
        soft |= {"rotational_stiffness": 30.0, "rotational_damping": 6.0, "rotational_inertia": 0.3}
    return {
        "impedance": ch.control.Impedance(robot, **soft),  # feels the push
        "a function": ch.PythonLaw(sinusoidal, memory={"age": 0.0}),
        "a wrong model": ch.ComputedTorque(robot.with_payload(2.0), kp=90.0, kd=17.0),
    }


@pytest.mark.parametrize("name", ["planar2r", pytest.param("ur3e", marks=SLOW)])
def test_laws_that_are_handed_over_hold_a_pushed_robot_as_in_python(opened: Any, name: str) -> None:
    arm = ch.load(name).with_motor_inertia(0.2)
    laws = _handed(arm)
    if name == "planar2r":
        del laws["a wrong model"]
    tab = opened(arm, laws=list(laws.values()))
    start = arm.home + 0.4 * np.sin(1.0 + np.arange(arm.n))
    goal = start + 0.1
    tab.ask(HELD)
    for law in laws.values():
        q, qd = tab.ask(f"held({law.name!r}, 8, {_list(start)}, {_list(goal)}, {PUSH.tolist()}, 60)")
        still = ch.PointToPoint(goal, goal, duration=0.06)
        run = ch.simulate(_pushed(arm, 0.06), law, still, start=start, integrator=RK4)
        np.testing.assert_allclose(q, run["q"].values[-1], rtol=0.0, atol=1e-12, err_msg=law.name)
        np.testing.assert_allclose(qd, run["qd"].values[-1], rtol=0.0, atol=1e-10, err_msg=law.name)
    unpushed = ch.simulate(arm, law, still, start=start, integrator=RK4)
    assert np.abs(unpushed["q"].values[-1] - q).max() > 1e-5
    assert "Its gains are those it was given in Python." in tab.ask("page.simulation.given.textContent")
    assert tab.complaints() == []


@pytest.mark.parametrize(
    ("name", "kinds"),
    [("planar2r", ("time-varying-regulator",)), pytest.param("puma560", (*SCHEDULED, "pid"), marks=SLOW)],
)
def test_laws_follow_the_motion_of_the_page_as_in_python(opened: Any, name: str, kinds: tuple[str, ...]) -> None:
    arm = ch.load(name)
    rng = np.random.default_rng(20261127)
    start = arm.home + rng.uniform(-0.4, 0.4, arm.n)
    motion = ch.HermiteSpline([0.3, 0.42, 0.55], np.add.outer([0.0, 0.1, 0.15], start), 0.0)
    times = 0.3 + 1e-3 * np.arange(251)
    recording = {"times": times, "runs": {"motion 1": motion(times).q}}
    nominal = ch.control.NominalTorque(arm)
    tab = opened(arm, q=start, motion=motion, recording=recording, laws=[*kinds, nominal])
    for kind, law in {**{kind: _tuned(arm, kind) for kind in kinds}, nominal.name: nominal}.items():
        finite, worst, q, said = tab.ask(FOLLOWED % kind)
        steps = ch.integrators.Steps(*tab.ask("page.data.simulation.steps"))
        run = ch.simulate(arm, law, motion, integrator=steps)
        assert steps.method == ("rk4" if name == "planar2r" else "implicit-friction-euler")  # a Puma has dry friction
        assert finite, kind
        np.testing.assert_allclose(np.reshape(q, (-1, arm.n)), run["q"].values, rtol=0.0, atol=1e-11, err_msg=kind)
        np.testing.assert_allclose(worst, np.abs(run["error"].values).max(), rtol=1e-7, err_msg=kind)
        assert said.startswith(f"Under {law.name}: Largest error: "), said
    assert tab.complaints() == []


@SLOW
def test_laws_of_frames_follow_paths_of_the_tool_as_in_python(shown: Any, tmp_path: Path) -> None:
    arm = ch.load("ur3e")
    start = arm.home + 0.2 * np.cos(np.arange(arm.n))
    T = arm.forward_kinematics(start)
    goal = T @ ch.geometry.pose(ch.geometry.rotation_x(0.2), [0.02, -0.03, 0.01])
    path = ch.StraightLine(T, goal, duration=0.15)
    law = ch.control.OperationalSpace(arm, kp=100.0, kd=20.0)
    tab = shown(path.view(arm, start, path=tmp_path / "path.html", laws=[law]))
    _, _, q, _ = tab.ask(FOLLOWED % law.name)
    steps = ch.integrators.Steps(*tab.ask("page.data.simulation.steps"))
    run = ch.simulate(arm, law, path, start=start, integrator=steps)  # the path itself, not a motion of joints
    times = tab.ask("page.player.times")
    nearest = np.abs(run["time"].values[:, None] - times).argmin(axis=0)
    np.testing.assert_allclose(np.reshape(q, (-1, arm.n)), run["q"].values[nearest], rtol=0.0, atol=1e-8)
    assert tab.complaints() == []


def test_tables_are_packed_to_the_last_bit(opened: Any) -> None:
    tab = opened(ch.load("planar2r"))
    rng = np.random.default_rng(3)
    smooth = np.sin(np.linspace(0.0, 2.0, 50))
    hostile = rng.permutation(
        [np.inf, -np.inf, np.nan, -0.0, 0.0, 5e-324, -1.7976931348623157e308, *rng.normal(size=43)]
    )
    rows = np.stack([smooth, hostile, 1e-300 * smooth], axis=-1)
    for table in (rows, rows[:, :1], rows[:1], rows[:, 1:2]):
        packed = packed_table(table)
        text = tab.ask(
            f"decodeTable({packed}).then(rows => rows.map(row => [...new BigUint64Array(row.buffer)].map(String)))"
        )
        read = np.array(text, dtype=np.uint64).view(np.float64)
        np.testing.assert_array_equal(
            read.view(np.uint64),
            table.view(np.uint64) if table.flags.c_contiguous else np.ascontiguousarray(table).view(np.uint64),
        )


def test_a_run_is_repeated_under_another_law(shown: Any, tmp_path: Path) -> None:
    arm = ch.load("planar2r").with_payload(0.7)
    motion = ch.PointToPoint([0.2, -0.4], [0.5, 0.3], duration=0.12)
    recorded = ch.simulate(arm, _tuned(arm, "pd-gravity", 4.0), motion, record=ch.Recording(every=3))
    tab = shown(recorded.view(path=tmp_path / "run.html", laws=["computed-torque"]))
    tab.ask("find('.follow').click()")
    finite, _, q, _ = tab.ask(FOLLOWED % "computed-torque")
    reference, times = recorded["q_reference"].values, recorded["time"].values
    law = _tuned(arm, "computed-torque")
    run = ch.simulate(arm, law, ch.CubicSpline(times, reference), integrator=RK4)  # rests at both ends
    frames = np.unique(np.linspace(0, len(times) - 1, 8).round().astype(int))  # 60 pictures a second
    assert finite
    np.testing.assert_allclose(np.reshape(q, (-1, 2)), run["q"].values[3 * frames], rtol=0.0, atol=1e-11)
    assert tab.ask("page.player.runs.map(run => run.label)") == [f"under {law.name}", "run"]
    assert tab.complaints() == []


@SLOW
def test_the_motion_of_a_run_that_follows_a_frame_is_repeated_under_another_law(shown: Any, tmp_path: Path) -> None:
    arm = ch.load("planar2r").with_payload(0.7)
    start = np.array([0.4, 0.9])
    T = arm.forward_kinematics(start)
    path = ch.StraightLine(T, ch.geometry.pose(np.eye(3), [0.05, -0.04, 0.0]) @ T, duration=0.12)
    soft = ch.control.OperationalSpace(arm, kp=100.0, kd=20.0, components=("x", "y"))
    recorded = ch.simulate(arm, soft, path, start=start)
    assert "q_reference" not in recorded
    tab = shown(recorded.view(path=tmp_path / "run.html", laws=["computed-torque"]))
    tab.ask("find('.follow').click()")
    finite, worst, q, _ = tab.ask(FOLLOWED % "computed-torque")
    assert finite
    assert tab.ask("page.player.runs.map(run => run.label)") == ["under computed torque", "run"]
    times, moved = recorded["time"].values, recorded["q"].values
    q_on_page = np.reshape(q, (-1, 2))
    frames = np.abs(times[:, None] - tab.ask("page.player.times")).argmin(axis=0)
    largest = np.ptp(moved, axis=0).max()
    assert worst < 0.01 * largest  # the model is right; torques are held for a period
    np.testing.assert_allclose(q_on_page, moved[frames], rtol=0.0, atol=0.01 * largest)
    ends = recorded["qd"].values[[0, -1]]
    motion = ch.CubicSpline(times, moved, start_velocity=ends[0], end_velocity=ends[1])
    run = ch.simulate(arm, _tuned(arm, "computed-torque"), motion, integrator=RK4)
    np.testing.assert_allclose(q_on_page, run["q"].values[frames], rtol=0.0, atol=1e-11)
    assert tab.complaints() == []


def test_the_page_says_which_law_runs_and_how_far_the_robot_is(opened: Any) -> None:
    arm = ch.load("planar2r")
    tab = opened(arm, laws=["pid", "time-varying-regulator"])
    assert tab.ask("find('.push').disabled")
    tab.ask("find('.hold').click()")
    tab.ask("choose('Push along', '3'), slide('push', 25), find('.push').click(), page.simulation.advance(40)")
    q, said = tab.ask("[[...page.simulation.loop.q], page.simulation.error.textContent]")
    moved = arm.forward_kinematics(q)[:3, 3] - arm.forward_kinematics(arm.home)[:3, 3]
    assert moved[1] < -1e-4  # it was pushed along -y
    assert said.startswith(f"Held by {_tuned(arm, 'pid').name}. Error: {1000 * np.linalg.norm(moved):.1f} mm and ")
    joint = int(np.argmax(np.abs(np.array(q) - arm.home)))
    assert f"in {arm.joint_names[joint]}." in said
    # A law with a schedule holds where the page was opened, and says so when another goal is chosen.
    tab.ask("choose('Controller', 'time-varying-regulator'), page.move(Float64Array.from([0.3, 0.3]))")
    assert "The goal stays: the values of" in tab.ask("page.simulation.status.textContent")
    tab.ask("page.simulation.advance(4000)")
    np.testing.assert_allclose(tab.ask("[...page.simulation.loop.q]"), arm.home, atol=1e-3)
    tab.ask(
        "find('.record').click(), slide('joint1', 40), find('.hold').click(), page.move(Float64Array.from([0.3, 0.3]))"
    )
    tab.ask("find('.record').click(), find('.simulate').click()")
    assert "and no taught one. Choose another controller." in tab.ask("page.pendant.report.textContent")
    assert tab.complaints() == []


def test_motions_without_a_call_of_a_law_are_shown_and_the_page_says_why() -> None:
    arm = ch.load("planar2r")
    short = ch.PointToPoint(arm.home, arm.home + 0.3, duration=1e-4)
    data = PageLoops(arm, ["pd-gravity"], arm.home, short).data()
    assert data["notFollowed"] == "the duration 0.0001 s is shorter than half a period of 0.001 s"
    assert data["tables"] == {}


def test_motions_that_are_too_long_for_a_page_are_played_and_the_page_says_why(
    opened: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chasles.visual.view.handed._MOST_TEXT", 1000)
    arm = ch.load("planar2r")
    motion = ch.PointToPoint(arm.home, arm.home + 0.3, duration=0.8)
    recording = {"times": [0.0, 0.8], "runs": {"motion 1": motion([0.0, 0.8]).q}}
    tab = opened(arm, motion=motion, recording=recording)
    said = tab.ask("page.simulation.element.textContent")
    assert (
        "The controllers cannot follow this motion here: what the laws need at each call along a motion of 0.8 s"
        in said
    )
    assert tab.ask("find('.follow')") is None
