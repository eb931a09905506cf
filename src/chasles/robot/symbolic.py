"""Robots with SymPy expressions as dimensions and masses: formulas instead of numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from chasles.base.errors import ModelError, import_extra
from chasles.mechanics import Part, computations
from chasles.model.formats.dh import is_symbolic
from chasles.model.joint import JOINT_PARAMETERS
from chasles.robot.robot import Robot

LINK_KEYS = {"mass": "mass", "center_of_mass": "center_of_mass", "inertia": "inertia"}
JOINT_KEYS = tuple(JOINT_PARAMETERS)
GEOMETRY_KEYS = ("alpha", "a", "b", "d", "theta", "offset")


class Formulas:
    """The computations of a robot, or of one of its parts, as SymPy expressions in the symbols of its parameters."""

    def __init__(self, holder: Robot | Part[Any], values: Mapping[str, Any]) -> None:
        self._holder = holder
        self._values = dict(values)

    def __getattr__(self, name: str) -> Callable[..., Any] | Formulas:
        if name.startswith("_"):
            raise AttributeError(name)
        member = getattr(self._holder, name)
        if isinstance(member, Part):
            return Formulas(member, self._values)
        if not hasattr(member, "specialize"):
            raise AttributeError(f"a SymbolicRobot has formulas only; '{name}' is not a computation of Robot")

        def formula(*arguments: Any, simplify: bool = False, **options: Any) -> Any:
            function = member.specialize(vary=tuple(self._values), **options)
            inputs = [argument.name for argument in function.program.inputs if argument.name not in self._values]
            if len(arguments) > len(inputs):
                raise TypeError(f"{name} takes {', '.join(inputs)}; {len(arguments)} arguments are given")
            given = {**self._values, **dict(zip(inputs, arguments, strict=False))}
            return function.to_sympy(given, simplify=simplify)

        return formula

    def __dir__(self) -> list[str]:
        place = f"{self._holder.place}." if isinstance(self._holder, Part) else ""
        paths = [path.removeprefix(place) for path in computations() if path.startswith(place)]
        return sorted({*super().__dir__(), *(path.partition(".")[0] for path in paths)})


class SymbolicRobot(Formulas):
    """Serial robot with symbols in its Denavit-Hartenberg table; made by `SymbolicRobot.from_dh`.

    Its methods are the computations of `Robot`, and return SymPy expressions: ``arm.mass_matrix()``,
    ``arm.regressors.torque()``. Omitted arguments are symbols, ``q0``, ``q1``, …; ``simplify=True`` shortens the
    formulas.

    Examples
    --------
    The position of the planar arm with two links:

    >>> import sympy
    >>> l1, l2 = sympy.symbols("l1 l2")
    >>> arm = SymbolicRobot.from_dh([{"a": l1}, {"a": l2}])
    >>> arm.forward_kinematics(simplify=True)[:2, 3]
    Matrix([
    [l1*cos(q0) + l2*cos(q0 + q1)],
    [l1*sin(q0) + l2*sin(q0 + q1)]])
    """

    def __init__(self, robot: Robot, values: Mapping[str, Any]) -> None:
        super().__init__(robot, values)
        self._robot = robot

    @classmethod
    def from_dh(
        cls,
        rows: Sequence[Mapping[str, Any]],
        *,
        convention: Literal["standard", "modified"] = "standard",
        gravity: Sequence[Any] = (0.0, 0.0, -9.81),
        name: str = "robot",
    ) -> SymbolicRobot:
        """Make a symbolic robot from its Denavit-Hartenberg table.

        Parameters
        ----------
        rows
            One mapping for each joint, with the keys of `Robot.from_dh`. Lengths, angles, masses, centres of mass,
            inertias, friction and gear data may be SymPy expressions.
        convention
            ``"standard"`` or ``"modified"``.
        gravity
            Acceleration of gravity, shape (3,), m/s²; its components may be expressions.
        name
            Name of the robot.

        Raises
        ------
        ModelError
            If a row is wrong; the message names it.
        """
        generator = np.random.default_rng(0)

        def stand_in(value: Any) -> Any:
            if np.iterable(value) and not isinstance(value, str | Mapping):
                return [stand_in(part) for part in value]
            return float(generator.uniform(0.2, 1.0)) if is_symbolic(value) else value

        table = [{key: stand_in(value) for key, value in row.items()} for row in rows]
        robot = Robot.from_dh(table, convention=convention, gravity=stand_in(list(gravity)), name=name, check=False)
        values: dict[str, Any] = {}
        for index, (row, joint) in enumerate(zip(rows, robot.description.joints, strict=True), start=1):
            values |= {f"joints.{joint.name}.{key}": row[key] for key in JOINT_KEYS if is_symbolic(row.get(key))}
            for key in LINK_KEYS:
                if key in row and is_symbolic(row[key]):
                    values[f"links.{joint.child}.{key}"] = _matrix(row[key]) if key == "inertia" else row[key]
            if any(is_symbolic(row.get(key)) for key in GEOMETRY_KEYS):
                try:
                    values |= _placements(row, f"joints.{joint.name}", convention == "modified")
                except ModelError as error:
                    raise ModelError(f"DH row {index}: {error}") from None
        if is_symbolic(gravity):
            values["gravity"] = list(gravity)
        return cls(robot, values)

    @property
    def n(self) -> int:
        """Number of joints."""
        return self._robot.n

    def __repr__(self) -> str:
        return (
            f"<SymbolicRobot '{self._robot.name}': {self.n} joints, symbols in {', '.join(self._values) or 'nothing'}>"
        )


def _matrix(inertia: Any) -> list[list[Any]]:
    """Inertia (3, 3) that may be given by its diagonal."""
    rows = [list(row) if np.iterable(row) else row for row in inertia]
    if any(isinstance(row, list) for row in rows):
        return rows
    return [[rows[i] if i == j else 0 for j in range(3)] for i in range(3)]


def _placements(row: Mapping[str, Any], joint: str, is_modified: bool) -> dict[str, Any]:
    """Placements of a joint and of its link, by name, as expressions."""
    alpha, a, b, d, theta, offset = (row.get(key, 0) for key in GEOMETRY_KEYS)
    slides = row.get("kind") == "prismatic"
    along, about = (d + offset, theta) if slides else (d, theta + offset)
    if not is_modified:
        return {
            f"{joint}.position": [0, 0, along],
            f"{joint}.roll_pitch_yaw": [0, 0, about],
            f"{joint}.child_position": [a, b, 0],
            f"{joint}.child_roll_pitch_yaw": [alpha, 0, 0],
        }
    if about != 0 and alpha != 0:
        raise ModelError("with symbols in the modified convention one of alpha and theta (with offset) must be 0")
    sympy = import_extra("sympy", "sympy", "a SymbolicRobot")
    s, c = sympy.sin(alpha), sympy.cos(alpha)
    return {
        f"{joint}.position": [a, b - s * along, c * along],
        f"{joint}.roll_pitch_yaw": [alpha, 0, about],
    }
