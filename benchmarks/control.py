"""Linear models and regulators along a motion, closed loops of the Panda, and what regulators are good for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import scipy.linalg
import scipy.signal

import chasles as ch
from benchmarks import panda, simulation
from benchmarks.robots import MissingPeerError
from benchmarks.tables import Table, at_least, at_most, seconds
from benchmarks.timing import interleaved
from chasles.control import TimeVaryingRegulator
from chasles.control.linear_quadratic import (
    backward_riccati,
    bryson_weights,
    discrete_riccati,
    discretize,
    linear_model,
)
from chasles.trajectories import Motion

try:
    from tests.oracles.pinocchio_models import acceleration_derivatives, model_of
except ImportError:
    raise MissingPeerError("pin (Pinocchio)") from None

POINTS, PERIOD = 1000, 2e-3
STUDY_RUNS = 1000
SINGLE_RUN_BARS = {"Chasles, computed torque": 4.0, "Chasles, time-varying regulator": 1.5}


def tables() -> Iterator[Table]:
    """All tables of this section."""
    yield agreement()
    yield speed()
    yield from simulation.tables()
    yield single_run()
    yield study()


def agreement() -> Table:
    """A and B against a closed form and Pinocchio."""
    table = Table(
        "A and B of the linearised dynamics, largest error relative to the largest element",
        ("robot", "compared with", "error"),
        notes=["20 random states each, at the torques of random accelerations."],
    )
    table.add("planar2r", "closed form, 2 joints", at_most(1e-12, closed_form_error(), "{:.1e}".format))
    for name in ("puma560", "panda"):
        table.add(name, "Pinocchio's computeABADerivatives", at_most(1e-9, pinocchio_error(name), "{:.1e}".format))
    return table


def random_motion(robot: ch.Robot) -> Motion:
    """Twenty states with accelerations."""
    return Motion(*np.random.default_rng(0).uniform(-2.0, 2.0, (3, 20, robot.n)))


def closed_form_error() -> float:
    """Of the arm of two rods, by complex differentiation of the equation of motion in the textbook."""
    arm = ch.load("planar2r")
    motion = random_motion(arm)
    A, B = linear_model(arm, motion)
    tau = arm.inverse_dynamics(*motion)

    def acceleration(x: np.ndarray) -> np.ndarray:
        m1, l1, m2, l2, g = 10.0, 0.5, 5.0, 0.25, 9.80621
        q1, q2, w1, w2, t1, t2 = x
        M22, cross = m2 * l2**2 / 3.0, 0.5 * m2 * l1 * l2
        M12 = M22 + cross * np.cos(q2)
        M11 = m1 * l1**2 / 3.0 + m2 * l1**2 + M22 + 2.0 * cross * np.cos(q2)
        second = 0.5 * m2 * l2 * g * np.cos(q1 + q2)
        r1 = t1 + cross * np.sin(q2) * (2.0 * w1 * w2 + w2**2) - (0.5 * m1 + m2) * l1 * g * np.cos(q1) - second
        r2 = t2 - cross * np.sin(q2) * w1**2 - second
        return np.array([M22 * r1 - M12 * r2, M11 * r2 - M12 * r1]) / (M11 * M22 - M12**2)

    worst = 0.0
    for k in range(20):
        x = np.concatenate([motion.q[k], motion.qd[k], tau[k]]).astype(complex)
        exact = np.array([acceleration(x + 1e-30j * unit).imag / 1e-30 for unit in np.eye(6)]).T
        ours = np.hstack([A[k], B[k]])[2:]
        worst = max(worst, float(np.abs(ours - exact).max() / np.abs(exact).max()))
    return worst


def pinocchio_error(name: str) -> float:
    """Of a robot that we bring."""
    robot = ch.load(name)
    motion, n = random_motion(robot), robot.n
    A, B = linear_model(robot, motion)
    tau, model, worst = robot.inverse_dynamics(*motion), model_of(robot), 0.0
    for k in range(20):
        for ours, theirs in zip(
            (A[k, n:, :n], A[k, n:, n:], B[k, n:]),
            acceleration_derivatives(model, robot, motion.q[k], motion.qd[k], tau[k]),
            strict=True,
        ):
            worst = max(worst, float(np.abs(ours - theirs).max() / np.abs(theirs).max()))
    return worst


def speed() -> Table:
    """Linear models, sampled models and gains along a motion of the Panda."""
    arm = panda.chasles_arm()
    times = PERIOD * np.arange(POINTS)
    motion = ch.PointToPoint(arm.home, arm.home + 0.5, duration=POINTS * PERIOD)(times)
    A, B = linear_model(arm, motion)
    A_d, B_d = discretize(A, B, PERIOD)
    weights = bryson_weights(arm)
    Q, R = PERIOD * weights.Q, PERIOD * weights.R
    terminal = discrete_riccati(A_d[-1], B_d[-1], Q, R).P
    regulator = TimeVaryingRegulator(arm)
    tau = arm.inverse_dynamics(*motion)
    model = model_of(arm)

    def scipy_hold() -> None:
        nothing, zero = np.zeros((1, 14)), np.zeros((1, 7))
        for k in range(POINTS):
            scipy.signal.cont2discrete((A[k], B[k], nothing, zero), PERIOD)

    def positive_solve(S: np.ndarray, F: np.ndarray) -> np.ndarray:
        return np.asarray(scipy.linalg.solve(S, F, assume_a="pos"))

    candidates: dict[str, Callable[[], object]] = {
        "model": lambda: linear_model(arm, motion),
        "model peer": lambda: pinocchio_models(model, motion, tau),
        "hold": lambda: discretize(A, B, PERIOD),
        "hold peer": scipy_hold,
        "gains": lambda: backward_riccati(A_d, B_d, Q, R, terminal),
        "numpy": lambda: recursion(A_d, B_d, Q, R, terminal, np.linalg.solve),
        "scipy": lambda: recursion(A_d, B_d, Q, R, terminal, positive_solve),
        "all": lambda: regulator.schedule(times, motion),
    }
    time = interleaved(candidates, repeats=9)
    ours, plain = candidates["gains"](), candidates["numpy"]()
    difference = np.abs(ours.K - plain).max() / np.abs(plain).max()  # type: ignore[attr-defined, operator]
    table = Table(
        f"Panda, {POINTS:,} points of a motion of {POINTS * PERIOD:g} s: time-varying regulator, 14 states, 7 torques",
        ("", "Chasles", "peer", "ratio", ""),
        notes=[
            "A(t), B(t): the peer is Pinocchio's computeABADerivatives, called from Python point by point, with the "
            "torques known; ours includes computing them by inverse dynamics.",
            "Zero-order hold: the peer is scipy.signal.cont2discrete, point by point.",
            "Gains: backward Riccati recursion from the sampled A and B of every step, which both are handed. NumPy's "
            "is six products and one np.linalg.solve a step; SciPy's has scipy.linalg.solve(assume_a='pos').",
            f"Our gains differ from NumPy's by {difference:.0e} of the largest.",
            "All: from the planned motion to nominal torques and gains; its end is the stationary Riccati equation.",
        ],
    )

    def row(label: str, name: str, peer: str, bar: str = "") -> None:
        table.add(label, seconds(time[name]), seconds(time[peer]), f"{time[peer] / time[name]:.3g}x", bar)

    row("A(t), B(t)", "model", "model peer", at_most(2e-3, time["model"]))
    row("zero-order hold", "hold", "hold peer")
    row("gains, against NumPy", "gains", "numpy", at_least(30.0, time["numpy"] / time["gains"]))
    row("gains, against SciPy", "gains", "scipy", at_least(30.0, time["scipy"] / time["gains"]))
    table.add("all", seconds(time["all"]), "", "", at_most(20e-3, time["all"]))
    return table


def pinocchio_models(model: Any, motion: Motion, tau: np.ndarray) -> None:
    """Derivatives of the accelerations at every point, from Python."""
    import pinocchio as pin

    data = model.createData()
    for q, qd, torque in zip(motion.q, motion.qd, tau, strict=True):
        pin.computeABADerivatives(model, data, q, qd, torque)


def recursion(A: Any, B: Any, Q: Any, R: Any, P: Any, solve: Callable[[Any, Any], Any]) -> np.ndarray:
    """The Riccati recursion as one writes it in NumPy."""
    gains = np.empty((len(A), B.shape[-1], A.shape[-1]))
    for k in range(len(A) - 1, -1, -1):
        A_k, B_k = A[k], B[k]
        BP = B_k.T @ P
        K = solve(R + BP @ B_k, BP @ A_k)
        P = Q + A_k.T @ (P @ (A_k - B_k @ K))
        gains[k] = K
    return gains


def single_run() -> Table:
    """One closed loop of 2 s."""
    steps, arm = 2000, panda.chasles_arm()
    motion = ch.PointToPoint(arm.home, arm.home + 0.2, duration=2.0)
    controllers = {
        "computed torque": ch.ComputedTorque(arm, kp=400.0, kd=40.0),
        "time-varying regulator": TimeVaryingRegulator(arm),
    }
    mj, model = panda.mujoco()
    data = mj.MjData(model)

    def stepped_by_python() -> None:
        mj.mj_resetData(model, data)
        data.qpos[:] = arm.home
        reference = motion(1e-3 * np.arange(steps))
        for q, qd, qdd in zip(*reference, strict=True):
            data.qacc[:] = qdd + 400.0 * (q - data.qpos) + 40.0 * (qd - data.qvel)
            mj.mj_inverse(model, data)
            data.qfrc_applied[:] = data.qfrc_inverse
            mj.mj_step(model, data)

    candidates: dict[str, Callable[[], object]] = {
        "MuJoCo, without control, steps in C": simulation.mujoco_steps(steps),
        "MuJoCo, computed torque by mj_inverse from Python": stepped_by_python,
    }
    for name, controller in controllers.items():
        candidates[f"Chasles, {name}"] = lambda controller=controller: ch.simulate(
            arm, controller, motion, period=1e-3, progress=False
        )
    time = interleaved(candidates, repeats=9)
    table = Table(
        "Panda, one closed loop of 2 s at 1 kHz, RK4, one thread",
        ("", "time", "steps a second", "ratio"),
        notes=[
            "Chasles: the whole call of chasles.simulate, with the labelled result; for the regulator with its "
            "linear models and gains.",
            "MuJoCo's first row neither controls nor records; the second controls with the same law.",
        ],
    )
    peer = time["MuJoCo, without control, steps in C"]
    for name, value in time.items():
        bar = SINGLE_RUN_BARS.get(name)
        verdict = at_least(bar, peer / value) if bar else f"{peer / value:.3g}x"
        table.add(name, seconds(value), f"{steps / value:,.0f}", verdict)
    return table


def study() -> Table:
    """A thousand runs of one controller."""
    arm = panda.chasles_arm()
    motion = ch.PointToPoint(arm.home, arm.home + 0.5, duration=2.0)
    masses = np.linspace(0.0, 3.0, STUDY_RUNS)
    cores = min(2, os.cpu_count() or 1)
    table = Table(
        f"Panda, study of {STUDY_RUNS:,} payloads, 2 s at 1 kHz, {cores} threads",
        ("controller", "time", ""),
        notes=["The whole call of chasles.simulate, every tenth sample recorded."],
    )
    for controller in (ch.ComputedTorque(arm, kp=400.0, kd=40.0), TimeVaryingRegulator(arm)):
        times = []
        for _ in range(4):
            start = perf_counter()
            with ch.threads(cores):
                ch.simulate(
                    arm,
                    controller,
                    motion,
                    vary={"payload.mass": masses},
                    record=ch.Recording(every=10),
                    progress=False,
                )
            times.append(perf_counter() - start)
        table.add(controller.name, seconds(median(times[1:])), at_most(10.0, median(times[1:])))
    return table
