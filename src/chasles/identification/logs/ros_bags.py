"""ROS 2 bags: joint states from SQLite and MCAP files, without ROS.

A bag holds messages in the Common Data Representation (CDR; OMG, "Extensible and dynamic topic types for DDS", clause
7.4): four bytes that tell the byte order, then the fields, each aligned to its size. ``sensor_msgs/msg/JointState`` is
a header (seconds, nanoseconds, frame), joint names, and three sequences of doubles. Files, or single messages, may be
compressed by Zstandard.
"""

from __future__ import annotations

import io
import sqlite3
import struct
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from chasles.base.errors import ArgumentError, import_extra
from chasles.model.placement import FloatArray

MESSAGE = "sensor_msgs/msg/JointState"
SUFFIXES = (".db3", ".mcap", ".db3.zstd", ".mcap.zstd")
LONGEST_SEQUENCE = 10_000
_ZSTANDARD = b"\x28\xb5\x2f\xfd"


class JointState(NamedTuple):
    """One message: time in s, and values by joint; empty where a quantity was not published."""

    time: float
    names: tuple[str, ...]
    position: tuple[float, ...]
    velocity: tuple[float, ...]
    effort: tuple[float, ...]


class Stream(NamedTuple):
    """Messages of one topic that tell of the same joints."""

    topic: str
    joints: tuple[str, ...]
    states: list[JointState]


class _Message(NamedTuple):
    topic: str
    timestamp: int
    data: bytes


def is_bag(path: Path) -> bool:
    """Whether a path is a folder or has a name as files of bags."""
    return path.is_dir() or path.name.lower().endswith(SUFFIXES)


def read_bag(path: Path) -> dict[str, FloatArray]:
    """Read all joint states of a bag.

    Parameters
    ----------
    path
        File ``.db3`` or ``.mcap``, also with ``.zstd``, or a folder with such files.

    Returns
    -------
    dict
        Columns ``time`` (s, after the first message), ``position NAME``, ``velocity NAME`` and ``effort NAME``; with
        the topic before these where several topics tell of the same joint. Rows are the messages with most joints;
        others are interpolated at their times. What no message says is NaN.

    Raises
    ------
    ArgumentError
        If it is no such bag, holds no joint states, or a message is damaged.
    """
    files = sorted(file for file in path.iterdir() if file.name.lower().endswith(SUFFIXES)) if path.is_dir() else [path]
    if not files:
        raise ArgumentError(f"'{path}' holds no ROS 2 bag (files {', '.join('*' + suffix for suffix in SUFFIXES)})")
    by_topic: dict[str, list[JointState]] = {}
    for file in files:
        for number, message in enumerate(_messages(file)):
            try:
                state = decode_joint_state(_plain(message.data))
            except (struct.error, ValueError, TypeError) as error:
                raise ArgumentError(f"'{file}', joint state {number}: damaged message ({error})") from None
            own = state if state.time > 0.0 else state._replace(time=message.timestamp * 1e-9)
            by_topic.setdefault(message.topic, []).append(own)
    streams = [stream for topic, states in by_topic.items() for stream in _streams(topic, states)]
    if not streams:
        raise ArgumentError(f"the bag '{path}' holds no messages of type {MESSAGE}")
    return _table(streams)


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


def _messages(file: Path) -> Iterator[_Message]:
    """Joint states of a file, in the order in which they were recorded."""
    name = file.name.lower()
    content = _plain(file.read_bytes()) if name.endswith(".zstd") else None
    if name.removesuffix(".zstd").endswith(".mcap"):
        with file.open("rb") if content is None else io.BytesIO(content) as stream:
            yield from _from_mcap(file, stream)
        return
    if content is None:
        connection = sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)
    else:
        if not content.startswith(b"SQLite format 3"):
            raise ArgumentError(f"'{file}' is not a ROS 2 bag of storage type sqlite3")
        connection = sqlite3.connect(":memory:")
        connection.deserialize(content)
    try:
        yield from (
            _Message(topic, timestamp, bytes(data))
            for topic, timestamp, data in connection.execute(
                "SELECT topics.name, messages.timestamp, messages.data FROM messages JOIN topics "
                "ON topics.id = messages.topic_id WHERE topics.type = ? ORDER BY messages.timestamp",
                (MESSAGE,),
            )
        )
    except sqlite3.Error as error:
        raise ArgumentError(f"'{file}' is not a ROS 2 bag: {error}") from None
    finally:
        connection.close()


def _from_mcap(file: Path, stream: IO[bytes]) -> Iterator[_Message]:
    reader = import_extra("mcap.reader", "bags", "reading MCAP bags")
    exceptions = import_extra("mcap.exceptions", "bags", "reading MCAP bags")
    try:
        for schema, channel, message in reader.make_reader(stream).iter_messages():
            if schema is not None and schema.name == MESSAGE:
                yield _Message(channel.topic, message.log_time, message.data)
    except (exceptions.McapError, struct.error, EOFError) as error:
        raise ArgumentError(f"'{file}' is not a ROS 2 bag of storage type mcap: {error}") from None


def _plain(data: bytes) -> bytes:
    """Undo the compression of a file or a message, if there is one."""
    if not data.startswith(_ZSTANDARD):
        return data
    zstandard = import_extra("zstandard", "bags", "reading compressed bags")
    try:
        content: bytes = zstandard.ZstdDecompressor().decompressobj().decompress(data)
    except zstandard.ZstdError as error:
        raise ArgumentError(f"a part of the bag cannot be decompressed: {error}") from None
    return content


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
