"""Closing the loops of a robot from a guess: the search behind assembly, closed configurations and mobility.

Levenberg and Marquardt's damped least squares with steps of limited length. One step is a function of arrays, repeated
here on numbers; `chasles.mechanics` compiles it for batches. Source: Nocedal & Wright, Numerical Optimization (2nd ed.
2006), section 10.3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from chasles.algorithms.configuration import integrate, normalize
from chasles.algorithms.kinematics import body_poses, frame_pose
from chasles.algorithms.loops import LoopConstraints, loop_constraints
from chasles.engine import absolute, maximum, minimum, where
from chasles.engine.linear.least_squares import damped_least_squares
from chasles.geometry.elementary import Array

if TYPE_CHECKING:
    from chasles.model.tree import Tree

CLOSED = 1e-11
"""Largest residual of a closed loop, m and rad."""
LONGEST_STEP = 0.5
"""rad, or the share of the robot's size."""
FIRST_DAMPING, LEAST_DAMPING, MOST_DAMPING = 1e-3, 1e-9, 1e13
"""Damping per squared residual, relative to the robot's size: at first, and its bounds."""
REGULAR = 1e-14
"""Damping that remains where the loops are closed: it chooses the shortest of many steps."""

TOLERANT = 1e-9
"""Such damping at least where loops tolerate a gap, against motions that the loops but for it allow."""
WEAK_PER_GAP = 30.0
"""Singular values of the constraints, per m and rad of the loops' tolerance, that rounded numbers may cause."""
HARDLY = 1e-9
"""Share by which an iteration must at least reduce least squares that do not vanish."""


class Closing(NamedTuple):
    """Result of a search for a closed configuration."""

    q: Array
    """Configuration (nq,), closed or as near as the search came."""
    gap: float
    """Largest residual, m and rad."""
    loop: str
    """Name of the loop with the largest residual."""
    tolerated: bool
    """Whether no residual is beyond the tolerance of the loops."""
    flipped: bool
    """Whether a loop is closed with a joint axis turned round, as no joint can be."""
    iterations: int

    @property
    def is_closed(self) -> bool:
        """Whether all loops are closed."""
        return self.tolerated and not self.flipped


class ClosingState(NamedTuple):
    """State of a search between two steps."""

    q: Any
    """Configuration to look at, (nq,)."""
    best: Any
    """Configuration with the smallest residual so far, (nq,)."""
    cost: Any
    """Squared residual that the next configuration has to improve; infinite where that is `best` again."""
    gap: Any
    """Largest residual at `best` beyond what is tolerated; see `beyond_tolerance`."""
    damping: Any

    @classmethod
    def at(cls, q: Array) -> ClosingState:
        """State before the first step, from configurations (..., nq)."""
        return cls(q, q, np.inf, np.inf, FIRST_DAMPING)


def closing_step(
    tree: Tree, constraints: Callable[[Array], LoopConstraints], state: ClosingState, moving: Array
) -> tuple[ClosingState, Any]:
    """Return the state after one step of the search, and whether it is over.

    A step that does not bring the loops nearer to closing is taken back, and the damping raised.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    constraints
        `loop_constraints` of the tree, as a function of q.
    state
        State before the step.
    moving
        1 for each velocity whose coordinates may change, 0 for those that are held, shape (n,).
    """
    q = normalize(tree, state.q)
    every_residual, every_J = constraints(q)
    rows = list(tree.constraints) or list(range(len(every_residual)))
    residual, J = every_residual[rows], every_J[rows]
    cost = residual @ residual
    closer = cost < state.cost
    gap = where(closer, beyond_tolerance(tree, every_residual), state.gap)
    damping = where(closer, maximum(0.1 * state.damping, LEAST_DAMPING), 100.0 * state.damping)  # 10 for the next step
    settled = (gap <= CLOSED) | (damping > MOST_DAMPING)  # rounding allows no better, or nothing helps
    enough: Any = _largest(residual) <= 1e-3 * CLOSED
    if tree.tolerance:  # the least squares do not vanish
        enough = enough | ((gap <= CLOSED) & (cost >= (1.0 - HARDLY) * state.cost))
    done = where(closer, where(enough, 1.0, 0.0), where(settled, 1.0, 0.0))
    size = tree_size(tree)
    scale = column_scales(tree, size) * moving
    regular = max(TOLERANT, (WEAK_PER_GAP * tree.tolerance / size) ** 2) if tree.tolerance else REGULAR
    step = damped_least_squares(J * scale / size, -residual / size, damping * cost / size**2 + regular, shortest=True)
    step = scale * step * minimum(1.0, LONGEST_STEP / maximum(_largest(step), 1e-300))
    best = where(closer, q, state.best)
    q_next = where(closer, integrate(tree, q, step), best)
    return ClosingState(q_next, best, where(closer, cost, np.inf), gap, damping), done


def beyond_tolerance(tree: Tree, residual: Array) -> Any:
    """Return the largest residual, m and rad, less the tolerance of the robot's loops."""
    return maximum(_largest(residual) - tree.tolerance, 0.0)


def _largest(values: Array) -> Any:
    """Largest absolute value."""
    largest: Any = 0.0
    for value in values:
        largest = maximum(largest, absolute(value))
    return largest


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
        Indices, among the velocities of all joints, of those with coordinates to hold fixed.
    most_iterations
        Largest number of iterations.
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
    moving = np.ones(tree.n)
    moving[list(held)] = 0.0
    state, done, iteration = ClosingState.at(q), 0.0, 0
    with np.errstate(all="ignore"):
        while not done and iteration < most_iterations:
            iteration += 1
            state, done = closing_step(tree, constraints, state, moving)
        residual = constraints(state.best).residual
    gap, name = largest_gap(tree, residual)
    tolerated = bool(beyond_tolerance(tree, residual) <= CLOSED)
    return Closing(state.best, gap, name, tolerated, bool(alignment(tree, state.best) < 0.0), iteration)


def tree_size(tree: Tree) -> float:
    """Characteristic length of a robot: the longest distance between neighbouring frames, m; 1 if all coincide."""
    vectors = [body.p_parent_body for body in tree.bodies]
    vectors += [place.p_body_frame for loop in tree.loops for place in (loop.first, loop.second)]
    vectors += [np.array([constraint.length]) for loop in tree.loops for constraint in loop.constraints]
    return max((float(np.linalg.norm(p)) for p in vectors), default=0.0) or 1.0


def column_scales(tree: Tree, size: float) -> Array:
    """Displacements (n,) of equal weight: 1 rad for rotations, and the size of the robot for translations."""
    scale = np.ones(tree.n)
    for body in tree.bodies:
        if body.angular == 0.0:
            scale[body.coordinate] = size
    return scale


def largest_gap(tree: Tree, residual: Array) -> tuple[float, str]:
    """Return the largest residual, m and rad, and the name of its loop."""
    names = [loop.name for loop in tree.loops for _ in loop.constraints]
    if not names:
        return 0.0, ""
    worst = int(np.argmax(np.abs(residual)))
    return float(np.abs(residual[worst])), names[worst]


def alignment(tree: Tree, q: Array) -> Any:
    """Return the least cosine between directions that loops hold together: -1 where an axis is turned round."""
    poses = body_poses(tree, q)
    least: Any = 1.0
    for loop in tree.loops:
        (R_1, _), (R_2, _) = frame_pose(loop.first, poses), frame_pose(loop.second, poses)
        for direction in loop.aligned:
            least = minimum(least, (R_1 @ direction) @ (R_2 @ direction))
    return least
