"""Any trajectory is a reference: evaluated beforehand it gives the run that the same motion gives traced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.simulation import UncompiledWarning, call_inputs
from chasles.trajectories import CartesianTrajectory, JointTrajectory, Motion, PiecewisePolynomial, PoseMotion

ARM = ch.load("planar2r")
CONTROLLER = ch.ComputedTorque(ARM, kp=400.0, kd=40.0)
START, GOAL, DURATION = np.array([0.1, -0.2]), np.array([1.0, 0.5]), 0.5
TRACED = ch.PointToPoint(START, GOAL, DURATION)
SPRINGS, DAMPERS = np.array([50.0, 5.0]), np.array([10.0, 0.5])
RECORDED = ("q", "qd", "tau", "q_reference", "qd_reference")


def quintic(start: Any, goal: Any, *, begin: float = 0.0) -> PiecewisePolynomial:
    """The motion of `PointToPoint` as a piecewise polynomial, over leading batch axes."""
    start, goal = np.broadcast_arrays(start, goal)
    coefficients = np.zeros((*start.shape[:-1], 1, 6, start.shape[-1]))
    coefficients[..., 0, 0, :] = start
    for power, factor in ((3, 10.0), (4, -15.0), (5, 6.0)):
        coefficients[..., 0, power, :] = factor * (goal - start) / DURATION**power
    return PiecewisePolynomial([begin, begin + DURATION], coefficients)


def assert_same(run: Any, expected: Any) -> None:
    for name in RECORDED:
        np.testing.assert_allclose(run[name].values, expected[name].values, atol=1e-11, err_msg=name)


def test_no_runs_are_refused() -> None:
    with pytest.raises(ArgumentError, match="no runs to simulate: the batch of the motion"):
        ch.simulate(ARM, CONTROLLER, ch.PointToPoint(START, np.empty((0, 2)), DURATION))
    with pytest.raises(ArgumentError, match="no runs to simulate: the batch of start and varied values"):
        ch.simulate(ARM, CONTROLLER, TRACED, vary={"payload.mass": []})


def test_sampled_and_traced_references_give_the_same_run() -> None:
    options = {
        "vary": {"payload.mass": [0.0, 2.0]},
        "start": START + 0.05,
        "record": ch.Recording(every=3),
        "duration": 0.7,
    }
    run = ch.simulate(ARM, CONTROLLER, quintic(START, GOAL), **options)
    assert_same(run, ch.simulate(ARM, CONTROLLER, TRACED, **options))
    np.testing.assert_allclose(run.q_reference.values[:, -1], [GOAL, GOAL], atol=1e-15)
    np.testing.assert_array_equal(run.qd_reference.values[:, -1], 0.0)  # it rests after its end


@pytest.mark.parametrize("integrator", ["rk4", "DOP853"])
def test_so_they_do_step_by_step(integrator: str) -> None:
    def law(now: ch.control.Now) -> Any:
        stiffness = 1.0 if now.t > 0.02 else 0.5  # a plain law: it cannot be traced
        return (
            stiffness * SPRINGS * (now.reference.q - now.q) + DAMPERS * (now.reference.qd - now.qd) + now.reference.qdd
        )

    options = {"period": 0.01, "integrator": integrator, "record": ch.Recording(every=2)}
    with pytest.warns(UncompiledWarning):
        run = ch.simulate(ARM, law, quintic(START, GOAL), **options)
    with pytest.warns(UncompiledWarning):
        assert_same(run, ch.simulate(ARM, law, TRACED, **options))


def test_a_compiled_law_under_a_variable_step() -> None:
    options = {"period": 0.01, "integrator": "RK45"}
    run = ch.simulate(ARM, CONTROLLER, quintic(START, GOAL), **options)
    assert_same(run, ch.simulate(ARM, CONTROLLER, TRACED, **options))


def test_the_run_starts_in_the_motion_of_the_reference() -> None:
    moving = PiecewisePolynomial([0.0, 1.0], [[[0.3, -0.1], [1.0, -2.0], [0.5, 0.5]]])
    run = ch.simulate(ARM, CONTROLLER, moving, duration=0.1)
    np.testing.assert_array_equal(run.q.values[0], [0.3, -0.1])
    np.testing.assert_array_equal(run.qd.values[0], [1.0, -2.0])
    t = run.time.values[:, None]
    line, slope, half = moving.coefficients[0]
    np.testing.assert_allclose(run.q_reference, line + slope * t + half * t**2, atol=1e-15)


def test_the_clock_of_the_run_is_that_of_the_reference() -> None:
    seen = []

    def law(now: ch.control.Now) -> Any:
        seen.append(float(now.t))  # refuses to be traced
        return SPRINGS * (now.reference.q - now.q) - DAMPERS * now.qd

    late = ch.simulate(ARM, CONTROLLER, quintic(START, GOAL, begin=2.5))
    now = ch.simulate(ARM, CONTROLLER, quintic(START, GOAL))
    np.testing.assert_allclose(late.time, 2.5 + now.time.values, rtol=1e-15)
    np.testing.assert_allclose(late.q, now.q, atol=1e-11)
    assert late.sizes["time"] == now.sizes["time"] == 501
    with pytest.warns(UncompiledWarning):
        ch.simulate(ARM, law, quintic(START, GOAL, begin=2.5), period=0.01)
    assert seen[0] == 2.5


def test_a_batch_of_trajectories_is_a_batch_of_runs() -> None:
    goals = np.array([[1.0, 0.5], [-1.0, 0.2], [0.3, 0.3]])
    run = ch.simulate(
        ARM, CONTROLLER, quintic(START, goals), vary={"payload.mass": [[0.0], [2.0]]}, record=ch.Recording(every=7)
    )
    assert run.q.dims == ("run_0", "run_1", "time", "joint")
    assert run.q.shape[:2] == (2, 3)
    for k, goal in enumerate(goals):
        single = ch.simulate(
            ARM, CONTROLLER, quintic(START, goal), vary={"payload.mass": 2.0}, record=ch.Recording(every=7)
        )
        for name in RECORDED:
            np.testing.assert_array_equal(run[name].values[1, k], single[name].values)
    with pytest.raises(ArgumentError, match="batch axes of start, varied parameters and motion"):
        ch.simulate(ARM, CONTROLLER, quintic(START, goals), vary={"payload.mass": [0.0, 1.0]})


@pytest.mark.filterwarnings("ignore::chasles.simulation.UncompiledWarning")
def test_batches_step_by_step() -> None:
    goals = np.array([[[1.0, 0.5]], [[-1.0, 0.2]]])

    def law(now: ch.control.Now) -> Any:
        return SPRINGS * (now.reference.q - now.q) - DAMPERS * now.qd if float(now.t) < 0.3 else 0.0 * now.q

    run = ch.simulate(ARM, law, quintic(START, goals), period=0.01, record=ch.Recording(every=4))
    assert run.q.shape[:2] == (2, 1)
    for k in range(2):
        single = ch.simulate(ARM, law, quintic(START, goals[k, 0]), period=0.01, record=ch.Recording(every=4))
        np.testing.assert_array_equal(run.q.values[k, 0], single.q.values)


@pytest.mark.parametrize("held", [1, 60, 100, 3000])
def test_parts_join_without_a_seam(held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    goals = np.array([[1.0, 0.5], [-1.0, 0.2]])
    whole = ch.simulate(ARM, CONTROLLER, quintic(START, goals), record=ch.Recording(every=10))
    monkeypatch.setattr(call_inputs, "_HELD", held)
    for progress in (False, True):
        parts = ch.simulate(ARM, CONTROLLER, quintic(START, goals), record=ch.Recording(every=10), progress=progress)
        for name in RECORDED:
            np.testing.assert_array_equal(parts[name], whole[name])


class Delayed(JointTrajectory):
    """One joint after another time, each of a batch at its own: position t - begin."""

    n = 2

    def __init__(self, begin: Any) -> None:
        begin = np.asarray(begin, dtype=float)
        self.knots, self.batch = np.stack([begin, begin + 1.0], axis=-1), begin.shape

    def derivatives(self, t: Any) -> tuple[Any, Any, Any, Any]:
        u = t - self.knots[..., 0]
        q, qd = np.clip(u, 0.0, 1.0), ((u >= 0.0) & (u <= 1.0)).astype(float)
        return tuple(np.stack([part, part], axis=-1) for part in (q, qd, 0.0 * q, 0.0 * q))


def test_a_batch_may_start_and_end_at_different_times() -> None:
    run = ch.simulate(ARM, CONTROLLER, Delayed([0.5, 1.0, 0.75]), period=0.25 / 8, record=ch.Recording(every=8))
    np.testing.assert_array_equal(run.time, 0.5 + 0.25 * np.arange(7))
    expected = np.clip(run.time.values - np.array([[0.5], [1.0], [0.75]]), 0.0, 1.0)
    np.testing.assert_allclose(run.q_reference.values, np.stack([expected, expected], axis=-1), atol=1e-15)
    np.testing.assert_array_equal(run.qd.values[:, 0], [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]])


class Line:
    """A reference with a formula: slope times (t - begin)."""

    duration = 0.2

    def __init__(self, start_time: float) -> None:
        self.start_time = start_time
        self.parameters = {"slope": np.array([1.0, 2.0])}

    def motion(self, t: Any, parameters: Any) -> Motion:
        slope = parameters["slope"]
        return Motion(slope * (t - self.start_time) + 0.1 * slope, slope + 0.0 * t, 0.0 * slope)


def test_varied_references_start_where_each_of_them_does() -> None:
    slopes = np.array([[1.0, 2.0], [3.0, 4.0], [0.0, 0.0]])
    run = ch.simulate(ARM, CONTROLLER, Line(1.5), vary={"reference.slope": slopes})
    assert float(run.time[0]) == 1.5
    np.testing.assert_allclose(run.q.values[:, 0], 0.1 * slopes, atol=1e-15)
    np.testing.assert_allclose(run.qd.values[:, 0], slopes, atol=1e-15)
    assert float(np.abs(run.error).max()) < 1e-3


class Still(CartesianTrajectory):
    knots = np.array([0.0, 1.0])

    def pose_motion(self, t: Any) -> PoseMotion:
        raise NotImplementedError


def test_what_moves_no_joints_of_this_robot_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"Still moves a frame in space.*chasles\.follow\(robot, trajectory\)"):
        ch.simulate(ARM, CONTROLLER, Still())
    with pytest.raises(ArgumentError, match="the reference moves 3 joints, but robot 'planar2r' has 2"):
        ch.simulate(ARM, CONTROLLER, quintic(np.zeros(3), np.ones(3)))
    with pytest.raises(UnknownNameError, match=r"reference\.goal"):
        ch.simulate(ARM, CONTROLLER, quintic(START, GOAL), vary={"reference.goal": GOAL})
