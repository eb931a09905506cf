"""The course's files of chapter 10: a graph by hand, a roadmap among disks, damaged files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from chasles.base.errors import ArgumentError
from chasles.interop.modern_robotics.planning import (
    read_graph,
    read_obstacles,
    roadmap_among,
    shortest_path,
    write_results,
)

NODES = """# a comment
1,-0.5,-0.5,1.4142
2, 0.0,-0.5,1.118

3,-0.2, 0.2,0.7616
4, 0.5, 0.5,0
"""
EDGES = "# ID1,ID2,cost\n2,1,0.5\n3,1,0.7616\n4,2,1.5\n4,3,0.9\n"
OBSTACLES = """# x,y,diameter
0,0,0.2
0,0.1,0.2
0.3,0.2,0.2
-0.3,-0.2,0.2
-0.1,-0.4,0.2
-0.2,0.3,0.2
0.3,-0.3,0.2
0.1,0.4,0.2
"""


def test_the_cheapest_path_of_a_graph_by_hand(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text(NODES)
    (tmp_path / "edges.csv").write_text(EDGES)
    graph = read_graph(tmp_path)
    found = shortest_path(graph)
    assert found.nodes == [1, 3, 4]
    assert found.cost == pytest.approx(1.6616)
    assert shortest_path(graph, 4, 2).nodes == [4, 2]
    write_results(tmp_path, graph, found.nodes)
    assert (tmp_path / "path.csv").read_text() == "1,3,4\n"
    again = read_graph(tmp_path)
    assert again.costs == graph.costs
    np.testing.assert_allclose(again.positions, graph.positions)


def test_a_roadmap_among_the_disks_of_the_course(tmp_path: Path) -> None:
    """No edge meets a disk, by the distance of segments from centres, and the written path leads to the goal."""
    (tmp_path / "obstacles.csv").write_text(OBSTACLES)
    disks = read_obstacles(tmp_path / "obstacles.csv")
    graph = roadmap_among(disks, radius=0.01)
    np.testing.assert_array_equal(graph.positions[[0, -1]], [[-0.5, -0.5], [0.5, 0.5]])
    for a, others in graph.costs.items():
        for b, cost in others.items():
            start, way = graph.positions[a - 1], graph.positions[b - 1] - graph.positions[a - 1]
            assert cost == pytest.approx(np.linalg.norm(way))
            share = np.clip((disks[:, :2] - start) @ way / (way @ way), 0.0, 1.0)
            nearest = np.linalg.norm(start + share[:, None] * way - disks[:, :2], axis=-1)
            assert (nearest > 0.5 * disks[:, 2] + 0.01).all()
    found = shortest_path(graph)
    assert found.success
    assert np.sqrt(2.0) < found.cost < 2.0
    write_results(tmp_path, graph, found.nodes)
    written = [int(node) for node in (tmp_path / "path.csv").read_text().split(",")]
    assert (written[0], written[-1]) == (1, len(graph.positions))
    assert shortest_path(read_graph(tmp_path)).nodes == written


def test_a_closed_wall_has_no_path(tmp_path: Path) -> None:
    wall = [[x, -x, 0.15] for x in np.linspace(-0.55, 0.55, 17)]
    graph = roadmap_among(wall, samples=100)
    assert not shortest_path(graph).success
    write_results(tmp_path, graph, [])
    assert (tmp_path / "path.csv").read_text() == "1\n"


@pytest.mark.parametrize(
    ("nodes", "edges", "message"),
    [
        (NODES, "1,2,x\n", r"edges.csv, line 1: '1,2,x' is not a row of numbers"),
        (NODES, "1,2\n", r"edges.csv, line 1: expected 3 finite numbers, not '1,2'"),
        (NODES, "1,2,nan\n", r"expected 3 finite numbers"),
        (NODES, "1,7,1.0\n", r"leads to node 7, which is not there"),
        (NODES.replace("4, 0.5", "5, 0.5"), EDGES, r"must have the IDs 1, 2, 3, … in order"),
        (None, EDGES, r"nodes.csv cannot be read"),
    ],
)
def test_damaged_files_are_named(tmp_path: Path, nodes: str | None, edges: str, message: str) -> None:
    if nodes is not None:
        (tmp_path / "nodes.csv").write_text(nodes)
    (tmp_path / "edges.csv").write_text(edges)
    with pytest.raises(ArgumentError, match=message):
        read_graph(tmp_path)
