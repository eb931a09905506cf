"""Logs: sources, columns, units, and what is noticed."""

from __future__ import annotations

import ast
import gzip
import re
import sqlite3
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.identification.synthetic_logs import fourier_motion, real_planar, table
from tests.oracles.closed_machines import MACHINES

import chasles as ch
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.base.findings import codes, of_weight
from chasles.identification.logs.columns import find_columns

ARM = ch.load("planar2r")
MOTION = fourier_motion(2, 10.0)
TAU = np.asarray(real_planar().inverse_dynamics(MOTION.q, MOTION.qd, MOTION.qdd))


def write_csv(path: Path, names: list[str], columns: np.ndarray, delimiter: str = ",") -> Path:
    lines = [delimiter.join(names), *(delimiter.join(repr(float(x)) for x in row) for row in columns)]
    path.write_text("\n".join(lines) + "\n")
    return path


ALL = np.column_stack([MOTION.t, MOTION.q, MOTION.qd, TAU])
NAMES = ["time", "q_joint1", "q_joint2", "dq_joint1", "dq_joint2", "tau_joint1", "tau_joint2"]


def same(log: ch.Log) -> bool:
    return bool(np.allclose(log.q, MOTION.q) and np.allclose(log.effort, TAU) and np.allclose(log.time, MOTION.t))


def test_text_files_with_commas_semicolons_tabs_and_compression(tmp_path: Path) -> None:
    assert same(ch.Log(ARM, write_csv(tmp_path / "a.csv", NAMES, ALL)))
    assert same(ch.Log(ARM, write_csv(tmp_path / "a.tsv", NAMES, ALL, "\t")))
    german = tmp_path / "b.csv"
    german.write_text(write_csv(tmp_path / "c.csv", NAMES, ALL, ";").read_text().replace(".", ","))
    assert same(ch.Log(ARM, german))
    with gzip.open(tmp_path / "d.csv.gz", "wt") as file:
        file.write((tmp_path / "a.csv").read_text())
    assert same(ch.Log(ARM, str(tmp_path / "d.csv.gz")))


@pytest.mark.parametrize(
    ("delimiter", "decimal", "above", "encoding"),
    [
        ("\t", ",", "", "utf-8"),
        (" ", ",", "", "utf-8"),
        ("|", ".", "", "utf-8"),
        (",", ".", "# recorded by hand\n# ", "utf-8"),  # numpy.savetxt writes such a header
        (";", ",", "Recorder 2.1\nDate: 2026-01-01\n\n", "cp1252"),
        (",", ".", "", "utf-16"),
    ],
)
def test_dialects_of_recorders(tmp_path: Path, delimiter: str, decimal: str, above: str, encoding: str) -> None:
    path = write_csv(tmp_path / "a.csv", ["q_joint1_°", "q_joint2_°", "tau_joint1", "tau_joint2"], ALL[:, [1, 2, 5, 6]])
    text = above + path.read_text().replace(",", ";").replace(".", decimal).replace(";", delimiter)
    (tmp_path / "b.log").write_bytes(text.encode(encoding))
    log = ch.Log(ARM, tmp_path / "b.log", sample_period=0.01)
    assert same(log)
    assert log.columns.names["q"] == ("q_joint1_°", "q_joint2_°")


def test_lines_of_units_and_calendar_times(tmp_path: Path) -> None:
    stamps = np.datetime64("2026-01-01T23:59:55") + (1e6 * MOTION.t).astype("timedelta64[us]")
    for number, texts in enumerate(([str(x) + "Z" for x in stamps], [str(x)[11:] for x in stamps[:500]])):
        rows = [
            ",".join([text, *map(repr, row.tolist())]) for text, row in zip(texts, ALL[:, [1, 2, 5, 6]], strict=False)
        ]
        path = tmp_path / f"{number}.csv"
        path.write_text("\n".join(["stamp,q1,q2,tau1,tau2", ",rad,rad,Nm,Nm", *rows]))
        log = ch.Log(ARM, path)
        assert log.columns.names["q"] == ("q1 [rad]", "q2 [rad]")
        assert np.allclose(log.time - log.time[0], MOTION.t[: len(texts)], atol=1e-6)


