"""Whole-body torques and supports of Solo12 against Pinocchio: the equation of motion with the forces of the ground."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from tests.control.calls import called
from tests.oracles.example_robots import example
from tests.thinning import thinned

import chasles as ch
from chasles.control import Contact, PDGravity, Stance, WholeBodyTorque
from chasles.inverse_kinematics import CenterOfMassTask, FrameTask, PostureTask
from chasles.trajectories.motion import Motion

FILE = example("solo_description/robots/solo12.urdf")
ROBOT = ch.load(FILE, check=False).with_free_base(world="ground")
MODEL = pin.buildModelFromUrdf(str(FILE), pin.JointModelFreeFlyer())
FEET = ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT")
#: Places of Pinocchio's velocities in those of Chasles: linear part first, joints in its own order.
ORDER = [3, 4, 5, 0, 1, 2, *(ROBOT.description.starts[name][1] for name in list(MODEL.names)[2:])]


def configuration(q: np.ndarray) -> np.ndarray:
    return np.concatenate([q[4:7], q[[1, 2, 3, 0]], q[[place + 1 for place in ORDER[6:]]]])


def standing() -> np.ndarray:
    q = ROBOT.neutral
    q[7:] = np.tile([0.1, 0.8, -1.6], 4)
    q[6] = 0.3
    return q


def missing(q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, tau: np.ndarray, forces: np.ndarray) -> np.ndarray:
    """M q̈ + h - Jᵀ f - τ by Pinocchio."""
    data = MODEL.createData()
    at = configuration(q)
    needed = pin.rnea(MODEL, data, at, qd[ORDER], qdd[ORDER])
    for foot, force in zip(FEET, forces, strict=True):
        frame = MODEL.getFrameId(foot)
        J = pin.computeFrameJacobian(MODEL, data, at, frame, pin.LOCAL_WORLD_ALIGNED)[:3]
        needed = needed - J.T @ force
    return np.asarray(needed - tau[ORDER])


@pytest.mark.parametrize("seed", thinned(range(4), keep=3))
def test_accelerations_forces_and_torques_obey_the_equation_of_motion(seed: int) -> None:
    rng = np.random.default_rng(seed)
    q = ROBOT.integrate(standing(), 0.1 * rng.normal(size=18))
    qd = 0.5 * rng.normal(size=18)
    trunk = FrameTask(ROBOT.forward_kinematics(standing(), target="base_link"), "base_link", gain=10.0)
    tasks = [trunk, CenterOfMassTask([0.0, 0.0, 0.3], gain=10.0, cost=0.5), PostureTask(standing(), cost=0.1)]
    plan = Stance(tasks, [Contact(foot, friction=0.6) for foot in FEET])
    found = WholeBodyTorque(ROBOT, plan).solve(q, qd, plan)
    assert np.abs(missing(q, qd, found.qdd, found.tau, found.contact_forces)).max() < 1e-6
    assert (found.contact_forces[:, 2] > -1e-9).all()
    assert np.linalg.norm(found.contact_forces[:, :2], axis=1).max() <= 0.6 * found.contact_forces[:, 2].max() + 1e-9


def test_supports_carry_what_pinocchio_says_that_the_robot_weighs() -> None:
    """With the smallest forces that carry the base, which follow from the six rows of the base alone."""
    q = standing()
    law = PDGravity(ROBOT, kp=1.0, kd=1.0, supports=FEET)
    tau, _ = called(law, q, np.zeros(18), Motion(q, np.zeros(18), np.zeros(18)))
    data = MODEL.createData()
    weight = pin.computeGeneralizedGravity(MODEL, data, configuration(q))
    J = np.concatenate(
        [
            pin.computeFrameJacobian(MODEL, data, configuration(q), MODEL.getFrameId(f), pin.LOCAL_WORLD_ALIGNED)[:3]
            for f in FEET
        ]
    )
    forces = np.linalg.lstsq(J[:, :6].T, weight[:6], rcond=None)[0].reshape(-1, 3)
    assert forces[:, 2].sum() == pytest.approx(9.81 * 2.5, rel=1e-5)
    np.testing.assert_allclose(missing(q, np.zeros(18), np.zeros(18), tau, forces), 0.0, atol=1e-6)
