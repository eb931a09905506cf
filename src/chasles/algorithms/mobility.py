"""Mobility of a robot with loops: degrees of freedom, active constraints and independent velocities.

The constraints' Jacobian J loses rank where constraints repeat each other, as those of a planar four-bar in space do.
Its rank at random closed configurations tells the mobility, where the counting rule of Grübler and Kutzbach fails.

The independent velocities ν are velocities of joints, so that they have names, units and limits, and the torques that
belong to them are motor torques. Velocities of motors come first; others join where they add most to what is fixed by
those before, judged by the motions N that the loops allow (J N = 0). An orthonormal basis of N would hold everywhere,
but turn discontinuously and belong to no joint; elements of N in a fixed order of elimination fail where a pivot
vanishes. The choice holds for every configuration in which
these velocities determine the others; where it does not, at a singularity of this choice, results are not finite.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np

from chasles.algorithms.closing import WEAK_PER_GAP, Closing, close_loops, column_scales, tree_size
from chasles.algorithms.configuration import difference, integrate
from chasles.algorithms.loops import LoopConstraints, loop_constraints, velocity_map
from chasles.base.errors import ModelError
from chasles.geometry.elementary import Array
from chasles.model.description import Description
from chasles.model.mobility import Mobility
from chasles.model.tree import Tree, spanning_tree

SAMPLES = 6
"""Number of random closed configurations."""
RANK_TOLERANCE = 1e-7
"""Singular values below this share of the largest are taken for zero."""
SMALL_GAP = 1e-3
"""Gap, m and rad, that may stem from rounded numbers."""
WITH_FEWER_CONSTRAINTS = {"revolute": "spherical", "fixed": "revolute", "prismatic": "cylindrical"}
"""Kinds of loops that allow what another one allows, and more."""
NEGLIGIBLE = 1e-11
"""Constraints whose rows of the Jacobian never exceed this, in multiples of the robot's size, hold always."""
WEAK = 0.02
"""Share of a velocity that those chosen before must leave open for joints to be taken as a whole."""

REACH_OF_A_STEP = 0.2
"""Length of a random step, rad and in multiples of the robot's size."""
STEPS_OF_A_WALK = 8
"""Random steps before the next walk from the start."""
LARGEST_GAIN = 10.0
"""Joint velocities for independent ones beyond this, in multiples of those at the start, are near a singularity."""


def assembled(description: Description) -> Description:
    """Return a robot with its loops closed in the home configuration and its mobility known.

    A robot without loops, or with loops already closed, is returned unchanged.

    Raises
    ------
    ModelError
        The loops cannot be closed near the home configuration, they leave no degree of freedom, or the chosen
        independent velocities depend on each other; the message names the loop or the joint.

    Examples
    --------
    >>> from chasles.model import load, with_loop
    >>> tip = with_loop(load("planar2r"), "rod", "rod", "link0", "tool", T_first_joint=[0.75, 0.3, 0], length=0.3)
    >>> assembled(tip).mobility.rank
    1
    """
    return description if description.is_assembled else description.with_mobility(_mobility(description.skeleton))


