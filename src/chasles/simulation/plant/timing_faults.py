"""Timing faults of a control computer and its bus: torques that come late by chance, or not at all."""

from __future__ import annotations

from collections.abc import Mapping

from numpy.typing import ArrayLike

from chasles.engine.validators import NOT_NEGATIVE, Bound, reals
from chasles.simulation.plant.effect import Effect
from chasles.simulation.plant.sensors import checked_seeds


class TimingFaults(Effect):
    """Jitter and lost samples between a control law and the drives.

    The torques of a call act after the plant's ``delay`` and a further time, uniformly distributed from 0 to `jitter`,
    independent between calls. With the probability `lost`, independent between calls, they do not arrive, and the
    drives hold the last ones that did; those of the first call always arrive. The law is called every period all the
    same, and does not know of either fault. Integrators with error-controlled steps restart where a torque arrives.

    Parameters
    ----------
    jitter
        Largest further delay, s. Torques must arrive in order, one in a period: ``delay`` and `jitter` together end in
        the period in which the delay ends.
    lost
        Probability that the torques of a call are lost, from 0 to 1.
    seed
        Seed of the draws, an integer. Equal seeds give equal faults. All runs of a batch have the same draws unless the
        seed is varied: ``vary={"timing.seed": range(100)}``.

    Examples
    --------
    >>> import chasles as ch
    >>> arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=1.0)
    >>> plant = ch.Plant(arm, timing=ch.TimingFaults(jitter=0.002, lost=0.05))
    >>> law = ch.ComputedTorque(arm, kp=400.0, kd=40.0)
    >>> run = ch.simulate(plant, law, motion, period=0.005, vary={"timing.lost": [0.0, 0.3]})
    >>> errors = abs(run.error).max(["time", "joint"]).values
    >>> bool(errors[0] < errors[1])
    True
    """

    bounds: Mapping[str, Bound] = {"jitter": NOT_NEGATIVE, "lost": Bound(at_least=0.0, at_most=1.0)}

    def __init__(self, *, jitter: ArrayLike = 0.0, lost: ArrayLike = 0.0, seed: int = 0) -> None:
        super().__init__("timing", {"jitter": reals(jitter, "jitter", ()), "lost": reals(lost, "lost", ())})
        self.seed = int(checked_seeds(seed, "timing faults"))
