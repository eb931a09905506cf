"""`Described`: the base of all that stands on one robot's description."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles import model
from chasles.algorithms.mobility import assembled
from chasles.base.sealed import Sealed
from chasles.model import Description


class Described(Sealed):
    """A robot's description, the properties read from it, and equality by it; the base of the parts of `Mechanics`."""

    def __init__(self, description: Description) -> None:
        if not isinstance(description, Description):
            raise TypeError(
                f"{type(self).__name__} takes a Description, not {description!r}; robots by name or file: "
                "chasles.load(...)"
            )
        self.description = assembled(description)

    @property
    def name(self) -> str:
        """Name of the robot."""
        return self.description.name

    @property
    def n(self) -> int:
        """Number of degrees of freedom: the length of qd, qdd and tau."""
        return self.description.nv

    @property
    def nq(self) -> int:
        """Number of coordinates: the length of q; more than `n` where joints have quaternions."""
        return self.description.nq

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the independent joints, in the order of q."""
        return self.description.joint_names

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the elements of q; see `chasles.model.Description`."""
        return self.description.coordinate_names

    @property
    def velocity_names(self) -> tuple[str, ...]:
        """Names of the elements of qd and tau."""
        return self.description.velocity_names

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Names of all links and frames."""
        return self.description.frame_names

    @property
    def home(self) -> NDArray[np.float64]:
        """Default configuration, shape (nq,)."""
        return self.description.home

    @property
    def lower_limits(self) -> NDArray[np.float64]:
        """Lowest joint positions, shape (nq,), rad or m; -inf without a limit."""
        return self.description.lower_limits

    @property
    def upper_limits(self) -> NDArray[np.float64]:
        """Highest joint positions, shape (nq,), rad or m; inf without a limit."""
        return self.description.upper_limits

    @property
    def velocity_limits(self) -> NDArray[np.float64]:
        """Highest joint speeds, shape (n,), rad/s or m/s; inf without a limit."""
        return self.description.velocity_limits

    @property
    def effort_limits(self) -> NDArray[np.float64]:
        """Highest joint torques, shape (n,), N·m or N; inf without a limit."""
        return self.description.effort_limits

    @property
    def digest(self) -> str:
        """SHA-256 hash of the description's content: equal for equal robots, on every machine."""
        return self.description.digest

    @property
    def parameters(self) -> dict[str, tuple[int, ...]]:
        """Names and shapes of the parameters that ``vary=`` and `with_values` take."""
        return model.parameter_shapes(self.description)

    def _how_to_change(self, name: str) -> str | None:
        kind = type(self).__name__
        if name == "name":
            return f"use edit.renamed(name=…), which returns another {kind}"
        if name in ("lower_limits", "upper_limits", "velocity_limits", "effort_limits"):
            return f"the limits belong to the joints: {kind}(robot.description.replace(joints=…))"
        known = super()._how_to_change(name)
        if known is None and name in {field.name for field in fields(Description)}:
            return f"make another one: {kind}(robot.description.replace({name}=…))"
        return known

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Described) and self.description == other.description

    def __hash__(self) -> int:
        return hash(self.description)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.description,)

    def __repr__(self) -> str:
        joints = len(self.joint_names)
        freedom = "" if joints == self.n else f" with {self.n} degrees of freedom"
        return f"<{type(self).__name__} '{self.name}': {joints} joints{freedom}, {len(self.description.links)} links>"
