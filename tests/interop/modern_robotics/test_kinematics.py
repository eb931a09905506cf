"""Forward kinematics and Jacobians of random robots against the published package."""

from __future__ import annotations

import numpy as np
import pytest
from tests.interop.modern_robotics.robots import close, published, random_axis, random_pose
from tests.thinning import thinned

import chasles.interop.modern_robotics as mr

KINDS = ("revolute", "prismatic", "helical", "long")
STATES = 143  # for each of seven numbers of joints: a thousand calls


@pytest.mark.parametrize("n", thinned(range(1, 8)))
@pytest.mark.parametrize("name", ["FKinBody", "FKinSpace", "JacobianBody", "JacobianSpace"])
def test_random_calls(name: str, n: int) -> None:
    rng = np.random.default_rng(n)
    ours, theirs = getattr(mr, name), getattr(published, name)
    for _ in range(STATES):
        axes = np.array([random_axis(rng, kind) for kind in rng.choice(KINDS, n)]).T
        arguments = (axes, rng.uniform(-3.0, 3.0, n))
        if name.startswith("FKin"):
            arguments = (random_pose(rng), *arguments)
        assert close(ours(*arguments), theirs(*arguments), 1e-12)


def test_batches_of_robots_and_of_joint_variables() -> None:
    rng = np.random.default_rng(0)
    axes = np.array([[random_axis(rng, kind) for kind in KINDS] for _ in range(3)]).swapaxes(-1, -2)
    M, theta = np.array([random_pose(rng) for _ in range(3)]), rng.uniform(-3.0, 3.0, (5, 1, 4))
    T, J = mr.FKinSpace(M, axes, theta), mr.JacobianSpace(axes, theta)
    assert T.shape == (5, 3, 4, 4)
    assert J.shape == (5, 3, 6, 4)
    for i in range(5):
        for k in range(3):
            np.testing.assert_array_equal(T[i, k], mr.FKinSpace(M[k], axes[k], theta[i, 0]))
            np.testing.assert_array_equal(J[i, k], mr.JacobianSpace(axes[k], theta[i, 0]))


def test_body_and_space_agree() -> None:
    rng = np.random.default_rng(1)
    axes, M = np.array([random_axis(rng, kind) for kind in KINDS]).T, random_pose(rng)
    in_body, theta = mr.Adjoint(mr.TransInv(M)) @ axes, rng.uniform(-3.0, 3.0, (100, 4))
    T = mr.FKinSpace(M, axes, theta)
    np.testing.assert_allclose(mr.FKinBody(M, in_body, theta), T, atol=1e-13)
    np.testing.assert_allclose(
        mr.Adjoint(T) @ mr.JacobianBody(in_body, theta), mr.JacobianSpace(axes, theta), atol=1e-12
    )
