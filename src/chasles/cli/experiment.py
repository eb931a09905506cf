"""The experiment of `chasles simulate` and `chasles demo`: a robot moves from its home to a goal under a law."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from chasles.robot.robot import Robot
from chasles.simulation.plant import Plant
from chasles.simulation.preparation import Setup
from chasles.studies.choices import motion_through
from chasles.studies.controllers import check_settings, make_controller


def experiment(
    model: Robot,
    plant: Robot | Plant,
    goal: ArrayLike,
    duration: float,
    *,
    through: Sequence[ArrayLike] = (),
    times: Sequence[float] = (),
    start: ArrayLike | None = None,
    supports: Sequence[str] = (),
    kind: str = "computed-torque",
    settings: Mapping[str, Any] | None = None,
    period: float = 1e-3,
) -> Setup:
    """Set up a motion from a start to a goal, under a law chosen as in studies, whose model may be wrong.

    Parameters
    ----------
    model
        Robot model of the law.
    plant
        Simulated robot.
    goal, duration
        Joint positions at the end, (nq,), and the time of the motion, s.
    through, times
        Intermediate joint positions, and the times at which they are passed, s.
    start
        Joint positions at the start; default home.
    supports
        Frames on which a robot with a free base stands.
    kind, settings
        Kind of law and its settings, see `chasles.studies.kinds`; gains that are missing follow from a rule.
    period
        Sample period, s.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> setup = experiment(arm, arm.with_payload(1.0), [0.5, 0.2], 1.0, settings={"frequency": 10.0})
    >>> setup.law.kp.round(1)  # 10² rad²/s², less what the sample period takes
    array([99., 99.])
    """
    first = model.home if start is None else start
    motion = motion_through([0.0, *times, duration], [first, *through, goal])
    checked = check_settings(kind, settings or {})
    law = make_controller(kind, checked, model, motion, period, supports=supports)
    return Setup(plant, law, motion, period=period)
