"""Links and the frames fixed to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.model.inertia import Inertia
from chasles.model.placement import frozen_placement
from chasles.model.record import DescriptionRecord, shortened
from chasles.model.shapes import Shape


@dataclass(frozen=True, eq=False)
class Link(DescriptionRecord):
    """A rigid link: its name is also the name of its frame.

    Parameters
    ----------
    name
        Name of the link and of its frame.
    inertia
        Mass, center of mass and inertia in the frame of the link.
    visuals, collisions
        Shapes that are drawn, and shapes that stand for the link where distances are asked.
    """

    name: str
    inertia: Inertia = field(default_factory=Inertia)
    visuals: tuple[Shape, ...] = ()
    collisions: tuple[Shape, ...] = ()

    def __post_init__(self) -> None:
        self._set(visuals=tuple(self.visuals), collisions=tuple(self.collisions))


@dataclass(frozen=True, eq=False)
class Frame(DescriptionRecord):
    """A named frame fixed to a link at `T_link_frame`, shape (4, 4)."""

    name: str
    link: str
    T_link_frame: NDArray[np.float64] = field(default_factory=lambda: np.eye(4))

    if TYPE_CHECKING:  # what is given becomes an array

        def __init__(self, name: str, link: str, T_link_frame: ArrayLike = ...) -> None: ...

    def __post_init__(self) -> None:
        self._set(T_link_frame=frozen_placement(self.T_link_frame, f"T_link_frame of frame {shortened(self.name)}"))
