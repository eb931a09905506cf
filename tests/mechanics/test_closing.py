"""Searches for closed configurations: the same found singly and in batches, closed as the links' lengths demand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.cpu_time import cpu_time_limit
from tests.oracles.closed_machines import MACHINES

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.mechanics.closing import WORTH_COMPILING


@pytest.mark.slow
@pytest.mark.parametrize("name", ["slider-crank", "3-RRR", "Stewart by pose", "leg"])
def test_a_batch_finds_what_single_searches_find(name: str) -> None:
    robot = ch.Robot(MACHINES[name]())
    rng = np.random.default_rng(8)
    tree = robot.edit.without_loops()
    guesses = tree.integrate(robot.home, 0.3 * rng.normal(size=(WORTH_COMPILING + 6, tree.n)))
    singly = robot.loops.close(guesses[:6])
    together = robot.loops.close(guesses)
    residual = np.asarray(robot.loops.constraints(together.q).residual)
    assert np.abs(residual).max(axis=-1) == pytest.approx(together.gap, abs=1e-15)
    assert np.array_equal(together.success[:6], singly.success)
    assert together.success.mean() > 0.9
    np.testing.assert_allclose(together.q[:6][singly.success], singly.q[singly.success], atol=1e-12)


def test_batches_hold_joints_and_keep_lengths() -> None:
    """The rocker's end and the coupler's are the same point, by complex numbers; what is held does not move."""
    robot = ch.Robot(MACHINES["four-bar"]())
    rng = np.random.default_rng(1)
    guesses = robot.home + 0.5 * rng.normal(size=(100, 3))
    found = robot.loops.close(guesses, hold=["motor"])
    assert found.success.all()
    crank, knee, swing = found.q.T
    assert np.array_equal(crank, guesses[:, 0])
    coupler_end = 0.2 * np.exp(1j * crank) + 0.5 * np.exp(1j * (crank + knee))
    assert coupler_end == pytest.approx(0.6 + 0.4 * np.exp(1j * swing), abs=1e-10)


def test_out_of_reach_in_a_batch_is_said_of_each() -> None:
    rod: dict[str, Any] = {"T_first_joint": [0.75, 0.3, 0.0], "length": 0.3}
    robot = ch.load("planar2r").with_loop("rod", "rod", "link0", "tool", **rod)
    guesses = np.column_stack([np.linspace(0.0, -2.5, 80), np.full(80, -0.5)])
    found = robot.loops.close(guesses, hold=["joint1"])
    elbow = 0.5 * np.exp(1j * guesses[:, 0])
    reachable = np.abs(elbow - (0.75 + 0.3j)) < 0.25 + 0.3
    clear = np.abs(np.abs(elbow - (0.75 + 0.3j)) - 0.55) > 1e-3
    assert np.array_equal(found.success[clear], reachable[clear])
    assert "stays open" in found.message


def test_random_configurations_are_closed_and_guesses_are_numbers() -> None:
    robot = ch.Robot(MACHINES["five-bar"]())
    q = robot.random_configuration(3, (70,))
    assert np.abs(np.asarray(robot.loops.constraints(q).residual)).max() < 1e-9
    with pytest.raises(ArgumentError):
        robot.loops.close(np.full((70, robot.nq), np.nan))


@pytest.mark.parametrize("name", ["four-bar", "palletiser"])
def test_many_configurations_of_a_linkage_take_no_time(name: str) -> None:
    robot = ch.Robot(MACHINES[name]())
    with cpu_time_limit(5.0, "20,000 closed configurations, compiled"):
        q = robot.random_configuration(0, (20_000,))
    assert np.abs(np.asarray(robot.loops.constraints(q).residual)).max() < 1e-9


def test_loops_are_counted_and_empty_without_any() -> None:
    assert not ch.load("planar2r").loops
    rod = {"T_first_joint": [0.75, 0.3, 0.0], "length": 0.3}
    assert len(ch.load("planar2r").with_loop("rod", "rod", "link0", "tool", **rod).loops) == 1
