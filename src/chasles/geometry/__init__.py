"""Geometry of rigid motion: formulas for one sample, made functions over batches that are compiled when first called.

Lengths are in m, angles in rad; `T_ab` and `R_ab` map coordinates in b to a; twists (omega, v) and wrenches (m, f) have
their angular part first; quaternions are (w, x, y, z). Leading axes of arguments are batches.

>>> import chasles as ch
>>> T = ch.geometry.exp_pose([[0.0, 0.0, 0.5, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, 2.0, 3.0]])
>>> ch.geometry.log_pose(T).round(12) + 0.0
array([[0. , 0. , 0.5, 1. , 0. , 0. ],
       [0. , 0. , 0. , 1. , 2. , 3. ]])

The names are imported together when the first of them is used: robots need only the few files that are imported here.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from chasles.geometry import euler_angles as euler_angles
from chasles.geometry import exponential_jacobians as exponential_jacobians
from chasles.geometry import pseudo_inertias as pseudo_inertias
from chasles.geometry import quaternion_rotations as quaternion_rotations

if TYPE_CHECKING:
    from chasles.geometry.names import *  # noqa: F403
    from chasles.geometry.names import __all__ as __all__
else:

    def __getattr__(name: str) -> Any:
        """Import the file of that name, or all names when the first of them is used."""
        if find_spec(f"{__name__}.{name}"):
            return import_module(f"{__name__}.{name}")
        if not name.startswith("__") or name == "__all__":
            names = import_module(f"{__name__}.names")
            globals().update({known: getattr(names, known) for known in ("__all__", *names.__all__)})
        if name not in globals():
            said = "" if name.startswith("_") else _hint(name)
            raise AttributeError(f"module '{__name__}' has no attribute '{name}'{said}")
        return globals()[name]

    def _hint(name: str) -> str:
        """Return what another library's name, or one that is misspelt, is called here."""
        said: str = import_module("chasles.mechanics.other_names").hint(name, __dir__())
        return said

    def __dir__() -> list[str]:
        """Names for users."""
        return sorted(import_module(f"{__name__}.names").__all__)
