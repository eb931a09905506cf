from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.visual.report_page import Page, decoded
from tests.visual.stand_in_run import stand_in

import chasles as ch
from chasles.base.errors import ArgumentError, MissingExtraError
from chasles.model import Description, Joint, Link
from chasles.simulation.metrics import run_metrics
from chasles.visual.panels import quantiles
from chasles.visual.report import write_report

HOSTILE = "</script><script>alert(1)</script>\"'<b>&amp;%{x}"


def traces(data: dict, panel: str = "y") -> list[dict]:
    return [trace for trace in data["figure"]["data"] if trace["yaxis"] == panel]


def test_report_is_one_file_that_loads_nothing(panda, tmp_path):
    path = write_report({"Panda": stand_in(panda)}, tmp_path / "run.html")
    page = Page(path)
    assert path.stat().st_size < 8e6
    assert [file.name for file in tmp_path.iterdir()] == ["run.html"]
    for tag, attributes in page.elements:
        assert tag not in {"link", "img", "iframe", "object", "embed", "base"}
        assert not {"src", "href", "srcset", "action"} & set(attributes), (tag, attributes)
    policy = [a["content"] for _, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert len(policy) == 1
    assert policy[0].startswith("default-src 'none';")  # no connection of any kind unless named
    assert "http" not in policy[0]
    own = "".join(script for script in page.scripts if len(script) < 200_000)  # all but plotly itself
    assert "RobotView" in own
    assert "http:" not in own
    assert "https:" not in own


def test_plotted_numbers_are_those_of_the_run(panda, tmp_path):
    run = stand_in(panda)
    (data,) = Page(write_report({"Panda": run}, tmp_path / "run.html")).data
    lines = traces(data)
    assert len(lines) == 2 * panda.n
    for k, name in enumerate(panda.joint_names):
        own = [trace for trace in lines if trace["name"] == name]
        solid = next(trace for trace in own if "dash" not in trace["line"])
        dashed = next(trace for trace in own if "dash" in trace["line"])
        np.testing.assert_array_equal(decoded(solid["x"]), run["time"].values.astype("f4"))
        np.testing.assert_array_equal(decoded(solid["y"]), run["q"].values[:, k].astype("f4"))
        np.testing.assert_array_equal(decoded(dashed["y"]), run["q_reference"].values[:, k].astype("f4"))
    for panel, name, scale in (("y2", "error", 1e3), ("y3", "tau", 1.0)):
        for k, trace in enumerate(traces(data, panel)):
            np.testing.assert_array_equal(decoded(trace["y"]), (scale * run[name].values[:, k]).astype("f4"))


def test_table_shows_every_joint_with_units(panda, tmp_path):
    run = stand_in(panda)
    page = Page(write_report({"Panda": run}, tmp_path / "run.html"))
    cells = page.of("td")
    for k, name in enumerate(panda.joint_names):
        row = cells[cells.index(name) :]
        # The stand-in's error is (k + 1) sin(pi t) mrad: the peak is k + 1 mrad, in the middle.
        assert float(row[2]) == pytest.approx(k + 1, abs=5e-3)
        assert float(row[3]) == pytest.approx(np.abs(run["tau"].values[:, k]).max(), abs=5e-3)
    assert page.of("span").count("mrad") == 2 * panda.n + 3  # and worst of the joints, and of the tool's orientation
    assert page.of("span").count("N·m") == panda.n


def test_table_of_the_whole_run_shows_its_metrics(panda, tmp_path):
    run = stand_in(panda)
    cells = Page(write_report({"Panda": run}, tmp_path / "run.html")).of("td")
    numbers = run_metrics(run)
    for title, name in (("RMS error, tool", "rms_position_error"), ("peak error, tool", "peak_position_error")):
        assert float(cells[cells.index(title) + 1]) == pytest.approx(1e3 * float(numbers[name]), abs=5e-3)
    work = float(cells[cells.index("absolute work") + 1])
    assert work == pytest.approx(float(numbers.absolute_work.sum()), abs=5e-3)
    many = stand_in(panda, runs=30)
    cells = Page(write_report({"Panda": many}, tmp_path / "run.html")).of("td")
    worst = 1e3 * run_metrics(many)["rms_error"].values.max(axis=-1)
    row = [float(cell) for cell in cells[cells.index("RMS error, joints") + 1 :][:4]]
    np.testing.assert_allclose(row, np.quantile(worst, [0.0, 0.5, 0.95, 1.0]), atol=5e-3)


def test_errors_over_what_varies(panda, tmp_path):
    run = stand_in(panda, runs=8)
    (data,) = Page(write_report({"many": run}, tmp_path / "run.html")).data
    (scores,) = data["more"]
    numbers = run_metrics(run)
    assert scores["layout"]["xaxis2"]["title"]["text"] == "payload.mass"
    for k, trace in enumerate(scores["data"][: panda.n]):
        np.testing.assert_allclose(decoded(trace["x"]), np.linspace(0.0, 5.0, 8), rtol=1e-6)
        np.testing.assert_allclose(decoded(trace["y"]), 1e3 * numbers.rms_error.values[:, k], rtol=1e-6)
    np.testing.assert_allclose(decoded(scores["data"][-1]["y"]), 1e3 * numbers.rms_position_error, rtol=1e-6)
    (single,) = Page(write_report({"one": stand_in(panda)}, tmp_path / "run.html")).data
    assert single["more"] == []


def test_the_tools_error_over_time(panda, tmp_path):
    run = stand_in(panda)
    (data,) = Page(write_report({"Panda": run}, tmp_path / "run.html")).data
    (distance,), (angle,) = traces(data, "y4"), traces(data, "y5")
    T, T_reference = (panda.forward_kinematics(run[name].values) for name in ("q", "q_reference"))
    gap = np.linalg.norm(T[:, :3, 3] - T_reference[:, :3, 3], axis=-1)
    np.testing.assert_allclose(decoded(distance["y"]), 1e3 * gap, rtol=1e-5, atol=1e-4)
    cosine = (np.trace(np.swapaxes(T[:, :3, :3], 1, 2) @ T_reference[:, :3, :3], axis1=1, axis2=2) - 1.0) / 2.0
    np.testing.assert_allclose(decoded(angle["y"]), 1e3 * np.arccos(np.minimum(cosine, 1.0)), atol=0.05)


def test_sliding_joints_have_their_own_diagrams(tmp_path):
    scara = ch.load("scara")
    page = Page(write_report({"SCARA": stand_in(scara)}, tmp_path / "run.html"))
    layout = page.data[0]["figure"]["layout"]
    units = [layout[axis]["title"]["text"] for axis in ("yaxis", *(f"yaxis{k}" for k in range(2, 7)))]
    assert units == ["[rad]", "[m]", "[mrad]", "[mm]", "[N·m]", "[N]"]
    assert {trace["name"] for trace in traces(page.data[0], "y2")} == {scara.joint_names[2]}
    assert {"mm", "N"} <= set(page.of("span"))


def test_a_batch_shows_its_band_and_lines(panda, tmp_path):
    run = stand_in(panda, runs=20)
    page = Page(write_report({"some": run}, tmp_path / "run.html"))
    error = run["error"].values
    low, high, lines = traces(page.data[0], "y2")[:3]
    at = np.searchsorted(run["time"].values.astype("f4"), decoded(low["x"]))
    np.testing.assert_array_equal(decoded(low["y"]), (1e3 * error[:, at, 0].min(axis=0)).astype("f4"))
    np.testing.assert_array_equal(decoded(high["y"]), (1e3 * error[:, at, 0].max(axis=0)).astype("f4"))
    drawn = decoded(lines["y"]).reshape(20, -1)[:, :-1]
    np.testing.assert_array_equal(drawn, (1e3 * error[:, at, 0]).astype("f4"))


def test_many_runs_are_shown_by_their_quantiles(panda, tmp_path):
    run = stand_in(panda, runs=50)
    page = Page(write_report({"many": run}, path := tmp_path / "run.html"))
    assert path.stat().st_size < 8e6
    shown = traces(page.data[0], "y2")[:5]
    at = np.searchsorted(run["time"].values.astype("f4"), decoded(shown[0]["x"]))
    error = 1e3 * run["error"].values[:, at, 0]
    for trace, share in zip(shown, (0.0, 1.0, 0.05, 0.95, 0.5), strict=True):
        np.testing.assert_allclose(decoded(trace["y"]), np.quantile(error, share, axis=0), rtol=1e-6)
    options = [text for text in page.of("option") if "payload" in text]
    assert options[0] == "payload.mass = 0"
    assert options[-1] == "payload.mass = 5"
    assert len(options) == len(page.data[0]["scene"]["runs"]) == 20
    assert "50 (20 drawn)" in page.of("b")


def test_quantiles_leave_out_what_is_not_finite():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(40, 6))
    values[rng.random(values.shape) < 0.3] = np.nan
    values[3, 0], values[:, 5], values[1:, 4] = np.inf, np.nan, np.nan
    found = quantiles(values, (0.0, 0.3, 0.95))
    finite = np.where(np.isfinite(values), values, np.nan)
    np.testing.assert_allclose(found[:, :5], np.nanquantile(finite[:, :5], [0.0, 0.3, 0.95], axis=0), rtol=1e-12)
    assert np.isnan(found[:, 5]).all()


