"""A planar arm with all that drives can have, and its torques written out with NumPy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import chasles as ch

FloatArray = NDArray[np.float64]

COUPLING = np.array([[1.0, 0.2], [-0.6, 1.0]])
VISCOUS, COULOMB, LOAD = np.array([0.7, 0.4]), np.array([1.5, 0.8]), np.array([0.15, 0.25])
ROTORS, OFFSET = np.array([0.3, 0.2]), np.array([0.8, -0.5])
SHARES, VELOCITIES, LOAD_VELOCITY = (0.6, 0.4), (0.1, 0.5), 0.2
SINE, COSINE = 0.4, -0.3


def drives() -> ch.Robot:
    """Planar arm with rotors, two transitions, friction of the load, position torques and coupled drives."""
    return ch.load("planar2r").with_motor_inertia(ROTORS).with_friction(
        viscous=VISCOUS, coulomb=COULOMB, coulomb_velocity=[VELOCITIES], coulomb_shares=SHARES, load=LOAD,
        load_velocity=LOAD_VELOCITY, torque_offset=OFFSET, torque_sine=SINE, torque_cosine=COSINE,
    ).with_drive_coupling(COUPLING)  # fmt: skip


def written_out(q: FloatArray, qd: FloatArray, qdd: FloatArray) -> FloatArray:
    """Torques of the joints, shape (2,): Cᵀ times those of the motors."""
    bodies = np.asarray(ch.load("planar2r").inverse_dynamics(q, qd, qdd))
    position, rate = COUPLING @ q, COUPLING @ qd
    load = np.linalg.solve(COUPLING.T, bodies) + ROTORS * (COUPLING @ qdd)
    dry = COULOMB * sum(share * np.tanh(rate / scale) for share, scale in zip(SHARES, VELOCITIES, strict=True))
    friction = VISCOUS * rate + dry + LOAD * np.abs(load) * np.tanh(rate / LOAD_VELOCITY)
    motors = load + friction + OFFSET + SINE * np.sin(position) + COSINE * np.cos(position)
    return np.asarray(COUPLING.T @ motors)
