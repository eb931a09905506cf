"""ROS 2 bags: joint states from SQLite files, without ROS.

A bag of storage type ``sqlite3`` holds messages in the Common Data Representation (CDR; OMG, "Extensible and dynamic
topic types for DDS", clause 7.4): four bytes that tell the byte order, then the fields, each aligned to its size.
``sensor_msgs/msg/JointState`` is a header (seconds, nanoseconds, frame), joint names, and three sequences of doubles.
"""

from __future__ import annotations

import sqlite3
import struct
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.errors import ArgumentError

MESSAGE = "sensor_msgs/msg/JointState"
LONGEST_SEQUENCE = 10_000


class JointState(NamedTuple):
    """One message: time in s, and values by joint; empty where a quantity was not published."""

    time: float
    names: tuple[str, ...]
    position: tuple[float, ...]
    velocity: tuple[float, ...]
    effort: tuple[float, ...]


def read_bag(path: Path) -> dict[str, NDArray[np.float64]]:
    """Read all joint states of a bag.

    Parameters
    ----------
    path
        File ``.db3``, or a folder with such files.

    Returns
    -------
    dict
        Columns ``time`` (s, after the first message), ``position NAME``, ``velocity NAME`` and ``effort NAME``. What a
        message does not say is NaN.

    Raises
    ------
    ArgumentError
        If it is no such bag, holds no joint states, or a message is damaged.
    """
    files = sorted(path.glob("*.db3")) if path.is_dir() else [path]
    if not files:
        raise ArgumentError(f"'{path}' holds no ROS 2 bag of storage type sqlite3 (files *.db3); convert other bags")
    states: list[JointState] = []
    for file in files:
        states += _joint_states(file)
    if not states:
        raise ArgumentError(f"the bag '{path}' holds no messages of type {MESSAGE}")
    states.sort(key=lambda state: state.time)
    joints = list(dict.fromkeys(name for state in states for name in state.names))
    place = {name: k for k, name in enumerate(joints)}
    table = {"time": np.array([state.time for state in states]) - states[0].time}
    for quantity in ("position", "velocity", "effort"):
        values = np.full((len(states), len(joints)), np.nan)
        for row, state in enumerate(states):
            for name, value in zip(state.names, getattr(state, quantity), strict=False):
                values[row, place[name]] = value
        table |= {
            f"{quantity} {name}": values[:, k] for k, name in enumerate(joints) if np.isfinite(values[:, k]).any()
        }
    return table


def _joint_states(file: Path) -> list[JointState]:
    try:
        connection = sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)
        try:
            rows = connection.execute(
                "SELECT messages.data, messages.timestamp FROM messages JOIN topics ON topics.id = messages.topic_id "
                "WHERE topics.type = ? ORDER BY messages.timestamp",
                (MESSAGE,),
            ).fetchall()
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise ArgumentError(f"'{file}' is not a ROS 2 bag: {error}") from None
    states = []
    for number, (data, timestamp) in enumerate(rows):
        try:
            state = decode_joint_state(bytes(data))
        except (struct.error, ValueError, TypeError) as error:
            raise ArgumentError(f"'{file}', joint state {number}: damaged message ({error})") from None
        states.append(state if state.time > 0.0 else state._replace(time=timestamp * 1e-9))
    return states


def decode_joint_state(data: bytes) -> JointState:
    """Decode one serialized JointState.

    Raises
    ------
    struct.error, ValueError
        If the bytes are no such message.
    """
    if len(data) < 4 or data[0] != 0 or data[1] not in (0, 1):
        raise ValueError("not plain CDR")
    order = "<" if data[1] else ">"
    body, at = data[4:], 0

    def take(form: str, size: int, count: int = 1) -> tuple[float, ...]:
        nonlocal at
        at = -(-at // size) * size
        values = struct.unpack_from(f"{order}{count}{form}", body, at)
        at += size * count
        return values

    def length() -> int:
        count = int(take("I", 4)[0])
        if count > LONGEST_SEQUENCE:
            raise ValueError(f"a sequence of {count} elements")
        return count

    def text() -> str:
        nonlocal at
        count = length()
        raw = body[at : at + count]
        at += count
        return raw.rstrip(b"\0").decode()

    def doubles() -> tuple[float, ...]:
        count = length()
        return take("d", 8, count) if count else ()

    seconds, nanoseconds = take("i", 4)[0], take("I", 4)[0]
    text()
    names = tuple(text() for _ in range(length()))
    return JointState(seconds + 1e-9 * nanoseconds, names, doubles(), doubles(), doubles())
