"""`Mechanics`: a description together with all that is computed from it alone."""

from __future__ import annotations

from chasles.base import verbs
from chasles.mechanics.configurations import Configurations
from chasles.mechanics.copies import Copies
from chasles.mechanics.dynamics import Dynamics
from chasles.mechanics.formats import Formats
from chasles.mechanics.kinematics import Kinematics
from chasles.mechanics.loops import Loops
from chasles.mechanics.parameters import InertialParameters
from chasles.mechanics.regressors import Regressors
from chasles.mechanics.whole_body import WholeBody


class Mechanics(
    Configurations, Kinematics, Dynamics, InertialParameters, Regressors, WholeBody, Loops, Copies, Formats
):
    """Immutable description and compiled mechanics of a robot: all of `chasles.Robot` that needs no search.

    Inverse kinematics is written for this class; `chasles.Robot` adds inverse kinematics to it.
    """

    def _repr_html_(self) -> str:
        return str(verbs.to_html(self))
