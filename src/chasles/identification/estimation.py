"""Estimation of a robot from the equations of a log: textbook least squares first, then bodies, rotors and friction.

Least squares of the base parameters give the first residuals. Then the convex problem of `bodies_rotors_and_friction`
is solved a few times, each time with the weights, sizes and loads that the solution before led to:

- A joint's rows weigh 1 / (s² t), where s is the deviation of its residuals and t their correlation time: t samples of
  coloured errors count for one. Huber's function bounds the influence of outliers.
- Load and position terms are taken for all joints, and are as large as the log shows for all joints together: the
  deviation of each kind is its mean square over the joints, with that of its error (empirical Bayes; B. Efron & C.
  Morris, "Stein's estimation rule and its competitors", J. American Statistical Association 68(341), 1973). Nothing is
  chosen, so nothing is chosen by chance.
- Load friction grows with the torque of the bodies and rotors of the solution before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.geometry import pseudo_inertia_from_inertial_parameters
from chasles.identification.bodies_rotors_and_friction import Minimum, References, minimum
from chasles.identification.equations import InertialUnknowns, TorqueEquations
from chasles.identification.friction import SIGNED, TRANSITIONS, FrictionTerms
from chasles.identification.regression import HUBER, robust_deviations
from chasles.model import build_tree
from chasles.model.placement import FloatArray
from chasles.robot.robot import Robot

Friction = Literal["all", "urdf"]

PASSES = 5
TRIED_TRANSITIONS = (0.01, 0.02, 0.05, 0.1)
"""Transitions of textbook friction, of the top rate; the one with the least residuals is taken."""
REWEIGHTED = 5
TENTH = 0.1
"""Torque of a reference number, of the measured one; the result hardly depends on it."""
LARGEST = 3.0
"""Largest deviation of a kind in its units: gears whose load friction is 1 lock, so three deviations of 0.3 do not."""
OFFSET = 0.3
"""Deviation of the offsets, of the measured effort: gravity, which is most of it, must not hide in them."""
LEAST_MASS, LEAST_RADIUS = 0.05, 0.1
"""A reference body has this share of the moving mass, and this gyration radius of the arm's: a gripper or load weigh
that."""
LIGHT_MASS, LIGHT_RADIUS = 0.01, 0.02
"""The same for bodies on which nothing is mounted: enough to exist."""
WEIGHTLESS = 1e-6
"""Share of the moving mass below which a body has none, as in files that give no mass to a body that only turns."""
UNCORRELATED = 0.05
"""Autocorrelation that ends the correlation time: its own error in 400 samples."""
LONGEST_LAG = 400
LONGEST_STEP = 0.5
"""Largest change of a transition's logarithm from pass to pass."""
RIDGE = 1e-12
STATES = 50


class LeastSquares(NamedTuple):
    """Textbook least squares: base parameters, viscous and Coulomb friction and an offset of each motor.

    Attributes
    ----------
    terms, values
        Friction terms; base parameters, then friction motor by motor, shape (p,).
    residuals, deviations
        Shapes (k, n) of all samples, and (n,) of the used ones.
    viscous, coulomb, coulomb_error
        Friction of the motors, shape (n,), and the standard error of its Coulomb friction.
    rows
        Weighted rows of the used samples, shape (rows, p).
    """

    terms: FrictionTerms
    values: FloatArray
    residuals: FloatArray
    deviations: FloatArray
    viscous: FloatArray
    coulomb: FloatArray
    coulomb_error: FloatArray
    rows: FloatArray

    def torque(self, equations: TorqueEquations) -> FloatArray:
        """Predicted efforts at the kept samples of equations, shape (k, n)."""
        return np.asarray(textbook_columns(equations, self.terms) @ self.values)


