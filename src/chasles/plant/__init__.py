"""Plants: a robot with friction, motors, elastic joints, payloads, contacts, external wrenches and sensors."""

from chasles.plant.base_motion import BaseMotion
from chasles.plant.contacts import ContactPlane
from chasles.plant.effect import Effect
from chasles.plant.elastic_joints import ElasticJoints
from chasles.plant.friction import Friction
from chasles.plant.motors import Motors
from chasles.plant.payloads import PickedPayload
from chasles.plant.plant import Plant
from chasles.plant.sensors import Sensors
from chasles.plant.wrenches import ExternalWrench

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
