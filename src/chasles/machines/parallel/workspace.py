"""Maps of a Stewart platform's workspace: poses within the limits, and their distance from singular ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base import verbs
from chasles.base.errors import ArgumentError
from chasles.engine.validators import choice, reals, whole_number
from chasles.geometry import exp_rotation
from chasles.machines.parallel.kinematics import SingularityMeasure
from chasles.machines.parallel.limits import PoseCheck
from chasles.machines.parallel.stewart import StewartPlatform

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

#: Directions of a map: translations along the axes of the base, m, and rotations about them, rad.
DIRECTIONS = ("x", "y", "z", "rx", "ry", "rz")
_DEFAULT_ANGLE = np.pi / 3


@dataclass(frozen=True, eq=False)
class WorkspaceMap:
    """Poses around a centre along two directions, with limits and singularity measures.

    Attributes
    ----------
    directions
        Two of "x", "y", "z", "rx", "ry", "rz".
    first, second
        Displacements along them from the centre, (n,) and (m,), m or rad.
    T
        The poses, (n, m, 4, 4).
    check
        Result of the check against the limits.
    singularity
        Distance of the poses from singular ones.
    name
        Name of the platform.
    """

    directions: tuple[str, str]
    first: NDArray[np.float64]
    second: NDArray[np.float64]
    T: NDArray[np.float64]
    check: PoseCheck
    singularity: SingularityMeasure
    name: str

    @property
    def share(self) -> float:
        """Fraction of the poses that respect all limits."""
        return float(np.mean(self.check.ok))

    def plot(self) -> Figure:
        """Draw the map; see `chasles.visual.workspace.workspace_plot`."""
        return verbs.plot(self)

    def __repr__(self) -> str:
        kept_share = f"{100.0 * self.share:.1f} % of {np.size(self.check.ok)} poses keep all limits"
        return f"<WorkspaceMap {' and '.join(self.directions)} of '{self.name}': {kept_share}>"


def workspace_map(
    platform: StewartPlatform,
    directions: tuple[str, str] = ("x", "y"),
    *,
    center: ArrayLike | None = None,
    extent: ArrayLike | None = None,
    samples: int = 81,
) -> WorkspaceMap:
    """Examine poses on a grid around a centre.

    Parameters
    ----------
    platform
        The platform with its limits.
    directions
        Two of "x", "y", "z" (translations along the base's axes) and "rx", "ry", "rz" (components of a rotation vector
        in base axes).
    center
        Pose in the middle, (4, 4); default `StewartPlatform.home`.
    extent
        Largest displacement to either side, one number or one for each direction, m or rad; default the base's radius
        and 60°.
    samples
        Number of samples along each direction.

    Raises
    ------
    ArgumentError
        A direction does not exist or is given twice, or a value is not positive.

    Examples
    --------
    >>> import chasles as ch, numpy as np
    >>> angles = np.deg2rad([-10, 10, 110, 130, 230, 250])
    >>> base = np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=-1)
    >>> platform = 0.5 * np.roll(base, 1, axis=0)
    >>> stewart = ch.machines.StewartPlatform(base, platform, leg_limits=(0.8, 1.4))
    >>> found = ch.machines.workspace_map(stewart, ("x", "z"), samples=11)
    >>> found.check.ok.shape, 0.0 < found.share < 1.0
    ((11, 11), True)
    """
    across, upward = (choice(direction, "direction of a map", DIRECTIONS) for direction in directions)
    if across == upward:
        raise ArgumentError(f"directions are '{across}' twice; give two different ones of {', '.join(DIRECTIONS)}")
    count = whole_number(samples, "samples", 2, 2000)
    middle = platform.home if center is None else reals(center, "center", (4, 4))
    radius = float(np.linalg.norm(platform.base - platform.base.mean(axis=0), axis=1).mean())
    default = [_DEFAULT_ANGLE if name.startswith("r") else radius for name in (across, upward)]
    largest = reals(default if extent is None else extent, "extent", (2,), broadcast=True, above=0.0)
    first, second = (np.linspace(-size, size, count) for size in largest)
    motion = np.zeros((count, count, 6))
    motion[..., DIRECTIONS.index(across)] = first[:, None]
    motion[..., DIRECTIONS.index(upward)] = second
    T = np.tile(middle, (count, count, 1, 1))
    T[..., :3, :3] = exp_rotation(motion[..., 3:]) @ middle[:3, :3]
    T[..., :3, 3] = middle[:3, 3] + motion[..., :3]
    check, singular = platform.check(T), platform.singularity(T)
    return WorkspaceMap((across, upward), first, second, T, check, singular, platform.name)