@dataclass(frozen=True)
class Estimate:
    """Estimated unknowns: inertial ones, then friction motor by motor.

    Attributes
    ----------
    unknowns
        Bodies and rotors to which the inertial ones belong.
    terms
        Friction terms.
    values
        Shape (p,).
    minimum
        Solution of the convex problem, with its second derivatives.
    columns
        Columns of the unknowns at all kept samples, shape (k, n, p).
    residuals, weights
        Values of all kept samples, shape (k, n); weights 1 / (s² t) as in the last pass, 0 where a row was not used.
    deviations
        Standard deviations of the used residuals, shape (n,).
    textbook
        Least squares that the estimate began with.
    """

    unknowns: InertialUnknowns
    terms: FrictionTerms
    values: FloatArray
    minimum: Minimum
    columns: FloatArray
    residuals: FloatArray
    weights: FloatArray
    deviations: FloatArray
    textbook: LeastSquares

    @property
    def inertial(self) -> FloatArray:
        """Parameters of bodies and rotors."""
        return self.values[: -len(self.terms.names) * len(self.terms.transitions)]

    @property
    def friction(self) -> dict[str, FloatArray]:
        """Coefficients of the motors' friction by column, each of shape (n,)."""
        table = self.values[len(self.inertial) :].reshape(-1, len(self.terms.names))
        return dict(zip(self.terms.names, table.T, strict=True))

    @property
    def coulomb(self) -> FloatArray:
        """Dry friction of the motors' transitions, shape (n, transitions)."""
        return np.stack([values for name, values in self.friction.items() if name.startswith("coulomb")], axis=1)

    def columns_of(self, equations: TorqueEquations) -> FloatArray:
        """Columns of the unknowns at the kept samples of equations, shape (k, n, p)."""
        return _columns(equations, self.terms, self.inertial)

    def torque(self, equations: TorqueEquations) -> FloatArray:
        """Predicted efforts at the kept samples of equations, shape (k, n)."""
        return np.asarray(self.columns_of(equations) @ self.values)


def _columns(equations: TorqueEquations, terms: FrictionTerms, inertial: FloatArray) -> FloatArray:
    return np.concatenate([equations.columns, equations.friction(terms, equations.load(inertial))], axis=2)


def estimate(robot: Robot, equations: TorqueEquations, used: NDArray[np.bool_], friction: Friction = "all") -> Estimate:
    """Estimate bodies, rotors and friction from the used rows of equations.

    Parameters
    ----------
    robot
        Prior model, whose bodies are the references.
    equations
        Equations of the samples.
    used
        Rows that count, shape (k, n).
    friction
        ``"all"`` terms, or ``"urdf"``: viscous friction and one transition, which is found along (Gauss-Newton).
    """
    units = robot.description.displacement_units
    shares, signed = (TRANSITIONS, signed_terms(robot)) if friction == "all" else ((0.05,), ())
    terms = FrictionTerms.of(equations.motor_rates, units, shares, signed)
    textbook = least_squares(equations, used, units)
    residuals, deviations = textbook.residuals, textbook.deviations
    references = _references(robot, equations, used, terms)
    units_of_signed, inertial, start = references.deviations, equations.inertial.of(robot), None
    for _ in range(PASSES):
        A, weights = _columns(equations, terms, inertial), row_weights(residuals, deviations, used)
        rows = (A * np.sqrt(weights)[..., None]).reshape(-1, A.shape[2])
        g = rows.T @ (equations.effort * np.sqrt(weights)).ravel()
        solution = minimum(rows.T @ rows, g, references, start)
        residuals = equations.effort - A @ solution.unknowns
        deviations = robust_deviations(residuals, used, equations.effort)
        found = Estimate(
            equations.inertial, terms, solution.unknowns, solution, A, residuals, weights, deviations, textbook
        )
        start, inertial = solution.point, found.inertial
        if friction == "all":
            references = references._replace(deviations=_empirical(solution, references, units_of_signed, signed))
        else:
            terms = _moved(equations, found)
    return found


def signed_terms(robot: Robot) -> tuple[str, ...]:
    """Friction terms of either sign; with loops none depends on the load, which loops and motors share."""
    return SIGNED[1:] if robot.description.loops else SIGNED


def _moved(equations: TorqueEquations, found: Estimate) -> FrictionTerms:
    """Terms with each motor's transition moved by a Gauss-Newton step of its logarithm, beside all other unknowns."""
    slopes = equations.transition_slopes(found.terms, found.coulomb)
    root = np.sqrt(found.weights)[..., None]
    own, others = (x.reshape(-1, x.shape[2]) for x in (slopes * root, found.columns @ found.minimum.motions * root))
    taken = np.linalg.solve(found.minimum.hessian, others.T @ own)
    information = own.T @ own - (own.T @ others) @ taken + np.eye(own.shape[1])
    step = np.linalg.solve(information, own.T @ (found.residuals * root[..., 0]).ravel())
    limited = np.clip(step, -LONGEST_STEP, LONGEST_STEP)[:, None]
    return replace(found.terms, transitions=found.terms.transitions * np.exp(limited))


def row_weights(residuals: FloatArray, deviations: FloatArray, used: NDArray[np.bool_]) -> FloatArray:
    """Weights 1 / (s² t) of the used rows, less for outliers, shape (k, n)."""
    bounded = np.minimum(1.0, HUBER * deviations / np.maximum(np.abs(residuals), 1e-300))
    return np.where(used, bounded / (deviations**2 * correlation_times(residuals * bounded, used)), 0.0)


