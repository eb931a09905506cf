"""Parameters of an estimate that can be told, with intervals that allow for coloured errors.

The estimate is the minimum of a convex problem; in its local coordinates the errors ε of the torques move it by H⁻¹ Aᵀ
W ε, and the references' deviation from the truth by H⁻¹ C ν, where C is the references' share of the second derivatives
H. The covariance is therefore the sandwich H⁻¹ (Aᵀ W Ω W A + C) H⁻¹ with the covariance Ω of coloured errors; see
`regression`. Friction has not just the transitions that it is fitted with: Ω includes torques of transitions that lie
between them. A light body's reference is heavier than the prior's (see `estimation.reference_bodies`), and the truth
may lie anywhere between: the mean distance, of all bodies together, and the deviation of each add to the covariance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chasles.geometry import pseudo_inertia_from_inertial_parameters
from chasles.identification.bodies_rotors_and_friction import Minimum
from chasles.identification.equations import InertialUnknowns, TorqueEquations
from chasles.identification.estimation import Estimate
from chasles.identification.identification import Parameter
from chasles.identification.regression import (
    Prior,
    WeightedFit,
    coloured_covariance,
    degrees_of_freedom,
    error_model,
)
from chasles.model.placement import FloatArray
from chasles.robot.robot import Robot

DETERMINED = 0.5
"""A parameter is determined if the log at least halves its deviation: it then holds three times what was known."""
BETWEEN_TRANSITIONS = float(np.log(5.0) / np.sqrt(12.0))
"""Deviation of a transition's logarithm: it is uniform between neighbours, half decades apart."""
UNIFORM = 1.0 / np.sqrt(3.0)
"""Root mean square, relative to the other end, of what is uniform from zero to there."""


class Combinations(NamedTuple):
    """Linear combinations of the unknowns: names, expressions, and rows (combinations, unknowns)."""

    names: tuple[str, ...]
    expressions: tuple[str, ...]
    rows: FloatArray


def combinations(robot: Robot, found: Estimate) -> Combinations:
    """Base parameters, and friction by joint: the Coulomb friction of all transitions together."""
    base, terms, inertial = found.unknowns, found.terms, len(found.inertial)
    names, expressions = list(base.names), list(base.expressions)
    rows = [np.pad(row, (0, len(found.values) - inertial)) for row in base.to_base]
    for motor, joint in enumerate(robot.velocity_names):
        for term in ("viscous", "coulomb", *terms.signed):
            row = np.zeros(len(found.values))
            first = inertial + motor * len(terms.names)
            row[[first + k for k, column in enumerate(terms.names) if column.rstrip("0123456789") == term]] = 1.0
            names.append(f"{joint}.{term}")
            expressions.append(f"{joint}.{term}")
            rows.append(row)
    return Combinations(tuple(names), tuple(expressions), np.array(rows))


def with_intervals(
    robot: Robot, found: Estimate, equations: TorqueEquations
) -> tuple[tuple[Parameter, ...], FloatArray]:
    """Parameters with their intervals, and the covariance of all unknowns, shape (p, p).

    Parameters
    ----------
    robot
        Prior model.
    found
        Estimate.
    equations
        Equations that it came from.
    """
    minimum = found.minimum
    A = found.columns @ minimum.motions
    fit = WeightedFit(found.values, found.residuals, found.deviations, np.sqrt(found.weights), minimum.hessian)
    slopes = equations.transition_slopes(found.terms, found.coulomb)
    pull = np.einsum("kip,ki,kis->ps", A, found.weights, slopes, optimize=True)
    moved = BETWEEN_TRANSITIONS * np.linalg.solve(minimum.hessian, pull)
    told, own = combinations(robot, found), found.unknowns
    return intervals_of_minimum(own, own.of(robot), told, minimum, A, fit, equations.segments, moved)


def intervals_of_minimum(
    own: InertialUnknowns, known: FloatArray, told: Combinations, minimum: Minimum, A: FloatArray, fit: WeightedFit,
    segments: tuple[slice, ...], moved: FloatArray,
) -> tuple[tuple[Parameter, ...], FloatArray]:  # fmt: skip
    """Parameters with their intervals at a minimum, and the covariance of all unknowns, shape (p, p).

    Parameters
    ----------
    own, known
        Inertial unknowns, and their values in the prior, shape (inertial,).
    told
        Combinations that are told, those of inertial unknowns first.
    minimum
        Minimum.
    A
        Columns of the local coordinates, shape (k, n, p).
    fit
        The fit whose residuals tell the errors.
    segments
        Slices of samples without gaps.
    moved
        Further deviations of the local coordinates, shape (p, any).
    """
    prior = Prior(np.zeros(len(minimum.unknowns)), minimum.curvature**-0.5)
    errors = error_model(A, fit, segments)
    bodies = np.asarray(pseudo_inertia_from_inertial_parameters(known[: 10 * own.bodies].reshape(-1, 10)))
    lighter = UNIFORM * np.linalg.solve(minimum.motions, minimum.with_bodies(bodies) - minimum.unknowns)
    local = coloured_covariance(A, fit, prior, segments, errors) + moved @ moved.T + np.outer(lighter, lighter)
    rows = told.rows @ minimum.motions
    freedom = degrees_of_freedom(A, fit, segments, errors, rows)
    error = np.sqrt(np.maximum(np.einsum("pi,ij,pj->p", rows, local, rows), 0.0))  # without noise, only round-off
    before = np.sqrt(np.einsum("pi,i->p", rows**2, 1.0 / minimum.curvature))
    after = np.sqrt(np.einsum("pi,ij,pj->p", rows, np.linalg.inv(minimum.hessian), rows))
    priors = np.append(own.to_base @ known, np.full(len(told.names) - len(own.names), np.nan))
    columns = (
        told.names,
        told.expressions,
        told.rows @ minimum.unknowns,
        error,
        priors,
        after < DETERMINED * before,
        freedom,
    )
    parameters = tuple(
        Parameter(name, expression, float(value), float(deviation), float(prior), bool(determined), float(own_freedom))
        for name, expression, value, deviation, prior, determined, own_freedom in zip(*columns, strict=True)
    )
    return parameters, np.asarray(minimum.motions @ local @ minimum.motions.T)
