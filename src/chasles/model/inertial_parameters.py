"""The parameters in which the equation of motion is linear, as one vector: their order, names and values.

A *moving body* is a link that a joint moves, with all links that fixed joints hold to it and the payload if it is
there: they cannot be told apart by any motion. First come ten numbers for each moving body, in the order of the tree,

    m   mx my mz   Ixx Ixy Ixz Iyy Iyz Izz

(mass, kg; mass times centre of mass, kg m; inertia about the origin, kg m², elements of the matrix), about the origin
and in the axes of the frame of the link that the joint moves. Then come three numbers for each moving joint,

    viscous_friction   coulomb_friction   armature

with the armature gear_ratio² motor_inertia. Links of the fixed base do not appear: they have no effect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.errors import ModelError
from chasles.geometry.pseudo_inertias import (
    inertial_parameters_from_pseudo_inertia,
    mass_properties_from_pseudo_inertia,
    pseudo_inertia_from_inertial_parameters,
)
from chasles.model.inertia import Inertia, impossibility
from chasles.model.record import naming
from chasles.model.tree import Tree, build_tree

if TYPE_CHECKING:
    from chasles.model.description import Description
    from chasles.model.joint import Joint
    from chasles.model.tree import Body
