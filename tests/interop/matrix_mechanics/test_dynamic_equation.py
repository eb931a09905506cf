from __future__ import annotations

import itertools

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sympy.polys.matrices import DomainMatrix
from tests.geometry.known_motions import random_body

from chasles.base.errors import ArgumentError
from chasles.geometry import pseudo_inertia, twist_from_velocity_matrix, velocity_matrix
from chasles.interop.matrix_mechanics import (
    action_matrix,
    hybrid_dynamics,
    solve_dynamic_equation,
    wrench_from_action_matrix,
)
from chasles.interop.matrix_mechanics.hybrid_dynamics import hybrid_solution

SEEDS = st.integers(0, 2**32 - 1)
ALL_ACCELERATIONS = [[1] * 6, [0] * 6]
ALL_ACTIONS = [[0] * 6, [1] * 6]
#: One unknown in each of the six pairs of acceleration and action.
ONE_OF_EACH = np.array([[choice, [1 - c for c in choice]] for choice in itertools.product((0, 1), repeat=6)])


def actions(J: np.ndarray, acceleration: np.ndarray) -> np.ndarray:
    """X - X^T for X = W J, written out."""
    x, y, z, ax, ay, az = acceleration
    W = np.array([[0, -z, y, ax], [z, 0, -x, ay], [-y, x, 0, az], [0, 0, 0, 0]])
    return W @ J - (W @ J).T


def spatial(J: np.ndarray) -> np.ndarray:
    columns = [actions(J, unit) for unit in np.eye(6)]
    return np.array([[A[2, 1], A[0, 2], A[1, 0], A[0, 3], A[1, 3], A[2, 3]] for A in columns]).T


