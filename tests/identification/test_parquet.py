"""Parquet files and LeRobot data sets, written by pyarrow, as logs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.identification.synthetic_logs import fourier_motion, real_planar

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.base.findings import codes
from chasles.identification.logs.tables import read_table

ARM = ch.load("planar2r")
MOTION = fourier_motion(2, 4.0, rate=50.0)
TAU = np.asarray(real_planar().inverse_dynamics(MOTION.q, MOTION.qd, MOTION.qdd))


def lists(values: np.ndarray, fixed: bool) -> Any:
    flat = pa.array(values.ravel())
    if fixed:
        return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
    return pa.ListArray.from_arrays(pa.array(np.arange(0, values.size + 1, values.shape[1]), pa.int32()), flat)


def episode(number: int, rows: slice, fixed: bool = False) -> pa.Table:
    t = MOTION.t[rows] - MOTION.t[rows][0]
    return pa.table(
        {
            "action": lists(MOTION.q[rows] + 0.01, fixed),
            "observation.state": lists(MOTION.q[rows], fixed),
            "observation.effort": lists(TAU[rows], fixed),
            "observation.image": pa.array([b"picture"] * len(t)),
            "timestamp": t.astype(np.float32),
            "frame_index": np.arange(len(t)),
            "episode_index": np.full(len(t), number),
        }
    )


def dataset(folder: Path, names: Any, episodes: list[pa.Table]) -> Path:
    """Data set with a file for each episode, written in the opposite order of their names."""
    feature = {"dtype": "float32", "shape": [2], "names": names}
    info = {"fps": 50, "features": {"action": feature, "observation.state": feature, "observation.effort": feature}}
    (folder / "meta").mkdir(parents=True)
    (folder / "meta" / "info.json").write_text(json.dumps(info))
    (folder / "data" / "chunk-000").mkdir(parents=True)
    for k, table in enumerate(reversed(episodes)):
        parquet.write_table(table, folder / "data" / "chunk-000" / f"file-{k:03d}.parquet")
    return folder


@pytest.mark.parametrize("names", [["joint1.pos", "joint2.pos"], {"motors": ["joint1.pos", "joint2.pos"]}])
@pytest.mark.parametrize("fixed", [False, True])
def test_a_data_set_is_a_log_with_its_episodes_in_order(tmp_path: Path, names: Any, fixed: bool) -> None:
    parts = [episode(0, slice(0, 80), fixed), episode(1, slice(80, 200), fixed)]
    folder = dataset(tmp_path / "set", names, parts)
    columns = {"q": "observation.state {joint}.pos", "effort": "observation.effort {joint}.pos", "time": "timestamp"}
    log = ch.Log(ARM, folder, columns=columns)
    assert np.allclose(log.q, MOTION.q)
    assert np.allclose(log.effort, TAU)
    assert [(part.start, part.stop) for part in log.segments] == [(0, 80), (80, 200)]
    assert "time-jumps-back" in codes(log.findings)
    assert "action joint1.pos" in log.columns.unused
    assert not any("image" in name for name in log.columns.unused)


def test_one_file_names_components_by_number_and_keeps_what_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "run.parquet"
    table = episode(0, slice(0, 100))
    holes = pa.array([None if k == 3 else float(k) for k in range(100)])
    stamps = pa.array((1e6 * MOTION.t[:100]).astype("datetime64[us]"))
    parquet.write_table(table.append_column("hole", holes).append_column("stamp", stamps), path)
    found = read_table(path)
    assert list(found)[:4] == ["action 1", "action 2", "observation.state 1", "observation.state 2"]
    assert np.isnan(found["hole"]).nonzero()[0].tolist() == [3]
    assert np.allclose(found["stamp"], MOTION.t[:100], atol=1e-6)
    log = ch.Log(
        ARM, path, columns={"q": "observation.state {index}", "effort": "observation.effort {index}", "time": "stamp"}
    )
    assert np.allclose(log.q, MOTION.q[:100])


def test_damaged_data_sets_are_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(ArgumentError, match=r"a\.parquet' is not a Parquet file"):
        read_table(tmp_path / "a.parquet")
    uneven = pa.table({"x": pa.array([[1.0], [1.0, 2.0]])})
    parquet.write_table(uneven, tmp_path / "b.parquet")
    with pytest.raises(ArgumentError, match=r"rows of 'x' in the log .* differ in length"):
        read_table(tmp_path / "b.parquet")
    parquet.write_table(pa.table({"x": pa.array(["text"])}), tmp_path / "c.parquet")
    with pytest.raises(ArgumentError, match="no columns of numbers"):
        read_table(tmp_path / "c.parquet")
    folder = dataset(tmp_path / "set", None, [episode(0, slice(0, 50)).drop(["action"]), episode(1, slice(50, 99))])
    with pytest.raises(ArgumentError, match=r"rows of 'action' .* differ in length"):
        read_table(folder)
    (folder / "meta" / "info.json").write_text("[]")
    with pytest.raises(ArgumentError, match="does not describe the features"):
        read_table(folder)
    (folder / "meta" / "info.json").write_text('{"features": {}}')
    for file in folder.rglob("*.parquet"):
        file.unlink()
    with pytest.raises(ArgumentError, match="has no file data"):
        read_table(folder)
