"""ROBOOP's robots (robot.h): `Robot` (standard Denavit-Hartenberg), `mRobot` (modified) and `mRobot_min_para`."""

from __future__ import annotations

import numpy as np

from chasles.arguments import real
from chasles.interop.roboop.robot import Robot_basic


class Robot(Robot_basic):
    """A serial robot with standard Denavit-Hartenberg parameters.

    Examples
    --------
    The RR robot of ROBOOP's demo, two links of 1 m (section 5.13.2.4 of the manual):

    >>> rods = np.zeros((2, 23))
    >>> rods[:, 3], rods[:, 8], rods[:, 9] = 1.0, [2.0, 1.0], -0.5
    >>> rods[:, 15] = rods[:, 17] = [0.1666666, 0.0833333]
    >>> rr = Robot(rods)
    >>> rr.set_q([np.pi / 4, np.pi / 4])
    >>> rr.kine()[:3, 3].round(4)
    array([0.7071, 1.7071, 0.    ])
    >>> rr.inertia([0.0, 0.0]).round(4)
    array([[3.    , 0.8333],
           [0.8333, 0.3333]])
    """


class mRobot(Robot_basic):
    """A serial robot with modified Denavit-Hartenberg parameters (Craig's); see `Robot_basic`."""

    _standard = False


class mRobot_min_para(Robot_basic):
    """A serial robot with modified Denavit-Hartenberg parameters and minimal inertial parameters; see `Robot_basic`."""

    _standard = False
    _minimal = True


def perturb_robot(robot: Robot_basic, f: float = 0.1, *, seed: int | None = None) -> None:
    """Multiply Im, B, Cf, mass and inertia of every link by factors ``1 + f u``, u drawn from -1 to 1.

    The robot is changed. ROBOOP draws by the clock; `seed` makes the factors repeatable.

    Examples
    --------
    >>> robot = Robot(2)
    >>> perturb_robot(robot, 0.1, seed=0)
    >>> bool(0.9 < robot.links[0].get_m() < 1.1)
    True
    """
    largest = real(f, "f", at_least=0.0, at_most=1.0)
    rng = np.random.default_rng(seed)
    for link in robot.links:
        Im, B, Cf, mass, inertia = 1.0 + largest * rng.uniform(-1.0, 1.0, 5)
        link.set_Im(link.get_Im() * Im)
        link.set_B(link.get_B() * B)
        link.set_Cf(link.get_Cf() * Cf)
        link.set_m(link.get_m() * mass)
        link.set_I(link.get_I() * inertia)