def test_animation_follows_the_robot(panda, tmp_path):
    run = stand_in(panda)
    scene = Page(write_report({"Panda": run}, tmp_path / "run.html")).data[0]["scene"]
    times, poses = decoded(scene["times"]), decoded(scene["poses"])
    assert poses.shape == (1, len(times), len(scene["links"]), 7)
    assert (times[0], times[-1]) == (0.0, 1.0)
    assert np.diff(times).max() < 1 / 40
    for frame in (0, 30, -1):
        sample = int(np.argmin(np.abs(run["time"].values - times[frame])))
        for link, name in enumerate(scene["links"]):
            T = np.asarray(panda.forward_kinematics(run["q"].values[sample], target=name))
            x, y, z, w = poses[0, frame, link, 3:].astype(float)
            turned = [1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)]
            np.testing.assert_allclose(poses[0, frame, link, :3], T[:3, 3], atol=1e-6)
            np.testing.assert_allclose(turned, T[:3, 0], atol=1e-6)


@pytest.mark.parametrize("hostile", [HOSTILE, "a'b\"c", "]]><!--<script>"])
def test_hostile_names_stay_text(hostile, tmp_path):
    joints = (Joint(hostile, "revolute", "base", hostile + " link"),)
    robot = ch.Robot(Description(hostile, links=(Link("base"), Link(hostile + " link")), joints=joints))
    run = stand_in(robot)
    run.attrs["controller"] = hostile
    page = Page(write_report({hostile: run}, tmp_path / "run.html", title=hostile))
    assert len(page.data) == 1
    # The robot's own page, plotly, its starter, scene, viewer, report: none was broken off or added.
    assert len(page.scripts) == 6
    assert [tag for tag, _ in page.elements].count("script") == 7
    assert not any("alert(1)" in script for script in page.scripts)
    assert "".join(page.of("h1")) == hostile
    both = Page(write_report({hostile: run, "other": run}, tmp_path / "runs.html"))
    assert (both.of("h1"), both.of("h2")) == (["Closed-loop simulation"], [hostile, "other"])
    assert hostile in page.of("td")
    name = page.data[0]["figure"]["data"][0]["name"]
    assert "<" not in name
    assert "%{" not in name


