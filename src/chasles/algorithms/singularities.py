"""Singular configurations of closed chains: motions that no motor controls, and lost directions of a frame.

With the motions N that the loops allow (J N = 0) the motors' velocities are B N and a frame's twist is T N. Motors lose
control where B N loses rank beside regular configurations: some motion goes on with all motors locked. A frame loses
mobility where T N has a lower rank than elsewhere: the structure carries some wrench on it without any force of a motor
or of inertia. Both follow from N, which exists in every configuration, not from G. Sources: Gosselin & Angeles,
"Singularity analysis of closed-loop kinematic chains" (IEEE Trans. Robotics and Automation 6(3), 1990); Zlatanov, Bonev
& Gosselin, "Constraint singularities of parallel mechanisms" (IEEE Int. Conf. Robotics and Automation, 2002).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from chasles.algorithms.closing import column_scales, tree_size
from chasles.algorithms.jacobian import jacobian
from chasles.algorithms.loops import loop_constraints
from chasles.algorithms.mobility import closed_configurations
from chasles.geometry.elementary import Array

if TYPE_CHECKING:
    from chasles.model.tree import Tree

MotionPart = Literal["twist", "position", "orientation"]
ROWS: dict[MotionPart, slice] = {"twist": slice(0, 6), "position": slice(3, 6), "orientation": slice(0, 3)}


@dataclass(frozen=True, eq=False)
class Singularities:
    """Singularities of a closed configuration.

    Attributes
    ----------
    target
        Name of the frame.
    freedoms
        Degrees of freedom that the loops leave, in this configuration and in regular ones.
    uncontrolled
        Twists (ω, v) of the frame, shape (k, 6), about its origin in world axes, of unit motions that remain possible
        with all motors locked; zero for a motion that leaves the frame at rest.
    uncontrolled_joints
        Velocities of all joints in these motions, shape (k, joint velocities).
    lost
        Unit wrenches (m, f) on the frame, shape (k, 6), about its origin in world axes, that the structure carries
        without motor forces in this configuration but not in regular ones: the frame cannot move against them.
    """

    target: str
    freedoms: tuple[int, int]
    uncontrolled: Array
    uncontrolled_joints: Array
    lost: Array

    @property
    def is_singular(self) -> bool:
        """Whether the configuration is singular in any way."""
        return bool(len(self.uncontrolled) or len(self.lost) or self.freedoms[0] != self.freedoms[1])

    def __str__(self) -> str:
        here, elsewhere = self.freedoms
        parts = [f"the loops leave {here} velocities free here, {elsewhere} elsewhere"] if here != elsewhere else []
        if len(self.uncontrolled):
            count = len(self.uncontrolled)
            noun = "motion" if count == 1 else "motions"
            parts.append(
                f"{count} {noun} of frame '{self.target}' with all motors locked: twist {_numbers(self.uncontrolled)}"
            )
        else:
            parts.append("the motors control the robot")
        if len(self.lost):
            count = len(self.lost)
            noun = "direction" if count == 1 else "directions"
            parts.append(
                f"frame '{self.target}' has lost {count} {noun} of motion: no motion against {_numbers(self.lost)}"
            )
        return "; ".join(parts)


def singularities(
    tree: Tree, q: Array, target: str, part: MotionPart, tolerance: float, elsewhere: Array
) -> Singularities:
    """Find the degrees of freedom that a closed configuration loses, and the motions that its motors do not control.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q
        Configuration, shape (nq,), with closed loops.
    target
        Name of the frame.
    part
        Part of the frame's motion that may be lost: "twist", "position" or "orientation".
    tolerance
        Fraction of the largest singular value below which a motion counts as lost.
    elsewhere
        Closed configuration, shape (nq,), near which regular ones are searched for.

    Examples
    --------
    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> print(singularities(tree, np.array([0.0, 1.0]), "tool", "position", 1e-6, np.zeros(2)))
    the motors control the robot
    """
    size = tree_size(tree)
    scale = column_scales(tree, size)
    others = closed_configurations(tree, elsewhere, 3, np.random.default_rng(0))
    regular = [(_motions(tree, other, tolerance), other) for other in others]
    freedoms = min((N.shape[1] for N, _ in regular), default=len(tree.independent))
    N = _motions(tree, q, tolerance)
    twists, rows = _twists(tree, q, target, size) @ N, ROWS[part]
    motors = N[list(tree.actuated)]
    # Beside their own largest value motors that lose everything at once, as a single one does, would keep their rank.
    strengths = [float(np.linalg.norm(M[list(tree.actuated)], 2)) for M, _ in regular]
    _, sizes, directions = np.linalg.svd(motors)
    idle = directions[int(np.sum(sizes > tolerance * max(strengths, default=1.0))) :].T
    elsewhere_twists = [(_twists(tree, other, target, size) @ M)[rows] for M, other in regular]
    reach = max((_rank(twist, tolerance) for twist in elsewhere_twists), default=0)
    left, sizes, _ = np.linalg.svd(twists[rows])
    usual = max((float(np.linalg.norm(twist, 2)) for twist in elsewhere_twists), default=1.0)
    kept = int(np.sum(sizes > tolerance * usual))
    directions = left[:, kept:].T
    # Wrenches that the frame carries everywhere, as those across the plane of a planar machine, are not lost here.
    together = np.hstack([*elsewhere_twists, np.zeros((len(left), 1))])
    carried = np.linalg.svd(together)[0][:, _rank(together, tolerance) :].T
    lost = np.zeros((max(0, reach - kept), 6))
    lost[:, rows] = np.linalg.svd(directions - directions @ carried.T @ carried)[2][: len(lost)]
    units = np.array([1.0] * 3 + [1.0 / size] * 3)
    return Singularities(
        target,
        (N.shape[1], freedoms),
        (twists @ idle).T / units,
        (N @ idle).T * scale,
        lost * units,
    )


def _motions(tree: Tree, q: Array, tolerance: float) -> Array:
    """Orthonormal basis (n, k) of the motions that the loops allow, in scaled velocities."""
    size = tree_size(tree)
    J = loop_constraints(tree, q).J[list(tree.constraints)] * column_scales(tree, size) / size
    if not len(J):
        return np.eye(tree.n)
    motions: Array = np.linalg.svd(J)[2][_rank(J, tolerance) :].T
    return motions


def _twists(tree: Tree, q: Array, target: str, size: float) -> Array:
    """Jacobian (6, n) of scaled velocities, with the linear part in units of the robot's size."""
    J = jacobian(tree, q, target, "world-aligned") * column_scales(tree, size)
    J[3:] /= size
    return J


def _rank(A: Array, tolerance: float) -> int:
    if not A.size:
        return 0
    sizes = np.linalg.svd(A, compute_uv=False)
    return int(np.sum(sizes > tolerance * max(float(sizes[0]), 1e-12)))


def _numbers(rows: Array) -> str:
    return ", ".join("(" + ", ".join(f"{value + 0.0:.3g}" for value in np.round(row, 12)) + ")" for row in rows)
