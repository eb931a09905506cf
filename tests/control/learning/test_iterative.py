"""Iterative learning: the lifted matrices of a mass, predicted contraction, robots with unknown loads, refusals."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.control import IterativeLearning, LearnedTorque, LearningError, OnlineLaw
from chasles.control.learning.lifted_loop import lifted_loop

MASS, KP, KD, PERIOD = 2.0, 800.0, 40.0, 0.01


def sledge() -> ch.Robot:
    return ch.Robot.from_dh([{"kind": "prismatic", "mass": MASS}], gravity=(0.0, 0.0, 0.0), check=False)


def lifted(mass: float, count: int, delay: int = 0) -> np.ndarray:
    """Matrix from forces to later positions of a sampled mass under PD, by its responses to single forces.

    Before the first force has arrived, it is in force.
    """
    h, x, sent = PERIOD, np.zeros((2, count)), [np.eye(count)[0]] * delay
    rows = []
    for k in range(count):
        sent.append(np.eye(count)[k] - KP * x[0] - KD * x[1])
        force = sent.pop(0)
        x = np.array([x[0] + h * x[1] + 0.5 * h * h * force / mass, x[1] + h * force / mass])
        rows.append(x[0])
    return np.array(rows)


def dense(P: np.ndarray, cutoff: float, dead: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """L and Q as matrices, of their definitions: least squares, and cosines of the acting torques."""
    count = len(P)
    acting = count - dead
    z = np.exp(1j * cutoff * PERIOD)
    late = z**-dead
    A, B = np.array([[1.0, PERIOD], [0.0, 1.0]]), np.array([[0.5 * PERIOD**2], [PERIOD]]) / MASS
    closed = np.linalg.solve(z * np.eye(2) - A + B @ np.array([[KP, KD]]) * late, B * late)[0, 0]
    L = np.linalg.solve(abs(closed) ** 2 * np.eye(count) + P.T @ P, P.T)
    k = np.arange(acting)
    cosines = np.cos(np.pi * np.outer(k, k + 0.5) / acting) * np.sqrt(2.0 / acting)
    cosines[0] /= np.sqrt(2.0)
    gain = 1.0 / (1.0 + (np.pi * k / acting / PERIOD / cutoff) ** 4)
    Q = np.zeros((count, count))
    Q[:acting, :acting] = cosines.T @ np.diag(gain) @ cosines
    return L, Q


@pytest.mark.parametrize("delay", [0, 2])
def test_a_mass_learns_as_its_lifted_matrices_predict(delay: int) -> None:
    """Errors of simulated trials with a mass that is 40 % heavier, and the contraction, against dense matrices."""
    arm, motion = sledge(), ch.PointToPoint([0.0], [0.4], 0.5)
    heavy = arm.with_payload(0.8)
    law = ch.control.NominalTorque(arm, kp=KP, kd=KD)
    learning = IterativeLearning(
        arm, law, motion, period=PERIOD, cutoff=40.0, delay=delay, plants=[heavy], torque_weight=1.0
    )
    count = 50
    P, P_heavy = lifted(MASS, count, delay), lifted(MASS + 0.8, count, delay)
    L, Q = dense(P, 40.0, delay)
    cut = np.diag((np.arange(count) < count - delay).astype(float))
    norms = [np.linalg.norm(Q @ (np.eye(count) - L @ real) @ cut, 2) for real in (P, P_heavy)]
    assert learning.contraction == pytest.approx(max(norms), rel=2e-3)
    learned, v = learning.law, np.zeros(count)
    plant = ch.Plant(heavy, delay=delay * PERIOD)
    first = ch.simulate(plant, learned, motion, period=PERIOD).error.values[:, 0]
    for _ in range(4):
        run = ch.simulate(plant, learned, motion, period=PERIOD)
        np.testing.assert_allclose(run.error.values[1:, 0], first[1:] - P_heavy @ v, atol=1e-9)
        v = Q @ (v + L @ run.error.values[1:, 0])
        learned = learning.improved(learned, run.error)
    assert np.abs(run.error).max() < 0.2 * np.abs(first).max()


def test_errors_that_do_not_come_back_leave_torques_within_the_bound() -> None:
    """An adversary who sees the torques chooses each disturbance: the bound holds, and half of it is reached."""
    arm, motion, size = sledge(), ch.PointToPoint([0.0], [0.3], 0.4), 1e-3
    learning = IterativeLearning(
        arm, ch.control.PD(arm, kp=KP, kd=KD), motion, period=PERIOD, cutoff=40.0, plants=[arm.with_payload(0.5)]
    )
    count = len(learning.times) - 1
    P = lifted(MASS + 0.5, count)
    L, Q = dense(lifted(MASS, count), 40.0)
    kept, learned = Q @ (np.eye(count) - L @ P), Q @ L
    bound = np.linalg.norm(learned, 2) * size / (1.0 - learning.contraction)
    law, reached = learning.law, 0.0
    for _ in range(40):
        v = law.torques[:-1, 0]
        direction = learned.T @ (kept @ v if v.any() else np.linalg.svd(learned)[0][:, 0])
        disturbance = size * direction / np.linalg.norm(direction)
        errors = np.concatenate([[0.0], disturbance - P @ v])
        law = learning.improved(law, errors[:, None])
        reached = max(reached, float(np.linalg.norm(law.torques[:-1, 0])))
    assert 0.5 * bound < reached <= bound * (1.0 + 2e-3)


def test_sweeps_are_adjoint_and_are_the_loop() -> None:
    """⟨P v, e⟩ = ⟨v, Pᵀ e⟩, and P v is the change of a simulated trial, with delay and differenced velocities."""
    arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.2], [0.6, 0.5], 0.3)
    law = ch.ComputedTorque(arm, kp=400.0, kd=30.0, ki=500.0)
    period = 0.004
    times = period * np.arange(76.0)
    loop = lifted_loop(arm, law, times, motion(times), period=period, delay=1.5, velocity="differentiated")
    rng = np.random.default_rng(1)
    v, e = rng.normal(size=(2, 75, 2))
    assert np.vdot(loop.positions(v), e) == pytest.approx(np.vdot(v, loop.adjoint(e)), rel=1e-9)
    sensors = ch.Sensors(arm, velocity="differentiated")
    plant = ch.Plant(arm, delay=1.5 * period, sensors=sensors)
    small = 1e-4 * v
    laws = [LearnedTorque(arm, law, times=times[:-1], torques=sign * small) for sign in (1.0, -1.0)]
    plus, minus = (ch.simulate(plant, each, motion, period=period).q.values for each in laws)
    np.testing.assert_allclose(
        0.5 * (plus - minus)[1:], loop.positions(small), rtol=0.0, atol=0.01 * np.abs(plus - minus).max()
    )


def test_an_arm_learns_payload_and_friction_that_nobody_told_it() -> None:
    """Smooth unknowns: corrections fall by the predicted factor or better; with dry friction errors still fall."""
    arm = ch.load("planar2r")
    motion = ch.PointToPoint([0.0, 0.0], [1.0, -0.7], 0.6)
    loaded = arm.with_payload(1.0)
    law = ch.control.PDGravity(arm, kp=[400.0, 20.0], kd=[40.0, 2.0])
    learning = IterativeLearning(
        arm.with_payload(0.5), law, motion, period=PERIOD, cutoff=60.0, plants=[arm, loaded], duration=0.8
    )
    for friction in (
        ch.Friction(loaded, viscous=[0.5, 0.2]),
        ch.Friction(loaded, viscous=[0.5, 0.2], coulomb=[1.0, 0.5]),
    ):
        learned, torques, worst = learning.law, [], []
        for _ in range(6):
            run = ch.simulate(ch.Plant(loaded, friction=friction), learned, motion, period=PERIOD, duration=0.8)
            torques.append(learned.torques[:-1])
            worst.append(float(np.abs(run.error).max()))
            learned = learning.improved(learned, run.error)
        assert worst[-1] < 0.05 * worst[0]
    steps = np.diff(torques, axis=0) * np.sqrt(learning._step.R)
    sizes = np.linalg.norm(steps, axis=(1, 2))
    assert (sizes[1:] < learning.contraction * sizes[:-1]).all()


@pytest.mark.slow
def test_a_ur5_learns_a_load_of_two_kilograms() -> None:
    arm = ch.load("ur5")
    motion = ch.PointToPoint(arm.home, arm.home + np.array([0.8, 0.5, -0.5, 0.6, 0.5, -0.5]), 1.0)
    stiff = arm.mass_matrix(arm.home).diagonal()
    law = ch.control.NominalTorque(arm.with_payload(1.0), kp=900.0 * stiff, kd=60.0 * stiff)
    loaded = arm.with_payload(2.0)
    learning = IterativeLearning(
        arm.with_payload(1.0),
        law,
        motion,
        period=0.005,
        cutoff=20.0,
        torque_weight=3.0,
        plants=[arm, loaded],
        duration=1.2,
    )
    learned, worst = learning.law, []
    for _ in range(8):
        run = ch.simulate(loaded, learned, motion, period=0.005, duration=1.2)
        worst.append(float(np.abs(run.error).max()))
        learned = learning.improved(learned, run.error)
    assert worst[-1] < 0.4 * worst[0]


def test_learning_that_may_diverge_is_refused_with_a_cutoff_that_converges() -> None:
    """Torques far too early for a plant with a quarter of the mass."""
    arm, motion = sledge(), ch.PointToPoint([0.0], [0.4], 0.5)
    law = ch.control.NominalTorque(arm, kp=KP, kd=KD)
    light = ch.Robot.from_dh([{"kind": "prismatic", "mass": 0.5}], gravity=(0.0, 0.0, 0.0), check=False)
    with pytest.raises(LearningError, match=r"change by the factor .* cutoff=.* converges") as refusal:
        IterativeLearning(arm, law, motion, period=PERIOD, cutoff=120.0, plants=[light])
    again = pickle.loads(pickle.dumps(refusal.value))
    assert str(again) == str(refusal.value)
    lower = again.finding.facts["lower"]
    assert IterativeLearning(arm, law, motion, period=PERIOD, cutoff=lower, plants=[light]).contraction < 1.0


def test_learned_torques_go_with_scheduled_laws_outside_of_simulations() -> None:
    arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [0.5, 0.2], 0.2)
    torques = np.random.default_rng(0).normal(size=(21, 2))
    inner = ch.control.LinearQuadraticGaussian(arm)  # a schedule of named parts
    law = LearnedTorque(arm, inner, times=PERIOD * np.arange(21), torques=torques)
    run = ch.simulate(arm, law, motion, period=PERIOD)
    online = OnlineLaw(law, motion, period=PERIOD)
    said = [online(t, q, qd) for t, q, qd in zip(run.time.values, run.q.values, run.qd.values, strict=True)]
    np.testing.assert_allclose(said, run.tau, atol=1e-9)
    plain = OnlineLaw(inner, motion, period=PERIOD)
    np.testing.assert_allclose(said[0] - plain(0.0, run.q[0], run.qd[0]), torques[0], atol=1e-12)


def test_what_learning_refuses() -> None:
    arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [0.5, 0.2], 0.2)
    law = ch.control.PD(arm, kp=10.0, kd=1.0)
    with pytest.raises(ArgumentError, match="cutoff is 400 rad/s; it must be below π / period = 314"):
        IterativeLearning(arm, law, motion, period=PERIOD, cutoff=400.0)
    with pytest.raises(ArgumentError, match=r"a trial of 0\.01 s is too short"):
        IterativeLearning(arm, law, motion, period=PERIOD, cutoff=40.0, duration=0.01)
    learning = IterativeLearning(arm, law, motion, period=PERIOD, cutoff=40.0)
    with pytest.raises(ArgumentError, match="error has 20 rows; a trial has 21 calls"):
        learning.improved(learning.law, np.zeros((20, 2)))
    with pytest.raises(ArgumentError, match="the times of learned torques must increase"):
        LearnedTorque(arm, law, times=[0.0, 0.0], torques=np.zeros((2, 2)))


def test_a_batch_of_plants_learns_as_each_of_them_does_alone(tmp_path: Path) -> None:
    """With a scheduled law inside, torques of each run, and a later trial from a file."""
    arm, motion, masses = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [0.5, 0.3], 0.3), [0.2, 0.6]
    law = ch.control.TimeVaryingRegulator(arm, integral_error=0.02)
    learning = IterativeLearning(arm, law, motion, period=PERIOD, cutoff=60.0)
    together, alone = learning.law, [learning.law, learning.law]
    for _ in range(2):
        run = ch.simulate(arm, together, motion, period=PERIOD, vary={"payload.mass": masses})
        together = learning.improved(together, run.error)
        for k, mass in enumerate(masses):
            run = ch.simulate(arm, alone[k], motion, period=PERIOD, vary={"payload.mass": mass})
            alone[k] = learning.improved(alone[k], run.error)
    assert together.batch == (2,)
    np.testing.assert_allclose(together.torques, [one.torques for one in alone], rtol=1e-9, atol=1e-9)
    np.savez(tmp_path / "learned.npz", times=together.times, torques=together.torques)
    with np.load(tmp_path / "learned.npz") as stored:
        loaded = LearnedTorque(arm, law, **stored)
    both = [ch.simulate(arm, one, motion, period=PERIOD, vary={"payload.mass": masses}) for one in (together, loaded)]
    np.testing.assert_array_equal(both[0].q, both[1].q)
    for alone_only in (OnlineLaw, ch.control.law_program):
        with pytest.raises(ArgumentError, match=r"has torques of a batch of runs"):
            alone_only(together, motion, period=PERIOD)
