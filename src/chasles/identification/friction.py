"""Friction of motors as columns of a regression: what each coefficient multiplies.

The friction torque of a motor at the rate v and the angle q, which transmits the torque τ, is

    viscous v + Σₖ coulombₖ tanh(v / vₖ) + load |τ| tanh(v / v_load) + offset + sine sin q + cosine cos q.

The sum of three transitions vₖ, half decades apart, stands for the shape of dry friction near rest: it is linear in
what is unknown, and with positive coefficients it is odd, rises with the velocity and never drives the motion. `load`
is the friction of gears, which grows with the torque that they transmit; `offset` is a bias of the torque sensor and
Coulomb friction that differs by direction; `sine` and `cosine` are torques that come back once in a revolution:
eccentric torque sensors, cables, springs, misaligned axes. Prismatic joints have none of these.

Sources: B. Armstrong-Hélouvry, P. Dupont & C. Canudas de Wit, Automatica 30(7), 1994; P. Hamon, M. Gautier & P. Garrec,
"Dynamic identification of robots with a dry friction model depending on load and velocity" (IROS 2010).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from chasles.model.placement import FloatArray

TRANSITIONS = (0.02, 0.1, 0.5)
"""Transitions of dry friction, of the motor's top rate: half decades, from where it rests to where it is fast."""
LOAD_TRANSITION = 0.05
"""Transition of load friction, of the motor's top rate: in the middle of these."""
SIGNED = ("load", "offset", "sine", "cosine")


@dataclass(frozen=True)
class FrictionTerms:
    """Friction terms of all motors, and the velocities of their transitions.

    Attributes
    ----------
    transitions
        Velocities vₖ of dry friction, shape (n, transitions), rad/s (m/s).
    load_velocity
        Transition of load friction, shape (n,), rad/s (m/s).
    signed
        Terms besides viscous and dry friction, out of `SIGNED`.
    revolute
        Whether each joint has revolutions, shape (n,).
    """

    transitions: FloatArray
    load_velocity: FloatArray
    signed: tuple[str, ...]
    revolute: NDArray[np.bool_]

    @classmethod
    def of(cls, rates: FloatArray, units: tuple[str, ...], shares: tuple[float, ...], signed: tuple[str, ...]) -> Self:
        """Terms whose transitions are shares of the top rates in a motion (k, n)."""
        top = np.maximum(np.abs(rates).max(axis=0), 1e-12)
        return cls(top[:, None] * np.array(shares), LOAD_TRANSITION * top, signed, np.array(units) == "rad")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of a motor's columns.

        >>> FrictionTerms.of(np.ones((1, 1)), ("rad",), (0.02, 0.1), ("load",)).names
        ('viscous', 'coulomb1', 'coulomb2', 'load')
        """
        return ("viscous", *(f"coulomb{k}" for k in range(1, 1 + self.transitions.shape[1])), *self.signed)

    def columns(self, rate: FloatArray, angle: FloatArray, load: FloatArray) -> FloatArray:
        """Torque of each motor for a unit of each coefficient, shape (k, n, columns).

        Parameters
        ----------
        rate, angle, load
            Rates, angles and transmitted torques without friction of the motors, shapes (k, n).

        Examples
        --------
        >>> terms = FrictionTerms.of(np.ones((1, 1)), ("rad",), (0.1,), ("load", "offset"))
        >>> terms.columns(np.array([[-2.0]]), np.zeros((1, 1)), np.array([[5.0]])).round(3)
        array([[[-2., -1., -5.,  1.]]])
        """
        signed = {
            "load": np.abs(load) * np.tanh(rate / self.load_velocity),
            "offset": np.ones_like(rate),
            "sine": np.sin(angle) * self.revolute,
            "cosine": np.cos(angle) * self.revolute,
        }
        dry = np.tanh(rate[..., None] / self.transitions)
        return np.concatenate([rate[..., None], dry, *(signed[term][..., None] for term in self.signed)], axis=2)
