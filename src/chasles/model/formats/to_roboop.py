"""Writing robots as ROBOOP's configuration files."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from chasles.base.errors import ModelError
from chasles.model.description import STANDARD_GRAVITY, Description
from chasles.model.formats.configuration import configuration_text
from chasles.model.formats.exact_values import exact_values
from chasles.model.formats.free_format import number_text
from chasles.model.formats.roboop import COLUMNS, FIXED, MOTOR, RoboopTable, fixed_placement
from chasles.model.formats.to_dh import to_dh, to_modified_dh
from chasles.model.inertia import Inertia
from chasles.model.joint import POSITION_TORQUES
from chasles.model.placement import FloatArray
from chasles.model.record import naming, shortened

#: Largest deviation of a tool's placement from Denavit-Hartenberg parameters, in m and of unit vectors.
_CLOSE = 1e-12


def to_roboop(description: Description, *, standard: bool = True) -> str:
    """Return the text of a configuration file of ROBOOP.

    The file holds geometry, position limits, inertias, motors and friction. It cannot hold names of links and joints,
    further frames, and limits of velocity and effort.

    Parameters
    ----------
    description
        The robot.
    standard
        Whether to write standard Denavit-Hartenberg parameters or modified ones.

    Raises
    ------
    ModelError
        The format cannot describe the robot: it is not a serial chain, or has a base or a tool that the parameters
        cannot place, another gravity, or friction of another kind. The message says which.

    Examples
    --------
    >>> from chasles.model import load
    >>> text = to_roboop(load("stanford"))
    >>> "[stanford_LINK3]" in text, "[stanford_LINK7]" in text
    (True, False)
    """
    return roboop_text(roboop_table(description, standard=standard), title=description.source or description.name)


def roboop_text(table: RoboopTable, title: str = "") -> str:
    """Return the text of a configuration file, from which `parse_roboop_table` reads the same table.

    Examples
    --------
    >>> text = roboop_text(RoboopTable(np.eye(1, 23, 3) * 0.5))
    >>> text.split("[robot_LINK1]")[1].split()[:8]
    ['joint_type:', '0', 'theta:', '0', 'd:', '0', 'a:', '0.5']
    """
    header = {
        "Name": table.name,
        "DH": str(int(table.standard)),
        "Fix": str(int(table.has_fixed_link)),
        "MinPara": str(int(table.minimal)),
        "dof": str(table.dof),
        "angle_in_degree": "0",
        "Motor": "1",
    }
    sections = {table.name: header}
    order = (*COLUMNS[: -1 - len(MOTOR)], "immobile", *MOTOR)
    for index, row in enumerate(table.matrix.tolist(), start=1):
        values = dict(zip(COLUMNS, row, strict=True))
        sections[f"{table.name}_LINK{index}"] = {key: number_text(values[key]) for key in order}
    return configuration_text(sections, title, space=15)


def roboop_table(description: Description, *, standard: bool = True) -> RoboopTable:
    """Return the initialisation matrix of a robot; see `to_roboop`.

    Examples
    --------
    >>> from chasles.model import load
    >>> roboop_table(load("stanford")).column("joint_type")
    array([0., 0., 1., 0., 0., 0.])
    """
    table = to_dh(description) if standard else to_modified_dh(description)
    with naming(f"robot '{description.name}' has no file of ROBOOP"):
        if not np.array_equal(table.gravity, STANDARD_GRAVITY):
            raise ModelError(f"gravity is {table.gravity.tolist()}, not {list(STANDARD_GRAVITY)}")
        if not np.array_equal(table.base, np.eye(4)):
            raise ModelError(
                "its first frame is not the world's, and the format has no base"
                + ("; modified parameters may need none: standard=False, or --to modified-roboop" if standard else "")
            )
        links = [*(Inertia(**_inertia_fields(row)) for row in table.rows), table.payload]
        minimal = any(inertia.first_moment.any() for inertia in links)
        rows = []
        for row, home in zip(table.rows, table.home.tolist(), strict=True):
            with naming(f"joint '{row['name']}'"):
                rows.append(_row(row, home, minimal))
        tool = np.eye(4) if isinstance(table.tool, str) else table.tool
        if isinstance(table.tool, str) and table.tool != f"{table.link_prefix}{len(rows)}":
            raise ModelError(f"the tool {shortened(table.tool)} is not at the end of the chain")
        if not np.array_equal(tool, np.eye(4)) or not table.payload.is_massless:
            rows.append(_fixed_row(tool, table.payload, minimal, standard))
        return RoboopTable(np.array(rows), standard, minimal, description.name)


def _inertia_fields(row: Mapping[str, Any]) -> dict[str, Any]:
    names = {"mass": "mass", "center_of_mass": "center_of_mass", "inertia": "matrix", "first_moment": "first_moment"}
    return {field: row[key] for key, field in names.items() if key in row}


def _row(row: Mapping[str, Any], home: float, minimal: bool) -> list[float]:
    if "mimic" in row:
        raise ModelError("it mimics another joint")
    if row.get("coulomb_velocity", 0.0) and row.get("coulomb_friction", 0.0):
        raise ModelError("its Coulomb friction is not a sign: coulomb_velocity must be 0")
    for name in ("load_friction", *POSITION_TORQUES, "drive_coupling"):
        if row.get(name):
            raise ModelError(f"it has {name}, for which the format has no column; write it as TOML")
    slides = row["kind"] == "prismatic"
    values = {"joint_type": float(slides), "a": row["a"], "alpha": row["alpha"], "joint_offset": row["offset"]}
    values |= {"theta": row["theta"], "d": home} if slides else {"theta": home, "d": row["d"]}
    limits = row.get("limits", {})
    lower, upper = limits.get("lower", -math.inf), limits.get("upper", math.inf)
    if lower == upper == home:
        values["immobile"] = 1.0
    elif math.isfinite(lower) or math.isfinite(upper):
        values |= {"theta_min": max(lower, -1e9), "theta_max": min(upper, 1e9)}
    values |= _inertia_columns(Inertia(**_inertia_fields(row)), minimal)
    ratio = row.get("gear_ratio", 1.0)
    viscous, coulomb = row.get("viscous_friction", 0.0), row.get("coulomb_friction", 0.0)
    motor = row.get("motor_inertia", 0.0)
    if ratio == 0.0 and (viscous or coulomb):
        ratio, motor = 1.0, 0.0  # a motor without a gear has no friction of its own
    values |= {"Im": motor, "Gr": ratio}
    values |= {"B": _divided(viscous, ratio**2), "Cf": _divided(coulomb, abs(ratio))}
    return [float(values.get(name, 0.0)) for name in COLUMNS]


def _divided(value: float, factor: float) -> float:
    """A number whose product with a factor is the value, to the last bit if there is one."""
    if not value:
        return 0.0
    quotient = value / factor
    near = (quotient, math.nextafter(quotient, math.inf), math.nextafter(quotient, -math.inf))
    return next((candidate for candidate in near if factor * candidate == value), quotient)


def _inertia_columns(inertia: Inertia, minimal: bool) -> dict[str, float]:
    center, matrix = inertia.center_of_mass, inertia.matrix
    if minimal:
        matrix = matrix + inertia.mass * (center @ center * np.eye(3) - np.outer(center, center))
        center = inertia.mass * center + inertia.first_moment
    upper = matrix[np.triu_indices(3)].tolist()
    names = ("m", "cx", "cy", "cz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
    return dict(zip(names, (inertia.mass, *center.tolist(), *upper), strict=True))


def _fixed_row(T: FloatArray, payload: Inertia, minimal: bool, standard: bool) -> list[float]:
    """Row of a tool, if Denavit-Hartenberg parameters can place it."""
    R, p = T[:3, :3], T[:3, 3]
    if standard:
        theta, alpha = math.atan2(R[1, 0], R[0, 0]), math.atan2(R[2, 1], R[2, 2])
        a, d = p[0] * math.cos(theta) + p[1] * math.sin(theta), p[2]
    else:
        theta, alpha = math.atan2(-R[0, 1], R[0, 0]), math.atan2(-R[1, 2], R[2, 2])
        a, d = p[0], -p[1] * math.sin(alpha) + p[2] * math.cos(alpha)
    values: dict[str, float] = {"theta": theta, "alpha": alpha, "a": float(a), "d": float(d)}

    def placed(numbers: Mapping[str, float]) -> FloatArray:
        return fixed_placement({**numbers, "joint_offset": 0.0}, standard=standard)

    values = exact_values(values, placed, T) | {"joint_type": float(FIXED)}
    if np.abs(placed(values) - T).max() > _CLOSE * max(1.0, np.abs(p).max()):
        raise ModelError("four Denavit-Hartenberg parameters cannot place its tool; choose a tool that they can")
    values |= _inertia_columns(payload, minimal)
    return [float(values.get(name, 0.0)) for name in COLUMNS]
