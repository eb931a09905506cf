from chasles.simulation.plant.base_motion import BaseMotion as BaseMotion
from chasles.simulation.plant.contacts import ContactPlane as ContactPlane
from chasles.simulation.plant.effect import Effect as Effect
from chasles.simulation.plant.elastic_joints import ElasticJoints as ElasticJoints
from chasles.simulation.plant.friction import Friction as Friction
from chasles.simulation.plant.motors import Motors as Motors
from chasles.simulation.plant.payloads import PickedPayload as PickedPayload
from chasles.simulation.plant.plant import Plant as Plant
from chasles.simulation.plant.sensors import Sensors as Sensors
from chasles.simulation.plant.timing_faults import TimingFaults as TimingFaults
from chasles.simulation.plant.wrenches import ExternalWrench as ExternalWrench

__all__: list[str]
