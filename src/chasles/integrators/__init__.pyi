from chasles.integrators.adjoint import InitialValueGradient as InitialValueGradient
from chasles.integrators.integrate import integrate as integrate
from chasles.integrators.integration import Integration as Integration
from chasles.integrators.integrator import Integrator as Integrator
from chasles.integrators.integrator import LinearizedRates as LinearizedRates
from chasles.integrators.integrator import RightHandSide as RightHandSide
from chasles.integrators.integrator import Step as Step
from chasles.integrators.methods import INTEGRATORS as INTEGRATORS
from chasles.integrators.methods import integrator_of as integrator_of
from chasles.integrators.right_hand_side import ProgramRightHandSide as ProgramRightHandSide
from chasles.integrators.rosenbrock import LINEARLY_IMPLICIT_EULER as LINEARLY_IMPLICIT_EULER
from chasles.integrators.rosenbrock import RODAS5P as RODAS5P
from chasles.integrators.rosenbrock import Rosenbrock as Rosenbrock
from chasles.integrators.runge_kutta import BOGACKI_SHAMPINE as BOGACKI_SHAMPINE
from chasles.integrators.runge_kutta import DORMAND_PRINCE as DORMAND_PRINCE
from chasles.integrators.runge_kutta import EULER as EULER
from chasles.integrators.runge_kutta import RK4 as RK4
from chasles.integrators.runge_kutta import RungeKutta as RungeKutta
from chasles.integrators.runge_kutta import StepDoubling as StepDoubling
from chasles.integrators.semi_implicit_euler import SemiImplicitEuler as SemiImplicitEuler
from chasles.integrators.step_control import StepControl as StepControl
from chasles.integrators.step_lengths import Steps as Steps
from chasles.integrators.step_lengths import Within as Within

__all__: list[str]
