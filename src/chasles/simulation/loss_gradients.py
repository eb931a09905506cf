"""Gradients of a loss of a whole run: by initial state, gains, model parameters, friction, payload and motion.

The period of the loop (sensors, controller, delay, plant) is one program; the adjoint of its scan runs back through the
whole simulation once, however many parameters there are (`chasles.engine.adjoints`). Steps whose length the error
controls are those of the run itself and count as constant, so the result is the derivative of what was computed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.control import Controller
from chasles.engine import Function, Layout, Record, trace
from chasles.engine.adjoints import LoopAdjoint
from chasles.engine.program.scalar import Array, Real
from chasles.integrators import Integrator, Steps, Within
from chasles.model import parameter_value
from chasles.robot.robot import Robot
from chasles.simulation.closed_loop import ClosedLoop
from chasles.simulation.initial_state import State, given_start, parts_with_motion, start_function
from chasles.simulation.integrators import AUTOMATIC
from chasles.simulation.loop_programs import attempt_of, controlled_layout
from chasles.simulation.plant.plant import Plant, as_plant
from chasles.simulation.plant.sensors import RESOLUTIONS
from chasles.simulation.preparation import Prepared, Setup, prepare_without_rounding
from chasles.simulation.schedules import Design
from chasles.simulation.sensitivities import check_compiled
from chasles.simulation.smooth_pieces import kinds_of_pieces, pieces_of, switches
from chasles.simulation.varied_values import arguments_of
from chasles.trajectories import JointTrajectory
from chasles.trajectories.motion import Reference

Floats = NDArray[np.float64]
#: Loss of one sample: a traced function of a record of what is recorded then.
Loss = Callable[[Any], Any]

#: Parts of the initial state by which a loss can be differentiated.
START = ("start.q", "start.qd")


class LossGradient(NamedTuple):
    """Loss of each run and its gradient.

    Attributes
    ----------
    loss
        Loss of each run, shape (*batch).
    gradient
        Derivatives of a run's loss with respect to that run's own values, by name, each (*batch, *shape); NaN for a run
        that diverges.
    switches
        Number of times in each run, by name, at which it changed to another smooth piece: ``"saturation"`` of the
        drives, ``"contact"`` made or lost, ``"reversal"`` of a joint under dry friction. The gradient is that of the
        pieces with the switches at the calls where they are; a loss whose run has switches may have kinks nearby.
    saturated
        Share of the samples of each run in which a torque was at its limit, shape (*batch).

    Examples
    --------
    See `loss_gradient`.
    """

    loss: Floats
    gradient: Mapping[str, Floats]
    switches: Mapping[str, Floats]
    saturated: Floats

    @property
    def is_smooth(self) -> NDArray[np.bool_]:
        """Whether each run stayed on one smooth piece and did not diverge, shape (*batch)."""
        count = np.asarray(sum(self.switches.values(), np.zeros_like(self.loss)))
        return np.asarray(np.isfinite(self.loss) & (count == 0.0))


def loss_gradient(
    plant: Robot | Plant,
    law: Controller | Callable[..., Any] | None,
    motion: Reference | JointTrajectory | None,
    loss: Loss,
    by: Sequence[str],
    *,
    final: Loss | None = None,
    vary: Mapping[str, ArrayLike] | None = None,
    duration: float | None = None,
    period: float = 1e-3,
    start: ArrayLike | State | None = None,
    integrator: str | Integrator | Steps | Within = AUTOMATIC,
) -> LossGradient:
    """Simulate a closed loop, and differentiate a loss of the whole run by reverse accumulation.

    One simulation back through the run gives the derivatives with respect to all parameters at once. Sensors do not
    round what they read: the derivative of rounding is zero.

    Parameters
    ----------
    plant, law, motion, vary, duration, period, start, integrator
        See `chasles.simulate`. Where the error controls the steps, their lengths are those that the run chose, and
        count as constant. ``"automatic"`` takes one step of the classical Runge–Kutta method a period, and does not
        check its error, where nothing acts fast.
    loss
        Loss of a sample, averaged over the samples: a function ``loss(now)`` in operations that can be traced. ``now``
        has the time ``t`` and the recorded variables by name: ``q``, ``qd``, ``tau``, ``q_reference``,
        ``qd_reference``, ``error`` (reference minus position), ….
    by
        Names of what the loss is differentiated by: parameters as in `vary`, ``"start.q"`` and ``"start.qd"``, and
        what a law's gains are designed from: ``"controller.Q"`` and ``"controller.R"``, the diagonals of the weights of
        regulators, and noises of filters such as ``"controller.torque_error"``.
    final
        Loss of the last sample, which is added; default none.

    Raises
    ------
    ArgumentError
        The law cannot be compiled, or the integrator is one of SciPy's; or something that `by` names acts on what is
        computed before the run.
    UnknownNameError
        `by` names something that does not exist.

    Examples
    --------
    A payload that the law does not know of. A heavier one makes the error larger:

    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=1.0)
    >>> law = ch.ComputedTorque(arm, kp=100.0, kd=20.0)
    >>> result = ch.loss_gradient(
    ...     arm, law, motion, lambda now: now.error @ now.error, by=["controller.kp", "payload.mass"],
    ...     vary={"payload.mass": 2.0},
    ... )
    >>> result.gradient["controller.kp"].shape, bool(result.gradient["payload.mass"] > 0.0)
    ((2,), True)
    >>> bool(result.is_smooth)
    True
    """
    setup = Setup(plant, law, motion, duration, period, start, integrator)
    return RunLoss.of(setup, loss, by, final=final, vary=vary).evaluate()


class _Run(NamedTuple):
    """A law with its values, position, velocity and values at the start, and the arguments of the loop over time."""

    law: Controller
    start: list[Floats]
    arguments: list[Floats]


@dataclass(frozen=True, eq=False)
class RunLoss:
    """A loss of a run and its gradient, for any values of the parameters; see `loss_gradient`.

    Attributes
    ----------
    ready
        The simulation.
    by
        Names of what the loss is differentiated by.
    loss, final
        Losses of a sample and of the last one.
    starts_with_motion
        Which of ``"q"`` and ``"qd"`` are those of the motion at its start.
    design
        What the law's gains are designed from, if the loss is differentiated by any of it.
    """

    ready: Prepared
    by: tuple[str, ...]
    loss: Loss
    final: Loss | None
    starts_with_motion: frozenset[str]
    design: Design | None

    @classmethod
    def of(
        cls,
        setup: Setup,
        loss: Loss,
        by: Sequence[str],
        *,
        final: Loss | None = None,
        vary: Mapping[str, ArrayLike] | None = None,
    ) -> RunLoss:
        """Prepare the simulation of a setup."""
        _check_names(by)
        plant = as_plant(setup.plant)
        values = {**{name: _value(plant, name) for name in by if name in plant.parameters}, **(vary or {})}
        ready = prepare_without_rounding(setup, values)
        check_compiled(ready, "gradients")
        design = Design(ready.loop, ready.times.ravel(), ready.given)
        known = [*START, *ready.loop.shapes, *design.layout.leaves]
        for name in by:
            if name not in known:
                raise UnknownNameError("parameter of the loop", name, [*known, *plant.parameters])
        planned = [name for name in by if name.startswith("reference.")]
        if planned and "schedule" in ready.loop.further:
            raise ArgumentError(
                f"a loss has no derivative with respect to '{planned[0]}' here: the law "
                f"'{ready.loop.controller.name}' plans its schedule for the motion before the run"
            )
        of_motion = parts_with_motion(ready.loop, given_start(setup.start, plant.n))
        starts_with_motion = of_motion - {name.removeprefix("start.") for name in by}
        designed = design if any(name in design.layout.leaves for name in by) else None
        return cls(ready, tuple(by), loss, final, starts_with_motion, designed)

    def evaluate(self, values: Mapping[str, ArrayLike] | None = None) -> LossGradient:
        """Return loss and gradient with some values of the parameters replaced, each (*batch, *shape)."""
        run, pieces = self._run(values), self._pieces
        again = [np.zeros(self.ready.times.size)] * self._is_controlled
        unweighted = [np.zeros((self.ready.times.size, len(pieces)))] if pieces else []
        adjoints, recorded = self._adjoint.with_samples(
            *run.arguments, np.zeros(self._layout.size), *again, *self._weights, *unweighted
        )
        total = self._total(recorded[len(again) :])
        lost = ~np.isfinite(total)
        gradient = {name: _lost(value, lost) for name, value in self._by_name(adjoints, run).items()}
        changes, saturated = switches(pieces, recorded[-1]) if pieces else ({}, np.zeros(np.shape(total)))
        return LossGradient(total, gradient, changes, saturated)

    def losses(self, values: Mapping[str, ArrayLike] | None = None) -> Floats:
        """Return the loss of each run, as `evaluate`, without the way back that gradients take."""
        _, *recorded = self._function(*self._run(values).arguments)
        return self._total(recorded[int(self._is_controlled) :])

    @property
    def _weights(self) -> list[Floats]:
        """Weights of the losses of all samples."""
        samples = self.ready.times.size
        last = [] if self.final is None else [np.eye(samples)[-1]]
        return [np.full(samples, 1.0 / samples), *last]

    def _total(self, recorded: Sequence[Floats]) -> Floats:
        """Loss of each run, of the recorded losses of its samples."""
        return np.asarray(sum(np.einsum("...t,t->...", x, w) for x, w in zip(recorded, self._weights, strict=False)))

    def _run(self, values: Mapping[str, ArrayLike] | None) -> _Run:
        """Arguments of the loop over time, with some values of the parameters replaced."""
        ready, loop, arguments = self.ready, self.ready.loop, self.ready.values
        replaced = {name: np.asarray(value, dtype=float) for name, value in (values or {}).items()}
        law, inputs = loop.controller, loop.inputs
        if self.design is not None and values:
            law = self.design.law_with(replaced)
            inputs = self.design.inputs(law)
            replaced |= self.design.parameters_of(law)
        if values:
            arguments = arguments_of(loop, {**ready.given, **replaced})
        packed = [layout.join({name: arguments[name] for name in layout.leaves}) for layout in self._layouts]
        state, place = ready.state, loop.layout.split(ready.state).plant
        start = [place.q, place.qd, *loop.packed(arguments)]
        if self._start_moves:
            state = self._start_function(*start)
        if self._is_controlled:
            first = self._layout.split(ready.start_of_scan[0])
            state = self._layout.join({**first, "loop": loop.layout.split(np.asarray(state))})
        return _Run(law, start, [state, inputs.given(ready.times.reshape(-1, 1), 0), *packed])

    def _by_name(self, adjoints: Sequence[Floats], run: _Run) -> dict[str, Floats]:
        """Gradient by name, from the adjoints of the state at the start, of the schedule and of the wanted values."""
        of_state, *others = adjoints
        of_inputs, of_values = (others[0], others[1:]) if self._is_scheduled else (None, others)
        if self._is_controlled:
            of_state = of_state[..., self._layout.slices["loop"]]
        parts = dict(self._wanted.split(of_values[0])) if of_values else {}
        if self._start_moves:
            of_q, of_qd, of_all = self._start_adjoint(*run.start, of_state)
            by_start = Layout(self.ready.loop.shapes).split(of_all)
            parts = {name: part + by_start[name] for name, part in parts.items()}
            parts |= dict(zip(START, (of_q, of_qd), strict=True))
        if self.design is not None:
            parts |= self.design.gradient(run.law, of_inputs, parts)
        return {name: np.asarray(parts[name]) for name in self.by}

    @cached_property
    def _wanted(self) -> Layout:
        """Values by which the loss is differentiated."""
        wanted = {*self.by, *(() if self.design is None else self.design.parameters)}
        return Layout({name: shape for name, shape in self.ready.loop.shapes.items() if name in wanted})

    @cached_property
    def _layouts(self) -> list[Layout]:
        """The wanted values and the others, each if there are any."""
        others = {name: x for name, x in self.ready.loop.shapes.items() if name not in self._wanted.leaves}
        return [layout for layout in (self._wanted, Layout(others)) if layout.size]

    @cached_property
    def _inputs(self) -> dict[str, Any]:
        """Shapes of the values as the programs take them."""
        names = ["wanted", "others"] if self._wanted.size else ["others"]
        return {name: (layout.size,) for name, layout in zip(names, self._layouts, strict=False)}

    def _values(self, packed: Sequence[Array]) -> Record:
        parts: dict[str, Any] = {}
        for layout, vector in zip(self._layouts, packed, strict=True):
            parts |= layout.split(vector)
        return Record({name: parts[name] for name in self.ready.loop.shapes})

    @cached_property
    def _pieces(self) -> list[str]:
        """Kind of each number that says on which smooth piece a run is."""
        return [kind for kind, count in kinds_of_pieces(self.ready.loop) for _ in range(count)]

    @cached_property
    def _function(self) -> Function:
        """Loop over time: (state, given, *values) -> (state, *losses, pieces of each sample)."""
        loop = self.ready.loop

        def step(state: Record, given: Record, *packed: Array) -> tuple[Any, ...]:
            values = self._values(packed)
            if self._is_controlled:
                rtol, atol = self.ready.start_of_scan[1]
                following, again, called = attempt_of(loop, state, given, rtol, atol, values)
                results = [self._layout.join(following), again]
            else:
                called = loop.call(given, state, values)
                x = loop.advance(called.t, state.plant, called.queue, loop.outside_of(given), values)
                results = [loop.layout.join({"plant": x, **called.following})]
            now = _sample(loop, called.t, called.recorded)
            results.append(_number(self.loss, now, "loss"))
            if self.final is not None:
                results.append(_number(self.final, now, "final"))
            if self._pieces:
                results.append(np.array(pieces_of(loop, now)))
            return tuple(results)

        inputs = {"state": self._layout.shapes, "given": loop.inputs.layout.shapes, **self._inputs}
        outputs = ["state_next", *["again"] * self._is_controlled, "loss"]
        outputs += [*["final"] * (self.final is not None), *["pieces"] * bool(self._pieces)]
        return Function(trace(step, inputs, name="loss_of_run", outputs=outputs), shape="scan")

    @cached_property
    def _adjoint(self) -> LoopAdjoint:
        still = self._layout.slices["loop"].start if self._is_controlled else 0
        wrt = ["state", *["given"] * self._is_scheduled, *["wanted"] * bool(self._wanted.size)]
        return LoopAdjoint(self._function.kernel, wrt, "float64", still=still)

    @property
    def _is_scheduled(self) -> bool:
        """Whether the loss is differentiated by what a schedule is computed from."""
        return self.design is not None and "schedule" in self.ready.loop.further

    @property
    def _is_controlled(self) -> bool:
        """Whether the error controls the steps."""
        return self.ready.loop.substeps is None

    @cached_property
    def _layout(self) -> Layout:
        """Parts of the state of the loop over time."""
        return controlled_layout(self.ready.loop) if self._is_controlled else self.ready.loop.layout

    @cached_property
    def _start_moves(self) -> bool:
        """Whether the state at the start depends on what the loss is differentiated by."""
        plant = self.ready.loop.plant
        holds = plant.motors is not None or plant.elastic_joints is not None or bool(plant.robot.description.loops)
        return self._follows or any(name in START or (holds and name in plant.parameters) for name in self.by)

    @property
    def _follows(self) -> bool:
        """Whether the state at the start is that of a motion by whose parameters the loss is differentiated."""
        return bool(self.starts_with_motion) and any(name.startswith("reference.") for name in self.by)

    @cached_property
    def _start_function(self) -> Function:
        return start_function(self.ready.loop, self.starts_with_motion)

    @cached_property
    def _start_adjoint(self) -> Function | LoopAdjoint:
        return self._start_function.vjp()


def _lost(gradient: Floats, lost: NDArray[np.bool_]) -> Floats:
    """A gradient (*batch, *shape) that is NaN in the runs that are lost, (*batch)."""
    return np.where(lost.reshape(lost.shape + (1,) * (gradient.ndim - lost.ndim)), np.nan, gradient)


def _value(plant: Plant, name: str) -> Floats:
    """Value of a parameter of the plant."""
    known = plant.values.get(name)
    return parameter_value(plant.robot.description, name) if known is None else np.asarray(known, dtype=float)


def _sample(loop: ClosedLoop, t: Real, recorded: Sequence[Any]) -> Record:
    """Arguments of a loss: time and recorded variables, with the tracking error."""
    names = [variable.name for variable in loop.variables]
    now = {"t": t, **dict(zip(names, recorded, strict=True))}
    if loop.reference.n is not None:
        robot = loop.plant.robot
        alike = robot.nq == robot.n
        now["error"] = now["q_reference"] - now["q"] if alike else robot.difference(now["q"], now["q_reference"])
    return Record(now)


def _number(loss: Loss, now: Record, name: str) -> Any:
    """Value of a loss, which must be one number."""
    value = loss(now)
    if np.shape(value) != ():
        raise ArgumentError(f"{name} must return one number for a sample, not an array of shape {np.shape(value)}")
    return value


def _check_names(by: Sequence[str]) -> None:
    """Raise where a list of names has none, or one without a derivative."""
    if isinstance(by, str):
        raise ArgumentError(f"by must be a list of names such as ['controller.kp'], not the text {by!r}")
    if not by:
        raise ArgumentError("by is empty: name what the loss is to be differentiated by")
    for name in by:
        if name.endswith((".seed", *RESOLUTIONS)):
            reason = "it numbers a random sequence" if name.endswith(".seed") else "rounding has none"
            raise ArgumentError(f"a loss has no derivative with respect to '{name}': {reason}")
