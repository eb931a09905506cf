"""Model predictive control against the Riccati equation, limits, delays, loads and failures."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
from scipy.linalg import solve_discrete_are
from tests.control.optimal.robots import cart_pole, gantry
from tests.oracles.turned_loops import drawn_arm

import chasles as ch
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.control import ModelPredictive, PredictiveTracking
from chasles.control.linear_model import discretize
from chasles.control.linear_quadratic import bryson_weights, discrete_riccati, frequency_weights
from chasles.control.now import Now
from chasles.control.optimal import OptimalControl, Residual, predictive, residuals
from chasles.engine.running.runner import Runner

PERIOD, INERTIA = 0.1, np.array([5.0, 2.0])
WEIGHTS_Q, WEIGHTS_R = np.array([3.0, 1.0, 0.5, 0.2]), np.array([0.1, 0.4])
A = np.block([[np.eye(2), PERIOD * np.eye(2)], [np.zeros((2, 2)), np.eye(2)]])
B = np.concatenate([0.5 * PERIOD**2 * np.diag(1.0 / INERTIA), PERIOD * np.diag(1.0 / INERTIA)])


def regulated(**options: object) -> tuple[OptimalControl, np.ndarray]:
    """Regulation of the gantry over 1.2 s with the stationary cost at the end, and the stationary gains."""
    Q, R = PERIOD * np.diag(WEIGHTS_Q), PERIOD * np.diag(WEIGHTS_R)
    P = solve_discrete_are(A, B, Q, R)
    root = np.linalg.cholesky(P).T

    def end(q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return root @ np.concatenate([q, qd])

    problem = OptimalControl(
        gantry(),
        duration=1.2,
        nodes=12,
        running=[
            Residual(lambda q: q, weight=WEIGHTS_Q[:2]),
            Residual(lambda qd: qd, weight=WEIGHTS_Q[2:]),
            WEIGHTS_R * residuals.torque(),
        ],
        final=[end],
        **({"limits": ()} | options),
    )
    return problem, np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)


def states(run: ch.simulation.Run) -> np.ndarray:
    return np.concatenate([run.q.values, run.qd.values], axis=-1)


def test_without_limits_a_linear_plant_gets_the_stationary_regulator() -> None:
    problem, K = regulated()
    run = ch.simulate(gantry(), ModelPredictive(problem, iterations=1), duration=2.0, start=[1.0, -2.0], period=PERIOD)
    np.testing.assert_allclose(run.tau.values, -states(run) @ K.T, atol=1e-11)


def test_limits_hold_where_the_regulator_exceeds_them() -> None:
    limit = 3.0
    problem, K = regulated(limits={"torque": limit, "velocity": 0.8})
    run = ch.simulate(gantry(), ModelPredictive(problem), duration=8.0, start=[1.0, -2.0], period=PERIOD)
    assert np.abs(states(run) @ K.T).max() > 1.5 * limit
    assert np.abs(run.tau).max() <= limit
    assert np.abs(run.qd).max() <= 0.8 + 1e-6
    assert np.abs(run.q.values[-1]).max() < 0.05
    assert "failed-solve" not in [finding.rule.code for finding in run.findings]


def test_one_iteration_a_call_follows_many_at_limits_with_nodes_many_periods_apart() -> None:
    """Slacks and multipliers that go on from call to call let steps of Newton be taken whole."""
    arm = ch.load("planar2r")
    problem = OptimalControl(
        arm,
        duration=0.4,
        nodes=10,
        running=[10.0 * residuals.position("goal"), residuals.velocity(), 1e-2 * residuals.torque()],
        final=[100.0 * residuals.position("goal")],
        limits={"torque": 45.0, "velocity": 0.8},
    )
    once, often = (
        ch.simulate(
            arm,
            ModelPredictive(problem, goal=[1.4, 0.9], iterations=iterations),
            duration=0.6,
            start=[0.8, 0.4],
            period=5e-3,
        )
        for iterations in (1, 30)
    )
    assert abs(often.qd.values).max() > 0.78
    np.testing.assert_allclose(once.q.values, often.q.values, atol=2e-3)
    np.testing.assert_allclose(once.qd.values, often.qd.values, atol=2e-2)


@pytest.mark.parametrize("delay", [0.5, 1.0, 1.6])
def test_a_known_delay_leaves_the_regulator_of_the_state_in_which_torques_act(delay: float) -> None:
    problem, K = regulated()
    plant, late = ch.Plant(gantry(), delay=delay * PERIOD), int(np.ceil(delay))
    law = ModelPredictive(problem, iterations=1, delay=delay)
    run = ch.simulate(plant, law, duration=1.2, start=[1.0, -2.0], period=PERIOD)
    tau, x = run.tau.values, states(run)
    for k in range(4, 12):
        ahead = x[k]
        for back in range(late, 0, -1):
            held = (delay - (late - 1)) * PERIOD if back == late else PERIOD
            drift = np.concatenate([ahead[:2] + held * ahead[2:], ahead[2:]])
            ahead = drift + np.concatenate([0.5 * held**2 * tau[k - back], held * tau[k - back]]) / np.tile(INERTIA, 2)
        np.testing.assert_allclose(tau[k], -K @ ahead, atol=1e-9)


def test_a_known_delay_leaves_velocity_limits_kept_from_the_first_call() -> None:
    problem, _ = regulated(limits={"torque": 3.0, "velocity": 0.5})
    law = ModelPredictive(problem, delay=1.0)
    run = ch.simulate(ch.Plant(gantry(), delay=PERIOD), law, duration=4.0, start=[1.0, -2.0], period=PERIOD)
    assert 0.45 < np.abs(run.qd).max() <= 0.5 + 1e-6


def test_an_unknown_load_leaves_no_error_with_an_observer() -> None:
    """A payload of 3 kg on the planar arm, held in gravity at torques within the limits."""
    arm, goal = ch.load("planar2r"), [0.3, 0.4]
    hold = OptimalControl(
        arm,
        duration=0.3,
        nodes=15,
        running=[1e3 * residuals.position("goal"), 5.0 * residuals.velocity(), 1e-3 * residuals.torque()],
        limits={"torque": 150.0},
    )
    errors = []
    for observer in (0.0, 20.0):
        law = ModelPredictive(hold, goal=goal, observer=observer)
        run = ch.simulate(arm.with_payload(3.0), law, duration=1.5, start=goal, period=0.02)
        needed = arm.with_payload(3.0).gravity_torque(run.q.values[-1])
        np.testing.assert_allclose(run.tau.values[-1], needed, atol=0.05 * np.abs(needed).max())
        errors.append(np.abs(run.q.values[-1] - goal).max())
    assert errors[0] > 0.02
    assert errors[1] < 0.03 * errors[0] + 1e-3


@pytest.mark.slow
def test_a_cart_swings_its_pole_up_from_rest() -> None:
    """Over a horizon that is long enough, with a force and on a track that allow no swing-up at once."""
    upright = np.array([0.0, np.pi])
    problem = OptimalControl(
        cart_pole(),
        duration=1.5,
        nodes=50,
        running=[0.01 * residuals.torque(), 0.1 * residuals.velocity(), [1.0, 10.0] * residuals.position("goal")],
        final=[[10.0, 300.0] * residuals.position("goal"), 10.0 * residuals.velocity()],
        limits={"torque": 20.0, "position": None},
    )
    law = ModelPredictive(problem, goal=upright)
    run = ch.simulate(cart_pole(), law, duration=4.0, start=[0.0, 0.0], period=0.03)
    assert np.abs(run.q.values[-1] - upright).max() < 0.02
    assert np.abs(run.tau).max() <= 20.0
    assert np.abs(run.q.values[:, 0]).max() <= 2.0


def test_a_batch_is_as_its_runs_alone() -> None:
    problem, _ = regulated(limits={"torque": 3.0})
    law = ModelPredictive(problem)
    starts = np.array([[1.0, -2.0], [0.5, 0.1]])
    together = ch.simulate(gantry(), law, duration=0.5, start=starts, period=PERIOD)
    for start, run in zip(starts, together.tau.values, strict=True):
        alone = ch.simulate(gantry(), law, duration=0.5, start=start, period=PERIOD)
        np.testing.assert_array_equal(alone.tau.values, run)


def test_the_last_plan_stands_in_for_solves_that_fail() -> None:
    """On a linear plant without limits the plan's gains are the regulator's, so that nothing changes."""

    class Spoiled(ModelPredictive):
        def law(self, now: Now) -> Any:
            if now.memory.calls > 3.0:
                now.memory.scale = np.array(np.nan)
            return super().law(now)

    problem, K = regulated()
    run = ch.simulate(gantry(), Spoiled(problem), duration=0.8, start=[1.0, -2.0], period=PERIOD)
    np.testing.assert_allclose(run.tau.values, -states(run) @ K.T, atol=1e-9)
    (finding,) = [found for found in run.findings if found.rule.code == "failed-solve"]
    assert finding.value == run.sizes["time"] - 4


def test_no_call_after_the_first_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a delay, a load and steps that a plant twice as heavy refuses."""
    calls, compiled = [0], []

    class Counting(ModelPredictive):
        inside = False

        def law(self, now: Now) -> Any:
            calls[0] += 1
            Counting.inside = True
            tau = super().law(now)
            Counting.inside = False
            return tau

    def note(method: str) -> None:
        plainly = getattr(Runner, method)

        def noting(self: Runner, given: Any) -> Any:
            if Counting.inside:
                compiled.append((calls[0], self.program.name))
            return plainly(self, given)

        monkeypatch.setattr(Runner, method, noting)

    note("compile")
    note("loop")
    problem, _ = regulated(limits={"torque": 3.0, "velocity": 0.8})
    law = Counting(problem, delay=0.5, observer=5.0)
    ch.simulate(gantry().with_payload(2.0), law, duration=3.0, start=[1.0, -2.0], period=PERIOD)
    assert {call for call, _ in compiled} == {1}
    assert {"press", "restore", "gauss_newton", "rollout"} <= {name for _, name in compiled}


