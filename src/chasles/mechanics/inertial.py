"""`Inertial`: inertial parameters of a robot, read, replaced, reduced to base parameters, checked and perturbed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles import algorithms, model
from chasles.algorithms import Grouping
from chasles.algorithms.grouping import ROUNDING, SIGNIFICANT
from chasles.base.errors import ModelError, UnknownNameError
from chasles.engine.validators import reals
from chasles.mechanics.base_parameters import BaseParameters, expressions
from chasles.mechanics.loops import Loops
from chasles.mechanics.part import Part, R
from chasles.mechanics.regressors import Regressors
from chasles.model import Tree

METHODS = ("regrouping", "numerical")

STATES_PER_PARAMETER = 3
"""Torques of random motions for each inertial parameter: the condition grows little with more."""
WORST_CONDITION = 1e8
"""Condition number of random motions beyond which half of the digits of a parameter are lost."""


class Inertial(Part[R]):
    """Masses, inertias, friction and motors of a robot as numbers: ``arm.inertial``."""

    place = "inertial"

    def __init__(self, robot: R, loops: Loops, regressors: Regressors) -> None:
        super().__init__(robot)
        self._loops = loops
        self._regressors = regressors

    @property
    def names(self) -> tuple[str, ...]:
        """Names of `values`, shape (parameters,); `chasles.model.inertial_parameters` explains the order.

        Examples
        --------
        >>> import chasles as ch
        >>> ch.load("planar2r").inertial.names[8:12]
        ('link1.Iyz', 'link1.Izz', 'link2.m', 'link2.mx')
        """
        return model.inertial_parameter_names(model.build_tree(self.description))

    @property
    def values(self) -> NDArray[np.float64]:
        """The parameters in which the equation of motion is linear, shape (parameters,).

        Ten of each moving body, about the origin and in the axes of the link that its joint moves: mass, first moments,
        moments of inertia xx, xy, xz, yy, yz, zz. Links that fixed joints hold to that link, and the payload, are
        included. Then viscous friction, Coulomb friction and armature of each joint.

        Examples
        --------
        >>> import chasles as ch
        >>> ch.load("planar2r").inertial.values[:4]
        array([10. , -2.5,  0. ,  0. ])
        """
        return model.inertial_parameters(model.build_tree(self.description))

    def with_values(self, values: ArrayLike, *, check: bool = True) -> R:
        """Copy with other inertial parameters; see `chasles.model.with_inertial_parameters`."""
        return self._changed(model.with_inertial_parameters(self.description, values, check=check))

    def base(
        self,
        method: Literal["regrouping", "numerical"] | None = None,
        *,
        columns: ArrayLike | None = None,
        tolerance: float | None = None,
        seed: int = 0,
    ) -> BaseParameters:
        """Return the combinations of inertial parameters that the torques depend on and can therefore identify.

        Parameters
        ----------
        method
            ``"regrouping"``: in closed form, from the geometry alone, for joints that move independently and have one
            degree of freedom each. ``"numerical"``: from the torques of random motions, for every robot. Default: the
            first where it applies.
        columns
            Indices of the parameters that are unknown; all others are known, and belong to no combination. Then the
            method is numerical. Default: all.
        tolerance
            Combinations whose share of the torques is smaller do not count. Default: 5e-4, what a good log can show
            (1 % noise, averaged over 400 independent samples), so that axes at right angles stay so in files that
            round angles to three or more digits; the torques of the base parameters are then exact to this share.
            With loops 1e-9: their torques have no common scale near singular configurations.
        seed
            Seed of the random motions.

        Returns
        -------
        BaseParameters
            They depend on the geometry and on the direction of gravity, but not on the masses.

        Raises
        ------
        UnknownNameError
            There is no such method.
        ModelError
            Random motions determine the parameters too badly, as near singular configurations of closed chains.
        ArgumentError
            Regrouping cannot be done, because joints mimic others or have several degrees of freedom, loops couple
            them, or drives are coupled.

        Notes
        -----
        See `chasles.algorithms.grouping` for the methods and sources.

        Examples
        --------
        The PUMA 560 has 78 parameters, of which 52 combinations act: 36 of its inertia, 12 of friction, and the
        armatures of the last four joints. Those of the first two act like moments of inertia of their links.

        >>> import chasles as ch
        >>> base = ch.load("puma560").inertial.base()
        >>> base
        <52 base parameters of 78 inertial parameters>
        >>> base.expressions[8]
        'link3.mx + 0.0203 link3.m + 0.0203 link4.m + 0.0203 link5.m + 0.0203 link6.m'
        """
        if method is not None and method not in METHODS:
            raise UnknownNameError("method for base parameters", method, METHODS)
        tree = model.build_tree(self.description)
        if method is None:
            single = self.description.n == len(tree.carriers) == len(tree.bodies) and not tree.loops
            method = "regrouping" if single and tree.drive_coupling is None and columns is None else "numerical"
        if tolerance is None:
            tolerance = ROUNDING if tree.loops else SIGNIFICANT
        condition = None
        if method == "regrouping":
            grouping = algorithms.regroup(tree, tolerance)
        else:
            Y = self._random_motions(tree, np.random.default_rng(seed))
            preferred, kinds = algorithms.preferred_columns(tree), algorithms.column_kinds(tree)
            if columns is not None:
                Y = np.where(np.isin(np.arange(Y.shape[1]), columns), Y, 0.0)
            grouping, condition = algorithms.group_columns(Y, preferred, tolerance, kinds)
            if condition > WORST_CONDITION:
                raise ModelError(
                    f"the base parameters of robot '{self.robot.name}' cannot be told apart: random motions determine "
                    f"them with a condition number of {condition:.1g}, beyond {WORST_CONDITION:.0e}; give the robot a "
                    "home farther from singular configurations, or a larger tolerance"
                )
        names = model.inertial_parameter_names(tree)
        return BaseParameters(
            names=tuple(names[k] for k in grouping.independent),
            expressions=expressions(grouping.matrix, grouping.independent, names),
            values=grouping.matrix @ model.inertial_parameters(tree),
            independent=np.array(grouping.independent, dtype=np.intp),
            to_base=grouping.matrix,
            parameter_names=names,
            condition=condition,
        )

    def with_base(self, values: ArrayLike, *, consistent: bool = False, covariance: ArrayLike | None = None) -> R:
        """Return a copy with other values of the base parameters, and so with the torques that these determine.

        Base parameters do not determine the bodies. What they leave open stays near the present values.

        Parameters
        ----------
        values
            In the order of ``base().names``, shape (base,).
        consistent
            Whether the bodies must be physically possible. They are then as similar to the present ones as possible
            (log-det divergence). If not, the parameters change as little as possible; masses that are not base
            parameters stay.
        covariance
            With ``consistent=True``: covariance of the values, shape (base, base). The most likely values that possible
            bodies can have then replace them.

        Returns
        -------
        Robot
            The inertia of each moving body belongs to the link that its joint moves; links fixed to it and the payload
            are massless.

        Raises
        ------
        ModelError
            Negative friction or armature, or no possible bodies; the message says which.
        ArgumentError
            A wrong number of values, or values that are not finite.

        Examples
        --------
        >>> import chasles as ch
        >>> arm = ch.load("planar2r")
        >>> values = arm.inertial.base().values.copy()
        >>> values[0] += 1.0
        >>> heavier = arm.inertial.with_base(values)
        >>> bool(np.allclose(heavier.inertial.base().values, values))
        True
        """
        base = self.base()
        wanted = reals(values, "values", (len(base),))
        grouping = Grouping(tuple(base.independent.tolist()), base.to_base)
        present, bodies = self.values, len(model.build_tree(self.description).carriers)
        if not consistent:
            if covariance is not None:
                raise TypeError("inertial.with_base: a covariance is for consistent=True")
            equivalent = algorithms.equivalent_parameters(present, bodies, grouping, wanted)
        else:
            spread = None if covariance is None else reals(covariance, "covariance", (len(base),) * 2)
            equivalent = algorithms.consistent_parameters(present, bodies, grouping, wanted, spread)
        return self.with_values(equivalent, check=False)

    def _random_motions(self, tree: Tree, generator: np.random.Generator) -> NDArray[np.float64]:
        """Torque regressors of random motions, one below the other; with loops each scaled to the same size."""
        n = len(tree.independent)
        count = 1 + STATES_PER_PARAMETER * 13 * len(tree.bodies) // max(1, n)
        if not tree.loops:
            configurations = generator.normal(size=(count, tree.nq))
            motions = generator.normal(size=(count, 2, n))
            states = zip(configurations, motions, strict=True)
            return np.vstack([algorithms.torque_regressor(tree, q, *motion) for q, motion in states])
        q = np.array(
            algorithms.regular_configurations(
                tree, self.robot.home, count, generator, self._loops.constraints, self._loops.velocity_map
            )
        )
        Y = np.asarray(self._regressors.torque(q, *generator.normal(size=(2, count, n))))
        return np.vstack(list(Y / np.linalg.norm(Y, axis=(-2, -1), keepdims=True)))

    def inconsistencies(self) -> dict[str, str]:
        """Links (and ``"payload"``) that no real body could be, with reasons; see `chasles.model.inconsistencies`."""
        return model.inconsistencies(self.description)

    def nearest_consistent(self) -> R:
        """Copy whose links could all be real bodies, with the same masses; see `chasles.model.nearest_consistent`."""
        return self._changed(model.nearest_consistent(self.description))

    def perturbed(
        self,
        relative: float | Mapping[str, float] = 0.1,
        *,
        seed: int | np.random.Generator,
        consistent: bool = True,
    ) -> R:
        """Copy whose masses, centres, inertias, friction and motors are in error; see `perturbed_values`.

        Examples
        --------
        >>> import chasles as ch
        >>> arm = ch.load("planar2r")
        >>> wrong = arm.inertial.perturbed(0.2, seed=1)
        >>> bool(abs(wrong.description.link("link1").inertia.mass - 10.0) <= 2.0)
        True
        >>> wrong == arm.inertial.perturbed(0.2, seed=1)
        True
        """
        values = model.perturbed_values(self.description, relative, seed, consistent=consistent)
        return self._changed(model.with_values(self.description, values))

    def perturbed_values(
        self,
        relative: float | Mapping[str, float] = 0.1,
        *,
        seed: int | np.random.Generator,
        shape: tuple[int, ...] = (),
        consistent: bool = True,
    ) -> dict[str, NDArray[np.float64]]:
        """Values of parameters, changed at random, for ``vary=``; see `chasles.model.perturbed_values`.

        Examples
        --------
        Weights of a thousand arms whose masses are known to 5 %:

        >>> import chasles as ch
        >>> arm = ch.load("planar2r")
        >>> masses = arm.inertial.perturbed_values({"mass": 0.05}, seed=0, shape=(1000,))
        >>> arm.gravity_torque([0.0, 0.0], vary=masses).shape
        (1000, 2)
        """
        return model.perturbed_values(self.description, relative, seed, shape, consistent=consistent)
