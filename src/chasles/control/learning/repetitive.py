"""Repetitive control: feed-forward torques of a periodic motion, learned inside the loop, harmonic by harmonic."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.findings import Rule
from chasles.control.controller import Controller
from chasles.control.floating_base import deviation
from chasles.control.learning.iterative import LearningError
from chasles.control.learning.lifted_loop import lifted_loop
from chasles.control.linear_law import Velocity
from chasles.control.loop_margins import loop_margins
from chasles.control.now import Now
from chasles.control.python_law import as_controller
from chasles.control.robot_controller import RobotController
from chasles.engine.program.scalar import Array
from chasles.engine.validators import POSITIVE, Bound, real, reals, whole_number
from chasles.robot.robot import Robot
from chasles.trajectories import JointTrajectory
from chasles.trajectories.joint.closed import on_manifold

Floats = NDArray[np.float64]
Complex = NDArray[np.complex128]

_PLACES = 24  # of a lap, over which the loop's responses are averaged

#: The refusal where the loop with its harmonics is unstable along the repeated motion.
UNSTABLE_LAPS = Rule(
    "repetitive-loop-unstable", 0.0, "errors decay if all Floquet multipliers are inside of the unit circle",
    "on {plant} errors of the loop with {harmonics} harmonics grow at {value:.3g} 1/s along the repeated motion",
    "refusal",
)  # fmt: skip


class RepetitiveTorque(RobotController):
    """tau = inner law + Σ Re s_h, s_h[k+1] = exp(i θ_h) (s_h[k] + ε Γ_h e[k]), θ_h = 2π h period / lap.

    For motions that repeat themselves. Each s_h is an oscillator at a harmonic of the lap, h = 0, 1, … `harmonics`,
    that the errors e drive until that harmonic has left them. Γ_h is the inverse of the mean response of the loop's
    positions to torques, so that harmonics of the error decay by about exp(-t / learning_time) where the model is
    right and that response is the same all along the lap. Where it changes, as inertia does in large motions, errors
    decay slower or grow; `growth` is the rate along the lap. Payload, friction and model errors are learned as the
    motion goes on.

    The constructor computes the growth of errors along the repeated motion, for the model and each of `plants`, with
    the oscillators in the loop, and refuses a loop in which they grow.

    Source: Messner and Bodson, "Design of adaptive feedforward algorithms using internal model equivalence", Int. J.
    Adaptive Control and Signal Processing 9(2), 1995; Francis and Wonham, "The internal model principle of control
    theory", Automatica 12(5), 1976.

    Parameters
    ----------
    robot
        Model of the robot.
    inner
        Traceable law for joint motions; its gains are ``inner.kp``, ….
    motion
        Planned motion, one lap or more.
    period
        Sample period, s, for which the law is designed.
    lap
        Duration of a lap, s; default the motion's.
    harmonics
        Number of harmonics besides the mean.
    learning_time
        Time in which errors fall to 37 %, s, for a response that is the same all along the lap; not much shorter than a
        lap. The default is two laps.
    delay, velocity
        See `chasles.control.loop_margins`.
    plants
        Further robots on which the loop must be stable.
    learned
        Oscillators at the start, (harmonics + 1, 2, n): those of an earlier run at the end of a lap, from its memory.
        Default zeros, with nothing learned.

    Attributes
    ----------
    growth
        Largest growth rate of errors along the repeated motion, 1/s: negative.

    Raises
    ------
    LearningError
        Errors grow along the repeated motion, on the robot that the message names.

    Examples
    --------
    >>> import chasles as ch
    >>> arm, feedback = ch.load("planar2r"), ch.ComputedTorque(ch.load("planar2r"), kp=400.0, kd=40.0)
    >>> lap = ch.CubicSpline([0.0, 0.5, 1.0], [[0.0, 0.0], [0.5, 0.3], [0.0, 0.0]])
    >>> law = RepetitiveTorque(arm, feedback, lap, period=0.01, harmonics=4, plants=[arm.with_payload(0.5)])
    >>> law.growth < 0.0
    True
    """

    inner: Controller
    learning_time: Array
    bounds: Mapping[str, Bound] = {"learning_time": POSITIVE}

    def __init__(
        self,
        robot: Robot,
        inner: Controller | Callable[..., Any],
        motion: JointTrajectory,
        *,
        period: float,
        lap: float | None = None,
        harmonics: int = 8,
        learning_time: float | None = None,
        delay: float = 0.0,
        velocity: Velocity = "measured",
        plants: Sequence[Robot] = (),
        learned: ArrayLike | None = None,
    ) -> None:
        law = as_controller(inner)
        h = real(period, "period", above=0.0)
        lasts = float(motion.duration) if lap is None else real(lap, "lap", above=h)
        count = whole_number(harmonics, "harmonics", 0, int(0.5 * lasts / h))
        slow = real(2.0 * lasts if learning_time is None else learning_time, "learning_time", above=0.0)
        shape = (count + 1, 2, robot.n)  # real and imaginary parts
        oscillators = np.zeros(shape) if learned is None else reals(learned, "learned", shape)
        super().__init__(robot, {"learning_time": np.array(slow)}, {"oscillators": oscillators, "inner": law.memory})
        self.inner, self.lap, self.period = law, lasts, h
        self.name = f"{law.name} + repetitive torque"
        times = float(motion.start_time) + h * np.arange(max(3, round(lasts / h) + 1), dtype=np.float64)
        planned = on_manifold(robot, motion)(times)
        loop = lifted_loop(robot, law, times, planned, period=h, delay=delay, velocity=velocity)
        self._angles = 2.0 * np.pi * np.arange(count + 1) * h / lasts
        self._inverses = np.linalg.inv(mean_responses(loop.A[1:], loop.B[1:], self._angles))
        self.growth = -np.inf
        for number, plant in enumerate((robot, *plants)):
            growth = loop_margins(plant, self, motion, period=h, delay=delay, velocity=velocity, places=1).growth
            self.growth = max(self.growth, growth)
            if not growth < 0.0:
                name = f"plant {number - 1} ('{plant.name}')" if number else "the model"
                facts = {"plant": name, "harmonics": count, "advice": "raise learning_time or lower harmonics"}
                raise LearningError(*UNSTABLE_LAPS.told(growth, **facts))

    def law(self, now: Now) -> Any:
        """Return the inner law's torques and the oscillators' sum; the oscillators then turn by one period."""
        memory = now.memory
        error = -deviation(self.robot, now.q, now.reference)
        tau = self.inner.law(now.of("inner")) + memory.oscillators[:, 0].sum(axis=0)
        rows = []
        for (x, y), angle, inverse in zip(memory.oscillators, self._angles, self._inverses, strict=True):
            step = (2.0 if angle else 1.0) * now.period / self.learning_time
            x, y = x + step * (inverse.real @ error), y + step * (inverse.imag @ error)
            c, s = np.cos(angle), np.sin(angle)
            rows.append([c * x - s * y, s * x + c * y])
        memory.oscillators = np.array(rows)
        return tau

    def period_warning(self, period: float) -> str | None:
        """Return a warning if the period is not that of the design."""
        if abs(period - self.period) > 1e-9 * self.period:
            return f"the harmonics are those of a period of {self.period:g} s, and the period is {period:g} s"
        return super().period_warning(period)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.inner!r}, harmonics={len(self._angles) - 1}, lap={self.lap:g})"


def mean_responses(A: Floats, B: Floats, angles: ArrayLike) -> Complex:
    """Return the response (h, n, n) of positions to torques at angles (h,) on the unit circle, averaged over a loop."""
    chosen = np.unique(np.linspace(0, len(A) - 1, _PLACES).round().astype(np.intp))
    z = np.exp(1j * np.asarray(angles))[:, None, None, None]
    inputs = np.broadcast_to(B[chosen], (len(z), *B[chosen].shape))
    states = np.linalg.solve(z * np.eye(A.shape[-1]) - A[chosen], inputs)
    return np.asarray(states[:, :, : B.shape[-1]].mean(axis=1))
