"""Predictive laws in C: compiled without a warning, and call by call what they do in Python."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.control.optimal.robots import cart_pole, gantry, hanging_body, hopper

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.control import ModelPredictive, PredictiveTracking, controller_to_c
from chasles.control.now import Now
from chasles.control.optimal import OptimalControl, PhasedContact, residuals
from chasles.trajectories import Motion
from chasles.trajectories.joint.geodesic import GeodesicMotion

_FLAGS = ["-std=c99", "-O1", "-ffp-contract=off", "-pedantic", "-Wall", "-Wextra", "-Werror"]


def compiled(folder: Path, law: ch.Controller, motion: ch.JointTrajectory, period: float) -> ctypes.CDLL:
    source, header = controller_to_c(law, motion, period=period, name="law")
    size = f"{source}\nunsigned long law_size(void);\nunsigned long law_size(void) {{ return sizeof(law_state); }}\n"
    (folder / "law.c").write_text(size)
    (folder / "law.h").write_text(header)
    command = ["cc", *_FLAGS, "-shared", "-fPIC", "-o", "law.so", "law.c", "-lm"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(folder / "law.so"))


def begun(
    folder: Path, law: ModelPredictive, motion: ch.JointTrajectory, period: float
) -> tuple[Any, ch.engine.Record]:
    """Return a function of q and qd that calls the law in C, and the memory of the law in Python at the same point."""
    library, start = compiled(folder, law, motion, period), motion(0.0)
    state = ctypes.create_string_buffer(library.law_size())
    library.law_init(state)

    def in_c(q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        tau = np.zeros(len(qd))
        library.law_step(state, *(ctypes.c_void_p(part.ctypes.data) for part in (q, qd, tau)))
        return tau

    memory = ch.engine.Record({name: np.array(part) for name, part in law.memory.items()})
    times = period * np.arange(-1.0, 100.0)
    row = law.schedule(times, motion(np.maximum(times, 0.0)))[0]
    law.law(Now(-period, start.q, start.qd, start, memory, period, row))
    return in_c, memory


def moved(plant: ch.Robot, q: np.ndarray, qd: np.ndarray, tau: np.ndarray, period: float) -> tuple[np.ndarray, ...]:
    for _ in range(10):
        qd = qd + period / 10 * np.asarray(plant.forward_dynamics(q, qd, tau))
        q = np.asarray(plant.integrate(q, period / 10 * qd))
    return q, qd


def agree(folder: Path, law: ModelPredictive, plant: ch.Robot, motion: ch.JointTrajectory, period: float) -> np.ndarray:
    """Let Python control a plant over 100 calls, and C compute the same beside it; return Python's torques."""
    in_c, memory = begun(folder, law, motion, period)
    start, times, result = motion(0.0), period * np.arange(100.0), []
    (q, qd), rows = start[:2], law.schedule(times, motion(times))
    for t, row in zip(times, rows, strict=True):
        expected = law.law(Now(t, q, qd, start, memory, period, row))
        np.testing.assert_allclose(in_c(q, qd), expected, rtol=0, atol=1e-10 * max(1.0, np.abs(expected).max()))
        q, qd = moved(plant, q, qd, expected, period)
        result.append(expected)
    assert not memory.failed
    return np.array(result)


@pytest.mark.slow
def test_a_law_with_rates_and_limits_is_the_same_in_c(tmp_path: Path) -> None:
    problem = OptimalControl(
        gantry(),
        duration=1.0,
        nodes=8,
        running=[residuals.position("goal"), 0.1 * residuals.velocity(), 1e-3 * residuals.torque()],
        limits={"torque": 4.0, "velocity": 0.6, "torque_rate": 10.0},
    )
    law = ModelPredictive(problem, goal=[1.0, -0.5])
    rest = ch.PointToPoint([0.0, 0.0], [1e-9, 0.0], 1.0)
    tau = agree(tmp_path, law, gantry(), rest, 0.05)
    assert np.abs(np.diff(tau, axis=0)).max() > 0.4
    assert "double goal[2];" in (tmp_path / "law.h").read_text()


