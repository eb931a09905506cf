"""ROBOOP's families of arms that have formulas for inverse kinematics, told by the zeros of their tables.

The value of the twists α of ±90° is not tested, in ROBOOP neither. There its formulas hold for one choice of signs;
here `chasles` finds the formulas by the axes, whatever the signs, and checks each result by forward kinematics.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from chasles.interop.roboop.codes import DEFAULT, EPSILON, PUMA, RHINO, SCHILLING
from chasles.interop.roboop.link import Link


class _HasLinks(Protocol):
    """A robot: all that a table needs."""

    links: list[Link]


#: For each family the number of joints, and the joints whose a, d and α are zero: standard tables, then modified ones.
_ZEROS: dict[int, tuple[int, tuple[dict[str, tuple[int, ...]], dict[str, tuple[int, ...]]]]] = {
    RHINO: (
        5,
        (
            {"a": (1, 5), "d": (2, 3, 4), "alpha": (2, 3, 5)},
            {"a": (1, 2), "d": (2, 3, 4), "alpha": (1, 3, 4)},
        ),
    ),
    PUMA: (
        6,
        (
            {"a": (1, 4, 5, 6), "d": (5,), "alpha": (2, 6)},
            {"a": (1, 2, 5, 6), "d": (5,), "alpha": (1, 3)},
        ),
    ),
    SCHILLING: (
        6,
        (
            {"a": (5, 6), "d": (2, 3, 4, 5), "alpha": (2, 3, 6)},
            {"a": (1, 6), "d": (2, 3, 4, 5), "alpha": (1, 3, 4)},
        ),
    ),
}


def family_of(links: Sequence[Link], standard: bool) -> int:
    """Return RHINO, PUMA or SCHILLING, or DEFAULT for an arm of no family."""
    for family in (RHINO, PUMA, SCHILLING):
        if _is_of(family, links, standard):
            return family
    return DEFAULT


def _is_of(family: int, links: Sequence[Link], standard: bool) -> bool:
    joints, tables = _ZEROS[family]
    arm = [link for link in links if link.get_joint_type() != 2]
    if len(arm) != joints or any(link.get_joint_type() for link in arm):
        return False
    zeros = tables[0 if standard else 1]
    values = {"a": Link.get_a, "d": Link.get_d, "alpha": Link.get_alpha}
    if any(abs(values[name](arm[index - 1])) >= EPSILON for name, indices in zeros.items() for index in indices):
        return False
    if family == PUMA:
        lengths = (2, 3) if standard else (3, 4)
        return all(abs(arm[index - 1].get_a()) >= EPSILON for index in lengths)
    return True


def Rhino_DH(robot: _HasLinks) -> bool:
    """Return whether a robot's table of standard parameters is a Rhino's."""
    return _is_of(RHINO, robot.links, True)


def Puma_DH(robot: _HasLinks) -> bool:
    """Return whether a robot's table of standard parameters is a PUMA's."""
    return _is_of(PUMA, robot.links, True)


def Schilling_DH(robot: _HasLinks) -> bool:
    """Return whether a robot's table of standard parameters is a Schilling arm's."""
    return _is_of(SCHILLING, robot.links, True)


def Rhino_mDH(robot: _HasLinks) -> bool:
    """Return whether a robot's table of modified parameters is a Rhino's."""
    return _is_of(RHINO, robot.links, False)


def Puma_mDH(robot: _HasLinks) -> bool:
    """Return whether a robot's table of modified parameters is a PUMA's."""
    return _is_of(PUMA, robot.links, False)


def Schilling_mDH(robot: _HasLinks) -> bool:
    """Return whether a robot's table of modified parameters is a Schilling arm's."""
    return _is_of(SCHILLING, robot.links, False)
