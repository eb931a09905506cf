"""The experiment of `chasles simulate` and `chasles demo`: a robot moves from its home to a goal under a controller."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from chasles.control import Controller
from chasles.robot.robot import Robot
from chasles.simulation import simulate
from chasles.simulation.plant import Plant
from chasles.studies.choices import motion_through
from chasles.studies.controllers import check_settings, make_controller
from chasles.trajectories import JointTrajectory

if TYPE_CHECKING:
    from chasles.simulation.results import Run


@dataclass(frozen=True)
class Experiment:
    """A motion of a plant under a controller, whose model of the plant may be wrong.

    Attributes
    ----------
    plant
        Robot that is simulated.
    controller, reference
        Control law, and the motion that it follows.
    period
        Sample period, s.
    """

    plant: Robot | Plant
    controller: Controller
    reference: JointTrajectory
    period: float

    @classmethod
    def of(
        cls,
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
    ) -> Experiment:
        """Set up a motion from a start to a goal, with a controller chosen as in studies.

        Parameters
        ----------
        model
            Robot as the controller knows it.
        plant
            Robot as it is.
        goal, duration
            Joint positions at the end, (nq,), and the time of the motion, s.
        through, times
            Joint positions on the way, and the times at which they are passed, s.
        start
            Joint positions at the start; default home.
        supports
            Frames on which a robot with a free base stands.
        kind, settings
            Kind of controller and its settings, see `chasles.studies.kinds`; gains that are missing follow from a rule.
        period
            Sample period, s.

        Examples
        --------
        >>> import chasles as ch
        >>> arm = ch.load("planar2r")
        >>> experiment = Experiment.of(arm, arm.with_payload(1.0), [0.5, 0.2], 1.0, settings={"frequency": 10.0})
        >>> experiment.controller.kp.round(1)  # 10² rad²/s², less what the sample period takes
        array([99., 99.])
        """
        first = model.home if start is None else start
        reference = motion_through([0.0, *times, duration], [first, *through, goal])
        checked = check_settings(kind, settings or {})
        controller = make_controller(kind, checked, model, reference, period, supports=supports)
        return cls(plant, controller, reference, period)

    def simulate(self, **options: Any) -> tuple[Run, float]:
        """Simulate the motion; options are those of `chasles.simulate`. Return the run, and the time it took, s."""
        begin = time.perf_counter()
        run = simulate(self.plant, self.controller, self.reference, period=self.period, **options)
        return run, time.perf_counter() - begin
