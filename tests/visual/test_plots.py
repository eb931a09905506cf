"""Figures of robots, runs and loops show the numbers that belong there; Matplotlib draws the same figures."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cpu_time import cpu_time_limit
from tests.oracles.closed_machines import MACHINES

import chasles as ch
from chasles.base.errors import ArgumentError, ArgumentTypeError, UnknownNameError
from chasles.model import Description, Link
from chasles.visual.dexterity import tool_space
from chasles.visual.encoding import with_still
from chasles.visual.vector_figures import numbers, svg
from chasles.visual.view.mechanism import mechanism_data

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def arm() -> ch.Robot:
    return ch.load("planar2r")


@pytest.fixture(scope="module")
def run(arm: ch.Robot) -> Any:
    motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=0.5)
    law = ch.ComputedTorque(arm, kp=400.0, kd=40.0)
    return ch.simulate(arm, law, motion, vary={"payload.mass": [0.0, 2.0]}, record=ch.Recording(energies=True))


def _data(figure: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = figure.to_dict()["data"]
    return found


def test_the_workspace_of_two_links_is_a_ring(arm: ch.Robot) -> None:
    """At most l1 + l2 away; the manipulability is at most l1 l2."""
    (cloud,) = _data(ch.plot(arm, samples=2000))
    p = np.stack([numbers(cloud[axis]) for axis in "xyz"], axis=-1)
    reach = np.linalg.norm(p, axis=1)
    longest = np.linalg.norm(arm.forward_kinematics([0.0, 0.0])[:3, 3])
    assert reach.max() <= longest + 1e-6
    q = arm.random_configuration(0, (500,))
    J = np.asarray(arm.jacobian(q, frame="world-aligned"))[:, 3:]
    sizes = numbers(cloud["marker"]["color"])
    assert sizes.max() <= 1.02 * np.sqrt(np.linalg.det(np.swapaxes(J, -1, -2) @ J)).max()


def test_a_section_has_the_points_near_its_plane() -> None:
    puma = ch.load("puma560")
    (section,) = _data(ch.plot(puma, plane="xz", samples=20_000))
    z = numbers(section["z"])
    assert np.isfinite(z).sum() > 300
    tools = np.asarray(puma.forward_kinematics(puma.random_configuration(0, (20_000,))))[:, :3, 3]
    x = numbers(section["x"])
    assert x.min() >= tools[:, 0].min() - 0.05
    assert x.max() <= tools[:, 0].max() + 0.05


def test_planar_arms_have_a_planar_manipulability() -> None:
    """Three links of 0.4, 0.3 and 0.2 m in a plane: √det(J Jᵀ) of the plane's own 2 x 3 Jacobian."""
    lengths = np.array([0.4, 0.3, 0.2])
    arm = ch.Robot.from_dh([{"a": a} for a in lengths], name="three links")
    figure = ch.plot(arm, samples=300, seed=4)
    (cloud,) = _data(figure)
    assert cloud["marker"]["colorbar"]["title"]["text"] == "manipulability in the plane"
    ways = lengths * np.exp(1j * np.cumsum(arm.random_configuration(4, (300,)), axis=-1))
    columns = 1j * np.cumsum(ways[:, ::-1], axis=-1)[:, ::-1]  # from each joint to the tip, turned by 90°
    J = np.stack([columns.real, columns.imag], axis=1)
    expected = np.sqrt(np.linalg.det(J @ np.swapaxes(J, -1, -2)))
    np.testing.assert_allclose(numbers(cloud["marker"]["color"]), expected, atol=1e-6)
    assert mechanism_data(arm, 0.9)["toolSpace"] == {"dimensions": 2, "words": " in the plane"}
    heat, *_ = _data(ch.plot(arm, "manipulability", plane="xy"))
    assert numbers(heat["z"])[np.isfinite(numbers(heat["z"]))].max() > 0.05


