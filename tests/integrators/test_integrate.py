"""The public function: shapes, batches, failures, dense output, and what it refuses."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chasles as ch
from chasles.base.errors import ArgumentError, TraceError, UnknownNameError
from chasles.engine import log, sin, where
from chasles.integrators import RODAS5P, Step, Steps, Within, adaptive, compiled

TIMES = np.linspace(0.0, 3.0, 31)
ADAPTIVE = ["bogacki-shampine", "dormand-prince", "rodas5p"]


def pendulum(t: Any, y: Any, length: Any = 1.0, damping: Any = 0.0) -> Any:
    return [y[1], -9.81 / length * sin(y[0]) - damping * y[1]]


@pytest.mark.parametrize("method", [*ADAPTIVE, "rk4"])
def test_a_pendulum_swings_as_by_scipy(method: str) -> None:
    within = ch.integrators.Within(method, rtol=1e-8, atol=1e-10)
    chosen = ch.integrators.Steps("rk4", 20) if method == "rk4" else within
    own = ch.integrate(pendulum, [2.0, 0.0], TIMES, integrator=chosen)
    peer = solve_ivp(pendulum, (0.0, 3.0), [2.0, 0.0], method="DOP853", t_eval=TIMES, rtol=1e-12, atol=1e-13)
    assert own.y.shape == (31, 2)
    np.testing.assert_allclose(own.y, peer.y.T, atol=3e-6)
    assert own.success
    assert own.message == "reached t = 3"
    assert np.isnan(own.failed_at)
    assert own.integrator == method
    assert own.evaluations == (own.steps + own.rejections) * ch.integrators.INTEGRATORS[method].stages


@pytest.mark.parametrize("method", ADAPTIVE)
def test_runs_of_a_batch_are_single_runs_to_the_bit(method: str) -> None:
    """Each takes steps of its own, and nobody's depend on who stands beside it."""
    rng = np.random.default_rng(0)
    y0, lengths = rng.uniform(-2.0, 2.0, (3, 7, 2)), np.geomspace(0.01, 10.0, 7)
    batch = ch.integrate(pendulum, y0, TIMES, parameters=[lengths], integrator=method)
    assert batch.y.shape == (3, 7, 31, 2)
    assert batch.steps.shape == batch.success.shape == (3, 7)
    assert len(set(batch.steps.ravel().tolist())) > 10
    for run in ((0, 0), (1, 3), (2, 6)):
        single = ch.integrate(pendulum, y0[run], TIMES, parameters=[lengths[run[1]]], integrator=method)
        np.testing.assert_array_equal(batch.y[run], single.y)
        assert (batch.steps[run], batch.rejections[run]) == (single.steps, single.rejections)


def test_batches_beyond_memory_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    y0 = rng.uniform(-2.0, 2.0, (50, 2))
    whole = ch.integrate(pendulum, y0, TIMES, dense=True)
    monkeypatch.setattr(adaptive, "_RECORDED", 5_000)
    cut = ch.integrate(pendulum, y0, TIMES, dense=True)
    np.testing.assert_array_equal(whole.y, cut.y)
    np.testing.assert_array_equal(whole(1.234), cut(1.234))


def test_backwards_is_forwards_reversed() -> None:
    there = ch.integrate(
        pendulum, [2.0, 0.0], TIMES, integrator=ch.integrators.Within("dormand-prince", rtol=1e-10, atol=1e-12)
    )
    back = ch.integrate(
        pendulum,
        there.y[-1],
        TIMES[::-1],
        integrator=ch.integrators.Within("dormand-prince", rtol=1e-10, atol=1e-12),
        dense=True,
    )
    np.testing.assert_allclose(back.y[::-1], there.y, atol=1e-7)
    np.testing.assert_allclose(back(TIMES), there.y, atol=1e-7)


@pytest.mark.parametrize("times", [[-1e9, -1e9 + 2.0], [5.0, 5.0 + 1e-13], [0.0, 1e-200]])
def test_odd_times_are_times(times: list[float]) -> None:
    run = ch.integrate(lambda t, y: -y, [1.0], times)
    assert run.success
    np.testing.assert_allclose(run.y[-1], np.exp(-np.diff(times)), rtol=1e-5)


