"""Estimation of base parameters and friction: iterated weighted least squares, and the choice of friction terms.

The velocity v0 of each joint's friction is found along: its column is the derivative of the fitted torque by log v0
(Gauss-Newton). Optional friction terms are taken where they predict parts of the log that were left out of the fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from chasles.identification.equations import Terms, TorqueEquations, UnknownNames, plausible_sizes, unknowns
from chasles.identification.friction import ALWAYS, LONG, OPTIONAL, PERIODIC, columns_of, term_of
from chasles.identification.regression import (
    Prior,
    WeightedFit,
    coloured_covariance,
    degrees_of_freedom,
    error_model,
    weighted_fit,
)
from chasles.robot.robot import Robot

FloatArray = NDArray[np.float64]

ITERATIONS = 12
LEAST_ITERATIONS = 3
CONVERGED = 0.02
"""Change of log v0 that ends the iteration."""
LONGEST_STEP = 0.5
V0_START, V0_LEAST, V0_MOST = 0.05, 0.002, 0.5
"""Velocity v0 relative to the joint's largest rate."""
FOLDS = 4
VOID = 1e-10
"""Singular value, relative to the largest, below which a direction of the unknowns has no effect."""
WORTHWHILE = 0.1
"""A term is taken if it lessens the squared error on each left-out part, and in sum by this share of a joint's."""


@dataclass(frozen=True)
class Estimate:
    """Estimated unknowns.

    Attributes
    ----------
    unknowns
        Names and order.
    values, covariance
        Shapes (p,) and (p, p).
    freedom
        Effective degrees of freedom of each variance, shape (p,).
    information
        Matrix of the normal equations, p × p.
    v0
        Transition velocity of each joint's friction, shape (n,), rad/s.
    inertial
        Inertial unknowns that `load` friction was computed with.
    fit
        Last weighted fit; its coefficients go on with log v0.
    sizes
        Plausible size of each unknown, shape (p,).
    condition
        Condition number of the weighted regressor with columns of unit length, without directions that it does not see.
    together
        Unknowns of these directions: they act only together.
    """

    unknowns: UnknownNames
    values: FloatArray
    covariance: FloatArray
    freedom: FloatArray
    information: FloatArray
    v0: FloatArray
    inertial: FloatArray
    fit: WeightedFit
    sizes: FloatArray
    condition: float
    together: tuple[str, ...]

    def columns(self, equations: TorqueEquations) -> FloatArray:
        """Columns of all unknowns at the kept samples of equations, shape (k, n, p)."""
        load = equations.load(self.inertial)
        return np.concatenate([equations.columns, equations.friction(self.unknowns, self.v0, load)], axis=2)


def estimate(robot: Robot, equations: TorqueEquations, measured: NDArray[np.bool_], friction: Terms | None) -> Estimate:
    """Estimate the unknowns of a robot from the equations of a log.

    Parameters
    ----------
    robot
        Prior model.
    equations
        Equations of the samples.
    measured
        Joints whose effort counts, shape (n,).
    friction
        Friction terms of each joint; None to choose them by cross-validation.
    """
    coupled = np.abs(equations.coupling - np.eye(robot.n)).max(axis=1) > 0.0
    always: Terms = {name: (*ALWAYS, "rotor") if coupled[k] else ALWAYS for k, name in enumerate(robot.velocity_names)}
    first = _iterate(robot, equations, measured, friction or always, None)
    if friction is None:
        chosen = _chosen_terms(robot, equations, measured, first, always)
        if chosen != always:
            first = _iterate(robot, equations, measured, chosen, first)
    elif any("load" in own for own in friction.values()):
        first = _iterate(robot, equations, measured, friction, first)
    return first


def _iterate(
    robot: Robot, equations: TorqueEquations, measured: NDArray[np.bool_], terms: Terms, before: Estimate | None
) -> Estimate:
    n, own = robot.n, unknowns(robot, terms)
    effort = equations.effort
    inertial = len(own.inertial)
    sizes = plausible_sizes(robot, own, effort)
    mean = np.zeros(len(own.names))
    mean[:inertial] = own.base.values[own.inertial]
    sizes = np.maximum(sizes, 0.1 * np.abs(mean))
    fastest = np.maximum(np.abs(equations.motor_rates).max(axis=0), 1e-12)
    start = np.log(V0_START * fastest) if before is None else np.log(before.v0)
    log_v0, values = start.copy(), mean
    deviations = 0.1 * effort.std(axis=0) + 1e-12 if before is None else before.fit.deviations
    with_load = mean[:inertial] if before is None else before.values[:inertial]
    load = equations.load(with_load)
    used = equations.moving & measured
    for step in range(ITERATIONS):
        v0 = np.exp(log_v0)
        slopes = equations.friction_slopes(own, values, v0, load)
        A = np.concatenate([equations.columns, equations.friction(own, v0, load), slopes], axis=2)
        prior = Prior(np.concatenate([mean, start - log_v0]), np.concatenate([sizes, np.ones(n)]))
        fit = weighted_fit(A, effort, used, prior, deviations)
        deviations, values = fit.deviations, fit.values[:-n]
        change = np.clip(fit.values[-n:], -LONGEST_STEP, LONGEST_STEP) if step else np.zeros(n)
        if step >= LEAST_ITERATIONS and np.abs(change).max(initial=0.0) < CONVERGED:
            break
        log_v0 = np.clip(log_v0 + change, np.log(V0_LEAST * fastest), np.log(V0_MOST * fastest))
    errors = error_model(A, fit, equations.segments)
    covariance = coloured_covariance(A, fit, prior, equations.segments, errors)
    rows = (A[:, :, :-n] * fit.weights[..., None]).reshape(-1, A.shape[2] - n)
    lengths = np.linalg.norm(rows, axis=0)
    names = np.array(own.names)[lengths > 0.0]
    _, singular, directions = np.linalg.svd(rows[:, lengths > 0.0] / lengths[lengths > 0.0], full_matrices=False)
    void = singular < VOID * singular[0]
    together = names[(np.abs(directions[void]) > 1e-4).any(axis=0)]
    return Estimate(
        unknowns=own,
        values=values,
        covariance=covariance[:-n, :-n],
        freedom=degrees_of_freedom(A, fit, equations.segments, errors)[:-n],
        information=fit.information[:-n, :-n],
        v0=np.exp(log_v0),
        inertial=with_load,
        fit=fit,
        sizes=sizes,
        condition=float(singular[0] / singular[~void][-1]),
        together=tuple(together.tolist()),
    )


