"""Regressors of a robot, and dynamics along a reference motion: for identification and adaptive control."""

from __future__ import annotations

from numpy.typing import ArrayLike

from chasles import algorithms
from chasles.algorithms import EnergyRegressors, MomentumAndDrift, closed_chain
from chasles.mechanics.computation import Array, Out, Vary, computes
from chasles.mechanics.described import Described
from chasles.mechanics.part import Part


class Regressors(Part[Described]):
    """Regressors of a robot, and its dynamics along a reference motion: ``arm.regressors``.

    The columns of regressors belong to `Inertial.names`, whose order `chasles.model.inertial_parameters` explains.
    """

    place = "regressors"

    @computes(algorithms.torque_regressor, closed=closed_chain.torque_regressor, outputs=["Y"])
    def torque(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        *,
        columns: tuple[int, ...] | None = None,
        vary: Vary = None,
        out: Out = None,
    ) -> Array: ...

    @computes(algorithms.momentum_regressor, closed=closed_chain.momentum_regressor, outputs=["Y"])
    def momentum(self, q: ArrayLike, qd: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array: ...

    @computes(algorithms.energy_regressor, closed=closed_chain.energy_regressor, outputs=EnergyRegressors)
    def energy(self, q: ArrayLike, qd: ArrayLike, *, vary: Vary = None, out: Out = None) -> EnergyRegressors: ...

    @computes(algorithms.passivity_torque, closed=closed_chain.passivity_torque, outputs=["tau"], needs_masses=True)
    def passivity_torque(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qd_reference: ArrayLike,
        qdd_reference: ArrayLike,
        *,
        vary: Vary = None,
        out: Out = None,
    ) -> Array: ...

    @computes(algorithms.passivity_regressor, closed=closed_chain.passivity_regressor, outputs=["Y"])
    def passivity(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qd_reference: ArrayLike,
        qdd_reference: ArrayLike,
        *,
        vary: Vary = None,
        out: Out = None,
    ) -> Array: ...

    @computes(
        algorithms.momentum_and_drift,
        closed=closed_chain.momentum_and_drift,
        outputs=MomentumAndDrift,
        needs_masses=True,
    )
    def momentum_and_drift(
        self, q: ArrayLike, qd: ArrayLike, *, vary: Vary = None, out: Out = None
    ) -> MomentumAndDrift: ...

    @computes(algorithms.momentum_drift_regressor, closed=closed_chain.momentum_drift_regressor, outputs=["D"])
    def momentum_drift(self, q: ArrayLike, qd: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array: ...
