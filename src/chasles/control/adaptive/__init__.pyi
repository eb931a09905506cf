from chasles.control.adaptive.composite import CompositeAdaptive as CompositeAdaptive
from chasles.control.adaptive.lee_chung import LeeChung as LeeChung
from chasles.control.adaptive.model_reference import ModelReferenceAdaptive as ModelReferenceAdaptive
from chasles.control.adaptive.natural import NaturalAdaptive as NaturalAdaptive
from chasles.control.adaptive.recursive_least_squares import recursive_least_squares as recursive_least_squares
from chasles.control.adaptive.slotine_li import SlotineLi as SlotineLi
from chasles.control.adaptive.tuning import adaptation_gains as adaptation_gains
from chasles.control.adaptive.tuning import model_reference_gains as model_reference_gains
from chasles.control.adaptive.tuning import natural_gains as natural_gains
from chasles.control.adaptive.tuning import perturbation_gains as perturbation_gains

__all__: list[str]
