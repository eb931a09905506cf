"""Which column of a table is which quantity of which joint: guessed from names, corrected by the user."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.identification.logs.tables import column_name

QUANTITIES = ("time", "q", "qd", "effort")
"""What a log can hold: time, joint positions, joint velocities, and torques or motor currents."""

_WORDS = {
    "time": {"t", "time", "timestamp", "stamp", "times"},
    "q": {"q", "pos", "position", "positions", "angle", "angles", "qpos", "theta", "positionactual"},
    "qd": {"qd", "dq", "qdot", "vel", "velocity", "velocities", "speed", "qvel", "dtheta", "omega"},
    "effort": {"tau", "effort", "efforts", "torque", "torques", "moment", "current", "currents", "force", "u", "i"},
}
_NOT_MEASURED = {
    *(
        "d",
        "des",
        "desired",
        "target",
        "cmd",
        "command",
        "commands",
        "commanded",
        "ref",
        "reference",
        "setpoint",
        "goal",
    ),
    *("ext", "external", "hat", "error", "err", "limit", "filtered", "qdd", "ddq", "acc", "acceleration", "ddot"),
    *("model", "predicted", "sim", "simulated", "nominal", "feedforward", "ff", "gravity", "coriolis", "friction"),
}
_CURRENT = {"a", "ma", "amp", "ampere", "amps", "current", "currents"}
_SECONDS = {"s", "sec", "secs", "seconds"}
_NANOSECONDS = {"ns", "nsec", "nsecs", "nanosec", "nanosecs", "nanoseconds"}
_UNITS = {
    **dict.fromkeys(("deg", "degree", "degrees"), ("q", "deg")), "mm": ("q", "mm"), "rad": ("q", "rad"),
    **dict.fromkeys(_SECONDS, ("time", "s")), **dict.fromkeys(_NANOSECONDS, ("time", "ns")),
    **dict.fromkeys(("ms", "msec", "milliseconds"), ("time", "ms")),
    **dict.fromkeys(("us", "usec", "microseconds"), ("time", "us")), "ma": ("effort", "mA"),
}  # fmt: skip
_BY_UNIT = {
    **dict.fromkeys(("deg", "°", "rad", "mm", "m"), "q"),
    **dict.fromkeys(("deg/s", "°/s", "rad/s", "mm/s", "m/s"), "qd"),
    **dict.fromkeys(("nm", "n·m", "n*m", "n m", "n", "a", "ma"), "effort"),
    **dict.fromkeys(("s", "ms", "us", "ns"), "time"),
}
"""Quantities that units in brackets tell, where no word does."""


Unit = str | float
"""Name of a unit, or its factor to SI units."""


@dataclass(frozen=True)
class Columns:
    """Mapping from quantities to column names.

    Attributes
    ----------
    names
        Column of ``"time"`` (one, or seconds and nanoseconds), and of ``"q"``, ``"qd"`` and ``"effort"`` (one for each
        joint), as far as they are there.
    units
        Units that the names of the columns or the user tell, by quantity: ``"deg"``, ``"mm"``, ``"ms"``, …, or a factor
        to SI units; one for each column (``""`` if nothing tells it) where they differ.
    currents
        Whether the efforts are motor currents.
    unused
        Columns that were not taken.
    """

    names: Mapping[str, tuple[str, ...]]
    units: Mapping[str, Unit | tuple[Unit, ...]] = field(default_factory=dict)
    currents: bool = False
    unused: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = []
        for quantity in QUANTITIES:
            if quantity in self.names:
                told = self.units.get(quantity, "")
                text = ", ".join(str(each) or "-" for each in told) if isinstance(told, tuple) else str(told)
                unit = f" [{text}]" if text else ""
                lines.append(f"{quantity:<7} {', '.join(self.names[quantity])}{unit}")
        if self.unused:
            shown = ", ".join(self.unused[:8]) + (f", … ({len(self.unused)})" if len(self.unused) > 8 else "")
            lines.append(f"unused  {shown}")
        return "\n".join(lines)


def find_columns(
    table: Sequence[str], joints: Sequence[str], corrections: Mapping[str, str | Sequence[str] | Mapping[str, str]]
) -> Columns:
    """Map the columns of a table to quantities and joints.

    Parameters
    ----------
    table
        Names of the columns.
    joints
        Names of the robot's joints, in the order of q.
    corrections
        Column names by quantity, instead of a guess: one name, a name for each joint, a mapping from joint names to
        column names, or a pattern such as ``"tau_{joint}"``, ``"tau_{index}"`` (from 1) or ``"tau_{index0}"`` (from 0).

    Raises
    ------
    ArgumentError
        If positions or efforts are missing or ambiguous; the message lists candidates.
    UnknownNameError
        If a correction names a column or quantity that does not exist.

    Examples
    --------
    >>> print(find_columns(["t_ms", "q_1_deg", "q_2_deg", "tau_1", "tau_2", "tau_d_1"], ["a", "b"], {}))
    time    t_ms [ms]
    q       q_1_deg, q_2_deg [deg]
    effort  tau_1, tau_2
    unused  tau_d_1
    """
    for quantity, choice in corrections.items():
        if quantity not in QUANTITIES:
            raise UnknownNameError("quantity of a log", quantity, QUANTITIES)
        for column in _chosen(choice, joints) if quantity != "time" else [str(choice)]:
            if column not in table:
                raise UnknownNameError("column", column, table)
    parsed = [_parse(name, joints) for name in table]
    names: dict[str, tuple[str, ...]] = {}
    for quantity in QUANTITIES:
        if quantity in corrections:
            choice = corrections[quantity]
            names[quantity] = (str(choice),) if quantity == "time" else tuple(_chosen(choice, joints))
            continue
        candidates = [column for column in parsed if column.quantity == quantity and column.measured]
        found = _time(candidates) if quantity == "time" else _by_joint(quantity, candidates, joints)
        if found:
            names[quantity] = found
    for quantity, what in (("q", "positions"), ("effort", "torques or currents")):
        if quantity not in names:
            raise ArgumentError(
                f"no columns for the joints' {what} among: {', '.join(table[:40])}; name them with columns="
                f"{{'{quantity}': [...]}} (--columns {quantity}=NAME,NAME,…), {len(joints)} names in the order of the "
                f"joints ({', '.join(joints)})"
            )
    taken = {name for group in names.values() for name in group}
    by_name = {column.name: column for column in parsed}
    units: dict[str, Unit | tuple[Unit, ...]] = {}
    for role, group in names.items():
        own = tuple(_unit_of(by_name[name], role) for name in group)
        if any(own):
            units[role] = own[0] if len(set(own)) == 1 else own
    if len(names.get("time", ())) > 1:
        units["time"] = "s"
    efforts = [column for column in parsed if column.name in names["effort"]]
    return Columns(
        names=names,
        units=units,
        currents=all(_CURRENT & column.words for column in efforts),
        unused=tuple(name for name in table if name not in taken),
    )


def _unit_of(column: _Column, role: str) -> str:
    """Unit that a column's name tells, or nothing."""
    told = [
        unit
        for word in column.words
        for quantity, unit in [_UNITS.get(word, ("", ""))]
        if role in (quantity, quantity + "d")
    ]
    return told[0] if told else ""


