"""Disk margin, stability and expected error of loops frozen along a motion, over all vertex plants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.control.disk_margin import largest_singular_value, scaled
from chasles.control.frozen_law import FrozenLaw
from chasles.control.linear_law import MARGINAL, LinearLaw, closed_loops, response
from chasles.control.sensitivity_bound import SensitivityLoop, sensitivity_loop
from chasles.control.vertex_plants import FrozenPlants

Floats = NDArray[np.float64]
Complex = NDArray[np.complex128]

#: Angles z h of the frequency response up to the Nyquist frequency: a coarse part for integral action, a fine part
#: where loops cross over and are held.
_ANGLES = np.pi * np.concatenate([np.logspace(-3.2, -1.2, 16, endpoint=False), np.logspace(-1.2, 0.0, 32)])
_LEAST_FREQUENCY = 0.3  # rad/s; slower changes take longer than the motions that are planned
_CYCLES = np.array([0.5, 1.0, 2.0])  # of unknown torques in a motion
_PERRON = 12  # power iterations for the diagonal scaling


class FrozenLoops:
    """Loops of vertex plants with a sample period and a delay.

    Parameters
    ----------
    plants
        Vertex plants.
    period, delay
        Sample period, s, and delay in sample periods.
    duration
        Duration of the motion, s.
    """

    def __init__(self, plants: FrozenPlants, period: float, delay: float, duration: float) -> None:
        states, self.n = plants.B.shape[-2:]
        self.period, self.vertices = period, len(plants.B)
        self._held = plants.sampled(period, delay)
        self._torque = plants.torque
        angles = _ANGLES[_LEAST_FREQUENCY * period <= _ANGLES]
        self._angles = np.concatenate([np.minimum(2.0 * np.pi / duration * _CYCLES * period, np.pi), angles])
        self._z = np.exp(1j * self._angles)[:, None, None, None]
        eye = np.eye(states)
        positions = [
            np.linalg.solve(self._z * eye - A, sum(B * self._z**-i for i, B in enumerate(late)))[..., : states // 2, :]
            for A, late in self._held
        ]
        self._plants: Complex = np.stack(positions, axis=2)  # (angles, places, vertices, measured positions, n)

    def disk(self, law: FrozenLaw, matched: Sequence[FrozenLaw] = ()) -> float:
        """Return the least disk margin of all frozen loops, cut at the torques, for loops that are stable.

        Source: Seiler, Packard and Gahinet, "An introduction to disk margins", IEEE Control Systems 40(5), 2020.

        Parameters
        ----------
        law
            The law with its first estimates.
        matched
            An adaptive law with the estimates that match each vertex; empty for other laws.
        """
        first = len(_CYCLES)
        plants, z = self._plants[first:], self._z[first:]
        F = _positions(law, z)
        L = F[:, :, None] @ plants
        if matched:
            own = np.stack([_positions(one, z) for one in matched], axis=2)
            L = np.concatenate([L, own @ plants], axis=2)
        if not np.isfinite(L).all():
            return 0.0
        S = np.linalg.inv(np.eye(self.n) + L)
        return 1.0 / largest_singular_value(scaled(S - 0.5 * np.eye(self.n), _PERRON))  # (S - T)/2 with T = 1 - S

    @property
    def frequency(self) -> Floats:
        """Frequencies of `sensitivities`, rad/s."""
        return self._angles[len(_CYCLES) :] / self.period

    def sensitivities(self, law: FrozenLaw) -> Complex:
        """Return S = (1 + L)⁻¹ at the torques of all frozen loops, (frequencies, places, vertices, n, n)."""
        first = len(_CYCLES)
        L = _positions(law, self._z[first:])[:, :, None] @ self._plants[first:]
        return np.asarray(np.linalg.inv(np.eye(self.n) + L))

    def law_adjoints(self, S: Any, X: Any, chosen: tuple[NDArray[np.intp], ...]) -> Complex:
        """Return Y with Re tr(Xᴴ dS) = -Re tr(Y dF), for changes dF of the law δτ = -F δq, q all that is measured.

        From S and X, (k, n, n), at so many indices `chosen` of frequencies, places and vertices; Y is (k, measured, n).
        """
        plants = self._plants[len(_CYCLES) :][chosen]
        return np.asarray(plants @ S @ np.conj(X.mT) @ S)

    def sensitivity_loops(self, law: FrozenLaw) -> list[SensitivityLoop]:
        """Return the loops of each vertex, over the places, whose S and T are those of `sensitivities`."""
        return [sensitivity_loop(law.linear, held.A, held.B_late) for held in self._held]

    def is_stable(self, *laws: FrozenLaw) -> bool:
        """Return whether no frozen loop has a pole outside of the unit circle, of one law or one for each vertex."""
        pairs = zip(laws * self.vertices if len(laws) == 1 else laws, self._held, strict=True)
        loops = (closed_loops(law.linear, held.A, held.B_late) for law, held in pairs)
        radii = (np.abs(np.linalg.eigvals(place)).max() for maps in loops for place in maps)
        return all(radius <= 1.0 + MARGINAL for radius in radii)

    def expected_errors(self, law: FrozenLaw) -> tuple[float, float]:
        """Return the root mean square and the largest joint error that unknown torques leave in frozen loops, rad (m).

        They are the torques that the vertices need beyond those that the law gives without error, at half a cycle, one
        and two cycles of a motion.
        """
        slow = len(_CYCLES)
        plants = self._plants[:slow]
        F = _positions(law, self._z[:slow])[:, :, None]
        missing = np.moveaxis(self._torque - law.torque, 0, 1)[..., None]
        error = np.linalg.solve(np.eye(plants.shape[-2]) + plants @ F, plants @ missing)[..., : self.n, :]
        size = np.abs(error)
        return float(np.sqrt((size**2).mean())), float(size.max())


def _positions(law: FrozenLaw, z: Complex) -> Complex:
    """Return F(z) of δτ = -F δq, q all that is measured; the velocities of a differentiated law do not count."""
    n = law.linear.D.shape[-1] // 2
    linear = LinearLaw(law.linear.A, law.linear.B[..., :n], law.linear.C, law.linear.D[..., :n])
    return np.asarray(-response(linear, z * (1.0 + MARGINAL)))
