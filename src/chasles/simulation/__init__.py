"""Closed-loop simulation."""

from chasles.simulation.energy_audit import EnergyAudit
from chasles.simulation.simulate import DivergenceWarning, UncompiledWarning, simulate
from chasles.simulation.stepping import IntegrationError
from chasles.simulation.stiffness import SamplingWarning, StiffnessWarning

__all__ = [
    "DivergenceWarning",
    "EnergyAudit",
    "IntegrationError",
    "SamplingWarning",
    "StiffnessWarning",
    "UncompiledWarning",
    "simulate",
]