def test_parameters_come_in_order_or_by_name_and_broadcast() -> None:
    lengths, dampings = np.array([[0.5], [1.0]]), np.array([0.0, 0.1, 0.2])
    in_order = ch.integrate(pendulum, [1.0, 0.0], TIMES, parameters=[lengths, dampings])
    by_name = ch.integrate(pendulum, [1.0, 0.0], TIMES, parameters={"damping": dampings, "length": lengths})
    np.testing.assert_array_equal(in_order.y, by_name.y)
    assert in_order.y.shape == (2, 3, 31, 2)
    default = ch.integrate(pendulum, [1.0, 0.0], TIMES, parameters={"damping": 0.2})
    np.testing.assert_allclose(default.y, in_order.y[1, 2], atol=1e-12)


def test_compiled_functions_declare_the_shapes_of_their_parameters() -> None:
    @ch.function(t=(), y=(2,), A=(2, 2), b=(2,))
    def linear(t, y, A, b):
        return A @ y + b

    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(4, 2, 2)) - 2.0 * np.eye(2), rng.normal(size=(4, 2))
    run = ch.integrate(
        linear,
        [1.0, 0.0],
        [0.0, 1.0],
        parameters={"b": b, "A": A},
        integrator=ch.integrators.Within("dormand-prince", rtol=1e-10, atol=1e-12),
    )
    from scipy.linalg import expm

    for k in range(4):
        rest = -np.linalg.solve(A[k], b[k])
        np.testing.assert_allclose(run.y[k, -1], rest + expm(A[k]) @ (np.array([1.0, 0.0]) - rest), atol=1e-8)
    with pytest.raises(ArgumentError, match=r"parameter A has shape \(2,\); expected \(..., 2, 2\)"):
        ch.integrate(linear, [1.0, 0.0], [0.0, 1.0], parameters=[[1.0, 2.0], b])
    with pytest.raises(UnknownNameError, match="there is no argument of the function 'c'"):
        ch.integrate(linear, [1.0, 0.0], [0.0, 1.0], parameters={"A": A, "c": b})
    with pytest.raises(ArgumentError, match="takes A, b after t and y, not 1 parameters"):
        ch.integrate(linear, [1.0, 0.0], [0.0, 1.0], parameters={"A": A})
    with pytest.raises(ArgumentError, match=r"expected t \(\) and y \(3,\) first, as y0 has"):
        ch.integrate(linear, [1.0, 0.0, 0.0], [0.0, 1.0], parameters=[A, b])


def test_states_have_parts_with_names() -> None:
    arm = ch.load("planar2r")

    def falling(t, y):
        return {"qd": arm.forward_dynamics(y["q"], y["qd"], np.zeros(2)), "q": y["qd"]}

    run = ch.integrate(
        falling,
        {"q": [[0.1, 0.2], [0.3, 0.4]], "qd": [0.0, 0.0]},
        TIMES,
        integrator=ch.integrators.Within("dormand-prince", rtol=1e-9),
        dense=True,
    )
    assert run.y["q"].shape == run.y["qd"].shape == (2, 31, 2)
    assert set(run(1.0)) == {"q", "qd"}
    energy = arm.kinetic_energy(run.y["q"], run.y["qd"]) + arm.potential_energy(run.y["q"])
    np.testing.assert_allclose(energy, energy[:, :1] + np.zeros(31), atol=1e-5)
    with pytest.raises(ArgumentError, match=r"must return the rates of the state, .*: part 'qd' is missing"):
        ch.integrate(lambda t, y: {"q": y["q"]}, {"q": [0.0], "qd": [0.0]}, TIMES)


