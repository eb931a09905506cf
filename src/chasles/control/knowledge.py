"""What control laws are given: declared by each law, and shown as a table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Knowledge:
    """What a law knows of the robot before it is switched on, and what it finds out afterwards.

    Attributes
    ----------
    model
        Part of the robot's model that the law computes with.
    beforehand
        Whether the model is used before the motion only, at the planned states.
    learns
        What the law estimates on the way; empty for laws that do not learn.
    first_values
        Where the first estimates come from, by the law's rule.
    """

    model: str = "full dynamics"
    beforehand: bool = False
    learns: str = ""
    first_values: str = ""
