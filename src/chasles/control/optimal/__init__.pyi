from chasles.control.optimal import residuals as residuals
from chasles.control.optimal.contact import PhasedContact as PhasedContact
from chasles.control.optimal.following import PlanFollowing as PlanFollowing
from chasles.control.optimal.plan import Plan as Plan
from chasles.control.optimal.plan import PlanStatus as PlanStatus
from chasles.control.optimal.plan_gradient import PlanGradient as PlanGradient
from chasles.control.optimal.plan_layer import PlanArrays as PlanArrays
from chasles.control.optimal.predictive import ModelPredictive as ModelPredictive
from chasles.control.optimal.predictive_tracking import PredictiveTracking as PredictiveTracking
from chasles.control.optimal.problem import OptimalControl as OptimalControl
from chasles.control.optimal.residuals import Residual as Residual

__all__: list[str]
