"""Which column of a table is which quantity of which joint: told by its name or by the user.

A name tells it if it says the quantity, and the joint by its name or number. Anything less is an error that offers what
might be meant, as an argument to copy.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise

from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.identification.logs.tables import column_name

QUANTITIES = ("time", "q", "qd", "effort")
"""What a log can hold: time, joint positions, joint velocities, and torques or motor currents."""

REQUIRED = {"q": "positions", "effort": "torques or currents"}
"""Quantities that each log needs, in words."""
_WORDS = {
    "time": {"t", "time", "timestamp", "stamp", "times"},
    "q": {"q", "pos", "position", "positions", "angle", "angles", "qpos", "theta", "positionactual"},
    "qd": {"qd", "dq", "qdot", "vel", "velocity", "velocities", "speed", "qvel", "dtheta", "omega"},
    "effort": {"tau", "effort", "efforts", "torque", "torques", "moment", "current", "currents", "force", "u", "i"},
}
_NOT_MEASURED = {
    "action", "actions", "tcp", "ee", "eef", "cartesian", "wrench",  # commands of data sets, and what is not a joint's
    "d", "des", "desired", "target", "cmd", "command", "commands", "commanded", "ref", "reference", "setpoint", "goal",
    "ext", "external", "hat", "error", "err", "limit", "filtered", "qdd", "ddq", "acc", "acceleration", "ddot",
    "model", "predicted", "sim", "simulated", "nominal", "feedforward", "ff", "gravity", "coriolis", "friction",
}  # fmt: skip
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
        Columns of ``"time"`` (one, or seconds and nanoseconds), and of ``"q"``, ``"qd"`` and ``"effort"`` (one per
        joint), if present.
    units
        Units by quantity, from the column names or the user: ``"deg"``, ``"mm"``, ``"ms"``, …, or a factor to SI units;
        one per column (``""`` if unknown) where they differ.
    currents
        Whether the efforts are motor currents.
    unused
        Columns that were not used.
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
        Column names by quantity, instead of what the names tell: one name, a name for each joint, a mapping from joint
        names to column names, or a pattern such as ``"tau_{joint}"``, ``"tau_{index}"`` (from 1) or ``"tau_{index0}"``
        (from 0).

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
    _require_known(corrections, table, joints)
    parsed = [_parse(name, joints) for name in table]
    found = {
        quantity: _chosen(quantity, corrections[quantity], joints)
        if quantity in corrections
        else _told(quantity, [column for column in parsed if column.tells(quantity)], joints)
        for quantity in QUANTITIES
    }
    names = {quantity: own for quantity, own in found.items() if own}
    for quantity in REQUIRED:
        if quantity not in names:
            raise ArgumentError(_missing(quantity, table, joints))
    taken = {name for group in names.values() for name in group}
    by_name = {column.name: column for column in parsed}
    return Columns(
        names=names,
        units=_units({role: [by_name[name] for name in group] for role, group in names.items()}),
        currents=all(_CURRENT & by_name[name].words for name in names["effort"]),
        unused=tuple(name for name in table if name not in taken),
    )


def _require_known(
    corrections: Mapping[str, str | Sequence[str] | Mapping[str, str]], table: Sequence[str], joints: Sequence[str]
) -> None:
    for quantity, choice in corrections.items():
        if quantity not in QUANTITIES:
            raise UnknownNameError("quantity of a log", quantity, QUANTITIES)
        for column in _chosen(quantity, choice, joints):
            if column not in table:
                raise UnknownNameError("column", column, table)


def _missing(quantity: str, table: Sequence[str], joints: Sequence[str]) -> str:
    return (
        f"no columns for the joints' {REQUIRED[quantity]} among: {', '.join(table[:40])}; name them with columns="
        f"{{'{quantity}': [...]}} (--columns {quantity}=NAME,NAME,…), {len(joints)} names in the order of the "
        f"joints ({', '.join(joints)})"
    )


def _units(groups: Mapping[str, list[_Column]]) -> dict[str, Unit | tuple[Unit, ...]]:
    """Units that the names of the columns tell; a stamp of two columns is in seconds."""
    units: dict[str, Unit | tuple[Unit, ...]] = {}
    for role, group in groups.items():
        own = tuple(_unit_of(column, role) for column in group)
        if any(own):
            units[role] = own[0] if len(set(own)) == 1 else own
    if len(groups.get("time", ())) > 1:
        units["time"] = "s"
    return units


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

    def tells(self, quantity: str) -> bool:
        """Whether the name says that the column is this quantity, measured."""
        return self.quantity == quantity and not _NOT_MEASURED & self.words


def _parse(name: str, joints: Sequence[str]) -> _Column:
    joint, rest = _joint_in(name, joints)
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", rest)
    spaced = re.sub(r"(?<![A-Za-z])[aA](?=\d)", " ", spaced)  # axis A1, not amperes
    tokens = [token.lower() for token in re.findall(r"[A-Za-z]+|\d+", spaced)]
    ordered = [token for token in tokens if not token.isdigit()]
    numbers = [int(token) for token in tokens if token.isdigit()]
    words = _with_derivatives(ordered)
    unit = re.search(r"[\[(]\s*([^\])]+?)\s*[\])]\s*$", name)
    quantity = _quantity(["qdot", *ordered] if "qdot" in words else ordered, unit[1] if unit else "")
    if unit and unit[1].startswith("°"):
        words.add("deg")
    if quantity == "effort" and "i" in words:
        words.add("current")
    numbered = joint is None and bool(numbers)
    stem = " ".join(word for word in ordered if not (numbered and word in ("joint", "j", "axis")))
    return _Column(name, joint, numbers[-1] if numbers else None, frozenset(words), stem, quantity)


def _with_derivatives(words: Sequence[str]) -> set[str]:
    """Words of a name, with "qdot" and "qddot" where they are written as two, and "ddot" where "qddot" has it."""
    rates = ["q" + b for a, b in pairwise(words) if a in ("q", "theta") and b in ("dot", "ddot")]
    together = {*words, *rates}
    return together | {"ddot"} if "qddot" in together else together


def _joint_in(name: str, joints: Sequence[str]) -> tuple[str | None, str]:
    """Joint that a column's name has in it, and the rest of the name."""
    for joint in sorted(joints, key=len, reverse=True):
        match = re.search(rf"(?<![A-Za-z0-9]){re.escape(joint)}(?![0-9])", name, re.IGNORECASE)
        if match:
            return joint, name[: match.start()] + " " + name[match.end() :]
    return None, name