def test_late_solves_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(np.arange(1000) * 0.06)  # two readings a call: each takes 60 ms
    monkeypatch.setattr(predictive, "perf_counter", lambda: float(next(clock)))
    problem, _ = regulated()
    slow = ch.simulate(gantry(), ModelPredictive(problem), duration=0.5, start=[1.0, -2.0], period=0.05)
    (finding,) = slow.findings
    calls = slow.sizes["time"]
    assert (finding.rule.code, finding.value) == ("late-solve", calls - 1)
    assert "longest 60 ms" in str(finding)
    assert not ch.simulate(gantry(), ModelPredictive(problem), duration=0.5, start=[1.0, -2.0], period=PERIOD).findings


def test_tracking_keeps_torque_limits_where_a_regulator_leaves_the_motion() -> None:
    """A motion that needs more torque than there is: feedback overshoots, and the plan looks ahead."""
    arm = ch.load("planar2r")
    motion = ch.PointToPoint([-1.2, 0.2], [0.4, 0.6], duration=0.6)
    limit = 0.9 * np.abs(arm.inverse_dynamics(*motion(np.linspace(0.0, 0.6, 100)))).max(axis=0)
    law = PredictiveTracking(arm, limits={"torque": limit})
    run = ch.simulate(arm, law, motion, duration=1.0, period=0.02)
    assert (np.abs(run.tau) <= limit).all()
    assert np.abs(run.error.values[-1]).max() < 0.01


