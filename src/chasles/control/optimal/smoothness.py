"""What an optimal motion cannot lead across: friction, costs and rows that jump."""

from __future__ import annotations

from chasles.base.errors import ArgumentError
from chasles.engine import Program
from chasles.robot.robot import Robot

#: Operations whose derivatives miss a jump.
_JUMPS = {"sign", "floor"}
#: Velocity, rad/s (m/s), over which friction that jumps at rest is smoothed.
_SMOOTH = 0.1


def require_smooth(*programs: Program) -> None:
    """Raise `ArgumentError` for residuals and rows that jump."""
    for program in programs:
        for operation, *_ in program.instructions:
            if operation in _JUMPS:
                raise ArgumentError(
                    f"the {program.name} of the problem uses '{operation}', which jumps, and no motion can be "
                    "optimised across a jump; use a smooth function such as tanh"
                )


def require_robot(robot: Robot) -> None:
    """Raise `ArgumentError` for what is no robot, or for friction that jumps: no derivative leads across it."""
    if not isinstance(robot, Robot):
        raise ArgumentError(
            f"plant must be a chasles.Robot or a chasles.Plant, not {robot!r}; chasles.load gives a robot by name"
        )
    for joint in robot.description.joints:
        if joint.coulomb_friction and not all(joint.coulomb_velocities):
            raise ArgumentError(
                f"the friction of joint '{joint.name}' of robot '{robot.name}' jumps at rest, and no motion can be "
                "optimised across a jump; smooth it over a velocity (rad/s), as with "
                f"robot.with_friction(coulomb_velocity=0.1)"
            )


def require_smooth_dynamics(robot: Robot, varied: tuple[str, ...]) -> None:
    """Raise `ArgumentError` where parameters that vary let friction jump."""
    program = robot.forward_dynamics.specialize(vary=varied).program
    if any(operation == "sign" for operation, *_ in program.instructions):
        raise ArgumentError(
            f"with {', '.join(varied)} as numbers the friction of robot '{robot.name}' may jump at rest; "
            "smooth it over a constant velocity (rad/s), as with robot.with_friction(coulomb_velocity=0.1)"
        )


def with_smooth_friction(robot: Robot) -> Robot:
    """Return the robot with friction that changes its sign over 0.1 rad/s (m/s) where it jumps at rest."""
    if all(all(joint.coulomb_velocities) for joint in robot.description.joints if joint.coulomb_friction):
        return robot
    return robot.with_friction(coulomb_velocity=_SMOOTH)
