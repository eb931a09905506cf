"""Base parameters: closed form against random motions, Khalil's published relations, and known counts."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.oracles.example_robots import example

from chasles import algorithms as alg
from chasles.algorithms import Grouping
from chasles.base.errors import ArgumentError
from chasles.model import build_tree, from_dh, load, parse_urdf, with_values
from chasles.model.inertial_parameters import inertial_parameter_names
from chasles.model.tree import Tree

FILES = (
    "ur5_robot.urdf",
    "z1.urdf",
    "xarm7.urdf",
    "allegro_left_hand.urdf",
    "solo12.urdf",
    "hextilt_flying_arm_5.urdf",
)


def motions(tree: Tree, seed: int = 0) -> Any:
    """Torque regressors of random motions, one below the other: more rows than parameters."""
    rng = np.random.default_rng(seed)
    count = 1 + 2 * 13 * len(tree.bodies) // tree.n
    return np.vstack([alg.torque_regressor(tree, *rng.normal(size=(3, tree.n))) for _ in range(count)])


def rank(Y: Any) -> int:
    lengths = np.linalg.norm(Y, axis=0)
    return int(
        np.linalg.matrix_rank(Y[:, lengths > 1e-9 * lengths.max()] / lengths[lengths > 1e-9 * lengths.max()], 1e-8)
    )


def check(tree: Tree, grouping: Grouping) -> None:
    """The base parameters give every torque, and there are not more than torques can tell."""
    Y = motions(tree, seed=1)
    independent = list(grouping.independent)
    assert np.array_equal(grouping.matrix[:, independent], np.eye(len(independent)))
    assert np.abs(Y[:, independent] @ grouping.matrix - Y).max() < 1e-9 * np.abs(Y).max()
    assert len(independent) == rank(Y)


def numerically(tree: Tree) -> Grouping:
    return alg.group_columns(motions(tree), alg.preferred_columns(tree))[0]


def check_both(tree: Tree) -> Grouping:
    grouping, found = alg.regroup(tree), numerically(tree)
    check(tree, grouping)
    assert grouping.independent == found.independent
    assert np.abs(grouping.matrix - found.matrix).max() < 1e-8
    return grouping


@pytest.mark.parametrize("name", ["gen3", "iiwa14", "jaco", "panda", "planar2r", "puma560", "scara", "stanford", "ur5"])
def test_shipped_robots(name: str) -> None:
    check_both(build_tree(load(name)))


@pytest.mark.parametrize("file", FILES)
def test_example_robots(file: str) -> None:
    check_both(build_tree(parse_urdf(example(file).read_text(), check=False)))


@pytest.mark.parametrize(
    "kinds", [("revolute",), ("prismatic",), ("revolute", "prismatic"), ("revolute", "prismatic", "helical")]
)
@pytest.mark.parametrize("seed", range(4))
def test_random_trees(seed: int, kinds: tuple[str, ...], trees: SimpleNamespace) -> None:
    check_both(trees.with_link_frames(trees.random(seed, 5, kinds), seed))


@pytest.mark.parametrize("seed", range(12))
def test_special_geometry(seed: int) -> None:
    """Parallel, perpendicular and intersecting axes, in random order: where the general rules leave too many."""
    rng = np.random.default_rng(seed)
    rows = [
        {
            "alpha": rng.choice([0.0, np.pi / 2, -np.pi / 2, np.pi]),
            "a": rng.choice([0.0, 0.3]),
            "d": rng.choice([0.0, 0.2]),
            "kind": rng.choice(["revolute", "prismatic"]),
        }
        for _ in range(5)
    ]
    gravity = rng.choice([0.0, 9.81], 3)
    check_both(build_tree(from_dh(rows, convention="modified", gravity=gravity)))


def khalil(rows: list[dict[str, float]]) -> Any:
    """Regrouping matrix of a serial arm of turning joints, by the relations of Gautier and Khalil (1990).

    In modified DH frames, with the parameters of a link as here. For joint j, from the last to the second: YY, MZ and M
    of link j join others of links j and j - 1 (equations for a revolute joint).
    """
    n = len(rows)
    M, MX, MY, MZ, XX, XY, XZ, YY, YZ, ZZ = range(10)
    values = np.eye(10 * n)
    for j in range(n - 1, -1, -1):
        own = values[10 * j : 10 * j + 10]
        yy, mz, m = own[YY].copy(), own[MZ].copy(), own[M].copy()
        own[XX] -= yy
        own[[YY, MZ, M]] = 0.0
        if j == 0:
            continue
        parent = values[10 * j - 10 : 10 * j]
        alpha, d, r = rows[j]["alpha"], rows[j]["a"], rows[j]["d"]
        c, s = np.cos(alpha), np.sin(alpha)
        parent[XX] += yy + 2 * r * mz + r * r * m
        parent[XY] += d * s * mz + d * r * s * m
        parent[XZ] += -d * c * mz - d * r * c * m
        parent[YY] += c * c * yy + 2 * r * c * c * mz + (d * d + r * r * c * c) * m
        parent[YZ] += c * s * yy + 2 * r * c * s * mz + r * r * c * s * m
        parent[ZZ] += s * s * yy + 2 * r * s * s * mz + (d * d + r * r * s * s) * m
        parent[MX] += d * m
        parent[MY] += -s * mz - r * s * m
        parent[MZ] += c * mz + r * c * m
        parent[M] += m
    return values


def test_khalils_relations() -> None:
    rng = np.random.default_rng(0)
    rows = [{"alpha": rng.normal(), "a": rng.normal(), "d": rng.normal()} for _ in range(6)]
    rows[0] = {"alpha": 0.0, "a": 0.0, "d": 0.0}
    tree = build_tree(from_dh(rows, convention="modified"))
    grouping = alg.regroup(tree)
    expected = khalil(rows)
    of_links = [k for k in grouping.independent if k < 60]
    assert [k % 10 for k in of_links[-7:]] == [1, 2, 4, 5, 6, 8, 9]  # MX MY XX XY XZ YZ ZZ
    assert len(of_links) == 1 + 5 * 7  # of the first link only ZZ, about a vertical axis
    assert np.abs(grouping.matrix[: len(of_links), :60] - expected[of_links]).max() < 1e-12


def inertial(name_or_rows: Any, **options: Any) -> list[str]:
    """Names of the base parameters of inertia."""
    description = load(name_or_rows) if isinstance(name_or_rows, str) else from_dh(name_or_rows, **options)
    tree = build_tree(description)
    names = inertial_parameter_names(tree)
    return [names[k] for k in alg.regroup(tree).independent if k < 10 * len(tree.bodies)]


def test_known_counts() -> None:
    assert len(inertial("puma560")) == 36
    rod = {"a": 0.5}
    assert inertial([rod, rod], gravity=[0.0, -9.81, 0.0]) == [
        "link1.mx", "link1.my", "link1.Izz", "link2.mx", "link2.my", "link2.Izz",
    ]  # fmt: skip
    assert inertial([rod, rod], gravity=[0.0, 0.0, -9.81]) == ["link1.Izz", "link2.mx", "link2.my", "link2.Izz"]
    # a cart acts by its mass only, whatever it carries, until that turns
    assert inertial([{"kind": "prismatic"}, {"kind": "prismatic", "alpha": 0.3}]) == ["link1.m", "link2.m"]


def test_armature_of_the_first_two_joints_at_right_angles_joins_the_moment_of_inertia() -> None:
    tree = build_tree(load("puma560"))
    names = inertial_parameter_names(tree)
    grouping = alg.regroup(tree)
    rows = {names[k]: row for k, row in zip(grouping.independent, grouping.matrix, strict=True)}
    assert rows["link1.Iyy"][names.index("joint1.armature")] == pytest.approx(1.0)
    assert rows["link2.Izz"][names.index("joint2.armature")] == pytest.approx(1.0)
    assert "joint3.armature" in rows


def test_without_gravity_less_acts() -> None:
    assert len(inertial("puma560")) == 36
    description = load("puma560").with_gravity([0.0, 0.0, 0.0])
    tree = build_tree(description)
    check(tree, alg.regroup(tree))


def test_masses_do_not_matter() -> None:
    description = load("ur5")
    heavier = with_values(description, {"links.link3.mass": 17.0, "joints.joint2.viscous_friction": 3.0})
    one, other = alg.regroup(build_tree(description)), alg.regroup(build_tree(heavier))
    assert one.independent == other.independent
    assert np.array_equal(one.matrix, other.matrix)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_size_does_not_matter(size: float, trees: SimpleNamespace) -> None:
    tree = trees.with_link_frames(trees.random(2, 5, ("revolute", "prismatic")), 2)
    bodies = tuple(replace(body, p_parent_body=size * body.p_parent_body) for body in tree.bodies)
    frames = {name: replace(place, p_body_frame=size * place.p_body_frame) for name, place in tree.frames.items()}
    scaled = replace(tree, bodies=bodies, frames=frames)
    unit = np.concatenate([np.tile([1.0, *[size] * 3, *[size**2] * 6], 5), np.tile([1.0, 1.0, size**2], 5)])
    one, other = alg.regroup(tree), alg.regroup(scaled)
    assert one.independent == other.independent
    expected = one.matrix * unit[list(one.independent), None] / unit
    assert np.abs(other.matrix - expected).max() < 1e-12 * np.abs(expected).max()


def test_mimic_joints_need_the_numerical_method(trees: SimpleNamespace) -> None:
    tree = trees.with_link_frames(trees.with_mimic(trees.random(4, 5, ("revolute", "prismatic"))), 4)
    with pytest.raises(ArgumentError, match="mimic joints"):
        alg.regroup(tree)
    check(tree, numerically(tree))


def test_no_bodies() -> None:
    grouping = alg.regroup(Tree((), {}, 0, 0, np.array([0.0, 0.0, -9.81])))
    assert grouping.independent == ()
    assert grouping.matrix.shape == (0, 0)


def test_condition_of_the_columns() -> None:
    rng = np.random.default_rng(3)
    Y = rng.normal(size=(40, 6)) @ np.diag([1.0, 1e3, 1e-3, 1.0, 1.0, 1.0])
    Y[:, 4] = 2.0 * Y[:, 0] - Y[:, 1]
    Y[:, 5] = 0.0
    grouping, condition = alg.group_columns(Y, range(6))
    assert grouping.independent == (0, 1, 2, 3)
    assert grouping.matrix[:, 4] == pytest.approx([2.0, -1.0, 0.0, 0.0])
    assert not grouping.matrix[:, 5].any()
    scaled = Y[:, :4] / np.linalg.norm(Y[:, :4], axis=0)
    assert condition == pytest.approx(np.linalg.cond(scaled))
    assert alg.group_columns(Y, [4, 5, 3, 2, 1, 0])[0].independent == (1, 2, 3, 4)
