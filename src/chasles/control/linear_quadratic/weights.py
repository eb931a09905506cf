"""Weights of quadratic costs: checked, chosen by Bryson's rule, or such that the sampled loop has given poles."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.control.pole_design import PoleDesign, error_poles, held_weights
from chasles.engine.validators import doubles, real, reals
from chasles.robot.robot import Robot

Floats = NDArray[np.float64]

_ASYMMETRY = 1e-10  # of a matrix given as symmetric, relative to its largest element
_ROUNDING = 1e-12  # of an eigenvalue that counts as zero, relative to the largest
_LARGE_TORQUE = 0.1  # of a joint's greatest torque
_CYCLES = 2.0  # of what changes along a motion, at most
_LEAST_DAMPING = 0.5**0.5  # of a regulator
_NATURAL_FREQUENCY = 30.0  # 1/s, of joints whose greatest torque is not known


ENCODER_NOISE = 1e-4
"""Standard deviation of measured positions that filters expect by default, rad (m)."""


class Weights(NamedTuple):
    """Weights of the cost ∫ (δxᵀ Q δx + δuᵀ R δu) dt: Q (2n, 2n) of δx = (δq, δq̇) and R (n, n) of torques.

    Their units make both terms rates in 1/s: 1/rad² for positions, s²/rad² for velocities, 1/(N·m)² for torques (m and
    N for prismatic joints), each times 1/s.
    """

    Q: Floats
    R: Floats


def bryson_weights(
    robot: Robot,
    *,
    position_error: ArrayLike = 0.01,
    velocity_error: ArrayLike = 0.5,
    torque: ArrayLike | None = None,
) -> Weights:
    """Return weights that give the largest tolerable errors and torques equal cost: Q = 1/error², R = 1/torque².

    Bryson's rule (Bryson and Ho, Applied Optimal Control).

    Parameters
    ----------
    robot
        Robot whose effort limits provide the default of ``torque``.
    position_error, velocity_error
        Largest tolerable deviation of each joint, rad and rad/s (m and m/s for prismatic joints): a scalar or (n,).
    torque
        Largest tolerable correction of each joint's torque, N·m (N): a scalar or (n,). Default a tenth of the robot's
        effort limits. For a joint without a limit, the torque that gives its inertia at home a natural frequency of 30
        rad/s at ``position_error``.

    Raises
    ------
    ArgumentError
        If a value is not positive.

    Examples
    --------
    >>> import chasles as ch
    >>> weights = bryson_weights(ch.load("planar2r"), position_error=0.02, velocity_error=0.5, torque=10.0)
    >>> weights.Q.diagonal(), weights.R.diagonal()
    (array([2500., 2500.,    4.,    4.]), array([0.01, 0.01]))
    """
    position = reals(position_error, "position_error", (robot.n,), broadcast=True, above=0.0)
    velocity = reals(velocity_error, "velocity_error", (robot.n,), broadcast=True, above=0.0)
    if torque is None:
        inertia = np.diagonal(robot.mass_matrix(robot.home))
        limited = np.isfinite(robot.effort_limits) & (robot.effort_limits > 0.0)
        limits = np.where(limited, robot.effort_limits, 0.0)
        torque = np.where(limited, _LARGE_TORQUE * limits, inertia * _NATURAL_FREQUENCY**2 * position)
    tau = reals(torque, "torque", (robot.n,), broadcast=True, above=0.0)
    return Weights(np.diag(np.concatenate([position, velocity]) ** -2.0), np.diag(tau**-2.0))


def frequency_weights(
    mass_matrix: ArrayLike,
    frequency: float,
    damping: float = 1.0,
    integral: float = 0.0,
    period: float | None = None,
) -> Weights:
    """Return weights that make the regulator of a mass matrix a spring ω² M and a damper 2 ζ ω M.

    The regulator of M q̈ = u for these weights has exactly these symmetric gains, as its Riccati equation shows. For a
    plant whose model has gravity and Coriolis terms the optimal gains differ, the less the larger ω is.

    A robot of another mass matrix M_true at a pose under these gains, in continuous time:

    - It returns to the pose if the stiffness ω² M + ∂g/∂q is positive definite: with the damper, its energy is a
      Lyapunov function (Kelvin, Tait and Chetaev). Without gravity, every payload is held; a payload above its joint
      has a negative ∂g/∂q, which must not outweigh the spring.
    - With integrals and without gravity, it returns if and only if every eigenvalue λ of M⁻¹ M_true is below
      (2 ζ + κ) (1 + 2 ζ κ) / κ: Routh's condition for λ s³ + (2 ζ + κ) ω s² + (1 + 2 ζ κ) ω² s + κ ω³. For ζ = κ = 1
      that is 9.

    Delays, and torques held for a period that is not short beside 1 / ω, lower these bounds. Other weights do not
    guarantee them, because their optimal stiffness is in general not symmetric.

    Parameters
    ----------
    mass_matrix
        M, shape (n, n), symmetric and positive definite: at one pose, or the mean over the poses of a motion.
    frequency
        ω, 1/s.
    damping
        Damping ratio ζ, at least 1/√2, the lowest that a regulator can have.
    integral
        Integral ratio κ: with the integrals of the deviations as additional states, the regulator has a third pole at
        -κ ω. Its gains are then κ ω³ M on the integral, (1 + 2 ζ κ) ω² M and (2 ζ + κ) ω M. Default 0: no integrals.
    period
        Sample period h, s, for regulators whose torques are held between samples, such as `TimeVaryingRegulator`. The
        sampled loop then has the poles exp(s h) for each pole s above. The default, continuous time, gives slower poles
        when sampled. See `chasles.control.pole_design.held_weights`.

    Returns
    -------
    Weights
        Q = diag(ω³ M / (2 ζ), ω (2 ζ - 1/ζ) M) and R = (2 ζ ω M)⁻¹. All terms of the cost are powers, in W. With
        integrals, Q = diag((1 + (4 ζ² - 2) κ²) ω⁴, (4 ζ² - 2 + κ²) ω², κ² ω⁶) ⊗ M / (2 ζ ω): the factorisation p(s)
        p(-s) of the desired polynomial p, term by term.

    Raises
    ------
    ArgumentError
        If a value is out of range, or the matrix is not symmetric and positive definite.

    Examples
    --------
    >>> weights = frequency_weights([[2.0]], frequency=10.0, damping=1.0)
    >>> from chasles.control.linear_quadratic import continuous_riccati
    >>> continuous_riccati([[0.0, 1.0], [0.0, 0.0]], [[0.0], [0.5]], *weights).K.round(9)
    array([[200.,  40.]])
    >>> Q, R = frequency_weights([[2.0]], frequency=10.0, damping=1.0, integral=1.0)
    >>> A, B = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]), np.array([[0.0], [0.5], [0.0]])
    >>> continuous_riccati(A, B, Q, R).K.round(6)  # (s + 10)³ = s³ + 30 s² + 300 s + 1000
    array([[ 600.,   60., 2000.]])

    The poles of the sampled regulator at 20 Hz are exp(-10 / 20), twice:

    >>> from chasles.control.linear_quadratic import discrete_riccati
    >>> A, B = np.array([[1.0, 0.05], [0.0, 1.0]]), np.array([[0.05**2 / 4.0], [0.05 / 2.0]])
    >>> K = discrete_riccati(A, B, *frequency_weights([[2.0]], 10.0, period=0.05)).K
    >>> np.poly(A - B @ K).round(9), np.poly(2 * [np.exp(-0.5)]).round(9)
    (array([ 1.        , -1.21306132,  0.36787944]), array([ 1.        , -1.21306132,  0.36787944]))
    """
    M = weight_matrix(mass_matrix, len(np.atleast_1d(mass_matrix)), "mass_matrix", definite=True)
    omega, zeta = real(frequency, "frequency", above=0.0), real(damping, "damping", above=0.0)
    if zeta < _LEAST_DAMPING * (1.0 - 1e-12):
        raise ArgumentError(f"damping must be 1/sqrt(2) or more, not {zeta:g}: regulators are not damped less")
    kappa = real(integral, "integral", at_least=0.0)
    if period is not None:
        terms = held_weights(error_poles(omega, zeta, kappa), real(period, "period", above=0.0)).tolist()
    else:
        spread = max(0.0, 4.0 * zeta**2 - 2.0)
        terms = [(1.0 + spread * kappa**2) * omega**4, (spread + kappa**2) * omega**2]
        terms += [kappa**2 * omega**6] if kappa else []
    Q = np.asarray(np.kron(np.diag(terms), M), dtype=np.float64) / (2.0 * zeta * omega)
    R = np.linalg.solve(2.0 * zeta * omega * M, np.eye(len(M)))
    return Weights(Q, 0.5 * (R + R.T))


def weight_matrix(value: ArrayLike, size: int, name: str, *, definite: bool) -> Floats:
    """Return a weight as a symmetric matrix (size, size), from a matrix, its diagonal, or one number for all of it.

    Parameters
    ----------
    value, size, name
        Weight as given, its size, and its name in error messages.
    definite
        Whether it must be positive definite, or may be semidefinite.

    Raises
    ------
    ArgumentError
        If it has another shape, is not finite, not symmetric or has an eigenvalue below (or at) zero.

    Examples
    --------
    >>> weight_matrix([1.0, 4.0], 2, "R", definite=True)
    array([[1., 0.],
           [0., 4.]])
    """
    array = doubles(value, name)
    if array.ndim < 2 and array.shape in ((), (size,)):
        array = np.diag(np.broadcast_to(array, size))
    if array.shape != (size, size):
        raise ArgumentError(f"{name} must be a number, ({size},) or ({size}, {size}), not {array.shape}")
    diagonal = array.diagonal()
    if np.count_nonzero(array) == np.count_nonzero(diagonal):  # as most weights: its eigenvalues need no computing
        eigenvalues = diagonal.tolist()
        if not all(map(math.isfinite, eigenvalues)):
            reals(value, name)  # says which is not
        smallest, largest = min(eigenvalues, default=np.inf), max(eigenvalues, default=0.0)
        _require_definite(smallest, max(-smallest, largest), name, definite)
        return array.copy()
    scale = float(np.abs(array).max())
    if not math.isfinite(scale):
        reals(value, name)
    array = array.copy()
    symmetric = array
    if not (array == array.T).all():
        difference = np.abs(array - array.T)
        if difference.max() > _ASYMMETRY * scale:
            i, j = np.unravel_index(difference.argmax(), array.shape)
            a, b = array[i, j], array[j, i]
            raise ArgumentError(f"{name} must be symmetric, but {name}[{i}, {j}] = {a:g} and {name}[{j}, {i}] = {b:g}")
        symmetric = 0.5 * (array + array.T)
    if _is_clearly_definite(symmetric, _ROUNDING * scale):
        return symmetric
    _require_definite(float(np.linalg.eigvalsh(symmetric)[0]), scale, name, definite)
    return symmetric


def rescaled(weight: Floats, diagonal: Any) -> Floats:
    """Return a weight with another diagonal: its correlations W_ij / √(W_ii W_jj) stay.

    >>> rescaled(np.array([[4.0, 1.0], [1.0, 1.0]]), np.array([1.0, 4.0]))
    array([[1., 1.],
           [1., 4.]])
    """
    before = weight.diagonal()
    root = np.sqrt(np.divide(diagonal, before, out=np.zeros(len(before)), where=before > 0.0))
    other: Floats = weight * root[:, None] * root
    np.fill_diagonal(other, diagonal)
    return other


def slopes_by_diagonal(weight: Floats) -> Floats:
    """Derivatives of `rescaled` by each element of the diagonal, shape (size, size, size).

    >>> slopes_by_diagonal(np.array([[4.0, 1.0], [1.0, 1.0]]))[1]
    array([[0. , 0.5],
           [0.5, 1. ]])
    """
    diagonal = weight.diagonal()
    shares = np.divide(weight, 2.0 * diagonal[:, None], out=np.zeros_like(weight), where=diagonal[:, None] > 0.0)
    rows = np.eye(len(weight))[:, :, None] * shares[:, None, :]
    slopes = rows + np.swapaxes(rows, -1, -2)
    each = np.arange(len(weight))
    slopes[each, each, each] = 1.0
    return np.asarray(slopes)


def _require_definite(smallest: float, scale: float, name: str, definite: bool) -> None:
    if smallest < -_ROUNDING * scale or (definite and smallest <= _ROUNDING * scale):
        kind = "positive definite" if definite else "positive semidefinite"
        raise ArgumentError(f"{name} must be {kind}, but its smallest eigenvalue is {smallest:g}")


def _is_clearly_definite(matrix: Floats, least: float) -> bool:
    """Whether all eigenvalues are clearly above a number, in a fraction of the time that computing them takes."""
    shifted = matrix.copy()
    shifted.ravel()[:: len(matrix) + 1] -= 2.0 * least
    try:
        np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError:
        return False
    return True


def regulator_gains(design: PoleDesign) -> dict[str, Any]:
    """Return Q and R that give the sampled regulator of the mean mass matrix the designed poles.

    See `chasles.control.linear_quadratic.frequency_weights`. Damping ratios below 1/√2 are raised to it.
    """
    mean = design.mass_matrices.mean(axis=0)
    damping = max(design.damping, _LEAST_DAMPING)
    Q, R = frequency_weights(mean, design.attainable, damping, design.integral, design.period)
    return {"Q": Q, "R": R}


def filtered_regulator_gains(design: PoleDesign, filter: float = 10.0, resonance: float = math.inf) -> dict[str, Any]:
    """Return `regulator_gains` and noises for which the Kalman filter is ``filter`` times as fast as the poles.

    Beside a resonance f that the model leaves out, Hz, it stays an octave below, at π f at most: a faster one takes the
    links' swings on their springs for unknown torques.

    Encoders with noise v and a unit mass under unknown accelerations a, held for short periods, have the filter
    s² + √2 Ω s + Ω² with Ω² = a / v. The unknown torque of each joint is Ω² v times its inertia: as large as the torque
    with which a load resists, and not as the torque of the plan, which is zero at a joint that carries nothing.

    A lasting torque that wanders by λ h times that in a period h, and by no more than that, adds a pole at about -λ for
    λ well below Ω, and -0.83 Ω for λ = Ω: its estimate is nearly as fast. Loads change along the motion, in two cycles
    of it at most, and faster ones than the loop's poles do not matter: λ is the larger of both rates.
    """
    bandwidth = min(filter * design.attainable, math.pi * real(resonance, "resonance", above=0.0, infinite=True))
    torque_error = bandwidth**2 * ENCODER_NOISE * design.inertia
    lasting = min(bandwidth, max(design.attainable, 2.0 * math.pi * _CYCLES / design.motion.duration))
    lasting_error = min(1.0, lasting * design.period) * torque_error
    return regulator_gains(design) | {
        "torque_error": torque_error,
        "lasting_error": lasting_error,
        "encoder_noise": ENCODER_NOISE,
    }
