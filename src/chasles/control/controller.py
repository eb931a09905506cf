"""Base of all controllers: everything that a closed loop may ask of a control law, each with a default."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.arguments import HasBounds, choice, real, reals
from chasles.engine import Layout
from chasles.engine.records import Memory, Record, is_record, parts_of
from chasles.engine.scalar import Array, Real
from chasles.errors import ArgumentError
from chasles.robot import Robot
from chasles.sealed import Sealed
from chasles.trajectories.motion import Motion, PoseMotion

ReferenceKind = Literal["joint", "pose"]
#: Planned motion at one time: a `Motion` or a `PoseMotion`, as the law's `reference_kind` says.
PlannedMotion: TypeAlias = Any


class Command(NamedTuple):
    """What a law gives at one state.

    Attributes
    ----------
    tau
        Torques (n,), N·m or N.
    memory
        Memory for the next call: an array or a `chasles.engine.Record`.
    """

    tau: NDArray[np.float64]
    memory: Memory


class Controller(HasBounds, Sealed):
    """A sampled control law, the second argument of `chasles.simulate`.

    The loop calls `law` once a period and holds its torques in between. A subclass defines `law` and overrides what
    differs from the defaults below, as class attributes or in its ``__init__``. A member whose name is nearly one of
    these is refused when the first controller is made.

    Attributes
    ----------
    name
        Name in reports; default the name of the class.
    parameters
        Values by name, such as gains, that simulations can vary; default none. The law receives them as an argument.
    bounds
        Bound of each parameter by name, a `chasles.arguments.Bound`; default finite. Simulations refuse other values.
    initial_state
        Memory at the start: an array, or named parts (a mapping of arrays), nested as deep as needed; default none. The
        law receives the memory and returns the next one.
    robot
        Controller's model of the robot; default None. The loop checks its number of joints.
    reference_kind
        ``"joint"`` (default) for joint motions only, ``"pose"`` for motions of a frame as well.
    traceable
        Whether the law may be traced and compiled (default), or is plain Python, called once a period.
    measured_wrench
        Frame or link whose wrench from the environment the loop measures for the law, which finds it in
        ``parameters["measured_wrench"]``, (6,) in the frame's axes; default None.

    Examples
    --------
    >>> import chasles as ch
    >>> class Spring(ch.Controller):
    ...     name = "spring with integral"
    ...     parameters = {"stiffness": 100.0, "damping": 20.0}
    ...     initial_state = {"integral": np.zeros(2)}
    ...
    ...     def law(self, t, q, qd, reference, memory, parameters, period):
    ...         error = reference.q - q
    ...         memory.integral = memory.integral + period * error
    ...         tau = parameters["stiffness"] * (error + memory.integral) - parameters["damping"] * qd
    ...         return tau, memory
    >>> run = ch.simulate(ch.load("planar2r"), Spring(), ch.PointToPoint([0.0, 0.0], [0.5, 0.5], 1.0))
    """

    name: str = ""
    parameters: Mapping[str, Any] = MappingProxyType({})
    initial_state: Memory = np.zeros(0)
    robot: Robot | None = None
    reference_kind: ReferenceKind = "joint"
    measured_wrench: str | None = None
    traceable: bool = True

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        if not cls.name:
            cls.name = cls.__name__

    @abstractmethod
    def law(
        self,
        t: Real,
        q: Array,
        qd: Array,
        reference: PlannedMotion,
        state: Memory,
        parameters: Mapping[str, Any],
        period: float,
    ) -> tuple[Any, Any]:
        """Return torques and the next memory, in arithmetic that can be traced, if possible.

        Parameters
        ----------
        t
            Time, s.
        q, qd
            Measured positions (n,) and velocities (n,).
        reference
            Planned motion at `t`: a `chasles.trajectories.Motion`, or a ``PoseMotion`` for laws that follow a frame.
        state
            Memory: an array or a `chasles.engine.Record`, as `initial_state` is.
        parameters
            Values of `parameters`, and ``"schedule"`` and ``"measured_wrench"`` for laws that have these.
        period
            Time between two calls, s.

        Returns
        -------
        tau, state
            Torques (n,) until the next call, and the memory for it.
        """

    def schedule(self, times: NDArray[np.float64], motion: PlannedMotion) -> Memory:
        """Return what is computed before the loop runs, for every call: gains along the motion, for one.

        Override it in laws that need it. The law finds its own call's part as ``parameters["schedule"]``.

        Parameters
        ----------
        times
            Times of all calls, (k,), s.
        motion
            Planned motion at these times, each part (k, ...).

        Returns
        -------
        ndarray or record of ndarray
            One row for each call, (k, ...).
        """
        raise ArgumentError(f"controller '{self.name}' has no schedule")

    def evaluate(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        reference: PlannedMotion,
        *,
        t: float = 0.0,
        memory: Memory = None,
        period: float = 1e-3,
        measured_wrench: ArrayLike | None = None,
    ) -> Command:
        """Return the law's torques at one state, and its next memory: for your own loop, a test, or a robot's driver.

        Parameters
        ----------
        q, qd
            Measured positions (n,) and velocities (n,).
        reference
            Planned motion at `t`: a `chasles.trajectories.Motion` or ``PoseMotion``, or a trajectory, which gives it.
        t
            Time, s.
        memory
            Memory after the call before; default `initial_state`.
        period
            Time to the next call, s.
        measured_wrench
            Wrench (m, f) of the environment on the frame `measured_wrench`, (6,), in the frame's axes; default none.

        Raises
        ------
        ArgumentError
            A value has a wrong shape or is not finite; or the law needs a schedule along a whole motion.

        Examples
        --------
        >>> import chasles as ch
        >>> arm = ch.load("planar2r")
        >>> motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=2.0)
        >>> ch.control.PD(arm, kp=100.0, kd=20.0).evaluate([0.0, 0.1], [0.0, 0.0], motion).tau
        array([  0., -10.])
        """
        if self.has_schedule:
            raise ArgumentError(
                f"controller '{self.name}' computes a schedule along a whole motion, so it has no torque at one state "
                "alone; use chasles.simulate"
            )
        time = real(t, "t")
        position = reals(q, "q", ("n",) if self.robot is None else (self.robot.nq,))
        velocity = reals(qd, "qd", ("n",) if self.robot is None else (self.robot.nv,))
        parameters = dict(self.parameters)
        if self.measured_wrench is not None:
            wrench = np.zeros(6) if measured_wrench is None else measured_wrench
            parameters["measured_wrench"] = reals(wrench, "measured_wrench", (6,))
        elif measured_wrench is not None:
            raise ArgumentError(f"controller '{self.name}' takes no measured_wrench")
        planned = reference(time) if callable(reference) else reference
        before = checked_memory(self.initial_state if memory is None else memory)
        tau, after = self.law(time, position, velocity, planned, before, parameters, real(period, "period", above=0.0))
        return Command(np.asarray(tau, dtype=np.float64), after)

    @property
    def has_schedule(self) -> bool:
        """Whether the law needs `schedule`."""
        return type(self).schedule is not Controller.schedule

    def period_warning(self, period: float) -> str | None:
        """Return a warning about a sample period, s, that is unsuitable for this law; default None."""
        return None

    @property
    def memory_layout(self) -> Layout:
        """Names and shapes of the memory's parts."""
        return Layout.of(self.initial_state)

    @property
    def memory_names(self) -> tuple[str, ...]:
        """Name of each element of the memory, in results of ``simulate(..., memory=True)``."""
        names = self.memory_layout.names
        return names if is_record(self.initial_state) else tuple(f"memory{name}" for name in names)

    def __repr__(self) -> str:
        model = [] if self.robot is None else [repr(self.robot)]
        values = [f"{name}={_shortened(np.asarray(value))}" for name, value in self.parameters.items()]
        return f"{type(self).__name__}({', '.join([*model, *values])})"


