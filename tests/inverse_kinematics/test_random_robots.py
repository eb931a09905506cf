"""Arms that nobody designed: whatever their shape, a reachable target is reached, and no claim is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from tests.oracles.random_robots import Arms

ITERATIONS = 1000


@pytest.mark.parametrize("n", [6, 7])
def test_nearly_all_reachable_targets_are_reached(n: int, rng: np.random.Generator) -> None:
    arms = Arms.drawn(rng, 2000, n)
    q, claimed = arms.solved_by(arms.solver(), ITERATIONS)
    assert claimed.mean() >= 0.99
    assert arms.reached(q)[claimed].all()


@pytest.mark.slow
@pytest.mark.parametrize("n", [6, pytest.param(7, marks=pytest.mark.slow)])
def test_robots_of_their_own_do_as_well(n: int, rng: np.random.Generator) -> None:
    arms = Arms.drawn(rng, 10, n)
    _, claimed = arms.solved_by(arms.solver(), ITERATIONS)
    solutions = [arms.robot(k).inverse_kinematics(T) for k, T in enumerate(arms.targets)]
    assert [bool(solution.success) for solution in solutions] == claimed.tolist()
    assert arms.reached(np.array([solution.q for solution in solutions]))[claimed].all()


def test_the_check_refuses_what_is_wrong(rng: np.random.Generator) -> None:
    arms = Arms.drawn(rng, 4, 6)
    q = arms.configurations
    assert arms.reached(q).all()
    assert not arms.reached(q + 1e-4).any()
    assert not arms.reached(q + 2.0 * np.pi).any()  # the same pose, beyond the limits