def test_not_finite_numbers_are_shown_as_gaps(panda, tmp_path):
    run = stand_in(panda)
    for name in ("q", "error", "tau"):
        run[name].values[150:] = np.nan
    run["tau"].values[149] = np.inf
    (data,) = Page(write_report({"Panda": run}, tmp_path / "run.html")).data
    assert np.isnan(decoded(traces(data)[0]["y"])[150:]).all()
    poses = decoded(data["scene"]["poses"])
    assert np.isfinite(poses).all()
    np.testing.assert_array_equal(poses[0, -1], poses[0, -10])  # it stays where it was last
    assert np.isfinite([data["scene"]["ground"], data["scene"]["extent"]]).all()


def test_a_run_that_never_was_finite_is_still_shown(panda, tmp_path):
    run = stand_in(panda)
    run["q"].values[:] = np.nan
    run["error"].values[:] = np.nan
    page = Page(write_report({"Panda": run}, tmp_path / "run.html"))
    assert np.isfinite(decoded(page.data[0]["scene"]["poses"])).all()
    assert page.of("td").count("–") >= 2 * panda.n


def test_long_runs_stay_small(panda, tmp_path):
    path = write_report({"long": stand_in(panda, samples=100_001)}, tmp_path / "run.html")
    assert path.stat().st_size < 8e6
    (data,) = Page(path).data
    time = decoded(traces(data)[0]["x"])
    assert len(time) == 4000
    assert (time[0], time[-1]) == (0.0, 1.0)


def test_single_sample(panda, tmp_path):
    (data,) = Page(write_report({"still": stand_in(panda).isel(time=[0])}, tmp_path / "run.html")).data
    assert decoded(data["scene"]["poses"]).shape[1] == 1


def test_without_a_robot_there_are_still_plots(panda, tmp_path):
    run = stand_in(panda)
    del run.attrs["robot_toml"]
    page = Page(write_report({"?": run}, tmp_path / "run.html"))
    assert "scene" not in page.data[0]
    assert page.data[0]["figure"]["data"]
    assert "canvas" not in [tag for tag, _ in page.elements]


