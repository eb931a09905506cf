"""The parameters of a description that may take other values: their names and shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chasles.model.joint import JOINT_PARAMETERS

if TYPE_CHECKING:
    from chasles.model.description import Description

_INERTIAL_SHAPES: dict[str, tuple[int, ...]] = {"mass": (), "center_of_mass": (3,), "inertia": (3, 3)}


def parameter_shapes(description: Description) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the parameters that `build_tree` can replace.

    Examples
    --------
    >>> from chasles.model.description import Description, Link
    >>> list(parameter_shapes(Description("stone", links=(Link("rock"),))))[:4]
    ['links.rock.mass', 'links.rock.center_of_mass', 'links.rock.inertia', 'gravity']
    """
    shapes: dict[str, tuple[int, ...]] = {}
    for link in description.links:
        shapes |= {f"links.{link.name}.{name}": shape for name, shape in _INERTIAL_SHAPES.items()}
    for joint in description.joints:
        if joint.moves:
            shapes |= {f"joints.{joint.name}.{name}": () for name in JOINT_PARAMETERS}
    shapes["gravity"] = (3,)
    return shapes | {f"payload.{name}": shape for name, shape in _INERTIAL_SHAPES.items()}
