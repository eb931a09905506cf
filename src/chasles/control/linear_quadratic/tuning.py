"""Weights of regulators and noise of filters from a model, a motion and a sample period."""

from __future__ import annotations

from typing import Any

from chasles.control.linear_quadratic.weights import frequency_weights
from chasles.control.pole_design import PoleDesign

_LEAST_DAMPING = 0.5**0.5  # of a regulator


def regulator_gains(design: PoleDesign) -> dict[str, Any]:
    """Return Q and R with which the sampled regulator of the mean mass matrix has the designed poles.

    See `chasles.control.linear_quadratic.frequency_weights`. Damping ratios below 1/√2 count as that.
    """
    mean = design.mass_matrices.mean(axis=0)
    damping = max(design.damping, _LEAST_DAMPING)
    Q, R = frequency_weights(mean, design.attainable, damping, design.integral, design.period)
    return {"Q": Q, "R": R}


def filtered_regulator_gains(design: PoleDesign, disturbance: float = 0.2) -> dict[str, Any]:
    """Return those, and the unknown torques of a filter: a share of each joint's peak torque in the planned motion."""
    return regulator_gains(design) | {"torque_error": disturbance * design.peak_torque}
