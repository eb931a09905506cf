"""ROBOOP's functions, quaternions, splines and integrators, against closed forms, SciPy and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

import chasles as ch
from chasles.base.errors import ArgumentError, ChaslesError
from chasles.interop import roboop as rb

RNG = np.random.default_rng(4)


def scipy_quaternion(R: Rotation) -> np.ndarray:
    return R.as_quat(scalar_first=True, canonical=True)


def test_homogeneous_transformations_are_those_of_scipy() -> None:
    for _ in range(10):
        a, k, theta = RNG.uniform(-1.5, 1.5, 3), RNG.normal(size=3), RNG.uniform(0.1, 3.0)
        np.testing.assert_allclose(rb.rpy(a)[:3, :3], Rotation.from_euler("xyz", a).as_matrix(), atol=1e-14)
        np.testing.assert_allclose(rb.eulzxz(a)[:3, :3], Rotation.from_euler("ZXZ", a).as_matrix(), atol=1e-14)
        unit = k / np.linalg.norm(k)
        R = Rotation.from_rotvec(theta * unit)
        np.testing.assert_allclose(rb.rotk(theta, k)[:3, :3], R.as_matrix(), atol=1e-14)
        np.testing.assert_allclose(rb.irotk(rb.rotk(theta, k)), [*unit, theta], atol=1e-12)
        np.testing.assert_allclose(rb.irpy(rb.rpy(a)), a, atol=1e-12)
        np.testing.assert_allclose(rb.eulzxz(rb.ieulzxz(rb.eulzxz(a))), rb.eulzxz(a), atol=1e-12)
        x, y = RNG.normal(size=(2, 3))
        np.testing.assert_allclose(rb.x_prod_matrix(x) @ y, np.cross(x, y), atol=1e-15)
        point = RNG.normal(size=3)
        about = rb.rotd(theta, point, point + k)
        np.testing.assert_allclose(about @ [*point, 1.0], [*point, 1.0], atol=1e-13)  # the line stands still
        np.testing.assert_allclose(about[:3, :3], R.as_matrix(), atol=1e-14)


def test_singular_orientations_have_angles() -> None:
    """ROBOOP divides by 2 sin(theta) for the axis, and catches only exact singularities of the angles."""
    for angle in (0.0, 1e-12, np.pi - 1e-9, np.pi):
        axis_angle = rb.irotk(rb.rotx(angle))
        np.testing.assert_allclose(rb.rotk(axis_angle[3], axis_angle[:3]), rb.rotx(angle), atol=1e-12)
    for pitch in (np.pi / 2, -np.pi / 2, np.pi / 2 - 1e-9):
        T = rb.rpy([0.3, pitch, 0.2])
        np.testing.assert_allclose(rb.rpy(rb.irpy(T)), T, atol=1e-12)
    assert rb.rotk(1.0, [0.0, 0.0, 0.0]).tolist() == np.eye(4).tolist()
    assert rb.pinv(np.zeros((2, 3))).tolist() == np.zeros((3, 2)).tolist()  # ROBOOP: whatever is in memory
    assert (rb.isZero(1e-8), rb.isZero(1e-6)) == (True, False)
    assert rb.deg2rad(180.0) == np.pi
    assert rb.sign([-2.0, 0.0, 3.0]).tolist() == [-1.0, 0.0, 1.0]


def quaternions() -> tuple[rb.Quaternion, rb.Quaternion, Rotation, Rotation]:
    first, second = Rotation.random(2, RNG)
    return rb.Quaternion(first.as_matrix()), rb.Quaternion(second.as_matrix()), first, second


def test_quaternions_are_rotations() -> None:
    for _ in range(10):
        p, q, P, Q = quaternions()
        np.testing.assert_allclose(np.asarray(p), scipy_quaternion(P), atol=1e-14)
        np.testing.assert_allclose((p * q).R(), (P * Q).as_matrix(), atol=1e-14)
        np.testing.assert_allclose(p.i().R(), P.as_matrix().T, atol=1e-14)
        np.testing.assert_allclose(p.T()[:3, :3] @ q.v(), P.apply(q.v()), atol=1e-14)
        np.testing.assert_allclose(p.Log().exp().R(), p.R(), atol=1e-14)
        np.testing.assert_allclose(2.0 * p.Log().v(), P.as_rotvec(), atol=1e-13)
        np.testing.assert_allclose(rb.Slerp(p, q, 0.3).R(), (P * Rotation.from_rotvec(
            0.3 * (P.inv() * Q).as_rotvec())).as_matrix(), atol=1e-13)  # fmt: skip
        w = RNG.normal(size=3)
        for frame, sign in (("space", 0), ("body", 1)):
            h = 1e-6
            step = Rotation.from_rotvec(h * w)
            turned = step * P if frame == "space" else P * step
            rate = (np.asarray(rb.Quaternion(turned.as_matrix())) - np.asarray(p)) / h
            np.testing.assert_allclose(np.asarray(p.dot(w, sign)), rate, atol=2e-5)
            np.testing.assert_allclose(p.dot(w, sign).v(), 0.5 * p.E(sign) @ w, atol=1e-15)
        np.testing.assert_allclose(rb.Omega(p, p.dot(w)), w, atol=1e-13)


def test_arithmetic_of_quaternions() -> None:
    a, b = rb.Quaternion(1.0, 2.0, 3.0, 4.0), rb.Quaternion(0.5, -1.0, 0.0, 2.0)
    assert np.asarray(a + b).tolist() == [1.5, 1.0, 3.0, 6.0]
    assert np.asarray(a - b).tolist() == [0.5, 3.0, 3.0, 2.0]
    assert np.asarray(2.0 * a).tolist() == np.asarray(a * 2.0).tolist() == [2.0, 4.0, 6.0, 8.0]
    assert np.asarray(2.0 / a).tolist() == np.asarray(a / 2.0).tolist()  # ROBOOP's c / q is q / c
    np.testing.assert_allclose(np.asarray(a * a.i()), [1.0, 0.0, 0.0, 0.0], atol=1e-15)  # there |q|, not |q|²
    np.testing.assert_allclose(np.asarray(a / b * b), np.asarray(a), atol=1e-14)
    assert a.norm() == pytest.approx(np.sqrt(30.0))
    assert a.dot_prod(b) == 1 * 0.5 - 2 + 8
    assert rb.Quaternion(a).unit().norm() == pytest.approx(1.0)
    assert a.conjugate().v().tolist() == [-2.0, -3.0, -4.0]
    a.set_s(9.0)
    a.set_v([0.0, 0.0, 1.0])
    assert (a.s(), a.v().tolist()) == (9.0, [0.0, 0.0, 1.0])
    assert rb.Quaternion() == rb.Quaternion(1.0, 0.0, 0.0, 0.0)
    assert rb.Quaternion(0.4, [0.0, 0.0, 2.0]).s() == np.cos(0.2)  # the axis need not be a unit vector
    assert np.asarray(rb.Quaternion(-1.0, 0, 0, 0).Log()).tolist() == [0.0] * 4
    for arguments in ((0.4, [0.0, 0.0, 0.0]), (1, 2, 3), (1.0, [1.0, 2.0]), (np.eye(2),), (np.nan, 0, 0, 0)):
        with pytest.raises(ChaslesError):
            rb.Quaternion(*arguments)
    with pytest.raises(ArgumentError, match="zero quaternion has no inverse"):
        rb.Quaternion(0.0, 0.0, 0.0, 0.0).i()
    with pytest.raises(ArgumentError, match=r"t is 1\.5"):
        rb.Slerp(rb.Quaternion(), rb.Quaternion(), 1.5)


def test_derivatives_of_slerp_and_squad() -> None:
    knots = [rb.Quaternion(R.as_matrix()) for R in Rotation.from_rotvec(RNG.normal(size=(4, 3)) * 0.7)]
    h = 1e-5
    for t in (0.2, 0.5, 0.9):
        step = (rb.Slerp(*knots[:2], t + h) - rb.Slerp(*knots[:2], t - h)) / (2 * h)
        np.testing.assert_allclose(np.asarray(rb.Slerp_prime(*knots[:2], t)), np.asarray(step), atol=1e-9)
        step = (rb.Squad(*knots, t + h) - rb.Squad(*knots, t - h)) / (2 * h)
        np.testing.assert_allclose(np.asarray(rb.Squad_prime(*knots, t)), np.asarray(step), atol=1e-9)


def written_slerp(q0: np.ndarray, q1: np.ndarray, t: float) -> np.ndarray:
    """Slerp by sines of the angle between the two, the nearer of q1 and -q1 (Shoemake 1985)."""
    q1 = q1 if q0 @ q1 >= 0.0 else -q1
    angle = np.arccos(min(q0 @ q1, 1.0))
    return (np.sin((1.0 - t) * angle) * q0 + np.sin(t * angle) * q1) / np.sin(angle)


def test_squad_is_three_slerps_each_on_its_shorter_way() -> None:
    """ROBOOP's formula for quaternions that need not be near each other, and of any sign."""
    rng = np.random.default_rng(11)
    for _ in range(300):
        p, a, b, q = (x / np.linalg.norm(x) for x in rng.normal(size=(4, 4)))
        t = rng.uniform(0.05, 0.95)
        knots = [rb.Quaternion(*x) for x in (p, a, b, q)]

        def squad(t: float, p: np.ndarray = p, a: np.ndarray = a, b: np.ndarray = b, q: np.ndarray = q) -> np.ndarray:
            return written_slerp(written_slerp(p, q, t), written_slerp(a, b, t), 2.0 * t * (1.0 - t))

        np.testing.assert_allclose(np.asarray(rb.Squad(*knots, t)), squad(t), atol=1e-12)
        h = 1e-5
        if abs(written_slerp(p, q, t) @ written_slerp(a, b, t)) > 0.02:  # no jump between t - h and t + h
            np.testing.assert_allclose(np.asarray(rb.Squad_prime(*knots, t)), (squad(t + h) - squad(t - h)) / (2 * h),
                                       atol=1e-5)  # fmt: skip


