"""Mass, centre of mass and inertia matrix of a rigid body, and the test of their physical consistency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ModelError
from chasles.engine.validators import Bound, Relation
from chasles.model.numbers import LARGEST_NUMBER, frozen_array, number
from chasles.model.record import DescriptionRecord

#: Masses that a body can have.
MASS = Bound(at_least=0.0, at_most=LARGEST_NUMBER)
#: Part of the largest element by which rounding to three digits moves a principal moment of inertia at most: it changes
#: an element by at most 0.005 of it, and the changes of the three elements of a row add up (Weyl, Gershgorin).
THREE_DIGITS = 3 * 0.005


class ModelWarning(UserWarning):
    """A robot's description is usable, but probably not what its author intended."""


class InertiaWarning(ModelWarning):
    """Inertial parameters are physically impossible, or make the mass matrix singular."""


@dataclass(frozen=True, eq=False)
class Inertia(DescriptionRecord):
    """Inertial parameters of a link.

    Parameters
    ----------
    mass
        kg.
    center_of_mass
        Position in the link frame, shape (3,), m.
    matrix
        Inertia matrix about the centre of mass in link axes, shape (3, 3), kg·m². The off-diagonal elements are those
        of the matrix, the negative products of inertia.
    first_moment
        First moment in addition to ``mass * center_of_mass``, shape (3,), kg·m, in link axes. Minimal (base) parameters
        can have a first moment without a mass, which no real body has; the matrix is then about the origin of the link
        frame. Model checks reject it; ``check=False`` skips them.

    Raises
    ------
    ModelError
        A value is not finite, or its magnitude exceeds 1e9.

    Examples
    --------
    >>> Inertia(2.0, [0.0, 0.0, 0.1], [[0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.02]]).mass
    2.0
    >>> Inertia().is_massless
    True
    >>> impossibility(Inertia(first_moment=[0.0, 0.1, 0.0]))
    'it has the first moment [0.0, 0.1, 0.0] kg·m beside that of its mass, as no body has'
    """

    mass: float = 0.0
    center_of_mass: NDArray[np.float64] = field(default_factory=lambda: np.zeros(3))
    matrix: NDArray[np.float64] = field(default_factory=lambda: np.zeros((3, 3)))
    first_moment: NDArray[np.float64] = field(default_factory=lambda: np.zeros(3))

    if TYPE_CHECKING:  # what is given becomes arrays

        def __init__(
            self,
            mass: float = 0.0,
            center_of_mass: ArrayLike = (0.0, 0.0, 0.0),
            matrix: ArrayLike = ...,
            first_moment: ArrayLike = (0.0, 0.0, 0.0),
        ) -> None: ...

    def __post_init__(self) -> None:
        self._set(
            mass=number(self.mass, "mass"),
            center_of_mass=frozen_array(self.center_of_mass, (3,), "center_of_mass"),
            matrix=frozen_array(self.matrix, (3, 3), "inertia matrix"),
            first_moment=frozen_array(self.first_moment, (3,), "first_moment"),
        )

    @property
    def is_massless(self) -> bool:
        """Whether mass, inertia matrix and first moment are zero."""
        return self.mass == 0.0 and not self.matrix.any() and not self.first_moment.any()


