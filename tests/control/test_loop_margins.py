"""Margins of sampled loops: closed forms, what each disk promises, and losses foreseen."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from tests.oracles.turned_loops import drawn_arm, law_matrices
from tests.thinning import thinned

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.control import TimeVaryingRegulator, loop_margins
from chasles.control.linear_law import LARGE_MEMORY, linear_law
from chasles.control.loop_margins import disk_margins

ARM = ch.load("planar2r")
MOTION = ch.PointToPoint([-1.57, 0.0], [0.78, 1.57], 1.0)


def slider() -> ch.Robot:
    return ch.Robot.from_dh([{"kind": "prismatic", "mass": 2.0}], gravity=(0.0, 0.0, 0.0), check=False)


@pytest.mark.parametrize("velocity", ["differentiated", "measured"])
@pytest.mark.parametrize("late", [0, 1, 2])
def test_one_joint_has_the_margins_of_its_transfer_function(late: int, velocity: Any) -> None:
    """A mass under PD, with whole periods of delay: radius and disk from z-polynomials written down by hand."""
    h, mass, kp, kd = 0.02, 2.0, 100.0, 20.0
    still = ch.PointToPoint([0.0], [0.0], 0.2)
    law = ch.control.PD(slider(), kp=kp, kd=kd)
    found = loop_margins(slider(), law, still, period=h, delay=late, velocity=velocity)
    # x[k+1] = x + h v + h²/(2m) u, v[k+1] = v + h/m u: (kp x + kd v)/u = numerator / (z - 1)²
    numerator = np.polyadd(kp * h * h / (2 * mass) * np.array([1.0, 1.0]), kd * h / mass * np.array([1.0, -1.0]))
    if velocity == "differentiated":  # (x[k+1] - x[k])/h: kp x + kd (1 - 1/z)/h x, times z in numerator and denominator
        position = h * h / (2 * mass) * np.array([1.0, 1.0])
        numerator, late = np.polymul(position, [kp + kd / h, -kd / h]), late + 1
    denominator = np.polymul(np.polymul([1.0, -1.0], [1.0, -1.0]), np.r_[1.0, np.zeros(late)])
    roots = np.roots(np.polyadd(denominator, numerator))
    np.testing.assert_allclose(found.radius, np.abs(roots).max(), rtol=1e-10)
    z = np.exp(1j * np.linspace(1e-4, np.pi, 20_000))
    L = np.polyval(numerator, z) / np.polyval(denominator, z)
    alpha = 1.0 / np.abs((1.0 - L) / (1.0 + L) / 2.0).max()
    np.testing.assert_allclose(found.disk, alpha, rtol=5e-3)
    assert found.is_stable
    assert found.growth == pytest.approx(np.log(np.abs(roots).max()) / h, rel=0.2)


@pytest.mark.parametrize("late", thinned([0.0, 1.0, 0.5]))
def test_changes_within_the_disk_keep_the_loop_stable(late: float) -> None:
    """Both joints' gains at the ends of the promised range, in all combinations: every frozen loop is stable."""
    law = {"kp": 400.0, "kd": 40.0}
    base = loop_margins(ARM, ch.ComputedTorque(ARM, **law), MOTION, period=0.01, delay=late, places=5)
    low, high = (float(f(ends)) for f, ends in zip((np.max, np.min), base.gain_margin, strict=True))
    assert 0.0 < low < 1.0 < high
    for scale in ([low, low], [low, high], [high, low], [high, high]):

        class Scaled(ch.ComputedTorque):
            def law(self, now):  # type: ignore[no-untyped-def]
                nominal = self.robot.inverse_dynamics(*now.reference)
                tau = super().law(now)
                return nominal + np.array(scale) * (tau - nominal)  # noqa: B023

        changed = loop_margins(ARM, Scaled(ARM, **law), MOTION, period=0.01, delay=late, places=5)
        assert changed.radius.max() <= 1.0 + 1e-9


@pytest.mark.parametrize("known", [False, True])
def test_a_loss_is_foreseen(known: bool) -> None:
    """Two periods of delay at 60 Hz: the simulated loop does what its margins say."""
    Q, R = ch.control.linear_quadratic.frequency_weights(
        ARM.mass_matrix(MOTION(np.linspace(0.0, 1.0, 50)).q).mean(axis=0), 20.0, integral=1.0
    )
    law = TimeVaryingRegulator(ARM, Q=Q, R=R, delay=2.0 if known else 0.0)
    margins = loop_margins(ARM, law, MOTION, period=1 / 60, delay=2.0, velocity="measured")
    assert margins.is_stable == known
    assert (margins.disk.min() > 0.2) == known
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = ch.simulate(ch.Plant(ARM.with_payload(0.1), delay=2 / 60), law, MOTION, period=1 / 60, duration=1.5)
    lost = not np.abs(run["error"].values).max() < 1.0
    assert lost != known


