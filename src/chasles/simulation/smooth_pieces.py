"""Which smooth piece a run is on: torques at their limits, contacts that are made, directions of joints that move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.engine import Record, where
from chasles.simulation.closed_loop import ClosedLoop

Floats = NDArray[np.float64]


def kinds_of_pieces(loop: ClosedLoop) -> list[tuple[str, int]]:
    """Sources of kinks in a loop, and how many numbers say on which piece it is."""
    plant = loop.plant
    limits = plant.robot.effort_limits
    limited = int(((limits > 0.0) & np.isfinite(limits)).sum()) if plant.effort_limits else 0
    joints = plant.robot.description.joints
    dry = plant.friction is not None or any(joint.coulomb_friction or joint.load_friction for joint in joints)
    return [("saturation", limited), ("contact", len(plant.contacts)), ("reversal", plant.n if dry else 0)]


def pieces_of(loop: ClosedLoop, now: Record) -> list[Any]:
    """Numbers that are constant while a run stays on one smooth piece."""
    plant = loop.plant
    pieces: list[Any] = []
    if plant.effort_limits:
        limits = zip(now.tau, plant.robot.effort_limits, strict=True)
        pieces += [
            where(tau > bound, 1.0, where(tau < -bound, -1.0, 0.0)) for tau, bound in limits if 0.0 < bound < np.inf
        ]
    pieces += [where(now[name] @ now[name] > 0.0, 1.0, 0.0) for name in plant.contacts]
    if dict(kinds_of_pieces(loop))["reversal"]:
        pieces += [where(v > 0.0, 1.0, 0.0) for v in now.qd]
    return pieces


def switches(kinds: Sequence[str], pieces: Floats) -> tuple[dict[str, Floats], Floats]:
    """Number of changes of each kind of piece, and the share of samples with a torque at its limit."""
    changed = np.diff(pieces, axis=-2) != 0.0
    of_kind = {kind: np.array([other == kind for other in kinds]) for kind in dict.fromkeys(kinds)}
    switches = {kind: np.asarray(changed[..., chosen].sum(axis=(-2, -1))) for kind, chosen in of_kind.items()}
    limited = pieces[..., of_kind.get("saturation", np.zeros(len(kinds), bool))]
    return switches, np.asarray((limited != 0.0).any(axis=-1).mean(axis=-1))
