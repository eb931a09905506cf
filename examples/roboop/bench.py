"""ROBOOP's program bench: calls per second of a PUMA 560 and of the manual's Stewart platform.

Each line has the calls of ROBOOP's names, which check their arguments and take one state at a time, and where there
is one, the same quantity of the compiled robot under them, for a batch of 1000 states.
"""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np

import chasles as ch
from chasles.interop import roboop as rb

SECONDS = 0.02
STATES = 1000
BASE = [
    [1.758, 2.8, -1.015], [1.6021, 3.07, -0.925], [-1.758, 2.8, -1.015], [-1.6021, 3.07, -0.925], [0.0, 2.8, 2.03],
    [0.0, 3.07, 1.85],
]  # fmt: skip
TOP = [[0.225, 0.0], [0.1125, 0.1949], [-0.1125, 0.1949], [-0.225, 0.0], [-0.1125, -0.1949], [0.1125, -0.1949]]
LEG = [3.358, 0.05, 4.237, 0.1406, 10.0, 12.5, 0.5, 0.35]
PLATFORM = [0.0, 0.0, -0.114, 1.001, 0.59, 0.843, 10.0, 0.12, 0.04, 0.5, 0.5, 0.5, 1.5, 0.5, 0.005, 5.44, 0.443]
POSE, GUESS = [0.2, 0.3, -0.4, 0.1, -1.4, 0.1], [0.25, 0.25, -0.45, 0.07, -1.7, 0.07]
TORQUES = [126.219689, 789.968672, 0.708602, 79.122963, 81.806978, -31.61797]
COMMAND = [1.0, 0.0, 0.0, -10.0, 0.0, 0.0]


def rate(call: Callable[[], object]) -> float:
    """Return the calls per second, after the first ones, which may compile."""
    for _ in range(3):
        call()
    count, start = 0, perf_counter()
    while perf_counter() - start < SECONDS:
        call()
        count += 1
    return count / (perf_counter() - start)


def line(name: str, call: Callable[[], object], batch: Callable[[], object] | None = None) -> None:
    many = f"{STATES * rate(batch):14,.0f}" if batch else ""
    print(f"{name:38}{rate(call):12,.0f}{many}")


def puma() -> rb.Robot:
    """Return the PUMA 560 that Chasles ships, by way of a configuration file."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "puma560.conf")
        ch.load("puma560").save(file)
        return rb.Robot(file, "puma560")


def serial() -> None:
    robot = puma()
    arm, n = robot.model, robot.get_dof()
    q, start = np.full(n, np.pi / 4), np.full(n, np.pi / 4 - 0.1)
    many = np.random.default_rng(1).uniform(-1.0, 1.0, (STATES, n))
    goal = arm.forward_kinematics(q)

    def inverse() -> object:
        robot.set_q(start)
        return robot.inv_kin(goal)

    line("forward kinematics", lambda: (robot.set_q(q), robot.kine()), lambda: arm.forward_kinematics(many))
    line("inverse kinematics", inverse)
    line("Jacobian", robot.jacobian, lambda: arm.jacobian(many, frame="world-aligned"))
    line("torque", lambda: robot.torque(q, q, q), lambda: arm.inverse_dynamics(many, many, many))
    line("inertia", lambda: robot.inertia(q), lambda: arm.mass_matrix(many))
    line("acceleration", lambda: robot.acceleration(q, q, q), lambda: arm.forward_dynamics(many, many, many))


def parallel() -> None:
    matrix = np.zeros((7, 17))
    for row, base, top in zip(matrix, BASE, TOP, strict=False):
        row[:14] = [*base, *top, -0.228, *LEG]
    matrix[6] = PLATFORM
    platform = rb.Stewart(matrix)
    platform.set_q(POSE)
    platform.set_dq(POSE)
    platform.set_ddq(np.full(6, -10.0))
    lengths = platform.InvPosKine()
    line("Stewart inverse kinematics", platform.InvPosKine)
    line("Stewart inverse dynamics", platform.Torque)
    line("Stewart forward dynamics", lambda: platform.ForwardDyn(TORQUES))
    line("Stewart forward dynamics, actuators", lambda: platform.ForwardDyn_AD(COMMAND, 0.0))
    line("Stewart forward kinematics", lambda: platform.ForwardKine(GUESS, lengths))


def main() -> None:
    print(f"{'calls per second':38}{'one state':>12}{f'{STATES} states':>14}")
    serial()
    parallel()


if __name__ == "__main__":
    main()
