"""Differential equations over batches: a thousand pendulums, a stiff oscillator, and a block that sticks and slips.

Each run takes steps of its own. The stiff ones are integrated implicitly, with exact Jacobians.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import chasles as ch
from chasles.engine import sin, tanh


def pendulum(t: Any, y: Any, length: Any) -> Any:
    """Swing under gravity."""
    return [y[1], -9.81 / length * sin(y[0])]


def oscillator(t: Any, y: Any, mu: Any) -> Any:
    """Relax and jump: van der Pol's equation."""
    return [y[1], mu * (1.0 - y[0] ** 2) * y[1] - y[0]]


def block(t: Any, y: Any, mass: Any, friction: Any) -> Any:
    """Follow the end of a spring, which moves at 0.5 m/s, over dry friction."""
    pull = 100.0 * (0.5 * t - y[0])
    return [y[1], (pull - friction * tanh(y[1] / 1e-6)) / mass]


def main(count: int = 1000) -> None:
    """Integrate the three."""
    lengths = np.linspace(0.25, 1.0, count)
    swings = ch.integrate(
        pendulum,
        [0.01, 0.0],
        [0.0, 1.0, 2.0],
        parameters=[lengths],
        integrator=ch.integrators.Within("dormand-prince", rtol=1e-9, atol=1e-12),
    )
    print(swings)
    print(f"angle of the longest after 2 s [rad]: {swings.y[-1, -1, 0]:.7f}")

    relaxing = ch.integrate(oscillator, [2.0, 0.0], [0.0, 2000.0], parameters=[1000.0], integrator="rodas5p")
    print(relaxing)
    print(f"van der Pol's oscillator at the end: {relaxing.y[-1, 0]:.4f}")

    dry = {"mass": 0.1, "friction": np.array([2.0, 60.0])}
    sliding = ch.integrate(block, [0.0, 0.0], [0.0, 1.0], parameters=dry, integrator="rodas5p")
    print(sliding)
    for friction, way in zip(dry["friction"], sliding.y[:, -1, 0], strict=True):
        print(f"way over {friction:.0f} N of friction [mm]: {1e3 * way:.3f}")


if __name__ == "__main__":
    main()
