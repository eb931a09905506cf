"""Figures of trajectories show the trajectories' own numbers."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from tests.visual.report_page import decoded

import chasles as ch
from chasles.base.errors import ArgumentError, MissingExtraError
from chasles.trajectories import PiecewisePolynomial
from chasles.trajectories.cartesian.path_motions import Circle, StraightLine
from chasles.visual.trajectories import joint_figure, pose_figure

POSE = np.eye(4)
POSE[:3, 3] = [0.3, 0.1, 0.5]


def traces(figure: dict[str, Any], panel: str, name: str) -> list[dict[str, Any]]:
    return [trace for trace in figure["data"] if trace.get("yaxis") == panel and trace.get("name") == name]


def test_lines_are_the_motion_with_both_sides_of_each_knot() -> None:
    rng = np.random.default_rng(0)
    motion = PiecewisePolynomial([0.0, 1.0, 2.5], rng.normal(size=(2, 4, 2)))
    figure = joint_figure(motion, robot=ch.load("planar2r"))
    for panel, part in (("y", 0), ("y2", 1), ("y3", 2), ("y4", 3)):
        line = traces(figure, panel, "joint2")[0]
        t, y = decoded(line["x"]), decoded(line["y"])
        assert (t[0], t[-1]) == (0.0, 2.5)
        assert len(t) > 1000
        at_knot = y[t == 1.0]
        left = np.polynomial.Polynomial(motion.coefficients[0, :, 1])
        right = np.polynomial.Polynomial(motion.coefficients[1, :, 1])
        expected = [(p.deriv(part) if part else p)(u) for p, u in ((left, 1.0), (right, 0.0))]
        assert len(at_knot) >= 2
        np.testing.assert_allclose([at_knot[0], at_knot[-1]], expected, rtol=1e-6)
        away = np.abs(t - 1.0) > 1e-3
        np.testing.assert_allclose(y[away], motion.derivatives(t[away].astype(float))[part][:, 1], rtol=1e-4, atol=1e-4)
    markers = [trace for trace in figure["data"] if trace["mode"] == "markers"]
    np.testing.assert_array_equal(decoded(markers[0]["x"]), [0.0, 1.0, 2.5])


def test_a_robot_brings_torques_and_limits(panda: ch.Robot) -> None:
    motion = ch.PointToPoint(panda.home, panda.home + 0.3, duration=1.0)
    figure = joint_figure(motion, 0.01, robot=panda)
    texts = [annotation["text"] for annotation in figure["layout"]["annotations"]]
    assert texts == [
        "<b>Angle</b> (limits dashed)",
        "<b>Velocity</b> (limits dashed)",
        "<b>Acceleration</b>",
        "<b>Jerk</b>",
        "<b>Torque</b> (limits dashed)",
    ]
    torque, lower, upper = traces(figure, "y5", "panda_joint3")
    tau = panda.inverse_dynamics(*motion(decoded(torque["x"]).astype(float)))[:, 2]
    np.testing.assert_allclose(decoded(torque["y"]), tau, rtol=1e-5, atol=1e-3)
    np.testing.assert_array_equal(decoded(lower["y"]), [-87.0, -87.0])
    np.testing.assert_array_equal(decoded(upper["y"]), [87.0, 87.0])
    assert [trace["showlegend"] for trace in traces(figure, "y", "panda_joint3")] == [True, False, False, False]


def test_rates_of_a_free_base_stand_beside_its_quaternion() -> None:
    """Rates are drawn in the colours of coordinates, none for the first; the base carries the weight of the arm."""
    robot = ch.load("planar2r").with_free_base()
    motion = ch.trajectories.FreeBaseTrajectory(
        robot, StraightLine(POSE, POSE, duration=1.0), ch.PointToPoint([0.0, 0.0], [0.5, 0.2], duration=1.0)
    )
    figure = joint_figure(motion, robot=robot)
    (rate,) = traces(figure, "y4", "joint1")
    assert decoded(rate["y"]).max() == pytest.approx(motion(0.5).qd[6], rel=1e-3)
    assert [bool(traces(figure, panel, "base.qw")) for panel in ("y3", "y4", "y10")] == [True, False, False]
    weight = sum(link.inertia.mass for link in robot.description.links) * np.linalg.norm(robot.description.gravity)
    assert decoded(traces(figure, "y11", "base.y")[0]["y"])[0] == pytest.approx(weight, rel=1e-5)


def test_sliding_joints_have_their_own_diagrams() -> None:
    scara = ch.load("scara")
    layout = joint_figure(ch.PointToPoint(scara.home, scara.home + 0.1, duration=1.0), robot=scara)["layout"]
    units = [layout["yaxis" + ("" if k == 1 else str(k))]["title"]["text"] for k in range(1, 11)]
    assert units == ["[rad]", "[m]", "[rad/s]", "[m/s]", "[rad/s²]", "[m/s²]", "[rad/s³]", "[m/s³]", "[N·m]", "[N]"]


def test_a_batch_is_a_band_and_some_lines() -> None:
    goals = np.linspace(-1.0, 1.0, 51)[:, None]
    figure = joint_figure(ch.PointToPoint([0.0], goals, duration=2.0))
    low, high, lines, entry = traces(figure, "y", "joint 0")
    assert decoded(low["y"])[-1] == -1.0
    assert decoded(high["y"])[-1] == 1.0
    assert np.isnan(decoded(lines["y"])).sum() == 20
    assert entry["showlegend"]


def test_a_motion_in_space() -> None:
    turn = Circle(POSE, [0.0, 0.1, 0.5], [0.0, 0.0, 1.0], 2.0, orientation="turning", duration=2.0)
    figure = pose_figure(turn, 0.01)
    path, *axes = [trace for trace in figure["data"] if trace["type"] == "scatter3d"]
    points = np.stack([decoded(path[letter]) for letter in "xyz"], axis=-1)
    np.testing.assert_allclose(points[-1], turn(2.0).pose[:3, 3], rtol=1e-6)
    assert len(axes) == 3
    x_axis = np.stack([decoded(axes[0][letter]) for letter in "xyz"], axis=-1).reshape(-1, 3, 3)
    arms = x_axis[:, 1] - x_axis[:, 0]  # the frame's x axis points away from the centre, as it did at the start
    outwards = x_axis[:, 0] - [0.0, 0.1, 0.5]
    np.testing.assert_allclose(arms / np.linalg.norm(arms, axis=1)[:, None], outwards / 0.3, atol=1e-5)
    (velocity,) = traces(figure, "y3", "y")
    t = decoded(velocity["x"]).astype(float)
    np.testing.assert_allclose(decoded(velocity["y"]), turn(t).twist[:, 4], atol=1e-5)
    assert [trace["name"] for trace in figure["data"] if trace["showlegend"]] == ["x", "y", "z", "w"]


def test_still_and_many_motions_in_space() -> None:
    ends = np.broadcast_to(POSE, (30, 4, 4)).copy()
    ends[:, 0, 3] += np.linspace(0.0, 1.0, 30)
    for trajectory, paths in (
        (StraightLine(POSE, POSE, duration=1.0), 1),
        (StraightLine(POSE, ends, duration=1.0), 20),
    ):
        figure = pose_figure(trajectory)
        assert sum(trace["type"] == "scatter3d" for trace in figure["data"]) == paths + 3
        for letter in "xyz":
            low, high = figure["layout"]["scene"][f"{letter}axis"]["range"]
            assert high - low > 0.1


def test_plotly_accepts_the_figures(panda: ch.Robot) -> None:
    graph_objects = pytest.importorskip("plotly.graph_objects")
    motion = ch.PointToPoint(panda.home, panda.home + 0.3, duration=1.0)
    assert isinstance(motion.plot(robot=panda), graph_objects.Figure)
    assert isinstance(StraightLine(POSE, POSE, duration=1.0).plot(0.1), graph_objects.Figure)


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    for trajectory in (ch.PointToPoint([0.0], [1.0], duration=1.0), StraightLine(POSE, POSE, duration=1.0)):
        with pytest.raises(MissingExtraError, match=r"\.\[plot\]"):
            trajectory.plot()


def test_bad_arguments_are_named(panda: ch.Robot) -> None:
    with pytest.raises(ArgumentError, match="the trajectory moves 1 joints"):
        joint_figure(ch.PointToPoint([0.0], [1.0], duration=1.0), robot=panda)
    with pytest.raises(ArgumentError, match="dt is nan; it must be finite"):
        pose_figure(StraightLine(POSE, POSE, duration=1.0), np.nan)


def test_a_batch_of_no_motions_is_said(panda: ch.Robot) -> None:
    motion = ch.PointToPoint(np.zeros((0, 7)), np.ones((0, 7)), duration=1.0)
    line = StraightLine(np.empty((0, 4, 4)), np.empty((0, 4, 4)), duration=1.0)
    for fails in (motion.plot, line.plot, lambda: motion.view(panda, path="never.html"), lambda: line.follow(panda)):
        with pytest.raises(ArgumentError, match=r"a batch of no trajectories, \(0,\)"):
            fails()
    for shown in (motion, line, motion.check(panda)):
        assert shown._repr_html_().startswith("<p>")
