"""A robot as one chain of moving bodies, which is all that tables of joints can say."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from chasles.errors import ModelError
from chasles.model.description import Description, Frame
from chasles.model.inertia import Inertia
from chasles.model.joint import Joint
from chasles.model.placement import FloatArray, compose, inverse
from chasles.model.record import shortened


@dataclass
class ChainBody:
    """All links that fixed joints hold together; its own frame is that of the first of them.

    Parameters
    ----------
    frames
        Placements of its links and then of its other frames, by name, each (4, 4).
    inertia
        Of all its links together, in its frame.
    """

    frames: dict[str, FloatArray]
    inertia: Inertia = field(default_factory=Inertia)


@dataclass(frozen=True)
class SerialChain:
    """The joints of a robot one after the other, and the n + 1 bodies before, between and after them.

    Parameters
    ----------
    joints
        Moving joints.
    T_body_joint
        Placement of each joint in the body before it, (4, 4).
    bodies
        From the base to the last one.
    """

    joints: tuple[Joint, ...]
    T_body_joint: tuple[FloatArray, ...]
    bodies: tuple[ChainBody, ...]

    def body_of(self, frame: str) -> int:
        """Return the number of the body that carries a frame."""
        return next(index for index, body in enumerate(self.bodies) if frame in body.frames)


def serial_chain(description: Description, what: str) -> SerialChain:
    """Return the chain of a robot.

    Parameters
    ----------
    description
        The robot.
    what
        What is to be made of it, for the message.

    Raises
    ------
    ModelError
        Its moving bodies branch; the message names the joints.

    Examples
    --------
    >>> from chasles.model import load
    >>> chain = serial_chain(load("panda"), "DH table")
    >>> [len(body.frames) for body in chain.bodies]  # the flange, the hand and the tool hang on the last link
    [1, 1, 1, 1, 1, 1, 1, 4]
    """
    bodies = [ChainBody({description.root: np.eye(4)})]
    joints: list[Joint] = []
    placements: list[FloatArray] = []
    place = {description.root: 0}
    for joint in description.ordered_joints:
        number = place[joint.parent]
        T_body_joint = compose(bodies[number].frames[joint.parent], joint.T_parent_joint)
        if not joint.moves:
            place[joint.child] = number
            bodies[number].frames[joint.child] = compose(T_body_joint, joint.T_joint_child)
            continue
        if number != len(joints):
            raise ModelError(
                f"robot '{description.name}' has no {what}: it is not one chain, because the joints "
                f"{shortened(joints[number].name)} and {shortened(joint.name)} start from the same body; "
                "make joints fixed or cut branches off first"
            )
        joints.append(joint)
        placements.append(T_body_joint)
        place[joint.child] = len(joints)
        bodies.append(ChainBody({joint.child: np.eye(4)}))
    for body in bodies:
        body.inertia = combined((description.link(name).inertia, T) for name, T in body.frames.items())
    for frame in description.frames:
        frames = bodies[place[frame.link]].frames
        frames[frame.name] = compose(frames[frame.link], frame.T_link_frame)
    return SerialChain(tuple(joints), tuple(placements), tuple(bodies))


def moved(inertia: Inertia, T: FloatArray) -> Inertia:
    """Return an inertia in the frame in which its own frame is placed at T, shape (4, 4).

    Examples
    --------
    >>> moved(Inertia(1.0, [0.1, 0.0, 0.0]), np.eye(4)).center_of_mass
    array([0.1, 0. , 0. ])
    """
    R = T[:3, :3]
    matrix = R @ inertia.matrix @ R.T
    return Inertia(inertia.mass, R @ inertia.center_of_mass + T[:3, 3], (matrix + matrix.T) / 2.0)


def combined(parts: Iterable[tuple[Inertia, FloatArray]]) -> Inertia:
    """Return the inertia of bodies together, each given with the placement of its frame."""
    placed = [moved(inertia, T) for inertia, T in parts]
    heavy = [inertia for inertia in placed if not inertia.is_massless]
    if len(heavy) <= 1:
        return heavy[0] if heavy else Inertia()
    mass = sum(inertia.mass for inertia in heavy)
    if mass == 0.0:
        return Inertia(0.0, np.zeros(3), np.sum([inertia.matrix for inertia in heavy], axis=0))
    center = np.sum([inertia.mass * inertia.center_of_mass for inertia in heavy], axis=0) / mass
    matrix = np.zeros((3, 3))
    for inertia in heavy:
        arm = inertia.center_of_mass - center
        matrix += inertia.matrix + inertia.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return Inertia(mass, center, matrix)


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
        What had a name, but for the frames that are in the same place as a new link of the same name.
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
