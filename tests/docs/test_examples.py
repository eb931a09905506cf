"""The examples run without a warning, and the numbers that they print are right where another way to them is known."""

from __future__ import annotations

import importlib
import re
import runpy
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from numpy.typing import ArrayLike

import chasles as ch
from chasles.visual.view.live import LiveView

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run an example's ``main`` in an empty folder; give what it printed and its lines ``label: number``."""
    monkeypatch.chdir(tmp_path)

    def run_example(number: int, *arguments: Any) -> tuple[str, dict[str, float]]:
        path = next(path for path in EXAMPLES if path.name.startswith(f"{number:02}_"))
        runpy.run_path(str(path))["main"](*arguments)
        printed = capsys.readouterr().out
        labelled = re.findall(r"^(\S.*): ([-\d.e+]+)$", printed, re.MULTILINE)
        return printed, {label: float(value) for label, value in labelled}

    return run_example


def test_they_are_short_and_say_what_they_show() -> None:
    assert len(EXAMPLES) >= 12
    for path in EXAMPLES:
        text = path.read_text(encoding="utf-8")
        assert text.startswith('"""'), path.name
        assert len(text.splitlines()) < 60, path.name


def test_kinematics(run: Any) -> None:
    printed, numbers = run(1, 200)
    assert numbers["configurations"] == 200
    assert 0.0 < numbers["manipulability, mean"] < numbers["manipulability, best"]
    x, y = ch.load("panda").forward_kinematics(ch.load("panda").home)[:2, 3]
    assert abs(y) < 1e-12  # so the tool moves along y, as fast as it is far from the axis
    assert re.search(rf"world-aligned +\[0. +0. +1. +0. +{x:.3f} +0. +\]", printed)


def test_batched_dynamics(run: Any) -> None:
    _, numbers = run(2, 500)
    assert numbers["states"] == 500
    assert numbers["largest relative error of there and back"] < 1e-11
    assert 0.0 < numbers["share of states beyond the motors' torque"] < 0.2