@lru_cache(maxsize=64)
def _mobility(description: Description) -> Mobility:
    tree = spanning_tree(description)
    home = close_loops(tree, np.array(description.home))
    if not home.is_closed:
        raise ModelError(_not_assembled(description, home))
    samples = [home.q, *closed_configurations(tree, home.q, SAMPLES, np.random.default_rng(0))]
    size = tree_size(tree)
    jacobians = [loop_constraints(tree, q).J * column_scales(tree, size) / size for q in samples]
    least = max(RANK_TOLERANCE, WEAK_PER_GAP * tree.tolerance)
    ranks = [_rank(J, least) for J in jacobians]
    # Most are regular; the few near singular ones have less, or, where closed less sharply, seem to have more.
    rank = sorted(ranks)[len(ranks) // 2]
    if rank == tree.n and tree.n > 0:
        raise ModelError(_immobile(description, tree, jacobians[ranks.index(rank)], least))
    largest = np.max([np.abs(J).max(axis=1, initial=0.0) for J in jacobians], axis=0)
    kept = tuple(int(row) for row in np.flatnonzero(largest > max(NEGLIGIBLE, WEAK_PER_GAP * tree.tolerance)))
    if tree.tolerance:  # without those that rounded numbers alone make, the others close better
        home = close_loops(replace(tree, constraints=kept), home.q)
    motions = [_null_space(J, rank) for J, rank_of_J in zip(jacobians, ranks, strict=True) if rank_of_J == rank]
    independent = tuple(sorted(_independent(description, motions)))
    return Mobility(independent, kept, len(jacobians[0]), rank, home.q)


def _not_assembled(description: Description, home: Closing) -> str:
    said = f"robot '{description.name}' cannot be assembled near its home configuration: "
    if home.flipped and home.gap < SMALL_GAP:
        said += f"loop '{home.loop}' closes only with its axis turned round; "
    else:
        said += f"loop '{home.loop}' stays open by {home.gap:.3g} (m, rad); "
        if home.gap < SMALL_GAP:
            enough = 10.0 ** math.ceil(math.log10(5.0 * home.gap))
            loop = next(loop for loop in description.loops if loop.name == home.loop)
            weaker = WITH_FEWER_CONSTRAINTS.get(loop.kind)
            kind = f", or make it {weaker} in place of {loop.kind}" if weaker else ""
            return f"{said}if the numbers are rounded, give the loop tolerance={enough:g}{kind}"
    return f"{said}correct the loop's frames or give a home near a closed configuration"


def _immobile(description: Description, tree: Tree, J: Array, least: float) -> str:
    """Sentence that names the first loop with which nothing moves any more."""
    rows = 0
    for loop in tree.loops:
        rows += len(loop.constraints)
        if _rank(J[:rows], least) == tree.n:
            break
    return (
        f"robot '{description.name}' has no degree of freedom: with loop '{loop.name}' the loops put {tree.n} "
        f"independent constraints on {tree.n} joint velocities; free a joint of it, or choose a kind of loop with "
        "fewer constraints; if it moves and its numbers are rounded, give the loops a tolerance"
    )


def closed_configurations(tree: Tree, q: Array, count: int, generator: np.random.Generator) -> Iterator[Array]:
    """Yield closed configurations around a given one, reached by random displacements; fewer if most attempts fail.

    Examples
    --------
    >>> from chasles.model import load, spanning_tree, with_loop
    >>> rod = {"T_first_joint": [0.75, 0.3, 0.0], "length": 0.3}
    >>> tree = spanning_tree(with_loop(load("planar2r"), "rod", "rod", "link0", "tool", **rod))
    >>> [q.shape for q in closed_configurations(tree, np.zeros(2), 2, np.random.default_rng(0))]
    [(2,), (2,)]
    """
    scale = column_scales(tree, tree_size(tree))
    count_closed, reach = 0, 0.6
    for _ in range(4 * count):
        closing = close_loops(tree, integrate(tree, q, reach * generator.normal(size=tree.n) * scale))
        if closing.is_closed:
            count_closed += 1
            yield closing.q
        else:
            reach = max(0.8 * reach, 1e-3)
        if count_closed == count:
            return


def regular_configurations(
    tree: Tree,
    q: Array,
    count: int,
    generator: np.random.Generator,
    constraints: Callable[[Array], LoopConstraints] | None = None,
    velocities: Callable[[Array], Array] | None = None,
) -> list[Array]:
    """Return regular closed configurations near a given one, by random walks within its assembly mode.

    A step across a singularity of the independent velocities is detected by a change of orientation: the sign that they
    give to the motions that the loops allow.

    Parameters
    ----------
    tree
        Kinematic tree of the robot, with its independent velocities.
    q
        Closed configuration, shape (nq,): start of every walk.
    count
        Number of configurations.
    generator
        Source of the random steps.
    constraints, velocities
        Functions of q in place of `loop_constraints` and `velocity_map`, such as compiled ones.

    Raises
    ------
    ModelError
        Hardly any step from q leads to a regular configuration.

    Examples
    --------
    >>> from chasles.model import build_tree, load, with_loop
    >>> rod = {"T_first_joint": [0.75, 0.3, 0.0], "length": 0.3}
    >>> tree = build_tree(assembled(with_loop(load("planar2r"), "rod", "rod", "link0", "tool", **rod)))
    >>> [place.shape for place in regular_configurations(tree, np.zeros(2), 2, np.random.default_rng(0))]
    [(2,), (2,)]
    """
    scale, independent = column_scales(tree, tree_size(tree)), list(tree.independent)
    velocities = velocities or partial(velocity_map, tree)

    def motions(q: Array) -> Array:
        G: Array = velocities(q) * scale[independent] / scale[:, None]
        return G if np.isfinite(G).all() else np.full_like(G, np.inf)

    start, G_start = q, motions(q)
    if not np.isfinite(G_start).all():
        near = (place for place in closed_configurations(tree, q, 20, generator) if np.isfinite(motions(place)).all())
        start = min(near, key=lambda place: float(np.abs(difference(tree, q, place)).max()), default=q)
        G_start = motions(start)
    largest = LARGEST_GAIN * float(np.linalg.norm(G_start, 2))
    configurations: list[Array] = []
    here, G = start, G_start
    for step in range(20 * count):
        if step % STEPS_OF_A_WALK == 0:
            here, G = start, G_start
        directions = generator.normal(size=len(independent))
        displacement = REACH_OF_A_STEP * scale * (G @ directions) / float(np.linalg.norm(G @ directions))
        closing = close_loops(tree, integrate(tree, here, displacement), constraints=constraints)
        G_next = motions(closing.q)
        if not closing.is_closed or not np.abs(G_next).max() < largest:
            continue
        if np.linalg.det(np.linalg.qr(G)[0].T @ _turned_like(G, G_next)) > 0.5:
            here, G = closing.q, G_next
            configurations.append(here)
        if len(configurations) == count:
            return configurations
    raise ModelError(
        f"only {len(configurations)} of {20 * count} random steps from the home configuration lead to a regular "
        "configuration: the home is singular or nearly so; give the robot another home, or other independent velocities"
    )


def _turned_like(G: Array, G_next: Array) -> Array:
    """Orthonormal basis of the second motions, oriented as the independent velocities orient those of the first."""
    (_, R), (Q_next, R_next) = np.linalg.qr(G), np.linalg.qr(G_next)
    Q_next[:, 0] *= np.sign(np.linalg.det(R) * np.linalg.det(R_next))
    return Q_next


def _rank(J: Array, least: float = RANK_TOLERANCE) -> int:
    if J.size == 0:
        return 0
    sizes = np.linalg.svd(J, compute_uv=False)
    return int(np.sum(sizes > least * max(float(sizes[0]), NEGLIGIBLE)))


def _null_space(J: Array, rank: int) -> Array:
    """Orthonormal basis of the motions that the constraints allow, shape (n, n - rank)."""
    motions: Array = np.linalg.svd(J)[2][rank:].T
    return motions


def _independent(description: Description, motions: Sequence[Array]) -> list[int]:
    """Indices of the independent velocities: those wanted, then those of motors, then the strongest."""
    choice = _Choice(motions)
    for index in description.velocity_indices(description.independent, "independent"):
        if not choice.adds(index) > RANK_TOLERANCE:
            raise ModelError(
                f"robot '{description.name}': the velocity '{description.joint_velocity_names[index]}' follows from "
                "those named before it as independent"
            )
        choice.take([index])
    groups = list(_groups(description))
    singles = [(index,) for index in range(len(description.joint_velocity_names))]
    motors = set(description.velocity_indices(description.actuated, "actuated"))
    driven = [group for group in groups if set(group) <= motors]
    while driven and len(motors) > len(choice.taken) + choice.missing:  # too many: those that add most
        group = max(driven, key=lambda one: choice.strength(one) if choice.has_place(one) else 0.0)
        driven.remove(group)
        choice.take_if_stronger(group, RANK_TOLERANCE)
    for group in driven:
        choice.take_if_stronger(group, RANK_TOLERANCE)
    while choice.missing:
        strengths: dict[tuple[int, ...], float] = {
            group: choice.strength(group) for group in groups if choice.has_place(group)
        }
        if max(strengths.values(), default=0.0) <= WEAK:  # as a rod between two spherical joints spins
            strengths |= {single: choice.strength(single) for single in singles if choice.has_place(single)}
        choice.take(max(strengths.items(), key=lambda candidate: candidate[1])[0])
    return choice.taken


def _groups(description: Description) -> Iterator[tuple[int, ...]]:
    """Velocities that are best independent together: single ones, and those of a joint with a quaternion."""
    for joint in description.coordinates:
        start = description.starts[joint.name][1]
        indices = range(start, start + len(joint.velocity_names))
        if joint.has_quaternion:
            yield tuple(indices)
        else:
            yield from ((index,) for index in indices)


class _Choice:
    """Velocities chosen one after the other, with what each of the allowed motions leaves open."""

    def __init__(self, motions: Sequence[Array]) -> None:
        self.taken: list[int] = []
        self._open = [np.array(N) for N in motions]

    @property
    def missing(self) -> int:
        """Number of velocities to be chosen."""
        return int(self._open[0].shape[1]) - len(self.taken)

    def has_place(self, group: Sequence[int]) -> bool:
        """Whether a group is not too large, and new."""
        return len(group) <= self.missing and not set(group) & set(self.taken)

    def adds(self, index: int) -> float:
        """Share of a velocity that those taken leave open: the median over the configurations."""
        return float(np.median([np.linalg.norm(N[index]) for N in self._open]))

    def strength(self, group: Sequence[int]) -> float:
        """Least share that a velocity of a group adds, taken one after the other."""
        trial = _Choice(self._open)
        shares = []
        for index in group:
            shares.append(trial.adds(index))
            trial.take([index])
        return min(shares)

    def take_if_stronger(self, group: Sequence[int], least: float) -> None:
        """Take a group if there is place for it and it adds enough."""
        new = [index for index in group if index not in self.taken]
        if new and len(new) <= self.missing and self.strength(new) > least:
            self.take(new)

    def take(self, group: Sequence[int]) -> None:
        """Take velocities: what is left open no longer has a part along them."""
        for index in group:
            self.taken.append(index)
            for k, N in enumerate(self._open):
                length = float(np.linalg.norm(N[index]))
                if length > 0.0:
                    direction = N[index] / length
                    self._open[k] = N - np.outer(N @ direction, direction)