def test_tables_of_other_libraries(tmp_path: Path) -> None:
    pandas, xarray = pytest.importorskip("pandas"), pytest.importorskip("xarray")
    frame = pandas.DataFrame(ALL, columns=NAMES)
    assert same(ch.Log(ARM, frame))
    assert same(ch.Log(ARM, frame.set_index("time")))
    dataset = xarray.Dataset(
        {"q": (("time", "joint"), MOTION.q), "tau": (("time", "joint"), TAU)},
        coords={"time": MOTION.t, "joint": ["joint1", "joint2"]},
    )
    assert same(ch.Log(ARM, dataset))
    degrees = dataset.assign(q=np.degrees(dataset.q).assign_attrs(units="deg"))
    assert same(ch.Log(ARM, degrees))
    assert ch.Log(ARM, degrees).columns.units == {"q": "deg"}
    parts = {"position": MOTION.q, "velocity": MOTION.qd, "effort": TAU}
    levels = pandas.MultiIndex.from_product([parts, ["joint1", "joint2"]])
    stamps = pandas.to_datetime("2026-01-01") + pandas.to_timedelta(MOTION.t, unit="s")
    several = pandas.DataFrame(np.hstack(list(parts.values())), stamps.tz_localize("Europe/Berlin"), levels)
    assert same(ch.Log(ARM, several))
    assert same(ch.Log(ARM, several, columns={"q": [("position", "joint1"), ("position", "joint2")]}))
    assert same(ch.Log(ARM, frame.astype(str).assign(mode="auto")))
    with pytest.raises(ArgumentError, match="two columns are named 'time'"):
        ch.Log(ARM, pandas.concat([frame, frame], axis=1))
    dataset.to_netcdf(tmp_path / "log.nc")
    assert same(ch.Log(ARM, tmp_path / "log.nc"))


def test_several_sources_with_the_same_column_names(tmp_path: Path) -> None:
    positions = write_csv(tmp_path / "q.csv", ["J1", "J2"], MOTION.q)
    efforts = write_csv(tmp_path / "tau.csv", ["J1", "J2"], TAU)
    assert same(ch.Log(ARM, {"q": positions, "effort": efforts}, sample_period=0.01))
    with pytest.raises(ArgumentError, match="say which is which"):
        ch.Log(ARM, [positions, efforts])


def joint_state(time: float, names: list[str], values: list[np.ndarray], order: str = "<", ros: int = 2) -> bytes:
    """Serialize a JointState by the rules of CDR, or those of ROS 1, independently of the reader."""
    out = bytearray()

    def put(form: str, value: float) -> None:
        out.extend(b"\0" * (-len(out) % struct.calcsize(form) if ros == 2 else 0))
        out.extend(struct.pack(order + form, value))

    def text(word: str) -> None:
        raw = word.encode() + b"\0" * (ros == 2)
        put("I", len(raw))
        out.extend(raw)

    if ros == 1:
        put("I", 7)  # number of the message
    put("i", int(time))
    put("I", round((time - int(time)) * 1e9))
    text("base")
    put("I", len(names))
    for name in names:
        text(name)
    for row in values:
        put("I", len(row))
        for value in row:
            put("d", value)
    return (b"\0\1\0\0" if order == "<" else b"\0\0\0\0") * (ros == 2) + bytes(out)