def test_payload_study(run: Any, tmp_path: Path) -> None:
    _, numbers = run(3, 5)
    assert numbers["largest error without payload [rad]"] < numbers["largest error with 4 kg [rad]"]
    assert (tmp_path / "payload_study.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_own_control_law(run: Any) -> None:
    _, numbers = run(4, 12)
    assert numbers["mean error, stiffest [rad]"] < 0.1 * numbers["mean error, softest [rad]"]
    assert numbers["largest torque of joint 1 in all runs [N m]"] == 90.0


def test_export_to_c(run: Any, tmp_path: Path) -> None:
    printed, numbers = run(5)
    assert "void inverse_dynamics(const float *q" in (tmp_path / "exported" / "inverse_dynamics.h").read_text()
    if "no C compiler" not in printed:
        assert numbers["largest relative difference"] < 1e-5


def test_symbolic_dynamics(run: Any) -> None:
    """Two rods of length l and mass m: M = m l²/3 about the pivots and so on, from any textbook."""
    sympy = importlib.import_module("sympy")
    printed, numbers = run(6)
    assert numbers["largest difference between formula and compiled function"] < 1e-14
    m, g, q0, q1, qd0, qd1 = sympy.symbols("m g q0 q1 qd0 qd1")
    m1, m2, l1, l2 = 10, 5, sympy.Rational(1, 2), sympy.Rational(1, 4)
    h = l1 * m2 * l2 / 2 * sympy.sin(q1)
    coupling = (m2 * l1 * l2 / 2 + m * l1 * l2) * sympy.cos(q1)
    outer = m2 * l2**2 / 3 + m * l2**2
    expected = {
        "M[0, 0]": m1 * l1**2 / 3 + (m2 + m) * l1**2 + outer + 2 * coupling,
        "M[0, 1]": outer + coupling,
        "M[1, 0]": outer + coupling,
        "M[1, 1]": outer,
        "c[0]": -h * (2 * qd0 * qd1 + qd1**2),
        "c[1]": h * qd0**2,
        "g[0]": g * ((m1 / sympy.S(2) + m2 + m) * l1 * sympy.cos(q0) + (m2 / sympy.S(2) + m) * l2 * sympy.cos(q0 + q1)),
        "g[1]": g * (m2 / sympy.S(2) + m) * l2 * sympy.cos(q0 + q1),
    }
    names = {symbol.name: symbol for symbol in (m, g, q0, q1, qd0, qd1)}
    found = dict(re.findall(r"^    (\w\[.*?\]) = (.*)$", printed, re.MULTILINE))
    assert found.keys() == expected.keys()
    for entry, formula in found.items():
        assert sympy.simplify(sympy.sympify(formula, locals=names) - expected[entry]) == 0, entry


def test_linearize_and_lqr(run: Any) -> None:
    """The growth without control from the generalised eigenvalues of ∂g/∂q and M."""
    _, numbers = run(7, 10)
    arm = ch.load("planar2r")
    upright = np.array([np.pi / 2, 0.0])
    stiffness = arm.gravity_torque.jacobian("g", "q")(upright)
    growth = np.sqrt(-scipy.linalg.eigvalsh(stiffness, arm.mass_matrix(upright)).min())
    assert numbers["fastest growth without control [1/s]"] == pytest.approx(growth, abs=1e-3)
    assert numbers["slowest decay under control [1/s]"] > 0.0
    assert numbers["largest tilt at the end [rad]"] < 1e-8


def test_inverse_kinematics(run: Any) -> None:
    printed, numbers = run(8, 50)
    assert numbers["solved"] == numbers["poses on the circle"] == 50
    assert numbers["largest residual [m]"] <= 1e-6
    assert numbers["largest step of a joint [rad]"] < 0.1  # no leap to another branch
    puma = ch.load("puma560")
    q = [0.2, 1.0, -1.2, 0.3, 0.8, 0.4]
    named = re.findall(r"^    shoulder (?:left|right), elbow (?:up|down), wrist .*?\[(.*)\]$", printed, re.MULTILINE)
    configurations = np.array([line.split() for line in named], dtype=float)
    poses = puma.forward_kinematics(configurations)
    np.testing.assert_allclose(poses, np.tile(puma.forward_kinematics(q), (len(named), 1, 1)), atol=0.02)
    assert 0.0 < numbers["elbow angles within the limits [%]"] < 100.0
    assert numbers["distance from the limits there [rad]"] > 0.0


@pytest.mark.slow
def test_trajectories(run: Any, tmp_path: Path) -> None:
    """Carrying 2 kg, faster than in space, with a motion that no motor and no joint is too weak or too slow for."""
    printed, numbers = run(9)
    assert numbers["largest distance from the path [m]"] < 1e-6
    assert numbers["duration within the robot's limits [s]"] < 0.5 * numbers["duration with 0.25 m/s in space [s]"]
    assert printed.count("within the limits of robot") == 2
    assert numbers["largest tracking error [rad]"] < 2e-3
    assert numbers["share of the motors' torque used"] < 1.0
    assert (tmp_path / "trajectories.html").exists()
    assert "Plotly" in (tmp_path / "time_optimal.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_controllers(run: Any) -> None:
    """Springs in series: 600 N/m of the impedance and the table's 20,000 N/m over 1 cm, and 0.2 kg unknown to it."""
    printed, _ = run(10)
    found = re.findall(
        r"^(\w.*)\n    largest force \[N\]: (.*)\n    force at the end \[N\]: (.*)$", printed, re.MULTILINE
    )
    at_end = {name: float(end) for name, _, end in found}
    assert len(at_end) == 5
    assert at_end["hybrid force-motion"] == pytest.approx(10.0, abs=0.1)
    assert at_end["impedance"] == pytest.approx((0.01 * 600.0 + 0.2 * 9.81) / (1.0 + 600.0 / 20_000.0), abs=0.2)
    assert max(at_end, key=lambda name: at_end[name]) == "resolved acceleration"


def test_own_study(run: Any, tmp_path: Path) -> None:
    """Integral action takes away what a constant load leaves."""
    _, numbers = run(13, 20)
    plain, integral = (
        numbers[f"median error at the end, computed torque{name} [mrad]"] for name in ("", " + integral")
    )
    assert integral < 0.3 * plain
    assert (tmp_path / "own_study" / "report.html").exists()


@pytest.mark.slow
def test_adaptive_control(run: Any) -> None:
    """What is learnt are mass and first moment of the payload that was put on: 3 kg, 0.05 m off the axis."""
    _, numbers = run(12, 3)
    fixed = numbers["computed torque, RMS error with 3 kg [mrad]"]
    assert numbers["composite adaptive, RMS error with 3 kg [mrad]"] < 0.05 * fixed
    assert numbers["largest error of the masses in the end [kg]"] < 1e-3
    assert numbers["of the first moments [kg m]"] < 1e-3
    assert numbers["the 3 kg are known to 5 % after [s]"] < 2.0


def test_integrate(run: Any) -> None:
    _, numbers = run(14, 50)
    small_swing = 0.01 * np.cos(2.0 * np.sqrt(9.81))
    assert numbers["angle of the longest after 2 s [rad]"] == pytest.approx(small_swing, abs=2e-7)
    assert numbers["van der Pol's oscillator at the end"] == 1.7062  # test set of Bari and CWI: 1.706167732…
    assert 490.0 < numbers["way over 2 N of friction [mm]"] < 500.0
    assert numbers["way over 60 N of friction [mm]"] == 0.0


def test_stewart_platform(run: Any) -> None:
    """By symmetry each leg carries a sixth of the platform and of the legs' share, and accelerates it."""
    printed, numbers = run(17, 11)
    assert "201 of 201 poses keep all limits" in printed
    assert numbers["poses with the leg lengths of the start"] == numbers["of these proven"] == 8
    assert numbers["of these within the limits"] == 1
    vertical = 1.0 / np.sqrt(1.0 + 1.0 + 0.36 - 1.2 * np.cos(np.deg2rad(40.0)))  # of a leg's direction, in the middle
    assert numbers["largest force of a leg while it heaves [N]"] > 50.0 * 9.81 / 6.0 / vertical


@pytest.mark.slow
def test_motion_planning(run: Any, tmp_path: Path) -> None:
    printed, numbers = run(18)
    assert numbers["smallest distance on the straight way [mm]"] < 0.0
    assert numbers["smallest distance on the planned way [mm]"] > 20.0
    assert "proven free: True" in printed
    assert "within the limits of robot 'panda'" in printed
    assert "optimal: the motion keeps all constraints" in printed
    assert numbers["smallest distance of the calmest motion [mm]"] > 19.9  # the margin, between nodes too
    calmest, planned = (numbers[f"mean speed of the {name} motion [rad/s]"] for name in ("calmest", "planned"))
    assert calmest < 0.8 * planned
    assert (tmp_path / "motion_planning.html").exists()


def test_casadi_optimal_control(run: Any) -> None:
    """The trapezoidal rule has order 2, so half the step leaves about a quarter of the error."""
    _, coarse = run(19)
    assert coarse["largest torque of the first motor"] == pytest.approx(20.0, abs=1e-3)
    _, fine = run(19, 121)
    label = "distance of the simulated arm from standing"
    assert 0.0 < fine[label] < 0.4 * coarse[label] < 0.1


def test_optimal_control(run: Any) -> None:
    printed, numbers = run(20)
    assert printed.startswith("optimal: the motion keeps all constraints")
    assert 5.0 < numbers["largest force [N]"] <= 20.0
    assert numbers["track used to each side [m]"] <= 2.0
    assert numbers["angle from upright at the end, cart of 1.05 kg [°]"] < 1.0


@pytest.mark.slow
def test_trotting_quadruped(run: Any) -> None:
    _, numbers = run(15)
    assert numbers["weight carried while standing, N"] == pytest.approx(numbers["weight, N"], rel=2e-3)
    assert numbers["weight, N"] == pytest.approx(9.81 * 2.5, rel=1e-3)
    assert numbers["highest lift of a foot, mm"] > 20.0
    assert numbers["lowest height of the trunk, share of standing"] > 0.97
    assert numbers["largest tilt, rad"] < 0.02


@pytest.mark.slow
def test_squatting_humanoid(run: Any) -> None:
    _, numbers = run(16)
    assert numbers["ground force at the end over gravity, kg"] == pytest.approx(numbers["mass, kg"], rel=0.01)
    assert numbers["descent of the centre of mass, m"] == pytest.approx(0.1, abs=5e-3)
    assert numbers["largest slip of a foot, mm"] < 4.0


@pytest.mark.slow
def test_walking_biped(run: Any, tmp_path: Path) -> None:
    """From rest to rest the ground gives the impulse of the weight, whatever the feet do between."""
    printed, numbers = run(24)
    assert printed.startswith("optimal: the motion keeps all constraints")
    assert numbers["mean force on the ground, weights"] == pytest.approx(1.0, abs=1e-3)
    assert numbers["largest slope of a force, coefficients of friction"] <= 1.0
    assert numbers["highest lift of a foot, mm"] > 20.0
    assert (tmp_path / "walking_biped.html").stat().st_size > 1000


@pytest.mark.slow
def test_periodic_gait(run: Any, tmp_path: Path) -> None:
    """One step leads to the next; the work is less than that of lifting the weight by a third of the way."""
    printed, numbers = run(26)
    assert printed.startswith("optimal: the motion keeps all constraints")
    assert numbers["speed [m/s]"] * numbers["step [s]"] == pytest.approx(0.3, abs=1e-3)
    assert 0.02 < numbers["cost of transport"] < 0.3
    assert numbers["largest change of a velocity from step to step [rad/s]"] < 0.03
    assert (tmp_path / "periodic_gait.html").stat().st_size > 1000


@pytest.mark.slow
def test_fastest_platform(run: Any, tmp_path: Path) -> None:
    """As fast as it can be, legs are at limits nearly always; the platform's own formulas know where it is."""
    printed, numbers = run(27)
    assert printed.startswith("optimal: the motion keeps all constraints")
    assert "21 of 21 poses keep all limits" in printed
    assert numbers["duration [s]"] > numbers["longest leg [m]"] - numbers["shortest leg [m]"]  # at 1 m/s
    assert numbers["legs at a limit, mean of the steps"] > 3.0
    assert numbers["largest error of the platform at the end"] < 1e-6
    assert (tmp_path / "fastest_platform.html").stat().st_size > 1000


@pytest.mark.slow
def test_acrobot(run: Any, tmp_path: Path) -> None:
    printed, numbers = run(28, 2)
    assert numbers["swing-ups found"] == 2
    assert printed.count("optimal: the motion") == 2
    assert numbers["largest torque of the best one [N·m]"] <= 15.0
    for mass in (1.0, 1.01):
        assert numbers[f"angle from upright at the end, second rod of {mass} kg [°]"] < 5.0
    assert (tmp_path / "acrobot.html").stat().st_size > 1000


@pytest.mark.slow
def test_live_reach(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A drag is a configuration that the page sends: the arm goes there by itself, until the page is closed."""
    arm = ch.load("planar2r")
    page, goal = arm.view(browser=False), np.array([0.5, -0.4])
    assert isinstance(page, LiveView)
    shown: list[np.ndarray] = []

    def record(q: ArrayLike) -> None:
        shown.append(np.array(q))
        LiveView.show(page, q)

    def drag() -> None:
        page.show(goal)
        monkeypatch.setattr(page, "show", record)
        while len(shown) < 26:
            time.sleep(0.05)
        page.close()

    threading.Timer(1.0, drag).start()
    printed, _ = run(25, "planar2r", page)
    assert printed.startswith("optimal after")
    np.testing.assert_allclose(shown[0], arm.home, atol=1e-9)
    np.testing.assert_allclose(shown[-1], goal, atol=1e-6)
    steps = np.linalg.norm(np.diff(shown, axis=0), axis=1)
    assert steps.max() < 0.1


@pytest.mark.slow
def test_fastest_lift(run: Any, tmp_path: Path) -> None:
    printed, _ = run(23)
    numbers = {label: float(value) for label, value in re.findall(r"^(along .*) \[s\]: (.*)$", printed, re.MULTILINE)}
    given, smooth, held, free = numbers.values()
    assert given < smooth < 1.3 * given
    assert held == pytest.approx(given, rel=0.01)  # two methods, the same path
    assert free < 0.98 * held
    assert (tmp_path / "fastest_lift.html").stat().st_size > 1000
