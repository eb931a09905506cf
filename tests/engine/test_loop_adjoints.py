"""Adjoints of scans and solves: equal to differences in arithmetic of 50 digits and to closed forms."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from tests.engine.random_programs import interpret, random_program

import chasles as ch
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.engine import Function, Program, cos, exp, sin, sqrt, trace, where
from chasles.engine.adjoints import LoopAdjoint
from chasles.integrators import RK4

ROWS, SUBSTEPS = 4, 2


def random_scan(seed: int) -> Program:
    """A scan of a random program: two states, a number given at each step, two parameters and two samples."""
    random = Function(random_program(seed, steps=8))

    def step(state: Any, given: Any, p: Any, k: Any) -> Any:
        a, b = random(np.array([state[0], p[0], given * state[1]]), k + state[1])
        return 0.8 * state + 0.2 * np.array([sin(a[0] + given), sin(b) * p[1]]), a, b

    shapes = {"state": (2,), "given": (), "p": (2,), "k": ()}
    return trace(step, shapes, name="random_scan", outputs=["state_next", "a", "b"])


def loss_in_many_digits(program: Program, given: Any, weights: Any, x: list[Any]) -> Any:
    """Weighted sum of a scan's results; x are the state, then all that is given, then the parameters."""
    state, rows, parameters = x[:2], x[2 : 2 + given.size], x[2 + given.size :]
    final, a, b = weights
    total = mpmath.mpf(0)
    for step in range(ROWS * SUBSTEPS):
        *state, a0, a1, sample = interpret(program, [*state, rows[step], *parameters])
        if step % SUBSTEPS == 0:
            row = step // SUBSTEPS
            total += float(a[row, 0]) * a0 + float(a[row, 1]) * a1 + float(b[row]) * sample
    return total + float(final[0]) * state[0] + float(final[1]) * state[1]


