"""Choice of a simulation's integrator, its steps in a period and its tolerances."""

from __future__ import annotations

from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.engine.validators import real, whole_number
from chasles.integrators import INTEGRATORS, RK4, Integrator, integrator_of

#: Methods of `scipy.integrate.solve_ivp`, which integrate one run after another.
SCIPY = ("RK45", "DOP853", "Radau", "LSODA")
#: Those of them that take a Jacobian.
SCIPY_IMPLICIT = ("Radau", "LSODA")
#: Explicit for plants in which nothing acts fast, implicit for the others; see `chasles.simulation.stiffness`.
AUTOMATIC = "automatic"
_MOST_SUBSTEPS = 1_000_000


def integrator_and_steps(choice: str | Integrator, substeps: int | None) -> tuple[str | Integrator, int | None]:
    """Return the method, SciPy's by their names, and its steps in a period; None where the error controls them.

    Raises
    ------
    UnknownNameError
        No method has this name; the message lists the names.
    ArgumentError
        An object is no integrator, or `substeps` is no positive whole number.
    """
    steps = None if substeps is None else whole_number(substeps, "substeps", 1, _MOST_SUBSTEPS)
    if choice in SCIPY:
        return choice, None
    if isinstance(choice, str) and choice not in (AUTOMATIC, *INTEGRATORS):
        raise UnknownNameError("integrator", choice, [AUTOMATIC, *INTEGRATORS, *SCIPY])
    method = RK4 if choice == AUTOMATIC else integrator_of(choice)
    return method, 1 if steps is None and method.embedded_order is None else steps


def tolerances(method: str | Integrator, rtol: float | None, atol: float | None) -> tuple[float, float]:
    """Relative and absolute tolerance; tighter for SciPy's methods, which take the mean error of all components."""
    relative, absolute = (1e-8, 1e-10) if isinstance(method, str) else (1e-6, 1e-8)
    chosen = (
        real(relative if rtol is None else rtol, "rtol", above=0.0),
        real(absolute if atol is None else atol, "atol", above=0.0),
    )
    if max(chosen) >= 1.0:
        raise ArgumentError(f"rtol and atol must be below 1, not {chosen[0]:g} and {chosen[1]:g}")
    return chosen