def hidden(W_rate: np.ndarray, Phi: np.ndarray, unknown: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The matrices with rubbish in place of what is unknown."""
    acceleration, wrench = twist_from_velocity_matrix(W_rate), wrench_from_action_matrix(Phi)
    unknown = np.asarray(unknown, dtype=bool)
    return (
        velocity_matrix(np.where(unknown[..., 0, :], 1e3, acceleration)),
        action_matrix(np.where(unknown[..., 1, :], np.nan, wrench)),
    )


@given(SEEDS)
def test_every_choice_of_one_unknown_in_each_pair_is_solved(seed: int) -> None:
    rng = np.random.default_rng(seed)
    J, acceleration = random_body(rng).pseudo_inertia, rng.normal(size=6)
    W_rate, Phi = velocity_matrix(acceleration), actions(J, acceleration)
    solution = solve_dynamic_equation(J, *hidden(W_rate, Phi, ONE_OF_EACH), ONE_OF_EACH)
    tolerance = 1e-13 * np.linalg.cond(spatial(J))
    assert solution.success, solution.status
    assert (solution.rank == 6).all()
    assert_allclose(solution.W_rate, np.broadcast_to(W_rate, (64, 4, 4)), atol=tolerance)
    assert_allclose(solution.Phi, np.broadcast_to(Phi, (64, 4, 4)), atol=tolerance * np.abs(J).max())


@given(SEEDS)
def test_any_six_unknowns_are_found_or_refused(seed: int) -> None:
    """What has a rank of 6 in exact arithmetic, for a body whose J has small whole numbers, is solved."""
    rng = np.random.default_rng(seed)
    points = rng.integers(-3, 4, size=(5, 3))
    J = sum(np.outer(p, p) for p in np.column_stack([points, np.ones(5, dtype=int)]))
    flags = np.zeros((8, 12), dtype=int)
    for row in flags:
        row[rng.choice(12, size=6, replace=False)] = 1
    acceleration = rng.integers(-5, 6, size=6)
    W_rate, Phi = velocity_matrix(acceleration), actions(J, acceleration).astype(float)
    unknown = flags.reshape(8, 2, 6)
    solution = solve_dynamic_equation(J, *hidden(W_rate, Phi, unknown), unknown)
    S = np.concatenate([spatial(J).astype(int), -np.eye(6, dtype=int)], axis=1)
    for i, chosen in enumerate(flags.astype(bool)):
        rank = DomainMatrix.from_Matrix(sympy.Matrix(S[:, chosen])).to_field().rank()
        assert solution.rank[i] == rank
        assert solution.solved[i] == (rank == 6)
        found = np.append(twist_from_velocity_matrix(solution.W_rate[i]), wrench_from_action_matrix(solution.Phi[i]))
        expected = np.append(acceleration, wrench_from_action_matrix(Phi))
        if rank == 6:
            assert_allclose(found, expected, atol=1e-8 * np.abs(expected).max())
        else:
            assert np.isnan(found[chosen]).all()
            assert np.array_equal(found[~chosen], expected[~chosen])


def test_actions_in_the_manual_of_spacelib() -> None:
    """Section 5.1 with the body of example 3.13: all actions unknown is skew{W J}."""
    J = pseudo_inertia(15.71, [0.0, 3.0, 4.0], np.diag([36.633, 36.633, 7.85]))
    solution = solve_dynamic_equation(J, velocity_matrix([1, 2, 3, 4, 5, 6]), np.zeros((4, 4)), ALL_ACTIONS)
    assert_allclose(solution.Phi, actions(J, np.array([1, 2, 3, 4, 5, 6])), rtol=1e-14)
    assert solution.status == "solved"


def test_momentum_and_velocity_obey_the_same_equation() -> None:
    rng = np.random.default_rng(0)
    body, twist = random_body(rng), rng.normal(size=6)
    Gamma = action_matrix(body.momentum(twist))
    solution = solve_dynamic_equation(body.pseudo_inertia, np.zeros((4, 4)), Gamma, ALL_ACCELERATIONS)
    assert_allclose(twist_from_velocity_matrix(solution.W_rate), twist, atol=1e-12)


def test_each_sample_may_have_its_own_unknowns() -> None:
    rng = np.random.default_rng(1)
    J = np.array([random_body(rng).pseudo_inertia for _ in range(3)])[:, None]
    unknown = np.array([ALL_ACCELERATIONS, ALL_ACTIONS])
    acceleration = rng.normal(size=6)
    Phi = np.array([actions(one, acceleration) for one in J[:, 0]])[:, None]
    solution = solve_dynamic_equation(J, velocity_matrix(acceleration), Phi, unknown)
    assert solution.rank.shape == solution.solved.shape == solution.physical.shape == (3, 2)
    assert_allclose(twist_from_velocity_matrix(solution.W_rate), np.broadcast_to(acceleration, (3, 2, 6)), atol=1e-10)


@pytest.mark.parametrize("mass", [1e-20, 1e-6, 1e24])
@pytest.mark.parametrize("size", [1e-9, 1.0, 6e6])
def test_bodies_of_any_size(mass: float, size: float) -> None:
    cloud = random_body(np.random.default_rng(2))
    J = cloud._replace(masses=mass * cloud.masses, points=size * cloud.points).pseudo_inertia
    acceleration = np.array([1.0, -2.0, 3.0, 4.0 * size, 5.0 * size, -6.0 * size])
    solution = solve_dynamic_equation(J, np.zeros((4, 4)), actions(J, acceleration), ALL_ACCELERATIONS)
    assert solution.status == "solved"
    assert_allclose(twist_from_velocity_matrix(solution.W_rate), acceleration, rtol=1e-10)


def test_a_rod_does_not_resist_a_turn_about_itself() -> None:
    rod = np.diag([0.1, 0.0, 0.0, 2.0])
    none, pull = np.zeros((4, 4)), action_matrix([0.0, 0.0, 0.0, 2.0, 0.0, 0.0])
    solution = solve_dynamic_equation(rod, none, pull, ALL_ACCELERATIONS)
    assert solution.status == "the system is singular (rank 5 of 6)"
    assert (solution.solved, solution.physical, solution.success) == (False, True, False)
    assert np.isnan(solution.W_rate[:3, 3]).all()
    held = [[0, 1, 1, 1, 1, 1], [1, 0, 0, 0, 0, 0]]
    solution = solve_dynamic_equation(rod, none, pull, held)
    assert solution.status == "solved"
    assert_allclose(solution.W_rate[:3, 3], [1.0, 0.0, 0.0])
    oblique = pseudo_inertia(2.0, [1.0, 2.0, -3.0], 0.1 * (np.eye(3) - np.full((3, 3), 1 / 3)))
    assert solve_dynamic_equation(oblique, none, pull, ALL_ACCELERATIONS).rank == 5


def test_bodies_that_cannot_be() -> None:
    none, pull = np.zeros((4, 4)), action_matrix([0.0, 0.0, 0.0, 2.0, 0.0, 0.0])
    nothing = solve_dynamic_equation(none, none, pull, ALL_ACCELERATIONS)
    assert nothing.status == "the system is singular (rank 0 of 6)"
    assert not nothing.physical
    # Moments of inertia 1, 1, 3 break the triangle inequality, and mass below zero exists nowhere.
    for impossible in (pseudo_inertia(2.0, np.zeros(3), np.diag([1.0, 1.0, 3.0])), np.diag([1.0, 1.0, 1.0, -2.0])):
        solution = solve_dynamic_equation(impossible, none, pull, ALL_ACCELERATIONS)
        assert (solution.solved, solution.physical) == (True, False)
        assert solution.status == "solved, but no body with mass has the inertia J"
        assert_allclose(solution.W_rate[0, 3], 2.0 / impossible[3, 3])
    askew = np.diag([1.0, 1.0, 1.0, 2.0])
    askew[3, 1] = 1.0
    solution = solve_dynamic_equation(askew, none, pull, ALL_ACCELERATIONS)
    assert (solution.solved, solution.physical) == (False, False)
    assert solution.status == "J is not symmetric"


@pytest.mark.parametrize("choice", ONE_OF_EACH[::5])
def test_components_that_stand_in_one_of_their_two_places_are_refused(choice: np.ndarray) -> None:
    """They would be halved; what stands in the places of unknowns does not matter."""
    rng = np.random.default_rng(6)
    J, acceleration = random_body(rng).pseudo_inertia, rng.normal(size=6)
    W_rate, Phi = hidden(velocity_matrix(acceleration), actions(J, acceleration), choice)
    assert solve_dynamic_equation(J, W_rate, Phi, choice).success
    places = [(2, 1), (0, 2), (1, 0), (0, 3), (1, 3), (2, 3)]
    for k, (i, j) in enumerate(places):
        for row, column in ((i, j), (j, i)):
            motion, action = W_rate.copy(), Phi.copy()
            (action if choice[0, k] else motion)[row, column] = 0.0
            found = solve_dynamic_equation(J, motion, action, choice)
            if j == 3 and not choice[0, k]:  # an acceleration stands in one place, below it is 0
                assert found.success
                continue
            assert not found.solved
            assert found.status.startswith("Phi is not [[skew" if choice[0, k] else "W_rate is not [[skew")
            unknown = np.append(twist_from_velocity_matrix(found.W_rate), wrench_from_action_matrix(found.Phi))
            assert np.isnan(unknown[choice.ravel() == 1]).all()
            motion, action = W_rate.copy(), Phi.copy()
            (motion if choice[0, k] else action)[row, column] = 7.0
            assert solve_dynamic_equation(J, motion, action, choice).success == (not (row == 3 and choice[0, k]))


def test_numbers_in_the_place_of_zeros_are_refused() -> None:
    rng = np.random.default_rng(7)
    J, acceleration, omega = random_body(rng).pseudo_inertia, rng.normal(size=6), rng.normal(size=3)
    W_rate, Phi = velocity_matrix(acceleration), actions(J, acceleration)
    for k in range(4):
        wrong = Phi.copy()
        wrong[k, k] = 0.1
        assert solve_dynamic_equation(J, W_rate, wrong, ALL_ACCELERATIONS).status.startswith("Phi is not")
        wrong = W_rate.copy()
        wrong[k, k] = 0.1
        assert solve_dynamic_equation(J, wrong, Phi, ALL_ACTIONS).status.startswith("W_rate is not")
        assert solve_dynamic_equation(J, wrong, Phi, ALL_ACCELERATIONS).success  # nothing of it is given
    W = velocity_matrix(np.append(omega, np.zeros(3)))
    H = W_rate + W @ W
    assert "subtract W²" in solve_dynamic_equation(J, H, Phi, ALL_ACTIONS).status
    assert solve_dynamic_equation(J, H - W @ W, Phi, ALL_ACTIONS).success


def test_what_rounding_leaves_of_larger_actions_is_legal() -> None:
    """Forces in equilibrium: their sum is not skew to rounding, and the body stays at rest."""
    rng = np.random.default_rng(8)
    J = random_body(rng).pseudo_inertia
    force = actions(J, rng.normal(size=6))
    T = np.eye(4)
    T[:3, 3] = rng.normal(size=3)
    residue = T @ (1e3 * force) @ T.T / 1e3 - T @ force @ T.T
    assert np.any(residue != -residue.T)
    found = solve_dynamic_equation(J, np.zeros((4, 4)), residue, ALL_ACCELERATIONS)
    assert found.success
    assert np.abs(found.W_rate).max() < 1e-12


def test_every_choice_of_unknowns_examines_its_matrices() -> None:
    """Those of two unknowns for one component are solved elsewhere."""
    rng = np.random.default_rng(9)
    J, acceleration = random_body(rng).pseudo_inertia, rng.normal(size=6)
    unknown = [[0, 0, 1, 0, 0, 1], [1, 0, 1, 1, 1, 0]]
    W_rate, Phi = hidden(velocity_matrix(acceleration), actions(J, acceleration), np.array(unknown))
    assert solve_dynamic_equation(J, W_rate, Phi, unknown).solved
    one_sided = Phi.copy()
    one_sided[0, 2] = 0.0
    found = solve_dynamic_equation(J, W_rate, [Phi, one_sided], unknown)
    assert found.solved.tolist() == [True, False]
    assert found.status.startswith("2 of 2 samples are not well; the first, (0,): solved, but one component has two")


def test_a_pair_of_unknowns_leaves_another_pair_without() -> None:
    """Both the x acceleration and the x force are unknown, neither in y."""
    unknown = [[0, 0, 0, 1, 0, 1], [1, 1, 1, 1, 0, 0]]
    none = np.zeros((4, 4))
    ball = solve_dynamic_equation(np.diag([1.0, 1.0, 1.0, 2.0]), none, none, unknown)
    assert ball.status == "the system is singular (rank 5 of 6)"
    assert not ball.physical


def test_nan_stays_in_its_sample() -> None:
    rng = np.random.default_rng(3)
    J = np.array([random_body(rng).pseudo_inertia for _ in range(4)])
    acceleration = rng.normal(size=(4, 6))
    Phi = np.array([actions(one, a) for one, a in zip(J, acceleration, strict=True)])
    expected = solve_dynamic_equation(J, np.zeros((4, 4)), Phi, ALL_ACCELERATIONS).W_rate
    J[0, 0, 0], Phi[2, 0, 3] = np.nan, np.inf
    solution = solve_dynamic_equation(J, np.zeros((4, 4)), Phi, ALL_ACCELERATIONS)
    assert solution.solved.tolist() == [False, True, False, True]
    assert solution.physical.tolist() == [False, True, True, True]
    assert np.isnan(twist_from_velocity_matrix(solution.W_rate[[0, 2]])).all()
    assert_allclose(solution.W_rate[[1, 3]], expected[[1, 3]], rtol=1e-14)
    assert solution.status.startswith("2 of 4 samples are not well; the first, (0,): J or a given component of W_rate")


def test_overflow_is_no_solution() -> None:
    light, shove = 1e-100 * np.eye(4), action_matrix([0.0, 0.0, 0.0, 1e250, 0.0, 0.0])
    solution = solve_dynamic_equation(light, np.zeros((4, 4)), shove, ALL_ACCELERATIONS)
    assert (solution.rank, solution.solved, solution.physical) == (6, False, True)


def test_wrong_arguments() -> None:
    J = none = np.zeros((4, 4))
    with pytest.raises(ArgumentError, match="5 components are unknown; six equations need six unknowns"):
        solve_dynamic_equation(J, none, none, [[1] * 5 + [0], [0] * 6])
    with pytest.raises(ArgumentError, match=r"unknown has shape \(6,\), not \(..., 2, 6\)"):
        solve_dynamic_equation(J, none, none, [1] * 6)
    with pytest.raises(ArgumentError, match="neither 0 nor 1"):
        solve_dynamic_equation(J, none, none, [[2] * 3 + [0] * 3, [0] * 6])
    with pytest.raises(ArgumentError, match=r"W_rate has shape \(3, 3\)"):
        solve_dynamic_equation(J, np.zeros((3, 3)), none, ALL_ACTIONS)
    with pytest.raises(ArgumentError, match="solve_dynamic_equation: Phi must be an array of real numbers"):
        solve_dynamic_equation(J, none, 1j * none, ALL_ACTIONS)
    with pytest.raises(ArgumentError, match="2 flags, not 6"):
        hybrid_dynamics(J, none, none, (True, False))


def test_compiled_solution_agrees_for_every_choice() -> None:
    rng = np.random.default_rng(4)
    J = np.array([random_body(rng).pseudo_inertia for _ in range(5)])
    acceleration = rng.normal(size=(5, 6))
    W_rate, Phi = velocity_matrix(acceleration), np.array(list(map(actions, J, acceleration)))
    for unknown in ONE_OF_EACH[::7]:
        choice = tuple(map(bool, unknown[0]))
        motion, action = hybrid_dynamics(J, *hidden(W_rate, Phi, unknown), choice)
        assert_allclose(motion, W_rate, atol=1e-11)
        assert_allclose(action, Phi, atol=1e-10)


def test_every_choice_of_one_unknown_in_each_pair_is_a_program() -> None:
    for unknown in ONE_OF_EACH:
        program = hybrid_solution.specialize(acceleration_unknown=tuple(map(bool, unknown[0]))).program
        assert [output.name for output in program.outputs] == ["W_rate", "Phi", "rank", "problem", "physical"]


def test_derivative_of_the_acceleration_is_the_inverse_inertia() -> None:
    J = random_body(np.random.default_rng(5)).pseudo_inertia
    jacobian = hybrid_dynamics.jacobian("W_rate", wrt="Phi")(J, np.zeros((4, 4)), np.zeros((4, 4)))
    units = action_matrix(np.eye(6))
    columns = [twist_from_velocity_matrix(np.einsum("ijkl,kl", jacobian, unit)) for unit in units]
    assert_allclose(np.array(columns).T, np.linalg.inv(spatial(J)), atol=1e-11)


def test_symbols_give_the_solution() -> None:
    m, x, I, f = sympy.symbols("m x I f", positive=True)
    J = pseudo_inertia(m, [x, 0, 0], I * np.eye(3, dtype=int))
    none, push = np.zeros((4, 4), dtype=int), action_matrix(np.array([0, 0, 0, 0, f, 0]))
    motion, _ = hybrid_dynamics(J, none, push)
    # A push in the origin, x beside the centre of mass: the body turns by -f x / I about it.
    found = [sympy.simplify(motion[1, 0]), sympy.simplify(motion[1, 3])]
    assert sympy.simplify(found[0] + f * x / I) == 0
    assert sympy.simplify(found[1] - (f / m + f * x**2 / I)) == 0


def test_exact_solution_of_a_stiff_case() -> None:
    """A grain of 1 g with a radius of 1 mm, 10 m from the origin: elimination in fractions is the oracle.

    The inertia, made dimensionless, has a condition number of 2e8, so eight digits are what the data hold.
    """
    J = pseudo_inertia(1e-3, [10.0, 0.0, 0.0], 1e-9 * np.eye(3))
    S = spatial(J)
    unit = np.sqrt(np.diag(S))
    condition = np.linalg.cond(S / np.outer(unit, unit))
    exact = sympy.Matrix(6, 6, [sympy.Rational(float(value)) for value in S.ravel()]).LUsolve(
        sympy.Matrix([0, 0, 0, 0, sympy.Rational(1e-3), 0])
    )
    push = action_matrix([0.0, 0.0, 0.0, 0.0, 1e-3, 0.0])
    solution = solve_dynamic_equation(J, np.zeros((4, 4)), push, ALL_ACCELERATIONS)
    assert solution.success
    found, expected = twist_from_velocity_matrix(solution.W_rate), np.array(exact, dtype=float).ravel()
    assert_allclose(found, expected, rtol=2 * np.finfo(float).eps * condition)