@dataclass(frozen=True)
class _Column:
    """Name of a column, taken apart."""

    name: str
    joint: str | None
    number: int | None
    words: frozenset[str]
    stem: str
    quantity: str | None
    measured: bool


def _parse(name: str, joints: Sequence[str]) -> _Column:
    joint, rest = None, name
    for candidate in sorted(joints, key=len, reverse=True):
        match = re.search(rf"(?<![A-Za-z0-9]){re.escape(candidate)}(?![0-9])", name, re.IGNORECASE)
        if match:
            joint, rest = candidate, name[: match.start()] + " " + name[match.end() :]
            break
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", rest)
    spaced = re.sub(r"(?<![A-Za-z])[aA](?=\d)", " ", spaced)  # axis A1, not amperes
    tokens = [token.lower() for token in re.findall(r"[A-Za-z]+|\d+", spaced)]
    ordered = [token for token in tokens if not token.isdigit()]
    joined = [
        *ordered,
        *("q" + b for a, b in pairwise(ordered) if a in ("q", "theta") and b in ("dot", "ddot")),
    ]
    words = frozenset(joined) | ({"ddot"} if "qddot" in joined else set())
    numbers = [int(token) for token in tokens if token.isdigit()]
    quantity = "qd" if "qdot" in words else None
    for word in ordered:
        quantity = quantity or next((key for key, known in _WORDS.items() if word in known), None)
    unit = re.search(r"[\[(]\s*([^\])]+?)\s*[\])]\s*$", name)
    if unit and quantity is None:
        quantity = _BY_UNIT.get(unit[1].lower())
    if unit and unit[1].startswith("°"):
        words |= {"deg"}
    if quantity == "effort" and "i" in words:
        words |= {"current"}
    stem = " ".join(
        ordered if joint is not None or not numbers else [t for t in ordered if t not in ("joint", "j", "axis")]
    )
    return _Column(name, joint, numbers[-1] if numbers else None, words, stem, quantity, not _NOT_MEASURED & words)


