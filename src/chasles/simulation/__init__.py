"""Closed-loop simulation."""

from chasles.simulation.simulate import DivergenceWarning, UncompiledWarning, simulate
from chasles.simulation.stepping import IntegrationError

__all__ = ["DivergenceWarning", "IntegrationError", "UncompiledWarning", "simulate"]
