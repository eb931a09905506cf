"""Numbers that a controller computes for every call before the run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.simulation import UncompiledWarning, call_inputs

ARM = ch.load("planar2r")
MOTION = ch.PointToPoint([0.0, 0.1], [1.0, -0.5], 0.2)


class Scheduled(ch.control.Controller):
    """Torques that its schedule holds: a matrix times the planned motion, and the time."""

    name = "scheduled"

    def __init__(self) -> None:
        self.calls: list[tuple[np.ndarray, Any]] = []

    def schedule(self, times: np.ndarray, motion: Any) -> np.ndarray:
        self.calls.append((times, motion))
        both = np.stack([motion.q, motion.qdd], axis=-1)  # (k, 2, 2)
        return np.concatenate([both, np.repeat(times[:, None, None], 2, axis=1)], axis=-1)

    def law(self, now: ch.control.Now) -> Any:
        row = now.schedule
        assert row.shape == (2, 3)
        return row[:, 0] + 0.1 * row[:, 1] + 10.0 * (row[:, 2] - now.t) - 5.0 * now.qd


def expected(run: Any) -> np.ndarray:
    """The torques with the motion at the very calls that are recorded."""
    motion = MOTION(run.time.values)
    return motion.q + 0.1 * motion.qdd - 5.0 * run.qd.values


@pytest.mark.parametrize("held", [4_000_000, 50, 1])
def test_each_row_arrives_at_its_call(held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_inputs, "_HELD", held)
    controller = Scheduled()
    run = ch.simulate(ARM, controller, MOTION, record=ch.Recording(every=3))
    np.testing.assert_allclose(run.tau, expected(run), atol=1e-12)
    times, motion = controller.calls[0]
    np.testing.assert_allclose(times, 1e-3 * np.arange(times.size), atol=1e-15)
    assert motion.q.shape == (times.size, 2)
    assert len(controller.calls) == 1


@pytest.mark.parametrize("integrator", ["rk4", "RK45"])
def test_so_it_does_step_by_step(integrator: str) -> None:
    class Untraced(Scheduled):
        def law(self, now: ch.control.Now) -> Any:
            float(now.t)
            return super().law(now)

    with pytest.warns(UncompiledWarning):
        run = ch.simulate(ARM, Untraced(), MOTION, integrator=integrator, period=0.01)
    np.testing.assert_allclose(run.tau, expected(run), atol=1e-12)


def test_varied_references_have_a_schedule_each() -> None:
    goals = np.array([[1.0, -0.5], [0.2, 0.3], [0.0, 0.0]])
    controller = Scheduled()
    run = ch.simulate(ARM, controller, MOTION, vary={"reference.goal": goals, "payload.mass": [[0.0], [1.0]]})
    assert run.q.shape[:2] == (2, 3)
    assert len(controller.calls) == 3
    for k, goal in enumerate(goals):
        single = ch.simulate(ARM, Scheduled(), ch.PointToPoint([0.0, 0.1], goal, 0.2), vary={"payload.mass": 1.0})
        np.testing.assert_allclose(run.tau[1, k], single.tau, atol=1e-12)
        np.testing.assert_allclose(run.q[1, k], single.q, atol=1e-12)


def test_batches_of_trajectories_have_a_schedule_each() -> None:
    waypoints = np.array([[[0.0, 0.0], [0.5, -0.3]], [[0.1, 0.0], [0.2, 0.6]]])
    coefficients = np.zeros((2, 1, 4, 2))
    coefficients[:, 0, 0], coefficients[:, 0, 3] = waypoints[:, 0], waypoints[:, 1] - waypoints[:, 0]
    from chasles.trajectories import PiecewisePolynomial

    controller = Scheduled()
    run = ch.simulate(ARM, controller, PiecewisePolynomial([0.0, 0.2], coefficients))
    assert len(controller.calls) == 2
    for k in range(2):
        single = ch.simulate(ARM, Scheduled(), PiecewisePolynomial([0.0, 0.2], coefficients[k]))
        np.testing.assert_array_equal(run.tau[k], single.tau)


def test_a_schedule_of_another_length_is_refused() -> None:
    class Short(Scheduled):
        def schedule(self, times: np.ndarray, motion: Any) -> np.ndarray:
            return np.zeros((times.size - 1, 2))

    with pytest.raises(ArgumentError, match=r"schedule of controller 'scheduled' has shape \(200, 2\) instead of"):
        ch.simulate(ARM, Short(), MOTION)