def as_controller(controller: object) -> Controller:
    """Return a controller that is fit for a loop; a plain function becomes a `PythonLaw`.

    Raises
    ------
    ArgumentError
        It is neither.

    Examples
    --------
    >>> as_controller(lambda t, q, qd, reference: reference.q - q)
    PythonLaw(<lambda>)
    """
    if isinstance(controller, Controller):
        choice(controller.reference_kind, "reference_kind", get_args(ReferenceKind))
        return controller
    if hasattr(controller, "law"):
        raise ArgumentError(
            f"{type(controller).__name__} has a method 'law' but is no controller: let its class inherit "
            "chasles.Controller, which has a default for everything else that a loop asks for"
        )
    if callable(controller):
        return PythonLaw(controller)
    raise ArgumentError(
        f"a controller is an instance of chasles.Controller, or a function law(t, q, qd, reference), not {controller!r}"
    )


class PythonLaw(Controller):
    """Controller of a plain Python function ``law(t, q, qd, reference) -> tau``.

    A function with memory and parameters is ``law(t, q, qd, reference, memory, parameters) -> (tau, next memory)``; a
    seventh argument receives the period. `chasles.simulate` wraps functions without memory automatically.

    Parameters
    ----------
    function
        The law. It is traced and compiled if it can be, and called as it is otherwise.
    initial_state
        Memory at the start: an array, or named parts (a mapping of arrays). A function whose memory has named parts may
        assign to them and return the torques alone.
    parameters
        Values that may be varied, by name.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> def hold(t, q, qd, reference):
    ...     return 100.0 * (reference.q - q) - 20.0 * qd
    >>> run = ch.simulate(arm, hold, ch.PointToPoint([0.0, 0.0], [0.5, 0.5], 1.0))

    With named memory:

    >>> def hold(t, q, qd, reference, memory, parameters, period):
    ...     memory.integral += period * (reference.q - q)
    ...     return parameters["kp"] * (reference.q - q) + 50.0 * memory.integral - 20.0 * qd
    >>> law = ch.PythonLaw(hold, initial_state={"integral": np.zeros(2)}, parameters={"kp": 100.0})
    >>> run = ch.simulate(arm, law, ch.PointToPoint([0.0, 0.0], [0.5, 0.5], 1.0))
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        initial_state: ArrayLike | Mapping[str, Any] = (),
        parameters: Mapping[str, ArrayLike] | None = None,
    ) -> None:
        self.function = function
        self.name = getattr(function, "__name__", type(function).__name__)
        self.initial_state = checked_memory(initial_state)
        self.parameters = {name: reals(value, f"parameters['{name}']") for name, value in (parameters or {}).items()}
        self._arity = _positional_count(function)
        if self._arity not in (4, 6, 7):
            raise ArgumentError(
                f"{self.name} must take (t, q, qd, reference), (t, q, qd, reference, memory, parameters), or these and "
                "the period"
            )
        if self._arity == 4 and (self.memory_layout.size or self.parameters):
            raise ArgumentError(f"{self.name} takes no memory and no parameters: give it six arguments")

    def law(
        self,
        t: Real,
        q: Array,
        qd: Array,
        reference: Motion | PoseMotion,
        state: Memory,
        parameters: Mapping[str, Any],
        period: float,
    ) -> tuple[Any, Any]:
        """Call the function."""
        if self._arity == 4:
            return self.function(t, q, qd, reference), state
        further = (period,) if self._arity == 7 else ()
        returned = self.function(t, q, qd, reference, state, parameters, *further)
        if isinstance(state, Record) and not isinstance(returned, tuple):
            return returned, state
        tau, state = returned
        return tau, state

    def __repr__(self) -> str:
        return f"PythonLaw({self.name})"


def checked_memory(memory: Memory) -> Memory:
    """Return a memory's start as an array (m,), or as a record of arrays.

    Raises
    ------
    ArgumentError
        A part is no array of finite numbers.
    """
    if not is_record(memory):
        return reals(memory, "initial_state").reshape(-1)
    return Record({name: _checked_part(value, name) for name, value in parts_of(memory)})


def _checked_part(value: Memory, name: str) -> Memory:
    if is_record(value):
        return Record({inner: _checked_part(part, f"{name}.{inner}") for inner, part in parts_of(value)})
    return reals(value, f"initial_state['{name}']")


def _positional_count(function: Callable[..., Any]) -> int:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 4
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(1 for p in parameters if p.kind in kinds and p.default is inspect.Parameter.empty)


def _shortened(value: NDArray[np.float64]) -> str:
    """One number where all are the same."""
    if value.size and (value == value.flat[0]).all():
        return f"{value.flat[0]:g}"
    return str(value.tolist())