def test_bad_input() -> None:
    problem, _ = regulated()
    named = OptimalControl(gantry(), duration=1.0, nodes=5, running=[residuals.position("goal"), residuals.torque()])
    with pytest.raises(ArgumentError, match="the residuals take the value 'goal'; give goal="):
        ModelPredictive(named)
    with pytest.raises(UnknownNameError, match="value"):
        ModelPredictive(named, goal=[0.0, 0.0], aim=[0.0, 0.0])
    with pytest.raises(ArgumentError, match="goal"):
        ModelPredictive(named, goal=[0.0, np.nan])
    with pytest.raises(ArgumentError, match=r"problem must be a chasles\.OptimalControl"):
        ModelPredictive(gantry())  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="iterations"):
        ModelPredictive(problem, iterations=0)
    with pytest.raises(ArgumentError, match=r"the period of 2 s is longer than the problem's horizon of 1.2 s"):
        ch.simulate(gantry(), ModelPredictive(problem), duration=4.0, start=[0.0, 0.0], period=2.0)
    with pytest.raises(ArgumentError, match="no rule gives the gains of PredictiveTracking"):
        PredictiveTracking.tuned(gantry(), ch.PointToPoint([0.0, 0.0], [1.0, 0.0], 1.0), PERIOD)


def test_it_is_no_program_of_one_call() -> None:
    """Its iterations are a schedule of many, which C code has and other exports do not."""
    with pytest.raises(ArgumentError, match="model predictive control' is plain Python"):
        ch.control.law_program(ModelPredictive(regulated()[0]), ch.PointToPoint(2 * [0.0], 2 * [1.0], 1.0), period=0.1)


