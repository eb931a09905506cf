"""Closing the loops of a robot from a guess, on numbers: the search behind assembly and the study of mobility.

Levenberg and Marquardt's damped least squares with steps of limited length. Source: Nocedal & Wright, Numerical
Optimization (2nd ed. 2006), section 10.3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from chasles.algorithms.configuration import integrate, normalize
from chasles.algorithms.kinematics import body_poses, frame_pose
from chasles.algorithms.loops import LoopConstraints, loop_constraints
from chasles.geometry.elementary import Array

if TYPE_CHECKING:
    from chasles.model.tree import Tree

CLOSED = 1e-11
"""Largest residual of a closed loop, m and rad."""
LONGEST_STEP = 0.5
"""rad, or the share of the robot's size."""


class Closing(NamedTuple):
    """What a search for a closed configuration found."""

    q: Array
    """Configuration (nq,), closed or as near as the search came."""
    gap: float
    """Largest residual, m and rad."""
    loop: str
    """Name of the loop with the largest residual."""
    flipped: bool
    """Whether a loop is closed with a joint axis turned round, as no joint can be."""
    iterations: int

    @property
    def is_closed(self) -> bool:
        """Whether all loops are closed."""
        return self.gap <= CLOSED and not self.flipped


def close_loops(
    tree: Tree,
    q: Array,
    held: Sequence[int] = (),
    most_iterations: int = 100,
    constraints: Callable[[Array], LoopConstraints] | None = None,
) -> Closing:
    """Search for a closed configuration near a guess.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q
        Guess, shape (nq,).
    held
        Indices of velocities, of all joints, whose coordinates stay what they are.
    most_iterations
        Number of iterations after which the search gives up.
    constraints
        Function of q in place of `loop_constraints`, such as a compiled one.

    Examples
    --------
    With the first joint held, the second brings the tip to where a rod of 0.3 m can hold it:

    >>> from chasles.model import load, spanning_tree, with_loop
    >>> rod = {"T_first_joint": [0.75, 0.3, 0.0], "length": 0.3}
    >>> tree = spanning_tree(with_loop(load("planar2r"), "rod", "rod", "link0", "tool", **rod))
    >>> found = close_loops(tree, np.array([0.1, -0.5]), held=[0])
    >>> tip = 0.5 * np.exp(0.1j) + 0.25 * np.exp(1j * (0.1 + found.q[1]))
    >>> found.is_closed, float(round(abs(tip - (0.75 + 0.3j)), 9))
    (True, 0.3)
    """
    constraints = constraints or partial(loop_constraints, tree)
    size = tree_size(tree)
    scale = column_scales(tree, size)
    moving = np.setdiff1d(np.arange(tree.n), held)
    q = normalize(tree, q)
    residual, J = constraints(q)
    damping, iteration = 1e-3, 0
    while np.abs(residual).max(initial=0.0) > 1e-3 * CLOSED and iteration < most_iterations:
        iteration += 1
        A = J[:, moving] * scale[moving]
        damped = A.T @ A + damping * float(residual @ residual) / size**2 * np.eye(len(moving))
        step = np.linalg.lstsq(damped, -A.T @ residual, rcond=1e-14)[0]
        step *= min(1.0, LONGEST_STEP / max(float(np.abs(step).max(initial=0.0)), 1e-300))
        displacement = np.zeros(tree.n)
        displacement[moving] = step * scale[moving]
        q_next = integrate(tree, q, displacement)
        residual_next, J_next = constraints(q_next)
        if not residual_next @ residual_next < residual @ residual:
            if np.abs(residual).max() <= CLOSED or damping > 1e12:
                break  # rounding allows no better, or nothing helps
            damping *= 10.0
            continue
        damping = max(0.1 * damping, 1e-9)
        q, residual, J = q_next, residual_next, J_next
    gap, name = _largest(tree, residual)
    return Closing(q, gap, name, _is_flipped(tree, q), iteration)


def tree_size(tree: Tree) -> float:
    """Length that stands for a robot's size: the longest distance between neighbouring frames, m; 1 without any."""
    places = [body.p_parent_body for body in tree.bodies]
    places += [place.p_body_frame for loop in tree.loops for place in (loop.first, loop.second)]
    places += [np.array([constraint.length]) for loop in tree.loops for constraint in loop.constraints]
    return max((float(np.linalg.norm(p)) for p in places), default=0.0) or 1.0


def column_scales(tree: Tree, size: float) -> Array:
    """Displacements (n,) that count alike: 1 rad, and the size of the robot for translations."""
    scale = np.ones(tree.n)
    for body in tree.bodies:
        if body.angular == 0.0:
            scale[body.coordinate] = size
    return scale


def _largest(tree: Tree, residual: Array) -> tuple[float, str]:
    names = [loop.name for loop in tree.loops for _ in loop.constraints]
    if not names:
        return 0.0, ""
    worst = int(np.argmax(np.abs(residual)))
    return float(np.abs(residual[worst])), names[worst]


def _is_flipped(tree: Tree, q: Array) -> bool:
    poses = body_poses(tree, q)
    for loop in tree.loops:
        (R_1, _), (R_2, _) = frame_pose(loop.first, poses), frame_pose(loop.second, poses)
        if any((R_1 @ direction) @ (R_2 @ direction) < 0.0 for direction in loop.aligned):
            return True
    return False
