"""Decentralised model-reference adaptive control: its theorem where it holds, and arms where it need not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import solve_continuous_lyapunov
from tests.control.adaptive.continuous_loops import Course, follow, waves
from tests.control.calls import called

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.control import PD, ModelReferenceAdaptive
from chasles.control.adaptive.model_reference import TERMS
from chasles.model import Description, Joint, Link
from chasles.model.inertia import Inertia

ARM = ch.load("planar2r")
MASSES = np.array([6.0, 3.5, 1.0])  # what each axis of the gantry moves
DRAG = np.array([2.0, 0.5, 0.1])
WEIGHT = np.array([0.0, 0.0, 9.81])
FREQUENCY, RATIO = np.array([8.0, 10.0, 12.0]), 0.8
OFFSET = np.array([0.1, -0.2, 0.05])
SPEEDS = np.array([[1e3], [2e5], [2e3], [1e3], [1e2], [1e2]])
MOTION = waves([[0.5, 0.4, 0.3], [0.2, 0.1, 0.2]], [[2.0, 3.0, 2.5], [5.0, 3.7, 4.4]])


def gantry() -> ch.Robot:
    """Three sliding joints along x, y and z: each moves by itself, with a constant mass."""
    own = MASSES - np.append(MASSES[1:], 0.0)
    names = ["rail", "bridge", "trolley", "quill"]
    links = (Link("rail"), *(Link(name, Inertia(mass=m)) for name, m in zip(names[1:], own, strict=True)))
    joints = tuple(
        Joint(f"axis{k}", "prismatic", names[k], names[k + 1], axis=np.eye(3)[k], viscous_friction=DRAG[k])
        for k in range(3)
    )
    return ch.Robot(Description("gantry", links=links, joints=joints, gravity=[0.0, 0.0, -9.81]))


GANTRY = gantry()


def ideal() -> np.ndarray:
    """Gains with which each axis follows the reference model exactly, (6, 3)."""
    nothing = np.zeros(3)
    return np.array(
        [WEIGHT * MASSES, MASSES * FREQUENCY**2, 2.0 * RATIO * FREQUENCY * MASSES - DRAG, nothing, DRAG, MASSES]
    )


def controller(**options: Any) -> ModelReferenceAdaptive:
    given = {"frequency": FREQUENCY, "damping_ratio": RATIO, "adaptation": SPEEDS, "initial": 0.5 * ideal()} | options
    return ModelReferenceAdaptive(GANTRY, **given)


def equation(joint: int) -> tuple[np.ndarray, np.ndarray]:
    """Matrix of the reference model of one joint's error, and P of its Lyapunov equation with Q = diag(100, 1)."""
    A = np.array([[0.0, 1.0], [-(FREQUENCY[joint] ** 2), -2.0 * RATIO * FREQUENCY[joint]]])
    return A, solve_continuous_lyapunov(A.T, -np.diag([100.0, 1.0]))


def lyapunov(course: Course, law: ModelReferenceAdaptive) -> np.ndarray:
    e, rate = course.wanted.q - course.q, course.wanted.qd - course.qd
    K = course.memory.reshape(-1, len(TERMS), 3)
    V: np.ndarray = ((K - ideal()) ** 2 / law.adaptation).sum(axis=(1, 2))
    for j in range(3):
        x = np.stack([e[:, j], rate[:, j]], axis=1)
        V = V + MASSES[j] * np.einsum("ki,ij,kj->k", x, equation(j)[1], x)
    return V


def test_weights_of_the_error_solve_lyapunovs_equation() -> None:
    weights = controller().error_weights
    for joint in range(3):
        assert np.allclose(equation(joint)[1][:, 1], weights[:, joint], rtol=1e-12)


def test_ideal_gains_follow_the_reference_model() -> None:
    """The error is the solution of the model's equation from any start, and no gain changes but by it."""
    law = controller(initial=ideal(), adaptation=0.0)
    course = follow(GANTRY, law, MOTION, 1.0, q0=MOTION(0.0).q + OFFSET)
    decay = RATIO * FREQUENCY
    fast = FREQUENCY * np.sqrt(1.0 - RATIO**2)
    t = course.t[:, None]
    start = -OFFSET
    expected = start * np.exp(-decay * t) * (np.cos(fast * t) + decay / fast * np.sin(fast * t))
    assert np.abs(course.wanted.q - course.q - expected).max() < 1e-9


@pytest.mark.parametrize("proportional", [0.0, 5.0])
def test_lyapunov_function_never_grows(proportional: float) -> None:
    law = controller(proportional=proportional)
    course = follow(GANTRY, law, MOTION, 10.0, q0=MOTION(0.0).q + OFFSET)
    V = lyapunov(course, law)
    assert np.diff(V).max() <= 1e-9 * V[0]
    assert V[-1] < 0.9 * V[0]
    error = np.abs(course.wanted.q - course.q).max(axis=1)
    assert error[-40:].max() < 0.05 * error.max()


@pytest.mark.slow
def test_leakage_keeps_gains_bounded_under_a_disturbance() -> None:
    """A torque that switches faster than gains can follow makes them drift without leakage."""
    rng = np.random.default_rng(0)
    motion = ch.PointToPoint(np.zeros(2), np.zeros(2), duration=20.0)
    sizes = []
    for leakage in (0.0, 1.0):
        law = ModelReferenceAdaptive(
            ARM,
            frequency=10.0,
            adaptation=[[0.0], [2e4], [0.0], [0.0], [0.0], [0.0]],
            leakage=leakage,
            initial=[[0.0], [400.0], [60.0], [0.0], [0.0], [0.0]],
        )
        memory, q = law.memory, np.zeros(2)
        for _ in range(20000):  # the measured position is noise, so that e r has a mean
            q = 0.05 * rng.normal(size=2)
            _, memory = called(law, q, np.zeros(2), motion(0.0), memory)
        sizes.append(np.abs(memory.gains[1] - 400.0).max())
    assert sizes[1] < 0.1 * sizes[0]


def test_coupled_arm_with_unknown_payload() -> None:
    """Gains that learn beat the same gains at rest, though the theorem does not cover coupled joints."""
    motion = ch.CubicSpline(np.linspace(0.0, 4.0, 9), 0.7 * np.random.default_rng(0).normal(size=(9, 2)))
    loaded = ARM.with_payload(2.0)
    first = np.array([[0.0], [800.0], [40.0], [0.0], [0.0], [0.0]])
    adaptive = ModelReferenceAdaptive(ARM, frequency=20.0, adaptation=1000.0, initial=first)
    errors = [
        np.sqrt((ch.simulate(loaded, law, motion).error ** 2).mean().item())
        for law in (PD(ARM, kp=800.0, kd=40.0), adaptive)
    ]
    assert errors[1] < 0.6 * errors[0]


def test_memory_is_named_and_arguments_are_checked() -> None:
    law = controller()
    assert len(law.memory_names) == law.memory_layout.size == 18
    assert law.memory_names[3] == "position[axis0]"
    with pytest.raises(ArgumentError, match="must be positive"):
        controller(frequency=0.0)
    with pytest.raises(ArgumentError, match=r"adaptation has shape \(3, 6\); expected \(6, 3\) or one number"):
        controller(adaptation=np.ones((3, 6)))
    with pytest.raises(ArgumentError, match="finite"):
        controller(initial=np.nan)
