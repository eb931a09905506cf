"""Model predictive control with contacts: a biped on soft ground, whose feet the law takes for points on a plane."""

from __future__ import annotations

import numpy as np
import pytest
from tests.control.optimal.robots import biped

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.control import ModelPredictive, controller_to_c
from chasles.control.optimal import OptimalControl, PhasedContact, Residual, residuals
from chasles.control.optimal.contact_rows import Contacts

FEET = ("left_foot", "right_foot")
STEP, HEIGHT = 0.02, 0.73
ROBOT = biped()
WEIGHT = 9.81 * sum(link.inertia.mass for link in ROBOT.description.links if link.inertia is not None)


def standing(apart: float) -> np.ndarray:
    """Both feet on the ground, the left one ahead."""
    bend = np.arccos(HEIGHT / 0.8)
    turn = np.arctan2(0.5 * apart, HEIGHT)
    q = np.array([0.0, HEIGHT, 0.0, -bend - turn, 2.0 * bend, -bend + turn, 2.0 * bend])
    q[1] -= ROBOT.forward_kinematics(q, target="left_foot")[2, 3]
    return q


def on_soft_ground() -> ch.Plant:
    ground = {"point": [0.0, 0.0, 0.0], "normal": [0.0, 0.0, 1.0], "friction_coefficient": 0.8, "slip_velocity": 0.01}
    return ch.Plant(ROBOT, contacts=[ch.ContactPlane(f, f, stiffness=3e4, damping=300.0, **ground) for f in FEET])


def places(q: np.ndarray) -> np.ndarray:
    """Positions of the feet along the ground and above it, (..., 2, 2)."""
    return np.stack([ROBOT.forward_kinematics(q, target=foot)[..., [0, 2], 3] for foot in FEET], axis=-2)


@pytest.mark.slow
def test_a_biped_that_is_pushed_comes_back_above_its_feet() -> None:
    start = standing(0.2)
    problem = OptimalControl(
        ROBOT,
        duration=0.4,
        nodes=20,
        running=[
            [100.0, 100.0, 100.0, 1.0, 1.0, 1.0, 1.0] * residuals.position("goal"),
            residuals.velocity(),
            1e-3 * residuals.torque(),
            Residual(lambda forces: forces.ravel(), weight=1e-4),
        ],
        final=[500.0 * residuals.position("goal"), 5.0 * residuals.velocity()],
        keep=[PhasedContact(foot, phases=[(0, 20)], friction=0.6) for foot in FEET],
        limits={"torque": 80.0},
    )
    law = ModelPredictive(problem, goal=start, iterations=5)
    pushed = ch.State(start, np.array([0.3, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]))
    run = ch.simulate(on_soft_ground(), law, duration=1.5, start=pushed, period=STEP)
    assert np.abs(run.q.values[:, 0]).max() > 0.02
    assert np.abs(run.q.values[-1] - start).max() < 0.02
    assert np.abs(places(run.q.values) - places(start)).max() < 0.01
    pressed = sum(run[f"contacts.{foot}"].values[-20:, 5] for foot in FEET).mean()
    assert pressed == pytest.approx(WEIGHT, rel=0.02)
    assert not [found for found in run.findings if found.rule.code == "failed-solve"]


@pytest.mark.slow
def test_a_biped_walks_along_a_sequence_of_contacts_longer_than_the_horizon() -> None:
    """Two steps of 0.2 m in 1.4 s with a horizon of 0.5 s; the ground gives way by 1.6 mm under the weight."""
    start, step = standing(0.1), 0.2
    left, right = places(start)[:, 0]
    steps = [
        PhasedContact("left_foot", phases=[(0, 38), (56, 60)], friction=0.6, footholds=[None, [left + step, 0, 0]])
    ]
    steps += [
        PhasedContact("right_foot", phases=[(0, 10), (28, 60)], friction=0.6, footholds=[None, [right + step, 0, 0]])
    ]

    def trunk(q: np.ndarray, t: object) -> np.ndarray:
        share = 0.5 + 0.5 * np.tanh(3.0 * (t - 0.65))
        return q[:3] - np.array([step * share, HEIGHT - 0.01, 0.0])

    problem = OptimalControl(
        ROBOT,
        duration=0.5,
        nodes=25,
        running=[
            Residual(trunk, weight=200.0),
            Residual(lambda q: q[3:] - start[3:]),
            0.5 * residuals.velocity(),
            1e-3 * residuals.torque(),
            Residual(lambda forces: forces.ravel(), weight=1e-4),
        ],
        final=[Residual(lambda q: q[1:3] - np.array([HEIGHT - 0.01, 0.0]), weight=500.0), 5.0 * residuals.velocity()],
        keep=[*steps, Residual(lambda q: q[[4, 6]] - 0.02)],
        limits={"torque": 100.0},
    )
    law = ModelPredictive(problem, iterations=10)
    with pytest.raises(ArgumentError, match="C code has the rows of one horizon alone"):
        controller_to_c(law, ch.PointToPoint(start, start, 1.0), period=STEP)
    run = ch.simulate(on_soft_ground(), law, duration=1.8, start=start, period=STEP)
    feet = places(run.q.values)
    np.testing.assert_allclose(feet[-1, :, 0], [left + step, right + step], atol=0.01)
    assert feet[:, :, 1].min() > -0.01
    assert feet[11:27, 1, 1].max() > 2e-3
    assert np.abs(run.q.values[-1, :3] - [step, HEIGHT - 0.01, 0.0]).max() < 0.05
    assert not [found for found in run.findings if found.rule.code == "failed-solve"]


def test_rows_of_a_receding_horizon_are_those_of_the_sequence_from_its_node_on() -> None:
    contact = PhasedContact("left_foot", phases=[(0, 3), (5, 8)], footholds=[None, [0.3, 0.0, 0.0]])
    whole, ahead = (Contacts([contact], ROBOT, nodes, 0.02, recedes=True) for nodes in (12, 4))
    for first in range(4):
        for long, short in zip(whole.parts, ahead.parts, strict=True):
            for of_sequence, of_horizon in zip(long, short, strict=True):
                if "moves" in of_sequence.words or "touches" in of_sequence.words:
                    continue
                here = of_sequence.counts(0)[first : first + 5]
                np.testing.assert_array_equal(of_horizon.counts(first)[:4], here[:4])
    stands, lands, down = ahead.held
    everywhere = list(range(5))  # after the sequence its last node goes on
    assert [list(np.flatnonzero(stands.counts(k))) for k in (0, 2, 4, 6, 20)] == [
        [0, 1, 2, 3],
        [0, 1],
        [],
        *2 * [everywhere],
    ]
    assert [list(np.flatnonzero(lands.counts(k))) for k in (0, 2, 4, 6)] == [[], [3, 4], [1, 2, 3, 4], []]
    assert [list(np.flatnonzero(down.counts(k))) for k in (0, 2, 4, 5)] == [[], [3], [1], []]