@pytest.mark.parametrize("method", [*ADAPTIVE, "rk4", "semi-implicit-euler"])
def test_dense_output_passes_through_the_states_and_keeps_close_between(method: str) -> None:
    within = ch.integrators.Within(method, rtol=1e-7, atol=1e-9)
    chosen = ch.integrators.Steps(method, 50) if method in ("rk4", "semi-implicit-euler") else within
    run = ch.integrate(pendulum, [[2.0, 0.0], [0.5, 1.0]], TIMES, integrator=chosen, dense=True)
    np.testing.assert_allclose(np.moveaxis(run(TIMES), 1, 0), np.moveaxis(run.y, 1, 0), atol=1e-13)
    finer = np.linspace(0.0, 3.0, 1001)
    fine = ch.integrate(
        pendulum, [[2.0, 0.0], [0.5, 1.0]], finer, integrator=ch.integrators.Within("rodas5p", rtol=1e-11, atol=1e-12)
    )
    assert float(np.abs(run(finer) - fine.y).max()) < (2e-2 if method == "semi-implicit-euler" else 3e-5)
    assert run(0.5).shape == (2, 2)
    assert run([[0.5], [1.0]]).shape == (2, 2, 1, 2)
    with pytest.raises(ArgumentError, match=r"t = 3.1 is outside of the integration, 0 to 3"):
        run([1.0, 3.1])
    with pytest.raises(ArgumentError, match="integrate with dense=True"):
        ch.integrate(pendulum, [2.0, 0.0], TIMES)(0.5)


@pytest.mark.parametrize("method", ADAPTIVE)
def test_a_run_that_fails_is_named_and_leaves_the_others_alone(method: str) -> None:
    """y' = y² from 2 is 2 / (1 - 2 t): infinite at t = 0.5."""
    starts = np.array([[0.5], [2.0], [-1.0]])
    batch = ch.integrate(lambda t, y: y * y, starts, np.linspace(0.0, 1.0, 5), integrator=method, max_steps=50_000)
    assert batch.success.tolist() == [True, False, True]
    assert batch.failed_at[1] == pytest.approx(0.5, abs=1e-4)
    assert np.isnan(batch.failed_at[[0, 2]]).all()
    assert batch.message[0] == "reached t = 1"
    assert batch.message[1].startswith("stopped at t = 0.5")
    assert np.isfinite(batch.y[1, :2]).all()
    assert np.isnan(batch.y[1, 3:]).all()
    for k in (0, 2):
        single = ch.integrate(lambda t, y: y * y, starts[k], np.linspace(0.0, 1.0, 5), integrator=method)
        np.testing.assert_array_equal(batch.y[k], single.y)
    assert "1 failed" in repr(batch)


def test_what_is_not_finite_is_said() -> None:
    run = ch.integrate(lambda t, y: [log(1.0 - t)], [1.0], [0.0, 0.5, 1.5])
    assert not run.success
    assert run.failed_at == pytest.approx(1.0, abs=1e-6)
    assert "not finite there" in run.message
    assert run.y[1, 0] == pytest.approx(1.0 + 0.5 * np.log(2.0) - 0.5)
    at_once = ch.integrate(lambda t, y: [log(-1.0 - t)], [1.0], [0.0, 1.0], dense=True)
    assert not at_once.success
    assert at_once.failed_at == 0.0
    assert at_once.steps == 0
    assert np.isnan(at_once(0.5)).all()
    fixed = ch.integrate(
        lambda t, y: y * y, [[2.0], [0.5]], np.linspace(0.0, 1.0, 5), integrator=ch.integrators.Steps("rk4", 1000)
    )
    assert fixed.success.tolist() == [False, True]
    assert 0.5 <= fixed.failed_at[0] <= 0.75
    assert np.isnan(fixed.y[0, -1, 0])


def test_too_many_steps_are_said() -> None:
    run = ch.integrate(lambda t, y: -1e4 * y, [[1.0], [0.0]], [0.0, 1.0], max_steps=77)
    assert run.success.tolist() == [False, True]
    assert run.steps[0] + run.rejections[0] == 77
    assert run.message[0].endswith("after 77 steps: raise max_steps, loosen the tolerances, or for a stiff equation "
                                   "choose integrator='rodas5p'")  # fmt: skip
    assert ch.integrate(lambda t, y: -1e4 * y, [1.0], [0.0, 1.0], max_steps=77, integrator="rodas5p").success


def test_a_jump_is_found_and_passed() -> None:
    """A force that turns round at t = 1: the steps shorten there, and the corner is where it should be."""
    run = ch.integrate(
        lambda t, y: [where(t < 1.0, 1.0, -2.0)],
        [0.0],
        [0.0, 1.0, 3.0],
        integrator=ch.integrators.Within("dormand-prince", rtol=1e-8, atol=1e-10),
    )
    np.testing.assert_allclose(run.y[:, 0], [0.0, 1.0, -3.0], atol=1e-7)
    assert run.rejections > 3


