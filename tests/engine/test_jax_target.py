"""The JAX target: values, transformations and derivatives against NumPy, differences and closed forms."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads
from tests.engine.random_programs import random_program, safe_inputs, true_jacobian
from tests.oracles.closed_machines import four_bar
from tests.thinning import thinned

import chasles as ch
from chasles.base.errors import ArgumentError, ArgumentTypeError, MissingExtraError
from chasles.engine import Argument, Function, Program, absolute, atan2, maximum, minimum, sign, sin, sqrt, trace, where
from chasles.engine.program.operations import OPERATIONS
from chasles.engine.targets.jax.operations import run, translations
from chasles.engine.targets.numpy import NumpyKernel, NumpyScan, NumpySolve

BOTH = pytest.mark.parametrize("machine_code", [True, False])


@pytest.fixture(autouse=True)
def double() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def _tuple(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


def test_every_operation_is_translated() -> None:
    assert translations().keys() == OPERATIONS.keys()


@BOTH
@pytest.mark.parametrize("seed", thinned([3, 0, 1], keep=3))
def test_random_programs_have_the_right_values_and_derivatives(seed: int, machine_code: bool) -> None:
    program = random_program(seed, 5, calls=seed == 2)
    function = Function(program).to_jax(machine_code=machine_code)
    arguments = safe_inputs(program, 3, seed)
    for ours, theirs in zip(jax.jit(function)(*arguments), NumpyKernel(program)(*arguments), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
    x, y = (argument[0] for argument in arguments)
    exact = true_jacobian(program, [*x, y])
    for derivative in (jax.jacfwd, jax.jacrev):
        (a_x, a_y), (b_x, b_y) = derivative(function, (0, 1))(x, y)
        ours = np.block([[np.asarray(a_x), np.asarray(a_y)[:, None]], [np.asarray(b_x), np.asarray(b_y)]])
        np.testing.assert_allclose(ours, exact, rtol=1e-9, atol=1e-10)


def _special(x: Any) -> Any:
    a, b = x
    kinks = [minimum(a, b), maximum(a, b), atan2(a, b), where(a < b, 1.0, 2.0), where(a == a, 1.0, 0.0)]
    rows = [*kinks, a / a, sqrt(a) * sqrt(a), sign(a), a / 0, np.inf * a, where(a < 0, np.nan, 1)]
    return np.array([*rows, 1.0 / (a * b), 1.0 / -a, a - b, where((a < 0) & ~(b < 0) | (a < b), a, -b)])


@BOTH
def test_special_numbers(machine_code: bool) -> None:
    program = trace(_special, {"x": (2,)})
    numbers = [0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan]
    pairs = np.array([[a, b] for a in numbers for b in numbers])
    np.testing.assert_allclose(
        Function(program).to_jax(machine_code=machine_code)(pairs), NumpyKernel(program)(pairs), rtol=1e-14
    )


@pytest.mark.slow
def test_long_programs_run_in_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chasles.engine.targets.levels._LONG", 0)
    numbers = [0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan]
    pairs = np.array([[a, b] for a in numbers for b in numbers])
    program = random_program(2, 2, calls=True)
    for long, arguments in ((trace(_special, {"x": (2,)}), [pairs]), (program, safe_inputs(program, 3, 2))):
        expected = NumpyKernel(long)(*arguments)
        results = jax.jit(lambda *x, long=long: run(long, x))(*map(jnp.asarray, arguments))
        for ours, theirs in zip(results, expected if len(results) > 1 else [expected], strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
def test_a_long_program_is_compiled_within_seconds() -> None:
    """As one graph of 2,900 operations, XLA takes ten seconds for it."""
    derivatives = ch.load("panda").inverse_dynamics_derivatives
    state = np.random.default_rng(0).normal(size=(3, 5, 7))
    start = time.process_time()
    ours = jax.jit(derivatives.to_jax(machine_code=False))(*state)
    assert time.process_time() - start < 4.0
    for mine, theirs in zip(ours, derivatives(*state), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-11, atol=1e-11)


@BOTH
def test_gradients_at_kinks_are_of_the_branch_that_is_taken(machine_code: bool) -> None:
    root = Function(trace(lambda x: where(x > 0.0, sqrt(x), 0.0), {"x": ()})).to_jax(machine_code=machine_code)
    assert jax.grad(root)(0.0) == 0.0  # JAX's own `where` would give NaN
    assert jax.grad(root)(4.0) == 0.25


def test_a_robot_in_all_transformations() -> None:
    arm = ch.load("planar2r")
    dynamics = arm.forward_dynamics.to_jax()
    source = np.random.default_rng(0)
    q, qd, tau = source.normal(size=(4, 3, 2)), source.normal(size=(3, 2)), source.normal(size=2)
    expected = arm.forward_dynamics(q, qd, tau)
    np.testing.assert_array_equal(dynamics(q, qd, tau=tau), expected)
    np.testing.assert_array_equal(jax.jit(dynamics)(q, qd, tau), expected)
    twice = jax.vmap(jax.vmap(dynamics, (0, 0, None)), (0, None, None))
    np.testing.assert_array_equal(jax.jit(twice)(q, qd, tau), expected)
    over_the_middle = jax.vmap(dynamics, (1, 0, None), out_axes=1)
    np.testing.assert_array_equal(over_the_middle(q, qd, tau), expected)
    hessian = jax.jit(jax.hessian(arm.kinetic_energy.to_jax(), argnums=1))(q[0, 0], qd[0])
    np.testing.assert_allclose(hessian, arm.mass_matrix(q[0, 0]), rtol=1e-14)


@pytest.mark.slow
def test_derivatives_against_differences() -> None:
    arm = ch.load("planar2r")
    dynamics = arm.forward_dynamics.to_jax()
    source = np.random.default_rng(0)
    q, qd, tau = source.normal(size=(4, 3, 2)), source.normal(size=(3, 2)), source.normal(size=2)
    check_grads(dynamics, (q[0, 0], qd[0], tau), order=2)
    check_grads(lambda *x: dynamics(*x).sum(), (q, qd, tau), order=1)  # gradients of shared arguments are sums


@pytest.mark.slow
def test_the_operations_of_jax_differentiate_as_machine_code_does() -> None:
    arm = ch.load("planar2r")
    q = np.array([0.3, -0.8])
    slopes = [jax.jacrev(arm.gravity_torque.to_jax(machine_code=flag))(q) for flag in (True, False)]
    np.testing.assert_allclose(slopes[0], slopes[1], rtol=1e-13)
    hessian_of_potential = jax.hessian(arm.potential_energy.to_jax())(q)
    np.testing.assert_allclose(slopes[0], hessian_of_potential, rtol=1e-13)  # g = ∂V/∂q


@pytest.mark.slow
@pytest.mark.parametrize("name", ["scara", "stanford"])
def test_the_operations_of_jax_are_batched_and_differentiated_under_jit(name: str) -> None:
    robot = ch.load(name)
    source = np.random.default_rng(4)
    q = np.stack([robot.random_configuration(source) for _ in range(3)])
    qd, tau = source.normal(size=(2, 3, robot.n))
    by_operations, by_machine_code = (robot.forward_dynamics.to_jax(machine_code=flag) for flag in (False, True))
    expected = robot.forward_dynamics(q, qd, tau)
    np.testing.assert_allclose(jax.jit(jax.vmap(by_operations))(q, qd, tau), expected, rtol=1e-11)

    def gradients(function: Any) -> Any:
        energy = jax.grad(lambda *state: (function(*state) ** 2).sum(), argnums=(0, 1, 2))
        return jax.jit(jax.vmap(energy))(q, qd, tau)

    for ours, theirs in zip(gradients(by_operations), gradients(by_machine_code), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * np.abs(theirs).max())


@pytest.mark.slow
def test_closed_chains_and_quaternions() -> None:
    for robot in (ch.Robot(four_bar()), ch.load("planar2r").with_free_base()):
        source = np.random.default_rng(2)
        q, v = robot.random_configuration(source), source.normal(size=robot.n)
        integrate = robot.integrate.to_jax()
        np.testing.assert_allclose(integrate(q, v), robot.integrate(q, v), rtol=1e-14)
        check_grads(lambda v, q=q, f=integrate: f(q, v), (0.1 * v,), order=1)


def test_precision_is_that_of_the_arguments() -> None:
    energy = ch.load("planar2r").kinetic_energy.to_jax()
    single, double = (np.array([0.3, 0.4], dtype) for dtype in (np.float32, np.float64))
    assert energy(single, single).dtype == jnp.float32
    assert energy(single, double).dtype == jnp.float64
    assert energy([0, 1], [1, 2]).dtype == jnp.float64
    assert energy(jnp.asarray(single, jnp.bfloat16), single).dtype == jnp.float32
    assert jax.grad(energy)(single, single).dtype == jnp.float32
    np.testing.assert_allclose(energy(single, single), energy(double, double), rtol=1e-6)
    with jax.enable_x64(False):
        assert energy([0.0, 1.0], [1.0, 2.0]).dtype == jnp.float32
        assert jax.jit(energy)(jnp.ones(2), jnp.ones(2)).dtype == jnp.float32


@pytest.mark.parametrize(("steps", "substeps"), [(5, 1), (3, 4)])
def test_loops_over_time(steps: int, substeps: int) -> None:
    def step(state: Any, u: Any, k: Any) -> Any:
        following = np.array([state[0] + 0.1 * state[1] * u[1], state[1] - 0.1 * k * sin(state[0]) + u[0]])
        return following, state[0] * u[0], np.array([[state[0], state[1], k], [u[0], u[1], 1.0]])

    program = trace(step, {"state": (2,), "u": (2,), "k": ()}, outputs=["state", "y", "Y"])
    source = np.random.default_rng(0)
    state, u, k = source.normal(size=(6, 2)), source.normal(size=(steps, substeps, 2)), source.normal(size=6)
    function = Function(program, shape="scan").to_jax()
    for ours, theirs in zip(jax.jit(function)(state, u, k), NumpyScan(program)(state, u, k), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-13, atol=1e-14)
    one = jax.vmap(function, (0, None, 0))(state, u, k)[1]
    np.testing.assert_allclose(one, NumpyScan(program)(state, u, k)[1], rtol=1e-13)


def test_the_gradient_of_a_loop_is_that_of_the_power_of_its_step() -> None:
    A = np.array([[1.0, 0.1], [-0.2, 0.97]])
    program = trace(lambda x, t: (A @ x + np.array([0.0, t]), x[0]), {"x": (2,), "t": ()})
    loop = Function(program, shape="scan").to_jax()
    to_state, to_input = jax.jit(jax.jacrev(lambda x, t: loop(x, t)[0], (0, 1)))(np.ones(2), np.zeros((30, 1)))
    np.testing.assert_allclose(to_state, np.linalg.matrix_power(A, 30), rtol=1e-13)
    np.testing.assert_allclose(to_input[:, 3, 0], np.linalg.matrix_power(A, 26)[:, 1], rtol=1e-13)


def _swing(x: Any, u: Any, k: Any) -> Any:
    """A step of a pendulum: two states, a torque given at each step, a parameter and two samples."""
    following = np.array([x[0] + 0.1 * x[1], x[1] - 0.1 * k * sin(x[0]) + 0.1 * u])
    return following, x[0] * u, np.array([x[1] * k, x[0] ** 2])


SWING = trace(_swing, {"x": (2,), "u": (), "k": ()}, outputs=["x", "y", "Y"], name="swing")


@BOTH
@pytest.mark.slow
def test_derivatives_of_loops_against_differences(machine_code: bool) -> None:
    loop = Function(SWING, shape="scan").to_jax(machine_code=machine_code)
    source = np.random.default_rng(0)
    x, u, k = source.normal(size=(3, 2)), source.normal(size=(2, 3)), source.normal(size=3)
    check_grads(lambda *a: loop(*a)[2].sum() + (loop(*a)[0] ** 2).sum(), (x, u, k), order=1)  # sums of shared arguments
    check_grads(loop, (x[0], u, k[0]), order=2)
    one_by_one = jax.vmap(jax.grad(lambda x, k: loop(x, u, k)[2].sum(), 1))(x, k)
    np.testing.assert_allclose(one_by_one, jax.grad(lambda k: loop(x, u, k)[2].sum())(k), rtol=1e-13)


def test_a_gradient_of_a_loop_is_two_calls_of_machine_code() -> None:
    """Of the loop that records, and of that which runs backward: no loop of XLA."""
    loop = Function(SWING, shape="scan")
    x, u, k = np.array([0.4, 0.0]), np.zeros((6, 1)), np.linspace(1.0, 2.0, 4)
    gradient = jax.jit(jax.grad(lambda x, u, k: loop.to_jax()(x, u, k)[2].sum(), (0, 1, 2)))
    text = gradient.lower(x, u, k).as_text()
    assert text.count("@chasles_") == 2
    assert "while" not in text
    expected = loop.vjp()(x, u, k, np.zeros(2), np.zeros(6), np.ones((6, 2)))
    for ours, theirs in zip(gradient(x, u, k), expected, strict=True):
        np.testing.assert_allclose(ours, theirs.sum(axis=0) if theirs.shape != (4,) else theirs, rtol=1e-13)


def test_steps_are_repeated_while_they_ask_for_it() -> None:
    halve = trace(
        lambda x, t: (where(x > t, x / 2.0, x), where(x[0] > 2.0 * t, 1.0, 0.0)),
        {"x": (1,), "t": ()},
        outputs=["x", "again"],
    )
    start, limits = np.array([[64.0], [3.0]]), np.array([[10.0], [1.0]])
    ours = Function(halve, shape="scan").to_jax()(start, limits)
    for x, y in zip(ours, NumpyScan(halve)(start, limits), strict=True):
        np.testing.assert_array_equal(x, y)


def _fall(x: Any, t: Any, p: Any) -> Any:
    """Let x fall by the factor p until it is below t."""
    return np.array([where(x[0] > t, p * x[0], x[0])]), where(p * x[0] > t, 1.0, 0.0), x[0]


FALLING = Function(
    trace(_fall, {"x": (1,), "t": (), "p": ()}, name="falling", outputs=["x", "again", "before"]), shape="scan"
)


@pytest.mark.slow
@BOTH
def test_loops_that_repeat_steps_are_differentiated(machine_code: bool) -> None:
    """The last x is p^m x after m repetitions, each sample with its own m."""
    limits, x, p = np.array([[20.0, 8.0], [2.0, 0.6]]), np.array([[64.0], [3.0]]), np.array([0.5, 0.7])
    scan = FALLING.to_jax(machine_code=machine_code)

    def final(x: Any, p: Any) -> Any:
        return scan(x, limits, p)[0][..., 0]

    m = np.array([7.0, 5.0])
    slopes = m * p ** (m - 1.0) * x[:, 0]
    together = jax.jit(jax.grad(lambda x, p: final(x, p).sum(), (0, 1)))(x, p)
    np.testing.assert_allclose(together[0][:, 0], p**m, rtol=1e-12)
    np.testing.assert_allclose(together[1], slopes, rtol=1e-12)
    np.testing.assert_allclose(jax.vmap(jax.grad(final, 1))(x, p), slopes, rtol=1e-12)
    np.testing.assert_allclose(jax.jit(jax.jacfwd(final, 1))(x[0], p[0]), slopes[0], rtol=1e-12)
    curvature = jax.jacrev(jax.jacfwd(final, 1), 1)(x[0], p[0])
    np.testing.assert_allclose(curvature, 42.0 * p[0] ** 5.0 * x[0, 0], rtol=1e-12)


def test_a_gradient_of_a_loop_that_repeats_steps_has_no_derivative() -> None:
    final = lambda p: FALLING.to_jax()(np.array([64.0]), np.array([[20.0]]), p)[0][0]  # noqa: E731
    with pytest.raises(ArgumentError, match=r"falling repeats steps .* has no derivative here. Take jax.jacrev"):
        jax.hessian(final)(0.5)


def _heron(x: Any, a: Any) -> Any:
    new = (x + a / x) / 2
    return new, where(absolute(new - x)[0] < 1e-9, 1.0, 0.0)


def test_iterations_stop_where_their_condition_holds() -> None:
    program = trace(_heron, {"x": (1,), "a": ()}, outputs=["x", "done"])
    function = Function(program, shape="solve").to_jax()
    values = np.array([1.0, 9.0, 1e6])
    for ours, theirs in zip(jax.jit(function)([1.0], values, 30), NumpySolve(program)([1.0], values, 30), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.slow
def test_iterations_have_the_derivatives_of_their_solution() -> None:
    function = Function(trace(_heron, {"x": (1,), "a": ()}, outputs=["x", "done"]), shape="solve").to_jax()
    for derivative in (jax.jacfwd, jax.jacrev):
        slope = derivative(lambda a: function([1.0], a, 30)[0][0])
        assert slope(9.0) == pytest.approx(1.0 / 6.0, rel=1e-12)
        assert jax.grad(slope)(4.0) == pytest.approx(-1.0 / 32.0, rel=1e-12)
        np.testing.assert_allclose(jax.vmap(slope)(jnp.array([4.0, 9.0])), [1.0 / 4.0, 1.0 / 6.0], rtol=1e-12)
    assert jnp.isnan(jax.grad(lambda a: function([1.0], a, 2)[0][0])(9.0))  # not done
    assert jax.grad(lambda start: function(start, 9.0, 30)[0][0])(jnp.ones(1)) == 0.0


def test_empty_arguments_and_results() -> None:
    program = trace(lambda none, x: (none, 2.0 * x, 3.0), {"none": (0,), "x": ()})
    none, twice, three = Function(program).to_jax()(np.zeros((4, 0)), np.arange(4.0))
    assert none.shape == (4, 0)
    np.testing.assert_array_equal(twice, 2.0 * np.arange(4.0))
    np.testing.assert_array_equal(three, np.full(4, 3.0))
    function = Function(trace(lambda x: 2.0 * x, {"x": (3,)})).to_jax()
    assert function(np.zeros((0, 3))).shape == (0, 3)
    constant = Function(Program("one", (), (Argument("one", ()),), (("constant", 1.0),), (0,))).to_jax()
    assert constant() == 1.0


def test_bad_arguments_are_named() -> None:
    torque = ch.load("planar2r").inverse_dynamics.to_jax()
    with pytest.raises(ArgumentError, match=r"inverse_dynamics: qd has shape \(3,\); expected \(..., 2\)"):
        torque(np.zeros(2), np.zeros(3), np.zeros(2))
    with pytest.raises(ArgumentError, match=r"the batch axes of the arguments do not broadcast: q \(4,\), qd \(3,\)"):
        torque(np.zeros((4, 2)), np.zeros((3, 2)), np.zeros(2))
    with pytest.raises(ArgumentTypeError, match="q must be an array of real numbers"):
        torque(np.zeros(2) + 1j, np.zeros(2), np.zeros(2))
    with pytest.raises(ArgumentTypeError, match="q does not turn into an array of JAX"):
        torque("home", np.zeros(2), np.zeros(2))
    with pytest.raises(TypeError, match="misses qdd"):
        torque(np.zeros(2), np.zeros(2))


def test_without_machine_code_the_operations_of_jax_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHASLES_JIT", "0")
    function = Function(trace(lambda x: sin(x) * 0.123456789, {"x": ()})).to_jax()
    assert function(1.0) == pytest.approx(np.sin(1.0) * 0.123456789, rel=1e-15)
    assert "chasles_" not in jax.jit(function).lower(1.0).as_text()
    assert jax.export.export(jax.jit(function))(1.0).call(1.0) == function(1.0)


def test_without_jax_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(MissingExtraError, match=r'pip install "\.\[jax\]"'):
        Function(trace(lambda x: x, {"x": ()})).to_jax()
