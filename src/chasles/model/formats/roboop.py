"""Robots from ROBOOP's configuration files and initialisation matrices.

A row of the matrix is a link and its joint, with the 23 `COLUMNS` of ROBOOP (R. Gourdeau, ROBOOP, A Robotics Object
Oriented Package in C++, reference manual 1.31, section 4.10): the joint type (0 revolute, 1 prismatic, 2 a fixed last
link), the Denavit-Hartenberg parameters, limits, inertia, and motor. A configuration file, ``*.conf``, gives the same
numbers by name, in a section for the robot and one for each link.

Conventions of the file, and their counterparts here:

- `theta` (`d` of a prismatic joint) is the initial joint position: the robot's `home`.
- Equal limits mean no limits, because ROBOOP does not enforce any.
- Friction is that of the motor: the joint feels ``Gr² B`` and ``|Gr| Cf``. In ROBOOP a negative ratio `Gr` makes
  Coulomb friction drive the joint; here friction opposes motion.
- ``Motor: 0`` means that the motor's values are ignored.
- An `immobile` joint is held at its initial position by its limits.
- The fixed last link is the tool with, if it has a mass, a payload.
- With minimal parameters ``cx cy cz`` are first moments, kg·m, and the inertia is about the origin of the link frame;
  nobody checks whether bodies can have them.
- ``angle_in_degree`` goes for all angles, and not for the limits and the offset of a prismatic joint (ROBOOP converts
  these too, by mistake).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ModelError, UnknownNameError
from chasles.geometry.elementary import rotation_x, rotation_z
from chasles.model.consistency import check_description
from chasles.model.description import Description
from chasles.model.formats.configuration import parse_configuration
from chasles.model.formats.dh import from_dh
from chasles.model.formats.files import read_bytes
from chasles.model.formats.urdf_origins import snapped_angle
from chasles.model.inertia import Inertia
from chasles.model.numbers import frozen_array, is_bounded, written_number
from chasles.model.placement import FloatArray, compose, homogeneous
from chasles.model.record import DescriptionRecord, naming, shortened

MAX_BYTES = 2_000_000
MAX_LINKS = 1_000
GEOMETRY = ("theta", "d", "a", "alpha", "theta_min", "theta_max", "joint_offset")
INERTIA = ("m", "cx", "cy", "cz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
MOTOR = ("Im", "Gr", "B", "Cf")
#: Columns of an initialisation matrix.
COLUMNS = ("joint_type", *GEOMETRY, *INERTIA, *MOTOR, "immobile")
REVOLUTE, PRISMATIC, FIXED = 0, 1, 2
STATEMENTS = ("DH", "Fix", "MinPara", "dof", "angle_in_degree", "Motor")


@dataclass(frozen=True, eq=False)
class RoboopTable(DescriptionRecord):
    """A robot as ROBOOP describes it.

    Parameters
    ----------
    matrix
        Initialisation matrix, (links, 23), with the columns `COLUMNS`, SI units and radians.
    standard
        Whether the Denavit-Hartenberg parameters are standard ones (ROBOOP's ``Robot``) or modified (``mRobot``).
    minimal
        Whether the inertial parameters are minimal ones (``mRobot_min_para``).
    name
        Name of the robot.

    Raises
    ------
    ModelError
        The matrix has another shape or numbers that say nothing; the message names the link.

    Examples
    --------
    >>> rod = RoboopTable([[0, 0, 0, 0.5, 0, 0, 0, 0, 2, -0.25, 0, 0, 0, 0, 0, 0, 0, 0.04, 0, 0, 0, 0, 0]])
    >>> rod.dof, rod.column("a")
    (1, array([0.5]))
    """

    matrix: NDArray[np.float64]
    standard: bool = True
    minimal: bool = False
    name: str = "robot"

    def __post_init__(self) -> None:
        self._set(matrix=frozen_array(self.matrix, (None, len(COLUMNS)), "the initialisation matrix"))
        if not 1 <= len(self.matrix) <= MAX_LINKS:
            raise ModelError(f"the initialisation matrix has {len(self.matrix)} rows; 1 to {MAX_LINKS} are read")
        self._set(standard=bool(self.standard), minimal=bool(self.minimal))
        for index, (kind, held) in enumerate(zip(self.column("joint_type"), self.column("immobile"), strict=True)):
            last = index == len(self.matrix) - 1
            if kind not in (REVOLUTE, PRISMATIC) and not (kind == FIXED and last and index):
                raise ModelError(
                    f"link {index + 1}: joint_type must be 0 (revolute) or 1 (prismatic), or 2 (fixed) for the last of "
                    f"several links, not {kind:g}"
                )
            if held not in (0.0, 1.0):
                raise ModelError(f"link {index + 1}: immobile must be 0 or 1, not {held:g}")

    def column(self, name: str) -> NDArray[np.float64]:
        """Values of one of the `COLUMNS`, one for each link."""
        return self.matrix[:, COLUMNS.index(name)]

    @property
    def has_fixed_link(self) -> bool:
        """Whether the last link is fixed to the one before."""
        return bool(self.matrix[-1, 0] == FIXED)

    @property
    def dof(self) -> int:
        """Number of joints."""
        return len(self.matrix) - self.has_fixed_link


def initialization_matrix(matrix: ArrayLike, motor: ArrayLike | None = None) -> NDArray[np.float64]:
    """Return the (links, 23) matrix of one with 23 columns, or of 19 (all but the motor's) and 4 of the motors.

    Raises
    ------
    ModelError
        The matrices have other shapes.

    Examples
    --------
    >>> initialization_matrix(np.zeros((2, 19)), [[1e-4, 50, 0, 0]] * 2)[0, 18:]
    array([1.e-04, 5.e+01, 0.e+00, 0.e+00, 0.e+00])
    """
    if motor is None:
        return frozen_array(matrix, (None, len(COLUMNS)), "the initialisation matrix")
    arm = frozen_array(matrix, (None, len(COLUMNS) - len(MOTOR)), "the initialisation matrix of the links")
    motors = frozen_array(motor, (len(arm), len(MOTOR)), "the initialisation matrix of the motors")
    return np.hstack([arm[:, :-1], motors, arm[:, -1:]])


def from_roboop(path: str | Path, *, model: str = "", check: bool = True) -> Description:
    r"""Read a robot from a configuration file of ROBOOP.

    Parameters
    ----------
    path
        The file.
    model
        Section of the robot; optional if the file has one robot.
    check
        Whether to check that the inertias are physically possible. Minimal parameters are not checked.

    Returns
    -------
    Description
        With links link0 (the base) to link`n`, joints joint1 to joint`n`, and the frame "tool" at the end.

    Raises
    ------
    ModelError
        The message names the file, the section and the reason.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "rod.conf")
    ...     _ = path.write_text("[rod]\ndof: 1\nDH: 1\n[rod_LINK1]\na: 0.5\nm: 2\nIyy: 0.1\nIzz: 0.1")
    ...     rod = from_roboop(path)
    >>> rod.name, rod.links[1].inertia.mass
    ('rod', 2.0)
    """
    table = read_roboop_table(path, model)
    with naming(str(path)):
        description = roboop_description(table)
        return check_description(description) if check and not table.minimal else description


def read_roboop_table(path: str | Path, name: str = "") -> RoboopTable:
    """Read a configuration file as it is; `from_roboop` makes a `Description` of it."""
    data = read_bytes(path, MAX_BYTES)
    try:
        text = data.decode()
    except UnicodeDecodeError:  # ROBOOP is older than UTF-8
        text = data.decode("latin-1")
    return parse_roboop_table(text, name, file=str(path))


def parse_roboop_table(text: str, name: str = "", *, file: str = "configuration") -> RoboopTable:
    r"""Read the text of a configuration file; `file` is its name in messages.

    Examples
    --------
    >>> parse_roboop_table("[rod]\nDH: 0\ndof: 1\nangle_in_degree: 1\n[rod_LINK1]\nalpha: 90").column("alpha")
    array([1.57079633])
    """
    sections = parse_configuration(text, file=file)
    with naming(file):
        name = name or _only_robot(sections)
        if name not in sections:
            raise UnknownNameError("section", name, [other for other in sections if "_LINK" not in other])
        with naming(f"[{name}]"):
            known = {key: _whole(sections[name], key) for key in STATEMENTS}
        dof, fixed = known["dof"], bool(known["Fix"])
        has_motor = bool(known["Motor"]) or "Motor" not in sections[name]
        if not 1 <= dof + fixed <= MAX_LINKS:
            raise ModelError(f"[{name}]: dof must be from 1 to {MAX_LINKS - fixed}, not {dof}")
        rows = []
        for index in range(1, dof + fixed + 1):
            section = f"{name}_LINK{index}"
            if section not in sections:
                raise ModelError(f"section [{section}] is missing: [{name}] has dof {dof}{' and Fix' * fixed}")
            with naming(f"[{section}]"):
                rows.append(_row(sections[section], bool(known["angle_in_degree"]), has_motor))
        if fixed:
            rows[-1][0] = FIXED
        return RoboopTable(np.array(rows), bool(known["DH"]), bool(known["MinPara"]), name)


def roboop_description(table: RoboopTable) -> Description:
    """Make the description of a robot as ROBOOP describes it; see `from_roboop`.

    Examples
    --------
    >>> roboop_description(RoboopTable(np.eye(1, 23, 3) * 0.5)).n
    1
    """
    rows = [_dh_row(dict(zip(COLUMNS, row.tolist(), strict=True)), table.minimal) for row in table.matrix[: table.dof]]
    tool, payload = np.eye(4), Inertia()
    if table.has_fixed_link:
        last = dict(zip(COLUMNS, table.matrix[-1].tolist(), strict=True))
        tool, payload = fixed_placement(last, standard=table.standard), _inertia(last, table.minimal)
    return from_dh(
        [{**row, "name": f"joint{index}"} for index, row in enumerate(rows, start=1)],
        convention="standard" if table.standard else "modified",
        name=table.name,
        tool=tool,
        payload=payload,
        home=[_initial(row) for row in table.matrix[: table.dof]],
        check=False,
    )


def fixed_placement(row: Mapping[str, float], *, standard: bool) -> FloatArray:
    """Placement of a fixed last link in the one before, (4, 4), of its Denavit-Hartenberg parameters."""
    along_x = homogeneous(rotation_x(snapped_angle(row["alpha"])), [row["a"], 0.0, 0.0])
    along_z = homogeneous(rotation_z(snapped_angle(row["theta"] + row["joint_offset"])), [0.0, 0.0, row["d"]])
    return compose(along_z, along_x) if standard else compose(along_x, along_z)


def _only_robot(sections: Mapping[str, Mapping[str, str]]) -> str:
    robots = [name for name, values in sections.items() if "dof" in values and name != "CONTROLLER"]
    if len(robots) != 1:
        listed = ", ".join(f"[{name}]" for name in robots) or "none"
        raise ModelError(f"expected one section of a robot, with its dof; found {listed}; name the robot")
    return robots[0]


def _number(values: Mapping[str, str], key: str) -> float:
    """Value of a key, 0 if it is missing, as in ROBOOP."""
    value = written_number(values.get(key, "0"))
    if value is None or not is_bounded(value):
        raise ModelError(f"{key}: expected a number of at most 1e9, found {shortened(values[key])}")
    return value


def _whole(values: Mapping[str, str], key: str) -> int:
    value = _number(values, key)
    if value != int(value) or value < 0 or (key != "dof" and value > 1):
        raise ModelError(f"{key}: expected {'a whole number' if key == 'dof' else '0 or 1'}, found {values[key]}")
    return int(value)


def _row(values: Mapping[str, str], degrees: bool, has_motor: bool) -> list[float]:
    row = {key: _number(values, key) for key in COLUMNS}
    if degrees:
        angles = ["theta", "alpha"]
        angles += [] if row["joint_type"] == PRISMATIC else ["theta_min", "theta_max", "joint_offset"]
        row |= {key: float(np.deg2rad(row[key])) for key in angles}
    if not has_motor:
        row |= dict.fromkeys(MOTOR, 0.0)
    return list(row.values())


def _initial(row: NDArray[np.float64]) -> float:
    return float(row[COLUMNS.index("d" if row[0] == PRISMATIC else "theta")])


def _dh_row(row: Mapping[str, float], minimal: bool) -> dict[str, Any]:
    slides = row["joint_type"] == PRISMATIC
    offset = row["joint_offset"]
    geometry = {"alpha": snapped_angle(row["alpha"]), "a": row["a"]}
    geometry |= {"theta": snapped_angle(row["theta"])} if slides else {"d": row["d"]}
    initial = row["d"] if slides else row["theta"]
    limits = (row["theta_min"], row["theta_max"])
    if row["immobile"]:
        limits = (initial, initial)
    elif limits[0] == limits[1]:
        limits = (-np.inf, np.inf)
    inertia = _inertia(row, minimal)
    return {
        **geometry,
        "kind": "prismatic" if slides else "revolute",
        "offset": offset if slides else snapped_angle(offset),
        "limits": limits,
        "mass": inertia.mass,
        "center_of_mass": inertia.center_of_mass,
        "inertia": inertia.matrix,
        "first_moment": inertia.first_moment,
        "motor_inertia": row["Im"],
        "gear_ratio": row["Gr"],
        "motor_viscous_friction": row["B"],
        "motor_coulomb_friction": row["Cf"],
    }


def _inertia(row: Mapping[str, float], minimal: bool) -> Inertia:
    xx, xy, xz, yy, yz, zz = (row[key] for key in INERTIA[4:])
    moment = [row[key] for key in INERTIA[1:4]]
    matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if minimal:
        return Inertia(row["m"], np.zeros(3), matrix, np.array(moment))
    return Inertia(row["m"], np.array(moment), matrix)
