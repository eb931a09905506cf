"""Random errors of parameters: their size and distribution, seeds, batches, and possible bodies."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.geometry import is_physically_consistent, pseudo_inertia
from chasles.model import (
    Description,
    inconsistencies,
    load,
    parameter_shapes,
    perturbed_values,
    with_payload,
    with_values,
)
from chasles.model.perturbation import QUANTITIES


def puma() -> Description:
    return with_payload(load("puma560"), 1.0, [0.0, 0.01, 0.05], np.diag([1e-3, 2e-3, 2.5e-3]))


def truth(description: Description, name: str) -> np.ndarray:
    owner, quantity = name.rsplit(".", 1)
    if owner.startswith("joints."):
        return np.asarray(getattr(description.joint(owner.removeprefix("joints.")), quantity))
    inertia = description.payload if owner == "payload" else description.link(owner.removeprefix("links.")).inertia
    return np.asarray(
        {"mass": inertia.mass, "center_of_mass": inertia.center_of_mass, "inertia": inertia.matrix}[quantity]
    )


def test_every_number_that_is_not_zero_changes_by_at_most_its_share() -> None:
    values = perturbed_values(puma(), 0.2, 7, (500,))
    for name in parameter_shapes(puma()):
        quantity = name.rsplit(".", 1)[-1]
        if quantity.endswith(("position", "roll_pitch_yaw")):
            assert name not in values
            continue
        changes = quantity in QUANTITIES and truth(puma(), name).any()
        assert (name in values) == changes, name
        if changes and quantity != "inertia":
            known = truth(puma(), name)
            factors = values[name][:, known != 0.0] / known[known != 0.0] if known.ndim else values[name] / known
            assert np.abs(factors - 1.0).max() <= 0.2
            assert (factors.std(0) > 0.05).all()
            assert not values[name][:, known == 0.0].any() if known.ndim else True


def test_factors_are_uniform() -> None:
    masses = perturbed_values(puma(), {"mass": 0.3}, 3, (2000,))["links.link2.mass"]
    assert stats.kstest(masses / 17.4, "uniform", (0.7, 0.6)).pvalue > 0.01


def test_principal_moments_change_by_at_most_the_share_and_bodies_stay_possible() -> None:
    values = perturbed_values(load("ur5"), 0.3, 0, (200,))
    for link in load("ur5").links:
        name = f"links.{link.name}.inertia"
        if name in values:
            changed = np.linalg.eigvalsh(values[name])
            assert np.abs(changed / np.linalg.eigvalsh(link.inertia.matrix) - 1.0).max() <= 0.3 + 1e-12
            assert is_physically_consistent(pseudo_inertia(1.0, np.zeros(3), values[name])).all()


def test_elements_of_the_inertia_one_by_one() -> None:
    known = np.array([[1.0, 0.1, -0.2], [0.1, 1.1, 0.3], [-0.2, 0.3, 1.2]])
    arm = with_values(load("planar2r"), {"links.link1.inertia": known})
    drawn = perturbed_values(arm, {"inertia": 0.5}, 0, (300,), consistent=False)["links.link1.inertia"]
    assert np.array_equal(drawn, np.swapaxes(drawn, -1, -2))
    factors = drawn / known
    assert np.abs(factors - 1.0).max() <= 0.5
    assert abs(np.corrcoef(factors[:, 0, 0], factors[:, 0, 1])[0, 1]) < 0.2
    rods = perturbed_values(load("ur5"), {"inertia": 1.0}, 0, (300,), consistent=False)
    assert not all(
        is_physically_consistent(pseudo_inertia(1.0, np.zeros(3), x)).all()
        for n, x in rods.items()
        if n.endswith("inertia")
    )


def test_seeds() -> None:
    one, other = perturbed_values(puma(), 0.1, 5), perturbed_values(puma(), 0.1, 5)
    assert all(np.array_equal(one[name], other[name]) for name in one)
    third = perturbed_values(puma(), 0.1, 6)
    assert any(not np.array_equal(one[name], third[name]) for name in one)
    generator = np.random.default_rng(5)
    again = perturbed_values(puma(), 0.1, generator)
    assert all(np.array_equal(one[name], again[name]) for name in one)
    assert any(not np.array_equal(one[n], x) for n, x in perturbed_values(puma(), 0.1, generator).items())


def test_robots_of_perturbed_values() -> None:
    wrong = with_values(puma(), perturbed_values(puma(), 0.5, 1))
    assert set(inconsistencies(wrong)) == set(inconsistencies(puma()))
    assert np.array_equal(wrong.gravity, puma().gravity)
    assert wrong.joint("joint1").gear_ratio == puma().joint("joint1").gear_ratio
    assert with_values(puma(), perturbed_values(puma(), 0.0, 1)) == puma()


def test_wrong_arguments() -> None:
    with pytest.raises(ArgumentError, match=r"relative change of mass must lie between 0 and 1, not 1\.5"):
        perturbed_values(puma(), {"mass": 1.5}, 0)
    with pytest.raises(ArgumentError, match="not nan"):
        perturbed_values(puma(), np.nan, 0)
    with pytest.raises(UnknownNameError, match=r"no quantity to perturb 'masses'\. Did you mean 'mass'"):
        perturbed_values(puma(), {"masses": 0.1}, 0)
