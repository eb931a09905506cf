"""Plants: a robot with friction, motors, elastic joints, payloads, contacts, external wrenches and sensors."""

from chasles.simulation.plant.base_motion import BaseMotion
from chasles.simulation.plant.contacts import ContactPlane
from chasles.simulation.plant.effect import Effect
from chasles.simulation.plant.elastic_joints import ElasticJoints
from chasles.simulation.plant.friction import Friction
from chasles.simulation.plant.motors import Motors
from chasles.simulation.plant.payloads import PickedPayload
from chasles.simulation.plant.plant import Plant
from chasles.simulation.plant.sensors import Sensors
from chasles.simulation.plant.wrenches import ExternalWrench

__all__ = [
    "BaseMotion",
    "ContactPlane",
    "Effect",
    "ElasticJoints",
    "ExternalWrench",
    "Friction",
    "Motors",
    "PickedPayload",
    "Plant",
    "Sensors",
]
