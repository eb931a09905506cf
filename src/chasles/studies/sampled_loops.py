"""Poles that linear laws attain on a unit mass whose torques are held and late: what a design becomes when sampled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.control import PoleDesign
from chasles.control.delayed_hold import delayed_hold, pending_count
from chasles.control.linear_law import LinearLaw, closed_loops
from chasles.control.linear_quadratic import LinearModel, discrete_riccati
from chasles.control.linear_quadratic.along_motion import with_integral, with_pending
from chasles.control.linear_quadratic.kalman import encoders, stationary_kalman_gains
from chasles.control.linear_quadratic.weights import ENCODER_NOISE
from chasles.control.pole_design import Complex, SampledGains, held_gains, held_weights

Floats = NDArray[np.float64]
#: A call of a linear law: error and rate (2,), and memory, to the force and the next memory.
Call = Callable[[Floats, Floats], tuple[float, Floats]]

#: A unit mass: ẋ = A x + B u with x = (e, ė).
_A, _B = np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0], [1.0]])
_FORGOTTEN = 1e-300  # magnitude of the eigenvalues of what is forgotten at once


def sampled_poles(call: Call, memory: int, period: float, delay: float) -> Complex:
    """Return the poles, 1/s, of a law with so many values of memory on a unit mass, the slowest first.

    Parameters
    ----------
    call, memory
        The law: a function of this file.
    period
        Sample period, s.
    delay
        Delay of the plant, in sample periods.
    """
    columns = [
        np.concatenate([np.atleast_1d(part) for part in call(unit[:2], unit[2:])]) for unit in np.eye(2 + memory)
    ]
    D, B, C, A = (
        np.array(columns).T[None, rows, places]
        for places in (slice(0, 2), slice(2, None))
        for rows in (slice(0, 1), slice(1, None))
    )
    held = delayed_hold(_A, _B, period, delay)
    z = np.linalg.eigvals(closed_loops(LinearLaw(A, B, C, D), held.A[None], tuple(B[None] for B in held.B_late))[0])
    slowest_first = z[np.argsort(-np.abs(z), kind="stable")].astype(np.complex128)
    return np.asarray(np.log(np.where(np.abs(slowest_first) > _FORGOTTEN, slowest_first, _FORGOTTEN)) / period)


def state_feedback(gains: SampledGains, period: float) -> tuple[Call, int]:
    """Return u = -(kp e + kd ė + ki z), z the sum of the errors with the present one, if there is integral action."""

    def call(x: Floats, z: Floats) -> tuple[float, Floats]:
        following = z + period * x[: len(z)]
        return float(-gains.kp * x[0] - gains.kd * x[1] - gains.ki * following.sum()), following

    return call, int(gains.ki != 0.0)


def observed(design: PoleDesign, frequency: float, bandwidth: float) -> tuple[Call, int]:
    """Return state feedback less the disturbance that an observer finds; memory: disturbance, last rate, last force."""
    K = held_gains(design.poles(frequency)[:2], design.period)
    decay = float(np.exp(-bandwidth * design.period))

    def call(x: Floats, memory: Floats) -> tuple[float, Floats]:
        disturbance, rate, force = memory
        met = (x[1] - rate) / design.period - force
        disturbance = decay * disturbance + (1.0 - decay) * met
        u = float(-K @ x) - disturbance
        return u, np.array([disturbance, x[1], u])

    return call, 3


def regulator(design: PoleDesign, frequency: float, delay: float) -> tuple[Call, int]:
    """Return the regulator for a delay that it knows; memory: sum of the errors, and forces that are still to act."""
    K, waiting = _delayed_gains(design, frequency, delay)

    def call(x: Floats, memory: Floats) -> tuple[float, Floats]:
        u = float(-K @ np.concatenate([x, memory]))
        return u, _following(design, x[0], u, memory, waiting)

    return call, len(K) - 2


def filtered(design: PoleDesign, frequency: float, delay: float, given: Mapping[str, Any]) -> list[tuple[Call, int]]:
    """Return that regulator for each joint on the estimate of a Kalman filter that sees positions.

    The memory is the prediction, and then that of `regulator`.

    Parameters
    ----------
    design, frequency, delay
        Design, its natural frequency, rad/s, and the delay that the law knows, in sample periods.
    given
        Settings of the law: ``torque_error`` and, if it differs from the default, ``encoder_noise``.
    """
    K, waiting = _delayed_gains(design, frequency, delay)
    A, B_late = delayed_hold(_A, _B, design.period, delay)
    B = np.concatenate(B_late, axis=-1)
    pushed = delayed_hold(_A, _B, design.period, 0.0).B_late[0]
    # In units of the encoders' noise and of the unknown accelerations only the measurement differs from joint to joint.
    share = np.asarray(given["torque_error"]) / design.inertia / np.asarray(given.get("encoder_noise", ENCODER_NOISE))
    L = stationary_kalman_gains(A, share[:, None, None] * encoders(1), pushed @ pushed.T, 1.0).L[..., 0]

    def law(gains: Floats) -> Call:
        def call(x: Floats, memory: Floats) -> tuple[float, Floats]:
            prediction, rest = memory[:2], memory[2:]
            estimate = prediction + gains * (x[0] - prediction[0])
            u = float(-K @ np.concatenate([estimate, rest]))
            prediction = A @ estimate + B @ np.concatenate([[u], rest[len(rest) - waiting :]])
            return u, np.concatenate([prediction, _following(design, x[0], u, rest, waiting)])

        return call

    return [(law(gains), len(K)) for gains in share[:, None] * L]


def _delayed_gains(design: PoleDesign, frequency: float, delay: float) -> tuple[Floats, int]:
    """Return gains (m,) of the regulator of a unit mass for a known delay, and the number of forces that wait."""
    held, waiting = delayed_hold(_A, _B, design.period, delay), pending_count(delay)
    model = LinearModel(held.A, held.B_late[0])
    if design.integral:
        model = with_integral(*model, np.eye(1), design.period)
    model = with_pending(model, held.B_late[1:], 1)
    weights = held_weights(design.poles(frequency), design.period)
    Q = np.diag(np.concatenate([weights, np.zeros(waiting)]))
    return discrete_riccati(*model, Q, 1.0).K[0], waiting


def _following(design: PoleDesign, error: float, u: float, memory: Floats, waiting: int) -> Floats:
    """Return the next sum of errors, if there is one, and forces that wait, the latest first."""
    z, pending = memory[: len(memory) - waiting], memory[len(memory) - waiting :]
    return np.concatenate([z + design.period * error, [u, *pending[:-1]] if waiting else []])
