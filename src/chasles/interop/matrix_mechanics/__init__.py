"""Mechanics of rigid bodies with one 4x4 matrix for each physical notion, as in SpaceLib, in this library's names.

`chasles.interop.spacelib` has the original's names. `chasles.interop.matrix_mechanics.matrices` explains the notation.
"""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