def test_several_runs_in_the_order_given(panda, tmp_path):
    puma = ch.load("puma560")
    page = Page(write_report({"B": stand_in(panda), "A": stand_in(puma)}, tmp_path / "run.html"))
    assert page.of("h2") == ["B", "A"]
    assert [data["scene"]["links"][-1] for data in page.data] == [panda.description.tool, "tool"]


def test_wrong_datasets_and_paths_are_refused(panda, tmp_path):
    run = stand_in(panda)
    with pytest.raises(ArgumentError, match="no variable 'tau'"):
        write_report({"x": run.drop_vars("tau")}, tmp_path / "run.html")
    with pytest.raises(ArgumentError, match="'tau' has no dimensions joint and time"):
        write_report({"x": run.assign(tau=("time", run["tau"].values[:, 0]))}, tmp_path / "run.html")
    with pytest.raises(ArgumentError, match="empty"):
        write_report({"x": run.isel(time=[])}, tmp_path / "run.html")
    with pytest.raises(ArgumentError, match="at least one run"):
        write_report({}, tmp_path / "run.html")
    with pytest.raises(ArgumentError, match=r"cannot be written: .+"):
        write_report({"x": run}, tmp_path / "no" / "such" / "folder.html")
    folder = tmp_path / "folder.html"
    folder.mkdir()
    with pytest.raises(ArgumentError, match="cannot be written: it is a folder"):
        write_report({"x": run}, folder)
    assert list(tmp_path.iterdir()) == [folder]


def test_missing_plotly_names_the_extra(panda, tmp_path, monkeypatch):
    monkeypatch.setattr("chasles.visual.page.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"\.\[plot\]"):
        write_report({"x": stand_in(panda)}, tmp_path / "run.html")
    damaged = importlib.util.spec_from_file_location("plotly", tmp_path / "__init__.py")
    monkeypatch.setattr("chasles.visual.page.find_spec", lambda name: damaged)
    with pytest.raises(MissingExtraError, match="the installed copy is damaged"):
        write_report({"x": stand_in(panda)}, tmp_path / "run.html")
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(MissingExtraError, match=r"\.\[plot\]"):
        ch.plot(stand_in(panda))


def test_run_reports_itself(tmp_path):
    arm = ch.load("planar2r")
    motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=0.2)
    run = ch.simulate(arm, ch.ComputedTorque(arm, kp=400.0, kd=40.0), motion, vary={"payload.mass": [0.0, 1.0]})
    run.report(tmp_path / "run.html")
    page = Page(tmp_path / "run.html")
    assert (page.of("h1"), page.of("h2")) == (["planar2r"], [])  # one run needs one heading
    assert page.data[0]["scene"]["runs"] == ["payload.mass = 0", "payload.mass = 1"]


def test_report_of_a_saved_run_equals_that_of_the_run(panda, tmp_path):
    import xarray

    run = stand_in(panda)
    run.to_netcdf(tmp_path / "run.nc")
    with xarray.open_dataset(tmp_path / "run.nc") as saved:
        first = write_report({"a": run}, tmp_path / "a.html").read_text()
        second = write_report({"a": saved}, tmp_path / "b.html").read_text()
    assert first == second


def test_plotly_accepts_the_figure(panda):
    figure = ch.plot(stand_in(panda))
    assert len(figure.data) == 4 * panda.n + 2
    assert figure.layout.xaxis2.matches == "x"


def test_assets_are_in_the_package():
    import chasles.visual

    names = {path.name for path in (Path(chasles.visual.__path__[0]) / "scripts").iterdir()}
    assert {"viewer.js", "report.js", "report.css"} <= names


def test_the_facts_name_delay_friction_payloads_and_saturation(tmp_path: Path) -> None:
    arm = ch.load("planar2r").with_friction(viscous=1.0, coulomb=0.0)
    box = ch.PickedPayload("box", 2.0, pick_time=0.02, put_time=0.05)
    law, motion = ch.ComputedTorque(arm, kp=400.0, kd=40.0), ch.PointToPoint([0.0, 0.0], [0.1, 0.1], 0.1)
    plain = ch.simulate(arm, law, motion, period=0.01, integrator="rk4").report(tmp_path / "plain.html").read_text()
    run = ch.simulate(ch.Plant(arm, payloads=[box], delay=0.005), law, motion, period=0.01, integrator="rk4")
    run["saturation_time"].values[1] = 0.025
    text = run.report(tmp_path / "run.html").read_text()
    for fact in ("delay <b>5 ms", "payloads.box from 0.02 s to 0.05 s", "at effort limits <b>joint2, 0.025 s"):
        assert fact in text
        assert fact not in plain
    assert "joint friction <b>viscous</b>" in plain
