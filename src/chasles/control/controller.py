"""Base of all controllers: everything that a closed loop may ask of a control law, each with a default."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError
from chasles.base.findings import Finding
from chasles.base.sealed import Sealed
from chasles.control.now import MotorReading, Now, PlannedMotion
from chasles.engine import Layout
from chasles.engine.program.records import Memory, Record, is_record, parts_of
from chasles.engine.validators import HasBounds, real, reals
from chasles.robot.robot import Robot

ReferenceKind = Literal["joint", "pose"]
_INNER = "inner."


class Command(NamedTuple):
    """Result of a law at one state.

    Attributes
    ----------
    tau
        Torques (n,), N·m or N.
    memory
        Memory for the next call, a `chasles.engine.Record`.
    """

    tau: NDArray[np.float64]
    memory: Record


class Controller(HasBounds, Sealed):
    """A sampled control law, the second argument of `chasles.simulate`.

    The loop calls `law` once a period and holds its torques in between. A subclass defines `law` and overrides the
    defaults below, as class attributes or in its ``__init__``. A member whose name nearly matches one of these raises
    an error when the first controller is created.

    Attributes
    ----------
    name
        Name in reports; default the name of the class.
    varies
        Names of attributes, such as gains, that simulations can vary; default none. Values that ``__init__`` computes
        from such an attribute are not updated: compute them in `law`.
    bounds
        Bounds by name of the attributes in `varies`, each a `chasles.engine.validators.Bound`; default finite.
        Simulations reject other values.
    memory
        Named parts of the memory at the start, a mapping of arrays, nested as deep as needed; default none.
    inner
        Law to which this law passes the call, as ``self.inner.law(now.of("inner"))``; default None. Its parameters are
        ``"inner.kp"``, … of this law, its memory is the part ``inner``, and its schedule and warnings are this law's.
    robot
        Controller's model of the robot; default None. The loop checks its number of joints.
    reference_kind
        ``"joint"`` (default) for joint motions only, ``"pose"`` for motions of a frame as well.
    traceable
        Whether the law can be traced and compiled (default). False for plain Python, called once a period.
    follows_reference
        Whether the law tracks the reference (default), so that summaries report its tracking error. False for laws with
        other tasks.
    is_linear
        Whether the law is linear for small errors and its behaviour for large ones follows from that (default). False
        for laws that learn or switch.
    measured_wrench
        Frame or link at which the loop measures the wrench from the environment, passed to the law as ``now.wrench``;
        default None.
    measures_motors
        Whether the loop measures the motor sides of elastic joints, passed to the law as ``now.motors``; default False.

    Examples
    --------
    >>> import chasles as ch
    >>> class Spring(ch.Controller):
    ...     name = "spring with integral"
    ...     varies = ("stiffness", "damping")
    ...     stiffness, damping = 100.0, 20.0
    ...     memory = {"integral": np.zeros(2)}
    ...
    ...     def law(self, now):
    ...         error = now.reference.q - now.q
    ...         now.memory.integral += now.period * error
    ...         return self.stiffness * (error + now.memory.integral) - self.damping * now.qd
    >>> run = ch.simulate(ch.load("planar2r"), Spring(), ch.PointToPoint([0.0, 0.0], [0.5, 0.5], 1.0))
    """

    name: str = ""
    varies: tuple[str, ...] = ()
    memory: Mapping[str, Any] = MappingProxyType({})
    inner: Controller | None = None
    robot: Robot | None = None
    reference_kind: ReferenceKind = "joint"
    follows_reference: bool = True
    is_linear: ClassVar[bool] = True
    measured_wrench: str | None = None
    measures_motors: bool = False
    traceable: bool = True

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        if not cls.name:
            cls.name = cls.__name__

    @abstractmethod
    def law(self, now: Now) -> Any:
        """Return the torques (n,) until the next call, if possible in traceable arithmetic.

        Parameters
        ----------
        now
            Measured state, reference and memory. Values assigned to parts of ``now.memory`` persist until the next
            call.
        """

    @property
    def parameters(self) -> dict[str, Any]:
        """Values by name that simulations can vary: the attributes in `varies` and the parameters of an inner law."""
        own = {name: value for name in self.varies if (value := self._varying(name)) is not None}
        inner = {} if self.inner is None else self.inner.parameters
        return own | {f"{_INNER}{name}": value for name, value in inner.items()}

    def with_values(self, values: Mapping[str, Any]) -> Self:
        """Return the same law with other values of `parameters` or `design_values`: numbers, or arguments of a trace.

        Examples
        --------
        >>> import chasles as ch
        >>> law = ch.control.PD(ch.load("planar2r"), kp=100.0, kd=20.0)
        >>> law.with_values({"kp": np.array([50.0, 10.0])})
        PD(<Robot 'planar2r': 2 joints, 3 links>, kp=[50.0, 10.0], kd=20)
        """
        own = {name: value for name, value in values.items() if not name.startswith(_INNER)}
        if self.inner is not None:
            inside = {k.removeprefix(_INNER): value for k, value in values.items() if k.startswith(_INNER)}
            own["inner"] = self.inner.with_values(inside)
        kept = {k: v for k, v in vars(self).items() if not isinstance(getattr(type(self), k, None), cached_property)}
        other = object.__new__(type(self))
        other.__dict__.update(kept | own)
        return other

    @property
    def design_values(self) -> dict[str, Any]:
        """Values by name from which gains are computed before a run, such as weights; default the inner law's."""
        if self.inner is None or type(self).schedule is not Controller.schedule:
            return {}
        return {f"{_INNER}{name}": value for name, value in self.inner.design_values.items()}

    @property
    def designed_parameters(self) -> tuple[str, ...]:
        """Names of `parameters` that follow from `design_values`; default the inner law's."""
        return () if self.inner is None else tuple(f"{_INNER}{name}" for name in self.inner.designed_parameters)

    def design_slopes(self, times: NDArray[np.float64], motion: PlannedMotion) -> Mapping[str, NDArray[np.float64]]:
        """Return derivatives by all elements of `design_values`, p of them.

        Arrays (p, k, *shape) by the names of the parts of `schedule`, ``""`` for an array; or, without one, by those
        of the `designed_parameters`.
        """
        if self.inner is None:
            return {}
        slopes = self.inner.design_slopes(times, motion)
        return slopes if self.has_schedule else {f"{_INNER}{name}": value for name, value in slopes.items()}

    def check_varied(self, values: Mapping[str, NDArray[np.float64]], prefix: str) -> None:
        """Raise `ArgumentError` for values that the constructors of this law or its inner law reject."""
        super().check_varied({k: value for k, value in values.items() if not k.startswith(_INNER)}, prefix)
        if self.inner is not None:
            inside = {k.removeprefix(_INNER): value for k, value in values.items() if k.startswith(_INNER)}
            self.inner.check_varied(inside, f"{prefix}.inner")

    def schedule(self, times: NDArray[np.float64], motion: PlannedMotion) -> Memory:
        """Return values precomputed for every call, such as gains along the motion.

        Override it in laws that need it. Each call of the law receives its row as ``now.schedule``.

        Parameters
        ----------
        times
            Times of all calls, (k,), s.
        motion
            Planned motion at these times, each part (k, ...).

        Returns
        -------
        ndarray or record of ndarray
            One row for each call, (k, ...), or (*batch, k, ...) for laws with a `batch`.
        """
        if self.inner is None:
            raise ArgumentError(f"controller '{self.name}' has no schedule")
        return self.inner.schedule(times, motion)

    @property
    def batch(self) -> tuple[int, ...]:
        """Shape of the batch of runs that have schedules of their own; default the inner law's, or ()."""
        return () if self.inner is None else self.inner.batch

    def settled_schedule(self, motion: PlannedMotion, period: float) -> Memory:
        """Return rows of `schedule` at places of a motion, (k, ...), with gains as if the robot stayed at each of them.

        Designs with margins take them; the default is the inner law's, or none for laws without a schedule.
        """
        if not self.has_schedule:
            return None
        if self.inner is None:
            raise ArgumentError(f"controller '{self.name}' has no settled schedule: give its gains")
        return self.inner.settled_schedule(motion, period)

    @property
    def takes_over(self) -> bool:
        """Whether `take_over` gives this law any torques that are asked for; default False."""
        return False

    def take_over(self, now: Now, tau: Any) -> None:
        """Assign to ``now.memory`` what makes ``law(now)`` return the torques tau (n,), for laws that take over.

        Laws with integral action set their integral, so that a switch to them is without a bump.
        """
        raise ArgumentError(f"controller '{self.name}' has no integral that gives it torques of another law")

    def matching_memory(self, robot: Robot) -> Mapping[str, Any] | None:
        """Return parts of the memory that match a robot's parameters; None for laws that estimate none."""
        return None

    def evaluate(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        reference: PlannedMotion,
        *,
        t: float = 0.0,
        memory: Mapping[str, Any] | None = None,
        period: float = 1e-3,
        schedule: Memory = None,
        measured_wrench: ArrayLike | None = None,
        motors: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> Command:
        """Return the law's torques at one state and its next memory, for your own loop, a test or a robot driver.

        Parameters
        ----------
        q, qd
            Measured positions (n,) and velocities (n,).
        reference
            Planned motion at `t`: a `chasles.trajectories.Motion`, a ``PoseMotion``, or a trajectory, evaluated at `t`.
        t
            Time, s.
        memory
            Memory after the previous call; default the initial `memory`.
        period
            Time to the next call, s.
        schedule
            This call's row of the result of `schedule`, for laws that have one.
        measured_wrench
            Wrench (m, f) of the environment on the frame `measured_wrench`, (6,), in the frame's axes; default none.
        motors
            Angles and speeds of the motor sides of elastic joints, for laws that measure them, each (n,).

        Raises
        ------
        ArgumentError
            A value has a wrong shape or is not finite; or the law needs a schedule and none is given.

        Examples
        --------
        >>> import chasles as ch
        >>> arm = ch.load("planar2r")
        >>> motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=2.0)
        >>> ch.control.PD(arm, kp=100.0, kd=20.0).evaluate([0.0, 0.1], [0.0, 0.0], motion).tau
        array([  0., -10.])
        """
        if self.has_schedule and schedule is None:
            raise ArgumentError(
                f"controller '{self.name}' computes a schedule along a whole motion: use chasles.control.OnlineLaw, or "
                "give schedule=, the row of controller.schedule(times, motion) for this call"
            )
        wrench = None
        if self.measured_wrench is not None:
            wrench = reals(np.zeros(6) if measured_wrench is None else measured_wrench, "measured_wrench", (6,))
        elif measured_wrench is not None:
            raise ArgumentError(f"controller '{self.name}' takes no measured_wrench")
        time = real(t, "t")
        now = Now(
            time,
            reals(q, "q", ("n",) if self.robot is None else (self.robot.nq,)),
            reals(qd, "qd", ("n",) if self.robot is None else (self.robot.n,)),
            reference(time) if callable(reference) else reference,
            checked_memory(self.memory if memory is None else memory),
            real(period, "period", above=0.0),
            schedule,
            wrench,
            self._checked_motors(motors),
        )
        return Command(np.asarray(self.law(now), dtype=np.float64), now.memory)

    def _checked_motors(self, motors: tuple[ArrayLike, ArrayLike] | None) -> MotorReading | None:
        """Return the motor sides for a law that measures them."""
        if self.reads_motors is not (motors is not None):
            takes = "needs" if self.reads_motors else "takes no"
            raise ArgumentError(f"controller '{self.name}' {takes} motors=, angles and speeds of the motor sides")
        if motors is None:
            return None
        q, qd = (reals(part, "motors", ("n",) if self.robot is None else (self.robot.n,)) for part in motors)
        return MotorReading(q, qd)

    @property
    def reads_motors(self) -> bool:
        """Whether this law or the one inside it measures the motor sides of elastic joints."""
        return self.measures_motors or (self.inner is not None and self.inner.reads_motors)

    def motor_motion(self, motion: PlannedMotion, times: NDArray[np.float64] | None = None) -> MotorReading:
        """Return the motor sides of elastic joints that follow places of a motion, of laws that measure them.

        Without the places' times, accelerations stay as they are at each place. Margins take them; the default is the
        inner law's.
        """
        if self.inner is None:
            raise ArgumentError(f"controller '{self.name}' does not say how motors move along a motion")
        return self.inner.motor_motion(motion, times)

    @property
    def has_schedule(self) -> bool:
        """Whether the law needs `schedule`."""
        own = type(self).schedule is not Controller.schedule
        return own or (self.inner is not None and self.inner.has_schedule)

    def period_warning(self, period: float) -> str | None:
        """Return a warning about a sample period, s, that is unsuitable for this law; default that of the inner law."""
        return None if self.inner is None else self.inner.period_warning(period)

    def findings_after(self, memory: Memory) -> tuple[Finding, ...]:
        """Return what a run calls for saying, given the memory at its end, (..., parts); default nothing.

        Simulations ask laws that run in Python.
        """
        return ()

    @property
    def memory_layout(self) -> Layout:
        """Names and shapes of the memory's parts."""
        if not is_record(self.memory):
            raise ArgumentError(
                f"the memory of controller '{self.name}' must have named parts, such as "
                f"{{'integral': np.zeros(2)}}, and is {self.memory!r}"
            )
        return Layout.of(self.memory)

    @property
    def memory_names(self) -> tuple[str, ...]:
        """Name of each element of the memory, in results of ``simulate(..., memory=True)``."""
        return self.memory_layout.names

    def _varying(self, name: str) -> Any:
        try:
            return getattr(self, name)
        except AttributeError:
            raise ArgumentError(
                f"{type(self).__name__} says that '{name}' varies, but has no attribute of this name"
            ) from None

    def __repr__(self) -> str:
        model = [] if self.robot is None else [repr(self.robot)]
        values = [f"{name}={_shortened(np.asarray(value))}" for name, value in self.parameters.items()]
        return f"{type(self).__name__}({', '.join([*model, *values])})"


def checked_memory(memory: Mapping[str, Any]) -> Record:
    """Return a memory's start as a record of arrays.

    Raises
    ------
    ArgumentError
        It has no named parts, or a part is no array of finite numbers.
    """
    if not is_record(memory):
        raise ArgumentError(f"a memory has named parts, such as {{'integral': np.zeros(2)}}; it cannot be {memory!r}")
    return Record({name: _checked_part(value, name) for name, value in parts_of(memory)})


def _checked_part(value: Memory, name: str) -> Memory:
    if is_record(value):
        return Record({inner: _checked_part(part, f"{name}.{inner}") for inner, part in parts_of(value)})
    return reals(value, f"memory['{name}']")


def _shortened(value: NDArray[np.float64]) -> str:
    """One number where all are the same."""
    if value.size and (value == value.flat[0]).all():
        return f"{value.flat[0]:g}"
    return str(value.tolist())
