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
from chasles.base.errors import ArgumentError
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


@pytest.mark.parametrize("place", [(3, 0), (0, 3), (2, 1), (1, 2)])
def test_an_action_in_one_of_its_two_places_is_not_halved(place: tuple[int, int]) -> None:
    one_sided = F.copy()
    one_sided[place] = 0.0
    found = dyn_eq(J, NONE, one_sided, ACCELERATIONS)
    assert found.rv == NOTOK
    assert np.isnan(found.Wp[:3, 3]).all()
    assert found.status == "F is not [[skew(m), f], [-fᵀ, 0]] in its given components"
    with pytest.raises(ArgumentError, match="dyn_eq: F is not"):
        dyn_eq(J, NONE, one_sided, ACCELERATIONS, check=True)
    batch = dyn_eq(J, NONE, [F, one_sided, F], ACCELERATIONS)
    np.testing.assert_array_equal(batch.rv, [OK, NOTOK, OK])
    assert batch.status == f"1 of 3 samples are not well; the first, (1,): {found.status}"


def test_an_acceleration_matrix_is_no_rate_of_a_velocity_matrix() -> None:
    W = velocity(np.array([1.0, -2.0, 0.5]), np.zeros(3))
    found = dyn_eq(J, WP + W @ W, NONE, ACTIONS)
    assert found.rv == NOTOK
    assert found.status.startswith("Wp is not [[skew(alpha), a], [0, 0]] in its given components; if it is an acc")
    assert dyn_eq(J, WP, NONE, ACTIONS).status == "solved"


def test_what_is_wrong_is_told() -> None:
    assert dyn_eq(J + 5.0 * np.eye(4, k=1), WP, NONE, ACTIONS).status == "J is not symmetric"
    assert dyn_eq(-J, WP, NONE, ACTIONS).status == "solved, but no body with mass has the inertia J"
    assert dyn_eq(np.full((4, 4), math.nan), WP, NONE, ACTIONS).status.startswith("J or a given component of Wp or F")
    point = np.diag([0.0, 0.0, 0.0, 2.0])
    assert dyn_eq(point, NONE, F, ACCELERATIONS).status == "the system is singular (rank 3 of 6)"


def test_single_samples_go_straight_to_machine_code_whatever_the_flags_are(monkeypatch: pytest.MonkeyPatch) -> None:
    choices = [ACCELERATIONS, np.array(ACCELERATIONS), tuple(map(tuple, ACCELERATIONS)), np.array(ACCELERATIONS, bool)]
    expected = [dyn_eq(J, NONE, F, var) for var in choices]
    monkeypatch.setattr("chasles.interop.spacelib.dynamic_equilibrium._general_solution", None)
    monkeypatch.setattr("chasles.interop.spacelib.dynamic_equilibrium._flags", None)
    for var, first in zip(choices, expected, strict=True):
        again = dyn_eq(J, NONE, F, var)
        assert again == first
        assert type(again.rv) is int


class TestSymbols:
    """rv is OK where SymPy can decide so, NOTOK where it can decide that, and the condition elsewhere."""

    m, x, f = sympy.symbols("m x f", positive=True)
    unknown = sympy.Symbol("mu", real=True)

    def pull(self, force: Any) -> Any:
        pull = np.zeros((4, 4), dtype=object)
        pull[0, 3], pull[3, 0] = force, -force
        return pull

    def test_what_is_certain(self) -> None:
        disk = np.diag([self.m, self.m, 0, 2 * self.m])
        found = dyn_eq(disk, NONE, self.pull(self.f), ACCELERATIONS)
        assert (found.rv, found.status) == (OK, "solved")
        assert type(found.rv) is int
        assert sympy.simplify(found.Wp[0, 3] - self.f / (2 * self.m)) == 0

    def test_a_body_that_is_not_in_the_origin(self) -> None:
        """The moments about the centre of mass decide, however large those about the origin are."""
        for second, rv in ((self.m * self.x**2, OK), (sympy.Rational(1, 2) * self.m * self.x**2, NOTOK)):
            J = np.diag([second, self.m, self.m, self.m]).astype(object)
            J[0, 3] = J[3, 0] = self.m * self.x
            found = dyn_eq(J, NONE, self.pull(self.f), ACTIONS)
            assert found.rv == rv
        assert found.status == "solved, but no body with mass has the inertia J"

    def test_what_depends_on_a_symbol(self) -> None:
        found = dyn_eq(np.diag([1, 1, 1, self.unknown]), NONE, self.pull(self.f), ACTIONS)
        assert found.rv.subs(self.unknown, 2) == OK
        assert found.rv.subs(self.unknown, -2) == NOTOK
        assert found.rv != OK
        assert found.status == "OK only if mu > 0"
        found = dyn_eq(np.diag([self.unknown, 0, 0, 1]), NONE, self.pull(self.f), ACCELERATIONS[::-1])
        assert found.rv.subs(self.unknown, 0) == OK
        assert found.rv.subs(self.unknown, -1) == NOTOK

    def test_what_is_certainly_wrong(self) -> None:
        body = np.diag([self.m, self.m, self.m, self.m])
        one_sided = self.pull(self.f)
        one_sided[3, 0] = 0
        rod = np.diag([self.m, 0, 0, self.m])
        for J, action, status in (
            (body, one_sided, "F is not"),
            (-body, self.pull(self.f), "solved, but no body"),
            (rod, self.pull(self.f), "the system is singular"),
            (body + self.x * np.eye(4, k=1, dtype=int), self.pull(self.f), "J is not symmetric"),
        ):
            found = dyn_eq(J, NONE, action, ACCELERATIONS)
            assert found.rv == NOTOK
            assert found.status.startswith(status)
            assert (str(found.Wp[0, 3]) == "nan") == (not status.startswith("solved"))
        skewed = np.zeros((4, 4), dtype=object)
        skewed[1, 0] = self.x
        assert dyn_eq(body, skewed, NONE, ACTIONS).rv == NOTOK
        with pytest.raises(ArgumentError, match="dyn_eq: F is not"):
            dyn_eq(body, NONE, one_sided, ACCELERATIONS, check=True)

    def test_in_a_trace(self) -> None:
        @chasles.function(J=(4, 4), F=(4, 4))
        def code(J: Any, F: Any) -> Any:
            return dyn_eq(J, NONE, F, ACCELERATIONS).rv

        one_sided = F.copy()
        one_sided[3, 0] = 0.0
        assert code([J, J, -J], [F, one_sided, F]).tolist() == [OK, NOTOK, NOTOK]


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
