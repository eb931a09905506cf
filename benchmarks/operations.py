"""Operations of torque and mass-matrix programs, with and without regrouped inertias, beside the published method."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.tables import Table
from chasles.algorithms import mass_matrix
from chasles.algorithms.joint_motion import WORLD, along_joint, joint_positions, joint_rates, poses_in_parent, screw
from chasles.algorithms.mass_moments import (
    MassMoments,
    added,
    grouped_mass_moments,
    inertia_times,
    mass_moments,
    seen_from_parent,
)
from chasles.algorithms.newton_euler import body_accelerations, inertial_wrench, transmitted_wrenches
from chasles.algorithms.spatial import Wrench
from chasles.engine import Program, trace
from chasles.geometry.elementary import cross
from chasles.model import Tree, build_tree, load

ROBOTS = {"puma560": "PUMA 560", "stanford": "Stanford arm"}
SAMPLE = 3
TOLERANCE = 1e-12

Moments = Callable[[Tree], list[MassMoments]]


def tables() -> Iterator[Table]:
    """Torques and mass matrix."""
    torques = Table(
        "Operations of inverse dynamics without friction (multiplications, additions, sines and cosines)",
        (
            "",
            "each body's own inertia",
            "regrouped",
            "customised Newton-Euler, base parameters",
            "Newton-Euler, any arm",
        ),
        notes=[
            "Full inertias: no parameter of any link is zero. Changes of sign are not counted.",
            "Customised Newton-Euler: the recursion of Khalil & Kleinfinger (1987) on Gautier & Khalil's base "
            "parameters, written here and counted by the same rules; the counts that they print are not at hand.",
            "Any arm: 126 n - 99 multiplications, 106 n - 92 additions (Craig, Introduction to Robotics, chapter 6).",
        ],
    )
    masses = Table(
        "Operations of the mass matrix (multiplications, additions, sines and cosines)",
        ("", "each body's own inertia", "regrouped"),
    )
    for robot, title in ROBOTS.items():
        own = build_tree(load(robot))
        for inertias, tree in (("its inertias", own), ("full inertias", with_full_inertias(own))):
            programs = [
                torque_program(tree, each_body, newton_euler),
                torque_program(tree, grouped_mass_moments, newton_euler),
                torque_program(tree, khalils_moments, customised_newton_euler),
            ]
            check_equal(programs)
            n = tree.n
            torques.add(f"{title}, {inertias}", *map(counts, programs), f"{126 * n - 99} + {106 * n - 92}")
            programs = [mass_matrix_program(tree, moments) for moments in (each_body, grouped_mass_moments)]
            check_equal([*programs, trace(lambda q, tree=tree: mass_matrix(tree, q), {"q": (n,)}, name="M")])
            masses.add(f"{title}, {inertias}", *map(counts, programs))
    yield torques
    yield masses


def counts(program: Program) -> str:
    """Multiplications + additions + sines and cosines."""
    of = program.operations
    known = {"mul", "add", "sub", "neg", "sin", "cos"}
    if set(of) - known:
        raise ValueError(f"operations that the table does not count: {sorted(set(of) - known)}")
    return f"{of.get('mul', 0)} + {of.get('add', 0) + of.get('sub', 0)} + {of.get('sin', 0) + of.get('cos', 0)}"


def check_equal(programs: list[Program]) -> None:
    """Raise unless all programs compute the same."""
    rng = np.random.default_rng(0)
    for _ in range(SAMPLE):
        x = rng.normal(size=sum(argument.size for argument in programs[0].inputs)).tolist()
        first, *others = (np.array(program.replay(x)) for program in programs)
        for other in others:
            if np.abs(other - first).max() > TOLERANCE * np.abs(first).max():
                raise AssertionError("the programs to count do not compute the same")


def with_full_inertias(tree: Tree) -> Tree:
    """The tree with bodies of random mass points in place of its own."""
    rng = np.random.default_rng(0)

    def body(old: Any) -> Any:
        masses, points = rng.uniform(0.1, 1.0, 6), rng.normal(size=(6, 3))
        inertia = sum(m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(masses, points, strict=True))
        return replace(old, mass=masses.sum(), first_moment=masses @ points, inertia=inertia)

    return replace(tree, bodies=tuple(map(body, tree.bodies)))


def torque_program(tree: Tree, moments: Moments, recursion: Callable[..., Any]) -> Program:
    """Program of the torques of the bodies alone."""
    shapes = dict.fromkeys(("q", "qd", "qdd"), (tree.n,))
    return trace(lambda q, qd, qdd: recursion(tree, moments(tree), q, qd, qdd), shapes, name="tau")


def newton_euler(tree: Tree, moments: list[MassMoments], q: Any, qd: Any, qdd: Any) -> Any:
    """Chasles' recursion on given moments of mass."""
    poses = poses_in_parent(tree, joint_positions(tree, q))
    accelerations = body_accelerations(tree, poses, joint_rates(tree, qd), joint_rates(tree, qdd), tree.gravity)
    net = [inertial_wrench(of_body, a) for of_body, a in zip(moments, accelerations, strict=True)]
    return torques(tree, poses, net)


