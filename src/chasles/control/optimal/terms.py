"""Costs and constraints of one node as compiled functions, with their exact first and second derivatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError
from chasles.base.sealed import Sealed
from chasles.control.optimal.residuals import REFERENCE, Residual, stacked
from chasles.engine import Function, Program, jacobian, trace
from chasles.engine.program.scalar import Array
from chasles.robot.robot import Robot

Floats = NDArray[np.float64]
#: Operations whose derivatives miss a jump.
_JUMPS = {"sign", "floor"}


class Terms(Sealed):
    """Cost ½ |r(w)|² and rows c(w) of a node, for w = (u, q, q̇), or w = (q, q̇) where no torque acts.

    Where the duration is free, w ends with the stretch of time, which running costs are multiplied by.

    The functions take a scale of the cost, so that a solver can work with costs of the order of its constraints.

    Parameters
    ----------
    robot, motors
        The robot, and whether each of its joints has a motor, (n,).
    costs
        Residuals r.
    rows
        Function of what is known by name, as of `Residual`, that returns the rows.
    has_torques
        Whether w begins with torques.
    values
        Shapes of the further values.
    duration
        Time for which the cost counts, s: the step for running costs, 1 at the end.
    stretches
        Whether the duration is free.
    """

    def __init__(
        self,
        robot: Robot,
        motors: NDArray[np.bool_],
        costs: Sequence[Residual],
        rows: Callable[[Mapping[str, Any]], Array],
        values: Mapping[str, tuple[int, ...]],
        *,
        has_torques: bool,
        duration: float,
        stretches: bool = False,
    ) -> None:
        self.robot, self.motors, self.costs, self.rows = robot, motors, tuple(costs), rows
        self.inputs = int(motors.sum()) if has_torques else 0
        self.size = self.inputs + 2 * robot.n + stretches
        self.shapes = {"w": (self.size,), "instant": (1 + 3 * robot.n,), "scale": (), "start": (robot.n,), **values}
        self.duration, self.stretches = duration, stretches

    def _known(self, w: Array, instant: Array, scale: Any, start: Array, *values: Any) -> dict[str, Any]:
        n, m = self.robot.n, self.inputs
        t = instant[0] * w[-1] if self.stretches else instant[0]
        known = {"robot": self.robot, "q": w[m : m + n], "qd": w[m + n : m + 2 * n], "t": t, "start": start}
        known |= {name: instant[1 + i * n : 1 + (i + 1) * n] for i, name in enumerate(REFERENCE)}
        if m:
            known["tau"] = w[:m] @ np.eye(n)[self.motors]
        return known | dict(zip(list(self.shapes)[4:], values, strict=True))

    def _weight(self, w: Array, scale: Any) -> Any:
        """Weight of |r|² / 2."""
        return self.duration * scale * w[-1] if self._lasts else self.duration * scale

    @property
    def _lasts(self) -> bool:
        """Whether the cost counts for a time that is free."""
        return self.stretches and self.inputs > 0

    def _cost(self, w: Array, instant: Array, scale: Any, *given: Any) -> Any:
        r = stacked(self.costs, self._known(w, instant, scale, *given))
        return 0.5 * self._weight(w, scale) * (r @ r)

    @cached_property
    def values(self) -> Function:
        """(w, instant, scale, start, values) -> cost, rows."""
        return Function(
            self._program("values", lambda *a: (self._cost(*a), self.rows(self._known(*a))), ["cost", "rows"])
        )

    @cached_property
    def gradient(self) -> Function:
        """(w, instant, scale, start, values) -> gradient of the cost to w, by reverse accumulation."""
        require_smooth(self._residual)
        return Function(jacobian(self._program("cost", self._cost, ["cost"]), wrt="w", mode="reverse"))

    @cached_property
    def jacobian(self) -> Function:
        """(w, instant, scale, start, values) -> derivatives of the rows to w, (rows, w)."""
        rows = self._program("rows", lambda *a: self.rows(self._known(*a)), ["rows"])
        require_smooth(rows)
        return Function(jacobian(rows, wrt="w"))

    @cached_property
    def gauss_newton(self) -> Function:
        """(w, instant, scale, start, values) -> second derivatives of the cost without the curvature of residuals."""
        by_w = Function(jacobian(self._residual, wrt="w"))

        def second(w: Array, instant: Array, scale: Any, *given: Any) -> Array:
            J = by_w(w, instant, scale, *given)
            return np.asarray(self._weight(w, scale) * (J.T @ J))

        return Function(self._program("gauss_newton", second, ["second"]))

    @cached_property
    def _residual(self) -> Program:
        return self._program("residual", lambda *a: stacked(self.costs, self._known(*a)), ["r"])

    @cached_property
    def curvature(self) -> Function:
        """(w, instant, scale, start, values, z) -> second derivatives of cost - z · rows to w, (w, w)."""
        return Function(jacobian(self._lagrangian_gradient, wrt="w"))

    @cached_property
    def lagrangian_gradient(self) -> Function:
        """(w, instant, scale, start, values, z) -> gradient of cost - z · rows to w, by reverse accumulation."""
        return Function(self._lagrangian_gradient)

    @cached_property
    def _lagrangian_gradient(self) -> Program:
        def lagrangian(*a: Any) -> Any:
            *known, z = a
            return self._cost(*known) - self.rows(self._known(*known)) @ z

        count = self.count
        program = trace(lagrangian, {**self.shapes, "multiplier": (count,)}, name="lagrangian", outputs=["lagrangian"])
        return jacobian(program, wrt="w", mode="reverse")

    @cached_property
    def count(self) -> int:
        """Number of rows."""
        return self.values.program.outputs[1].shape[0]

    def _program(self, name: str, function: Callable[..., Any], outputs: list[str]) -> Program:
        return trace(function, self.shapes, name=name, outputs=outputs)


def require_smooth(*programs: Program) -> None:
    """Raise `ArgumentError` for residuals and rows that jump."""
    for program in programs:
        for operation, *_ in program.instructions:
            if operation in _JUMPS:
                raise ArgumentError(
                    f"the {program.name} of the problem uses '{operation}', which jumps, and no motion can be "
                    "optimised across a jump; use a smooth function such as tanh"
                )
