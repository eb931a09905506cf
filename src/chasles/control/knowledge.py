"""Knowledge that control laws require: declared by each law, and shown as a table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Knowledge:
    """Knowledge that a law has of the robot before it is switched on, and quantities that it learns afterwards.

    Attributes
    ----------
    model
        Part of the robot's model that the law computes with.
    beforehand
        Whether the model is used before the motion only, at the planned states.
    learns
        Quantities that the law estimates while it runs; empty for laws that do not learn.
    first_values
        Source of the first estimates, by the law's rule.
    """

    model: str = "full dynamics"
    beforehand: bool = False
    learns: str = ""
    first_values: str = ""
