"""`chasles optimize`: problems as files and of robots, what is written, and hostile files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from typer.testing import CliRunner

import chasles as ch
from chasles.cli.application import application

PROBLEM = """
[problem]
robot = "planar2r"
duration = 1.0
nodes = 20
start = [0.0, 0.0]

[[running]]
residual = "torque"
weight = 0.01

[[exact_end]]
residual = "pose"
at = [1.0, 0.5]

[[exact_end]]
residual = "velocity"
"""


def run(*words: str) -> Result:
    return CliRunner().invoke(application, ["optimize", *words])


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    path = tmp_path / "problem.toml"
    path.write_text(PROBLEM)
    return path


def test_a_duration_between_two_is_chosen(problem: Path) -> None:
    timed = PROBLEM.replace("duration = 1.0", "duration = [0.2, 4.0]\nguess = [1.0, 0.5]\nlimits = []")
    problem.write_text(timed + '\n[[running]]\nresidual = "time"\nweight = 100.0\n')
    shown = run(str(problem), "--json")
    assert shown.exit_code == 0, shown.output
    record = json.loads(shown.output)
    assert record["status"] == "optimal"
    assert 0.2 < record["duration"] < 4.0


def test_a_problem_is_solved_and_written(problem: Path, tmp_path: Path) -> None:
    arrays, rows, page = (tmp_path / f"motion.{ending}" for ending in ("npz", "csv", "html"))
    shown = run(str(problem), "--save", str(arrays), "--out", str(page))
    assert shown.exit_code == 0, shown.output
    assert "optimal: the motion keeps all constraints" in shown.output
    assert page.stat().st_size > 1000
    assert run(str(problem), "--save", str(rows)).exit_code == 0
    saved, lines = np.load(arrays), np.loadtxt(rows, delimiter=",", skiprows=1)
    arm = ch.load("planar2r")
    T_world_end = arm.forward_kinematics(saved["states"][-1, :2])
    np.testing.assert_allclose(T_world_end, arm.forward_kinematics([1.0, 0.5]), atol=1e-6)
    np.testing.assert_allclose(lines[:, 1:5], saved["states"], atol=1e-8)
    np.testing.assert_allclose(lines[:-1, 5:], saved["torques"], rtol=1e-8)
    assert saved["gains"].shape == (20, 2, 4)


@pytest.mark.slow
def test_a_robot_reaches_its_goal_with_smoothed_friction() -> None:
    shown = run("xarm6", "--goal", "0.2,-0.3,-0.4,0,0.1,0", "--nodes", "20", "--duration", "1", "--json")
    assert shown.exit_code == 0, shown.output
    assert json.loads(shown.stdout)["status"] == "optimal"


def test_what_is_impossible_is_said_with_numbers(problem: Path) -> None:
    problem.write_text(PROBLEM + "[limits]\ntorque = 1.0\n")
    shown = run(str(problem), "--json", "--iterations", "100")
    said = json.loads(shown.stdout)
    assert shown.exit_code == 1
    assert said["status"] in ("no motion found", "stopped")
    assert any(finding["code"] == "exact-end" for finding in said["findings"])


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("duration = 1.0", "duration = 0.0", "duration"),
        ("duration = 1.0", "", "'duration' is missing"),
        ("nodes = 20", "nodes = 0", "nodes"),
        ("nodes = 20", "nodes = 2.5", "nodes"),
        ('robot = "planar2r"', "", "'robot' is missing"),
        ('robot = "planar2r"', "robot = 3", "'robot' must be text, not 3"),
        ('robot = "planar2r"', 'robot = "planer2r"', "planar2r"),
        ("start = [0.0, 0.0]", "start = [0.0, nan]", "start"),
        ("start = [0.0, 0.0]", "start = [0.0]", "start"),
        ("start = [0.0, 0.0]", "strat = [0.0, 0.0]", "start"),
        ("start = [0.0, 0.0]", 'limits = "torque"', "'limits' must be a list of names"),
        ("start = [0.0, 0.0]", 'limits = ["torqe"]', "torque"),
        ("weight = 0.01", "weight = -1.0", "weight"),
        ("weight = 0.01", 'frame = "link1"', "'frame' belongs to residuals of kind 'pose'"),
        ('residual = "torque"', 'residual = "tork"', "torque"),
        ('residual = "torque"', "", "'residual' must be one of"),
        ("at = [1.0, 0.5]", "", "a pose needs either 'target'"),
        ("at = [1.0, 0.5]", "target = [1.0, 2.0]", "target"),
        ("[[running]]", "[running]", "write [[running]], in two brackets"),
        ("[[running]]", "[[runing]]", "running"),
        ("[problem]", "[problem", "is not a TOML file"),
    ],
)
def test_hostile_files_are_refused_with_a_sentence(problem: Path, old: str, new: str, words: str) -> None:
    assert old in PROBLEM
    problem.write_text(PROBLEM.replace(old, new, 1))
    shown = run(str(problem))
    assert shown.exit_code == 2, shown.output
    assert words in " ".join(shown.stderr.split())


def test_options_that_do_not_fit_are_refused(problem: Path) -> None:
    assert "the file says what is wanted" in " ".join(run(str(problem), "--goal", "1,1").stderr.split())
    assert "must end in .npz or .csv" in run(str(problem), "--save", "motion.nc").stderr
    assert "nix" in run("nix").stderr