@dataclass(frozen=True)
class Heun:
    """A user's method."""

    name = "heun"
    order, embedded_order, stages, implicit = 2, 1, 2, False

    def step(self, f, t, y, h):
        k1 = f(t, y)
        k2 = f(t + h, y + h * k1)
        return Step(y + 0.5 * h * (k1 + k2), error=0.5 * h * (k2 - k1))


class Midpoint:
    """A user's method that may change: it is traced in every call."""

    name, order, embedded_order, stages, implicit, share = "midpoint", 2, None, 2, False, 0.5

    def step(self, f, t, y, h):
        return Step(y + h * f(t + self.share * h, y + self.share * h * f(t, y)))


def test_a_user_may_write_a_method() -> None:
    exact = ch.integrate(
        pendulum, [1.0, 0.0], TIMES, integrator=ch.integrators.Within("dormand-prince", rtol=1e-11, atol=1e-12)
    ).y
    own = ch.integrate(
        pendulum, [1.0, 0.0], TIMES, integrator=ch.integrators.Within(Heun(), rtol=1e-6, atol=1e-8), dense=True
    )
    np.testing.assert_allclose(own.y, exact, atol=1e-3)
    assert own.integrator == "heun"
    assert own(0.5).shape == (2,)
    changing = Midpoint()
    first = ch.integrate(pendulum, [1.0, 0.0], TIMES, integrator=ch.integrators.Steps(changing, 100)).y
    np.testing.assert_allclose(first, exact, atol=1e-4)
    changing.share = 0.0
    assert (
        np.abs(
            ch.integrate(pendulum, [1.0, 0.0], TIMES, integrator=ch.integrators.Steps(changing, 100)).y - first
        ).max()
        > 1e-3
    )
    with pytest.raises(ArgumentError, match="has no order, embedded_order"):
        ch.integrate(pendulum, [1.0, 0.0], TIMES, integrator=type("Half", (), {"name": "half", "stages": 1})())


def test_what_a_function_refers_to_may_change() -> None:
    """Functions are traced in every call, so that nothing is stale."""
    rate = {"value": 1.0}

    def decay(t, y):
        return -rate["value"] * y

    first = ch.integrate(decay, [1.0], [0.0, 1.0]).y[-1, 0]
    rate["value"] = 2.0
    second = ch.integrate(decay, [1.0], [0.0, 1.0]).y[-1, 0]
    np.testing.assert_allclose([first, second], np.exp([-1.0, -2.0]), rtol=1e-5)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"function": 3.0}, ArgumentError, r"function must be a function f\(t, y, \*parameters\), not 3.0"),
        (
            {"function": lambda t, y: [y[0]]},
            ArgumentError,
            r"rates of the state, .* shape \(1,\); expected \(2,\)",
        ),
        ({"function": lambda t, y: y if y[0] > 0 else -y}, TraceError, "no truth value"),
        ({"y0": 1.0}, ArgumentError, r"y0 has shape \(\); expected \(..., n\), of one number \(1,\)"),
        ({"y0": [1.0, np.nan]}, ArgumentError, "y0 must be finite"),
        ({"y0": "abc"}, ArgumentError, "y0 must be an array of numbers"),
        ({"y0": {"q": [1.0], "v": ["x"]}}, ArgumentError, r"y0\['v'\] must be an array of numbers"),
        ({"y0": {"q": [[1.0]] * 2, "v": [[1.0]] * 3}}, ArgumentError, "batch axes of the parts do not broadcast: q"),
        ({"times": [0.0]}, ArgumentError, r"times has shape \(1,\); expected \(K,\) with at least two times"),
        ({"times": [0.0, 1.0, 1.0]}, ArgumentError, "all increasing or all decreasing"),
        ({"times": [0.0, np.inf]}, ArgumentError, "times must be finite"),
        ({"times": "now"}, ArgumentError, "times must be an array of numbers"),
        ({"integrator": "rk5"}, UnknownNameError, "there is no integrator 'rk5'. Did you mean 'rk4'"),
        ({"integrator": Within(rtol=-1.0)}, ArgumentError, "rtol must be from 0 to 1"),
        ({"integrator": Within(rtol="small")}, ArgumentError, "rtol must be a number"),
        ({"integrator": Within(atol=[1.0, 2.0, 3.0])}, ArgumentError, r"an array of shape \(2,\)"),
        ({"integrator": Within(rtol=0.0, atol=[1e-6, 0.0])}, ArgumentError, "both 0 for a component"),
        ({"max_steps": 0}, ArgumentError, "max_steps must be a positive whole number"),
        ({"integrator": Steps("rk4", 2.5)}, ArgumentError, "count must be a positive whole number"),
        ({"parameters": ["x"]}, ArgumentError, r"parameter parameters\[0\] must be a number or an array"),
        (
            {"parameters": [[1.0, 2.0]], "y0": [[1.0, 0.0]] * 3},
            ArgumentError,
            r"do not broadcast: y0 \(3,\), parameters",
        ),
    ],
)
def test_bad_arguments_are_named(change: dict[str, Any], error: type, message: str) -> None:
    arguments: dict[str, Any] = {"function": pendulum, "y0": [1.0, 0.0], "times": TIMES}
    with pytest.raises(error, match=message):
        ch.integrate(**(arguments | change))


