"""`Part`: a namespace of related computations and edits of a robot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from chasles.base.sealed import Sealed
from chasles.mechanics.described import Described
from chasles.mechanics.other_names import hint
from chasles.model import Description

R = TypeVar("R", bound=Described)


class Part(Sealed, Generic[R]):
    """Namespace of one robot, such as ``arm.regressors``; it is pickled with the robot.

    Attributes
    ----------
    robot
        The robot.
    description
        The robot as data.
    """

    #: Name of the robot's attribute that holds it.
    place: ClassVar[str]

    def __init__(self, robot: R) -> None:
        self.robot = robot
        self.description = robot.description

    def _changed(self, description: Description) -> R:
        """Robot of the same class with another description."""
        return type(self.robot)(description)

    if not TYPE_CHECKING:  # with this method type checkers would accept any attribute

        def __getattr__(self, name):
            """Return the name here of another library's name, or of a misspelt one."""
            said = "" if name.startswith("_") else hint(name, dir(self))
            raise AttributeError(f"'{self.place}' of robots has no attribute '{name}'{said}", name=name, obj=self)

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (self.robot, self.place)

    def __repr__(self) -> str:
        return f"<{self.place} of robot '{self.robot.name}'>"
