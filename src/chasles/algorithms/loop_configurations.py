"""Configurations of a robot with loops: displacements of the independent joints, which the others follow.

The elements of q hold all joints. Those of the independent velocities are coordinates of the closed configurations, so
they are what displacements change; `normalize` and `integrate` let the others follow by Newton's method. Each step
solves J δ = -residual for the dependent joints' part of δ, in the least-squares sense, while the independent ones move
by their own part. Steps along a displacement are the predictor and the corrector of a path in one.

Source: Allgower & Georg, Introduction to Numerical Continuation Methods (2003), chapter 6.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.algorithms import configuration
from chasles.algorithms.closing import CLOSED
from chasles.algorithms.loops import dependent_rates, loop_constraints, velocity_map, with_independent
from chasles.engine import absolute, maximum, trace, where
from chasles.engine.function import Function
from chasles.engine.running.runner import holds_traced
from chasles.geometry.elementary import Array

if TYPE_CHECKING:
    from collections.abc import Callable

    from chasles.model.tree import Tree

NEWTON_STEPS = 3
"""Steps by which the dependent joints follow in `normalize`; each about doubles the digits."""
ALONG = 0.4, 0.7, 0.9, 1.0
"""Shares of a displacement at which `integrate` follows; the steps shorten, as its end may be near a singularity."""
AT_THE_END = 4
"""Steps at the end of a displacement."""
OPEN = 1e-9
"""Residual, m and rad, beyond which `normalize` returns no configuration."""


def configuration_rate(tree: Tree, q: Array, qd: Array) -> Array:
    """Rates of all elements of q."""
    return configuration.configuration_rate(tree, q, velocity_map(tree, q) @ qd)


def normalize(tree: Tree, q: Array) -> Array:
    """The same independent coordinates, with unit quaternions and closed loops; NaN where the loops stay open."""
    q = configuration.normalize(tree, q)
    step = _compiled(tree, _closing_step, q)
    for _ in range(NEWTON_STEPS):
        q = np.asarray(step(q))
    return _if_closed(tree, q, OPEN)


def integrate(tree: Tree, q: Array, v: Array) -> Array:
    """The independent coordinates after a displacement, and the others that close the loops, followed on the way."""
    origin = q
    if _shares_quaternions(tree):  # closing such a joint turns the axes of its independent velocities
        step = _compiled(tree, _step_from, q, origin=q, v=v)
        for share in [*ALONG, *[1.0] * AT_THE_END]:
            q = np.asarray(step(q, origin, share * v))
    else:
        step, closing = _compiled(tree, _step, q, v=v), _compiled(tree, _closing_step, q)
        for share, before in zip(ALONG, [0.0, *ALONG], strict=False):
            q = np.asarray(step(q, (share - before) * v))
        for _ in range(AT_THE_END):
            q = np.asarray(closing(q))
    return _if_closed(tree, q, CLOSED)


def difference(tree: Tree, q0: Array, q1: Array) -> Array:
    """Displacement of the independent coordinates."""
    return configuration.difference(tree, q0, q1)[list(tree.independent)]


def _closing_step(tree: Tree, q: Array) -> Array:
    """Step that closes the loops, while the independent joints rest."""
    return _step(tree, q, np.zeros(len(tree.independent)))


def _step(tree: Tree, q: Array, v: Array) -> Array:
    """Step that displaces the independent joints by v and closes the loops, to first order."""
    residual, J = loop_constraints(tree, q)
    others = dependent_rates(tree, J, -(residual + J[:, list(tree.independent)] @ v)[:, None])
    return configuration.integrate(tree, q, with_independent(tree, v[:, None], _made(others))[:, 0])


def _step_from(tree: Tree, q: Array, origin: Array, v: Array) -> Array:
    """Step to where the loops are closed and the independent joints are displaced from the origin by v."""
    return _step(tree, q, v - difference(tree, origin, q))


def _made(step: Array) -> Array:
    """The step, or none where the constraints do not determine it: a configuration that is closed stays as it is."""
    return np.array([[where(absolute(x) < np.inf, x, 0.0) for x in row] for row in step]).reshape(step.shape)


def _compiled(tree: Tree, step: Callable[..., Array], q: Array, **given: Array) -> Callable[..., Any]:
    """The step as a function of arrays: a sub-program that all steps share, where there is one for the robot."""
    if not holds_traced([q]) or _varies(tree):
        return partial(step, tree)
    shapes = {"q": np.shape(q), **{name: np.shape(value) for name, value in given.items()}}
    return Function(trace(partial(step, tree), shapes, name="close_loops", outputs=["q_next"]))


def _if_closed(tree: Tree, q: Array, most: float) -> Array:
    """The configuration, or NaN where a residual is larger."""
    residual = loop_constraints(tree, q).residual
    gap: Any = 0.0
    for row in tree.constraints:
        gap = maximum(gap, absolute(residual[row]))
    return np.array([where(gap <= most + tree.tolerance, value, np.nan) for value in q])


def _varies(tree: Tree) -> bool:
    """Whether placements of the tree are traced values themselves, as with ``vary=``."""
    parts = [part for body in tree.bodies for part in (body.R_parent_body, body.p_parent_body)]
    for loop in tree.loops:
        parts += [part for end in (loop.first, loop.second) for part in (end.R_body_frame, end.p_body_frame)]
    return any(np.asarray(part).dtype == object for part in parts)


def _shares_quaternions(tree: Tree) -> bool:
    """Whether some, but not all velocities of a spherical or free joint are independent."""
    for joint in configuration.quaternion_joints(tree):
        coordinates = [*range(joint.angular.start, joint.angular.stop), *range(joint.linear.start, joint.linear.stop)]
        if 0 < len(set(coordinates) & set(tree.independent)) < len(coordinates):
            return True
    return False
