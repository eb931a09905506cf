"""Free space of exciting motions: bodies keep clear of each other and of the floor, points of links stay in regions.

What must not be left is given as excess, the distance beyond a boundary, negative inside, with exact derivatives.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError, MissingExtraError, ModelError
from chasles.base.findings import Finding, Rule
from chasles.distances import Clearance, HalfSpace, fitted_bodies
from chasles.identification.joint_paths import JointPaths
from chasles.identification.regions import Region
from chasles.model.placement import FloatArray
from chasles.robot.robot import Robot

BODIES = 32
"""Number of capsules around a robot's shapes that are aimed at: about four for each link of an arm."""
CONFIGURATIONS = 1000
"""Random configurations that show what is free."""
MOSTLY = 0.25
"""Share of configurations in which two links overlap beyond which this tells of their capsules, not of the links."""
UNMOVED = 1e-6
"""Range of heights, m, of a frame that no joint raises or lowers."""

NOT_LOOKED_AT = Rule(
    "self-collision-not-looked-at", np.nan, "distances need the shapes of the links",
    "self-collision was not looked at: {reason}; give clearance=chasles.clearance(robot, bodies=[...])", "caution",
)  # fmt: skip
TOO_COARSE = Rule(
    "links-overlap-mostly", MOSTLY, "links that collide in so many configurations would leave a robot no room",
    "the capsules of these links overlap in more than {limit:.0%} of all configurations, so their distance was not "
    "looked at: {links}", "caution",
)  # fmt: skip
BELOW_FLOOR = Rule(
    "always-below-floor", np.nan, "what no configuration lifts, no motion can keep above",
    "below the floor in all configurations, and not looked at there: {links}", "note",
)  # fmt: skip


class FreeSpace:
    """Configurations in which bodies keep their distances and points stay in their regions.

    Parameters
    ----------
    paths
        Configurations that the robot can reach.
    regions
        Half-spaces in which points of links must stay.
    clearance
        Distances to keep; None to keep none.
    """

    def __init__(self, paths: JointPaths, regions: Sequence[Region], clearance: Clearance | None) -> None:
        self.robot, self.paths = paths.robot, paths
        self.regions, self.clearance = tuple(regions), clearance
        self._pairs = [] if clearance is None else [" and ".join(pair) for pair in clearance.pairs]

    def __bool__(self) -> bool:
        """Return whether anything bounds the motion."""
        return bool(self.regions or self._pairs)

    def excess(self, q: FloatArray) -> FloatArray:
        """Distances beyond the boundaries at configurations (k, nq): shape (k, boundaries), m, negative inside."""
        columns = [region.excess(self.robot, q)[:, None] for region in self.regions]
        if self.clearance is not None and self._pairs:
            columns.append(-np.asarray(self.clearance.distances(q)))
        return np.hstack(columns) if columns else np.zeros((len(q), 0))

    def penalty(self, q: FloatArray, margin: float) -> tuple[float, FloatArray]:
        """Sum of the squares of what comes nearer to boundaries than a margin, m, and its slopes (k, n)."""
        total, slopes = 0.0, np.zeros((len(q), self.robot.n))
        for region in self.regions:
            over = np.maximum(region.excess(self.robot, q) + margin, 0.0)
            total += float(np.sum(over**2))
            slopes += 2.0 * over[:, None] * region.slopes(self.robot, q)
        if self.clearance is not None and self._pairs:
            distances, J = self.clearance.distances_and_jacobian(q)
            over = np.maximum(margin - np.asarray(distances), 0.0)
            total += float(np.sum(over**2))
            slopes -= 2.0 * np.einsum("kp,kpj->kj", over, np.asarray(J))
        return total, slopes

    def broken(self, q: FloatArray) -> str:
        """What configurations (k, nq) along a motion break, in words; empty if they, and those between, are free."""
        excess = self.excess(q)
        if not excess.size:
            return ""
        bend = np.abs(np.diff(excess, 2, axis=0)).max(axis=0, initial=0.0)
        worst = (excess + 0.125 * bend).max(axis=0)  # a parabola rises by an eighth of it between samples
        k = int(np.argmax(worst))
        return "" if worst[k] < 0.0 else self._words(k, f"up to {worst[k]:.3g} m ")

    def free_configurations(self, rng: np.random.Generator, room: FloatArray) -> FloatArray:
        """Random free configurations (k, nq) within room (n,) of the middle of the joint ranges."""
        q = self.paths.drawn(rng, CONFIGURATIONS, room)
        return np.asarray(q[(self.excess(q) < 0.0).all(axis=1)])

    def require_some(self, rng: np.random.Generator) -> None:
        """Raise an error if no random configuration is free; the message says what is broken most often."""
        if not self or len(self.free_configurations(rng, self.paths.half)):
            return
        q = self.paths.drawn(rng, CONFIGURATIONS, self.paths.half)
        share = (self.excess(q) >= 0.0).mean(axis=0)
        k = int(np.argmax(share))
        raise ArgumentError(
            f"no motion of robot '{self.robot.name}' keeps what is asked for: none of {2 * CONFIGURATIONS} random "
            f"configurations within its joint limits does. In {share[k]:.0%} of them {self._words(k)}. Give wider "
            "regions, a lower floor, or other bodies (clearance=)"
        )

    def _words(self, k: int, amount: str = "") -> str:
        if k < len(self.regions):
            return f"{self.regions[k].frame} is {amount}outside of a region"
        return f"{self._pairs[k - len(self.regions)]} are {amount}into each other"


