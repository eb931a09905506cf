"""Closed-loop simulation."""

from chasles.simulation.diagnosis import DivergenceWarning, SaturationWarning, StickingWarning
from chasles.simulation.energy_audit import EnergyAudit
from chasles.simulation.limits import VelocityLimitError
from chasles.simulation.preparation import UncompiledWarning
from chasles.simulation.sensitivities import Sensitivities, sensitivities
from chasles.simulation.simulate import simulate
from chasles.simulation.stepping import IntegrationError
from chasles.simulation.stiffness import SamplingWarning, StiffnessWarning

__all__ = [
    "DivergenceWarning",
    "EnergyAudit",
    "IntegrationError",
    "SamplingWarning",
    "SaturationWarning",
    "Sensitivities",
    "StickingWarning",
    "StiffnessWarning",
    "UncompiledWarning",
    "VelocityLimitError",
    "sensitivities",
    "simulate",
]
