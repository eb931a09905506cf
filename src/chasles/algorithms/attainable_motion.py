"""Motions that the joints can give the bodies: spans over all configurations and rates, found without sampling.

A motion by s of the joint with screw S multiplies the twists seen from the body by exp(-s ad S). So what a set
of twists becomes, over all s, spans the smallest space that holds the set and that ad S does not lead out of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from chasles.algorithms.joint_motion import WORLD
from chasles.geometry.elementary import Array, skew

if TYPE_CHECKING:
    from chasles.model.tree import MovingBody, Tree


class AttainableMotion(NamedTuple):
    """What a body can be given by the joints before its own, seen from the body in every position of its own joint.

    Each array holds a basis of a span in its rows.
    """

    twists: Array
    """Twists (k, 6)."""
    products: Array
    """Products v vᵀ of the twists that one configuration allows (k, 6, 6)."""
    gravity: Array
    """Directions of gravity, as twists that accelerate (k, 6)."""
    screw: Array
    """The screw (6,) of the body's own joint."""


def attainable_motions(tree: Tree, tolerance: float) -> list[AttainableMotion]:
    """Attainable motions of all bodies of a tree in which every joint moves freely.

    Parameters
    ----------
    tree
        The robot, of the size of 1: directions shorter than the tolerance do not count.
    tolerance
        Size of a direction that is taken for rounding.

    Notes
    -----
    Wensing, Niemeyer & Slotine, "A geometric characterization of observability in inertial parameter identification"
    (Int. J. Robotics Research, 2024), which names these spans and grows them from body to body.
    """
    motions: list[AttainableMotion] = []
    for body in tree.bodies:
        screw = np.array([0.0, 0.0, body.angular, 0.0, 0.0, body.pitch])
        if body.parent == WORLD:
            twists: Array = np.zeros((0, 6))
            products: Array = np.zeros((0, 36))
            gravity = np.concatenate([np.zeros(3), body.R_parent_body.T @ _direction(tree.gravity)])[None]
        else:
            before, X = motions[body.parent], seen_from_body(body)
            twists = np.vstack([before.twists, before.screw]) @ X.T
            products = _products_with_joint(before).reshape(-1, 36) @ np.kron(X, X).T
            gravity = before.gravity @ X.T
        turn = twist_product(screw)
        turn_of_products = np.kron(turn, np.eye(6)) + np.kron(np.eye(6), turn)
        motions.append(
            AttainableMotion(
                _closed(twists, turn, tolerance),
                _closed(products, turn_of_products, tolerance).reshape(-1, 6, 6),
                _closed(gravity, turn, tolerance),
                screw,
            )
        )
    return motions


def seen_from_body(body: MovingBody) -> Array:
    """Matrix (6, 6) that takes twists seen from the parent to twists seen from the body at joint position zero."""
    R, p = body.R_parent_body, body.p_parent_body
    return np.block([[R.T, np.zeros((3, 3))], [-R.T @ skew(p), R.T]])


def twist_product(screw: Array) -> Array:
    """Matrix (6, 6) of the cross product of a twist with others (Featherstone's motion cross product)."""
    omega, v = skew(screw[:3]), skew(screw[3:])
    return np.block([[omega, np.zeros((3, 3))], [v, omega]])


def _direction(gravity: Array) -> Array:
    length = np.linalg.norm(gravity)
    return gravity / length if length > 0.0 else gravity


def _products_with_joint(motion: AttainableMotion) -> Array:
    """Products of the twists that a body has when its own joint moves too."""
    mixed = np.einsum("ki,j->kij", motion.twists, motion.screw)
    square = np.outer(motion.screw, motion.screw)[None]
    return np.concatenate([motion.products, mixed + mixed.transpose(0, 2, 1), square])


def _closed(rows: Array, generator: Array, tolerance: float) -> Array:
    """Basis of the smallest space that holds the rows and their images under a generator, again and again."""
    basis = _basis(rows, tolerance)
    while True:
        larger = _basis(np.vstack([basis, basis @ generator.T]), tolerance)
        if len(larger) == len(basis):
            return basis
        basis = larger


def _basis(rows: Array, tolerance: float) -> Array:
    """Orthogonal basis of the span of rows; what is hardly attained stays short, so that it fades in products."""
    _, sizes, directions = np.linalg.svd(rows, full_matrices=False)
    kept = sizes > tolerance
    basis: Array = np.minimum(sizes[kept], 1.0)[:, None] * directions[kept]
    return basis
