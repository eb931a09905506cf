from chasles.distances.bodies import Body as Body
from chasles.distances.bodies import HalfSpace as HalfSpace
from chasles.distances.bodies import fitted_bodies as fitted_bodies
from chasles.distances.clearance import Clearance as Clearance
from chasles.distances.clearance import ClearanceLimit as ClearanceLimit
from chasles.distances.clearance import clearance as clearance

__all__: list[str]
