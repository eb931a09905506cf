"""Controllers of a study by the names of their kinds, with gains by a rule or as given."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Any

import numpy as np

from chasles import control
from chasles.arguments import reals, truth
from chasles.control.cartesian_controller import TaskOptions
from chasles.control.controller import Controller
from chasles.control.python_law import as_controller
from chasles.control.robot_controller import RobotController
from chasles.errors import ArgumentError, UnknownNameError
from chasles.inverse_kinematics import FrameTask, PostureTask
from chasles.robot import Robot
from chasles.studies import gains
from chasles.studies.checks import number, shortened
from chasles.trajectories import JointTrajectory
from chasles.trajectories.motion import Motion

Settings = Mapping[str, Any]

#: Settings of the rule that gives every kind the same bandwidth.
BANDWIDTH = ("frequency", "damping", "damping_times_period")
#: Setting of that rule for kinds that can have integral action.
INTEGRAL = "integral"
#: Setting of kinds that can design for the delay.
KNOWS_DELAY = "knows_delay"
_PID_INTEGRAL = 0.25  # default of the integral of PID
#: Further settings of the rules of single kinds.
FURTHER = {
    "disturbance-observer": ("observer",),
    "linear-quadratic-gaussian": ("disturbance",),
    "lee-chung": ("reaching",),
    "slotine-li": ("learning",),
    "composite-adaptive": ("learning",),
    "model-reference-adaptive": ("learning",),
    "natural-adaptive": ("learning",),
}
_NOT_SETTINGS = ("robot", "period", "delay", "supports")


def _observed_computed_torque(
    robot: Robot, *, kp: float, kd: float, bandwidth: float, compensation: Any = 1.0
) -> control.DisturbanceObserver:
    """Computed torque whose disturbance is observed and compensated."""
    inner = control.ComputedTorque(robot, kp=kp, kd=kd)
    return control.DisturbanceObserver(inner, bandwidth=bandwidth, compensation=compensation)


def _whole_body_torque(
    robot: Robot, *, gain: float, targets: Sequence[str] | str = "tool", posture_cost: float = 0.1,
    supports: Sequence[str] = (),
) -> control.WholeBodyTorque:  # fmt: skip
    """Whole-body torques for frames and a posture that follow the motion, on supports that stay where they are."""
    names = (targets,) if isinstance(targets, str) else tuple(targets)
    contacts = [control.Contact(name) for name in supports]

    def plan(t: float, reference: Motion) -> control.Stance:
        goals = [(robot.forward_kinematics(reference.q, target=name), name) for name in names]
        tasks = [FrameTask(T, name, gain=gain) for T, name in goals]
        return control.Stance([*tasks, PostureTask(reference.q, cost=posture_cost, gain=gain)], contacts, reference)

    return control.WholeBodyTorque(robot, plan)


#: Kind, name of its class in `chasles.control` or function that makes it, and the rule for its gains.
_KINDS: dict[str, tuple[str | Callable[..., Any], gains.Rule | None]] = {
    "pd": ("PD", gains.stiffness),
    "pd-gravity": ("PDGravity", gains.stiffness),
    "pid": ("PID", gains.stiffness_with_integral),
    "computed-torque": ("ComputedTorque", gains.error_equation),
    "disturbance-observer": (_observed_computed_torque, gains.observed_error_equation),
    "nominal-torque": ("NominalTorque", None),
    "time-varying-regulator": ("TimeVaryingRegulator", gains.quadratic_weights),
    "gain-scheduled-regulator": ("GainScheduledRegulator", gains.quadratic_weights_at_each_sample),
    "linear-quadratic-regulator": ("LinearQuadraticRegulator", gains.quadratic_weights_midway),
    "linear-quadratic-gaussian": ("LinearQuadraticGaussian", gains.quadratic_weights_and_noise),
    "lee-chung": ("LeeChung", gains.perturbation_weights),
    "slotine-li": ("SlotineLi", gains.adaptation),
    "composite-adaptive": ("CompositeAdaptive", gains.composite_adaptation),
    "model-reference-adaptive": ("ModelReferenceAdaptive", gains.model_reference),
    "natural-adaptive": ("NaturalAdaptive", gains.natural_adaptation),
    "sliding-mode": ("SlidingMode", gains.sliding),
    "operational-space": ("OperationalSpace", gains.frame_error_equation),
    "resolved-acceleration": ("ResolvedAcceleration", gains.frame_error_equation),
    "impedance": ("Impedance", None),
    "whole-body-torque": (_whole_body_torque, gains.double_pole),
}
KINDS = tuple(_KINDS)


def kinds() -> tuple[str, ...]:
    """Names of the kinds of controllers that a study can compare.

    Examples
    --------
    >>> "computed-torque" in kinds()
    True
    """
    return KINDS


def settings_of(kind: str) -> tuple[str, ...]:
    """Names of the settings of a kind of controller: those of the rule for gains, then its own.

    Examples
    --------
    >>> settings_of("pd-gravity")
    ('frequency', 'damping', 'damping_times_period', 'kp', 'kd')
    """
    aware = (KNOWS_DELAY,) if "delay" in _keywords(kind) else ()
    return (*_rule_settings(kind), *_own_settings(kind), *aware)


def check_settings(kind: str, settings: Any) -> dict[str, Any]:
    """Settings as plain numbers, texts and tuples; errors name the setting and what exists."""
    if not isinstance(settings, Mapping):
        raise ArgumentError(f"settings must be names and values, not {shortened(settings)}")
    known = settings_of(kind)
    checked: dict[str, Any] = {}
    for name, value in settings.items():
        if name not in known:
            raise UnknownNameError(f"setting of a controller of kind '{kind}'", str(name), known)
        if name == INTEGRAL:
            checked[name] = number(value, name)
        elif name in _rule_settings(kind):
            checked[name] = number(value, name, above=0.0)
        elif name == KNOWS_DELAY:
            checked[name] = truth(value, name)
        elif isinstance(value, bool | str):
            checked[name] = value
        elif isinstance(value, list | tuple) and value and all(isinstance(item, str) for item in value):
            checked[name] = tuple(value)
        elif isinstance(value, list | tuple | np.ndarray):
            array = reals(value, f"'{name}'")
            if array.ndim not in (1, 2) or not array.size:
                raise ArgumentError(f"'{name}' must be one or more numbers or rows of numbers, not {shortened(value)}")
            checked[name] = tuple(map(tuple, array.tolist())) if array.ndim == 2 else tuple(array.tolist())
        else:
            checked[name] = number(value, name, at_least=-1e9)
    return checked


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
        share of the stiffness times the frequency, for kinds that can have it.
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

    Examples
    --------
    Two poles at 20 rad/s, sampled so fast that kp is 20² to five digits; at 30 Hz they would be too much:

    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 1.0)
    >>> fast, slow = (
    ...     make_controller("computed-torque", {"frequency": 20.0}, arm, motion, period).parameters["kp"]
    ...     for period in (1e-7, 1 / 30)
    ... )
    >>> fast.round(2), bool((slow < 15.0**2).all())
    (array([400., 400.]), True)
    """
    if callable(kind):
        return as_controller(kind(model, motion, period))
    law = _maker(kind)
    if isinstance(law, type) and issubclass(law, RobotController):
        law.require_motors(model)
    if supports and "supports" not in _keywords(kind):
        able = ", ".join(name for name in KINDS if "supports" in _keywords(name))
        raise ArgumentError(f"a controller of kind '{kind}' knows of no frames that stand on the ground; use {able}")
    rule = _KINDS[kind][1]
    given = {name: value for name, value in settings.items() if name not in (*_rule_settings(kind), KNOWS_DELAY)}
    if rule is not None:
        given = rule(pole_design(kind, settings, model, motion, period)) | given
    if settings.get(KNOWS_DELAY, False):
        given["delay"] = delay
    if "period" in _keywords(kind):
        given["period"] = period
    if supports:
        given["supports"] = tuple(supports)
    missing = [name for name in _required(kind) if name not in given]
    if missing:
        raise ArgumentError(f"a controller of kind '{kind}' needs a value for {', '.join(missing)}")
    made: Controller = law(model, **given)
    return made


