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
from chasles.control.pole_design import PoleDesign
from chasles.engine.validators import NOT_NEGATIVE, Bound, reals
from chasles.inverse_kinematics.differential.body_tasks import free_velocities
from chasles.robot.robot import Robot
from chasles.trajectories import JointTrajectory


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
    #: Whether the law is linear for small errors, so that its sampled loop has poles.
    is_linear: ClassVar[bool] = True
    #: Third pole of the rule as a share of the frequency, for laws with integral action.
    default_integral: ClassVar[float] = 0.0
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
        cls, robot: Robot, motion: JointTrajectory, period: float, *, frequency: float = 20.0, **settings: Any
    ) -> Self:
        """Return the law for a motion and a sample period, with gains from its tuning rule.

        Parameters
        ----------
        robot, motion, period
            Controller's model of the robot, planned motion, and sample period, s.
        frequency
            Natural frequency of the error, rad/s, lowered where the period is too long for it.
        settings
            ``damping``, the damping ratio of the error, and other arguments of `PoleDesign`; settings of the tuning
            rule, which are the keywords of `gains`; and constructor parameters, which override the rule.

        Examples
        --------
        >>> import chasles as ch
        >>> arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 1.0)
        >>> law = ch.ComputedTorque.tuned(arm, motion, period=0.01, integral=1.0)
        >>> run = ch.simulate(arm.with_payload(1.0), law, motion, period=0.01)
        >>> bool(abs(run["error"]).isel(time=-1).max() < 0.02)
        True
        """
        return cls(robot, **cls.arguments(robot, motion, period, {"frequency": frequency, **settings}))

    @classmethod
    def arguments(
        cls, robot: Robot, motion: JointTrajectory, period: float, settings: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the constructor arguments for settings of `tuned`.

        Raises
        ------
        ArgumentError
            The law has no tuning rule.
        UnknownNameError
            A setting does not exist.
        """
        by_place = [name for name in inspect.signature(cls).parameters if name not in ("robot", "task")]
        known = dict.fromkeys([*design_settings(cls), *rule_settings(cls), *keywords(cls), *by_place])
        for name in settings if has_rule(cls) else ():
            if name not in known:
                raise UnknownNameError("setting", name, known, of=cls.__name__)
        rule = {name: settings[name] for name in rule_settings(cls) if name in settings}
        taken = {*design_settings(cls), *rule}
        given = {name: value for name, value in settings.items() if name not in taken}
        return cls.gains(cls.design(robot, motion, period, settings), **rule) | given

    @classmethod
    def design(cls, robot: Robot, motion: JointTrajectory, period: float, settings: Mapping[str, Any]) -> PoleDesign:
        """Return the poles that settings ask for."""
        own = {name: settings[name] for name in design_settings(cls) if name in settings}
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
    return bool({"ki", "integral_error"} & set(keywords(law)))


def design_settings(law: type[RobotController]) -> tuple[str, ...]:
    """Return the settings of a law's poles, fields of `PoleDesign`; none for laws without a rule."""
    integral = ("integral",) if has_integral_action(law) else ()
    return ("frequency", "damping", "damping_times_period", *integral) if has_rule(law) else ()


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