def write_sqlite_bag(path: Path, messages: list[tuple[str, float, bytes]]) -> None:
    """Write joint states (topic, time, data) as rosbag2 does."""
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE topics (id INTEGER, name TEXT, type TEXT, serialization_format TEXT)")
    connection.execute("CREATE TABLE messages (id INTEGER, topic_id INTEGER, timestamp INTEGER, data BLOB)")
    topics = list(dict.fromkeys(topic for topic, _, _ in messages))
    for k, topic in enumerate(topics):
        connection.execute("INSERT INTO topics VALUES (?, ?, 'sensor_msgs/msg/JointState', 'cdr')", (k, topic))
    rows = [(k, topics.index(topic), int(time * 1e9), data) for k, (topic, time, data) in enumerate(messages)]
    connection.executemany("INSERT INTO messages VALUES (?, ?, ?, ?)", rows)
    connection.commit()
    connection.close()


def states(
    order: str = "<", topic: str = "/joint_states", extra: float = 0.0, ros: int = 2
) -> list[tuple[str, float, bytes]]:
    rows = zip(MOTION.t, MOTION.q + extra, MOTION.qd, TAU * (extra == 0.0), strict=True)
    names = ["joint2", "joint1"]
    return [
        (topic, 100.0 + t, joint_state(100.0 + t, names, [q[::-1], qd[::-1], tau[::-1]], order, ros))
        for t, q, qd, tau in rows
    ]


@pytest.mark.parametrize("order", ["<", ">"])
def test_ros_bags_in_parts(tmp_path: Path, order: str) -> None:
    folder = tmp_path / "bag"
    folder.mkdir()
    messages = states(order)
    write_sqlite_bag(folder / "bag_0.db3", messages[:400])
    write_sqlite_bag(folder / "bag_1.db3", messages[400:])
    log = ch.Log(ARM, folder)
    assert np.allclose(log.q, MOTION.q)
    assert np.allclose(log.effort, TAU)
    assert np.allclose(log.time, MOTION.t, atol=1e-6)


def test_bags_with_several_publishers(tmp_path: Path) -> None:
    finger = [
        ("/joint_states", 100.0 + t, joint_state(100.0 + t, ["finger"], [np.array([0.02])] * 3))
        for t in MOTION.t + 3e-3
    ]
    path = tmp_path / "bag.db3"
    write_sqlite_bag(path, states() + finger)
    log = ch.Log(ARM, path)
    assert same(log)
    assert not log.findings
    assert "position finger" in log.columns.unused
    path = tmp_path / "two.db3"
    write_sqlite_bag(path, states() + states(topic="/other_states", extra=0.3))
    with pytest.raises(ArgumentError, match=r"choose columns={'q': '/joint_states .*or columns={'q': '/other_states"):
        ch.Log(ARM, path)
    names = {"q": "/joint_states position {joint}", "qd": "/joint_states velocity {joint}"}
    assert same(ch.Log(ARM, path, columns={**names, "effort": "/joint_states effort {joint}"}))


def test_bags_of_each_kind(tmp_path: Path) -> None:
    rosbag1, rosbag2, typesys = (pytest.importorskip(f"rosbags.{name}") for name in ("rosbag1", "rosbag2", "typesys"))
    messages, stores = states()[:100], typesys.Stores

    def agrees(name: str) -> bool:
        log = ch.Log(ARM, tmp_path / name)
        return bool(np.allclose(log.q, MOTION.q[:100]) and np.allclose(log.effort, TAU[:100]))

    def write(writer: Any, store: Any, rows: list[tuple[str, float, bytes]]) -> None:
        with writer:
            own = typesys.get_typestore(store)
            topic = writer.add_connection("/joint_states", "sensor_msgs/msg/JointState", typestore=own)
            for _, time, data in rows:
                writer.write(topic, int(1e9 * time), data)

    for plugin in rosbag2.StoragePlugin:
        writer = rosbag2.Writer(tmp_path / plugin.name, version=9, storage_plugin=plugin)
        writer.set_compression(rosbag2.CompressionMode.MESSAGE, rosbag2.CompressionFormat.ZSTD)
        write(writer, stores.ROS2_JAZZY, messages)
        assert agrees(plugin.name)
    write(rosbag1.Writer(tmp_path / "one.bag"), stores.ROS1_NOETIC, states(ros=1)[:100])
    assert agrees("one.bag")
    write_sqlite_bag(tmp_path / "cut.db3", [(topic, time, data[:90]) for topic, time, data in messages])
    (tmp_path / "cut.bag").write_bytes((tmp_path / "one.bag").read_bytes()[:5000])
    (tmp_path / "noise.mcap").write_bytes(bytes(100))
    (tmp_path / "empty").mkdir()
    for name in ("cut.db3", "cut.bag", "noise.mcap", "empty"):
        with pytest.raises(ArgumentError, match=r"is not a ROS bag, or is damaged|holds no messages"):
            ch.Log(ARM, tmp_path / name)


