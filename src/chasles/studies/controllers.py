"""Controllers of a study by the names of their kinds, with gains by a rule or as given."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.control.controller import Controller
from chasles.control.knowledge import Knowledge
from chasles.control.laws import laws
from chasles.control.laws import settings_of as settings_of_law
from chasles.control.preview import Previewed
from chasles.control.python_law import as_controller
from chasles.control.robot_controller import design_settings, has_rule, keywords, rule_settings
from chasles.control.velocity_estimates import DifferencedVelocity, KalmanVelocity, MomentumVelocity
from chasles.engine.validators import choice, reals, truth
from chasles.robot.robot import Robot
from chasles.simulation.plant import ElasticJoints
from chasles.studies.attained import Attained, attained
from chasles.studies.checks import number, shortened
from chasles.studies.settings import KNOBS, VELOCITIES
from chasles.trajectories import JointTrajectory

Settings = Mapping[str, Any]
#: Setting of kinds that can have integral action.
INTEGRAL = "integral"
#: Setting of kinds that can design for the delay.
KNOWS_DELAY = "knows_delay"
#: Setting of kinds whose gains can be as fast as a margin allows.
MARGIN = "margin"
#: Setting of kinds that compensate planned torques without a preview of their own.
PREVIEW = "preview"
#: Settings of all kinds that read velocities: their source, and the time constant of its estimate in sample periods.
VELOCITY, VELOCITY_FILTER = "velocity", "velocity_filter"
ESTIMATED_OVER = 2.0  # sample periods, the time constant of an estimate that does not state another
_WRAPPING = (PREVIEW, VELOCITY, VELOCITY_FILTER)
_SPRINGS = ("stiffness", "rotor_inertia")
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
    """Return the names of a controller kind's settings: those of its tuning rule, its own, and those of what wraps it.

    Examples
    --------
    >>> settings_of("pd-gravity")[:5]
    ('frequency', 'damping', 'damping_times_period', 'margin', 'cap')
    """
    law = laws()[kind]
    aware = (KNOWS_DELAY,) if "delay" in keywords(law) else ()
    preview = (PREVIEW,) if can_preview(kind) else ()
    velocity = (VELOCITY, VELOCITY_FILTER) if law.reads_velocity else ()
    return (*settings_of_law(law), *aware, *preview, *velocity)


def given_to(kind: str) -> tuple[str, ...]:
    """Return what a kind is given, as texts.

    Returns
    -------
    tuple
        Part of the model, when it is used, what the law learns, where its first estimates come from, whether it can
        design for the delay, what it sees of the planned motion ahead, and where its velocity comes from; "–" for none.

    Examples
    --------
    >>> given_to("time-varying-regulator")
    ('full dynamics', 'before the motion', '–', '–', 'can know', 'all of it', 'factor')
    """
    law = laws()[kind]
    ahead = "all of it" if law.schedule is not Controller.schedule else "a period with `preview`"
    return (
        law.knows.model,
        "–" if law.knows.model == "nothing" else "before the motion" if law.knows.beforehand else "at each call",
        law.knows.learns or "–",
        law.knows.first_values or "–",
        "can know" if "delay" in keywords(law) else "–",
        ahead if ahead.startswith("all") or can_preview(kind) else "–",
        "factor" if law.reads_velocity else "own filter",
    )


def can_preview(kind: str) -> bool:
    """Whether a kind compensates the torques of a planned joint motion, and has no preview by itself.

    Laws that learn take what is added to their torques for a disturbance.

    Examples
    --------
    >>> [can_preview(kind) for kind in ("computed-torque", "pid", "time-varying-regulator", "operational-space")]
    [True, False, False, False]
    """
    law = laws()[kind]
    has_own = law.schedule is not Controller.schedule
    follows_frames = law.reference_kind != "joint" or "targets" in keywords(law)
    return law.knows.model == Knowledge().model and not (has_own or follows_frames or law.knows.learns)


def check_settings(kind: str, settings: Any) -> dict[str, Any]:
    """Settings as plain numbers, texts and tuples; errors name the setting and what exists."""
    if not isinstance(settings, Mapping):
        raise ArgumentError(f"settings must be names and values, not {shortened(settings)}")
    allowed = settings_of(kind)
    checked: dict[str, Any] = {}
    for name, value in settings.items():
        if name not in allowed:
            raise UnknownNameError("setting", str(name), allowed, of=f"controller '{kind}'")
        if name in (INTEGRAL, *laws()[kind].uncertainties):
            checked[name] = number(value, name)
        elif name in _positive_settings(kind):
            checked[name] = number(value, name, above=0.0)
        elif name in (KNOWS_DELAY, PREVIEW):
            checked[name] = truth(value, name)
        elif name in (VELOCITY, VELOCITY_FILTER):
            checked |= check_velocity({name: value})
        else:
            checked[name] = _plain_setting(name, value)
    return checked


def check_velocity(settings: Any) -> dict[str, Any]:
    """Return the settings of a velocity's source, checked."""
    checked = dict(settings)
    if VELOCITY in checked:
        choice(checked[VELOCITY], "source of velocities", VELOCITIES)
    if VELOCITY_FILTER in checked:
        checked[VELOCITY_FILTER] = number(checked[VELOCITY_FILTER], VELOCITY_FILTER, above=0.0)
    return checked


