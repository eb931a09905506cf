"""Linear-quadratic control: exact linear models along a motion, regulators and estimators."""

from chasles.control.linear_quadratic.algebraic_riccati import (
    InfiniteHorizon,
    RegulatorError,
    continuous_riccati,
    discrete_riccati,
)
from chasles.control.linear_quadratic.gain_schedule import GainScheduledRegulator
from chasles.control.linear_quadratic.gaussian import LinearQuadraticGaussian
from chasles.control.linear_quadratic.kalman import (
    FilterGains,
    KalmanFilter,
    encoders,
    kalman_gains,
    stationary_kalman_gains,
)
from chasles.control.linear_quadratic.linear_model import LinearModel, discretize, linear_model
from chasles.control.linear_quadratic.regulator import LinearQuadraticRegulator
from chasles.control.linear_quadratic.riccati import FiniteHorizon, backward_riccati
from chasles.control.linear_quadratic.riccati_flow import differential_riccati
from chasles.control.linear_quadratic.time_varying import TimeVaryingRegulator
from chasles.control.linear_quadratic.weights import (
    Weights,
    bryson_weights,
    filtered_regulator_gains,
    frequency_weights,
    regulator_gains,
)

__all__ = [
    "FilterGains",
    "FiniteHorizon",
    "GainScheduledRegulator",
    "InfiniteHorizon",
    "KalmanFilter",
    "LinearModel",
    "LinearQuadraticGaussian",
    "LinearQuadraticRegulator",
    "RegulatorError",
    "TimeVaryingRegulator",
    "Weights",
    "backward_riccati",
    "bryson_weights",
    "continuous_riccati",
    "differential_riccati",
    "discrete_riccati",
    "discretize",
    "encoders",
    "filtered_regulator_gains",
    "frequency_weights",
    "kalman_gains",
    "linear_model",
    "regulator_gains",
    "stationary_kalman_gains",
]
