"""Nominal torques and a time-varying regulator: the strategy of Mazure's report of 1987, tried on a Panda.

Exact linear models A(t), B(t) along a planned motion, the Riccati recursion from its end to its start, and closed loops
with payloads that no controller knows of; then the same from joint encoders alone.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

import chasles as ch
from chasles.control import LinearQuadraticGaussian, NominalTorque, TimeVaryingRegulator
from chasles.control.linear_quadratic import bryson_weights, discretize, linear_model


def main(count: int = 16) -> None:
    """Compare what is left of the tracking error."""
    arm = ch.load("panda")
    goal = arm.home + np.array([0.8, 0.5, -0.5, 0.6, 0.5, -0.5, 0.5])
    motion = ch.PointToPoint(arm.home, goal, duration=1.0)

    times = np.linspace(0.0, 1.0, 1001)
    A, B = linear_model(arm, motion(times))
    growth = np.linalg.eigvals(A).real.max(axis=-1)
    print(f"fastest growth without control [1/s]: {growth.min():.1f} to {growth.max():.1f} along the motion")
    A_d, B_d = discretize(A, B, 1e-3)
    print(f"models: A {A.shape}, B {B.shape}; with torques held for 1 ms: A {A_d.shape}, B {B_d.shape}")

    weights = bryson_weights(arm, position_error=0.01, velocity_error=0.5)
    regulator = TimeVaryingRegulator(arm, Q=weights.Q, R=weights.R)
    regulator.horizon(times, motion(times))  # compiles
    start = perf_counter()
    K = regulator.horizon(times, motion(times)).K
    print(f"gains of {len(K)} steps: {1e3 * (perf_counter() - start):.1f} ms")

    stiffness = np.sqrt(weights.Q.diagonal()[:7] / weights.R.diagonal())
    damping = 2.0 * np.sqrt(stiffness * arm.mass_matrix(arm.home).diagonal())
    controllers = {
        "nominal torque alone": NominalTorque(arm),
        "PD + gravity": ch.PDGravity(arm, kp=stiffness, kd=damping),
        "nominal torque + regulator": regulator,
        "… with integral action": TimeVaryingRegulator(arm, integral_error=2e-3),
        "… from encoders alone": LinearQuadraticGaussian(arm, integral_error=2e-3),
    }
    masses = np.linspace(0.0, 3.0, count)
    print("RMS error of the joints [rad]        no payload   0 to 3 kg, unknown")
    for name, controller in controllers.items():
        run = ch.simulate(arm, controller, motion, duration=1.5, vary={"payload.mass": masses})
        squares = (run.error.values**2).mean(axis=(1, 2))
        print(f"  {name:32} {np.sqrt(squares[0]):12.1e} {np.sqrt(squares.mean()):12.1e}")


if __name__ == "__main__":
    main()
