"""dyn_eq: the dynamic equation of a body for any six of its twelve components."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy

import chasles
from chasles.errors import ArgumentError
from chasles.interop.spacelib.codes import NOTOK, OK
from chasles.interop.spacelib.dynamic_equilibrium import dyn_eq

Array = np.ndarray[Any, Any]

ACCELERATIONS = [[1] * 6, [0] * 6]
ACTIONS = [[0] * 6, [1] * 6]
NONE = np.zeros((4, 4))

RNG = np.random.default_rng(9)
MASSES = RNG.uniform(0.5, 2.0, 7)
POINTS = np.column_stack([RNG.normal(size=(7, 3)), np.ones(7)])
J = np.einsum("n,ni,nj->ij", MASSES, POINTS, POINTS)
ALPHA, A = RNG.normal(size=(2, 3))
DUMMY = 999.0
"""What stands in the place of an unknown."""


def velocity(omega: Array, v: Array) -> Array:
    x, y, z = omega
    return np.array([[0, -z, y, v[0]], [z, 0, -x, v[1]], [-y, x, 0, v[2]], [0, 0, 0, 0]])


def action(c: Array, f: Array) -> Array:
    matrix = velocity(c, f)
    matrix[3, :3] = -f
    return matrix


def of_point_masses(Wp: Array) -> Array:
    """Return the action that gives the point masses the acceleration Wp p: Newton's law for each."""
    forces = MASSES[:, None] * (POINTS @ Wp.T)[:, :3]
    return action(np.cross(POINTS[:, :3], forces).sum(axis=0), forces.sum(axis=0))


WP = velocity(ALPHA, A)
F = of_point_masses(WP)
COMPONENTS = np.concatenate([ALPHA, A, [F[2, 1], F[0, 2], F[1, 0]], F[:3, 3]])


def given(var: Any, unknown: float = DUMMY) -> tuple[Array, Array]:
    """Return Wp and F of the point masses with another number in the place of each unknown."""
    values = np.where(np.ravel(var), unknown, COMPONENTS)
    return velocity(values[:3], values[3:6]), action(values[6:9], values[9:])


