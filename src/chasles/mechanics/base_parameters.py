"""Base parameters of a robot: the combinations of inertial parameters that its torques depend on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.engine.arguments import as_array

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """The base (minimal, identifiable) parameters of a robot.

    All torques are linear functions of the base parameters, and different values give different torques. Each base
    parameter is a linear combination of inertial parameters pi, named after one of them that occurs in no other
    combination.

    Attributes
    ----------
    names
        Name of each base parameter: that of an inertial parameter.
    expressions
        The linear combinations as text, with values to six digits.
    values
        Values of the base parameters of the robot, shape (base,).
    independent
        Index in π of the inertial parameter that each is named after, shape (base,).
    to_base
        Shape (base, parameters): ``values = to_base @ pi`` for inertial parameters π.
    parameter_names
        Names of the elements of π; see `Robot.inertial.names`.
    condition
        Condition number of the random motions, or None for parameters found in closed form.

    Examples
    --------
    >>> import chasles as ch
    >>> base = ch.load("planar2r").inertial.base()
    >>> base.names[:3]
    ('link1.mx', 'link1.my', 'link1.Izz')
    >>> base.expressions[0]  # the frame of link1 is at its end, 0.5 m from its joint
    'link1.mx + 0.5 link1.m + 0.5 link2.m'
    """

    names: tuple[str, ...]
    expressions: tuple[str, ...]
    values: Array
    independent: NDArray[np.intp]
    to_base: Array
    parameter_names: tuple[str, ...]
    condition: float | None = None

    def __len__(self) -> int:
        """Return the number of base parameters."""
        return len(self.names)

    def __repr__(self) -> str:
        return f"<{len(self)} base parameters of {len(self.parameter_names)} inertial parameters>"

    @property
    def to_inertial(self) -> Array:
        """Matrix (parameters, base) from base parameters to the simplest π that has them, with all other elements zero.

        ROBOOP and others call this π, in frames of modified DH, the robot's minimal parameters. Its masses are zero at
        revolute joints, so it is not physically consistent; `Robot.inertial.with_base` makes robots.
        """
        return np.eye(len(self.parameter_names))[:, self.independent]

    @property
    def null_space(self) -> Array:
        """Changes of pi that leave all torques unchanged, one per column: shape (parameters, parameters - base)."""
        count = len(self.parameter_names)
        others = np.setdiff1d(np.arange(count), self.independent)
        changes: Array = np.eye(count)[:, others] - self.to_inertial @ self.to_base[:, others]
        return changes

    def columns(self, Y: ArrayLike) -> Array:
        """Columns of a regressor (..., parameters) that multiply the base parameters: ``columns(Y) @ values = Y @ pi``.

        Raises
        ------
        ArgumentError
            If the length of the last axis is not that of the robot's regressors.

        Examples
        --------
        >>> import chasles as ch
        >>> arm, q = ch.load("planar2r"), [0.1, 0.2]
        >>> base, Y = arm.inertial.base(), arm.regressors.torque(q, q, q)
        >>> bool(np.allclose(base.columns(Y) @ base.values, Y @ arm.inertial.values))
        True
        """
        regressor = np.asarray(as_array(Y, "", "Y"), dtype=np.float64)
        if regressor.shape[-1:] != (len(self.parameter_names),):
            raise ArgumentError(
                f"a regressor of this robot has {len(self.parameter_names)} columns, not the shape {regressor.shape}"
            )
        return regressor[..., self.independent]


def expressions(matrix: Array, independent: Sequence[int], names: Sequence[str]) -> tuple[str, ...]:
    """Linear combinations as text: the parameter that gives the name first, then the others in their order."""
    return tuple(
        names[first] + "".join(_term(row[k], names[k]) for k in np.flatnonzero(row).tolist() if k != first)
        for row, first in zip(matrix, independent, strict=True)
    )


def _term(factor: float, name: str) -> str:
    size = f"{abs(factor):.6g}"
    return (" - " if factor < 0.0 else " + ") + (name if size == "1" else f"{size} {name}")
