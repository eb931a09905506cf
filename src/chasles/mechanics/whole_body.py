"""The robot as a whole: its energies, and the inertia felt at a frame."""

from __future__ import annotations

from numpy.typing import ArrayLike

from chasles import algorithms
from chasles.algorithms import closed_chain
from chasles.geometry.elementary import ReferenceFrame
from chasles.mechanics.computation import Array, Out, Vary, computes
from chasles.mechanics.described import Described


class WholeBody(Described):
    """Computations of a robot as a whole; a part of `Mechanics`.

    Energies are those of all moving links; links of a fixed base do not count.
    """

    @computes(algorithms.kinetic_energy, closed=closed_chain.kinetic_energy, outputs=["energy"], needs_masses=True)
    def kinetic_energy(self, q: ArrayLike, qd: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array: ...

    @computes(algorithms.potential_energy, closed=algorithms.potential_energy, outputs=["energy"], needs_masses=True)
    def potential_energy(self, q: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array: ...

    @computes(
        algorithms.operational_space_inertia,
        closed=closed_chain.operational_space_inertia,
        outputs=["Lambda"],
        needs_masses=True,
    )
    def operational_space_inertia(
        self, q: ArrayLike, *, frame: ReferenceFrame, target: str | None = None, vary: Vary = None, out: Out = None
    ) -> Array: ...
