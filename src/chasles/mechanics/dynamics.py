"""Dynamics of a robot: torques, accelerations, the terms of the equation of motion, and the linear model."""

from __future__ import annotations

from numpy.typing import ArrayLike

from chasles import algorithms
from chasles.algorithms import Linearization, QuadraticModel, TorqueDerivatives, TorqueHessian, closed_chain
from chasles.mechanics.computation import Array, Out, Vary, Wrenches, computes
from chasles.mechanics.described import Described


class Dynamics(Described):
    """Computations of a robot's motion under forces; a part of `Mechanics`."""

    @computes(algorithms.inverse_dynamics, closed=closed_chain.inverse_dynamics, outputs=["tau"], needs_masses=True)
    def inverse_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        *,
        wrenches: Wrenches = None,
        vary: Vary = None,
        out: Out = None,
    ) -> Array: ...

    @computes(
        algorithms.forward_dynamics,
        closed=closed_chain.forward_dynamics,
        outputs=["qdd"],
        needs_masses=True,
        inverts_masses=True,
    )
    def forward_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        *,
        step: float = 0.0,
        wrenches: Wrenches = None,
        vary: Vary = None,
        out: Out = None,
    ) -> Array: ...

    @computes(algorithms.mass_matrix, closed=closed_chain.mass_matrix, outputs=["M"], needs_masses=True)
    def mass_matrix(self, q: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array: ...

    @computes(
        algorithms.inverse_mass_matrix,
        closed=closed_chain.inverse_mass_matrix,
        outputs=["M_inverse"],
        needs_masses=True,
        inverts_masses=True,
    )
    def inverse_mass_matrix(self, q: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array: ...

    @computes(algorithms.bias, closed=closed_chain.bias, outputs=["h"], needs_masses=True)
    def bias(
        self, q: ArrayLike, qd: ArrayLike, *, wrenches: Wrenches = None, vary: Vary = None, out: Out = None
    ) -> Array: ...

    @computes(algorithms.gravity_torque, closed=closed_chain.gravity_torque, outputs=["g"], needs_masses=True)
    def gravity_torque(self, q: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array: ...

    @computes(algorithms.coriolis_vector, closed=closed_chain.coriolis_vector, outputs=["c"], needs_masses=True)
    def coriolis_vector(self, q: ArrayLike, qd: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array: ...

    @computes(algorithms.coriolis_matrix, closed=closed_chain.coriolis_matrix, outputs=["C"], needs_masses=True)
    def coriolis_matrix(self, q: ArrayLike, qd: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array: ...

    @computes(algorithms.friction_torque, closed=closed_chain.friction_torque, outputs=["tau_friction"])
    def friction_torque(self, q: ArrayLike, qd: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array: ...

    @computes(algorithms.loaded_friction_torque, closed=closed_chain.loaded_friction_torque, outputs=["tau_friction"])
    def loaded_friction_torque(
        self, q: ArrayLike, qd: ArrayLike, load: ArrayLike, *, vary: Vary = None, out: Out = None
    ) -> Array: ...

    @computes(algorithms.transmitted_torque, closed=closed_chain.transmitted_torque, outputs=["load"])
    def transmitted_torque(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, *, vary: Vary = None, out: Out = None
    ) -> Array: ...

    @computes(algorithms.position_torque, closed=closed_chain.position_torque, outputs=["tau"])
    def position_torque(self, q: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array: ...

    @computes(
        algorithms.inverse_dynamics_derivatives,
        closed=closed_chain.inverse_dynamics_derivatives,
        outputs=TorqueDerivatives,
        needs_masses=True,
    )
    def inverse_dynamics_derivatives(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        *,
        wrenches: Wrenches = None,
        vary: Vary = None,
        out: Out = None,
    ) -> TorqueDerivatives: ...

    @computes(
        algorithms.inverse_dynamics_hessian,
        closed=closed_chain.inverse_dynamics_hessian,
        outputs=TorqueHessian,
        needs_masses=True,
    )
    def inverse_dynamics_hessian(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        weights: ArrayLike,
        *,
        wrenches: Wrenches = None,
        vary: Vary = None,
        out: Out = None,
    ) -> TorqueHessian: ...

    @computes(
        algorithms.linearize,
        closed=closed_chain.linearize,
        outputs=Linearization,
        needs_masses=True,
        inverts_masses=True,
    )
    def linearize(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        *,
        wrenches: Wrenches = None,
        vary: Vary = None,
        out: Out = None,
    ) -> Linearization: ...

    @computes(
        algorithms.quadratic_model,
        closed=closed_chain.quadratic_model,
        outputs=QuadraticModel,
        needs_masses=True,
        inverts_masses=True,
    )
    def quadratic_model(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        weights: ArrayLike,
        *,
        wrenches: Wrenches = None,
        vary: Vary = None,
        out: Out = None,
    ) -> QuadraticModel: ...