@pytest.mark.parametrize("seed", [3, 11, 29])
def test_random_scans_agree_with_differences_in_many_digits(seed: int) -> None:
    program = random_scan(seed)
    rng = np.random.default_rng(seed)
    state, given, p, k = rng.normal(size=2), rng.normal(size=(ROWS, SUBSTEPS)), rng.normal(size=2), rng.normal()
    weights = rng.normal(size=2), rng.normal(size=(ROWS, 2)), rng.normal(size=ROWS)
    adjoints = Function(program, shape="scan").vjp()(state, given, p, k, *weights)
    flat = np.concatenate([np.ravel(x) for x in adjoints])
    at = np.concatenate([state, given.ravel(), p, [k]])
    with mpmath.workdps(50):
        step, point = mpmath.mpf(10) ** -18, [mpmath.mpf(float(x)) for x in at]
        for index in range(len(point)):
            ends = []
            for sign in (1, -1):
                moved = [x + sign * step * (i == index) for i, x in enumerate(point)]
                ends.append(loss_in_many_digits(program, given, weights, moved))
            assert flat[index] == pytest.approx(float((ends[0] - ends[1]) / (2 * step)), rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("held", [1, 20, 10_000])
def test_the_adjoint_does_not_depend_on_the_segments(held: int) -> None:
    """Nor on the batch: a row of a batch is what it is alone, and arguments without the axis serve all rows."""
    program = random_scan(5)
    rng = np.random.default_rng(0)
    state, given, k = rng.normal(size=(3, 2)), rng.normal(size=(9, 3)), rng.normal(size=3)
    p, final = rng.normal(size=2), rng.normal(size=2)
    a, b = rng.normal(size=(3, 9, 2)), np.zeros(9)
    kernel = Function(program, shape="scan").kernel
    names = ["state", "given", "p", "k"]
    whole = LoopAdjoint(kernel, names, "float64")(state, given, p, k, final, a, b)
    cut = LoopAdjoint(kernel, names, "float64", held)(state, given, p, k, final, a, b)
    assert [x.shape for x in cut] == [(3, 2), (3, 9, 3), (3, 2), (3,)]
    for one, other in zip(whole, cut, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-14)
    again, samples = LoopAdjoint(kernel, names, "float64", held).with_samples(state, given, p, k, final, a, b)
    first_substeps = Function(program, shape="scan")(state, given, p, k)[1:]
    for one, other in zip(again, cut, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-14)
    for sample, recorded in zip(samples, first_substeps, strict=True):
        np.testing.assert_array_equal(sample[:, ::3], recorded)
    alone = LoopAdjoint(kernel, names, "float64", held)(state[1], given, p, k[1], final, a[1], b)
    for one, other in zip(alone, cut, strict=True):
        np.testing.assert_array_equal(one, other[1])


def test_a_pendulum_swung_by_runge_kutta_turns_its_adjoint_into_a_tangent() -> None:
    """λᵀ x' is the same at both ends for every tangent x', here of the scan of the tangents."""

    def step(x: Any, t: Any, length: Any) -> Any:
        return RK4.step(lambda s, y: np.array([y[1], -9.81 / length * sin(y[0])]), 0.0, x, 0.01).y

    program = trace(step, {"x": (2,), "t": (), "length": ()}, name="pendulum", outputs=["x_next"])
    scan, start, given = Function(program, shape="scan"), np.array([2.0, 0.5]), np.zeros((300, 1))
    at_start, of_length = scan.vjp(["x", "length"])(start, given, 0.7, [1.0, -0.4])
    tangent = Function(program).jvp(["x", "length"])
    direction, change, x = np.array([0.3, -0.8]), 0.2, start
    following = Function(program)
    for _ in range(300):
        direction, x = tangent(x, 0.0, 0.7, direction, change), following(x, 0.0, 0.7)
    wanted = at_start @ [0.3, -0.8] + of_length * change
    assert direction @ [1.0, -0.4] == pytest.approx(wanted, rel=1e-11)


def kepler(x: Any, mean: Any, eccentricity: Any) -> Any:
    """Newton's iteration for E - e sin E = M; the second state is a linear fixed point of the first."""
    E = x[0] - (x[0] - eccentricity * sin(x[0]) - mean) / (1.0 - eccentricity * cos(x[0]))
    change = (E - x[0]) ** 2 + (0.5 * x[1] + E - x[1]) ** 2
    return np.array([E, 0.5 * x[1] + E]), where(change < 1e-30, 1.0, 0.0)


def test_a_solve_has_the_derivative_of_its_solution() -> None:
    shapes = {"x": (2,), "mean": (), "eccentricity": ()}
    solve = Function(trace(kepler, shapes, name="kepler", outputs=["x_next", "done"]), shape="solve")
    mean, e = np.array([0.3, 1.0, 2.5]), 0.6
    E, twice = np.moveaxis(solve(np.zeros(2), mean, e, 200)[0], -1, 0)
    start, of_mean, of_e = solve.vjp()(np.zeros(2), mean, e, 200, [1.0, 0.25])
    slope = 1.0 / (1.0 - e * np.cos(E))
    np.testing.assert_allclose(twice, 2.0 * E, rtol=1e-14)
    np.testing.assert_allclose(of_mean, 1.5 * slope, rtol=1e-11)
    np.testing.assert_allclose(of_e, 1.5 * slope * np.sin(E), rtol=1e-11)
    np.testing.assert_array_equal(start, np.zeros((3, 2)))


def test_a_solve_that_is_not_done_has_no_derivative() -> None:
    shapes = {"x": (2,), "mean": (), "eccentricity": ()}
    solve = Function(trace(kepler, shapes, name="kepler", outputs=["x_next", "done"]), shape="solve")
    assert np.isnan(solve.vjp("mean")(np.zeros(2), [0.3, 2.5], 0.6, 2, [1.0, 0.0])).all()


def test_zero_parameters_and_float32() -> None:
    growth = Function(
        trace(lambda x, t: exp(-t) * x, {"x": (1,), "t": ()}, name="decay", outputs=["x_next"]),
        shape="scan",
        dtype="float32",
    )
    times = np.array([[0.1], [0.2], [0.3]])
    of_x, of_t = growth.vjp()([2.0], times, [1.0])
    assert of_x == pytest.approx(np.exp(-0.6), rel=1e-6)
    np.testing.assert_allclose(of_t, np.full((3, 1), -2.0 * np.exp(-0.6)), rtol=1e-6)


def test_infinite_partials_of_what_is_not_selected_stay_outside() -> None:
    def step(x: Any, t: Any) -> Any:
        return np.array([where(x[0] > 0.0, sqrt(x[0]), 0.0)])

    scan = Function(trace(step, {"x": (1,), "t": ()}, outputs=["x_next"]), shape="scan")
    np.testing.assert_array_equal(scan.vjp("x")([[0.0], [16.0]], np.zeros((2, 1)), [1.0]), [[0.0], [1.0 / 32.0]])


@pytest.mark.parametrize("substeps", [1, 2])
def test_steps_that_are_repeated_are_differentiated_as_often_as_they_ran(substeps: int) -> None:
    """x falls by the factor p until it is below t: p^m x after m repetitions, each sample with its own m."""

    def fall(x: Any, t: Any, p: Any) -> Any:
        return np.array([where(x[0] > t, p * x[0], x[0])]), where(p * x[0] > t, 1.0, 0.0), x[0]

    shapes = {"x": (1,), "t": (), "p": ()}
    scan = Function(trace(fall, shapes, name="falling", outputs=["x_next", "again", "before"]), shape="scan")
    x, p, limits = (
        np.array([[64.0], [3.0]]),
        np.array([0.5, 0.7]),
        np.array([20.0, 8.0, 2.0, 0.6]).reshape(-1, substeps),
    )
    final = scan(x, limits, p)[0]
    falls = np.log(final / x)[:, 0] / np.log(p)
    np.testing.assert_allclose(falls, [7.0, 5.0], rtol=1e-12)
    samples = np.zeros(len(limits))
    of_x, of_t, of_p = scan.vjp()(x, limits, p, [1.0], samples, samples)
    np.testing.assert_allclose(of_x, final / x, rtol=1e-12)
    np.testing.assert_allclose(of_p, falls * final[:, 0] / p, rtol=1e-12)
    assert of_t.shape == (2, *limits.shape)
    assert not of_t.any()
    kernel = scan.kernel
    _, (_, before) = LoopAdjoint(kernel, ["p"], "float64", held=3).with_samples(x, limits, p, [1.0], samples, samples)
    np.testing.assert_allclose(before[:, ::substeps], scan(x, limits, p)[2], rtol=1e-12)
    still = LoopAdjoint(kernel, ["x", "p"], "float64", still=1)(x, limits, p, [1.0], samples, samples)
    assert not np.any(still[0])  # a state that counts as constant


def test_what_has_no_adjoint_is_refused() -> None:
    growth = Function(trace(lambda x, t: 2.0 * x, {"x": (1,), "t": ()}, name="g", outputs=["x_next"]), shape="scan")
    with pytest.raises(UnknownNameError, match="'r'"):
        growth.vjp("r")
    with pytest.raises(TypeError, match="takes 3 arguments, not 2"):
        growth.vjp()([1.0], np.zeros((2, 1)))
    for derivative in ("jacobian", "jvp", "hessian_vector"):
        with pytest.raises(ArgumentError, match=f"g is a scan: it has no {derivative}; use its vjp"):
            getattr(growth, derivative)()


def test_the_gradient_of_a_closed_loop_of_dynamics() -> None:
    """A two-link arm under gravity by semi-implicit steps: the adjoint agrees with the forward directions."""
    arm = ch.load("planar2r")

    def step(x: Any, t: Any, tau: Any) -> Any:
        qd = x[2:] + 0.01 * arm.forward_dynamics(x[:2], x[2:], tau)
        return np.concatenate([x[:2] + 0.01 * qd, qd]), x[:2] @ x[:2]

    program = trace(step, {"x": (4,), "t": (), "tau": (2,)}, name="arm", outputs=["x_next", "square"])
    start, given, tau = np.array([0.4, -0.3, 0.0, 0.1]), np.zeros((50, 1)), np.array([1.0, -0.5])
    gradient = Function(program, shape="scan").vjp("tau")(start, given, tau, np.zeros(4), np.ones(50))
    one = Function(program).jvp(["x", "tau"])
    for joint in range(2):
        x, dx, slope = start, np.zeros(4), 0.0
        for _ in range(50):
            dx_next, d_square = one(x, 0.0, tau, dx, np.eye(2)[joint])
            x, slope, dx = Function(program)(x, 0.0, tau)[0], slope + d_square, dx_next
        assert gradient[joint] == pytest.approx(slope, rel=1e-11)
