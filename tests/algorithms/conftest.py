"""Random kinematic trees of every kind of joint, and the same trees for Pinocchio."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from chasles.model.tree import MovingBody, Placement, Tree

KINDS = {"revolute": (1.0, 0.0), "prismatic": (0.0, 1.0), "helical": (1.0, 0.3)}


def random_body(rng: np.random.Generator, index: int, parent: int, kind: str) -> MovingBody:
    angular, pitch = KINDS[kind]
    points = rng.normal(size=(6, 3))  # a body of six mass points: always physically possible
    masses = rng.uniform(0.2, 1.0, 6)
    inertia = sum(m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(masses, points, strict=True))
    return MovingBody(
        name=f"body{index}",
        joint=f"joint{index}",
        parent=parent,
        R_parent_body=Rotation.random(random_state=rng).as_matrix(),
        p_parent_body=rng.normal(size=3),
        angular=angular,
        pitch=pitch,
        coordinate=index,
        position=index,
        ratio=1.0,
        offset=0.0,
        placed="coordinate",
        carries=True,
        mass=masses.sum(),
        first_moment=masses @ points,
        inertia=inertia,
        armature=rng.uniform(0.0, 0.5),
        viscous_friction=rng.uniform(0.0, 0.5),
        coulomb_friction=rng.uniform(0.0, 0.5),
        coulomb_velocity=rng.uniform(0.2, 1.0),
    )


def random_tree(
    seed: int, n: int = 6, kinds: tuple[str, ...] = tuple(KINDS), *, serial: bool = False, depth_first: bool = False
) -> Tree:
    """A tree with a frame `tip<i>` on every body, `base` on the world, and a gravity that is not along an axis.

    Pinocchio needs the bodies `depth_first`; we take any order with parents first.
    """
    rng = np.random.default_rng(seed)
    bodies: list[MovingBody] = []
    for i in range(n):
        parents = list(range(-1, i))
        if serial:
            parents = [i - 1]
        elif depth_first:
            parents = [i - 1]
            while parents[-1] >= 0:
                parents.append(bodies[parents[-1]].parent)
        bodies.append(random_body(rng, i, int(rng.choice(parents)), str(rng.choice(kinds))))
    frames = {
        f"tip{i}": Placement(i, Rotation.random(random_state=rng).as_matrix(), rng.normal(size=3)) for i in range(n)
    }
    frames["base"] = Placement(-1, Rotation.random(random_state=rng).as_matrix(), rng.normal(size=3))
    return Tree(tuple(bodies), frames, n, n, rng.normal(size=3) * 5)


def with_mimic(tree: Tree) -> Tree:
    """The tree with its last two joints following the first coordinate."""
    *kept, a, b = tree.bodies
    followers = (
        replace(a, coordinate=0, position=0, ratio=-0.7, offset=0.4),
        replace(b, coordinate=0, position=0, ratio=1.3, offset=-0.2),
    )
    return replace(tree, bodies=(*kept, *followers), nq=tree.n - 2, n=tree.n - 2)


def with_link_frames(tree: Tree, seed: int) -> Tree:
    """The tree with a frame for each body's link, anywhere on the body."""
    rng = np.random.default_rng(seed)
    frames = {
        body.name: Placement(i, Rotation.random(random_state=rng).as_matrix(), rng.normal(size=3))
        for i, body in enumerate(tree.bodies)
    }
    return replace(tree, frames=tree.frames | frames)


def without_losses(tree: Tree) -> Tree:
    """The tree without friction."""
    return replace(tree, bodies=tuple(replace(b, viscous_friction=0.0, coulomb_friction=0.0) for b in tree.bodies))


def for_pinocchio(tree: Tree) -> Any:
    """The tree as a Pinocchio model, armature included; for trees without mimic joints."""
    pin = importlib.import_module("pinocchio")
    model = pin.Model()
    ids: list[int] = []
    for body in tree.bodies:
        if body.angular == 0.0:
            joint = pin.JointModelPZ()
        else:
            joint = pin.JointModelHZ(body.pitch) if body.pitch else pin.JointModelRZ()
        parent = 0 if body.parent < 0 else ids[body.parent]
        ids.append(model.addJoint(parent, joint, pin.SE3(body.R_parent_body, body.p_parent_body), body.joint))
        c = body.first_moment / body.mass
        about_c = body.inertia - body.mass * (c @ c * np.eye(3) - np.outer(c, c))
        model.appendBodyToJoint(ids[-1], pin.Inertia(body.mass, c, about_c), pin.SE3.Identity())
    for name, place in tree.frames.items():
        parent = 0 if place.body < 0 else ids[place.body]
        model.addFrame(pin.Frame(name, parent, 0, pin.SE3(place.R_body_frame, place.p_body_frame), pin.OP_FRAME))
    model.armature = np.array([b.armature for b in tree.bodies])
    model.gravity.linear = tree.gravity
    return model


def relative_error(actual: Any, expected: Any) -> float:
    """Largest deviation by the largest entry of what is expected; entries below 1e-3 count as that large."""
    deviation = np.max(np.abs(np.asarray(actual) - expected), initial=0.0)
    return float(deviation / np.max(np.abs(expected), initial=1e-3))


def central_difference(function: Callable[[np.ndarray], Any], x: np.ndarray, h: float = 1e-3) -> np.ndarray:
    """Derivative of a function by a vector (last axis), by eighth-order central differences."""
    weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    columns = []
    for unit in np.eye(len(x)):
        columns.append(
            sum(
                w * (np.asarray(function(x + k * h * unit)) - np.asarray(function(x - k * h * unit)))
                for k, w in weights.items()
            )
            / h
        )
    return np.stack(columns, axis=-1)


@pytest.fixture(scope="session")
def trees() -> SimpleNamespace:
    return SimpleNamespace(
        random=random_tree,
        with_mimic=with_mimic,
        with_link_frames=with_link_frames,
        without_losses=without_losses,
        for_pinocchio=for_pinocchio,
        relative_error=relative_error,
        central_difference=central_difference,
    )