def _time(candidates: list[_Column]) -> tuple[str, ...]:
    """First column of times; seconds and nanoseconds of one stamp belong together."""
    if not candidates:
        return ()
    first = candidates[0]
    for other in candidates[1:]:
        if (
            first.words & _SECONDS
            and other.words & _NANOSECONDS
            and first.words - _SECONDS == other.words - _NANOSECONDS
        ):
            return first.name, other.name
    return (first.name,)


def _by_joint(quantity: str, candidates: list[_Column], joints: Sequence[str]) -> tuple[str, ...]:
    """One column for each joint: by joint names, else by numbers, else by their order."""
    stems = dict.fromkeys(column.stem for column in candidates)
    fitting = []
    for stem in stems:
        found = _assigned([column for column in candidates if column.stem == stem], joints)
        if found:
            fitting.append((stem, found))
    if not fitting:
        found = _assigned(candidates, joints)
        if found or not candidates:
            return found
        raise ArgumentError(
            f"{len(candidates)} columns seem to be '{quantity}' ({', '.join(c.name for c in candidates[:12])}), but "
            f"the robot has {len(joints)} joints ({', '.join(joints)}); name them with columns={{'{quantity}': [...]}}"
        )
    if len(fitting) > 1:
        fitting = [pair for pair in fitting if not _CURRENT & set(pair[0].split())] or fitting
    if len(fitting) > 1:
        options = " or ".join(f"[{', '.join(found)}]" for _, found in fitting)
        raise ArgumentError(f"'{quantity}' may be {options}; choose with columns={{'{quantity}': [...]}}")
    return fitting[0][1]


def _assigned(columns: list[_Column], joints: Sequence[str]) -> tuple[str, ...]:
    named = {column.joint: column.name for column in columns if column.joint is not None}
    if set(joints) <= set(named):
        return tuple(named[joint] for joint in joints)
    if named or len(columns) != len(joints):
        return ()
    numbered = {column.number: column.name for column in columns if column.number is not None}
    if len(numbered) == len(joints):
        return tuple(numbered[number] for number in sorted(numbered))
    return tuple(column.name for column in columns)


def _chosen(choice: str | Sequence[str] | Mapping[str, str], joints: Sequence[str]) -> list[str]:
    if isinstance(choice, str):
        if "{" not in choice and len(joints) == 1:
            return [choice]
        names = [choice.format(joint=joint, index=k + 1, index0=k) for k, joint in enumerate(joints)]
    elif isinstance(choice, Mapping):
        missing = [joint for joint in joints if joint not in choice]
        if missing:
            raise ArgumentError(f"columns: no column is given for joint '{missing[0]}'")
        names = [column_name(choice[joint]) for joint in joints]
    else:
        names = [column_name(name) for name in choice]
    if len(names) != len(joints) or len(set(names)) < len(names):
        raise ArgumentError(f"columns: expected {len(joints)} different names, one for each joint, not {names}")
    return names
