"""Costs and constraints of one node as compiled functions, with their exact first and second derivatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.cached import cached_property
from chasles.base.sealed import Sealed
from chasles.control.optimal.pose_residual import SIZE, PoseResidual, Twists, has_order
from chasles.control.optimal.residuals import REFERENCE, Residual, stacked
from chasles.control.optimal.smoothness import require_smooth
from chasles.control.optimal.step import HeldStep
from chasles.engine import Function, Program, jacobian, trace
from chasles.engine.program.scalar import Array
from chasles.engine.program.tracing import call_traced

Floats = NDArray[np.float64]
#: Inputs to which terms are differentiated: w, and the twists of poses, which depend on it.
_MOVING = ("w", "twists")


class Terms(Sealed):
    """Cost ½ |r(w)|² and rows c(w) of a node, for w = (u, p, q̇), or w = (p, q̇) where no torque acts.

    Where torques are states, u is their rates, and w = (u, p, q̇, τ). Where the start is free, its p and q̇ follow. Where
    the duration is free, w ends with the stretch of time, which running costs are multiplied by.

    The functions take a scale of the cost, so that a solver can work with costs of the order of its constraints.

    Parameters
    ----------
    step
        The dynamics.
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
    """

    def __init__(
        self,
        step: HeldStep,
        costs: Sequence[Residual],
        rows: Callable[[Mapping[str, Any]], Array],
        values: Mapping[str, tuple[int, ...]],
        *,
        has_torques: bool,
        duration: float,
    ) -> None:
        robot = step.robot
        self.step, self.robot, self.costs, self.rows = step, robot, tuple(costs), rows
        self.inputs = step.inputs if has_torques else 0
        self.size = self.inputs + step.states
        instant = 1 + robot.nq + 2 * robot.n + step.context_count
        self.shapes = {"w": (self.size,), "instant": (instant,), "scale": (), "start": (robot.nq,), **values}
        self.duration, self.stretches = duration, step.stretches

    def _known(self, w: Array, instant: Array, scale: Any, start: Array, *values: Any) -> dict[str, Any]:
        n, m, step = self.robot.n, self.inputs, self.step
        t = instant[0] * w[-1] if self.stretches else instant[0]
        q = step.coordinates.configuration(w[m : m + n], *step.coordinates.centres(instant)[:1])
        robot = step.parameters.robot_with(step.parameters.of_data(instant, step.coordinates.count))
        known = {"robot": robot, "q": q, "qd": w[m + n : m + 2 * n], "t": t, "start": start}
        ends = 1 + np.cumsum([self.robot.nq, n, n])
        known |= dict(zip(REFERENCE, np.split(instant[1 : ends[-1]], ends[:-1] - 1), strict=True))
        if step.free_start:
            p, known["first_qd"] = step.first_state(w)
            known["first_q"] = step.coordinates.configuration(p, *() if step.coordinates.is_plain else (start,))
        drives = step.drives
        known |= drives.named(step.of_drives(w[m:]))
        if drives.by_rates:
            known["tau"] = step.of_motors(w[m + 2 * n :][: step.motor_count])
        if m:
            inputs = step.of_motors(w[: step.motor_count])
            known |= {"tau_rate": inputs} if drives.by_rates else {"tau": inputs}
            known["contact_forces"] = w[step.motor_count : m]
            known["forces"] = np.zeros((0, 3))
            if step.contacts is not None:
                known["forces"] = step.contacts.in_world(known["contact_forces"])
        names = list(self.shapes)[4:]
        known |= dict(zip(names, values, strict=False))
        return known | ({"twists": values[-1]} if len(values) > len(names) else {})

    def _weight(self, w: Array, scale: Any) -> Any:
        """Weight of |r|² / 2."""
        return self.duration * scale * w[-1] if self._lasts else self.duration * scale

    @property
    def _lasts(self) -> bool:
        """Whether the cost counts for a time that is free."""
        return self.stretches and self.inputs > 0

    def _cost(self, w: Array, instant: Array, scale: Any, *given: Any) -> Any:
        r = self._residuals(w, instant, scale, *given)
        return 0.5 * self._weight(w, scale) * (r @ r)

    def _residuals(self, *a: Any) -> Array:
        return stacked(self.costs, self._known(*a))

    def _rows(self, *a: Any) -> Array:
        return self.rows(self._known(*a))

    def _lagrangian(self, *a: Any) -> Any:
        """Cost less weighted rows, of what is known, the weights z, and, if they are inputs, the twists of poses."""
        known, (z, *twists) = a[: len(self.shapes)], a[len(self.shapes) :]
        return self._cost(*known, *twists) - self._rows(*known, *twists) @ z

    @cached_property
    def values(self) -> Function:
        """(w, instant, scale, start, values) -> cost, rows."""
        return Function(self._program("values", lambda *a: (self._cost(*a), self._rows(*a)), ["cost", "rows"]))

    @cached_property
    def gradient(self) -> Function:
        """(w, instant, scale, start, values) -> gradient of the cost to w."""
        require_smooth(self._program("residual", self._residuals, ["r"]))
        program = jacobian(self._with_twists("cost", self._cost), wrt=_MOVING, mode="reverse")

        def gradient(*a: Any) -> Array:
            by_w, by_twists = call_traced(program, [*a, self._twists(*a)], inline=True)
            return np.asarray(by_w + by_twists @ self._slopes(*a))

        return Function(self._program("gradient", gradient, ["by_w"]))

    @cached_property
    def jacobian(self) -> Function:
        """(w, instant, scale, start, values) -> derivatives of the rows to w, (rows, w)."""
        require_smooth(self._program("rows", self._rows, ["rows"]))
        return self._by_w("rows", self._rows)

    def _by_w(self, name: str, function: Callable[..., Any]) -> Function:
        """Derivatives of an array to w."""
        program = jacobian(self._with_twists(name, function), wrt=_MOVING)

        def by_w(*a: Any) -> Array:
            direct, by_twists = call_traced(program, [*a, self._twists(*a)], inline=True)
            return np.asarray(direct + by_twists @ self._slopes(*a))

        return Function(self._program(f"{name}_by_w", by_w, ["by_w"]))

    @cached_property
    def gauss_newton(self) -> Function:
        """(w, instant, scale, start, values) -> second derivatives of the cost without the curvature of residuals."""
        by_w = self._by_w("residual", self._residuals)

        def second(w: Array, instant: Array, scale: Any, *given: Any) -> Array:
            J = call_traced(by_w.program, [w, instant, scale, *given], inline=True)
            return np.asarray(self._weight(w, scale) * (J.T @ J))

        return Function(self._program("gauss_newton", second, ["second"]))

    @cached_property
    def curvature(self) -> Function:
        """(w, instant, scale, start, values, z) -> second derivatives of cost - z · rows to w, (w, w).

        The twists of poses are inputs of the engine's differentiation, and have their own derivatives in closed form.
        """
        first = jacobian(
            self._with_twists("lagrangian", self._lagrangian, multiplier=(self.count,)), wrt=_MOVING, mode="reverse"
        )
        second = jacobian(first, wrt=_MOVING, mode="forward")  # cheaper where the upper triangle is used

        def curvature(*a: Any) -> Array:
            given = a[:-1]
            twists, slopes = self._twists(*given), self._slopes(*given)
            _, by_twists = call_traced(first, [*a, twists], inline=True)
            by_w_w, by_w_twists, _, by_twists_twists = call_traced(second, [*a, twists], inline=True)
            mixed = by_w_twists @ slopes
            H = by_w_w + mixed + mixed.T + slopes.T @ by_twists_twists @ slopes
            m, n = self.inputs, self.robot.n
            for k, (residual, arguments) in enumerate(self._poses):
                g = by_twists[SIZE * k : SIZE * (k + 1)]
                of_twist = residual.curvature(g, *self._of_pose(arguments, *given))
                H = H + np.pad(of_twist, (m, self.size - m - n))
            return np.asarray(H)

        shapes = {**self.shapes, "multiplier": (self.count,)}
        return Function(trace(curvature, shapes, name="curvature", outputs=["by_w_w"]))

    @cached_property
    def _poses(self) -> list[tuple[PoseResidual, tuple[str, ...]]]:
        """Residuals of poses, with the names of their arguments."""
        if not has_order(self.robot):
            return []
        record = Twists()
        self._program("poses", lambda *a: self._lagrangian(*a, np.zeros(self.count), record), ["lagrangian"])
        return list(record.residuals)

    def _twists(self, *a: Any) -> Array:
        """Values of the residuals of poses, one after the other."""
        values = [residual(*self._of_pose(arguments, *a)) for residual, arguments in self._poses]
        return np.concatenate([np.zeros(0), *values])

    def _of_pose(self, arguments: Sequence[str], *a: Any) -> list[Any]:
        """Values of the arguments of a pose's residual, which no parameter moves."""
        known = self._known(*a) | {"robot": self.robot}
        return [known[name] for name in arguments]

    def _slopes(self, *a: Any) -> Array:
        """Derivatives of the residuals of poses to w."""
        m, n = self.inputs, self.robot.n
        parts = [residual.slopes(*self._of_pose(arguments, *a)) for residual, arguments in self._poses]
        around = ((0, 0), (m, self.size - m - n))
        return np.concatenate([np.zeros((0, self.size)), *(np.pad(part, around) for part in parts)])

    def _with_twists(self, name: str, function: Callable[..., Any], **more: tuple[int, ...]) -> Program:
        """Program of a function in which the twists of poses are inputs, the last ones."""
        shapes = {**self.shapes, **more, "twists": (SIZE * len(self._poses),)}
        poses = self._poses
        return trace(
            lambda *a: function(*a[:-1], *([Twists(a[-1])] if poses else [])), shapes, name=name, outputs=[name]
        )

    @cached_property
    def lagrangian_gradient(self) -> Function:
        """(w, instant, scale, start, values, z) -> gradient of cost - z · rows to w, by reverse accumulation."""
        return Function(self._lagrangian_gradient)

    @cached_property
    def _lagrangian_gradient(self) -> Program:
        shapes = {**self.shapes, "multiplier": (self.count,)}
        return jacobian(trace(self._lagrangian, shapes, name="lagrangian", outputs=["l"]), wrt="w", mode="reverse")

    @cached_property
    def count(self) -> int:
        """Number of rows."""
        return self.values.program.outputs[1].shape[0]

    def _program(self, name: str, function: Callable[..., Any], outputs: list[str]) -> Program:
        return trace(function, self.shapes, name=name, outputs=outputs)