@pytest.mark.parametrize(
    ("robot", "dimensions", "words"),
    [
        ("planar2r", 2, " in the plane"),
        ("ur5", 3, ""),
        ("stewart", 3, ""),
        ("turntable", 1, " along the curve"),
        ("pan and tilt", 2, " on the surface"),
        ("slide", 1, " along the line"),
    ],
)
def test_the_space_of_a_tool_is_named(robot: str, dimensions: int, words: str) -> None:
    tables: dict[str, list[dict[str, Any]]] = {
        "turntable": [{"a": 0.5}],
        "pan and tilt": [{"alpha": np.pi / 2}, {"a": 0.5}],
        "slide": [{"kind": "prismatic", "a": 0.5}],
    }
    space = tool_space(ch.Robot.from_dh(tables[robot]) if robot in tables else ch.load(robot))
    assert (space.dimensions, space.words) == (dimensions, words)


def test_linkages_are_plotted_in_a_second() -> None:
    """The tool on the coupler of a four-bar keeps within the crank and its own distance from the knee."""
    robot = ch.Robot(MACHINES["four-bar"]())
    with cpu_time_limit(8.0, "the workspace of a four-bar, compiled"):
        (cloud,) = _data(ch.plot(robot))
    assert cloud["marker"]["colorbar"]["title"]["text"] == "manipulability along the curve"
    x, y, z = (numbers(cloud[axis]) for axis in "xyz")
    assert np.abs(y).max() < 1e-6
    assert np.hypot(x, z).max() <= 0.2 + np.hypot(0.3, 0.1) + 1e-6


def test_manipulability_over_a_plane_is_that_of_its_configurations(arm: ch.Robot) -> None:
    """Two links of lengths l1 and l2 at distance r: l1 l2 |sin q2| with r² = l1² + l2² + 2 l1 l2 cos q2."""
    T = np.asarray(arm.frame_poses([0.0, 0.0]))
    tool = T[-1, :3, 3] if arm.frame_names[-1] == arm.description.tool else arm.forward_kinematics([0.0, 0.0])[:3, 3]
    elbows = [p for p in T[:, :3, 3] if 1e-6 < np.linalg.norm(p) < np.linalg.norm(tool) - 1e-6]
    l1 = float(np.linalg.norm(elbows[0]))
    l2 = float(np.linalg.norm(tool)) - l1
    plane = "xy" if abs(arm.forward_kinematics([0.7, 0.5])[2, 3] - tool[2]) < 1e-12 else "xz"
    heat, *_ = _data(ch.plot(arm, "manipulability", plane=plane, q=[0.3, 0.8]))
    x, y, z = (numbers(heat[key]) for key in "xyz")
    r = np.hypot(x[None], y[:, None])
    cosine = (r**2 - l1**2 - l2**2) / (2.0 * l1 * l2)
    shown = np.isfinite(z)
    assert shown.sum() > 100
    assert (np.abs(cosine[shown]) <= 1.0 + 1e-6).all()
    expected = l1 * l2 * np.sqrt(np.maximum(1.0 - cosine[shown] ** 2, 0.0))
    np.testing.assert_allclose(z[shown], expected, atol=2e-3 * l1 * l2)


def test_torque_over_speed_with_its_limits() -> None:
    panda = ch.load("panda")
    motion = ch.PointToPoint(panda.home, panda.home + 0.3, duration=0.3)
    run = ch.simulate(panda, ch.ComputedTorque(panda, kp=400.0, kd=40.0), motion)
    data = _data(run.plot("torque-speed"))
    boxes = [trace for trace in data if trace.get("name") == "limits"]
    assert [max(box["x"]) for box in boxes] == panda.velocity_limits.tolist()
    assert [max(box["y"]) for box in boxes] == panda.effort_limits.tolist()
    lines = [trace for trace in data if trace.get("name") != "limits"]
    np.testing.assert_allclose(numbers(lines[3]["x"]), run["qd"].values[:, 3], atol=1e-6)


def test_phase_portraits_and_energy(run: Any) -> None:
    data = _data(run.plot("phase"))
    assert len(data) == 4  # two joints, two runs
    np.testing.assert_allclose(numbers(data[3]["x"]), run["q"].values[1, :, 1], atol=1e-6)
    np.testing.assert_allclose(numbers(data[3]["y"]), run["qd"].values[1, :, 1], atol=1e-6)
    assert _data(run.plot("energy"))
    with pytest.raises(UnknownNameError, match="there is no kind 'bode'"):
        run.plot("bode")


