"""Which poses does a Stewart platform have for its leg lengths, and where may it move?

Shows the forces of the legs along a motion, all poses for one set of leg lengths, each proven, and a workspace map.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import chasles as ch


def ring(degrees: list[float], radius: float) -> NDArray[np.float64]:
    """Points on a circle about z."""
    angles = np.deg2rad(degrees)
    return radius * np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=-1)


def main(samples: int = 61) -> None:
    """Look at a motion platform."""
    stewart = ch.machines.StewartPlatform(
        base=ring([-10, 10, 110, 130, 230, 250], 1.0),
        platform=ring([-50, 50, 70, 170, 190, 290], 0.6),
        legs=ch.machines.Leg(
            lower=ch.machines.LegBody(mass=4.0, center=0.3, transverse_inertia=0.12),
            upper=ch.machines.LegBody(mass=2.0, center=0.25, transverse_inertia=0.05),
        ),
        mass=50.0,
        inertia=(4.0, 4.0, 8.0),
        leg_limits=(0.8, 1.4),
        joint_limits=np.deg2rad(45.0),
        leg_diameter=0.06,
        name="motion platform",
    )

    # Heave: up and down by 5 cm at 1 Hz.
    t = np.linspace(0.0, 1.0, 201)
    omega = 2.0 * np.pi
    T = np.tile(np.eye(4), (len(t), 1, 1))
    T[:, 2, 3] = 1.0 + 0.05 * np.sin(omega * t)
    twist, acceleration = np.zeros((2, len(t), 6))
    twist[:, 5] = 0.05 * omega * np.cos(omega * t)
    acceleration[:, 5] = -0.05 * omega**2 * np.sin(omega * t)
    forces = stewart.inverse_dynamics(T, twist, acceleration)
    print(f"largest force of a leg while it heaves [N]: {forces.max():.1f}")
    print(f"limits along the motion: {stewart.check(T)}")

    poses = stewart.forward_kinematics(stewart.leg_lengths(T[0]), select="all")
    print(f"poses with the leg lengths of the start: {poses.count}")
    print(f"of these proven: {np.count_nonzero(poses.certified)}")
    print(f"of these within the limits: {np.count_nonzero(stewart.check(poses.T).ok)}")

    found = ch.machines.workspace_map(stewart, ("x", "z"), center=T[0], extent=0.5, samples=samples)
    print(f"{100.0 * found.share:.1f} % of the poses in a square of 1 m keep all limits; found.plot() draws them")


if __name__ == "__main__":
    main()
