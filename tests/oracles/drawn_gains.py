"""Arms with stiff friction under computed torque with drawn gains and periods: coarse runs beside much finer ones."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tests.oracles.example_robots import example
from tests.oracles.ur5e import ur5e

import chasles as ch
from chasles.model.consistency import nearest_consistent

_FILES = {
    "xarm7": "xarm_description/urdf/xarm7.urdf",
    "kinova": "kinova_description/robots/kinova.urdf",
    "so101": "so_arm_description/urdf/so101.urdf",
}
ARMS = ("xarm6", "xarm7", "ur5e", "kinova", "so101")
#: Error tolerances of the finer runs.
_TIGHT = ch.integrators.Within("rodas5p", rtol=1e-8, atol=1e-10)


class Drawn(NamedTuple):
    """Pairs of runs that differ in the length of their steps alone, (runs,).

    Attributes
    ----------
    period
        Sample period, s.
    coarse, fine
        Whether the runs with default steps and those with fine ones diverge.
    apart
        Largest difference of their joint positions, rad; NaN where one of them diverges.
    fastest
        Largest joint speed of the fine runs, rad/s.
    """

    period: NDArray[np.float64]
    coarse: NDArray[np.bool_]
    fine: NDArray[np.bool_]
    apart: NDArray[np.float64]
    fastest: NDArray[np.float64]


def arm(name: str) -> ch.Robot:
    """One of `ARMS`; the inertias of the xArm6 that no body has are the nearest possible, and a little larger."""
    if name == "ur5e":
        return ur5e()
    if name != "xarm6":
        return ch.load(example(_FILES[name]), check=False)
    sound = nearest_consistent(ch.load("xarm6").description)
    links = [
        link.replace(inertia=link.inertia.replace(matrix=link.inertia.matrix + 1e-9 * np.eye(3)))
        for link in sound.links
    ]
    return ch.Robot(sound.replace(links=tuple(links)))


def with_friction(robot: ch.Robot, viscous: float, coulomb: float, velocity: float) -> ch.Robot:
    """The robot with friction that is at least as strong as these in every joint."""
    joints = tuple(
        joint.replace(
            viscous_friction=max(joint.viscous_friction, viscous),
            coulomb_friction=max(joint.coulomb_friction, coulomb),
            coulomb_velocity=velocity,
        )
        if joint.moves
        else joint
        for joint in robot.description.joints
    )
    return ch.Robot(robot.description.replace(joints=joints))


def without_friction(robot: ch.Robot) -> ch.Robot:
    joints = (joint.replace(viscous_friction=0.0, coulomb_friction=0.0) for joint in robot.description.joints)
    return ch.Robot(robot.description.replace(joints=tuple(joints)))


def drawn_runs(name: str, velocity: float, periods: int, runs: int, seed: int = 0) -> Drawn:
    """Simulate an arm for 0.2 s under so many periods, and so many gains for each.

    Friction of at least 1 N·m and 1 N·m·s/rad is smooth below a velocity, or with 0 sticks. There are no effort limits:
    gains that are too high for a period do diverge, in both runs of a pair.
    """
    rng = np.random.default_rng([len(name), int(velocity == 0.0), seed])
    robot = arm(name)
    plant, model = with_friction(robot, 1.0, 1.0, velocity), without_friction(robot)
    motion = ch.PointToPoint(robot.home, robot.home + 0.3, 0.2)
    law = ch.ComputedTorque(model, kp=1.0, kd=1.0)
    parts = []
    for _ in range(periods):
        period = float(np.exp(rng.uniform(np.log(1e-3), np.log(1e-2))))
        frequency = np.exp(rng.uniform(np.log(2.0), np.log(1.5 / period), (runs, 1))) * np.ones(robot.n)
        damping = rng.uniform(0.2, 2.0, (runs, 1))
        gains = {"controller.kp": frequency**2, "controller.kd": 2.0 * damping * frequency}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pair = [
                ch.simulate(
                    ch.Plant(plant, effort_limits=False),
                    law,
                    motion,
                    period=period,
                    vary=gains,
                    progress=False,
                    integrator=integrator,
                )
                for integrator in ("automatic", _TIGHT)
            ]
        if pair[0].attrs["integrator"] != "rodas5p":
            raise AssertionError(f"{name}: the default is {pair[0].attrs['integrator']}")
        coarse, fine = (np.isfinite(run.diverged_at.values) for run in pair)
        apart = np.abs(pair[0].q.values - pair[1].q.values).max(axis=(1, 2))
        fastest = np.abs(pair[1].qd.values).max(axis=(1, 2))
        parts.append(Drawn(np.full(runs, period), coarse, fine, np.where(coarse | fine, np.nan, apart), fastest))
    return Drawn(*map(np.concatenate, zip(*parts, strict=True)))
