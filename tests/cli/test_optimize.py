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
from chasles.cli.values import random_configuration
from chasles.model import Description, Inertia, Joint, Link

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


def columns(path: Path, prefix: str) -> np.ndarray:
    table = np.genfromtxt(path, delimiter=",", names=True, deletechars="")
    return np.column_stack([table[name] for name in table.dtype.names if name.startswith(prefix)])


@pytest.mark.slow
def test_a_free_base_is_written_with_all_its_coordinates(tmp_path: Path) -> None:
    """Two equal bodies in space, turned against each other about their common centre: each turns by half, backwards."""
    body = Inertia(2.0, [0.0, 0.0, 0.0], np.diag([0.1, 0.12, 0.05]))
    hinge = Joint("hinge", "revolute", "upper", "lower", axis=[0.0, 1.0, 0.0])
    links = (Link("upper", body), Link("lower", body))
    ch.Robot(Description("pair", links=links, joints=(hinge,))).save(tmp_path / "pair.toml")
    path, rows = tmp_path / "space.toml", tmp_path / "motion.csv"
    weight = "weight = [0, 0, 0, 0, 0, 0, 1]"
    path.write_text(
        "[problem]\nrobot = 'pair.toml'\nfree_base = true\ngravity = [0, 0, 0]\nduration = 1.0\nnodes = 10\n"
        f"[[running]]\nresidual = 'torque'\n[[exact_end]]\nresidual = 'position'\ntarget = [0.6]\n{weight}\n"
        f"[[exact_end]]\nresidual = 'velocity'\n{weight}\n"
    )
    shown = run(str(path), "--save", str(rows), "--out", str(tmp_path / "page.html"))
    assert shown.exit_code == 0, shown.output
    assert rows.read_text().startswith("time,q_base.qw,q_base.qx,")
    quaternions, rates = columns(rows, "q_base.q"), columns(rows, "qd_base.w")
    np.testing.assert_allclose(
        2.0 * np.arctan2(quaternions[:, 2], quaternions[:, 0]), -0.5 * columns(rows, "q_hinge")[:, 0], atol=1e-8
    )
    np.testing.assert_allclose(rates[:, 1], -0.5 * columns(rows, "qd_hinge")[:, 0], atol=1e-7)
    np.testing.assert_array_equal(columns(rows, "tau_base"), 0.0)
    assert columns(rows, "q_hinge")[-1, 0] == pytest.approx(0.6, abs=1e-6)
    hinge_row = next(line for line in shown.output.splitlines() if line.startswith("hinge"))
    assert hinge_row.split()[1:4] == ["0", "0.6", "0.6"]
    turned = next(line for line in shown.output.splitlines() if line.startswith("base.wy"))
    assert turned.split()[1:4] == ["–", "–", "-0.3"]


@pytest.mark.slow
def test_a_robot_with_a_loop_reaches_its_goal(tmp_path: Path) -> None:
    """The independent joint may be given alone; all joints are written, and the loop stays closed."""
    rod = {"T_first_joint": [0.75, 0.3, 0.0], "length": 0.3, "actuated": ["joint1"]}
    arm = ch.load("planar2r").with_loop("rod", "rod", "link0", "tool", **rod)
    file, rows = tmp_path / "arm.toml", tmp_path / "motion.csv"
    arm.save(file)
    shown = run(str(file), "--goal", "-0.1", "--nodes", "10", "--duration", "1", "--save", str(rows))
    assert shown.exit_code == 0, shown.output
    q = columns(rows, "q_")
    assert q.shape == (11, arm.nq)
    assert q[-1, 0] == pytest.approx(-0.1, abs=1e-6)
    assert np.abs(arm.loops.constraints(q).residual).max() < 1e-8


@pytest.mark.slow
def test_random_goals_of_robots_with_loops_close_them_within_the_ranges() -> None:
    robot = ch.load("stewart")
    for seed in range(3):
        q = random_configuration(seed, robot)
        assert np.abs(robot.loops.constraints(q).residual).max() < 1e-9
        assert ((q >= robot.lower_limits) & (q <= robot.upper_limits)).all()
        assert np.abs(robot.difference(robot.home, q)).max() > 0.01


def test_what_is_impossible_is_said_with_numbers(problem: Path) -> None:
    problem.write_text(PROBLEM + "[limits]\ntorque = 1.0\n")
    shown = run(str(problem), "--json", "--iterations", "100")
    said = json.loads(shown.stdout)
    assert shown.exit_code == 1
    assert said["status"] in ("locally infeasible", "stopped")
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