def test_columns_of_common_recorders_are_found() -> None:
    joints = ["shoulder_pan_joint", "elbow_joint"]
    ur = [f"{which}_{what}_{k}" for what in ("q", "qd", "current") for which in ("target", "actual") for k in range(2)]
    found = find_columns(["timestamp", *ur], joints, {})
    assert found.names["q"] == ("actual_q_0", "actual_q_1")
    assert found.names["effort"] == ("actual_current_0", "actual_current_1")
    assert found.currents
    tool = [f"actual_TCP_{what}_{k}" for what in ("pose", "speed", "force") for k in range(2)]
    assert find_columns(["timestamp", *ur, *tool], joints, {}).names == found.names
    franka = [f"{what}_{k}" for what in ("q", "q_d", "dq", "tau_J", "tau_J_d", "tau_ext_hat_filtered") for k in (0, 1)]
    found = find_columns(["time", *franka], joints, {})
    assert found.names["effort"] == ("tau_J_0", "tau_J_1")
    assert found.names["qd"] == ("dq_0", "dq_1")
    named = ["/joint_states/elbow_joint/position", "/joint_states/shoulder_pan_joint/position"]
    efforts = [name.replace("position", "effort") for name in named]
    assert find_columns([*named, *efforts], joints, {}).names["q"] == tuple(reversed(named))


def test_units_in_brackets_tell_what_words_do_not() -> None:
    kuka = [
        "Zeit [ms]",
        "Achse 1 Ist [°]",
        "Achse 2 Ist [°]",
        "Achse 1 (deg/s)",
        "Achse 2 (deg/s)",
        "A1 [Nm]",
        "A2 [Nm]",
    ]
    found = find_columns(kuka, ["joint1", "joint2"], {})
    assert found.names == {"time": ("Zeit [ms]",), "q": (*kuka[1:3],), "qd": (*kuka[3:5],), "effort": (*kuka[5:],)}
    assert found.units == {"time": "ms", "q": "deg", "qd": "deg"}
    assert not found.currents  # A1 is an axis, not amperes
    assert find_columns(["q1", "q2", "drive 1 [A]", "drive 2 [A]"], ["joint1", "joint2"], {}).currents


def test_names_that_do_not_tell_are_errors_that_offer_the_declaration() -> None:
    """Each offer, copied into the call, is accepted."""
    joints = ["a", "b"]
    for names, quantity in (
        (["t", "q left", "q right", "tau_a", "tau_b"], "q"),
        (["t", "q_3", "q_7", "tau_a", "tau_b"], "q"),
        (["t", "q_a", "q_b", "tau_1", "tau_2", "current_1", "current_2"], "effort"),
        (["t", "stamp", "q_a", "q_b", "tau_a", "tau_b"], "time"),
    ):
        with pytest.raises(ArgumentError, match=rf"columns={{'{quantity}': ") as error:
            find_columns(names, joints, {})
        offer = re.search(r"columns=(\{'\w+': (?:'[^']*'|\[.*?\])\})", str(error.value))
        assert offer is not None
        declared = ast.literal_eval(offer[1])
        found = find_columns(names, joints, declared).names[quantity]
        assert len(found) == (1 if quantity == "time" else 2)
        assert set(found) <= set(names)


