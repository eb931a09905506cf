"""Gains of adaptive laws from a model, a motion and a sample period."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.control.adaptive.unknowns import Unknowns
from chasles.control.pole_design import PoleDesign

Floats = NDArray[np.float64]

_SWING = 0.25  # of the rate at which the damping acts, which the swing of the estimates takes


def adaptation_gains(
    design: PoleDesign, learning: float = 1.0, unknown: str | Sequence[str] = "base"
) -> dict[str, Any]:
    """Return rate, damping and adaptation of `SlotineLi`: the estimates follow as fast as the sample period allows.

    Errors decay to s = 0 and along it at the designed frequency. Near s = 0, M s' = Y (theta - true) - Kd s and
    theta' = -Gamma Yᵀ s. With Gamma_k = w² / (m c_k), where c_k is the mean of Y_kᵀ M⁻¹ Y_k, all m parameters together
    make s swing at the frequency w. Held for a period h, such a swing is damped by Kd as long as w² h is well below
    the rate at which Kd acts: ``learning`` times a quarter of it is taken.

    Parameters
    ----------
    design
        Poles, model, motion and period.
    learning
        Factor of all adaptation gains.
    unknown
        Unknown parameters, as `SlotineLi` takes them.
    """
    unknowns = Unknowns.of(design.model, unknown)
    excitation = _excitation(design, unknowns)
    known = excitation > 0.0
    swing = _SWING * learning * design.attainable_alone / design.period
    gain = np.where(known, swing / (max(known.sum(), 1) * np.where(known, excitation, 1.0)), 0.0)
    return {"rate": design.attainable, "damping": design.attainable_alone * design.inertia, "adaptation": gain}


def perturbation_gains(design: PoleDesign, reaching: float = 10.0) -> dict[str, Any]:
    """Return rate, weight of torques and start of `LeeChung`, which then also identifies a constant disturbance.

    Errors decay at the designed frequency along s = qd error + frequency * q error = 0, which is reached ``reaching``
    times as fast. The weight of torques is a tenth of what would do that if each joint turned alone: together they are
    heavier.
    """
    frequency = design.attainable
    share = min(reaching * frequency * design.period, 1.0)  # of s that a period takes away
    weight = 0.1 / (design.inertia**2 * share)
    return {"rate": frequency, "torque_weight": weight, "offset": True, "initial_pose": design.motion(0.0).q}


def _excitation(design: PoleDesign, unknowns: Unknowns) -> Floats:
    """Mean of Y_kᵀ M⁻¹ Y_k of each parameter, over the motion and over states as fast as it all around."""
    planned = design.motion(design.times)
    spread = np.random.default_rng(0).uniform(-1.0, 1.0, (2, *planned.q.shape))
    around = [share * np.abs(part).max(axis=0) for share, part in zip(spread, (planned.qd, planned.qdd), strict=True)]
    total: Any = 0.0
    for qd, qdd in ((planned.qd, planned.qdd), around):
        Y = design.model.passivity_regressor(planned.q, qd, qd, qdd)
        Y = Y[..., unknowns.columns] if unknowns.to_columns is None else Y[..., unknowns.columns] @ unknowns.to_columns
        total = total + (Y * np.linalg.solve(design.mass_matrices, Y)).sum(axis=-2).mean(axis=0)
    return 0.5 * np.asarray(total)
