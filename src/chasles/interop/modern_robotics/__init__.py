"""The code library of Modern Robotics under its own names and with its own conventions (Lynch and Park, 2017).

Every function of the library's document takes its arguments in the original's order and returns the original's results:

    import chasles.interop.modern_robotics as mr

Beyond the original, arguments may have leading batch axes, and wrong ones raise an `ArgumentError` that names them.
Known defects of the published Python package (version 1.1.1) are mended; the docstrings tell which.
"""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