@pytest.mark.slow
def test_an_estimated_load_leaves_the_error_of_the_exact_model() -> None:
    """A cost on torques leaves an error against gravity, which a payload that is estimated does not change."""
    arm = ch.load("planar2r")
    running = [1e3 * residuals.position("goal"), 10.0 * residuals.velocity(), 1e-2 * residuals.torque()]
    hold = ch.OptimalControl(arm, duration=0.4, nodes=20, running=running, limits={"torque": 200.0})
    plants = {0.0: arm, 20.0: arm.with_payload(1.0)}
    ends = []
    for observer, plant in plants.items():
        law = ch.ModelPredictive(hold, goal=[1.0, 0.5], observer=observer)
        run = ch.simulate(plant, law, duration=1.5, start=[0.8, 0.4], period=0.02, progress=False)
        ends.append(run.q.isel(time=-1).values - [1.0, 0.5])
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-5)
    assert ends[0][0] > 0.01


@pytest.mark.slow
@pytest.mark.parametrize("seed", [4, 11])
def test_tracking_without_limits_is_nearly_the_regulator_along_the_motion(seed: int) -> None:
    """From beside the motion of a drawn arm, with the same weights: errors and corrections of the torques agree."""
    arm = drawn_arm(seed, 2)
    motion, plant = ch.PointToPoint(arm.home, arm.home + 0.5, 0.6), ch.Plant(arm, effort_limits=False)
    weights = bryson_weights(arm, position_error=0.01, velocity_error=0.5)
    laws = (
        PredictiveTracking(arm, horizon=0.4, nodes=20, limits=()),
        ch.control.TimeVaryingRegulator(arm, Q=weights.Q, R=weights.R),
    )
    here, there = (
        ch.simulate(plant, law, motion, period=0.02, duration=0.8, start=arm.home + 0.03).error.values for law in laws
    )
    np.testing.assert_allclose(here, there, atol=0.02 * np.abs(there).max())


def test_with_the_weights_of_a_regulator_the_first_gains_are_its_own() -> None:
    """With nodes a period apart and a horizon of eight time constants, on the model of a drawn arm at rest."""
    arm, period = drawn_arm(5, 2), 0.01
    rest = ch.PointToPoint(arm.home, arm.home + 1e-9, 1.0)
    weights = frequency_weights(arm.mass_matrix(arm.home), 20.0, 1.1, period=period)
    model = discretize(*arm.linearize(arm.home, np.zeros(2), arm.gravity_torque(arm.home)), period)
    K = discrete_riccati(*model, weights.Q, weights.R).K
    law = PredictiveTracking(arm, horizon=0.4, nodes=40, weights=weights, limits=())
    start, memory = rest(0.0), ch.engine.Record({name: np.array(part) for name, part in law.memory.items()})
    times = period * np.arange(2.0)
    law.law(Now(0.0, start.q, start.qd, start, memory, period, law.schedule(times, rest(times))[0]))
    np.testing.assert_allclose(memory.gains[0], K, atol=2e-3 * np.abs(K).max())


def test_problems_that_nobody_needs_any_more_take_their_arrays_with_them() -> None:
    problem, _ = regulated()
    problem.solve([1.0, 0.0])
    ch.simulate(gantry(), ModelPredictive(problem), duration=0.2, start=[1.0, -2.0], period=PERIOD)
    left = weakref.ref(problem), weakref.ref(problem.rows.stage)
    del problem
    gc.collect()
    assert [each() for each in left] == [None, None]
