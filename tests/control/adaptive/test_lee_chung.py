"""Lee and Chung's perturbation control: its optimum, its identification, and what it achieves."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from tests.control.calls import called

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.control import LeeChung, NominalTorque, PDGravity
from chasles.control.adaptive import recursive_least_squares
from chasles.control.adaptive.recursive_least_squares import packed, unpacked
from chasles.trajectories import Motion

ARM = ch.load("planar2r")
PERIOD = 1e-3
N = 2


def controller(model: ch.Robot = ARM, **options: Any) -> LeeChung:
    return LeeChung(model, **({"torque_weight": 0.3} | ({} if "state_weight" in options else {"rate": 20.0}) | options))


def run_by_hand(law: LeeChung, count: int, seed: int = 0) -> list[dict[str, np.ndarray]]:
    """Calls with random errors about a random motion: what it was told, did and remembers."""
    rng = np.random.default_rng(seed)
    size = 3 * N + law.offset
    memory, calls = law.memory, []
    for _ in range(count):
        motion = Motion(*rng.normal(size=(3, N)))
        x = 0.05 * rng.normal(size=2 * N)
        tau, memory = called(law, motion.q + x[:N], motion.qd + x[N:], motion, memory, period=PERIOD)
        u = tau - law.robot.inverse_dynamics(*motion)
        calls.append({"x": x, "u": u, "matrices": memory.matrices, "P": unpacked(memory.covariance, size)})
    return calls


@pytest.mark.parametrize("offset", [False, True])
def test_it_identifies_by_least_squares(offset: bool) -> None:
    law = controller(offset=offset, covariance=3.0, covariance_limit=1e9, forgetting=0.97)
    calls = run_by_hand(law, 12)
    fitted = (law.memory.matrices, 3.0 * np.eye(3 * N + offset) / 0.97)
    for before, now in pairwise(calls):
        z = np.concatenate([before["x"], before["u"], np.ones(int(offset))])
        fitted = recursive_least_squares(*fitted, z, (now["x"] - before["x"]) / PERIOD, forgetting=0.97)
        assert np.allclose(now["matrices"], fitted[0], rtol=1e-9, atol=1e-9)
        assert np.allclose(now["P"], fitted[1], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("weight", [None, [100.0, 100.0, 1.0, 2.0]])
def test_its_torque_makes_the_next_cost_least(offset: bool, weight: Any) -> None:
    """Least squares for u of |Q^1/2 (A x + B u + d)|^2 + period^2 |R^1/2 u|^2 with the discrete A, B, d."""
    law = controller(offset=offset, torque_weight=[0.3, 0.7], **({} if weight is None else {"state_weight": weight}))
    Q = law.state_weight
    values, vectors = np.linalg.eigh(Q)
    root = np.diag(np.sqrt(np.clip(values, 0.0, None))) @ vectors.T
    for call in run_by_hand(law, 5):
        A = np.eye(2 * N) + PERIOD * call["matrices"][:, : 2 * N]
        B = PERIOD * call["matrices"][:, 2 * N : 3 * N]
        d = PERIOD * call["matrices"][:, 3 * N] if offset else np.zeros(2 * N)
        rows = np.vstack([root @ B, PERIOD * np.diag(np.sqrt([0.3, 0.7]))])
        wanted = -np.concatenate([root @ (A @ call["x"] + d), np.zeros(N)])
        assert np.allclose(call["u"], np.linalg.lstsq(rows, wanted, rcond=None)[0], rtol=1e-7, atol=1e-9)


def test_it_starts_with_the_exact_linearisation() -> None:
    pose = np.array([0.3, -0.7])
    law = controller(initial_pose=pose)
    matrices = law.memory.matrices
    A, B = ARM.linearize(pose, np.zeros(N), ARM.gravity_torque(pose))
    assert np.array_equal(matrices[:, : 2 * N], A)
    assert np.array_equal(matrices[:, 2 * N :], B)


def test_it_finds_the_matrices_of_a_linear_plant() -> None:
    """A gantry's errors obey a linear equation; shaken enough, A and B are identified whatever they began with."""
    A = np.block([[np.zeros((N, N)), np.eye(N)], [-np.diag([3.0, 5.0]), -np.diag([0.7, 0.2])]])
    B = np.vstack([np.zeros((N, N)), [[0.5, 0.1], [0.1, 0.9]]])
    law = controller(covariance=1e6, forgetting=1.0)
    rng = np.random.default_rng(0)
    motion, x, memory = Motion(*np.zeros((3, N))), np.zeros(2 * N), law.memory
    for _ in range(400):
        tau, memory = called(law, x[:N], x[N:], motion, memory, period=PERIOD)
        shaken = 100.0 * rng.normal(size=N)
        memory.last[-N:] += shaken  # it knows of the torque that shakes the plant
        x = x + PERIOD * (A @ x + B @ (tau - ARM.gravity_torque(np.zeros(N)) + shaken))
    matrices = memory.matrices
    assert np.abs(matrices[:, 2 * N :] - B).max() < 1e-3
    assert np.abs(matrices[:, : 2 * N] - A).max() < 0.2


MOTION = ch.CubicSpline(np.linspace(0.0, 4.0, 9), 0.7 * np.random.default_rng(0).normal(size=(16, 9, 2)))
SLOW = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=3.0)
PAYLOADS = {"payload.mass": np.linspace(0.0, 3.0, 16)}


def test_unknown_payloads() -> None:
    """Over motions and payloads it errs a tenth of what PD with gravity of like stiffness does; no run escapes."""

    def rms(law: Any) -> np.ndarray:
        run = ch.simulate(ARM, law, MOTION, vary=PAYLOADS)
        values: np.ndarray = np.sqrt((run.error**2).mean(("time", "joint"))).values
        return values

    ours, fixed = rms(controller()), rms(PDGravity(ARM, kp=800.0, kd=40.0))
    assert np.median(ours) < 0.1 * np.median(fixed)
    assert ours.max() < 0.1 * fixed.max()
    assert np.median(rms(controller())) < 0.01 * np.median(rms(NominalTorque(ARM)))


def test_sixty_calls_a_second_are_enough() -> None:
    """The lowest rate that the strategy's authors had in mind."""
    law = controller(rate=10.0, torque_weight=0.1)
    run = ch.simulate(ARM.with_payload(1.0), law, SLOW, period=1 / 60, integrator=ch.integrators.Steps("rk4", 8))
    assert np.abs(run.error).max() < 0.1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"forgetting": 1.5}, "forgetting"),
        ({"torque_weight": 0.0}, r"torque_weight\[0\] is 0.0; it must be positive"),
        ({"covariance": [1.0, 2.0]}, "covariance"),
        ({"covariance_limit": 0.5}, "covariance_limit"),
        ({"state_weight": np.eye(3)}, "state_weight must be symmetric"),
        ({"state_weight": np.eye(4), "rate": 2.0}, "one of them"),
        ({"initial_pose": [np.inf, 0.0]}, "initial_pose"),
    ],
)
def test_wrong_arguments(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        controller(**options)


def test_memory_is_named() -> None:
    law = controller()
    assert len(law.memory_names) == law.memory_layout.size
    assert law.memory_names[0] == "matrices[0, 0]"
    assert np.array_equal(packed(unpacked(law.memory.covariance, 6)), law.memory.covariance)