def test_integ_quat_follows_an_angular_velocity() -> None:
    q, w, dt = rb.Quaternion(), np.array([0.3, -0.5, 0.8]), 1e-3
    past = q.dot(w)
    for _ in range(1000):
        q, past = rb.Integ_quat(q.dot(w), past, q, dt)
    np.testing.assert_allclose(q.R(), Rotation.from_rotvec(w).as_matrix(), atol=2e-3)
    area, past = rb.Integ_Trap([1.0], [3.0], 0.5)
    assert (area.tolist(), past.tolist()) == ([1.0], [1.0])


def test_splines_are_natural_cubic_ones() -> None:
    times, values = np.array([0.0, 0.5, 1.25, 2.0, 3.0]), RNG.normal(size=(2, 5))
    ours, theirs = rb.Spl_path(np.vstack([times, values])), CubicSpline(times, values.T, bc_type="natural")
    for t in (0.0, 0.3, 1.3, 3.0):  # the final time too, which ROBOOP refuses
        p, pdot, pddot = ours.p_pdot_pddot(t)
        np.testing.assert_allclose(p, theirs(t), atol=1e-12)
        np.testing.assert_allclose(pdot, theirs(t, 1), atol=1e-12)
        np.testing.assert_allclose(pddot, theirs(t, 2), atol=1e-11)
    assert ours.get_final_time() == 3.0
    for t in (-0.1, 3.1):
        with pytest.raises(ChaslesError):
            ours.p(t)
    for bad in ([[0, 1, 2], [1, 2, 3]], [[0.0, 1, 1, 2], [1, 2, 3, 4]], [[0, 1, 2, 3]]):
        with pytest.raises(ChaslesError):
            rb.Spl_cubic(bad)
    with pytest.raises(ArgumentError, match="no points yet"):
        rb.Spl_cubic().interpolating(0.0)


