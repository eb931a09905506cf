"""Gains of a law for a robot of unknown payload and friction, found by exact gradients of whole simulations."""

from __future__ import annotations

import numpy as np

import chasles as ch


def main() -> None:
    """Tune computed torque over drawn plants, and show how good it is on others."""
    arm = ch.load("planar2r")
    motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=1.0)
    plant = ch.Plant(arm, friction=ch.Friction(arm, viscous=1.0, coulomb=1.0, smoothing_velocity=0.05), delay=2e-3)
    rng = np.random.default_rng(7)
    draws = {"payload.mass": rng.uniform(0.0, 3.0, 40), "friction.viscous": rng.uniform(0.0, 2.0, (40, 2))}
    law = ch.ComputedTorque(arm, kp=50.0, kd=10.0)
    steps = ch.integrators.Steps("rk4", 2)  # of a fixed length, as gradients need
    found = ch.tune(
        plant,
        law,
        motion,
        lambda now: now.error @ now.error + 1e-7 * now.tau @ now.tau,
        over=draws,
        period=2e-3,
        integrator=steps,
    )
    print(found)
    gradient = ch.loss_gradient(
        plant, found.law, motion, lambda now: now.error @ now.error, ["payload.mass"], period=2e-3, integrator=steps
    )
    print(f"another kilogram adds {gradient.gradient['payload.mass']:.3g} rad² to the mean squared error")


if __name__ == "__main__":
    main()
