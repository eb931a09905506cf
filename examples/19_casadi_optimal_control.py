"""An optimal motion found by IPOPT, with the dynamics of Chasles as a function of CasADi.

An arm swings up from hanging to standing, with motors too weak to hold it level, and with the least squared torque:
direct transcription by the trapezoidal rule (Betts, Practical Methods for Optimal Control, chapter 4).
"""

from __future__ import annotations

from typing import Any

import casadi
import numpy as np

import chasles as ch

LARGEST = np.array([20.0, 10.0])  # torque, N·m; to hold the arm level takes 55 N·m


def main(nodes: int = 61, duration: float = 1.5) -> None:
    """Find the motion, and let the torques move the arm to see that they produce it."""
    arm = ch.load("planar2r")
    dynamics = arm.forward_dynamics.to_casadi()
    hanging, standing = np.array([[-np.pi / 2, 0.0], [np.pi / 2, 0.0]])
    step = duration / (nodes - 1)

    problem = casadi.Opti()
    q, qd, tau = (problem.variable(arm.n, nodes) for _ in range(3))
    qdd = dynamics.map(nodes)(q, qd, tau)
    problem.minimize(step * casadi.sumsqr(tau))
    for x, rate in ((q, qd), (qd, qdd)):
        problem.subject_to(casadi.vec(x[:, 1:] - x[:, :-1] - step / 2 * (rate[:, 1:] + rate[:, :-1])) == 0.0)
    problem.subject_to(problem.bounded(np.tile(-LARGEST, nodes), casadi.vec(tau), np.tile(LARGEST, nodes)))
    problem.subject_to(casadi.vertcat(q[:, 0], q[:, -1], qd[:, 0], qd[:, -1]) == [*hanging, *standing, 0, 0, 0, 0])
    problem.set_initial(q, np.linspace(hanging, standing, nodes).T)
    problem.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes"})
    solution = problem.solve()
    torques = solution.value(tau)
    print(f"iterations of IPOPT: {solution.stats()['iter_count']}")
    print(f"integral of the squared torque: {solution.value(problem.f):.2f}")
    print(f"largest torque of the first motor: {np.abs(torques[0]).max():.4f}")

    def motion(t: Any, x: Any, *linear: Any) -> Any:
        constant, slope = np.reshape(linear, (2, arm.n))
        return [*x[2:], *arm.forward_dynamics(x[:2], x[2:], constant + slope * t)]

    x = np.concatenate([hanging, [0.0, 0.0]])
    for before, after in zip(torques.T[:-1], torques.T[1:], strict=True):
        x = ch.integrate(motion, x, [0.0, step], parameters=[*before, *(after - before) / step]).y[-1]
    print(f"distance of the simulated arm from standing: {np.abs(x[:2] - standing).max():.1e}")


if __name__ == "__main__":
    main()