def shift_of_first_moment(moment: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the change of the inertia about a point, by a first moment beside that of the mass, when moved by p.

    The second moments gain ``p hᵀ + h pᵀ``, with the first moment h in the axes of p.

    Examples
    --------
    >>> shift_of_first_moment(np.array([0.5, 0.0, 0.0]), np.array([1.0, 0.0, 0.0])).diagonal()
    array([0., 1., 1.])
    """
    cross = np.outer(p, moment)
    return 2.0 * (p @ moment) * np.eye(3) - cross - cross.T


def combined(parts: Sequence[tuple[Inertia, NDArray[np.float64]]]) -> Inertia:
    """Inertia of several bodies together, each placed by its T_whole_part, shape (4, 4).

    Examples
    --------
    >>> T_right = np.eye(4)
    >>> T_right[0, 3] = 2.0
    >>> two = combined([(Inertia(1.0), np.eye(4)), (Inertia(1.0), T_right)])
    >>> two.mass, two.center_of_mass, two.matrix[2, 2]
    (2.0, array([1., 0., 0.]), np.float64(2.0))
    """
    masses = np.array([inertia.mass for inertia, _ in parts])
    centers = np.array([T[:3, :3] @ inertia.center_of_mass + T[:3, 3] for inertia, T in parts])
    mass = float(masses.sum())
    center = masses @ centers / mass if mass else np.zeros(3)
    matrix, first_moment = np.zeros((3, 3)), np.zeros(3)
    for (inertia, T), r in zip(parts, centers - center, strict=True):
        R, h = T[:3, :3], T[:3, :3] @ inertia.first_moment
        matrix += R @ inertia.matrix @ R.T + inertia.mass * (r @ r * np.eye(3) - np.outer(r, r))
        matrix += shift_of_first_moment(h, T[:3, 3])
        first_moment += h
    return Inertia(mass, center, 0.5 * (matrix + matrix.T), first_moment)


def impossibility(inertia: Inertia) -> str | None:
    """Why no calculation with these parameters makes sense, or None.

    Examples
    --------
    >>> impossibility(Inertia(mass=-1.0))
    'its mass is negative (-1.0 kg)'
    """
    if inertia.mass < MASS.at_least:
        return f"its mass is negative ({inertia.mass} kg)"
    if inertia.first_moment.any():
        return f"it has the first moment {inertia.first_moment.tolist()} kg·m beside that of its mass, as no body has"
    symmetric, positive = possible_matrix(inertia.matrix)
    if not symmetric.holds:
        return f"its inertia matrix is not symmetric: {inertia.matrix.tolist()}"
    if not positive.holds:
        smallest = float(np.linalg.eigvalsh(inertia.matrix)[0])
        return f"a principal moment of inertia is negative ({smallest:.6g} kg·m²)"
    return None


def possible_matrix(matrix: NDArray[np.float64], name: str = "inertia") -> tuple[Relation, Relation]:
    """Return whether inertia matrices (*batch, 3, 3) are symmetric, and have no negative principal moment.

    Examples
    --------
    >>> [bool(relation.holds) for relation in possible_matrix(np.diag([1.0, 1.0, -1.0]))]
    [True, False]
    """
    scale = np.abs(matrix).max(axis=(-2, -1))
    skew = np.abs(matrix - np.swapaxes(matrix, -2, -1)).max(axis=(-2, -1))
    # Files round their numbers, and write 1e-35 for nothing.
    smallest = np.linalg.eigvalsh(matrix)[..., 0]
    return (
        Relation(skew <= 1e-9 * scale, f"{name}: the inertia matrix must be symmetric"),
        Relation(smallest >= -1e-6 * scale - 1e-12, f"{name}: a principal moment of inertia is negative"),
    )


def implausibility(inertia: Inertia) -> str | None:
    """Why no real body has these (otherwise usable) parameters, or None.

    The principal moments of a body obey the triangle inequality: each is at most the sum of the other two (Traversaro
    et al., Identification of fully physical consistent inertial parameters, 2016).

    Examples
    --------
    >>> print(implausibility(Inertia(1.0, [0, 0, 0], [[1.0, 0, 0], [0, 1.0, 0], [0, 0, 3.0]])))
    its principal moments of inertia 1, 1, 3 kg·m² break the triangle inequality
    (each is at most the sum of the others)
    """
    if inertia.mass == 0.0 and inertia.matrix.any():
        return "it has an inertia matrix but no mass"
    small, middle, large = np.linalg.eigvalsh(inertia.matrix)
    if large > (small + middle) * (1.0 + 1e-6):
        return (
            f"its principal moments of inertia {small:.6g}, {middle:.6g}, {large:.6g} kg·m² break the triangle "
            "inequality (each is at most the sum of the others)"
        )
    return None


def check_inertia(inertia: Inertia, owner: str, negligible: float = 0.0) -> str | None:
    """Raise for impossible parameters; return the sentence of a warning for implausible ones.

    A principal moment that is negative because the file's numbers are rounded is implausible, not impossible.

    Parameters
    ----------
    inertia
        Inertia to check.
    owner
        Who has it, for the message, such as ``"link 'forearm'"``.
    negligible
        Size of a moment of inertia that is lost in the rounding of the rigid body that the owner is part of, kg·m².

    Raises
    ------
    ModelError
        Negative mass, first moment beside that of the mass, asymmetric matrix, or a principal moment that is negative
        by more than `negligible` and by more than rounding to three digits explains.

    Examples
    --------
    >>> check_inertia(Inertia(), "link 'tool'") is None
    True
    """
    reason = impossibility(inertia)
    if reason is not None:
        if not _is_rounded(inertia, negligible):
            raise ModelError(f"{owner}: {reason} (check=False skips this check)")
        return f"{owner}: {reason}, as little as rounding explains; model.nearest_consistent corrects it"
    reason = implausibility(inertia)
    return None if reason is None else f"{owner}: {reason}"


def _is_rounded(inertia: Inertia, negligible: float) -> bool:
    """Whether nothing but a principal moment is impossible, which is no more negative than rounding explains."""
    symmetric, _ = possible_matrix(inertia.matrix)
    if inertia.mass < MASS.at_least or inertia.first_moment.any() or not symmetric.holds:
        return False
    smallest = float(np.linalg.eigvalsh(inertia.matrix)[0])
    return -smallest <= max(negligible, THREE_DIGITS * float(np.abs(inertia.matrix).max()))
