"""Controllers of a study by the names of their kinds, with gains by a rule or as given."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.control.controller import Controller
from chasles.control.laws import laws
from chasles.control.laws import settings_of as settings_of_law
from chasles.control.python_law import as_controller
from chasles.control.robot_controller import UNKNOWNS, design_settings, has_rule, keywords, rule_settings
from chasles.engine.validators import reals, truth
from chasles.robot.robot import Robot
from chasles.studies.attained import Attained, attained
from chasles.studies.checks import number, shortened
from chasles.studies.settings import KNOBS
from chasles.trajectories import JointTrajectory

Settings = Mapping[str, Any]
#: Setting of kinds that can have integral action.
INTEGRAL = "integral"
#: Setting of kinds that can design for the delay.
KNOWS_DELAY = "knows_delay"
#: Setting of kinds whose gains can be as fast as a margin allows.
MARGIN = "margin"
KINDS = tuple(laws())


def kinds() -> tuple[str, ...]:
    """Return the names of the kinds of controllers that a study can compare.

    Examples
    --------
    >>> "computed-torque" in kinds()
    True
    """
    return KINDS


def settings_of(kind: str) -> tuple[str, ...]:
    """Return the names of a controller kind's settings: those of its tuning rule, then its own.

    Examples
    --------
    >>> settings_of("pd-gravity")[:5]
    ('frequency', 'damping', 'damping_times_period', 'margin', 'cap')
    """
    law = laws()[kind]
    aware = (KNOWS_DELAY,) if "delay" in keywords(law) else ()
    return (*settings_of_law(law), *aware)


def check_settings(kind: str, settings: Any) -> dict[str, Any]:
    """Settings as plain numbers, texts and tuples; errors name the setting and what exists."""
    if not isinstance(settings, Mapping):
        raise ArgumentError(f"settings must be names and values, not {shortened(settings)}")
    allowed = settings_of(kind)
    checked: dict[str, Any] = {}
    for name, value in settings.items():
        if name not in allowed:
            raise UnknownNameError("setting", str(name), allowed, of=f"controller '{kind}'")
        if name in (INTEGRAL, *UNKNOWNS):
            checked[name] = number(value, name)
        elif name in _positive_settings(kind):
            checked[name] = number(value, name, above=0.0)
        elif name == KNOWS_DELAY:
            checked[name] = truth(value, name)
        else:
            checked[name] = _plain_setting(name, value)
    return checked


def _plain_setting(name: str, value: Any) -> Any:
    """A truth value or text as it is, texts, numbers or rows of numbers as tuples, or one number."""
    if isinstance(value, bool | str):
        return value
    if isinstance(value, list | tuple) and value and all(isinstance(item, str) for item in value):
        return tuple(value)
    if not isinstance(value, list | tuple | np.ndarray):
        return number(value, name, at_least=-1e9)
    array = reals(value, f"'{name}'")
    if array.ndim not in (1, 2) or not array.size:
        raise ArgumentError(f"'{name}' must be one or more numbers or rows of numbers, not {shortened(value)}")
    return tuple(map(tuple, array.tolist())) if array.ndim == 2 else tuple(array.tolist())


def make_controller(
    kind: str | Callable[..., Any],
    settings: Settings,
    model: Robot,
    motion: JointTrajectory,
    period: float,
    delay: float = 0.0,
    supports: Sequence[str] = (),
) -> Controller:
    """Make a controller for a model, a motion and a sample period.

    Parameters
    ----------
    kind
        A name of `kinds`, or a function ``make(model, motion, period) -> controller``.
    settings
        Gains by name. Those that are missing follow from ``frequency`` (natural frequency of the error, rad/s) and
        ``damping``. The frequency is lowered where the period is too long for it: the rate at which the damping acts,
        times the period, does not exceed ``damping_times_period``. ``integral`` is the gain of integral action as a
        share of the stiffness times the frequency, for kinds that can have it. With ``margin`` in place of a frequency
        they are as fast as this disk margin allows with the delay and with what is declared unknown, see
        `RobotController.tuned`.
    model
        Controller's model of the robot.
    motion
        The reference.
    period
        Sample period, s.
    delay
        Delay from sampling to the torque's effect, in sample periods; kinds with the setting ``knows_delay = true``
        design for it.
    supports
        Frames on which a floating base stands.

    Raises
    ------
    ArgumentError
        A setting is missing, or controllers of this kind know of no supports.
    DesignError
        No gains have the margin that is asked for.

    Examples
    --------
    Two poles at 20 rad/s, sampled so fast that kp is 20² to five digits; at 30 Hz they would be too much:

    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 1.0)
    >>> fast, slow = (
    ...     make_controller("computed-torque", {"frequency": 20.0}, arm, motion, period).kp
    ...     for period in (1e-7, 1 / 30)
    ... )
    >>> fast.round(2), bool((slow < 15.0**2).all())
    (array([400., 400.]), True)
    """
    if callable(kind):
        return as_controller(kind(model, motion, period))
    law = laws()[kind]
    law.require_motors(model)
    if supports and "supports" not in keywords(law):
        able = ", ".join(name for name in KINDS if "supports" in keywords(laws()[name]))
        raise ArgumentError(f"a controller of kind '{kind}' knows of no frames that stand on the ground; use {able}")
    law_settings = {name: value for name, value in settings.items() if name != KNOWS_DELAY}
    if MARGIN in settings:
        return law.tuned(model, motion, period, **{"delay": delay, **law_settings})
    arguments = law.arguments(model, motion, period, law_settings) if has_rule(law) else law_settings
    if settings.get(KNOWS_DELAY, False):
        arguments["delay"] = delay
    if "period" in keywords(law):
        arguments["period"] = period
    if supports:
        arguments["supports"] = tuple(supports)
    missing = [name for name in _required(kind) if name not in arguments]
    if missing:
        raise ArgumentError(f"a controller of kind '{kind}' needs a value for {', '.join(missing)}")
    return law(model, **arguments)


def follows_rule(kind: str | Callable[..., Any], settings: Settings) -> bool:
    """Whether the gains of a controller follow from poles, rather than being given."""
    return not (callable(kind) or not has_rule(laws()[kind]) or set(settings) & {"kp", "kd", "ki", "Q", "R", MARGIN})


def knobs(kind: str | Callable[..., Any], settings: Settings) -> tuple[str, ...]:
    """Settings of the rule that a search may change: integral action only where the controller has any.

    Examples
    --------
    >>> knobs("computed-torque", {"integral": 1.0}), knobs("computed-torque", {"kp": 400.0, "kd": 40.0})
    (('frequency', 'damping', 'integral'), ())
    """
    if callable(kind) or not follows_rule(kind, settings):
        return ()
    law = laws()[kind]
    has_integral = settings.get(INTEGRAL, law.default_integral) > 0.0
    tunable = [name for name in (*design_settings(law), *rule_settings(law)) if name in KNOBS]
    return tuple(name for name in tunable if name != INTEGRAL or has_integral)


def attained_poles(
    kind: str | Callable[..., Any],
    settings: Settings,
    model: Robot,
    motion: JointTrajectory,
    period: float,
    delay: float = 0.0,
) -> Attained | None:
    """Return the poles that a controller is designed for, and those of its sampled loop; None for gains that are given.

    Parameters are those of `make_controller`.

    Examples
    --------
    >>> import chasles as ch
    >>> motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 1.0)
    >>> attained_poles("computed-torque", {"frequency": 20.0}, ch.load("planar2r"), motion, 1 / 30).is_lowered
    True
    """
    if callable(kind) or not follows_rule(kind, settings):
        return None
    law = laws()[kind]
    known_delay = {"delay": delay} if settings.get(KNOWS_DELAY, False) else {}
    arguments = {name: value for name, value in settings.items() if name not in (*design_settings(law), KNOWS_DELAY)}
    return attained(law, law.design(model, motion, period, settings), delay, known_delay | arguments)


@cache
def _positive_settings(kind: str) -> frozenset[str]:
    """Settings of poles and rules that are positive numbers."""
    law = laws()[kind]
    rule = inspect.signature(law.gains).parameters
    numbers = [name for name in rule_settings(law) if isinstance(rule[name].default, float)]
    return frozenset({*design_settings(law), *numbers} - {INTEGRAL, *UNKNOWNS})


@cache
def _required(kind: str) -> tuple[str, ...]:
    """Keywords of a law's constructor without a default."""
    law = laws()[kind]
    parameters = inspect.signature(law).parameters
    empty = inspect.Parameter.empty
    return tuple(name for name in keywords(law) if name in parameters and parameters[name].default is empty)
