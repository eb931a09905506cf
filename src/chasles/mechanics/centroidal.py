"""`Centroidal`: momentum of a robot about its centre of mass, its matrix and its rate."""

from __future__ import annotations

from numpy.typing import ArrayLike

from chasles import algorithms
from chasles.algorithms import closed_chain
from chasles.mechanics.computation import Array, Out, Vary, computes
from chasles.mechanics.described import Described
from chasles.mechanics.part import Part


class Centroidal(Part[Described]):
    """Momentum of all moving links about the robot's centre of mass: ``arm.centroidal``.

    The links of a fixed base have none.
    """

    place = "centroidal"

    @computes(
        algorithms.centroidal_momentum_matrix,
        closed=closed_chain.centroidal_momentum_matrix,
        outputs=["A"],
        needs_masses=True,
    )
    def matrix(self, q: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array: ...

    @computes(
        algorithms.centroidal_momentum, closed=closed_chain.centroidal_momentum, outputs=["momentum"], needs_masses=True
    )
    def momentum(self, q: ArrayLike, qd: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array: ...

    @computes(
        algorithms.centroidal_momentum_rate,
        closed=closed_chain.centroidal_momentum_rate,
        outputs=["momentum_rate"],
        needs_masses=True,
    )
    def rate(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array: ...
