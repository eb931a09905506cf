"""Optimal control: the motion of least cost within limits, its torques and its regulator.

`residuals` say what is wanted, `problem` puts them together. `step`, `terms`, `rows` and `nodes` are the problem on
nodes with its derivatives, `node_programs` what is compiled of it. `interior_point` is the solver, `iterates` what it
works on, its Newton step the `backward_pass`, its constraints `elastic`, its line search a `filter`. `certificate`
evaluates the result independently, `violations` says what is violated, `plan` is the result and `following` the law
that follows it.
"""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
