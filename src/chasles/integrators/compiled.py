"""Compiled loops of an integrator along a right-hand side, over all runs at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chasles.base.cached import LastUsed, cached_property
from chasles.engine import Function, Program, trace
from chasles.engine.identity import UnidentifiedError, identity, identity_as_it_acts
from chasles.engine.program.records import Shapes
from chasles.engine.program.scalar import Array, Real
from chasles.integrators.attempts import PROGRESS, RunState, attempt
from chasles.integrators.integrator import Integrator, RightHandSide, interpolant_of
from chasles.integrators.right_hand_side import ProgramRightHandSide
from chasles.integrators.step_control import StepControl, first_step

if TYPE_CHECKING:
    from chasles.integrators.integrator import Step

_kept: LastUsed[CompiledIntegrator] = LastUsed(64)


@dataclass(frozen=True)
class CompiledIntegrator:
    """Loops around the steps of a method.

    Attributes
    ----------
    program
        Right-hand side of (t, y, *parameters).
    integrator
        The method.
    control
        Step control of a method with an error estimate.
    """

    program: Program
    integrator: Integrator
    control: StepControl

    @property
    def n(self) -> int:
        """Number of states."""
        return self.program.outputs[0].size

    @cached_property
    def fixed(self) -> Function:
        """Scan of steps of given lengths: (y, (t, h) (S, k, 2), *parameters) -> (y at the end, y before each row)."""

        def step(y: Array, given: Array, *parameters: Real) -> tuple[Any, ...]:
            return self._step(y, given, parameters).y, y

        return self._scan(step, ["y_next", "y"], {"y": (self.n,), "given": (2,)})

    @cached_property
    def fixed_dense(self) -> Function:
        """As `fixed`, with each row's interpolant (d, n) as a third result."""

        def step(y: Array, given: Array, *parameters: Real) -> tuple[Any, ...]:
            done = self._step(y, given, parameters)
            return done.y, y, interpolant_of(done, self.right_hand_side(parameters), given[0], y, given[1])

        return self._scan(step, ["y_next", "y", "interpolant"], {"y": (self.n,), "given": (2,)})

    @cached_property
    def attempts(self) -> Function:
        """Scan of attempts, see `chasles.integrators.attempts`.

        It is a function of (`RunState`, given (S, 1), t_end, rtol, atol, *parameters), where what is given does not
        matter, and gives the state at the end, the state before each attempt and each attempt's interpolant.
        """

        def one(
            state: RunState, given: Array, t_end: Real, rtol: Real, atol: Array, *parameters: Real
        ) -> tuple[Any, ...]:
            f = self.right_hand_side(parameters)
            following, interpolant = attempt(self.integrator, self.control, f, state, t_end, rtol, atol, inside=True)
            return following, state, interpolant

        shapes = RunState(PROGRESS, (self.n,))
        inputs = {"state": shapes, "given": (), "t_end": (), "rtol": (), "atol": (self.n,)}
        return self._scan(one, ["state_next", "state", "interpolant"], inputs)

    @cached_property
    def first_step(self) -> Function:
        """Length of the first step: (t, y, t_end, rtol, atol, *parameters) -> h."""

        def length(t: Real, y: Array, t_end: Real, rtol: Real, atol: Array, *parameters: Real) -> Real:
            return first_step(self.right_hand_side(parameters), t, y, t_end, rtol, atol, self.integrator.order)

        inputs = {"t": (), "y": (self.n,), "t_end": (), "rtol": (), "atol": (self.n,)}
        return Function(trace(length, inputs | self._parameters, name=f"{self.integrator.name}_first_step"))

    @property
    def _parameters(self) -> dict[str, tuple[int, ...]]:
        return {f"parameters.{k}": argument.shape for k, argument in enumerate(self.program.inputs[2:])}

    @property
    def identity(self) -> str:
        """Identity of the loops.

        Raises
        ------
        UnidentifiedError
            The method has no identity.
        """

        def step(t: Real, y: Array, h: Real, *parameters: Real) -> tuple[Any, ...]:
            done = self.integrator.step(self.right_hand_side(parameters), t, y, h)
            return tuple(part for part in done if part is not None)

        method = self.integrator
        inputs = {"t": (), "y": (self.n,), "h": (), **self._parameters}
        steps = identity_as_it_acts(method, step, inputs)
        return identity(
            (self.program, self.control, steps, method.name, method.order, method.embedded_order, method.implicit)
        )

    def right_hand_side(self, parameters: Sequence[Real]) -> RightHandSide:
        """Right-hand side with values of the parameters."""
        return ProgramRightHandSide(self.program, parameters)

    def _step(self, y: Array, given: Array, parameters: Sequence[Real]) -> Step:
        return self.integrator.step(self.right_hand_side(parameters), given[0], y, given[1])

    def _scan(self, step: Callable[..., Any], outputs: list[str], inputs: Mapping[str, Shapes]) -> Function:
        name = f"{self.integrator.name}_{self.program.name}"
        return Function(trace(step, {**inputs, **self._parameters}, name=name, outputs=outputs), shape="scan")


def compiled_integrator(program: Program, integrator: Integrator, control: StepControl) -> CompiledIntegrator:
    """Return the compiled loops, those of an earlier call if all that they depend on is the same.

    A method of a user's counts by the step that it takes along this right-hand side.
    """
    compiled = CompiledIntegrator(program, integrator, control)
    try:
        key = compiled.identity
    except UnidentifiedError:
        return compiled
    return _kept.setdefault(key, compiled)
