"""Links that no real body could be, and the nearest robot whose links could be."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

from chasles.base.errors import ModelError
from chasles.geometry import is_physically_consistent, pseudo_inertia
from chasles.model import Description, Inertia, Joint, Link, inconsistencies, load, nearest_consistent, shipped


def robot(*inertias: Inertia, payload: Inertia | None = None) -> Description:
    links = [Link("base"), *(Link(f"link{i}", inertia) for i, inertia in enumerate(inertias))]
    joints = [Joint(f"j{i}", "revolute", a.name, b.name) for i, (a, b) in enumerate(pairwise(links))]
    return Description("robot", links=tuple(links), joints=tuple(joints), payload=payload or Inertia())


@pytest.mark.parametrize(
    ("inertia", "reason"),
    [
        (Inertia(-1.0), "its mass is negative"),
        (Inertia(1.0, matrix=np.diag([1.0, -0.1, 1.0])), "a principal moment of inertia is negative"),
        (Inertia(1.0, matrix=np.diag([1.0, 1.0, 2.1])), "break the triangle inequality"),
        (Inertia(1.0, matrix=np.eye(3) + np.triu(np.ones((3, 3)), 1)), "is not symmetric"),
        (Inertia(0.0, matrix=np.eye(3)), "it has an inertia matrix but no mass"),
    ],
)
def test_reasons(inertia: Inertia, reason: str) -> None:
    sound = Inertia(1.0, matrix=np.eye(3))
    found = inconsistencies(robot(sound, inertia))
    assert list(found) == ["link1"]
    assert reason in found["link1"]
    assert list(inconsistencies(robot(sound, payload=inertia))) == ["payload"]


@pytest.mark.parametrize("name", shipped())
def test_the_reasons_are_those_of_the_pseudo_inertia(name: str) -> None:
    description = load(name)
    reasons = inconsistencies(description)
    for link in description.links:
        inertia = link.inertia
        J = pseudo_inertia(inertia.mass, inertia.center_of_mass, inertia.matrix)
        massless_spread = inertia.mass == 0.0 and inertia.matrix.any()
        assert (link.name not in reasons) == (is_physically_consistent(J, 1e-6) and not massless_spread)


def test_sound_robots_stay() -> None:
    assert inconsistencies(load("ur5")) == {}
    assert nearest_consistent(load("ur5")) == load("ur5")


def test_the_nearest_inertia() -> None:
    """A general optimiser over the second moments finds no nearer one."""
    R = Rotation.random(random_state=0).as_matrix()
    inertia = Inertia(2.0, [0.1, 0.2, 0.3], R @ np.diag([1.0, 1.2, 3.0]) @ R.T)
    fixed = nearest_consistent(robot(inertia))
    found = fixed.link("link0").inertia
    assert inconsistencies(fixed) == {}
    assert found.mass == 2.0
    assert np.array_equal(found.center_of_mass, inertia.center_of_mass)

    def second(matrix: np.ndarray) -> np.ndarray:
        return 0.5 * np.trace(matrix) * np.eye(3) - matrix

    def distance(x: np.ndarray) -> float:
        root = np.zeros((3, 3))
        root[np.tril_indices(3)] = x
        return float(np.sum((root @ root.T - second(inertia.matrix)) ** 2))

    best = minimize(distance, np.array([1.0, 0.0, 1.0, 0.0, 0.0, 0.5]), method="BFGS", options={"gtol": 1e-10})
    ours = float(np.sum((second(found.matrix) - second(inertia.matrix)) ** 2))
    assert ours <= best.fun * (1.0 + 1e-9)


def test_payload_and_negative_mass() -> None:
    flat = Inertia(1.0, matrix=np.diag([1.0, 1.0, 3.0]))
    assert inconsistencies(nearest_consistent(robot(Inertia(1.0), payload=flat))) == {}
    with pytest.raises(ModelError, match="link0: its mass is negative"):
        nearest_consistent(robot(Inertia(-1.0)))