def _chosen_terms(
    robot: Robot, equations: TorqueEquations, measured: NDArray[np.bool_], first: Estimate, always: Terms
) -> Terms:
    """Add optional friction terms, one after another, that predict left-out quarters of the log better."""
    own = UnknownNames(first.unknowns.base, first.unknowns.inertial, _possible_terms(robot, equations, always))
    folds = _Folds.of(equations, own, first)
    columns = [*range(len(own.inertial))]
    optional: dict[tuple[int, str], list[int]] = {}
    for place, (joint, column) in enumerate(own.friction, len(own.inertial)):
        if term_of(column) not in OPTIONAL:
            columns.append(place)
        elif measured[joint]:
            optional.setdefault((joint, term_of(column)), []).append(place)
    best = folds.errors(columns)
    taken: set[tuple[int, str]] = set()
    for _ in range(len(optional)):
        trials = [(term, folds.errors([*columns, *places])) for term, places in optional.items() if term not in taken]
        good = [
            (float(found.sum()), term, found)
            for term, found in trials
            if (found < best).all() and best.sum() - found.sum() > WORTHWHILE * best.sum() / measured.sum()
        ]
        if not good:
            break
        _, added, best = min(good, key=lambda trial: trial[0])
        columns += optional[added]
        taken.add(added)
    return {
        name: (*always[name], *(column for term in OPTIONAL if (joint, term) in taken for column in columns_of(term)))
        for joint, name in enumerate(always)
    }


def _possible_terms(robot: Robot, equations: TorqueEquations, always: Terms) -> Terms:
    """Friction columns of each joint with all optional terms that its motion and the log's length allow."""
    candidates = [term for term in OPTIONAL if term != "drift" or 3600.0 * np.ptp(equations.hours) > LONG]
    aperiodic = [term for term in candidates if term not in PERIODIC]
    return {
        name: (*own, *(column for term in (candidates if unit == "rad" else aperiodic) for column in columns_of(term)))
        for (name, own), unit in zip(always.items(), robot.description.coordinate_units, strict=True)
    }


def _expected_sizes(equations: TorqueEquations, unknowns: UnknownNames, first: Estimate) -> FloatArray:
    """Plausible sizes of the unknowns, shape (p,): those of a first estimate; a new term is as large as Coulomb's."""
    known, joints = first.unknowns.names, list(unknowns.terms)
    size = np.concatenate([first.sizes[: len(unknowns.inertial)], np.zeros(len(unknowns.friction))])
    for place, (joint, column) in enumerate(unknowns.friction, len(unknowns.inertial)):
        name = f"{joints[joint]}.{column}"
        reference = known.index(name if name in known else f"{joints[joint]}.coulomb")
        largest_effort = np.abs(equations.effort[:, joint]).max() + 1e-300  # what a unit of load friction multiplies
        size[place] = first.sizes[reference] / (largest_effort if column == "load" else 1.0)
    return size


@dataclass(frozen=True)
class _Folds:
    """Normal equations of the parts of a log, by which each part is predicted from the others.

    Attributes
    ----------
    grams, rights, squares
        Matrix (p, p), right side (p,) and squared torques of each part, weighted, in unknowns relative to their sizes.
    """

    grams: list[FloatArray]
    rights: list[FloatArray]
    squares: list[float]

    @classmethod
    def of(cls, equations: TorqueEquations, unknowns: UnknownNames, first: Estimate) -> _Folds:
        """Divide the equations of unknowns into `FOLDS` parts, weighted as in a first estimate."""
        load = equations.load(first.values[: len(unknowns.inertial)])
        A = np.concatenate([equations.columns, equations.friction(unknowns, first.v0, load)], axis=2)
        size = _expected_sizes(equations, unknowns, first)
        k, _, p = A.shape
        folds = cls([], [], [])
        for a, b in pairwise(np.linspace(0, k, FOLDS + 1).astype(int)):
            rows = (A[a:b] * first.fit.weights[a:b, :, None]).reshape(-1, p) * size
            y = (equations.effort[a:b] * first.fit.weights[a:b]).ravel()
            folds.grams.append(rows.T @ rows)
            folds.rights.append(rows.T @ y)
            folds.squares.append(float(y @ y))
        return folds

    def errors(self, columns: list[int]) -> FloatArray:
        """Squared error on each part of a fit of some columns to the other parts, shape (FOLDS,)."""
        total, right, square = sum(self.grams), sum(self.rights), np.ix_(columns, columns)
        found = []
        for gram, own_right, power in zip(self.grams, self.rights, self.squares, strict=True):
            matrix = (total - gram)[square] + np.eye(len(columns))
            x = np.linalg.solve(matrix, (right - own_right)[columns])
            found.append(power - 2.0 * x @ own_right[columns] + x @ gram[square] @ x)
        return np.array(found)
