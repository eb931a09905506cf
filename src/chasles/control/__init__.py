"""Controllers: small objects that are traced and compiled together with the plant."""

from chasles.control.computed_torque import ComputedTorque
from chasles.control.controller import Controller, PythonLaw
from chasles.control.pd_gravity import PDGravity

__all__ = ["ComputedTorque", "Controller", "PDGravity", "PythonLaw"]
