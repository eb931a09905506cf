"""Bodies that a frame carries, as parts of the inertial parameters of its link."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.geometry import (
    inertial_parameters_from_pseudo_inertia,
    pose,
    pseudo_inertia_from_inertial_parameters,
    transform_pseudo_inertia,
)
from chasles.model import build_tree
from chasles.model.description import Description
from chasles.model.placement import FloatArray


def carried_columns(description: Description, frame: str) -> tuple[NDArray[np.intp], FloatArray]:
    """Inertial parameters that a body at a frame adds to, shape (10,), and their change by its ten, shape (10, 10).

    Raises
    ------
    ArgumentError
        If no joint moves the frame.

    Examples
    --------
    >>> import chasles as ch
    >>> columns, to_link = carried_columns(ch.load("panda").description, "panda_hand")  # 0.107 m from link 7
    >>> columns[:4].tolist(), to_link[:4, 0].round(3)
    ([60, 61, 62, 63], array([1.   , 0.   , 0.   , 0.107]))
    """
    tree = build_tree(description)
    place = tree.frames[description.frame(frame).name]
    if place.body < 0:
        raise ArgumentError(f"frame '{frame}' is fixed to the base: no torque tells what it carries")
    link = tree.frames[tree.bodies[place.body].name]
    T_link_frame = pose(
        link.R_body_frame.T @ place.R_body_frame, link.R_body_frame.T @ (place.p_body_frame - link.p_body_frame)
    )
    of_units = transform_pseudo_inertia(T_link_frame, pseudo_inertia_from_inertial_parameters(np.eye(10)))
    first = 10 * tree.carriers.index(place.body)
    to_link = np.asarray(inertial_parameters_from_pseudo_inertia(of_units), dtype=np.float64).T
    return np.arange(first, first + 10, dtype=np.intp), to_link