def test_corrections_of_columns() -> None:
    names = ["clock", "a", "b", "x 1", "x 2"]
    data = dict(zip(names, np.column_stack([MOTION.t, MOTION.q, TAU]).T, strict=True))
    with pytest.raises(ArgumentError, match="no columns for the joints' positions"):
        ch.Log(ARM, data)
    corrected = {"time": "clock", "q": {"joint1": "a", "joint2": "b"}, "effort": "x {index}"}
    assert same(ch.Log(ARM, data, columns=corrected))
    with pytest.raises(UnknownNameError, match="Did you mean 'x 1'"):
        ch.Log(ARM, data, columns={"effort": ["x1", "x 2"]})


def test_joints_without_limits_may_make_many_turns() -> None:
    spinning = {"t": MOTION.t, "q": MOTION.q + 10.0 * MOTION.t[:, None], "tau": TAU}
    assert of_weight(ch.Log(ARM, spinning).findings, "refusal") == ()


def test_units_and_motor_side() -> None:
    degrees = {"t": MOTION.t, "q": np.degrees(MOTION.q), "tau": TAU}
    assert same(ch.Log(ARM, degrees, units={"q": "deg"}))
    limited = ch.load("panda")
    q = limited.home + 0.3 * np.sin(np.outer(MOTION.t, np.arange(1, 8)))
    table = {"t": MOTION.t, "q": np.degrees(q), "tau": q}
    with pytest.raises(ArgumentError, match=r"declare units=\{'q': 'deg'\} \(--unit q=deg\)"):
        ch.Log(limited, table)
    assert np.allclose(ch.Log(limited, table, units={"q": "deg"}).q, q)
    (refusal,) = ch.Log(limited, table, units={"q": "rad"}).findings[:1]
    assert (refusal.rule.code, refusal.rule.weight) == ("beyond-limits", "refusal")
    G = np.array([[100.0, 0.0], [80.0, -80.0]])
    motors = {"t": MOTION.t, "q": MOTION.q @ G.T, "tau": np.linalg.solve(G.T, TAU.T).T}
    log = ch.Log(ARM, motors, motor_from_joint=G)
    assert same(log)
    assert np.allclose(log.coupling, [[1.0, 0.0], [-1.0, 1.0]])
    amperes = ch.Log(ARM, {"t": MOTION.t, "q": MOTION.q, "current": TAU / 5.0})
    assert amperes.currents
    assert same(ch.Log(ARM, {"t": MOTION.t, "q": MOTION.q, "current": TAU / 5.0}, drive_gains=5.0))


@pytest.mark.parametrize(("unit", "power"), [("ms", 3), ("us", 6), ("ns", 9)])
@pytest.mark.parametrize("velocities", [True, False])
def test_times_that_cannot_be_seconds_must_be_declared(unit: str, power: int, velocities: bool) -> None:
    data = {"stamp": 1e9 + MOTION.t * 10.0**power, "q": MOTION.q, "tau": TAU} | (
        {"qd": MOTION.qd} if velocities else {}
    )
    with pytest.raises(ArgumentError, match=rf"declare units=\{{'time': '{unit}'\}} \(--unit time={unit}\)"):
        ch.Log(ARM, data)
    log = ch.Log(ARM, data, units={"time": unit})
    assert np.allclose(log.time - log.time[0], MOTION.t, atol=1e-5)
    assert np.allclose(ch.Log(ARM, data, units={"time": "s"}).time, data["stamp"])


