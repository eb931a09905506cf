"""Robots from the data files of SpaceLib's program ROB-MAT.

A file, by custom ``*.DAT``, holds numbers in free format (SpaceLib User's Manual 2.2a, §7.1.3 and table 7.2):

- the number of links;
- for each link its joint type, ``theta d b a alpha``, mass, ``jxx jxy jxz jyy jyz jzz`` and ``xg yg zg``;
- the acceleration of gravity in frame 0, ``gx gy gz``;
- the external actions on the gripper, ``fx fy fz cx cy cz``: a line for each instant of a motion, or a line for all.

Frame i is placed in frame i-1 by ``Rz(theta) Tz(d) Tx(a) Ty(b) Rx(alpha)``: the standard Denavit-Hartenberg parameters
and a shift b along the new y axis (manual, eq. 3.1). The position q of the joint adds to theta or d.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ModelError
from chasles.model.consistency import check_description
from chasles.model.description import Description, Frame
from chasles.model.formats.dh import from_dh
from chasles.model.formats.files import read_bytes
from chasles.model.formats.free_format import NumberReader, frozen_numbers, line_text
from chasles.model.record import DescriptionRecord, naming, shortened

MAX_BYTES = 500_000
MAX_LINKS = 2_000
REVOLUTE, PRISMATIC = 0, 1


@dataclass(frozen=True, eq=False)
class LinkData(DescriptionRecord):
    """A link and its joint as a SpaceLib file gives them.

    Parameters
    ----------
    jtype
        0 (`Rev`) or 1 (`Pri`).
    theta, d, b, a, alpha
        Extended Denavit-Hartenberg parameters, rad and m.
    mass
        kg.
    jxx, jxy, jxz, jyy, jyz, jzz
        Elements of the inertia matrix about the centre of mass, in axes parallel to those of the link's frame, kg·m²;
        ``jxy = -∫ x y dm``.
    xg, yg, zg
        Centre of mass in the link's frame, m.
    """

    jtype: int
    theta: float = 0.0
    d: float = 0.0
    b: float = 0.0
    a: float = 0.0
    alpha: float = 0.0
    mass: float = 0.0
    jxx: float = 0.0
    jxy: float = 0.0
    jxz: float = 0.0
    jyy: float = 0.0
    jyz: float = 0.0
    jzz: float = 0.0
    xg: float = 0.0
    yg: float = 0.0
    zg: float = 0.0

    def __post_init__(self) -> None:
        if self.jtype not in (REVOLUTE, PRISMATIC):
            raise ModelError(f"jtype must be 0 (Rev) or 1 (Pri), not {shortened(self.jtype)}")
        names = self.field_names()[1:]
        values = frozen_numbers([[getattr(self, name) for name in names]], len(names), "the numbers of a link")
        self._set(jtype=int(self.jtype), **dict(zip(names, values[0].tolist(), strict=True)))


@dataclass(frozen=True, eq=False)
class RobotData(DescriptionRecord):
    """Contents of a SpaceLib robot file.

    Parameters
    ----------
    links
        From the base to the gripper.
    gravity
        Acceleration of gravity in frame 0, shape (3,), m/s².
    external_actions
        Forces and torques ``fx fy fz cx cy cz`` on the gripper, in its frame, N and N·m, shape (instants, 6). The
        last row also holds for all later instants.
    """

    links: tuple[LinkData, ...]
    gravity: NDArray[np.float64]
    external_actions: NDArray[np.float64]

    def __post_init__(self) -> None:
        if not 1 <= len(self.links) <= MAX_LINKS:
            raise ModelError(f"a robot has 1 to {MAX_LINKS} links, not {len(self.links)}")
        actions = frozen_numbers(self.external_actions, 6, "external_actions")
        if not len(actions):
            raise ModelError("external_actions must have at least one row")
        gravity = frozen_numbers(np.reshape(self.gravity, (1, -1)), 3, "gravity")[0]
        self._set(links=tuple(self.links), gravity=gravity, external_actions=actions)


def from_spacelib(path: str | Path, *, check: bool = True) -> Description:
    """Read a robot from a data file of SpaceLib's program ROB-MAT.

    The file's external actions are not part of the robot: `read_robot_data` returns them.

    Parameters
    ----------
    path
        The file.
    check
        Whether to check that the inertias are physically possible.

    Returns
    -------
    Description
        Named like the file, with links link0 (the base, frame 0) to link`n`, joints joint1 to joint`n`, and the frame
        "gripper", which is frame n.

    Raises
    ------
    ModelError
        The message names the file, the line, what is expected there and what was found.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "ROD.DAT")
    ...     _ = path.write_text("1   0  0 0 0 0.5 0  2  0 0 0 0.04 0 0.04  -0.25 0 0   0 -9.8 0   0 0 0 0 0 0")
    ...     rod = from_spacelib(path)
    >>> rod.name, rod.joints[0].kind, rod.tool
    ('ROD', 'revolute', 'gripper')
    """
    data = read_robot_data(path)
    with naming(str(path)):
        description = robot_description(data, name=Path(path).stem or "robot")
        return check_description(description) if check else description


def read_robot_data(path: str | Path) -> RobotData:
    """Read a robot file as it is; `from_spacelib` makes a `Description` of it."""
    return parse_robot_data(read_bytes(path, MAX_BYTES), file=str(path))


def parse_robot_data(text: str | bytes, *, file: str = "SpaceLib text") -> RobotData:
    """Read the text of a robot file; `file` is its name in messages.

    Examples
    --------
    >>> data = parse_robot_data("1   0  0 0 0 0.5 0  2  0 0 0 0.04 0 0.04  -0.25 0 0   0 -9.8 0   0 0 0 0 0 0")
    >>> data.links[0].a, data.links[0].jzz, data.gravity
    (0.5, 0.04, array([ 0. , -9.8,  0. ]))
    >>> parse_robot_data("1   0  0 0 0")
    Traceback (most recent call last):
        ...
    chasles.base.errors.ModelError: SpaceLib text: line 1: link 1: theta d b a alpha: expected a number,
    found the end of the file
    """
    reader = NumberReader(text.encode() if isinstance(text, str) else text, file)
    count = reader.integer("number of links", 1, MAX_LINKS)
    links = tuple(_link(reader, f"link {index}") for index in range(1, count + 1))
    gravity = reader.numbers(3, "gravity gx gy gz")
    actions = reader.blocks("instant", ["external actions fx fy fz cx cy cz"], 6)
    return RobotData(links, gravity, actions[:, 0])


def robot_data_text(data: RobotData) -> str:
    """Return the text of a robot file, laid out as in the manual; `parse_robot_data` reads the same data from it.

    Examples
    --------
    >>> print(robot_data_text(RobotData((LinkData(1, d=0.1, mass=2.0),), [0, 0, -9.8], [[0, 0, 0, 0, 0, 0]])))
    1
    1
    0 0.1 0 0 0
    2
    0 0 0
    0 0
    0
    0 0 0
    0 0 -9.8
    0 0 0 0 0 0
    """
    lines = [str(len(data.links))]
    for link in data.links:
        lines += [
            str(link.jtype),
            line_text((link.theta, link.d, link.b, link.a, link.alpha)),
            line_text((link.mass,)),
            line_text((link.jxx, link.jxy, link.jxz)),
            line_text((link.jyy, link.jyz)),
            line_text((link.jzz,)),
            line_text((link.xg, link.yg, link.zg)),
        ]
    lines += [line_text(data.gravity), *map(line_text, data.external_actions)]
    return "\n".join(lines) + "\n"


def robot_description(data: RobotData, *, name: str = "robot") -> Description:
    """Make the description of a robot of a SpaceLib file's data; see `from_spacelib`.

    Examples
    --------
    >>> rod = robot_description(RobotData((LinkData(0, a=0.5),), [0, 0, -9.8], [[0, 0, 0, 0, 0, 0]]))
    >>> rod.frame_names
    ('link0', 'link1', 'gripper')
    """
    rows = [
        {
            "kind": "prismatic" if link.jtype == PRISMATIC else "revolute",
            **{name: getattr(link, name) for name in ("theta", "d", "b", "a", "alpha", "mass")},
            "inertia": [[link.jxx, link.jxy, link.jxz], [link.jxy, link.jyy, link.jyz], [link.jxz, link.jyz, link.jzz]],
            "center_of_mass": [link.xg, link.yg, link.zg],
        }
        for link in data.links
    ]
    gripper = Frame("gripper", f"link{len(rows)}")
    return from_dh(rows, name=name, frames=[gripper], tool="gripper", gravity=data.gravity, check=False)


def _link(reader: NumberReader, name: str) -> LinkData:
    jtype = reader.integer(f"{name}: joint type (0 revolute, 1 prismatic)", REVOLUTE, PRISMATIC)
    geometry = reader.numbers(5, f"{name}: theta d b a alpha")
    mass = reader.number(f"{name}: mass")
    moments = reader.numbers(6, f"{name}: jxx jxy jxz jyy jyz jzz")
    center = reader.numbers(3, f"{name}: xg yg zg")
    return LinkData(jtype, *(*geometry, mass, *moments, *center))
