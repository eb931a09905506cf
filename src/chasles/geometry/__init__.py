"""Geometry of rigid motion: formulas for one sample, made functions over batches that are compiled when first called.

Lengths are in m, angles in rad; `T_ab` and `R_ab` map coordinates in b to a; twists (omega, v) and wrenches (m, f) have
their angular part first; quaternions are (w, x, y, z). Leading axes of arguments are batches.

>>> import chasles as ch
>>> T = ch.geometry.exp_pose([[0.0, 0.0, 0.5, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, 2.0, 3.0]])
>>> ch.geometry.log_pose(T).round(12) + 0.0
array([[0. , 0. , 0.5, 1. , 0. , 0. ],
       [0. , 0. , 0. , 1. , 2. , 3. ]])
"""

from importlib import import_module

from chasles.base import lazy


def _hint(name: str, names: list[str]) -> str:
    """Return the name here of another library's name, or of a misspelt one."""
    said: str = import_module("chasles.mechanics.other_names").hint(name, names)
    return said


__getattr__, __dir__, __all__ = lazy.front_door(__name__, _hint)
