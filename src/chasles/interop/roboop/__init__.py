"""ROBOOP 1.31 under its own names and with its own conventions (R. Gourdeau and others, 2006).

    from chasles.interop import roboop

Vectors are columns there and arrays (n,) here, and joints, frames and axes are counted from 1. What ROBOOP writes into
arguments is returned, and what it prints as an error is raised as an exception of `chasles.ChaslesError`. The
docstrings of the modules tell which defects of the original are mended; docs/roboop.md lists all names.
"""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
