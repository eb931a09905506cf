"""Drake's names for what a robot computes exist there, and the members that stand beside them give the same values.

Drake and what it installs take 400 MB, so that it is in no extra: ``pip install drake`` runs these tests.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.mechanics.other_names import LIBRARIES

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def drake() -> Any:
    pytest.importorskip("pydrake", reason="pydrake is not installed")
    from pydrake import all as drake

    return drake


def test_the_names_of_drake_are_its_own(drake: Any) -> None:
    places = (drake, drake.MultibodyPlant)
    assert not [name for name in LIBRARIES["Drake"] if not any(hasattr(place, name) for place in places)]


def test_names_of_drake_are_answered_with_what_computes_the_same(drake: Any, tmp_path: Path) -> None:
    panda = ch.load("panda")
    panda.save(tmp_path / "panda.urdf")
    plant = drake.MultibodyPlant(0.0)
    drake.Parser(plant).AddModels(str(tmp_path / "panda.urdf"))
    world = plant.world_frame()
    plant.WeldFrames(world, plant.GetFrameByName(panda.frame_names[0]))
    plant.Finalize()
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, panda.n))
    context = plant.CreateDefaultContext()
    plant.SetPositions(context, q)
    plant.SetVelocities(context, qd)
    hand = plant.GetFrameByName(panda.frame_names[-1])
    rates, here = drake.JacobianWrtVariable.kV, np.zeros(3)
    forces = drake.MultibodyForces(plant)
    plant.CalcForceElementsContribution(context, forces)  # gravity is one of them
    J = panda.jacobian(q, frame="world-aligned", target=panda.frame_names[-1])
    J_rate = panda.jacobian_derivative(q, qd, frame="world-aligned", target=panda.frame_names[-1])
    speed = (context, rates, hand, here, world, world)
    pairs = {
        "mass matrix": (panda.mass_matrix(q), plant.CalcMassMatrix(context)),
        "inverse dynamics": (panda.inverse_dynamics(q, qd, qdd), plant.CalcInverseDynamics(context, qdd, forces)),
        "gravity": (-panda.gravity_torque(q), plant.CalcGravityGeneralizedForces(context)),
        "bias": (panda.coriolis_vector(q, qd), plant.CalcBiasTerm(context)),
        "pose": (panda.frame_poses(q)[-1], plant.CalcRelativeTransform(context, world, hand).GetAsMatrix4()),
        "Jacobian": (J, plant.CalcJacobianSpatialVelocity(*speed)),
        "its translation": (J[3:], plant.CalcJacobianTranslationalVelocity(*speed)),
        "its rotation": (J[:3], plant.CalcJacobianAngularVelocity(context, rates, hand, world, world)),
        "its rate": (J_rate @ qd, plant.CalcBiasSpatialAcceleration(*speed).get_coeffs()),
        "kinetic energy": (panda.kinetic_energy(q, qd), plant.CalcKineticEnergy(context)),
        "momentum": (
            panda.centroidal.momentum(q, qd),
            plant.CalcSpatialMomentumInWorldAboutPoint(context, panda.center_of_mass(q)).get_coeffs(),
        ),
        "rates of coordinates": (panda.configuration_rate(q, qd), plant.MapVelocityToQDot(context, qd)),
        "lower limits": (panda.lower_limits, plant.GetPositionLowerLimits()),
        "upper limits": (panda.upper_limits, plant.GetPositionUpperLimits()),
        "velocity limits": (panda.velocity_limits, plant.GetVelocityUpperLimits()),
    }
    for name, (ours, theirs) in pairs.items():
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10, err_msg=name)
