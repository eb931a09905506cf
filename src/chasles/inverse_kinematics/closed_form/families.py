"""Which closed form fits a chain: recognised by its axes, never by a robot's name."""

from __future__ import annotations

from chasles.inverse_kinematics.closed_form.chain import Chain
from chasles.inverse_kinematics.closed_form.other_arms import FiveJoints, PlanarArm, ShoulderElbowWrist
from chasles.inverse_kinematics.closed_form.six_joints import SphericalWrist, ThreeParallelAxes

Family = SphericalWrist | ThreeParallelAxes | FiveJoints | PlanarArm | ShoulderElbowWrist
FAMILIES: tuple[type[Family], ...] = (SphericalWrist, ThreeParallelAxes, FiveJoints, PlanarArm, ShoulderElbowWrist)


def family_of(chain: Chain | None) -> Family | None:
    """Solver of the first family that a chain belongs to; None if it belongs to none."""
    if chain is None:
        return None
    return next((solver for family in FAMILIES if (solver := family.recognise(chain)) is not None), None)