def test_seconds_and_nanoseconds_of_a_stamp_belong_together() -> None:
    seconds, rest = np.divmod(1.7e9 + 0.5 + MOTION.t, 1.0)
    stamp = {"header.stamp.sec": seconds, "header.stamp.nanosec": np.round(1e9 * rest)}
    log = ch.Log(ARM, {**stamp, "q": MOTION.q, "tau": TAU})
    assert log.columns.names["time"] == tuple(stamp)
    assert np.allclose(log.time - log.time[0], MOTION.t, atol=1e-6)


def test_units_of_each_joint() -> None:
    arm = ch.load("scara")
    kinds = list(arm.description.coordinate_units)
    assert kinds == ["rad", "rad", "m", "rad"]
    motion = fourier_motion(4, 2.0, size=0.1)
    wanted = {"t": motion.t, "tau": motion.q}
    per_joint = np.where([kind == "rad" for kind in kinds], np.degrees(1.0), 1e3)
    named = {
        f"q{k + 1} [{'deg' if kind == 'rad' else 'mm'}]": (motion.q * per_joint)[:, k] for k, kind in enumerate(kinds)
    }
    for log in (
        ch.Log(arm, {**wanted, **named}),
        ch.Log(arm, {**wanted, "q": motion.q * per_joint}, units={"q": ["deg", "deg", "mm", "deg"]}),
        ch.Log(arm, {**wanted, "q": motion.q * np.where(per_joint == 1e3, 1.0, per_joint)}, units={"q": "deg"}),
        ch.Log(arm, {**wanted, "q": -motion.q * 4096.0}, units={"q": -1.0 / 4096.0}),
    ):
        assert np.allclose(log.q, motion.q)
        assert np.allclose(log.effort, motion.q)
    with pytest.raises(ArgumentError, match=r"column 'q 3' is in deg, but its joint moves in m"):
        ch.Log(arm, {**wanted, "q": motion.q}, units={"q": ["deg"] * 4})
    with pytest.raises(ArgumentError, match="expected one unit of 'q' or 4"):
        ch.Log(arm, {**wanted, "q": motion.q}, units={"q": ["deg"] * 3})


def test_faults_of_single_samples_and_clocks_are_named_and_mended() -> None:
    q, tau = MOTION.q.copy(), TAU.copy()
    q[400, 1] += 1.5
    tau[700, 0] += 1e4
    log = ch.Log(ARM, {"t": MOTION.t, "q": q, "tau": tau})
    spikes = [finding.facts for finding in log.findings if finding.rule.code == "spike"]
    assert spikes == [
        {"quantity": "position", "joint": "joint2", "samples": 1, "time": pytest.approx(4.0)},
        {"quantity": "effort", "joint": "joint1", "samples": 1, "time": pytest.approx(7.0)},
    ]
    assert np.allclose(log.q, np.delete(MOTION.q, [400, 700], axis=0))
    moved = np.concatenate([MOTION.q[:500], MOTION.q[600:]])
    log = ch.Log(ARM, {"t": MOTION.t[:900], "q": moved, "tau": TAU[:900]})
    assert [part.stop for part in log.segments] == [500, 900]
    jumps = [finding for finding in log.findings if finding.rule.code == "position-jump"]
    assert jumps
    assert all(finding.facts["places"] == 1 and finding.value > finding.rule.limit for finding in jumps)
    wrapped = np.mod(4.0 * MOTION.q + np.pi, 2.0 * np.pi) - np.pi
    log = ch.Log(ARM, {"t": MOTION.t, "q": wrapped, "tau": TAU})
    assert np.allclose(np.diff(log.q, axis=0), np.diff(4.0 * MOTION.q, axis=0))
    assert [f.facts["joint"] for f in log.findings if f.rule.code == "wrapped-angle"] == ["joint1", "joint2"]
    kept = np.delete(np.arange(1000), [200, 201, 202])
    gap = ch.Log(ARM, {"t": MOTION.t[kept], "q": MOTION.q[kept], "tau": TAU[kept], "qd": 0.0 * TAU[kept]})
    missing, *constant = gap.findings
    assert (missing.rule.code, missing.value, missing.facts["places"]) == ("missing-samples", 3, 1)
    assert codes(constant) == ["velocity-constant"] * 2


