"""Step lengths: fixed, or as large as the error tolerances allow."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from chasles.base.errors import ArgumentError
from chasles.integrators.integrator import Integrator
from chasles.integrators.methods import integrator_of


@dataclass(frozen=True)
class Steps:
    """Steps of fixed length.

    Attributes
    ----------
    method
        Name of the method, or an object as `chasles.integrators.Integrator` describes it.
    count
        Number of steps from one output time to the next; in simulations, per period of the control law.

    Examples
    --------
    >>> import chasles as ch
    >>> falling = ch.integrate(lambda t, y: [y[1], -9.81], [0.0, 0.0], [0.0, 1.0], integrator=Steps("rk4", 4))
    >>> falling.y[-1].round(9)
    array([-4.905, -9.81 ])
    """

    method: str | Integrator = "rk4"
    count: int = 1


@dataclass(frozen=True)
class Within:
    """Steps as large as the error tolerances allow.

    Attributes
    ----------
    method
        Name of a method with an error estimate, or an object as `chasles.integrators.Integrator` describes it.
    rtol, atol
        Relative and absolute tolerance of a step's error. `chasles.integrate` also accepts one ``atol`` for each
        component. Default: that of the integrating function.

    Examples
    --------
    >>> import chasles as ch
    >>> circle = Within("dormand-prince", rtol=1e-10, atol=1e-12)
    >>> turned = ch.integrate(lambda t, y: [y[1], -y[0]], [1.0, 0.0], [0.0, 3.141592653589793], integrator=circle)
    >>> turned.y[-1].round(9) + 0.0
    array([-1.,  0.])
    """

    method: str | Integrator = "dormand-prince"
    rtol: float | None = None
    atol: ArrayLike | None = None


def steps_of(choice: str | Integrator | Steps | Within) -> tuple[Integrator, Steps | Within]:
    """Return the method, and the lengths of its steps; by default those of tolerances where it estimates its error.

    Raises
    ------
    UnknownNameError
        No method has this name; the message lists the names.
    ArgumentError
        An object is no integrator, or tolerances are given to a method without an error estimate.
    """
    if isinstance(choice, Steps):
        return integrator_of(choice.method), choice
    if isinstance(choice, Within):
        method = integrator_of(choice.method)
        if method.embedded_order is None:
            raise ArgumentError(
                f"the method '{method.name}' has no error estimate, so no tolerances hold: give its steps, "
                f"integrator=Steps('{method.name}', count=...), or choose another method"
            )
        return method, choice
    method = integrator_of(choice)
    return method, Steps(method) if method.embedded_order is None else Within(method)
