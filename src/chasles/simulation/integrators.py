"""Choice of a simulation's integrator, its steps in a period and its tolerances."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.engine.validators import real, whole_number
from chasles.integrators import DORMAND_PRINCE, INTEGRATORS, RK4, Integrator, Steps, Within
from chasles.integrators.step_lengths import steps_of

#: Methods of `scipy.integrate.solve_ivp`, which integrate one run after another.
SCIPY = ("RK45", "DOP853", "Radau", "LSODA")
#: Those of them that take a Jacobian.
SCIPY_IMPLICIT = ("Radau", "LSODA")
#: Explicit for plants in which nothing acts fast, implicit for the others; see `chasles.simulation.stiffness`.
AUTOMATIC = "automatic"
_MOST_STEPS = 1_000_000


@dataclass(frozen=True)
class ChosenSteps:
    """How a plant is integrated through a period.

    Attributes
    ----------
    method
        The method, or a name of SciPy's.
    substeps
        Steps in a period; None where the error controls them.
    rtol, atol
        Tolerances as given; None for the default of the method.
    by_stiffness
        Whether an implicit method takes the place of this one where something in the plant acts fast.
    """

    method: str | Integrator
    substeps: int | None
    rtol: float | None = None
    atol: ArrayLike | None = None
    by_stiffness: bool = False

    def tolerances(self, method: str | Integrator) -> tuple[float, float]:
        """Relative and absolute tolerance; tighter for SciPy's methods, which take the mean error of all components."""
        relative, absolute = (1e-8, 1e-10) if isinstance(method, str) else (1e-6, 1e-8)
        chosen = (
            real(relative if self.rtol is None else self.rtol, "rtol", above=0.0),
            real(absolute if self.atol is None else self.atol, "atol", above=0.0),
        )
        if max(chosen) >= 1.0:
            raise ArgumentError(f"rtol and atol must be below 1, not {chosen[0]:g} and {chosen[1]:g}")
        return chosen


def chosen_steps(choice: str | Integrator | Steps | Within) -> ChosenSteps:
    """Return the method, its steps in a period and its tolerances, as `chasles.simulate` takes them.

    Raises
    ------
    UnknownNameError
        No method has this name; the message lists the names.
    ArgumentError
        An object is no integrator, steps are no positive whole number, or the method has no such steps.
    """
    name = choice.method if isinstance(choice, Steps | Within) else choice
    if isinstance(name, str) and name not in (AUTOMATIC, *INTEGRATORS, *SCIPY):
        raise UnknownNameError("integrator", name, [AUTOMATIC, *INTEGRATORS, *SCIPY])
    if isinstance(choice, Steps) and name in (AUTOMATIC, *SCIPY):
        raise ArgumentError(f"the method '{name}' chooses its steps itself: give integrator={name!r}")
    if choice == AUTOMATIC:
        return ChosenSteps(RK4, 1, by_stiffness=True)
    if isinstance(choice, Within) or name in SCIPY:
        within = choice if isinstance(choice, Within) else Within(name)
        if name == AUTOMATIC:
            return ChosenSteps(DORMAND_PRINCE, None, within.rtol, within.atol, by_stiffness=True)
        return ChosenSteps(str(name) if name in SCIPY else steps_of(within)[0], None, within.rtol, within.atol)
    method, chosen = steps_of(choice)
    if isinstance(chosen, Within):
        return ChosenSteps(method, None)
    return ChosenSteps(method, whole_number(chosen.count, "count", 1, _MOST_STEPS))
