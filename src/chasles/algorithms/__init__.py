"""Algorithms of robot mechanics: plain functions of a kinematic tree and NumPy arrays, one subject a file.

Called with floats they compute, called with traced scalars they write a program. Each function is the contract of a
method of `Mechanics` or of one of its parts. In reading order: `spatial`, `joint_motion`, `configuration`,
`kinematics`, `jacobian`; `mass_moments`, `newton_euler`, `inverse_dynamics`; `mass_matrix`, `forward_dynamics`,
`linearization`; `energy`; `regressors`, `reference_motion`; `loops`, `multipliers`, `closing`, `mobility`,
`closed_chain`; `loop_configurations`, `actuators`, `singularities`, `attainable_motion`, `grouping`,
`equivalent_parameters`.

A pendulum of 2 kg at the end of a massless rod of 0.5 m, which turns about the y axis and hangs along x at q = 0:

>>> import numpy as np
>>> from chasles.model.description import Description, Link
>>> from chasles.model.inertia import Inertia
>>> from chasles.model.joint import Joint
>>> from chasles.model.tree import build_tree
>>> rod = Link("rod", Inertia(mass=2.0, center_of_mass=[0.5, 0.0, 0.0]))
>>> hinge = Joint("hinge", "revolute", "wall", "rod", axis=[0.0, 1.0, 0.0])
>>> pendulum = Description("pendulum", links=(Link("wall"), rod), joints=(hinge,), gravity=[0.0, 0.0, -10.0])
>>> tree = build_tree(pendulum)
>>> q, qd, qdd = np.zeros(1), np.array([3.0]), np.array([1.0])
>>> float(mass_matrix(tree, q)[0, 0])
0.5
>>> float(inverse_dynamics(tree, q, qd, qdd)[0])
-9.5
>>> float(kinetic_energy(tree, q, qd))
2.25
"""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
