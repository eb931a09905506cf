"""Switching between two laws without a bump in the torque."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.control.controller import Controller
from chasles.control.now import Now, PlannedMotion
from chasles.control.python_law import as_controller
from chasles.control.robot_controller import RobotController
from chasles.engine import Record, exp, where
from chasles.engine.program.records import Memory
from chasles.engine.validators import real
from chasles.robot.robot import Robot

Floats = NDArray[np.float64]


class Switching(RobotController):
    """The first law, and the second where a condition holds; the torque is continuous at every switch.

    The law that comes in begins with its initial memory. Its integral action is then set so that its torque is the last
    one sent (`Controller.take_over`): a load that the old law held is held by the new one. What is left of the step,
    with laws without integral action all of it, is added to the torque and fades as exp(-t / fade).

    Continuous are the torques that the law asks for: those of a plant that cuts them at its limits may be others, and a
    law with narrower limits than the last torque begins at its limit, unless the step fades. Continuity is not
    stability: laws that are stable each by itself can diverge when they switch again and again, unless they stay long
    enough (Liberzon, Switching in Systems and Control, 2003, chapter 3).

    Source: Åström and Hägglund, PID Controllers: Theory, Design, and Tuning (1995), section 3.6, Bumpless transfer.

    Parameters
    ----------
    robot
        Robot that is moved.
    first, second
        Traceable controllers or functions of the same kind of reference.
    when
        Function of `Now` that returns whether the second law acts, in traceable arithmetic:
        ``lambda now: now.t > 1.0``. It may change any number of times.
    fade
        Time in which a remaining step falls to 37 %, s. Needed for laws that cannot be set.

    Raises
    ------
    ArgumentError
        A law cannot be set and `fade` is not given; or the laws follow different kinds of reference.

    Examples
    --------
    >>> import chasles as ch
    >>> arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [0.0, 0.0], 1.0)
    >>> soft = ch.ComputedTorque(arm, kp=100.0, kd=20.0, ki=200.0)
    >>> stiff = ch.ComputedTorque(arm, kp=400.0, kd=40.0, ki=2000.0)
    >>> law = Switching(arm, soft, stiff, when=lambda now: now.t > 0.5)
    >>> run = ch.simulate(arm.with_payload(1.0), law, motion, period=0.01)
    >>> steps = abs(run.tau.diff("time")).max("joint")
    >>> float(steps.isel(time=50)) < 1e-9  # from the last torque of the soft law to the first of the stiff one
    True
    """

    first: Controller
    second: Controller

    def __init__(
        self,
        robot: Robot,
        first: Controller | Callable[..., Any],
        second: Controller | Callable[..., Any],
        *,
        when: Callable[[Now], Any],
        fade: float | None = None,
    ) -> None:
        laws = self.first, self.second = as_controller(first), as_controller(second)
        self.fade = None if fade is None else real(fade, "fade", above=0.0)
        fixed = [law.name for law in laws if not law.takes_over]
        if fixed and fade is None:
            raise ArgumentError(
                f"controller '{fixed[0]}' cannot be set to the torques of another law, as it has no integral action of "
                "all joints: give it some, or give fade=, the time in s in which the step of the torques fades"
            )
        for name in ("reference_kind", "measured_wrench"):
            if getattr(self.first, name) != getattr(self.second, name):
                raise ArgumentError(f"'{self.first.name}' and '{self.second.name}' differ in their {name}")
        states = {"active": np.zeros(()), "started": np.zeros(()), "last": np.zeros(robot.n), "step": np.zeros(robot.n)}
        super().__init__(robot, {}, {**states, "first": self.first.memory, "second": self.second.memory})
        self.when = when
        self.name = f"{self.first.name}, or {self.second.name}"
        self.reference_kind, self.measured_wrench = self.first.reference_kind, self.first.measured_wrench
        self.follows_reference = all(law.follows_reference for law in laws)
        self.traceable = all(law.traceable for law in laws)

    @property
    def reads_motors(self) -> bool:
        """Whether one of the laws does."""
        return self.first.reads_motors or self.second.reads_motors

    @property
    def has_schedule(self) -> bool:
        """Whether one of the laws needs a schedule."""
        return self.first.has_schedule or self.second.has_schedule

    def schedule(self, times: Floats, motion: PlannedMotion) -> Memory:
        """Return the schedules of the laws that have one."""
        laws = {"first": self.first, "second": self.second}
        return Record({name: law.schedule(times, motion) for name, law in laws.items() if law.has_schedule})

    def law(self, now: Now) -> Any:
        """Return the torques of the law that acts, and what is left of the step to it."""
        memory = now.memory
        active = where(self.when(now), 1.0, 0.0)
        changed = (memory.started > 0.5) & (abs(active - memory.active) > 0.5)
        torques = [
            self._called(name, law, now, active < 0.5 if name == "first" else active > 0.5, changed)
            for name, law in (("first", self.first), ("second", self.second))
        ]
        tau = where(active > 0.5, torques[1], torques[0])
        faded = memory.step * exp(-now.period / self.fade) if self.fade else 0.0 * memory.step
        memory.step = where(changed, memory.last - tau if self.fade else 0.0 * tau, faded)
        memory.active, memory.started = active, 1.0
        memory.last = tau + memory.step
        return memory.last

    def _called(self, name: str, law: Controller, now: Now, acts: Any, changed: Any) -> Any:
        """Torques of a law; its memory begins anew where it comes in, and runs where it acts."""
        layout, kept = law.memory_layout, law.memory_layout.join(now.memory[name])
        inner = replace(now, schedule=now.schedule.get(name) if law.has_schedule else None)
        begin = replace(inner, memory=layout.split(np.array(layout.join(law.memory))))
        if law.takes_over:
            law.take_over(begin, now.memory.last)
        entered = where(changed & acts, layout.join(begin.memory), kept) if layout.size else kept
        call = replace(inner, memory=layout.split(entered))
        tau = np.asarray(law.law(call))
        setattr(now.memory, name, layout.split(where(acts, layout.join(call.memory), kept) if layout.size else kept))
        return tau

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.first!r}, {self.second!r})"