def test_quaternion_splines_have_true_angular_velocities() -> None:
    knots = {
        t: rb.Quaternion(Rotation.from_rotvec(0.5 * RNG.normal(size=3)).as_matrix()) for t in (0.0, 0.5, 2.0, 2.75)
    }
    spline, h = rb.Spl_Quaternion(knots), 1e-6
    for t, knot in knots.items():
        assert abs(spline.quat(t).dot_prod(knot)) == pytest.approx(1.0, abs=1e-12)
    for t in (0.2, 1.1, 2.4):
        step = spline.quat(t + h).R() @ spline.quat(t - h).R().T
        w = Rotation.from_matrix(step).as_rotvec() / (2 * h)
        np.testing.assert_allclose(spline.quat_w(t)[1], w, atol=1e-6)
    with pytest.raises(ArgumentError, match="t is 3"):
        spline.quat(3.0)


def test_integrators_have_their_orders() -> None:
    def pendulum(t: float, x: np.ndarray) -> list[float]:
        return [x[1], -np.sin(x[0]) + 0.1 * t]

    fine = rb.Runge_Kutta4(pendulum, [1.0, 0.0], 0.0, 2.0, 4000)[1][:, -1]
    errors = [np.abs(rb.Runge_Kutta4(pendulum, [1.0, 0.0], 0.0, 2.0, n)[1][:, -1] - fine).max() for n in (20, 40)]
    assert 14.0 < errors[0] / errors[1] < 18.0
    result = rb.odeint(pendulum, [1.0, 0.0], 0.0, 2.0, 1e-8, 0.5, 1e-12, 0.1)
    np.testing.assert_allclose(result.xout[:, -1], fine, atol=1e-7)
    assert result.tout[-1] == 2.0
    assert (np.diff(result.tout)[:-1] > 0.1).all()
    assert result.nbad >= 1  # the first step of 0.5 s is too long
    with pytest.raises(ArgumentError, match="below hmin"):
        rb.odeint(pendulum, [1.0, 0.0], 0.0, 2.0, 1e-12, 0.5, 0.4, 0.1)
    with pytest.raises(ArgumentError, match="result of xdot"):
        rb.Runge_Kutta4(lambda t, x: [0.0], [1.0, 0.0], 0.0, 1.0, 4)


