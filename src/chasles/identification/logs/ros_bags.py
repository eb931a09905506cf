"""ROS bags: joint states from bags of ROS 1 and ROS 2 (SQLite and MCAP, also compressed), without ROS."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from chasles.base.errors import ArgumentError, import_extra
from chasles.model.placement import FloatArray

MESSAGE = "sensor_msgs/msg/JointState"
SUFFIXES = (".db3", ".mcap", ".bag")


class JointState(NamedTuple):
    """One message: time in s, and values by joint; empty where a quantity was not published."""

    time: float
    names: tuple[str, ...]
    position: FloatArray
    velocity: FloatArray
    effort: FloatArray


class Stream(NamedTuple):
    """Messages of one topic that tell of the same joints."""

    topic: str
    joints: tuple[str, ...]
    states: list[JointState]


def is_bag(path: Path) -> bool:
    """Whether a path is a folder or has a name as files of bags."""
    return path.is_dir() or path.suffix.lower() in SUFFIXES


def read_bag(path: Path) -> dict[str, FloatArray]:
    """Read all joint states of a bag.

    Parameters
    ----------
    path
        File, or folder of a bag; folders without ``metadata.yaml`` are read file by file.

    Returns
    -------
    dict
        Columns by name: `time`, s after the first message, and ``position``, ``velocity``, ``effort`` of each joint, at
        the times of the stream with most joints. A joint that two topics tell of has their names in its columns'.
    """
    parts = [path]
    if path.is_dir() and not (path / "metadata.yaml").is_file():
        parts = sorted(file for file in path.iterdir() if file.suffix.lower() in SUFFIXES)
    by_topic: dict[str, list[JointState]] = {}
    for part in parts:
        for topic, state in _states(part):
            by_topic.setdefault(topic, []).append(state)
    streams = [stream for topic, states in by_topic.items() for stream in _streams(topic, states)]
    if not streams:
        raise ArgumentError(f"the bag '{path}' holds no messages of type {MESSAGE}")
    return _table(streams)


def _states(path: Path) -> Iterator[tuple[str, JointState]]:
    """Topics and joint states of a file or a folder with metadata, in the order in which they were recorded."""
    stores = import_extra("rosbags.typesys", "bags", "reading ROS bags")
    is_first = path.suffix.lower() == ".bag"
    reader = import_extra("rosbags.rosbag1" if is_first else "rosbags.rosbag2", "bags", "reading ROS bags").Reader
    store = stores.get_typestore(stores.Stores.ROS1_NOETIC if is_first else stores.Stores.ROS2_HUMBLE)
    decode = store.deserialize_ros1 if is_first else store.deserialize_cdr
    try:
        with reader(path) as bag:
            chosen = [connection for connection in bag.connections if connection.msgtype == MESSAGE]
            for connection, recorded, data in bag.messages(chosen) if chosen else ():
                yield connection.topic, _joint_state(decode(data, MESSAGE), recorded)
    except Exception as error:  # a damaged bag can fail in any way
        raise ArgumentError(f"'{path}' is not a ROS bag, or is damaged: {error}") from None


def _joint_state(message: Any, recorded: int) -> JointState:
    stamp = message.header.stamp
    time = stamp.sec + 1e-9 * stamp.nanosec
    values = (np.asarray(getattr(message, name), dtype=np.float64) for name in ("position", "velocity", "effort"))
    return JointState(time if time > 0.0 else 1e-9 * recorded, tuple(message.name), *values)


def _streams(topic: str, states: list[JointState]) -> Iterator[Stream]:
    """Part the messages of a topic whose joints have nothing in common, as those of an arm and its gripper."""
    groups: list[dict[str, None]] = []
    for names in dict.fromkeys(state.names for state in states):
        common = [group for group in groups if group.keys() & set(names)]
        groups = [group for group in groups if group not in common]
        groups.append(dict.fromkeys([*(name for group in common for name in group), *names]))
    for group in groups:
        own = [state for state in states if state.names and state.names[0] in group]
        yield Stream(topic, tuple(group), sorted(own, key=lambda state: state.time))


def _table(streams: list[Stream]) -> dict[str, FloatArray]:
    """Columns at the times of the stream with most joints."""
    main = max(streams, key=lambda stream: (len(stream.joints), len(stream.states)))
    times = np.array([state.time for state in main.states])
    told = Counter(joint for stream in streams for joint in stream.joints)
    table = {"time": times - times[0]}
    for quantity in ("position", "velocity", "effort"):
        for stream in streams:
            values = _values(stream, quantity)
            for joint, column in zip(stream.joints, values.T, strict=True):
                known = np.isfinite(column)
                if known.any():
                    name = f"{quantity} {joint}" if told[joint] == 1 else f"{stream.topic} {quantity} {joint}"
                    own = np.array([state.time for state in stream.states])
                    table[name] = (
                        column if stream is main else np.interp(times, own[known], column[known], np.nan, np.nan)
                    )
    return table


def _values(stream: Stream, quantity: str) -> FloatArray:
    """Values of a quantity, shape (messages, joints)."""
    place = {name: k for k, name in enumerate(stream.joints)}
    values = np.full((len(stream.states), len(place)), np.nan)
    for row, state in enumerate(stream.states):
        for name, value in zip(state.names, getattr(state, quantity), strict=False):
            values[row, place[name]] = value
    return values
