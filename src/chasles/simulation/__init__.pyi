from chasles.simulation.diagnosis import DivergenceWarning as DivergenceWarning
from chasles.simulation.diagnosis import SaturationWarning as SaturationWarning
from chasles.simulation.diagnosis import StickingWarning as StickingWarning
from chasles.simulation.energy_audit import EnergyAudit as EnergyAudit
from chasles.simulation.initial_state import State as State
from chasles.simulation.limits import LimitError as LimitError
from chasles.simulation.loss_gradients import LossGradient as LossGradient
from chasles.simulation.loss_gradients import loss_gradient as loss_gradient
from chasles.simulation.preparation import UncompiledWarning as UncompiledWarning
from chasles.simulation.recording import Recording as Recording
from chasles.simulation.sensitivities import Sensitivities as Sensitivities
from chasles.simulation.sensitivities import sensitivities as sensitivities
from chasles.simulation.simulate import simulate as simulate
from chasles.simulation.stepping import IntegrationError as IntegrationError
from chasles.simulation.stiffness import SamplingWarning as SamplingWarning
from chasles.simulation.stiffness import StiffnessWarning as StiffnessWarning
from chasles.simulation.tuned_gains import Tuned as Tuned
from chasles.simulation.tuning import tune as tune

__all__: list[str]
