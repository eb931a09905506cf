"""Random perturbations of a robot's parameters, as errors of real machines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.engine.validators import choice
from chasles.geometry.pseudo_inertias import second_moments
from chasles.model.parameters import parameter_shapes

if TYPE_CHECKING:
    from chasles.model.description import Description

QUANTITIES = ("mass", "center_of_mass", "inertia", "viscous_friction", "coulomb_friction", "motor_inertia")
"""Perturbed quantities: all inertial parameters but those of the geometry and the transmission."""


def perturbed_values(
    description: Description,
    relative: float | Mapping[str, float],
    seed: int | np.random.Generator,
    shape: tuple[int, ...] = (),
    *,
    consistent: bool = True,
) -> dict[str, NDArray[np.float64]]:
    """Return a robot's parameters, changed at random by at most a given relative amount.

    Every value is multiplied by its own factor, uniform in [1 - relative, 1 + relative].

    Parameters
    ----------
    description
        The robot.
    relative
        Largest relative change, 0 to 1; or a mapping from quantities to changes, with other quantities unchanged:
        "mass", "center_of_mass" (of each coordinate), "inertia", "viscous_friction", "coulomb_friction",
        "motor_inertia".
    seed
        Seed of NumPy's default generator, or a generator.
    shape
        Shape of the batch of robots to draw.
    consistent
        Whether physically consistent bodies stay consistent. The factors of an inertia then apply to its second moments
        of mass about the centre along the principal axes, so that no principal moment changes by more than `relative`
        (the inertia of an inconsistent body gets one factor). If false, each element of the inertia matrix gets its
        own.

    Returns
    -------
    dict
        Values by parameter name, for `with_values` or, with a batch, for ``vary=``; parameters that are zero are left
        out.

    Raises
    ------
    ArgumentError, UnknownNameError
        A relative change is outside 0 to 1; a quantity does not exist.

    Examples
    --------
    >>> from chasles.model import load
    >>> values = perturbed_values(load("planar2r"), {"mass": 0.1}, seed=0, shape=(1000,))
    >>> list(values), values["links.link1.mass"].shape
    (['links.link1.mass', 'links.link2.mass'], (1000,))
    >>> bool(abs(values["links.link1.mass"] / 10.0 - 1.0).max() <= 0.1)
    True
    """
    shares = _shares(relative)
    generator = np.random.default_rng(seed)
    drawn: dict[str, NDArray[np.float64]] = {}
    for name, known in _numbers(description).items():
        share = shares.get(name.rsplit(".", 1)[1], 0.0)
        if share == 0.0 or not known.any():
            continue
        factors = 1.0 + share * generator.uniform(-1.0, 1.0, (*shape, *known.shape))
        if known.ndim < 2:
            drawn[name] = factors * known
        elif consistent:
            moments, axes = np.linalg.eigh(second_moments(known))
            each = factors[..., 0, :] if moments[0] >= 0.0 else factors[..., 0, :1]
            drawn[name] = _inertias((axes * (each * moments)[..., None, :]) @ axes.T)
        else:
            upper = np.triu(factors) * known
            drawn[name] = upper + np.swapaxes(np.triu(upper, 1), -1, -2)
    return drawn


def _shares(relative: float | Mapping[str, float]) -> Mapping[str, float]:
    shares = relative if isinstance(relative, Mapping) else dict.fromkeys(QUANTITIES, relative)
    for name, share in shares.items():
        choice(name, "quantity to perturb", QUANTITIES)
        if not 0.0 <= share <= 1.0:
            raise ArgumentError(f"the relative change of {name} must lie between 0 and 1, not {share}")
    return shares


def _numbers(description: Description) -> dict[str, NDArray[np.float64]]:
    """Value of every parameter by its name."""
    values: dict[str, Any] = {}
    for prefix, inertia in [(f"links.{link.name}", link.inertia) for link in description.links] + [
        ("payload", description.payload)
    ]:
        values |= {
            f"{prefix}.mass": inertia.mass,
            f"{prefix}.center_of_mass": inertia.center_of_mass,
            f"{prefix}.inertia": inertia.matrix,
        }
    for joint in description.joints:
        values |= {f"joints.{joint.name}.{name}": getattr(joint, name) for name in QUANTITIES[3:]}
    return {name: np.asarray(values[name]) for name in parameter_shapes(description) if name in values}


def _inertias(second: NDArray[np.float64]) -> NDArray[np.float64]:
    trace = np.trace(second, axis1=-2, axis2=-1)
    inertia = trace[..., None, None] * np.eye(3) - second
    symmetric: NDArray[np.float64] = 0.5 * (inertia + np.swapaxes(inertia, -1, -2))
    return symmetric