def reads_velocity(kind: str | Callable[..., Any]) -> bool:
    """Whether a law reads the velocity that it is called with."""
    return callable(kind) or laws()[kind].reads_velocity


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
    elastic_joints: ElasticJoints | None = None,
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
        `RobotController.tuned`. ``preview = true`` wraps the law with `chasles.control.Previewed`. ``velocity`` is the
        source of its velocities, a name of `chasles.studies.settings.VELOCITIES`, and ``velocity_filter`` the time
        constant of their estimate in sample periods.
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
    elastic_joints
        Springs and rotors that laws of elastic joints know, where their settings do not state them.

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
    law_settings = {name: value for name, value in settings.items() if name not in _WRAPPING}
    if elastic_joints is not None and not callable(kind) and laws()[kind].measures_motors:
        law_settings = {name: elastic_joints.parameters[name] for name in _SPRINGS} | law_settings
    controller = _plain_controller(kind, law_settings, model, motion, period, delay, supports)
    if settings.get(PREVIEW, False):
        controller = Previewed(model, controller)
    return with_velocity(
        controller, model, period, settings.get(VELOCITY, "measured"), settings.get(VELOCITY_FILTER, ESTIMATED_OVER)
    )


def with_velocity(
    controller: Controller, model: Robot, period: float, source: str, filter_periods: float = ESTIMATED_OVER
) -> Controller:
    """Return a controller that gets its velocities from a source, a name of `VELOCITIES`.

    Parameters
    ----------
    controller, model, period
        Law, its model, and sample period, s.
    source
        Name of the source.
    filter_periods
        Time constant of the estimate, in sample periods; plain differences have none.
    """
    if source == "measured" or not getattr(controller, "reads_velocity", True):
        return controller
    time = filter_periods * period
    if source in ("kalman", "momentum"):
        estimate = KalmanVelocity if source == "kalman" else MomentumVelocity
        return estimate(model, controller, bandwidth=1.0 / time)
    return DifferencedVelocity(model, controller, filter_time=time if source == "filtered" else 0.0)


def _plain_controller(
    kind: str | Callable[..., Any],
    settings: Settings,
    model: Robot,
    motion: JointTrajectory,
    period: float,
    delay: float,
    supports: Sequence[str],
) -> Controller:
    """Make a controller for velocities as they come; see `make_controller`."""
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
    """Settings that a search may change: integral action and filters of velocities only where there are any.

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
    if law.reads_velocity and settings.get(VELOCITY, "measured") in ("filtered", "kalman", "momentum"):
        tunable.append(VELOCITY_FILTER)
    return tuple(name for name in tunable if name != INTEGRAL or has_integral)


def attained_poles(
    kind: str | Callable[..., Any],
    settings: Settings,
    model: Robot,
    motion: JointTrajectory,
    period: float,
) -> Attained | None:
    """Return the poles that a controller is designed for; None for gains that are given.

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
    return attained(law, law.design(model, motion, period, settings))


@cache
def _positive_settings(kind: str) -> frozenset[str]:
    """Settings of poles and rules that are positive numbers."""
    law = laws()[kind]
    rule = inspect.signature(law.gains).parameters
    numbers = [name for name in rule_settings(law) if isinstance(rule[name].default, float)]
    return frozenset({*design_settings(law), *numbers} - {INTEGRAL, *law.uncertainties})


@cache
def _required(kind: str) -> tuple[str, ...]:
    """Keywords of a law's constructor without a default."""
    law = laws()[kind]
    parameters = inspect.signature(law).parameters
    empty = inspect.Parameter.empty
    return tuple(name for name in keywords(law) if name in parameters and parameters[name].default is empty)
