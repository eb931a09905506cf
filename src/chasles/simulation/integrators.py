"""Integrators that simulations can use, by name."""

from __future__ import annotations

from chasles.errors import UnknownNameError
from chasles.integrators import INTEGRATORS, Integrator, integrator_of

#: Methods of `scipy.integrate.solve_ivp`, which integrate one run after another.
SCIPY = ("RK45", "DOP853", "Radau", "LSODA")
#: Those of them that take a Jacobian.
SCIPY_IMPLICIT = ("Radau", "LSODA")
#: Explicit for plants in which nothing acts fast, implicit for the others; see `chasles.simulation.stiffness`.
AUTOMATIC = "automatic"


def integrator_choice(choice: str | Integrator) -> str | Integrator:
    """Method of a name, SciPy's by their names, or a method as it is.

    Raises
    ------
    UnknownNameError
        No method has this name; the message lists the names.
    ArgumentError
        An object is no integrator.
    """
    if not isinstance(choice, str) or choice in INTEGRATORS:
        return integrator_of(choice)
    if choice not in (AUTOMATIC, *SCIPY):
        raise UnknownNameError("integrator", choice, [AUTOMATIC, *INTEGRATORS, *SCIPY])
    return choice