def test_an_empty_batch_is_empty() -> None:
    run = ch.integrate(pendulum, np.zeros((0, 2)), TIMES)
    assert run.y.shape == (0, 31, 2)
    assert run.success.shape == (0,)
    assert ch.integrate(pendulum, np.zeros((0, 2)), TIMES, integrator="rk4").y.shape == (0, 31, 2)


def test_results_and_methods_pickle() -> None:
    run = pickle.loads(pickle.dumps(ch.integrate(pendulum, [2.0, 0.0], TIMES, dense=True)))
    assert run(1.0).shape == (2,)
    assert pickle.loads(pickle.dumps(RODAS5P)) == RODAS5P


@pytest.mark.parametrize("method", ["dormand-prince", "rodas5p", "rk4"])
def test_without_a_compiler_it_is_the_same(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    y0, times = np.array([[2.0, 0.0], [0.5, 1.0], [1.0, -1.0]]), np.linspace(0.0, 1.0, 5)
    options: dict[str, Any] = {"integrator": Steps("rk4", 10) if method == "rk4" else method, "max_steps": 80}
    options["parameters"] = [[0.5, 1.0, 2.0]]
    compiled_run = ch.integrate(pendulum, y0, times, **options)
    monkeypatch.setenv("CHASLES_JIT", "0")
    compiled._kept.clear()
    plain = ch.integrate(pendulum, y0, times, **options)
    compiled._kept.clear()
    # Steps follow estimates of errors, in which rounding shows.
    np.testing.assert_allclose(plain.y, compiled_run.y, rtol=1e-7)
    np.testing.assert_array_equal(plain.steps, compiled_run.steps)


SHARE = {"end": 0.5}


@dataclass(frozen=True)
class Averaged:
    """Heun's method, or another one where its global differs."""

    name = "averaged"
    order, embedded_order, stages, implicit = 2, None, 2, False

    def step(self, f: Any, t: Any, y: Any, h: Any) -> Step:
        k = f(t, y)
        return Step(y + h * ((1.0 - SHARE["end"]) * k + SHARE["end"] * f(t + h, y + h * k)))


def test_loops_of_a_users_method_are_kept_until_it_computes_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    def end() -> float:
        return float(
            ch.integrate(pendulum, [2.0, 0.0], [0.0, 0.5], integrator=ch.integrators.Steps(Averaged(), 5)).y[-1, 0]
        )

    compiled._kept.clear()
    first = end()
    assert end() == first
    assert len(compiled._kept) == 1
    monkeypatch.setitem(SHARE, "end", 0.0)  # Euler's
    euler = float(ch.integrate(pendulum, [2.0, 0.0], [0.0, 0.5], integrator=ch.integrators.Steps("euler", 5)).y[-1, 0])
    assert end() == pytest.approx(euler, rel=1e-12)
    assert abs(end() - first) > 1e-4
