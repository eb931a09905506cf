"""Base of the controllers that have a model of the robot."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.control.controller import Controller, checked_memory
from chasles.control.knowledge import Knowledge
from chasles.control.margin_design import Demand, MarginDesign, MarginSearch, Plants
from chasles.control.pole_design import PoleDesign
from chasles.control.vertex_plants import Uncertainty, frozen_plants
from chasles.engine.validators import NOT_NEGATIVE, Bound, reals
from chasles.inverse_kinematics.differential.body_tasks import free_velocities
from chasles.robot.robot import Robot
from chasles.trajectories import JointTrajectory

#: Settings of poles by name, fields of `PoleDesign`.
_OF_POLES = ("frequency", "damping", "damping_times_period", "integral")
#: What designs with margins take: fields of `Demand` and of `Uncertainty`.
DEMANDS = ("margin", "cap", "delay")
UNKNOWNS = ("payload", "payload_radius", "model_error", "unknown_friction", "jitter")
_INTEGRAL = 0.3  # third pole of designs with margins, as a share of the frequency


class RobotController(Controller):
    """Controller with a model of the robot.

    Parameters
    ----------
    robot
        Controller's model of the robot; it may differ from the plant.
    values
        Values by name that simulations can vary; they become attributes.
    memory
        Named parts of the memory at the start.

    Raises
    ------
    ArgumentError
        The robot has free joints, which the law does not support; the message names a law that does.
    """

    robot: Robot
    #: Gains of feedback, of whatever law, are never negative; laws add the bounds of their other parameters.
    bounds: Mapping[str, Bound] = dict.fromkeys(
        ("kp", "kd", "ki", "kf", "kfi", "gain", "rate", "damping", "adaptation", "reaching"), NOT_NEGATIVE
    )
    #: Name by which studies and commands know the law; empty for laws that they do not offer.
    kind: ClassVar[str] = ""
    #: Whether its rule treats each joint as if the others were locked, which leaves less room to the frequency.
    designs_joints_alone: ClassVar[bool] = False
    #: Third pole of the rule as a share of the frequency, for laws with integral action.
    default_integral: ClassVar[float] = 0.0
    #: Damping ratio of designs with margins without integral action, whose third pole adds a third of its share.
    design_damping: ClassVar[float] = 0.75
    #: Names of what designs with margins take as unknown: fields of `Uncertainty`.
    uncertainties: ClassVar[tuple[str, ...]] = UNKNOWNS
    #: What the law is given of the robot, and what it learns.
    knows: ClassVar[Knowledge] = Knowledge()
    #: Whether the law reads the velocity that it is called with.
    reads_velocity: ClassVar[bool] = True
    #: What the design with margins promises, of laws that `tuned` has designed so; otherwise None.
    designed: MarginDesign | None = None
    #: Why the law cannot take a robot with free joints, and what can; empty where it can.
    refuses_free_joints: ClassVar[str] = ""

    def __init__(
        self,
        robot: Robot,
        values: Mapping[str, NDArray[np.float64]],
        memory: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.require_motors(robot)
        self.check_parameters(values)
        self.robot = robot
        self.varies = tuple(values)
        self.__dict__.update({name: _read_only(value) for name, value in values.items()})
        self.memory = checked_memory(memory)

    @classmethod
    def gains(cls, design: PoleDesign) -> dict[str, Any]:
        """Return constructor arguments for the poles of a design; the keywords are settings of the tuning rule.

        Raises
        ------
        ArgumentError
            The law has no tuning rule.
        """
        raise ArgumentError(f"no rule gives the gains of {cls.__name__}: give them to its constructor")

    @classmethod
    def tuned(
        cls, robot: Robot, motion: JointTrajectory, period: float, *, frequency: float | None = None, **settings: Any
    ) -> Self:
        """Return the law for a motion and a sample period, with gains as fast as a disk margin allows.

        All gains follow from one natural frequency. It is the highest at which the sampled loop, with velocities
        differentiated from encoders, has the margin on plants at the vertices of everything that is declared unknown.
        Laws that learn or switch must besides lose none of 32 drawn plants in simulation. The model of the returned law
        carries a share of the payload, and `designed` says what is promised.

        Parameters
        ----------
        robot, motion, period
            Controller's model of the robot, planned motion, and sample period, s.
        frequency
            Natural frequency of the error, rad/s, for gains without a promise: poles are placed by name, lowered where
            the period is too long for them. Laws of frames and robots with free joints need it.
        settings
            Uncertainty: ``payload``, the largest mass at the tool, kg (default 0), ``payload_radius`` of its centre
            about the tool's origin, m, ``model_error``, ``unknown_friction`` and ``jitter``; laws of elastic joints
            take ``stiffness_error`` too, see `Uncertainty`.
            Demands: ``delay``, in sample periods, ``margin`` (0.3) and ``cap``, the highest frequency (60
            rad/s), see `Demand`. Besides ``damping``, ``integral``, the settings of the law's rule, which are the
            keywords of `gains`, and constructor parameters, which override the rule.

        Raises
        ------
        DesignError
            No gains have the margin. The message says which margin can be had, and the sample rate, payload or cap that
            would allow it.
        ArgumentError
            The law has no tuning rule; or it follows a frame or a robot with free joints, and no frequency is given.

        Examples
        --------
        >>> import chasles as ch
        >>> arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 1.0)
        >>> law = ch.ComputedTorque.tuned(arm, motion, period=0.01, integral=0.3, payload=1.0)
        >>> law.designed.margin >= 0.3
        True
        >>> run = ch.simulate(arm.with_payload(1.0), law, motion, period=0.01)
        >>> bool(abs(run["error"]).isel(time=-1).max() < 0.02)
        True
        """
        if frequency is not None:
            return cls(robot, **cls.arguments(robot, motion, period, {"frequency": frequency, **settings}))
        cls.check_settings(settings)
        if why := cls.without_margins(robot):
            raise ArgumentError(f"{cls.__name__} cannot be designed by margins: {why}; give frequency=, rad/s")
        if "damping_times_period" in settings:
            raise ArgumentError(
                "'damping_times_period' lowers a frequency that is given; the margin needs no such bound"
            )
        asked = {name: settings[name] for name in cls.uncertainties + DEMANDS if name in settings}
        unknown = Uncertainty(**{name: asked[name] for name in cls.uncertainties if name in asked})
        demand = Demand(period=period, **{name: asked[name] for name in DEMANDS if name in asked})
        plants = cls.vertex_plants(settings)
        search = MarginSearch(cls._maker(robot, motion, demand, settings), robot, motion, unknown, plants)
        law, designed = search.designed(demand)
        if not isinstance(law, cls):
            raise TypeError(law)
        law.__dict__["designed"] = designed
        return law

    @classmethod
    def vertex_plants(cls, settings: Mapping[str, Any]) -> Plants:
        """Return the function that makes the vertex plants of a design with margins, for settings of `tuned`."""
        return frozen_plants

    @classmethod
    def _maker(
        cls, robot: Robot, motion: JointTrajectory, demand: Demand, settings: Mapping[str, Any]
    ) -> Callable[[Robot, float, float], Controller]:
        """Return a function of model, period and frequency to the law with its gains."""
        rule = {name: settings[name] for name in rule_settings(cls) if name in settings}
        taken = {*design_settings(cls), *rule}
        given = {name: value for name, value in settings.items() if name not in taken}
        integral = settings.get("integral", cls.default_integral and _INTEGRAL) if has_integral_action(cls) else 0.0
        damping = settings.get("damping", cls.design_damping + integral / 3.0)
        designs: dict[int, PoleDesign] = {}

        def make(model: Robot, period: float, frequency: float) -> Controller:
            design = designs.get(id(model))
            if design is None:
                design = PoleDesign(
                    model, motion, period, 1.0, damping, np.inf, integral, delay=demand.delay, velocity_lag=0.5
                )
                _ = design.mass_matrices, design.inertia, design.peak_torque, design.excitations
                designs[id(model)] = design
            timing = {"period": period} if "period" in keywords(cls) else {}
            return cls(model, **(cls.gains(design.changed(period, frequency), **rule) | timing | given))

        return make

    @classmethod
    def without_margins(cls, robot: Robot) -> str:
        """Return why the law's gains cannot be designed by margins on a robot; empty where they can."""
        if free_velocities(robot).any() or robot.nq != robot.n:
            return "the robot has free or spherical joints"
        if {"target", "targets", "task"} & set(inspect.signature(cls).parameters):
            return "it follows a frame, and margins are those of motions of all joints"
        return ""

    @classmethod
    def check_settings(cls, settings: Mapping[str, Any]) -> None:
        """Raise `ArgumentError` for a law without rule, and `UnknownNameError` for a setting that does not exist."""
        if not has_rule(cls):
            cls.gains(None)  # type: ignore[arg-type]
        by_place = [name for name in inspect.signature(cls).parameters if name not in ("robot", "task")]
        known = dict.fromkeys([*design_settings(cls), *rule_settings(cls), *keywords(cls), *by_place])
        for name in settings:
            if name not in known:
                raise UnknownNameError("setting", name, known, of=cls.__name__)

    @classmethod
    def arguments(
        cls, robot: Robot, motion: JointTrajectory, period: float, settings: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the constructor arguments for settings of `tuned`.

        Raises
        ------
        ArgumentError
            The law has no tuning rule, or a setting belongs to designs by margins.
        UnknownNameError
            A setting does not exist.
        """
        cls.check_settings(settings)
        for name in DEMANDS + cls.uncertainties:
            if name in settings and name not in (*rule_settings(cls), *keywords(cls)):
                raise ArgumentError(
                    f"'{name}' is a setting of designs by margins, which find the frequency: leave out the "
                    f"frequency and give the margin, or leave out {name}"
                )
        rule = {name: settings[name] for name in rule_settings(cls) if name in settings}
        taken = {*design_settings(cls), *rule} - {"delay"}
        given = {name: value for name, value in settings.items() if name not in taken}
        return cls.gains(cls.design(robot, motion, period, settings), **rule) | given

    @classmethod
    def design(cls, robot: Robot, motion: JointTrajectory, period: float, settings: Mapping[str, Any]) -> PoleDesign:
        """Return the poles that settings ask for."""
        own = {name: settings[name] for name in _OF_POLES if name in settings}
        integral = {"integral": cls.default_integral} if has_integral_action(cls) else {}
        return PoleDesign(robot, motion, period, **(integral | own))

    @classmethod
    def require_motors(cls, robot: Robot) -> None:
        """Raise `ArgumentError` for a robot with free joints if the law does not support them."""
        free = free_velocities(robot)
        if free.any() and cls.refuses_free_joints:
            name = robot.velocity_names[int(np.argmax(free))].rpartition(".")[0]
            raise ArgumentError(
                f"{cls.__name__} takes no robots with free joints such as '{name}' of robot '{robot.name}': "
                f"{cls.refuses_free_joints}"
            )


def has_rule(law: type[RobotController]) -> bool:
    """Whether a law has a rule for its gains."""
    return law.gains.__func__ is not RobotController.gains.__func__  # type: ignore[attr-defined]


def has_integral_action(law: type[RobotController]) -> bool:
    """Whether a law's rule can give it integral action."""
    return bool({"ki", "Q"} & set(keywords(law)))


def design_settings(law: type[RobotController]) -> tuple[str, ...]:
    """Return the settings of a law's poles and of designs with margins; none for laws without a rule."""
    if not has_rule(law):
        return ()
    poles = tuple(name for name in _OF_POLES if name != "integral" or has_integral_action(law))
    return (*poles, *DEMANDS, *law.uncertainties)


def rule_settings(law: type[RobotController]) -> tuple[str, ...]:
    """Return the settings of a law's rule beside its poles: keywords of its `gains`.

    >>> from chasles.control import SlotineLi
    >>> rule_settings(SlotineLi)
    ('learning', 'unknown')
    """
    return keywords(law.gains)


@cache
def keywords(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of a function's keyword-only parameters, those of a typed ``**options`` included."""
    parameters = inspect.signature(function).parameters.values()
    own = tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)
    return own + tuple(getattr(function, "further_keywords", ()))


def _read_only(value: NDArray[np.float64]) -> NDArray[np.float64]:
    array = np.array(value, dtype=np.float64)
    array.flags.writeable = False
    return array


def gains(count: int, **values: ArrayLike) -> dict[str, NDArray[np.float64]]:
    """Return gains by name, each (count,), of one value for all or one for each; finite and not negative.

    Raises
    ------
    ArgumentError
        A gain has another shape, is negative or not finite; the message says which.

    Examples
    --------
    >>> gains(2, kp=400.0, kd=[40.0, 20.0])
    {'kp': array([400., 400.]), 'kd': array([40., 20.])}
    """
    return {name: reals(value, name, (count,), broadcast=True, bound=NOT_NEGATIVE) for name, value in values.items()}
