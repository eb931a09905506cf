from chasles.control.linear_model import LinearModel as LinearModel
from chasles.control.linear_model import discretize as discretize
from chasles.control.linear_model import linear_model as linear_model
from chasles.control.linear_quadratic.algebraic_riccati import InfiniteHorizon as InfiniteHorizon
from chasles.control.linear_quadratic.algebraic_riccati import RegulatorError as RegulatorError
from chasles.control.linear_quadratic.algebraic_riccati import continuous_riccati as continuous_riccati
from chasles.control.linear_quadratic.algebraic_riccati import discrete_riccati as discrete_riccati
from chasles.control.linear_quadratic.gain_schedule import GainScheduledRegulator as GainScheduledRegulator
from chasles.control.linear_quadratic.gaussian import LinearQuadraticGaussian as LinearQuadraticGaussian
from chasles.control.linear_quadratic.kalman import FilterGains as FilterGains
from chasles.control.linear_quadratic.kalman import KalmanFilter as KalmanFilter
from chasles.control.linear_quadratic.kalman import encoders as encoders
from chasles.control.linear_quadratic.kalman import kalman_gains as kalman_gains
from chasles.control.linear_quadratic.kalman import stationary_kalman_gains as stationary_kalman_gains
from chasles.control.linear_quadratic.regulator import LinearQuadraticRegulator as LinearQuadraticRegulator
from chasles.control.linear_quadratic.riccati import FiniteHorizon as FiniteHorizon
from chasles.control.linear_quadratic.riccati import backward_riccati as backward_riccati
from chasles.control.linear_quadratic.riccati_flow import differential_riccati as differential_riccati
from chasles.control.linear_quadratic.time_varying import TimeVaryingRegulator as TimeVaryingRegulator
from chasles.control.linear_quadratic.weights import Weights as Weights
from chasles.control.linear_quadratic.weights import bryson_weights as bryson_weights
from chasles.control.linear_quadratic.weights import filtered_regulator_gains as filtered_regulator_gains
from chasles.control.linear_quadratic.weights import frequency_weights as frequency_weights
from chasles.control.linear_quadratic.weights import regulator_gains as regulator_gains

__all__: list[str]