def test_the_response_of_a_computed_torque_loop_is_that_of_two_integrators(arm: ch.Robot) -> None:
    """Computed torque makes each joint 1/s², so that L = (kd s + kp) / s² far below the sample rate."""
    motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 1.0)
    law = ch.ComputedTorque(arm, kp=400.0, kd=40.0)
    response = ch.control.loop_response(arm, law, motion, period=1e-4, time=0.5)
    w = response.frequency
    low = (w > 3.0) & (w < 100.0)
    s = 1j * w[low]
    A, _ = arm.linearize(motion(0.5).q, motion(0.5).qd, arm.inverse_dynamics(*motion(0.5)[:3]))[:2]
    eigen = np.linalg.eigvals(response.response[low])
    expected = (40.0 * s + 400.0) / s**2
    assert A.shape == (4, 4)
    spread = np.abs(eigen / expected[:, None] - 1.0)
    assert np.median(spread) < 0.15  # velocity terms of the arm at speed remain
    gain, phase = response.margins(0)
    assert gain > 10.0
    assert 60.0 < np.degrees(phase) < 90.0
    figure = ch.plot(response)
    assert figure.layout.xaxis.type == "log"
    assert len(figure.data) == 4
    margins = ch.control.loop_margins(arm, law, motion, period=0.01, places=5)
    np.testing.assert_allclose(numbers(_data(ch.plot(margins))[0]["y"]), margins.disk, rtol=1e-6)


def test_papers_get_vectors(run: Any, arm: ch.Robot, tmp_path: Path) -> None:
    line = ch.StraightLine(np.eye(4), ch.geometry.pose(np.eye(3), [0.1, 0.2, 0.3]), duration=1.0)
    figures = [
        run.plot(),
        run.plot("phase"),
        ch.plot(arm, samples=100),
        ch.plot(arm, "manipulability", plane="xz"),
        line.plot(),
    ]
    for k, figure in enumerate(figures):
        drawn = ch.to_matplotlib(figure)
        drawn.savefig(tmp_path / f"{k}.pdf")
        assert (tmp_path / f"{k}.pdf").read_bytes().startswith(b"%PDF")
        panels = {trace.get("yaxis") or trace.get("scene") or "y" for trace in _data(figure)}
        assert len([axes for axes in drawn.axes if axes.get_label() != "<colorbar>"]) == len(panels)
    own = ch.to_matplotlib(figures[1]).axes[0].lines[0]
    np.testing.assert_allclose(own.get_xdata(), numbers(_data(figures[1])[0]["x"]))
    with pytest.raises(ArgumentTypeError, match="takes a figure of chasles"):
        ch.to_matplotlib([1, 2])


def test_figures_remain_in_exported_notebooks_and_pickle(run: Any) -> None:
    figure = run.plot("phase")
    bundle = figure._repr_mimebundle_()
    assert bundle["image/svg+xml"].startswith("<?xml")
    assert "application/vnd.plotly.v1+json" in bundle
    online = with_still("<p>Plotly</p>", bundle["image/svg+xml"])
    assert online.index("<svg") < online.index("<p>Plotly</p>") < online.index(".main-svg")
    assert '<div style="height:0;overflow:hidden"><p>Plotly</p></div>' in online  # no blank where Plotly never comes
    assert len(pickle.loads(pickle.dumps(figure)).data) == len(figure.data)


def test_many_points_make_no_large_drawing(arm: ch.Robot) -> None:
    assert len(svg(ch.plot(arm, "workspace"))) < 400_000


def test_what_does_not_fit_is_said(arm: ch.Robot) -> None:
    with pytest.raises(UnknownNameError, match="there is no kind 'reach'"):
        ch.plot(arm, "reach")
    with pytest.raises(UnknownNameError, match="there is no plane 'xx'"):
        ch.plot(arm, plane="xx")
    with pytest.raises(ArgumentError, match=r"view\(q\) and picture\(path, q\) show the robot"):
        ch.plot(arm, arm.home)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="its workspace is one point"):
        ch.plot(ch.Robot(Description("stone", (Link("stone"),))))
