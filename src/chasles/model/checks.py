"""Physical plausibility of a whole description."""

from __future__ import annotations

import warnings

from chasles.model.description import Description
from chasles.model.inertia import InertiaWarning, check_inertia
from chasles.model.tree import Tree, build_tree


def check_description(description: Description) -> Description:
    """Check that real bodies can have the inertias of a robot, and that its mass matrix can be inverted.

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
    for sentence in sentences:
        warnings.warn(f"robot '{description.name}': {sentence}", InertiaWarning, stacklevel=3)
    return description


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
