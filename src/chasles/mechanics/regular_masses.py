"""Robots whose joints can move together without moving any mass: their forward dynamics have no answer."""

from __future__ import annotations

import numpy as np

from chasles import algorithms
from chasles.base.errors import ModelError
from chasles.model import Description, build_tree

_SINGULAR = 1e-13  # eigenvalue of a mass matrix scaled to a unit diagonal, which rounding makes of 0
_TAKES_PART = 0.1  # share of the largest velocity, from which on a joint is named
_SEED = 1


def require_regular_masses(description: Description, name: str) -> None:
    """Raise `ModelError` if the mass matrix is singular at a configuration that is drawn, and so at all of them.

    A joint that moves no mass by itself is told by the algorithms. Robots with loops are not judged. `name` is that of
    the computation in the message.

    Examples
    --------
    A base without mass turns one way, and the body on its hinge the other:

    >>> from chasles.model import Inertia, Joint, Link
    >>> from chasles.model.editing import with_free_base
    >>> links = Link("base"), Link("tip", Inertia(1.0, matrix=np.eye(3)))
    >>> hinge = Joint("j", "revolute", "base", "tip")
    >>> require_regular_masses(with_free_base(Description("arm", links=links, joints=(hinge,))), "forward_dynamics")
    Traceback (most recent call last):
    ...
    chasles.base.errors.ModelError: robot 'arm': joints 'base.wz', 'j' can move without moving any mass, so forward_...
    """
    if description.loops or not description.joint_velocity_names:
        return
    tree, rng = build_tree(description), np.random.default_rng(_SEED)
    q = algorithms.integrate(tree, description.home, rng.normal(size=len(description.joint_velocity_names)))
    M = np.asarray(algorithms.mass_matrix(tree, q), dtype=np.float64)
    scale = np.sqrt(np.abs(M.diagonal()))
    if not scale.all():
        return
    values, vectors = np.linalg.eigh(M / np.outer(scale, scale))
    least = np.argmin(np.abs(values))  # bodies that cannot exist may have negative ones, and an answer
    if abs(values[least]) > _SINGULAR * len(M):
        return
    moving = np.abs(vectors[:, least])
    joints = [repr(description.joint_velocity_names[k]) for k in np.flatnonzero(moving > _TAKES_PART * moving.max())]
    empty = [repr(body.name) for body in tree.bodies if body.carries and not body.mass and not np.any(body.inertia)]
    given = f"link {', '.join(empty)}" if empty else "the links"
    raise ModelError(
        f"robot '{description.name}': joints {', '.join(joints)} can move without moving any mass, so {name} has no "
        f"answer. Give {given} mass and inertia, or a joint motor_inertia"
    )
