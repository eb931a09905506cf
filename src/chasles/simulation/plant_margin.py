"""Disk margin of a law's loop with a plant as it is simulated: its delay, its sensors, its elastic joints."""

from __future__ import annotations

from chasles.control.controller import Controller
from chasles.control.loop_margins import disk_margins
from chasles.simulation.plant.plant import Plant
from chasles.trajectories import JointTrajectory


def least_disk_margin(plant: Plant, law: Controller, motion: JointTrajectory, period: float, places: int) -> float:
    """Return the smallest disk margin at some places of a motion, motors apart.

    Parameters
    ----------
    plant, law, motion, period
        See `chasles.simulate`.
    places
        Number of places at least; see `chasles.control.loop_margins`.

    Examples
    --------
    >>> import chasles as ch
    >>> arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 1.0)
    >>> law = ch.ComputedTorque(arm, kp=400.0, kd=40.0)
    >>> late = ch.Plant(arm, delay=0.02)
    >>> least_disk_margin(late, law, motion, 0.01, 3) < 0.5 * least_disk_margin(ch.Plant(arm), law, motion, 0.01, 3)
    True
    """
    sensors = plant.sensors
    margins = disk_margins(
        plant.robot,
        law,
        motion,
        period=period,
        delay=plant.delay / period,
        velocity="measured" if sensors is None or sensors.velocity == "measured" else "differentiated",
        places=places,
        elastic_joints=plant.elastic_joints,
        side="motor" if sensors is not None and sensors.side == "motor" else "link",
    )
    return float(margins.min())
