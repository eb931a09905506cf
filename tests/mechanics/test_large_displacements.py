"""Displacements of closed chains in one call, beside the same way in many small ones."""

from __future__ import annotations

import numpy as np
import pytest
from tests.oracles.closed_machines import LINKAGES, MACHINES

import chasles as ch

#: Reach of displacements, rad and m, and the share of the reachable ends that may be missed, all near dead centres.
REACHES = {
    "five-bar": (1.0, 0.0),
    "3-RRR": (0.7, 0.02),
    "scissor": (0.25, 0.0),
    "Stephenson": (2.0, 0.02),
    "Delta": (0.8, 0.0),
    "palletiser": (1.5, 0.0),
    "excavator": (0.15, 0.0),
}
CASES = [name if name in ("3-RRR", "scissor") else pytest.param(name, marks=pytest.mark.slow) for name in REACHES]


@pytest.mark.parametrize("name", CASES)
def test_one_large_displacement_leads_where_many_small_ones_do(name: str) -> None:
    robot = ch.Robot({**LINKAGES, **MACHINES}[name]())
    reach, missed = REACHES[name]
    v = reach * np.random.default_rng(7).uniform(-1.0, 1.0, (300, robot.n))
    slowly = np.broadcast_to(robot.home, (300, robot.nq))
    for _ in range(200):
        slowly = robot.integrate(slowly, v / 200.0)
    q = robot.integrate(robot.home, v)
    reached, found = np.isfinite(slowly).all(axis=-1), np.isfinite(q).all(axis=-1)
    assert reached.mean() > 0.9
    assert (reached & ~found).mean() <= missed
    assert q[reached & found] == pytest.approx(slowly[reached & found], abs=1e-8)  # and in the same assembly mode
    assert np.abs(robot.loops.constraints(q[found]).residual).max() < 1e-11
    assert robot.difference(robot.home, q[found]) == pytest.approx(v[found], abs=1e-11)


def test_nothing_is_returned_where_the_loops_cannot_be_closed() -> None:
    robot = ch.Robot(LINKAGES["slider-crank"]())
    by_slider = ch.Robot(LINKAGES["slider-crank"]().replace(independent=("stroke",)))
    out_of_reach = by_slider.integrate(by_slider.home, [[0.2], [-0.4], [0.01]])
    assert np.isfinite(out_of_reach).all(axis=-1).tolist() == [False, False, True]
    assert robot.integrate(robot.home, [3.0])[0] == pytest.approx(robot.home[0] + 3.0, abs=1e-12)