def test_what_has_no_margins_is_refused() -> None:
    with pytest.raises(ArgumentError, match="cannot be traced"):
        loop_margins(ARM, ch.PythonLaw(lambda now: np.where(float(now.q[0]) > 0, now.q, now.qd)), MOTION, period=0.01)
    with pytest.raises(ArgumentError, match="period"):
        loop_margins(ARM, ch.PDGravity(ARM, kp=1.0, kd=1.0), MOTION, period=0.0)
    with pytest.raises(ArgumentError, match="places"):
        loop_margins(ARM, ch.PDGravity(ARM, kp=1.0, kd=1.0), MOTION, period=0.01, places=0)


def test_filters_are_settled_before_the_margins_are_taken() -> None:
    """The filter of the first call believes its start; at rest the loops at the first and last place are the same."""
    still = ch.PointToPoint([-1.57, 0.3], [-1.57, 0.3], 1.0)
    weights = ch.control.linear_quadratic.frequency_weights(ARM.mass_matrix([-1.57, 0.3]), 10.0, integral=0.3)
    law = ch.control.LinearQuadraticGaussian(ARM, Q=weights.Q, R=weights.R, torque_error=5.0)
    disk = loop_margins(ARM, law, still, period=0.01, places=3).disk
    assert disk[0] > 0.3
    np.testing.assert_allclose(disk[0], disk[-1], rtol=0.02)


def test_disk_margins_alone_are_those_of_every_so_many_calls() -> None:
    arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=0.4)
    law = ch.ComputedTorque(arm, kp=100.0, kd=20.0, ki=300.0)
    options: dict[str, Any] = {"period": 0.01, "delay": 0.5}
    all_calls = loop_margins(arm, law, motion, places=41, **options)
    np.testing.assert_allclose(disk_margins(arm, law, motion, places=9, **options), all_calls.disk[::5], rtol=1e-9)
    late = disk_margins(arm, law, motion, period=0.01, delay=8.0, places=9)  # unstable
    np.testing.assert_array_equal(late, np.zeros(9))


def test_a_law_of_a_large_memory_is_differentiated_exactly() -> None:
    """84 values and more: the transfer function of the first call is that of differences of calls, to their error."""
    arm, h = drawn_arm(3, 3), 0.005
    motion = ch.PointToPoint([0.2, 0.3, -0.1], [0.9, -0.3, 0.4], 0.05)
    law = ch.control.CompositeAdaptive(arm, rate=8.0, damping=2.0, adaptation=0.3, bandwidth=20.0)
    assert law.memory_layout.size > LARGE_MEMORY
    times = h * np.arange(11)
    linear = linear_law(arm, law, times, motion(times), h, 1)
    tau, following = law_matrices(law, motion, 0.0, h)
    for angle in (0.05, 0.5, 2.0):
        z = np.exp(1j * angle)
        memory = np.linalg.solve(z * np.eye(len(following)) - following[:, 6:], following[:, :6])
        kept = np.linalg.solve(z * np.eye(linear.A.shape[-1]) - linear.A[0], linear.B[0])
        expected = tau[:, :6] + tau[:, 6:] @ memory
        np.testing.assert_allclose(
            linear.D[0] + linear.C[0] @ kept, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max()
        )