@pytest.mark.parametrize("var", [ACCELERATIONS, ACTIONS], ids=["accelerations", "actions"])
def test_all_accelerations_and_all_actions(var: list[list[int]]) -> None:
    Wp, action, rv = dyn_eq(J, *given(var), var)
    assert rv == OK
    assert type(rv) is int
    np.testing.assert_allclose(Wp, WP, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(action, F, rtol=1e-11, atol=1e-13)


def test_all_actions_are_the_skew_operator() -> None:
    np.testing.assert_allclose(dyn_eq(J, WP, NONE, ACTIONS).F, WP @ J - (WP @ J).T, rtol=1e-12, atol=1e-13)


def test_worked_example_of_chapter_5() -> None:
    examples = json.loads((Path(__file__).parent / "worked_examples.json").read_text())["examples"]
    example = next(e for e in examples if e["id"] == "sec5.1.dyn_eq_inverse_equals_skew")
    inputs = example["inputs"]
    np.testing.assert_allclose(
        dyn_eq(inputs["J"], inputs["Wp"], NONE, inputs["var"]).F, example["expected"]["F"], rtol=1e-12
    )


def test_every_choice_of_six_unknowns() -> None:
    choices = np.array(list(itertools.combinations(range(12), 6)))
    var = np.zeros((len(choices), 12), dtype=int)
    np.put_along_axis(var, choices, 1, axis=1)
    data = [given(v) for v in var]
    result = dyn_eq(J, [d[0] for d in data], [d[1] for d in data], var.reshape(-1, 2, 6))

    # The six equations, column by column: the action of each unit acceleration, and minus each unit action.
    units = [of_point_masses(velocity(e[:3], e[3:])) for e in np.eye(6)]
    equations = np.column_stack([[u[2, 1], u[0, 2], u[1, 0], *u[:3, 3]] for u in units] + list(-np.eye(6)))
    condition = np.array([np.linalg.cond(equations[:, c]) for c in choices])
    regular = condition < 1e11
    assert 0 < regular.sum() < len(choices)
    assert not np.any((condition > 1e9) & (condition < 1e14))  # there is no doubt which are singular
    errors = np.maximum(np.abs(result.Wp - WP).max(axis=(1, 2)), np.abs(result.F - F).max(axis=(1, 2)))
    assert np.all(errors[regular] <= 1e-13 * condition[regular])

    one_of_each = (var[:, :6] + var[:, 6:] == 1).all(axis=1)
    assert one_of_each.sum() == 64
    assert regular[one_of_each].all()
    np.testing.assert_array_equal(result.rv, np.where(one_of_each, OK, NOTOK))
    unsolved = np.isnan(result.Wp).any(axis=(1, 2)) | np.isnan(result.F).any(axis=(1, 2))
    np.testing.assert_array_equal(unsolved, ~regular)


def test_velocity_and_momentum() -> None:
    W = velocity(A, ALPHA)
    momentum = of_point_masses(W)  # linear in W as the action is in Wp
    np.testing.assert_allclose(dyn_eq(J, NONE, momentum, ACCELERATIONS).Wp, W, rtol=1e-11, atol=1e-13)


def test_what_stands_in_the_place_of_an_unknown_does_not_matter() -> None:
    var = [[0, 1, 0, 1, 0, 1], [1, 0, 1, 0, 1, 0]]
    for unknown in (0.0, DUMMY, math.nan, math.inf):
        Wp, action, rv = dyn_eq(J, *given(var, unknown), var)
        assert rv == OK
        np.testing.assert_allclose(Wp, WP, rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(action, F, rtol=1e-11, atol=1e-13)


def test_a_system_without_unique_solution() -> None:
    point = np.diag([0.0, 0.0, 0.0, 2.0])  # it has no inertia against turning
    Wp, action, rv = dyn_eq(point, NONE, F, ACCELERATIONS)
    assert rv == NOTOK
    assert np.isnan(Wp[:3, 3]).all()
    np.testing.assert_array_equal(action, F)
    Wp, _, rv = dyn_eq(point, NONE, F, [[0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0]])
    assert rv == OK
    np.testing.assert_allclose(Wp[:3, 3], F[:3, 3] / 2.0, rtol=1e-14)


@pytest.mark.parametrize("inertia", [NONE, -J, J - 100.0 * np.eye(4), J + 5.0 * np.eye(4, k=1)])
def test_an_inertia_that_no_body_has(inertia: Array) -> None:
    assert dyn_eq(inertia, WP, NONE, ACTIONS).rv == NOTOK


def test_nan_stays_in_its_sample() -> None:
    inertias = np.array([J, J, J])
    inertias[1, 0, 0] = math.nan
    actions = np.array([F, F, F])
    actions[2, 0, 3] = math.nan
    Wp, _, rv = dyn_eq(inertias, NONE, actions, ACCELERATIONS)
    np.testing.assert_array_equal(rv, [OK, NOTOK, NOTOK])
    np.testing.assert_allclose(Wp[0], WP, rtol=1e-11, atol=1e-13)
    assert np.isnan(Wp[1:, :3, 3]).all()


def test_batches_broadcast() -> None:
    inertias = J * np.array([1.0, 2.0, 4.0])[:, None, None, None, None]
    result = dyn_eq(inertias, NONE, np.array([F, 2 * F])[None], ACCELERATIONS)
    assert result.Wp.shape == (3, 1, 2, 4, 4)
    assert result.rv.shape == (3, 1, 2)
    np.testing.assert_allclose(result.Wp[1, 0, 1], WP, rtol=1e-11, atol=1e-13)
    assert dyn_eq(np.zeros((0, 4, 4)), NONE, F, ACCELERATIONS).rv.shape == (0,)


@pytest.mark.parametrize("var", [[[1] * 6, [1] * 6], [[0] * 6, [0] * 6], [[1] * 5 + [0], [0] * 6]])
def test_other_numbers_of_unknowns_are_told(var: list[list[int]]) -> None:
    with pytest.raises(ArgumentError, match="unknown"):
        dyn_eq(J, WP, F, var)


def test_wrong_shapes_are_told() -> None:
    with pytest.raises(ArgumentError, match="shape"):
        dyn_eq(np.eye(3), WP, F, ACCELERATIONS)
    with pytest.raises(ArgumentError, match="shape"):
        dyn_eq(J, WP, F, [1] * 6)


def test_symbols_and_traces() -> None:
    m, f = sympy.symbols("m f", positive=True)
    disk = np.diag([m, m, 0, 2 * m])
    pull = action(np.zeros(3), np.zeros(3)).astype(object)
    pull[0, 3], pull[3, 0] = f, -f
    Wp, _, rv = dyn_eq(disk, NONE, pull, ACCELERATIONS)
    assert rv == OK
    assert sympy.simplify(Wp[0, 3] - f / (2 * m)) == 0
    with pytest.raises(ArgumentError, match="every column"):
        dyn_eq(disk, NONE, pull, [[1, 1, 1, 0, 0, 0], [1, 1, 1, 0, 0, 0]])

    @chasles.function(J=(4, 4), F=(4, 4))
    def acceleration(J: Any, F: Any) -> Any:
        return dyn_eq(J, NONE, F, ACCELERATIONS).Wp

    np.testing.assert_allclose(acceleration(J, F), WP, rtol=1e-10, atol=1e-12)
