"""Closed-loop simulation."""

from chasles.simulation.simulate import DivergenceWarning, UncompiledWarning, simulate
from chasles.simulation.stepping import IntegrationError
from chasles.simulation.stiffness import StiffnessWarning

__all__ = ["DivergenceWarning", "IntegrationError", "StiffnessWarning", "UncompiledWarning", "simulate"]
