"""ROBOOP's demonstration programs run, and print what is known of them; the page names everything that there is."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import numpy as np
import pytest

from chasles.interop import roboop as rb
from chasles.interop.roboop import codes

ROOT = Path(__file__).parents[3]


def printed(name: str, capsys: pytest.CaptureFixture[str]) -> dict[str, float]:
    runpy.run_path(str(ROOT / "examples" / "roboop" / f"{name}.py"))["main"]()
    return values_in(capsys.readouterr().out)


def values_in(text: str) -> dict[str, float]:
    return {label: float(value) for label, value in re.findall(r"^(\S.*): ([-\d.e+]+)$", text, re.MULTILINE)}


def test_demo(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples" / "roboop" / "demo.py"))["main"]()
    text = capsys.readouterr().out
    values = values_in(text)
    assert values["error of transformations there and back"] < 1e-15
    for robot, joints in (("RR", 2), ("RP", 2), ("PUMA 560", 6), ("Stanford", 6)):
        part = text.split(f"\nRobot {robot}\n")[1].split("\nRobot ")[0].split("\nDynamics")[0]
        assert part.count("derivative of the pose by joint") == joints
        assert values[f"{robot} inverse kinematics error"] < 1e-9
    for line in ("PUMA 560 with motors: acceleration when it is let go", "Stanford: inertia at q = π/4"):
        assert line in text
    assert values["final error"] < 1e-2  # a linear law with two poles at 5/s in the heaviest direction


@pytest.mark.parametrize("name", ["RR", "RP", "PUMA 560", "PUMA 560 with motors", "Stanford"])
def test_robots_of_the_demo_have_the_values_of_the_definitions(name: str) -> None:
    """Poses, Jacobians, inertias, gravity, torques and accelerations beside values computed apart from Chasles."""
    demo = runpy.run_path(str(ROOT / "examples" / "roboop" / "demo.py"))
    robots = demo["robots"]() | {"PUMA 560 with motors": demo["robot_of"](demo["PUMA560_DATA"], demo["PUMA560_MOTOR"])}
    robot, n = robots[name], robots[name].get_dof()
    values = json.loads((Path(__file__).parent / "demo_values.json").read_text(encoding="utf-8"))[name]
    rest, quarter = np.zeros(n), np.full(n, np.pi / 4)
    for quantity, value in values.items():
        expected = np.array(value)
        q = quarter if "pi/4" in quantity else rest
        robot.set_q(q)
        found = _quantity(robot, quantity.split(" q=")[0], q)
        if name.endswith("with motors") and quantity.startswith("torque"):  # there, friction drives where Gr < 0
            ratio, friction = demo["PUMA560_MOTOR"][:, [1, 3]].T
            expected = expected + np.where(ratio < 0.0, 2.0 * np.abs(ratio) * friction, 0.0)
        scale = max(1.0, float(np.abs(expected).max()))
        np.testing.assert_allclose(found, expected, atol=1e-11 * scale, err_msg=quantity)


def _quantity(robot: rb.Robot, name: str, q: np.ndarray) -> np.ndarray:
    n, rest = len(q), 0.0 * q
    quantities = {
        "kine": robot.kine,
        "jacobian base": robot.jacobian,
        "jacobian tool": lambda: robot.jacobian(n),
        "inertia": lambda: robot.inertia(q),
        "G": robot.G,
        "torque": lambda: robot.torque(q, q, q),
        "acceleration at rest": lambda: robot.acceleration(q, rest, rest),
    }
    return np.asarray(quantities[name]())


def test_demo_2dof_pd(capsys: pytest.CaptureFixture[str]) -> None:
    values = printed("demo_2dof_pd", capsys)
    assert 0.05 < values["largest error of joint 1"] < 1.0
    assert 0.05 < values["largest error of joint 2"] < 1.0


def test_rtest(capsys: pytest.CaptureFixture[str]) -> None:
    values = printed("rtest", capsys)
    assert values["comparisons"] == values["passed"] == 30.0


def test_bench(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples" / "roboop" / "bench.py"))["main"]()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 12
    assert all(float(number.replace(",", "")) > 0.0 for line in lines[1:] for number in line[38:].split())


def test_the_page_lists_every_name() -> None:
    page = (ROOT / "docs" / "roboop.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\w+", page))
    constants = {name for name in rb.__all__ if name.isupper() and name in vars(codes)}
    assert set(rb.__all__) - constants - {"Robot_basic"} <= named
    methods = {
        name
        for kind in (rb.Robot, rb.Quaternion, rb.Config, rb.IO_matrix_file)
        for name in vars(kind)
        if not name.startswith("_")
    }
    methods |= {name for name in vars(rb.Robot_basic) if not name.startswith("_")}
    kept_apart = {"model", "dof", "fix"} | set(vars(rb.Config)) | set(vars(rb.IO_matrix_file))
    families = {name for name in methods if name.startswith("get_available")}
    assert methods - kept_apart - families <= named