def _quantity(words: Sequence[str], unit: str) -> str | None:
    """Quantity that the first word that means one tells, or else a unit in brackets."""
    meant = (quantity for word in words for quantity, known in _WORDS.items() if word in known)
    return next(meant, None) or _BY_UNIT.get(unit.lower())


def _told(quantity: str, candidates: list[_Column], joints: Sequence[str]) -> tuple[str, ...]:
    """Columns whose names say that they are this quantity; none if none does."""
    if not candidates:
        return ()
    fitting = _times(candidates) if quantity == "time" else _of_joints(candidates, joints)
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        texts = [_offered(own, joints) for own in fitting]
        options = " or ".join(f"columns={{'{quantity}': {text}}}" for text in texts)
        typed = " or ".join(f'--columns "{quantity}={text.strip("[]").replace(chr(39), "")}"' for text in texts)
        raise ArgumentError(f"several columns may be '{quantity}'; choose {options} ({typed})")
    names = [column.name for column in candidates]
    said = f"{len(names)} columns seem to be '{quantity}' ({', '.join(names[:12])}), but "
    if len(names) != len(joints):
        said += (
            f"the robot has {len(joints)} joints ({', '.join(joints)}); name them with columns={{'{quantity}': [...]}}"
        )
    else:
        said += (
            f"their names do not tell which is of which joint ({', '.join(joints)}); in this order they are "
            f"columns={{'{quantity}': {names}}} (--columns {quantity}={','.join(names)})"
        )
    raise ArgumentError(said)


def _offered(names: tuple[str, ...], joints: Sequence[str]) -> str:
    """Names as they are declared: one, a pattern that makes all of them, or a list."""
    for old, new in ((joints[0], "{joint}"), ("1", "{index}"), ("0", "{index0}")):
        head, found, tail = names[0].rpartition(old)
        pattern = f"{head}{new}{tail}"
        if found and _chosen("", pattern, joints) == names:
            return repr(pattern)
    return repr(names[0]) if len(names) == 1 else repr(list(names))


def _times(candidates: list[_Column]) -> list[tuple[str, ...]]:
    """Columns of times; seconds and nanoseconds of one stamp belong together."""
    for first, other in combinations(candidates, 2):
        if (
            first.words & _SECONDS
            and other.words & _NANOSECONDS
            and first.words - _SECONDS == other.words - _NANOSECONDS
        ):
            rest = [column for column in candidates if column not in (first, other)]
            return [(first.name, other.name), *((column.name,) for column in rest)]
    return [(column.name,) for column in candidates]


def _of_joints(candidates: list[_Column], joints: Sequence[str]) -> list[tuple[str, ...]]:
    """Sets of one column for each joint, of columns that are named alike apart from the joint, or else of all."""
    stems = dict.fromkeys(column.stem for column in candidates)
    alike = [_assigned([column for column in candidates if column.stem == stem], joints) for stem in stems]
    return [own for own in alike if own] or [own for own in [_assigned(candidates, joints)] if own]


def _assigned(columns: list[_Column], joints: Sequence[str]) -> tuple[str, ...]:
    """Columns in the order of the joints, by their names, or by numbers that count from 0 or 1."""
    named = {column.joint: column.name for column in columns if column.joint is not None}
    if set(joints) <= set(named):
        return tuple(named[joint] for joint in joints)
    if named or len(columns) != len(joints):
        return ()
    if len(columns) == 1:
        return (columns[0].name,)
    numbered = {column.number: column.name for column in columns if column.number is not None}
    numbers = sorted(numbered)
    if numbers in (list(range(len(joints))), list(range(1, len(joints) + 1))):
        return tuple(numbered[number] for number in numbers)
    return ()


def _chosen(quantity: str, choice: str | Sequence[str] | Mapping[str, str], joints: Sequence[str]) -> tuple[str, ...]:
    if quantity == "time":
        return (str(choice),)
    if isinstance(choice, str):
        if "{" not in choice and len(joints) == 1:
            return (choice,)
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
    return tuple(names)