def pole_design(kind: str, settings: Settings, model: Robot, motion: JointTrajectory, period: float) -> gains.LawDesign:
    """Return the poles that the settings of a kind ask for."""
    default = {INTEGRAL: _PID_INTEGRAL} if kind == "pid" else {}
    names = [field.name for field in fields(gains.LawDesign) if field.name not in ("model", "motion", "period")]
    return gains.LawDesign(model, motion, period, **(default | {k: settings[k] for k in names if k in settings}))


def follows_rule(kind: str | Callable[..., Any], settings: Settings) -> bool:
    """Whether the gains of a controller follow from poles, rather than being given."""
    return not (callable(kind) or _KINDS[kind][1] is None or set(settings) & {"kp", "kd", "ki", "Q", "R"})


def knobs(kind: str | Callable[..., Any], settings: Settings) -> tuple[str, ...]:
    """Settings of the rule that a search may change: integral action only where the controller has any.

    Examples
    --------
    >>> knobs("computed-torque", {"integral": 1.0}), knobs("computed-torque", {"kp": 400.0, "kd": 40.0})
    (('frequency', 'damping', 'integral'), ())
    """
    if callable(kind) or not follows_rule(kind, settings):
        return ()
    has_integral = settings.get(INTEGRAL, _PID_INTEGRAL if kind == "pid" else 0.0) > 0.0
    found = [name for name in _rule_settings(kind) if name != "damping_times_period"]
    return tuple(name for name in found if name != INTEGRAL or has_integral)


