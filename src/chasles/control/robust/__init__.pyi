from chasles.control.robust.disturbance_observer import DisturbanceObserver as DisturbanceObserver
from chasles.control.robust.sliding_mode import SlidingMode as SlidingMode
from chasles.control.robust.sliding_mode import sliding_gains as sliding_gains

__all__: list[str]
