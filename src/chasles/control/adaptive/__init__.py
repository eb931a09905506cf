"""Adaptive controllers, which estimate unknown parameters of the robot during the motion."""

from chasles.control.adaptive.composite import CompositeAdaptive
from chasles.control.adaptive.lee_chung import LeeChung
from chasles.control.adaptive.model_reference import ModelReferenceAdaptive
from chasles.control.adaptive.natural import NaturalAdaptive
from chasles.control.adaptive.recursive_least_squares import recursive_least_squares
from chasles.control.adaptive.slotine_li import SlotineLi
from chasles.control.adaptive.tuning import (
    adaptation_gains,
    model_reference_gains,
    natural_gains,
    perturbation_gains,
)

__all__ = [
    "CompositeAdaptive",
    "LeeChung",
    "ModelReferenceAdaptive",
    "NaturalAdaptive",
    "SlotineLi",
    "adaptation_gains",
    "model_reference_gains",
    "natural_gains",
    "perturbation_gains",
    "recursive_least_squares",
]
