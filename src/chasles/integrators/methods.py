"""All methods by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from chasles.base.errors import UnknownNameError
from chasles.integrators.integrator import Integrator, checked_integrator
from chasles.integrators.rosenbrock import LINEARLY_IMPLICIT_EULER, RODAS5P
from chasles.integrators.runge_kutta import BOGACKI_SHAMPINE, DORMAND_PRINCE, EULER, RK4
from chasles.integrators.semi_implicit_euler import ImplicitFrictionEuler, SemiImplicitEuler

_ALL: tuple[Integrator, ...] = (
    EULER,
    SemiImplicitEuler(),
    ImplicitFrictionEuler(),
    RK4,
    BOGACKI_SHAMPINE,
    DORMAND_PRINCE,
    LINEARLY_IMPLICIT_EULER,
    RODAS5P,
)
#: Methods by name.
INTEGRATORS: Mapping[str, Integrator] = MappingProxyType({method.name: method for method in _ALL})


def integrator_of(choice: str | Integrator) -> Integrator:
    """Return the method of a name; a method object is returned unchanged.

    Raises
    ------
    UnknownNameError
        No method has this name; the message lists the names.
    ArgumentError
        An object is not an integrator.

    Examples
    --------
    >>> integrator_of("rk4").order
    4
    """
    if not isinstance(choice, str):
        return checked_integrator(choice)
    if choice not in INTEGRATORS:
        raise UnknownNameError("integrator", choice, INTEGRATORS)
    return INTEGRATORS[choice]
