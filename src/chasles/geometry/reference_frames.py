"""The three frames in which the twist of a frame b that moves in the world is given; the same names everywhere."""

from __future__ import annotations

from typing import Literal

from chasles.errors import UnknownNameError

ReferenceFrame = Literal["space", "body", "world-aligned"]
REFERENCE_FRAMES: tuple[ReferenceFrame, ...] = ("space", "body", "world-aligned")
"""About the world's origin in the world's axes; about b's origin in b's axes; about b's origin in the world's axes."""


def require_reference_frame(frame: str) -> None:
    """Refuse names that are none of the three.

    >>> require_reference_frame("body")
    """
    if frame not in REFERENCE_FRAMES:
        raise UnknownNameError("reference frame", frame, REFERENCE_FRAMES)
