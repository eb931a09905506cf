"""Gains of robust laws from a model, a motion and a sample period."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from chasles.control.adaptive.unknowns import Unknowns
from chasles.control.pole_design import PoleDesign

_REACHING = 0.1  # of the peak torque


def sliding_gains(
    design: PoleDesign, uncertainty: float = 0.2, disturbance: float = 1.0, uncertain: str | Sequence[str] = "base"
) -> dict[str, Any]:
    """Return rate, reaching torque, layer and bounds of `SlidingMode`.

    Within the layer the law damps s by k / layer. That is at most what the sample period allows, ω J for the designed
    frequency and each joint's mean inertia: the layer is the largest k along the motion over ω J.

    Parameters
    ----------
    design
        Poles, model, motion and period.
    uncertainty
        Relative error of the uncertain parameters.
    disturbance
        Bound of the other torques, as a share of each joint's peak torque in the planned motion.
    uncertain
        Uncertain parameters, as `SlidingMode` takes them.
    """
    planned, unknowns = design.motion(design.times), Unknowns.of(design.model, uncertain)
    peak = design.peak_torque
    bounds = {
        "uncertainty": uncertainty * np.abs(unknowns.values),
        "disturbance": disturbance * peak,
        "reaching": _REACHING * peak,
    }
    Y = design.model.passivity_regressor(planned.q, planned.qd, planned.qd, planned.qdd)[..., unknowns.columns]
    Y = Y if unknowns.to_columns is None else Y @ unknowns.to_columns
    k = (np.abs(Y) @ bounds["uncertainty"]).max(axis=0) + bounds["disturbance"] + bounds["reaching"]
    layer = k / (design.attainable_alone * design.inertia)
    return {"rate": design.attainable, "layer": layer, "uncertain": uncertain, **bounds}
