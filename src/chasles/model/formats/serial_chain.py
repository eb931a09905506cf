"""A robot as one chain of moving bodies, which is all that tables of joints can say."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from chasles.base.errors import ModelError
from chasles.model.description import Description, Frame
from chasles.model.inertia import Inertia, shift_of_first_moment
from chasles.model.joint import Joint
from chasles.model.locking import simplified
from chasles.model.placement import FloatArray, compose, inverse
from chasles.model.record import shortened


@dataclass(frozen=True)
class ChainBody:
    """All links that fixed joints hold together; its own frame is that of the link that a joint moves.

    Parameters
    ----------
    frames
        Placements of its links and then of its other frames, by name, each (4, 4).
    inertia
        Inertia of all its links together, in its frame.
    """

    frames: dict[str, FloatArray]
    inertia: Inertia


@dataclass(frozen=True)
class SerialChain:
    """The joints of a robot one after the other, and the n + 1 bodies before, between and after them.

    Parameters
    ----------
    joints
        Moving joints, each from a body to the next.
    bodies
        From the base to the last one.
    """

    joints: tuple[Joint, ...]
    bodies: tuple[ChainBody, ...]


def serial_chain(description: Description, what: str) -> SerialChain:
    """Return the chain of a robot.

    Parameters
    ----------
    description
        The robot.
    what
        Intended result, named in the message.

    Raises
    ------
    ModelError
        Its moving bodies branch, and the message names the joints; or nothing moves.

    Examples
    --------
    >>> from chasles.model import load
    >>> chain = serial_chain(load("panda"), "DH table")
    >>> [len(body.frames) for body in chain.bodies]  # the flange, the hand and the tool hang on the last link
    [1, 1, 1, 1, 1, 1, 1, 4]
    """
    description = simplified(description)
    if not description.joints:
        raise ModelError(f"robot '{description.name}' has no {what}: nothing of it moves")
    number = {description.root: 0}
    for index, joint in enumerate(description.ordered_joints):
        if number[joint.parent] != index:
            other = description.ordered_joints[number[joint.parent]]
            raise ModelError(
                f"robot '{description.name}' has no {what}: it is not one chain, because the joints "
                f"{shortened(other.name)} and {shortened(joint.name)} start from the same body; "
                "take one chain of it with sub_chain, or lock joints"
            )
        number[joint.child] = index + 1
    bodies = [ChainBody({link: np.eye(4)}, description.link(link).inertia) for link in number]
    for frame in description.frames:
        bodies[number[frame.link]].frames[frame.name] = frame.T_link_frame
    return SerialChain(description.ordered_joints, tuple(bodies))


def moved(inertia: Inertia, T: FloatArray) -> Inertia:
    """Return an inertia in the frame in which its own frame is placed at T, shape (4, 4).

    Examples
    --------
    >>> moved(Inertia(1.0, [0.1, 0.0, 0.0]), np.eye(4)).center_of_mass
    array([0.1, 0. , 0. ])
    """
    R, p = T[:3, :3], T[:3, 3]
    h = R @ inertia.first_moment
    matrix = R @ inertia.matrix @ R.T + shift_of_first_moment(h, p)
    return Inertia(inertia.mass, R @ inertia.center_of_mass + p, (matrix + matrix.T) / 2.0, h)


def frames_besides_links(chain: SerialChain, T_body_links: Sequence[FloatArray]) -> tuple[str, tuple[Frame, ...]]:
    """Return a prefix for the names of new links, one a body, and all frames of a robot on these links.

    Parameters
    ----------
    chain
        The robot.
    T_body_links
        Placement of the new link on each body.

    Returns
    -------
    prefix
        The links are to be called prefix0, prefix1, ...: "link", if that misleads nobody.
    frames
        Named frames, without those that coincide with a new link of the same name.
    """
    prefix = next(prefix for prefix in _prefixes() if not _misleads(prefix, chain, T_body_links))
    frames = []
    for index, (body, T_body_link) in enumerate(zip(chain.bodies, T_body_links, strict=True)):
        T_link_body = inverse(T_body_link)
        for name, T_body_frame in body.frames.items():
            if name != f"{prefix}{index}":
                frames.append(Frame(name, f"{prefix}{index}", compose(T_link_body, T_body_frame)))
    return prefix, tuple(frames)


def _prefixes() -> Iterator[str]:
    return (f"{stem}{'_' * underscores}" for underscores in itertools.count() for stem in ("link", "body"))


def _misleads(prefix: str, chain: SerialChain, T_body_links: Sequence[FloatArray]) -> bool:
    """Whether a frame elsewhere has the name that a new link would have."""
    for index, T_body_link in enumerate(T_body_links):
        for number, body in enumerate(chain.bodies):
            T = body.frames.get(f"{prefix}{index}")
            if T is not None and (number != index or np.abs(T - T_body_link).max() > 1e-14 * max(1.0, np.abs(T).max())):
                return True
    return False
