"""Columns of a table of joints besides the geometry: names, limits, friction, motors and mimicked joints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chasles.base.errors import ModelError
from chasles.model.joint import JOINT_PARAMETERS, Joint, Limits, Mimic
from chasles.model.numbers import number
from chasles.model.record import check_keys, shortened

#: Friction on the motor's side of the gear, in tables only: a `Joint` has it on its own side.
MOTOR_FRICTION = ("motor_viscous_friction", "motor_coulomb_friction")
#: Fields of a joint that are numbers, or several.
NUMBERS = (*JOINT_PARAMETERS, "coulomb_shares")
COLUMNS = ("name", "limits", *NUMBERS, *MOTOR_FRICTION, "drive_coupling", "mimic")


def joint_columns(joint: Joint) -> dict[str, Any]:
    """Return the entries of a joint that are not as they are by default, as plain data.

    Examples
    --------
    >>> joint_columns(Joint("slide", "prismatic", "a", "b", viscous_friction=2.0, limits=Limits(upper=0.5)))
    {'name': 'slide', 'limits': {'upper': 0.5}, 'viscous_friction': 2.0}
    """
    default = Joint("default", "fixed", "a", "b")
    columns: dict[str, Any] = {"name": joint.name}
    limits = {
        name: getattr(joint.limits, name)
        for name in Limits.field_names()
        if getattr(joint.limits, name) != getattr(default.limits, name)
    }
    if limits:
        columns["limits"] = limits
    for name in NUMBERS:
        if getattr(joint, name) != getattr(default, name):
            columns[name] = getattr(joint, name)
    if joint.drive_coupling:
        columns["drive_coupling"] = dict(joint.drive_coupling)
    if joint.mimic is not None:
        columns["mimic"] = {name: getattr(joint.mimic, name) for name in Mimic.field_names()}
    return columns


def joint_fields(columns: Mapping[str, Any], default_name: str) -> dict[str, Any]:
    """Return the fields of a `Joint` that these entries of a table give.

    Examples
    --------
    >>> joint_fields({"limits": (-1.0, 1.0)}, "joint1")["limits"].upper
    1.0
    >>> joint_fields({"gear_ratio": -50.0, "motor_coulomb_friction": 0.1}, "joint1")["coulomb_friction"]
    5.0
    """
    name = columns.get("name", default_name)
    if not isinstance(name, str):
        raise ModelError(f"name must be text, not {shortened(name)}")
    return {
        "name": name,
        "limits": as_limits(columns.get("limits", Limits())),
        "drive_coupling": columns.get("drive_coupling", ()),
        "mimic": as_mimic(columns.get("mimic")),
        **{key: columns[key] for key in NUMBERS if key in columns},
        **_with_motor_friction(columns),
    }


def _with_motor_friction(columns: Mapping[str, Any]) -> dict[str, float]:
    """Friction at the joint and, through the gear, that of its motor.

    A motor that turns r times as fast passes on r² times its viscous and |r| times its Coulomb friction: friction
    opposes the motion whatever the sign of r.
    """
    if not any(name in columns for name in MOTOR_FRICTION):
        return {}
    names = ("gear_ratio", "viscous_friction", "coulomb_friction", *MOTOR_FRICTION)
    values = {name: number(columns.get(name, 1.0 if name == "gear_ratio" else 0.0), name) for name in names}
    for name in MOTOR_FRICTION:
        if values[name] < 0.0:
            raise ModelError(f"{name} must not be negative, but is {values[name]}")
    ratio, viscous, coulomb, motor_viscous, motor_coulomb = values.values()
    return {
        "viscous_friction": viscous + ratio**2 * motor_viscous,
        "coulomb_friction": coulomb + abs(ratio) * motor_coulomb,
    }


def as_limits(value: Any) -> Limits:
    """Limits from a pair (lower, upper), a mapping of fields or Limits."""
    if isinstance(value, Limits):
        return value
    if isinstance(value, Mapping):
        check_keys(value, Limits.field_names(), "limits")
        return Limits(**value)
    try:
        lower, upper = value
    except (TypeError, ValueError):
        raise ModelError(f"limits must be a pair (lower, upper), not {shortened(value)}") from None
    return Limits(lower, upper)


def as_mimic(value: Any) -> Mimic | None:
    """Mimic from a mapping of fields, Mimic or None."""
    if value is None or isinstance(value, Mimic):
        return value
    check_keys(value, Mimic.field_names(), "mimic")
    if "joint" not in value:
        raise ModelError("'joint' is missing in mimic")
    leader = value["joint"]
    if not isinstance(leader, str):
        raise ModelError(f"the joint of mimic must be a name, not {shortened(leader)}")
    return Mimic(leader, value.get("ratio", 1.0), value.get("offset", 0.0))
