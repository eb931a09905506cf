"""Which links of a robot no real body could be, why, and the nearest robot whose links could all be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from chasles.errors import ModelError
from chasles.geometry.pseudo_inertias import moments_of_inertia, second_moments
from chasles.model.inertia import Inertia, implausibility, impossibility

if TYPE_CHECKING:
    from chasles.model.description import Description


def inconsistencies(description: Description) -> dict[str, str]:
    """Return the links (and ``"payload"``) that no real body could be, each with the reason; empty for a sound robot.

    A body is possible when its pseudo-inertia is positive semidefinite: its mass is not negative, and its principal
    moments of inertia are not negative and obey the triangle inequality.

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
    """Make a copy whose links keep masses and centres of mass, and have the nearest possible inertias.

    The second moments of mass about the centre, S = tr(I)/2 1 - I, lose their negative eigenvalues: that is the nearest
    positive semidefinite matrix in the Frobenius norm, whatever the axes. A link with inertia but without mass is still
    without: no inertia tells its mass.

    Raises
    ------
    ModelError
        A mass is negative; the message names the link.

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


def _nearest(inertia: Inertia, owner: str) -> Inertia:
    if inertia.mass < 0.0:
        raise ModelError(f"{owner}: {impossibility(inertia)}; no possible body is near")
    symmetric = 0.5 * (inertia.matrix + inertia.matrix.T)
    values, axes = np.linalg.eigh(second_moments(symmetric))
    if values[0] >= 0.0:
        return inertia
    return inertia.replace(matrix=moments_of_inertia(axes * np.maximum(values, 0.0) @ axes.T))
