"""Physical consistency of a robot: links with impossible inertias, with reasons, and the nearest consistent robot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ModelError, warn
from chasles.base.findings import Finding, of_weight
from chasles.geometry.pseudo_inertias import moments_of_inertia, second_moments
from chasles.model.description import Description
from chasles.model.inertia import (
    Inertia,
    InertiaWarning,
    ModelWarning,
    check_inertia,
    combined,
    implausibility,
    impossibility,
)
from chasles.model.placement import compose
from chasles.model.plausibility import Lines, implausible
from chasles.model.tree import Tree, build_tree, spanning_tree

if TYPE_CHECKING:
    from chasles.model.description import Description


def inconsistencies(description: Description) -> dict[str, str]:
    """Return links (and ``"payload"``) with impossible inertias, each with the reason; empty if consistent.

    A rigid body is physically possible when its pseudo-inertia is positive semidefinite: its mass and its principal
    moments of inertia are not negative, and the moments obey the triangle inequality.

    Examples
    --------
    >>> from chasles.model import load
    >>> inconsistencies(load("ur5"))
    {}
    >>> list(inconsistencies(load("puma560")))
    ['link1', 'link3']
    """
    owners = [(link.name, link.inertia) for link in description.links] + [("payload", description.payload)]
    reasons = ((owner, impossibility(inertia) or implausibility(inertia)) for owner, inertia in owners)
    return {owner: reason for owner, reason in reasons if reason is not None}


def nearest_consistent(description: Description) -> Description:
    """Make a copy with the nearest physically consistent inertias; masses and centres of mass are unchanged.

    Negative eigenvalues of the second moments of mass about the centre, S = tr(I)/2 1 - I, are set to zero: that gives
    the nearest positive semidefinite matrix in the Frobenius norm, in any axes. A link with inertia but without mass
    stays massless, since an inertia does not determine a mass.

    Raises
    ------
    ModelError
        A mass is negative, or a link has a first moment in addition to that of its mass; the message names the link.

    Examples
    --------
    The principal moments 1, 1 and 3 break the triangle inequality:

    >>> from chasles.model.description import Description, Link
    >>> stone = Description("stone", links=(Link("rock", Inertia(1.0, matrix=np.diag([1.0, 1.0, 3.0]))),))
    >>> nearest_consistent(stone).link("rock").inertia.matrix.diagonal()
    array([1.5, 1.5, 3. ])
    """
    links = tuple(link.replace(inertia=_nearest(link.inertia, link.name)) for link in description.links)
    return description.replace(links=links, payload=_nearest(description.payload, "payload"))


def require_no_first_moments(description: Description, what: str) -> None:
    """Raise a ModelError if a link has a first moment beside that of its mass, which `what` cannot hold."""
    owners = [(f"link '{link.name}'", link.inertia) for link in description.links] + [("payload", description.payload)]
    for owner, inertia in owners:
        if inertia.first_moment.any():
            raise ModelError(
                f"robot '{description.name}' has no {what}: {owner} has a first moment without a mass, as minimal "
                "parameters may; write TOML or a DH table instead"
            )


def _nearest(inertia: Inertia, owner: str) -> Inertia:
    if inertia.mass < 0.0 or inertia.first_moment.any():
        raise ModelError(f"{owner}: {impossibility(inertia)}; no possible body is near")
    symmetric = 0.5 * (inertia.matrix + inertia.matrix.T)
    values, axes = np.linalg.eigh(second_moments(symmetric))
    if values[0] >= 0.0:
        return inertia
    return inertia.replace(matrix=moments_of_inertia(axes * np.maximum(values, 0.0) @ axes.T))


def has_masses(description: Description) -> bool:
    """Whether a robot has any mass or inertia: of a link, the payload or a motor.

    Examples
    --------
    >>> from chasles.model.description import Description, Link
    >>> has_masses(Description("stone", links=(Link("rock"),)))
    False
    """
    bodies = (*(link.inertia for link in description.links), description.payload)
    return any(body != Inertia() for body in bodies) or any(joint.motor_inertia for joint in description.joints)


_MOST_SENTENCES = 3
#: Part of a number that six digits, which files give at most, do not tell.
_SIXTH_DIGIT = 1e-6
#: rad/s², beyond what a motor with its gear gives a joint.
_FASTEST = 1e5


def check_description(
    description: Description, elements: Iterable[Finding] = (), lines: Lines | None = None
) -> Description:
    """Check that a robot's inertias are physically possible, that it can move, and that its values are plausible.

    Parameters
    ----------
    description
        The robot.
    elements
        Findings in the elements of its file; see `chasles.model.formats.urdf_findings`.
    lines
        Lines of its elements in the file; see `chasles.model.plausibility`.

    Returns
    -------
    Description
        The same, for chaining.

    Raises
    ------
    ModelError
        An inertia is impossible; the message names the link and the reason.

    Warns
    -----
    InertiaWarning
        An inertia violates the triangle inequality, a principal moment is negative but within rounding of zero, or a
        last moving body has neither mass nor armature.
    ModelWarning
        The position limits of a joint allow no motion, as some exporters write for unknown limits; or values or
        elements are probably wrong. `chasles.check` reports all of these.

    Examples
    --------
    >>> from chasles.model.description import Description, Link
    >>> check_description(Description("stone", links=(Link("rock"),))).n
    0
    """
    owners = [(f"link '{link.name}'", link.inertia) for link in description.links] + [("payload", description.payload)]
    lost = _lost_in_rounding(description)
    complaints = [check_inertia(inertia, owner, lost.get(owner, 0.0)) for owner, inertia in owners]
    sentences = [sentence for sentence in complaints if sentence is not None]
    if not description.loops and any(not link.inertia.is_massless for link in description.links):
        sentences += _singular_bodies(build_tree(description))
    category = InertiaWarning if sentences else ModelWarning
    sentences = _motionless_joints(description) + sentences
    cautions = of_weight([*elements, *implausible(description, lines)], "caution")
    if cautions:
        count = "a probable mistake" if len(cautions) == 1 else f"{len(cautions)} probable mistakes, the first"
        sentences = [f"{count} (`chasles check FILE` or ch.check(…) explains): {cautions[0]}", *sentences]
    if sentences:
        warn(f"robot '{description.name}': {_in_one(sentences)}", category)
    return description


def _lost_in_rounding(description: Description) -> dict[str, float]:
    """Return moments of inertia that six digits cannot tell, kg·m², for links that move together with others.

    Dynamics knows only the rigid bodies that links and the fixed joints between them make. A change of one link's
    principal moments by a millionth of its body's smallest is a change of the body's sixth digit at most.
    """
    placements: dict[str, tuple[str, NDArray[np.float64]]] = {description.root: (description.root, np.eye(4))}
    for joint in description.ordered_joints:
        first, T = placements[joint.parent]
        T_first_child = compose(T, compose(joint.T_parent_joint, joint.T_joint_child))
        placements[joint.child] = (joint.child, np.eye(4)) if joint.moves else (first, T_first_child)
    bodies: dict[str, list[tuple[Inertia, NDArray[np.float64]]]] = {}
    for link in description.links:
        first, T = placements[link.name]
        bodies.setdefault(first, []).append((link.inertia, T))
    smallest = {first: float(np.linalg.eigvalsh(combined(parts).matrix)[0]) for first, parts in bodies.items()}
    return {f"link '{name}'": _SIXTH_DIGIT * max(smallest[first], 0.0) for name, (first, _) in placements.items()}


def several_tools(description: Description) -> tuple[str, ...]:
    """A sentence about the tool of a tree with several ends, where nobody chose it."""
    possible = description.possible_tools
    if len(possible) < 2:
        return ()
    others = ("other: " if len(possible) == 2 else "others: ") + ", ".join(f"'{name}'" for name in possible[1:4])
    return (
        f"{len(possible)} frames could be the tool: using '{description.tool}' ({others}); pass tool=… to change it",
    )


def missing_rotors(description: Description) -> tuple[str, ...]:
    """A sentence about joints so light that their motor's rotor must be missing, of a robot without any rotor inertia.

    Such joints are the last ones of their branches. Behind a gear the rotor is often most of the inertia that a joint
    feels; without it the effort limit would accelerate the joint as no motor does.
    """
    tree = spanning_tree(description)
    if description.loops or any(body.armature for body in tree.bodies):
        return ()
    inner = {body.parent for body in tree.bodies}
    turned = {joint.name: joint for joint in description.coordinates if joint.kind in ("revolute", "continuous")}
    ratios = []
    for index, body in enumerate(tree.bodies):
        if index in inner or body.joint not in turned or not body.mass > 0.0:
            continue
        moved, effort = float(body.inertia[2, 2]), float(np.max(turned[body.joint].limits.effort))
        if moved > 0.0 and _FASTEST * moved < effort < np.inf:
            ratios.append((effort / moved, body.joint, moved, effort))
    if not ratios:
        return ()
    _, joint, moved, effort = max(ratios)
    return (
        f"no joint has rotor inertia, and '{joint}' moves {moved:.2g} kg·m² with up to {effort:g} N·m; simulations "
        "need the motors' inertia: give it with robot.with_motor_inertia(…)",
    )


def _in_one(sentences: Sequence[str]) -> str:
    """Join sentences, the first few of many."""
    rest = len(sentences) - _MOST_SENTENCES
    return "; ".join(sentences[:_MOST_SENTENCES]) + (f"; and {rest} more of the kind" if rest > 0 else "")


def _motionless_joints(description: Description) -> list[str]:
    """A sentence about the joints that their position limits leave no motion."""
    names = [
        joint.name
        for joint in description.coordinates
        if joint.kind in ("revolute", "prismatic") and joint.limits.lower == joint.limits.upper
    ]
    if not names:
        return []
    shown = ", ".join(f"'{name}'" for name in names[:_MOST_SENTENCES]) + (", …" if len(names) > _MOST_SENTENCES else "")
    return [
        f"the lower and upper position limits of {shown} are equal, so inverse kinematics and checks allow no motion; "
        "correct the file if its author knew no limits"
    ]


def _singular_bodies(tree: Tree) -> list[str]:
    """Sentences about the bodies at the ends of the tree that their joint can accelerate without effort."""
    parents = {body.parent for body in tree.bodies}
    return [
        f"link '{body.name}' ends the tree with neither mass nor motor inertia at joint '{body.joint}': "
        "the mass matrix is singular, so forward dynamics has no answer"
        for index, body in enumerate(tree.bodies)
        if index not in parents
        and body.ratio == 1.0
        and body.armature == 0.0
        and body.mass == 0.0
        and not body.inertia.any()
    ]
