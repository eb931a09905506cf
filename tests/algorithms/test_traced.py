"""Every algorithm traced gives the program of the same numbers, and few operations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from chasles import algorithms as alg
from chasles.engine import trace
from chasles.model import build_tree, from_urdf, shipped_path

ALGORITHMS: dict[str, tuple[Callable[..., Any], int]] = {
    "forward_kinematics": (lambda tree, q: alg.forward_kinematics(tree, q, "tip5"), 1),
    "all_frames": (alg.all_frames, 1),
    "center_of_mass": (alg.center_of_mass, 1),
    "space jacobian": (lambda tree, q: alg.jacobian(tree, q, "tip5", "space"), 1),
    "body jacobian": (lambda tree, q: alg.jacobian(tree, q, "tip5", "body"), 1),
    "body jacobian_derivative": (lambda tree, q, qd: alg.jacobian_derivative(tree, q, qd, "tip5", "body"), 2),
    "aligned jacobian_derivative": (
        lambda tree, q, qd: alg.jacobian_derivative(tree, q, qd, "tip5", "world-aligned"),
        2,
    ),
    "inverse_dynamics": (alg.inverse_dynamics, 3),
    "pushed inverse_dynamics": (
        lambda tree, q, qd, qdd: alg.inverse_dynamics(tree, q, qd, qdd, {"tip5": np.array([*q[:3], *qd[:3]])}),
        3,
    ),
    "bias": (alg.bias, 2),
    "gravity_torque": (alg.gravity_torque, 1),
    "coriolis_vector": (alg.coriolis_vector, 2),
    "coriolis_matrix": (alg.coriolis_matrix, 2),
    "mass_matrix": (alg.mass_matrix, 1),
    "inverse_mass_matrix": (alg.inverse_mass_matrix, 1),
    "forward_dynamics": (alg.forward_dynamics, 3),
    "kinetic_energy": (alg.kinetic_energy, 2),
    "potential_energy": (alg.potential_energy, 1),
    "inverse_dynamics_derivatives": (alg.inverse_dynamics_derivatives, 3),
    "inverse_dynamics_hessian": (alg.inverse_dynamics_hessian, 4),
    "linearize": (alg.linearize, 3),
    "quadratic_model": (alg.quadratic_model, 4),
}


def flat(returned: Any) -> np.ndarray:
    parts = returned if isinstance(returned, tuple) else (returned,)
    return np.concatenate([np.ravel(part) for part in parts])


@pytest.mark.parametrize("mimic", [False, True], ids=["free", "mimic"])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_program_computes_what_the_function_does(name: str, mimic: bool, trees: SimpleNamespace) -> None:
    function, arity = ALGORITHMS[name]
    tree = trees.random(21)
    if mimic:
        tree = trees.with_mimic(tree)
    state = np.random.default_rng(1).normal(size=(arity, tree.n))
    program = trace(lambda *x: function(tree, *x), {f"x{k}": (tree.n,) for k in range(arity)})
    computed = np.array(program.replay(state.ravel().tolist()), dtype=float)
    assert trees.relative_error(computed, flat(function(tree, *state))) < 1e-10


def test_articulated_body_program(trees: SimpleNamespace) -> None:
    tree = trees.random(22)
    state = np.random.default_rng(1).normal(size=(3, 6))
    program = trace(lambda *x: alg.articulated_body_accelerations(tree, *x), {"q": (6,), "qd": (6,), "tau": (6,)})
    computed = np.array(program.replay(state.ravel().tolist()), dtype=float)
    assert trees.relative_error(computed, alg.articulated_body_accelerations(tree, *state)) < 1e-10


def test_parameters_can_be_traced(trees: SimpleNamespace) -> None:
    """Payload, gravity and friction as inputs of the program give what the robot with those numbers gives."""
    description = from_urdf(shipped_path("panda"))
    shapes = {"payload.mass": (), "payload.center_of_mass": (3,), "payload.inertia": (3, 3), "gravity": (3,)}
    joint = description.coordinates[0].name
    shapes |= {f"joints.{joint}.{name}": () for name in ("viscous_friction", "coulomb_friction", "coulomb_velocity")}

    def torque(q: Any, qd: Any, qdd: Any, *values: Any) -> Any:
        return alg.inverse_dynamics(build_tree(description, dict(zip(shapes, values, strict=True))), q, qd, qdd)

    def derivatives(q: Any, qd: Any, qdd: Any, *values: Any) -> Any:
        tree = build_tree(description, dict(zip(shapes, values, strict=True)))
        return alg.inverse_dynamics_derivatives(tree, q, qd, qdd)

    rng = np.random.default_rng(2)
    X = rng.normal(size=(3, 3))
    values = [1.5, rng.normal(size=3), X @ X.T, rng.normal(size=3), 0.3, 0.2, 0.1]
    n = description.n
    state = rng.normal(size=(3, n))
    inputs = {"q": (n,), "qd": (n,), "qdd": (n,)} | shapes
    numbers = np.concatenate([state.ravel(), *(np.ravel(v) for v in values)]).tolist()
    for function in (torque, derivatives):
        program = trace(function, {key.replace(".", "_"): shape for key, shape in inputs.items()})
        computed = np.array(program.replay(numbers), dtype=float)
        assert trees.relative_error(computed, flat(function(*state, *values))) < 1e-10


def full_panda() -> Any:
    """The Panda with no zero in its inertias."""
    tree = build_tree(from_urdf(shipped_path("panda")))
    rng = np.random.default_rng(0)
    bodies = []
    for body in tree.bodies:
        X = rng.normal(size=(3, 3))
        bodies.append(replace(body, mass=2.0, first_moment=rng.normal(size=3), inertia=X @ X.T))
    return replace(tree, bodies=tuple(bodies))


@pytest.mark.parametrize(
    ("function", "arity", "most"),
    [
        (alg.inverse_dynamics, 3, 650),
        (alg.mass_matrix, 1, 400),
        (alg.forward_dynamics, 3, 1250),
        (alg.coriolis_matrix, 2, 1500),
        (alg.inverse_dynamics_derivatives, 3, 3150),
        (alg.inverse_dynamics_hessian, 4, 5050),
        (alg.linearize, 3, 5250),
        (alg.quadratic_model, 4, 9600),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_operations_for_the_panda_with_full_inertias(function: Callable[..., Any], arity: int, most: int) -> None:
    """Additions, subtractions and multiplications, without friction: they are the speed of the compiled programs."""
    tree = full_panda()
    tree = replace(
        tree, bodies=tuple(replace(b, viscous_friction=0.0, coulomb_friction=0.0, armature=0.0) for b in tree.bodies)
    )
    program = trace(lambda *x: function(tree, *x), {f"x{k}": (tree.n,) for k in range(arity)})
    assert sum(program.operations.get(name, 0) for name in ("add", "sub", "mul")) <= most


def test_derivatives_grow_with_depth_not_with_size(trees: SimpleNamespace) -> None:
    """Six arms of five joints on one base cost six times one arm."""
    arm = trees.random(30, 5, serial=True)
    bodies = [
        replace(b, parent=b.parent + 5 * k if b.parent >= 0 else -1, coordinate=b.coordinate + 5 * k)
        for k in range(6)
        for b in arm.bodies
    ]
    arms = replace(arm, bodies=tuple(bodies), n=30, frames={})

    def operations(tree: Any) -> int:
        shapes = {"q": (tree.n,), "qd": (tree.n,), "qdd": (tree.n,)}
        return trace(lambda *x: alg.inverse_dynamics_derivatives(tree, *x), shapes).operation_count

    assert operations(arms) <= 6 * operations(arm)
