"""Forward dynamics of closed chains against Pinocchio's constrained dynamics."""

from __future__ import annotations

import numpy as np
import pytest
from tests.oracles.closed_machines import MACHINES

import chasles as ch
from chasles import algorithms as alg
from chasles.model import build_tree

pytest.importorskip("pinocchio")

QUICK = ("four-bar", "3-RRR")
POINTS = [
    name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in MACHINES if name != "leg"
]  # Pinocchio has no constraint for its rod


@pytest.mark.parametrize("name", POINTS)
def test_accelerations_agree_with_pinocchios_constraint_dynamics(name: str) -> None:
    from tests.oracles.pinocchio_models import ClosedModel

    robot = ch.Robot(MACHINES[name]())
    tree, peer = build_tree(robot.description), ClosedModel(robot.description)
    rng = np.random.default_rng(1)
    free = list(tree.independent)
    for q in robot.integrate(robot.home, 0.05 * rng.normal(size=(5, robot.n))):
        qd, tau = rng.normal(size=(2, robot.n))
        torques = np.zeros(tree.n)
        torques[free] = tau
        velocities = robot.velocity_map(q) @ qd
        torques -= alg.friction_torque(tree, velocities)  # of which Pinocchio does not know
        theirs = peer.accelerations(q, velocities, torques)
        ours = robot.forward_dynamics(q, qd, tau)
        assert np.abs(ours - theirs[free]).max() <= 1e-9 * (1.0 + np.abs(theirs).max())
