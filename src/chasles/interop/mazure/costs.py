"""Operation counts of the report's programs over the number of joints."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from chasles.engine import Program, trace
from chasles.engine.validators import whole_number
from chasles.interop.mazure.arm import Arm, Misprint
from chasles.interop.mazure.linearization import torque_derivatives
from chasles.interop.mazure.newton_euler import NE, Array
from chasles.robot.robot import Robot

_ADDITIONS = ("add", "sub", "neg")


class OperationCount(NamedTuple):
    """Operations of one evaluation of a program for one state.

    Attributes
    ----------
    n
        Number of joints.
    program
        ``"NE"`` or ``"LLLIN"``, the report's recursions; ``"inverse_dynamics"`` or
        ``"inverse_dynamics_derivatives"``, the library's own ways to the same numbers.
    multiplications, additions, others
        Numbers of products, of sums, differences and signs, and of the rest, which are sines and cosines.
    """

    n: int
    program: str
    multiplications: int
    additions: int
    others: int


def operation_counts(n: int) -> list[OperationCount]:
    """Count operations for an arm of `n` revolute joints with all its numbers at general values.

    Everything that does not depend on the state is folded into constants, and nothing is computed twice. Luh, Walker
    and Paul count 150 n - 48 multiplications and 131 n - 48 additions for their recursion.

    Parameters
    ----------
    n
        Number of joints, from 1 to 12.

    Examples
    --------
    >>> [(row.program, row.n) for row in operation_counts(1)][:2]
    [('NE', 1), ('LLLIN', 1)]
    """
    arm = Arm.of(_general_robot(whole_number(n, "n", 1, 12)))

    def state(q: Array, qd: Array, qdd: Array) -> Array:
        return np.stack([np.array(arm.kind, dtype=object), q, qd, qdd], axis=-1)

    def torques(q: Array, qd: Array, qdd: Array) -> Array:
        return NE(state(q, qd, qdd), arm).tau

    def derivatives(q: Array, qd: Array, qdd: Array) -> tuple[Array, ...]:
        return torque_derivatives(state(q, qd, qdd), arm, np.zeros(3), np.zeros(3), Misprint.NONE)[1:]

    inputs: dict[str, Any] = dict.fromkeys(("q", "qd", "qdd"), (n,))
    robot = _general_robot(n)
    programs = {
        "NE": trace(torques, inputs, name="NE"),
        "LLLIN": trace(derivatives, inputs, name="LLLIN"),
        "inverse_dynamics": robot.inverse_dynamics.program,
        "inverse_dynamics_derivatives": robot.inverse_dynamics_derivatives.program,
    }
    return [_counted(n, name, program) for name, program in programs.items()]


def _counted(n: int, name: str, program: Program) -> OperationCount:
    operations = program.operations
    multiplications = operations.get("mul", 0)
    additions = sum(operations.get(kind, 0) for kind in _ADDITIONS)
    return OperationCount(n, name, multiplications, additions, program.operation_count - multiplications - additions)


def _general_robot(n: int) -> Robot:
    """Return an arm in which no parameter is zero and no two are alike, but which no robot would have."""
    generator = np.random.default_rng(1987)
    rows = []
    for _ in range(n):
        alpha, a, d = generator.uniform(0.2, 1.2, 3)
        spread = generator.normal(size=(3, 3))
        rows.append(
            {
                "alpha": alpha,
                "a": a,
                "d": d,
                "mass": generator.uniform(1.0, 5.0),
                "center_of_mass": generator.uniform(-0.3, 0.3, 3),
                "inertia": 0.05 * np.eye(3) + 0.005 * spread @ spread.T,
            }
        )
    return Robot.from_dh(rows, gravity=generator.uniform(1.0, 9.0, 3), check=False)