def test_encoders_that_count_from_zero_to_a_revolution_are_within_limits() -> None:
    joints = [j.replace(limits=j.limits.replace(lower=-2.5, upper=2.5)) for j in ARM.description.joints]
    arm = ch.Robot(ARM.description.replace(joints=tuple(joints)))
    counted = {"t": MOTION.t, "q": np.degrees(MOTION.q) % 360.0, "tau": TAU}
    with pytest.raises(ArgumentError, match=r"declare units={'q': 'deg'}"):
        ch.Log(arm, counted)
    log = ch.Log(arm, counted, units={"q": "deg"})
    assert not of_weight(log.findings, "refusal")
    turns = (log.q - MOTION.q) / (2.0 * np.pi)
    assert np.allclose(turns, np.rint(turns[0]), atol=1e-9)


def test_jumps_in_time_part_the_log() -> None:
    t = MOTION.t.copy()
    t[400:] += 3.0
    t[700:] -= 6.0
    log = ch.Log(ARM, table(MOTION._replace(t=t), TAU))
    assert [(part.start, part.stop) for part in log.segments] == [(0, 400), (400, 700), (700, 1000)]
    assert codes(log.findings) == ["clock-jumps", "time-jumps-back", "gap"]
    assert log.findings[2].facts["longest"] == pytest.approx(3.01)
    assert abs(log.duration - 9.97) < 1e-6


def test_samples_at_a_known_effort_limit_are_saturated_and_efforts_beyond_it_are_not() -> None:
    limit = 0.9 * np.abs(TAU[:, 0]).max()
    rows = [{"a": 0.5, "limits": {"effort": limit}}, {"a": 0.5}]
    arm = ch.Robot.from_dh(rows, check=False)
    noise = 1e-4 * limit * np.random.default_rng(0).random(len(TAU))  # a plateau that no two samples share
    cut = np.sign(TAU[:, 0]) * np.minimum(np.abs(TAU[:, 0]), limit - noise)
    log = ch.Log(arm, {"t": MOTION.t, "q": MOTION.q, "tau": np.stack([cut, TAU[:, 1]], axis=1)})
    beyond = np.abs(TAU[:, 0]) > limit
    assert log.saturated[beyond, 0].all()
    assert log.saturated[:, 0].sum() < 1.1 * beyond.sum()
    assert not log.saturated[:, 1].any()
    assert not ch.Log(arm, {"t": MOTION.t, "q": MOTION.q, "tau": TAU}).saturated.any()


def test_missing_values_and_constant_and_saturated_columns_are_named() -> None:
    q, tau = MOTION.q.copy(), TAU.copy()
    q[[10, 500]] = np.nan
    tau[:, 1] = 0.0
    tau[:, 0] = np.clip(tau[:, 0], -5.0, 5.0)
    log = ch.Log(ARM, {"t": MOTION.t, "q": q, "tau": tau})
    found = {(f.rule.code, f.facts.get("joint"), f.facts.get("extreme")) for f in log.findings}
    assert {("effort-constant", "joint2", None), ("saturated-effort", "joint1", 5.0)} <= found
    (incomplete,) = (f for f in log.findings if f.rule.code == "incomplete-samples")
    assert (incomplete.value, incomplete.facts["samples"]) == (2, 1000)
    assert log.measured.tolist() == [True, False]


