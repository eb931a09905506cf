"""Integrators of ordinary differential equations, compiled and batched. They know no robots."""

from chasles.integrators.integrate import integrate
from chasles.integrators.integration import Integration
from chasles.integrators.integrator import Integrator, LinearizedRates, RightHandSide, Step
from chasles.integrators.methods import INTEGRATORS, integrator_of
from chasles.integrators.right_hand_side import ProgramRightHandSide
from chasles.integrators.rosenbrock import LINEARLY_IMPLICIT_EULER, RODAS5P, Rosenbrock
from chasles.integrators.runge_kutta import BOGACKI_SHAMPINE, DORMAND_PRINCE, EULER, RK4, RungeKutta, StepDoubling
from chasles.integrators.semi_implicit_euler import SemiImplicitEuler
from chasles.integrators.step_control import StepControl

__all__ = [
    "BOGACKI_SHAMPINE",
    "DORMAND_PRINCE",
    "EULER",
    "INTEGRATORS",
    "LINEARLY_IMPLICIT_EULER",
    "RK4",
    "RODAS5P",
    "Integration",
    "Integrator",
    "LinearizedRates",
    "ProgramRightHandSide",
    "RightHandSide",
    "Rosenbrock",
    "RungeKutta",
    "SemiImplicitEuler",
    "Step",
    "StepControl",
    "StepDoubling",
    "integrate",
    "integrator_of",
]
