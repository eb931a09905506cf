"""Mechanics of a robot: joins description, algorithms and engine, and is the only place that does.

`Mechanics` has the computations of every robot; what belongs together beside them is a `Part`, one a file, such as
``arm.regressors``. `closing` searches for closed configurations over batches.
"""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
