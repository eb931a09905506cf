"""Iterative learning control: the torques that one motion needs, learned from the errors of its repetitions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.base.findings import Finding, Rule
from chasles.control.controller import Controller
from chasles.control.delayed_hold import MOST_DELAY
from chasles.control.learning.learned_torque import LearnedTorque
from chasles.control.learning.lifted_loop import LiftedLoop, lifted_loop
from chasles.control.learning.norm_optimal import NormOptimalStep
from chasles.control.linear_law import Velocity
from chasles.engine.validators import POSITIVE, choice, real, reals
from chasles.robot.robot import Robot
from chasles.trajectories import JointTrajectory
from chasles.trajectories.joint.closed import on_manifold

Floats = NDArray[np.float64]

_LOWER, _TRIES = 0.7, 8  # factor and number of lower cutoffs that a refusal tries

#: The refusal where learning can make the torques worse from trial to trial.
MAY_NOT_CONVERGE = Rule(
    "learning-may-not-converge", 1.0,
    "corrections of the torques fall from trial to trial if the norm of Q (1 - L P) is below 1",
    "on {plant} corrections of the torques can change by the factor {value:.3g} from trial to trial, with a cutoff of "
    "{cutoff:.4g} rad/s",
    "refusal",
)  # fmt: skip


class LearningError(ArgumentError):
    """Learning may not converge; the message says on which plant, and what would do.

    Attributes
    ----------
    finding
        The refusal: its facts are ``plant``, ``advice`` and, of `IterativeLearning`, ``cutoff`` and, where one was
        found, ``lower``, at which learning converges, rad/s.
    """

    def __init__(self, finding: Finding) -> None:
        self.finding = finding
        super().__init__(f"{finding}; {finding.facts['advice']}")

    def __reduce__(self) -> tuple[type[LearningError], tuple[Finding]]:
        return type(self), (self.finding,)


class IterativeLearning:
    """Learning of the feed-forward torques of one motion, from trial to trial, beside any feedback law.

    After trial j with the errors e[j] of all calls, the torques that are added to the law's become

        v[j+1] = Q (v[j] + L e[j]).

    L is the norm-optimal inverse of the loop, linearised along the motion with the law's memory, delay and hold; Q is
    a low-pass filter without phase. Whatever comes back in each trial is learned: payloads, friction, model errors. On
    a plant whose loop is P', corrections of the torques fall by the factor ‖Q (1 - L P')‖ or better in each trial.
    `contraction` has it before any trial, for the model and each plant in `plants`, and what may not converge is
    refused. What does not come back is not learned, but disturbs: errors of the norm δ that differ from trial to trial
    leave torques within ‖Q L‖ δ / (1 - ‖Q (1 - L P')‖) of those without them, in norms of W and R and as far as the
    loop is linear.

    Source: Bristow, Tharayil and Alleyne, "A survey of iterative learning control", IEEE Control Systems 26(3), 2006;
    Amann, Owens and Rogers, IEE Proceedings D 143(2), 1996, for L.

    Parameters
    ----------
    robot
        Model of the robot.
    inner
        Traceable feedback law for joint motions, which keeps each trial near the motion.
    motion
        Planned motion; every trial begins at its start.
    period
        Sample period, s.
    cutoff
        Frequency up to which torques are learned, rad/s, below π / period. At the cutoff itself a trial learns the
        share 1 / (1 + torque_weight) of what is missing, and Q halves it.
    delay, velocity
        Delay of the torques, in sample periods, and source of the law's velocities; see `chasles.control.loop_margins`.
    duration
        Duration of a trial, s; default the motion's. Torques of the last moments move the joints little before a trial
        ends, and are learned slowly: a trial that is longer than the motion has them at rest.
    plants
        Further robots on which learning must converge: with payloads, friction, other masses.
    torque_weight
        R, relative to W |P|² at the cutoff; larger values learn less in each trial and bear more model error.
    error_weight
        Diagonal of W, a scalar or one value per joint, 1/rad² (1/m²).

    Attributes
    ----------
    contraction
        Factor by which corrections of the torques fall from trial to trial, at most: of the plant with the largest.
    law
        `LearnedTorque` of the first trial, with nothing learned.

    Raises
    ------
    LearningError
        Corrections can grow from trial to trial on one of the plants. The message says which, and the cutoff that would
        do.

    Examples
    --------
    An arm that does not know of its payload:

    >>> import chasles as ch
    >>> arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 0.5)
    >>> loaded, feedback = arm.with_payload(1.0), ch.ComputedTorque(arm, kp=400.0, kd=40.0)
    >>> learning = IterativeLearning(arm, feedback, motion, period=0.005, cutoff=60.0, plants=[loaded])
    >>> learning.contraction < 1.0  # errors decay from trial to trial
    True
    >>> law, worst = learning.law, []
    >>> for trial in range(6):
    ...     run = ch.simulate(loaded, law, motion, period=0.005)
    ...     law = learning.improved(law, run.error)
    ...     worst.append(float(abs(run.error).max()))
    >>> worst[-1] < 0.02 * worst[0]
    True
    """

    def __init__(
        self,
        robot: Robot,
        inner: Controller,
        motion: JointTrajectory,
        *,
        period: float,
        cutoff: float,
        delay: float = 0.0,
        velocity: Velocity = "measured",
        duration: float | None = None,
        plants: Sequence[Robot] = (),
        torque_weight: float = 1.0,
        error_weight: ArrayLike = 1.0,
    ) -> None:
        if robot.nq != robot.n:
            raise ArgumentError(f"learning needs joints with one coordinate each; robot '{robot.name}' has others")
        self.robot, self.inner = robot, inner
        self.period = real(period, "period", above=0.0)
        late = real(delay, "delay", at_least=0.0, at_most=MOST_DELAY)
        choice(velocity, "velocity", ("differentiated", "measured"))
        ratio = real(torque_weight, "torque_weight", above=0.0)
        weight = reals(error_weight, "error_weight", (robot.n,), broadcast=True, bound=POSITIVE)
        lasts = motion.duration if duration is None else real(duration, "duration", above=0.0)
        calls = math.floor(lasts / self.period + 1e-9) + 1
        self.times: Floats = float(motion.start_time) + self.period * np.arange(calls, dtype=np.float64)
        if calls - 1 - math.floor(late) < 2:
            raise ArgumentError(
                f"a trial of {lasts:g} s is too short to learn from, with a period of {self.period:g} s"
            )
        planned = on_manifold(robot, motion)(self.times)
        loops = [
            lifted_loop(plant, inner, self.times, planned, period=self.period, delay=late, velocity=velocity)
            for plant in (robot, *plants)
        ]
        names = ["the model", *(f"plant {number} ('{plant.name}')" for number, plant in enumerate(plants))]
        step = self._step = self._designed(loops[0], _checked_cutoff(cutoff, self.period), late, weight, ratio)
        factors = [step.contraction(loop) for loop in loops]
        self.contraction = max(factors)
        if not self.contraction < 1.0:
            facts: dict[str, object] = {"plant": names[int(np.argmax(factors))], "cutoff": step.angle / self.period}
            facts["advice"] = "no lower one converges: see loop_margins of the law there"
            for lower in step.angle * _LOWER ** np.arange(1, _TRIES + 1):
                other = self._designed(loops[0], lower / self.period, late, weight, ratio)
                if max(other.contraction(loop) for loop in loops) < 1.0:
                    facts |= {"lower": lower / self.period, "advice": f"cutoff={lower / self.period:.4g} converges"}
                    break
            raise LearningError(*MAY_NOT_CONVERGE.told(self.contraction, **facts))
        self.law = LearnedTorque(robot, inner, times=self.times, torques=np.zeros((calls, robot.n)))

    def improved(self, law: LearnedTorque, error: ArrayLike) -> LearnedTorque:
        """Return the law of the next trial.

        Parameters
        ----------
        law
            Law of this trial: `law` of this object, or what this method returned.
        error
            Reference less measured positions at all calls of the trial, such as ``run.error``, (..., k, n), rad (m);
            rows after the end of the trial are not used. Each run of a batch learns torques of its own.

        Raises
        ------
        ArgumentError
            There are fewer rows than calls, or a value is not finite.
        """
        calls, n = law.torques.shape[-2:]
        errors = reals(error, "error", (..., "k", n))
        if errors.shape[-2] < calls:
            count = errors.shape[-2]
            raise ArgumentError(f"error has {count} rows; a trial has {calls} calls, {self.period:g} s apart")
        batch = np.broadcast_shapes(law.torques.shape[:-2], errors.shape[:-2])
        torques = np.broadcast_to(law.torques, (*batch, calls, n)).copy()
        errors = np.broadcast_to(errors, (*batch, *errors.shape[-2:]))
        for run in np.ndindex(*batch):
            torques[run] = self._following(torques[run], errors[run])
        return LearnedTorque(self.robot, self.inner, times=self.times, torques=torques)

    def _following(self, torques: Floats, errors: Floats) -> Floats:
        """Return the torques (k, n) of the next trial of one run."""
        step = self._step
        v = step.filtered(torques[:-1] + step.learned(errors[1 : len(torques)]))
        acting = len(v) - step.dead
        v[acting:] = v[acting - 1]  # what acts after the motion
        return np.concatenate([v, v[-1:]])

    def _designed(
        self, loop: LiftedLoop, cutoff: float, delay: float, error_weight: Floats, torque_weight: float
    ) -> NormOptimalStep:
        return NormOptimalStep(loop, cutoff * self.period, math.floor(delay), error_weight, torque_weight)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.inner!r}, contraction={self.contraction:.3f})"


def _checked_cutoff(cutoff: float, period: float) -> float:
    """Return a cutoff below half the sample rate, rad/s."""
    value = real(cutoff, "cutoff", above=0.0)
    if not value * period < math.pi:
        raise ArgumentError(f"cutoff is {value:g} rad/s; it must be below π / period = {math.pi / period:.4g} rad/s")
    return value