@pytest.mark.parametrize("kind", ["both", "link", "motor"])
def test_elastic_joints_against_an_integrated_period(kind: Any) -> None:
    """Spectral radius of one period, torques a period late: differences of equations written here, by SciPy."""
    K, B, D, h = np.array([800.0, 100.0]), np.array([0.3, 0.05]), np.array([0.5, 0.1]), 0.004
    pose, still = np.array([0.3, -0.5]), ch.PointToPoint([0.3, -0.5], [0.3, -0.5], 0.1)
    joints = ch.ElasticJoints(ARM, stiffness=K, rotor_inertia=B, damping=D)
    law: Any = ch.ComputedTorque(ARM.with_motor_inertia(B), kp=100.0, kd=20.0)
    if kind == "both":
        law = ch.control.ElasticComputedTorque(ARM, stiffness=K, rotor_inertia=B, frequency=25.0)
    side: Any = "link" if kind == "both" else kind

    def rates(t: float, x: np.ndarray, tau: np.ndarray) -> np.ndarray:
        q, angle, qd, speed = np.split(x, 4)
        pull = K * (angle - q) + D * (speed - qd)
        return np.concatenate([qd, speed, ARM.forward_dynamics(q, qd, pull), (tau - pull) / B])

    def period(state: np.ndarray) -> np.ndarray:
        x, last, waiting = np.split(state, [8, 12])
        seen, speeds = x[:4], (x[:4] - last) / h
        own = slice(2) if side == "link" else slice(2, 4)
        motors = (seen[2:], speeds[2:]) if kind == "both" else None
        zero = spring / K if kind == "motor" else 0.0  # the encoder reads the reference without error
        tau = law.evaluate(seen[own] - zero, speeds[own], still, motors=motors, period=h, schedule=row).tau
        following = solve_ivp(rates, (0.0, h), x, args=(waiting,), rtol=1e-11, atol=1e-12).y[:, -1]
        return np.concatenate([following, seen, tau])

    row = law.settled_schedule(still(np.zeros(1)), h) if kind == "both" else None
    row = None if row is None else ch.engine.Record({name: part[0] for name, part in row.items()})
    spring = ARM.gravity_torque(pose)
    balance = np.concatenate([pose, pose + spring / K, np.zeros(4), pose, pose + spring / K, spring])
    steps = 1e-5 * np.concatenate([np.ones(12), [10.0, 10.0]])
    moved = [(period(balance + e) - period(balance - e)) / (2.0 * e.max()) for e in np.diag(steps)]
    expected = np.abs(np.linalg.eigvals(np.stack(moved, axis=-1))).max()
    found = loop_margins(ARM, law, still, period=h, delay=1.0, elastic_joints=joints, side=side)
    np.testing.assert_allclose(found.radius, expected, rtol=1e-6)
    assert (found.disk > 0.0).all() == (expected < 1.0)


def test_the_disk_of_a_lightly_damped_joint_is_that_of_its_narrow_peak() -> None:
    """A spring with a damping ratio of 0.03 %, between the frequencies of a coarse grid: its margin on a dense one."""
    rod = slider()
    joints = ch.ElasticJoints(rod, stiffness=900.0, rotor_inertia=0.7, damping=0.01)
    still, law = ch.PointToPoint([0.0], [0.0], 0.1), ch.control.PD(rod, kp=5.0, kd=0.05)
    options: dict[str, Any] = {"period": 0.01, "elastic_joints": joints, "side": "motor"}
    dense = ch.control.loop_response(rod, law, still, samples=100_000, **options).response[:, 0, 0]
    alpha = 1.0 / np.abs((1.0 - dense) / (1.0 + dense) / 2.0).max()
    np.testing.assert_allclose(loop_margins(rod, law, still, places=2, **options).disk, alpha, rtol=0.02)


def test_elastic_joints_are_those_of_the_loops_response() -> None:
    """A rod at rest on a spring: L = kp G(z) at the motor, of the transfer function by residues."""
    J, B, K, kp, h = 1.0, 0.25, 100.0, 50.0, 0.01
    rod = ch.Robot.from_dh(
        [{"kind": "revolute", "mass": 0.0, "inertia": np.diag([0.0, 0.0, J])}], gravity=(0.0, 0.0, 0.0), check=False
    )
    joints = ch.ElasticJoints(rod, stiffness=K, rotor_inertia=B)
    still, law = ch.PointToPoint([0.0], [0.0], 0.1), ch.control.PD(rod, kp=kp, kd=0.0)
    found = ch.control.loop_response(rod, law, still, period=h, elastic_joints=joints, side="motor", samples=50)
    # θ / τ = (s² + K/J) / (B s² (s² + Ω²)) = a / s² + b / (s² + Ω²), held: a h²/2 (z + 1)/(z - 1)² and b/Ω² (1 - cos) …
    rate = np.sqrt(K / J + K / B)
    z, a, c = np.exp(1j * found.frequency * h), 1.0 / (J + B), np.cos(rate * h)
    b = (1.0 - K / J / rate**2) / B
    held = a * h * h / 2.0 / (z - 1.0) ** 2 + b / rate**2 * (1.0 - c) / (z * z - 2.0 * c * z + 1.0)
    expected = kp * held * (z + 1.0)
    np.testing.assert_allclose(found.response[:-1, 0, 0], expected[:-1], rtol=1e-5)  # at z = -1 both are 0
