"""Optimal control: the motion of least cost within limits, its torques and its regulator.

`residuals` and `contact` say what is wanted, `problem` and `problem_terms` put them together; `contact_rows` are the
forces and rows of contacts. `drives` are what stands between commands and joints, `methods` go from node to node, with
friction as `implicit_friction` has it if wanted. `step`, `terms`, `rows` and `nodes` are the problem on nodes with its
derivatives, `expansion` those of a step, `node_programs` what is compiled of them. `interior_point` is the solver,
`iterates` what it begins and ends with, `workspace` one iteration in machine code: `errors` and barrier, the
`backward_pass` that is Newton's step, more `curvature` where it has no minimum, the constraints as `elastic` rows, the
`filter` of the line search. `certificate` evaluates the result independently, `violations` says what is violated,
`plan` is the result, `plan_gradient` its derivatives by the numbers of the problem, `plan_layer` the problem as a
function of other libraries' arrays, and `following` the law that follows it.
"""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