@pytest.mark.slow
def test_tracking_with_a_delay_and_a_load_is_the_same_in_c(tmp_path: Path) -> None:
    arm = ch.load("planar2r")
    motion = ch.PointToPoint([0.2, 0.4], [1.0, 0.6], 0.6)
    limit = 0.9 * np.abs(arm.inverse_dynamics(*motion(np.linspace(0.0, 0.6, 100)))).max(axis=0)
    law = PredictiveTracking(arm, limits={"torque": limit}, delay=1.5, observer=10.0, iterations=2)
    tau = agree(tmp_path, law, arm.with_payload(1.0), motion, 0.01)
    assert (np.abs(tau).max(axis=0) > 0.9 * limit).any()
    with pytest.raises(ArgumentError, match=r"no whole number of periods of 0\.015 s"):
        controller_to_c(law, motion, period=0.015)
    with pytest.raises(ArgumentError, match="in double precision alone"):
        controller_to_c(law, motion, period=0.01, precision="float")


@pytest.mark.slow
def test_tracking_on_a_ball_joint_is_the_same_in_c(tmp_path: Path) -> None:
    robot = hanging_body("spherical")
    goal = robot.integrate(robot.home, np.array([0.4, 0.7, -0.3]))
    motion = GeodesicMotion(robot, robot.home, goal, 0.8)
    law = PredictiveTracking(robot, horizon=0.3, nodes=10, limits={"torque": 6.0}, iterations=2)
    assert np.abs(agree(tmp_path, law, robot, motion, 0.01)).max() > 2.0
    run = ch.simulate(robot, law, motion, duration=1.0, period=0.01)
    assert np.abs(run.error).max() < 2e-3


@pytest.mark.slow
def test_a_robot_that_stands_is_the_same_in_c(tmp_path: Path) -> None:
    """A body on a leg, whose foot is held by its contact."""
    robot = hopper()
    contact = PhasedContact("foot", phases=[(0, 8)])
    running = [100.0 * residuals.position("goal"), residuals.velocity(), 1e-3 * residuals.torque()]
    problem = OptimalControl(
        robot, duration=0.4, nodes=8, running=running, keep=[contact], limits={"torque": 120.0, "velocity": 0.8}
    )
    law = ModelPredictive(problem, goal=[0.0, 0.8])
    in_c, memory = begun(tmp_path, law, ch.PointToPoint([0.0, 0.5], [0.0, 0.5 + 1e-9], 1.0), 0.05)
    q, qd, start = np.array([0.0, 0.5]), np.zeros(2), Motion(*np.zeros((3, 2)))
    for k in range(60):
        tau = law.law(Now(0.05 * k, q, qd, start, memory, 0.05, np.zeros(0)))
        np.testing.assert_allclose(in_c(q, qd), tau, rtol=0, atol=1e-8)
        qd = qd + 0.05 * np.array([0.0, tau[1] / 8.0 - 9.81])
        q = q + 0.05 * qd
    np.testing.assert_allclose(q, [0.0, 0.8], atol=0.03)
    assert not memory.failed


@pytest.mark.slow
def test_calls_that_take_no_step_are_the_same_in_c(tmp_path: Path) -> None:
    """A pole swings up on its cart and is hit, after which curvature is added, steps are refused, and calls fail.

    There rounding grows: C may differ from Python as much as Python does with a memory that is changed by 1e-15.
    """
    robot, period = cart_pole(), 0.03
    problem = OptimalControl(
        robot,
        duration=1.5,
        nodes=50,
        running=[0.01 * residuals.torque(), 0.1 * residuals.velocity(), [1.0, 10.0] * residuals.position("goal")],
        final=[[10.0, 300.0] * residuals.position("goal"), 10.0 * residuals.velocity()],
        limits={"torque": 20.0, "position": None},
    )
    law, rest = ModelPredictive(problem, goal=[0.0, np.pi]), ch.PointToPoint([0.0, 0.0], [0.0, 1e-9], 4.0)
    in_c, memory = begun(tmp_path, law, rest, period)
    changed = ch.engine.Record({name: np.array(part) for name, part in memory.items()})
    rng, grown = np.random.default_rng(1), 1e-9
    q, qd = rest(0.0)[:2]
    for k in range(90):
        qd = qd + (k == 60) * np.array([2.0, -6.0])
        changed.motion = changed.motion * (1.0 + 1e-15 * rng.normal(size=changed.motion.shape))
        tau, other = (
            law.law(Now(k * period, q, qd, rest(0.0), each, period, np.zeros(0))) for each in (memory, changed)
        )
        grown = max(grown, 10.0 * np.abs(other - tau).max())
        assert np.abs(in_c(q, qd) - tau).max() < grown
        q, qd = moved(robot, q, qd, tau, period)
    assert memory.failed > 2.0
    assert grown < 1e-3