def attained_poles(
    kind: str | Callable[..., Any],
    settings: Settings,
    model: Robot,
    motion: JointTrajectory,
    period: float,
    delay: float = 0.0,
) -> gains.Attained | None:
    """Return the poles that a controller is designed for, and those of its sampled loop; None for gains that are given.

    Parameters are those of `make_controller`.

    Examples
    --------
    >>> import chasles as ch
    >>> motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 1.0)
    >>> attained_poles("computed-torque", {"frequency": 20.0}, ch.load("planar2r"), motion, 1 / 30).is_lowered
    True
    """
    rule = None if callable(kind) else _KINDS[kind][1]
    if callable(kind) or rule is None or not follows_rule(kind, settings):
        return None
    known = {"delay": delay} if settings.get(KNOWS_DELAY, False) else {}
    noise = {name: settings[name] for name in ("torque_error", "encoder_noise") if name in settings}
    return gains.attained(rule, pole_design(kind, settings, model, motion, period), delay, known | noise)


def _maker(kind: str) -> Callable[..., Any]:
    maker = _KINDS[kind][0]
    found: Callable[..., Any] = getattr(control, maker) if isinstance(maker, str) else maker
    return found


@cache
def _rule_settings(kind: str) -> tuple[str, ...]:
    if _KINDS[kind][1] is None:
        return ()
    integral = (INTEGRAL,) if {"ki", "integral_error"} & set(_keywords(kind)) else ()
    return (*BANDWIDTH, *integral, *FURTHER.get(kind, ()))


@cache
def _own_settings(kind: str) -> tuple[str, ...]:
    return tuple(name for name in _keywords(kind) if name not in _NOT_SETTINGS)


@cache
def _required(kind: str) -> tuple[str, ...]:
    parameters = inspect.signature(_maker(kind)).parameters
    empty = inspect.Parameter.empty
    return tuple(name for name in _keywords(kind) if name in parameters and parameters[name].default is empty)


@cache
def _keywords(kind: str) -> tuple[str, ...]:
    parameters = inspect.signature(_maker(kind)).parameters
    own = tuple(name for name, p in parameters.items() if p.kind is inspect.Parameter.KEYWORD_ONLY)
    moves_a_frame = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    return (*own, *TaskOptions.__annotations__) if moves_a_frame else own
