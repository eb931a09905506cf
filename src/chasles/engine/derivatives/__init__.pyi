from chasles.engine.derivatives.programs import hessian_vector as hessian_vector
from chasles.engine.derivatives.programs import jacobian as jacobian
from chasles.engine.derivatives.programs import jvp as jvp
from chasles.engine.derivatives.programs import vjp as vjp

__all__: list[str]