@pytest.mark.parametrize(
    ("change", "code", "weight"),
    [
        ({"qd": -MOTION.qd}, "velocity-opposite", "refusal"),
        ({"qd": MOTION.qd[:, ::-1]}, "velocity-swapped", "refusal"),
        ({"qd": MOTION.qd / 100.0}, "velocity-unit", "caution"),
        ({"qd": MOTION.qd**2}, "velocity-unlike", "caution"),
    ],
)
def test_velocities_that_contradict_positions(change: dict[str, np.ndarray], code: str, weight: str) -> None:
    data = {"t": MOTION.t, "q": MOTION.q, "qd": MOTION.qd, "tau": TAU} | change
    log = ch.Log(ARM, data)
    assert {(f.rule.code, f.rule.weight) for f in log.findings} == {(code, weight)}
    assert log.qd is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no rows"),
        ("just words\n\nmore words\n", "has no rows of numbers; its first line is 'just words'"),
        ("time,q1,q2,tau1,tau2\n", "has no rows of numbers"),
        ("t,q1,q2,tau1,tau2\n0,1,2,3\n0,1,2,3,4\n", "line 2: expected 5 values, found 4"),
        ("t,q1,q2,tau1,tau2\n0,1,x1,3,4\n0,1,2,3,4\n", "line 2: 'x1' is not a number"),
        ("t,q1,q2,tau1,tau2\n0,1,2,3,4\n", "1 complete samples"),
        ("t,q1,q1,tau1,tau2\n0,1,2,3,4\n", "two columns named 'q1'"),
        ("q1,q2,tau1,tau2\n" + "0,1,2,3\n" * 20, "no column of times among: q1, q2, tau1, tau2. Name it"),
        (
            "ts,q1,q2,tau1,tau2\n" + "".join(f"{k},1,2,3,4\n" for k in range(20)),
            r"no column of times among: ts, q1, q2, tau1, tau2; 'ts' increases. Name it with columns={'time': 'ts'} "
            r"\(--columns time=ts\)",
        ),
        ("t,q1,q2,tau1,tau2\n" + "0,1,2,3,4\n" * 20, "does not increase"),
        ("t;q1;q2;tau1;tau2\n" + "0,1;1.000,5;2;3;4\n" * 20, "is ',' or '.' the decimal mark"),
        ("t,q1,tau1,tau2\n" + "0,1,2,3\n" * 20, "1 columns seem to be 'q'"),
    ],
)
def test_bad_files_are_refused_in_words(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "log.csv"
    path.write_text(text)
    with pytest.raises(ArgumentError, match=message):
        ch.Log(ARM, path)


def test_wrong_sources() -> None:
    for source in (3, None, [], "nowhere.csv", "log.xlsx"):
        with pytest.raises(ArgumentError):
            ch.Log(ARM, source)


def test_logs_of_robots_with_loops_hold_the_independent_joints() -> None:
    delta = ch.load("delta")
    wave = np.sin(np.arange(0.0, 1.0, 0.01))[:, None] * np.ones(3)
    log = ch.Log(delta, {"t": np.arange(0.0, 1.0, 0.01), "q": wave, "tau": wave})
    assert log.n == delta.n == 3
    by_pose = ch.Robot(MACHINES["Stewart by pose"]())
    with pytest.raises(ArgumentError, match=r"robots whose independent joints have one coordinate .* 'pose"):
        ch.Log(by_pose, {"t": np.arange(0.0, 1.0, 0.01), "q": np.zeros((100, 6)), "tau": np.zeros((100, 6))})


def test_zero_positions_are_added_in_rad_and_m() -> None:
    zeros = np.array([-0.5 * np.pi, 0.25])
    shifted = np.column_stack([MOTION.t, MOTION.q - zeros, TAU])
    log = ch.Log(ARM, {"t": shifted[:, 0], "q": shifted[:, 1:3], "tau": shifted[:, 3:]}, zero_positions=zeros)
    assert same(log)
    in_degrees = {"t": MOTION.t, "q": np.degrees(MOTION.q - zeros), "tau": TAU}
    assert same(ch.Log(ARM, in_degrees, units={"q": "deg"}, zero_positions=zeros))
    with pytest.raises(ArgumentError, match="zero_positions"):
        ch.Log(ARM, in_degrees, zero_positions=[0.0, 0.0, 0.0])
