"""A UR5 given by screws against the code library of Modern Robotics.

Its numbers are those of the book's section 4.1.2 (figure 4.6) and section 8.9.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import chasles as ch

mr = importlib.import_module("modern_robotics")

M01 = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0.089159], [0, 0, 0, 1]]
M12 = [[0, 0, 1, 0.28], [0, 1, 0, 0.13585], [-1, 0, 0, 0], [0, 0, 0, 1]]
M23 = [[1, 0, 0, 0], [0, 1, 0, -0.1197], [0, 0, 1, 0.395], [0, 0, 0, 1]]
M34 = [[0, 0, 1, 0], [0, 1, 0, 0], [-1, 0, 0, 0.14225], [0, 0, 0, 1]]
M45 = [[1, 0, 0, 0], [0, 1, 0, 0.093], [0, 0, 1, 0], [0, 0, 0, 1]]
M56 = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0.09465], [0, 0, 0, 1]]
M67 = [[1, 0, 0, 0], [0, 0, 1, 0.0823], [0, -1, 0, 0], [0, 0, 0, 1]]
M_LIST = np.array([M01, M12, M23, M34, M45, M56, M67], dtype=float)
INERTIAS = [
    [0.010267495893, 0.010267495893, 0.00666, 3.7],
    [0.22689067591, 0.22689067591, 0.0151074, 8.393],
    [0.049443313556, 0.049443313556, 0.004095, 2.275],
    [0.111172755531, 0.111172755531, 0.21942, 1.219],
    [0.111172755531, 0.111172755531, 0.21942, 1.219],
    [0.0171364731454, 0.0171364731454, 0.033822, 0.1879],
]
G_LIST = np.array([np.diag([*moments, mass, mass, mass]) for *moments, mass in INERTIAS])
S_LIST = np.array(
    [
        [0, 0, 0, 0, 0, 0],
        [0, 1, 1, 1, 0, 1],
        [1, 0, 0, 0, -1, 0],
        [0, -0.089159, -0.089159, -0.089159, -0.10915, 0.005491],
        [0, 0, 0, 0, 0.81725, 0],
        [0, 0, 0.425, 0.81725, 0, 0.81725],
    ]
)
TOLERANCE = 1e-10


def home() -> np.ndarray:
    M = np.eye(4)
    for step in M_LIST:
        M = M @ step
    return M


@pytest.fixture(scope="module")
def arm() -> ch.Robot:
    return ch.Robot.from_screws(M=home(), Slist=S_LIST, Mlist=M_LIST, Glist=G_LIST, check=False)


@pytest.fixture(params=range(5))
def state(request: pytest.FixtureRequest) -> np.ndarray:
    return np.random.default_rng(request.param).uniform(-2.0, 2.0, (4, 6))


def close(ours: Any, theirs: Any) -> bool:
    return bool(np.linalg.norm(ours - theirs) < TOLERANCE * np.linalg.norm(theirs))


def test_kinematics(arm: ch.Robot, state: np.ndarray) -> None:
    q = state[0]
    B_list = mr.Adjoint(mr.TransInv(home())) @ S_LIST
    assert close(arm.forward_kinematics(q), mr.FKinSpace(home(), S_LIST, q))
    assert close(arm.jacobian(q, frame="space"), mr.JacobianSpace(S_LIST, q))
    assert close(arm.jacobian(q, frame="body"), mr.JacobianBody(B_list, q))


def test_dynamics(arm: ch.Robot, state: np.ndarray) -> None:
    q, qd, qdd, tau = state
    gravity, none, tip = np.array([0.0, 0.0, -9.81]), np.zeros(6), np.array([1.0, -2.0, 0.5, 3.0, -1.0, 4.0])
    lists = M_LIST, G_LIST, S_LIST
    assert close(arm.mass_matrix(q), mr.MassMatrix(q, *lists))
    assert close(arm.gravity_torque(q), mr.GravityForces(q, gravity, *lists))
    assert close(arm.coriolis_vector(q, qd), mr.VelQuadraticForces(q, qd, *lists))
    assert close(arm.inverse_dynamics(q, qd, qdd), mr.InverseDynamics(q, qd, qdd, gravity, none, *lists))
    assert close(arm.forward_dynamics(q, qd, tau), mr.ForwardDynamics(q, qd, tau, gravity, none, *lists))
    # The book's tip wrench is applied by the robot to its environment; ours acts on the robot.
    tool = arm.description.tool
    assert close(
        arm.inverse_dynamics(q, qd, qdd, wrenches={tool: -tip}),
        mr.InverseDynamics(q, qd, qdd, gravity, tip, *lists),
    )
