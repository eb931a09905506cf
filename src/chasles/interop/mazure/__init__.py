"""The programs of Mazure's report under their own names, with their data layout, on his arm or another.

P. F. M. Mazure, "An adaptive linearization and control strategy for mechanical manipulators", report WPA 0461,
TH Eindhoven, 1987. `NE` gives the torques of a motion, `LLLIN` their exact linearisation and the matrices A and B of
the state space. The report prints the programs for revolute joints and two links; here they take any number of
revolute and prismatic joints. `Misprint` restores what the report prints wrongly.

Equation numbers in this package are the report's. The same results come from
`Robot.inverse_dynamics`, `Robot.linearize` and `TimeVaryingRegulator`.
"""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