def written_odeint(f: Any, x: np.ndarray, t: float, end: float, eps: float, h: float) -> list[float]:
    """Times of odeint and rkqc of Numerical Recipes in C (1988), section 15.2, statement by statement."""

    def step(x: np.ndarray, t: float, h: float) -> np.ndarray:
        k1 = f(t, x)
        k2 = f(t + h / 2, x + h / 2 * k1)
        k3 = f(t + h / 2, x + h / 2 * k2)
        return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + f(t + h, x + h * k3))

    times = [t]
    while t < end:
        scale = abs(x) + abs(h * f(t, x)) + 1e-30
        if t + h > end:
            h = end - t
        while True:
            two = step(step(x, t, h / 2), t + h / 2, h / 2)
            difference = two - step(x, t, h)
            error = max(abs(difference / scale)) / eps
            if error <= 1.0:
                break
            h = 0.9 * h * error**-0.25
        x, t = two + difference / 15, t + h
        h = 0.9 * h * error**-0.2 if error > 6e-4 else 4.0 * h
        times.append(t)
    return times


@pytest.mark.parametrize("end", [2.0, 3.1, 4.7])
def test_odeint_steps_as_numerical_recipes(end: float) -> None:
    """The scale of the error belongs to the step that was due, not to the one cut to end at tf."""

    def oscillator(t: float, x: np.ndarray) -> np.ndarray:
        return np.array([x[1], (1.0 - x[0] ** 2) * x[1] - x[0]])  # van der Pol

    for eps in (1e-3, 1e-5, 1e-7):
        result = rb.odeint(oscillator, [2.0, 0.0], 0.0, end, eps, 0.5, 1e-12, 0.0)
        expected = written_odeint(oscillator, np.array([2.0, 0.0]), 0.0, end, eps, 0.5)
        np.testing.assert_allclose(result.tout, expected, rtol=1e-12)


def test_a_law_inside_the_stages_moves_an_arm_as_xdot_of_the_demo() -> None:
    arm = ch.load("planar2r")

    def torque(q: Any, qd: Any) -> Any:
        return 25.0 * (np.pi / 4 - q) - 7.071 * qd

    old = rb.odeint(
        lambda t, x: np.concatenate([x[2:], arm.forward_dynamics(x[:2], x[2:], torque(x[:2], x[2:]))]),
        np.full(4, 0.1), 0.0, 1.0, 1e-8, 0.1, 1e-12, 0.05,
    )  # fmt: skip
    new = ch.integrate(
        lambda t, x: {"q": x["qd"], "qd": arm.forward_dynamics(x["q"], x["qd"], torque(x["q"], x["qd"]))},
        {"q": np.full(2, 0.1), "qd": np.full(2, 0.1)},
        [0.0, 1.0],
        integrator=ch.integrators.Within("dormand-prince", rtol=1e-10),
    )
    assert old.xout[:2, -1] == pytest.approx(new.y["q"][-1], abs=1e-6)
    assert old.xout[2:, -1] == pytest.approx(new.y["qd"][-1], abs=1e-5)
