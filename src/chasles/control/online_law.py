"""A law that follows a motion outside of simulations: called sample by sample, by a robot's driver or a loop."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.control.controller import Controller
from chasles.control.now import PlannedMotion
from chasles.engine import Layout, Record
from chasles.engine.program.records import Memory
from chasles.engine.validators import real
from chasles.trajectories import JointTrajectory
from chasles.trajectories.joint.closed import on_manifold


class OnlineLaw:
    """Any law along a planned motion, for a robot's driver or a loop of your own: ``tau = online(t, q, qd)``.

    The schedule of the law, such as Mazure's nominal torques and gains, is computed once, for calls a period apart from
    the start of the motion to its end. Each call takes the row nearest to its time and the reference at its time;
    beyond the ends of the motion the first or last row holds. The memory of the law is kept from call to call.

    Parameters
    ----------
    law
        Controller; it does not change.
    motion
        The planned motion.
    period
        Time between two calls, s.

    Attributes
    ----------
    memory
        Memory after the last call, a `chasles.engine.Record`.

    Examples
    --------
    >>> import chasles as ch
    >>> arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=1.0)
    >>> online = OnlineLaw(ch.control.TimeVaryingRegulator(arm), motion, period=0.01)
    >>> tau = online(0.0, [0.0, 0.0], [0.0, 0.0])
    >>> np.allclose(tau, arm.inverse_dynamics(*motion([0.0, 0.01])).mean(axis=0))  # on the motion: the nominal torques
    True
    """

    def __init__(self, law: Controller, motion: JointTrajectory | PlannedMotion, *, period: float) -> None:
        if law.batch:
            raise ArgumentError(f"controller '{law.name}' has torques of a batch of runs; give it those of one")
        self.law, self.period = law, real(period, "period", above=0.0)
        in_joints = isinstance(motion, JointTrajectory)
        self.motion = motion if law.robot is None or not in_joints else on_manifold(law.robot, motion)
        self._start = float(motion.start_time)
        self._last = max(1, math.ceil(motion.duration / self.period - 1e-9))
        times = self._start + self.period * np.arange(self._last + 1, dtype=np.float64)
        rows: Memory = law.schedule(times, self.motion(times)) if law.has_schedule else {}
        self._row = Layout.of({"row": rows}).rows()
        self._schedule = self._row.join({"row": rows})
        self.reset()

    def reset(self) -> None:
        """Return to the initial memory, for another run of the same motion."""
        self.memory: Record = Record(self.law.memory)

    def __call__(
        self,
        t: float,
        q: ArrayLike,
        qd: ArrayLike,
        *,
        measured_wrench: ArrayLike | None = None,
        motors: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> NDArray[np.float64]:
        """Return the torques (n,) until the next call.

        Parameters
        ----------
        t
            Time on the clock of the motion, s.
        q, qd
            Measured positions (n,) and velocities (n,).
        measured_wrench, motors
            See `Controller.evaluate`.

        Raises
        ------
        ArgumentError
            A value has a wrong shape or is not finite; the memory then stays as it was.
        """
        time = real(t, "t")
        row = min(max(round((time - self._start) / self.period), 0), self._last)
        command = self.law.evaluate(
            q,
            qd,
            self.motion,
            t=time,
            memory=self.memory,
            period=self.period,
            schedule=self._row.split(self._schedule[row]).row if self.law.has_schedule else None,
            measured_wrench=measured_wrench,
            motors=motors,
        )
        self.memory = command.memory
        return command.tau

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.law!r}, {self.motion!r}, period={self.period:g})"