def correlation_times(residuals: FloatArray, used: NDArray[np.bool_]) -> FloatArray:
    """Samples of each joint's residuals that count for one, shape (n,): 1 + 2 Σ ρ up to the first small ρ.

    Examples
    --------
    An autoregression with the coefficient 0.5 has 1 + 2 (0.5 + 0.25 + …) = 3; small correlations do not count:

    >>> from scipy.signal import lfilter
    >>> white = np.random.default_rng(0).normal(size=(100000, 1))
    >>> correlation_times(lfilter([1.0], [1.0, -0.5], white, axis=0), np.ones((100000, 1), bool)).round(1)
    array([2.9])
    """
    found = np.ones(residuals.shape[1])
    for joint, rows in enumerate(used.T):
        x = np.where(rows, residuals[:, joint], 0.0)
        power = float(x @ x)
        for lag in range(1, min(LONGEST_LAG, len(x) // 3) if power > 0.0 else 1):
            correlation = float(x[lag:] @ x[:-lag]) / power
            if correlation < UNCORRELATED:
                break
            found[joint] += 2.0 * correlation
    return found


def least_squares(equations: TorqueEquations, used: NDArray[np.bool_], units: tuple[str, ...]) -> LeastSquares:
    """Weighted least squares with the best of four transitions; weights of the joints by iteration.

    J. Swevers et al., "Optimal robot excitation and identification" (IEEE Trans. Robotics and Automation 13(5), 1997).
    """
    best: tuple[float, LeastSquares] | None = None
    for share in TRIED_TRANSITIONS:
        terms = FrictionTerms.of(equations.motor_rates, units, (share,), ("offset",))
        found = _reweighted(textbook_columns(equations, terms), equations.effort, used, terms)
        score = float(np.log(found.deviations[used.any(axis=0)]).sum())
        if best is None or score < best[0]:
            best = score, found
    assert best is not None
    return best[1]


def textbook_columns(equations: TorqueEquations, terms: FrictionTerms) -> FloatArray:
    """Filtered columns of base parameters and friction at the kept samples, shape (k, n, p)."""
    no_load = np.zeros_like(equations.motor_rates)
    return np.concatenate([equations.base_columns, equations.friction(terms, no_load)], axis=2)


def _reweighted(A: FloatArray, y: FloatArray, used: NDArray[np.bool_], terms: FrictionTerms) -> LeastSquares:
    p, n, of_motor = A.shape[2], y.shape[1], len(terms.names)
    selected = [(A[rows, joint], y[rows, joint]) for joint, rows in enumerate(used.T)]
    grams = [(X.T @ X, X.T @ target) for X, target in selected]
    deviations = y.std(axis=0) + 1e-12
    for _ in range(REWEIGHTED):
        weight = deviations**-2.0
        G = sum(w * gram for w, (gram, _) in zip(weight, grams, strict=True))
        g = sum(w * right for w, (_, right) in zip(weight, grams, strict=True))
        sizes = np.sqrt(np.maximum(np.diag(G), 1e-300))
        inverse = np.linalg.pinv(G / np.outer(sizes, sizes), rcond=RIDGE, hermitian=True)
        x = inverse @ (g / sizes) / sizes
        residuals = y - A @ x
        deviations = robust_deviations(residuals, used, y)
    times = correlation_times(residuals, used)
    friction = x[p - of_motor * n :].reshape(n, of_motor)
    errors = np.sqrt(np.maximum(np.diag(inverse), 0.0) * times.max(initial=1.0)) / sizes
    rows = np.concatenate([X / s for (X, _), s in zip(selected, deviations, strict=True)])
    coulomb_error = errors[p - of_motor * n :].reshape(n, of_motor)[:, 1]
    return LeastSquares(terms, x, residuals, deviations, friction[:, 0], friction[:, 1], coulomb_error, rows)


def _references(robot: Robot, equations: TorqueEquations, used: NDArray[np.bool_], terms: FrictionTerms) -> References:
    """Bodies of the prior, and numbers with a tenth of the measured torque; a joint without rows keeps its prior's."""
    n, inertial, count = robot.n, equations.columns.shape[2], len(terms.names)
    bodies, told = equations.inertial.bodies, used.any(axis=0)
    effort = _root_mean_square(equations.effort, used)
    kept = equations.kept
    rate = _root_mean_square(equations.motor_rates[kept], used)
    acceleration = _root_mean_square((equations.signals.qdd @ equations.coupling.T)[kept], used)
    known = equations.inertial.of(robot)[10 * bodies :]
    rotors = np.where(told & (known <= 0.0), TENTH * effort / acceleration, np.maximum(known, 1e-9))
    dry = [name for name in terms.names if name.startswith("coulomb")]

    def places(name: str) -> NDArray[np.intp]:
        return np.asarray(inertial + np.arange(n) * count + terms.names.index(name), dtype=np.intp)

    positive = [10 * bodies + np.arange(n), *(places(name) for name in ("viscous", *dry))]
    frictions = np.where(told, TENTH * effort, 1e-9)
    sizes = [rotors, frictions / rate, *(frictions for _ in dry)]
    deviations = {
        "load": np.full(n, TENTH),
        "offset": OFFSET * effort,
        "sine": TENTH * effort,
        "cosine": TENTH * effort,
    }
    signed = [places(name) for name in terms.signed]
    return References(
        np.asarray(np.linalg.cholesky(reference_bodies(robot, bodies)), dtype=np.float64),
        np.concatenate(positive), np.concatenate(sizes),
        np.concatenate([np.zeros(0, dtype=np.intp), *signed]),
        np.concatenate([np.zeros(0), *(deviations[name] for name in terms.signed)]),
    )  # fmt: skip


def _root_mean_square(values: FloatArray, used: NDArray[np.bool_]) -> FloatArray:
    """Root mean square of the used samples of each column, shape (n,); 1 where there are none."""
    count = used.sum(axis=0)
    mean = np.sum(np.where(used, values, 0.0) ** 2, axis=0) / np.maximum(count, 1)
    return np.where(count > 0, np.sqrt(mean) + 1e-9, 1.0)


def reference_bodies(robot: Robot, bodies: int, *, only_ends: bool = False) -> FloatArray:
    """Pseudo-inertias of the prior's bodies, none lighter or smaller than what users mount, shape (bodies, 4, 4).

    With `only_ends` this holds for the ends of the tree, where grippers and loads are: in the rows of a free base all
    bodies act together, and what is too heavy in each adds up.

    The size of the arm is that of a rod of its mass: 2 √(M/m), with the largest mass M of its first two joints (of a
    free base the inertia about two axes).
    """
    J = np.asarray(pseudo_inertia_from_inertial_parameters(robot.inertial.values[: 10 * bodies].reshape(-1, 10)))
    mass, rng = J[:, 3, 3].sum(), np.random.default_rng(0)
    if robot.description.loops or robot.nq != robot.n:
        q = robot.random_configuration(rng, (STATES,))
    else:
        lower, upper = np.maximum(robot.lower_limits, -np.pi), np.minimum(robot.upper_limits, np.pi)
        q = rng.uniform(lower, upper, (STATES, robot.n))
    M = np.asarray(robot.mass_matrix(q))
    tree = build_tree(robot.description)
    inner = np.isin(tree.carriers, [body.parent for body in tree.bodies]) & only_ends
    radius = np.where(inner, LIGHT_RADIUS, LEAST_RADIUS)[:, None] * 2.0
    radius = radius * np.sqrt(np.diagonal(M, axis1=1, axis2=2)[:, :2].max(axis=1).mean() / mass)
    center = J[:, :3, 3] / np.maximum(J[:, 3, 3], 1e-9)[:, None]
    own = np.maximum(J[:, 3, 3], np.where(inner, LIGHT_MASS, LEAST_MASS) * mass)
    weighed = np.where(J[:, 3, 3] > WEIGHTLESS * mass, J[:, 3, 3], own)  # a body may have an inertia and no mass
    spread = (J[:, :3, :3] - J[:, 3, 3, None, None] * center[:, :, None] * center[:, None]) / weighed[:, None, None]
    w, V = np.linalg.eigh(spread)
    spread = V @ (np.maximum(w, radius**2)[..., None] * np.swapaxes(V, 1, 2)) + np.einsum("bi,bj->bij", center, center)
    thick = np.empty_like(J)
    thick[:, :3, :3], thick[:, 3, 3] = own[:, None, None] * spread, own
    thick[:, :3, 3] = thick[:, 3, :3] = own[:, None] * center
    return thick


def _empirical(solution: Minimum, references: References, units: FloatArray, kinds: tuple[str, ...]) -> FloatArray:
    """Deviations of the signed numbers: as large as the mean square of their kind over the joints; not offsets."""
    variance = np.diag(np.linalg.inv(solution.hessian))[references.signed]
    square = (solution.unknowns[references.signed] ** 2 + variance) / units**2
    mean = np.repeat(square.reshape(len(kinds), -1).mean(axis=1), len(square) // len(kinds))
    offset = np.repeat([kind == "offset" for kind in kinds], len(square) // len(kinds))
    return np.asarray(np.where(offset, units, units * np.minimum(np.sqrt(mean), LARGEST)))