def fitted_clearance(
    robot: Robot, q: FloatArray, floor: float | None = None
) -> tuple[Clearance | None, tuple[Finding, ...]]:
    """Return distances between capsules around a robot's shapes and to a floor, and what they do not look at.

    Parameters
    ----------
    robot
        The robot.
    q
        Random configurations, shape (k, nq).
    floor
        Height of the floor, m; None without one.
    """
    count = sum(len(link.collisions) for link in robot.description.links)
    reason = "the links have no collision shapes"
    try:
        bodies = fitted_bodies(robot.description, pieces=max(1, BODIES // max(count, 1)))
    except (ModelError, MissingExtraError) as error:
        bodies, reason = (), str(error)
    if not bodies:
        return None, NOT_LOOKED_AT.told(np.nan, reason=reason)
    obstacles = () if floor is None else (HalfSpace((0.0, 0.0, floor), name="floor"),)
    whole = Clearance(robot, bodies, obstacles, ())
    overlaps: dict[tuple[str, str], NDArray[np.bool_]] = {}
    for pair, column in zip(whole.pairs, (np.asarray(whole.distances(q)) < 0.0).T, strict=True):
        overlaps[pair] = overlaps.get(pair, np.zeros(len(q), dtype=bool)) | column
    coarse = [pair for pair, over in overlaps.items() if pair[1] != "floor" and over.mean() > MOSTLY]
    below = [pair for pair, over in overlaps.items() if pair[1] == "floor" and over.all()]
    findings: tuple[Finding, ...] = ()
    if coarse:
        share = max(float(overlaps[pair].mean()) for pair in coarse)
        findings += TOO_COARSE.told(share, links=", ".join(f"{a} and {b}" for a, b in coarse))
    if below:
        findings += BELOW_FLOOR.told(np.nan, links=", ".join(link for link, _ in below))
    return Clearance(robot, bodies, obstacles, [*coarse, *below]), findings


def above_floor(robot: Robot, q: FloatArray, floor: float) -> list[Region]:
    """Return the regions above a floor, m, for the origins of all frames that the joints raise or lower."""
    frames = [*robot.description.link_names, "tool"]
    heights = {frame: np.asarray(robot.forward_kinematics(q, target=frame))[:, 2, 3] for frame in frames}
    return [Region(frame, (0.0, 0.0, -1.0), -floor) for frame in frames if np.ptp(heights[frame]) > UNMOVED]
