from __future__ import annotations

import numpy as np
import pytest
from tests.cpu_time import cpu_time_limit
from typer.testing import CliRunner

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.cli.application import application
from chasles.cli.demonstration import ARMS, PAYLOAD, perform
from chasles.cli.speed import kernel_speeds


def test_demo(tmp_path, monkeypatch):
    report, opened = tmp_path / "demo.html", []
    monkeypatch.setattr("webbrowser.open", opened.append)
    with cpu_time_limit(15.0):
        result = CliRunner().invoke(application, ["demo", "--quick", "--open", "--out", str(report)])
    assert result.exit_code == 0, result.output
    assert opened == [report.as_uri()]
    for words in ("PUMA 560", "Franka Panda", "mrad", "°", "N·m", "inverse dynamics", "forward dynamics", "ns", "µs"):
        assert words in result.stdout
    assert str(report) in result.stdout
    text = report.read_text(encoding="utf-8")
    assert len(text.encode()) < 8e6
    for arm in ARMS:
        assert f"<h2>{arm.title}</h2>" in text
        assert all(name in text for name in ch.load(arm.robot).joint_names)


def test_demo_refuses_what_it_cannot_do(tmp_path):
    for options, said in (
        (["--out", str(tmp_path / "no" / "folder.html")], "cannot be written"),
        (["--seconds", "0"], "--seconds is 0.0; it must be at least 0.01"),
        (["--seconds", "nan"], "--seconds is nan; it must be finite"),
    ):
        result = CliRunner().invoke(application, ["demo", *options])
        assert result.exit_code == 2
        assert result.stdout == ""
        assert said in result.stderr


@pytest.mark.parametrize("experiment", ARMS, ids=lambda experiment: experiment.robot)
def test_the_arms_do_what_real_ones_could(experiment):
    """The motion stays within the limits of position, speed and torque, and ends close to its goal."""
    arm = ch.load(experiment.robot)
    outcome = perform(experiment, 2.0)
    q, qd, tau = (outcome.run[name].values for name in ("q", "qd", "tau"))
    assert ((arm.lower_limits <= q) & (q <= arm.upper_limits)).all()
    assert (np.abs(qd) <= arm.velocity_limits).all()
    assert (np.abs(tau) <= arm.effort_limits).all()
    np.testing.assert_allclose(q[-1], arm.home + experiment.move, atol=5e-3)
    assert 1e-4 < np.abs(outcome.run["error"].values).max() < 1e-2  # the wrong model shows, the controller copes


@pytest.mark.parametrize("experiment", ARMS, ids=lambda experiment: experiment.robot)
def test_the_plant_differs_from_the_model_as_announced(experiment):
    from chasles.model import parse_toml

    plant = parse_toml(perform(experiment, 1.0).run.attrs["robot_toml"], check=False)
    assert plant.payload.mass == PAYLOAD
    assert all(joint.viscous_friction > 0 and joint.coulomb_friction > 0 for joint in plant.coordinates)


def test_lengths_that_make_no_sense():
    with pytest.raises(ArgumentError, match="3600"):
        perform(ARMS[0], 1e9)


def test_speeds_are_times_of_the_right_kernels():
    arm = ch.load("planar2r")
    speeds = {speed.title: speed for speed in kernel_speeds(arm, effort=2e-3)}
    assert speeds["inverse dynamics"].operations == arm.inverse_dynamics.program.operation_count
    for speed in speeds.values():
        assert 1e-10 < speed.batched < speed.single < 1e-3
