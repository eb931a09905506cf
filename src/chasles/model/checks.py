"""Physical plausibility of a whole description, said in one warning."""

from __future__ import annotations

from collections.abc import Sequence

from chasles.errors import warn
from chasles.model.description import Description
from chasles.model.inertia import InertiaWarning, ModelWarning, check_inertia
from chasles.model.tree import Tree, build_tree

_MOST_SENTENCES = 3


def check_description(description: Description) -> Description:
    """Check that real bodies can have the inertias of a robot, and that it can move.

    Parameters
    ----------
    description
        The robot.

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
        An inertia breaks the triangle inequality, or a last moving body has neither mass nor armature.
    ModelWarning
        The position limits of a joint leave it no motion, as some exporters write where they know none.

    Examples
    --------
    >>> from chasles.model.description import Description, Link
    >>> check_description(Description("stone", links=(Link("rock"),))).n
    0
    """
    owners = [(f"link '{link.name}'", link.inertia) for link in description.links] + [("payload", description.payload)]
    complaints = [check_inertia(inertia, owner) for owner, inertia in owners]
    sentences = [sentence for sentence in complaints if sentence is not None]
    if any(not link.inertia.is_massless for link in description.links):
        sentences += _singular_bodies(build_tree(description))
    category = InertiaWarning if sentences else ModelWarning
    sentences = _motionless_joints(description) + sentences
    if sentences:
        warn(f"robot '{description.name}': {_in_one(sentences)}", category)
    return description


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