def customised_newton_euler(tree: Tree, moments: list[MassMoments], q: Any, qd: Any, qdd: Any) -> Any:
    """Khalil & Kleinfinger's recursion: F = M a + U MS and N = J omega_dot + omega x J omega + MS x a.

    W. Khalil, J.-F. Kleinfinger, Minimum operations and minimum parameters of the dynamic models of tree structure
    robots, IEEE J. Robotics and Automation 3(6), 1987.
    """
    poses = poses_in_parent(tree, joint_positions(tree, q))
    accelerations = body_accelerations(tree, poses, joint_rates(tree, qd), joint_rates(tree, qdd), tree.gravity)
    net = []
    for of_body, a in zip(moments, accelerations, strict=True):
        J = np.trace(of_body.second) * np.eye(3) - of_body.second
        J = np.where(np.abs(J) < 1e-14, 0.0, J)
        spin = J @ a.omega_dot + cross(a.omega, J @ a.omega)
        force = of_body.mass * a.linear + a.matrix @ of_body.first
        net.append(Wrench(spin + cross(of_body.first, a.linear), force))
    return torques(tree, poses, net)


def torques(tree: Tree, poses: Any, net: list[Wrench]) -> Any:
    transmitted = transmitted_wrenches(tree, poses, net)
    return np.array([along_joint(body, wrench) for body, wrench in zip(tree.bodies, transmitted, strict=True)])


def mass_matrix_program(tree: Tree, moments: Moments) -> Program:
    """Program of the composite-rigid-body algorithm on given moments of mass, armature included."""

    def compute(q: Any) -> Any:
        positions = joint_positions(tree, q)
        poses, composite, M = poses_in_parent(tree, positions), moments(tree), np.zeros((tree.n, tree.n), dtype=object)
        for i in reversed(range(tree.n)):
            parent = tree.bodies[i].parent
            if parent != WORLD:
                composite[parent] = added(
                    composite[parent], seen_from_parent(tree.bodies[i], positions[i], composite[i])
                )
        for i, body in enumerate(tree.bodies):
            wrench, j = inertia_times(composite[i], screw(body)), i
            M[i, i] = along_joint(body, wrench) + body.armature
            while tree.bodies[j].parent != WORLD:
                wrench = wrench.seen_from(*poses[j])
                j = tree.bodies[j].parent
                M[i, j] = M[j, i] = along_joint(tree.bodies[j], wrench)
        return M

    return trace(compute, {"q": (tree.n,)}, name="M")


def each_body(tree: Tree) -> list[MassMoments]:
    """Moments of the bodies as they are."""
    return [mass_moments(body) for body in tree.bodies]


def khalils_moments(tree: Tree) -> list[MassMoments]:
    """Gautier & Khalil's base parameters: of a turning body no mass, MZ and Iyy; of a sliding one no inertia."""
    moments = each_body(tree)
    nothing = np.zeros((3, 3))
    for i in reversed(range(tree.n)):
        body, (mass, first, second) = tree.bodies[i], moments[i]
        if body.angular:
            spread = np.diag([0.0, 0.0, second[0, 0] + second[2, 2]])  # what makes Iyy = Jxx + Jzz vanish
            moved = MassMoments(mass, first * [0.0, 0.0, 1.0], spread)
            moments[i] = MassMoments(0.0, first * [1.0, 1.0, 0.0], second - spread)
        else:
            moved = MassMoments(0.0, np.zeros(3), second)
            moments[i] = MassMoments(mass, first, nothing)
        if body.parent != WORLD:
            moments[body.parent] = added(moments[body.parent], seen_from_parent(body, 0.0, moved))
    return moments
