"""A*: cheapest paths as SciPy's Dijkstra finds them, on graphs and grids; estimates that save work; refused costs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from chasles.base.errors import ArgumentError
from chasles.planning import a_star, grid_neighbors


def random_graph(seed: int) -> tuple[np.ndarray, dict[int, dict[int, float]]]:
    rng = np.random.default_rng(seed)
    costs = np.where(rng.random((25, 25)) < 0.12, rng.uniform(0.1, 5.0, (25, 25)), 0.0)
    np.fill_diagonal(costs, 0.0)
    return costs, {a: {b: costs[a, b] for b in range(25) if costs[a, b]} for a in range(25)}


@pytest.mark.parametrize("seed", range(4))
def test_costs_are_those_of_dijkstra(seed: int) -> None:
    """With any estimate below the true cost, consistent or not, the path is the cheapest."""
    costs, graph = random_graph(seed)
    least = shortest_path(csr_array(costs))
    rng = np.random.default_rng(seed)
    for goal in range(1, 25, 4):
        to_go = {node: share * least[node, goal] for node, share in enumerate(rng.random(25))}
        to_go = {node: cost if np.isfinite(cost) else 1e3 for node, cost in to_go.items()}
        for estimate in (None, to_go):
            found = a_star(graph, 0, goal, estimate)
            assert found.cost == pytest.approx(least[0, goal], rel=1e-12)
            assert found.success == np.isfinite(least[0, goal])
            if found.success:
                assert (found.nodes[0], found.nodes[-1]) == (0, goal)
                steps = [graph[a][b] for a, b in zip(found.nodes[:-1], found.nodes[1:], strict=True)]
                assert sum(steps) == pytest.approx(found.cost, rel=1e-12)


def test_a_good_estimate_expands_fewer_nodes() -> None:
    neighbors = grid_neighbors(np.zeros((40, 40)) > 0)
    blind = a_star(neighbors, (0, 0), (39, 20))
    aimed = a_star(neighbors, (0, 0), (39, 20), lambda cell: float(np.hypot(39 - cell[0], 20 - cell[1])))
    assert aimed.cost == pytest.approx(blind.cost) == pytest.approx(19.0 + 20.0 * np.sqrt(2.0))
    assert aimed.expanded < blind.expanded / 2


def test_grids_of_three_axes_and_corners_that_are_not_cut() -> None:
    assert a_star(grid_neighbors(np.zeros((5, 5, 5)) > 0), (0, 0, 0), (4, 4, 4)).cost == pytest.approx(
        4.0 * np.sqrt(3.0)
    )
    around = a_star(grid_neighbors([[0, 1], [0, 0]]), (0, 0), (1, 1))
    assert around.nodes == [(0, 0), (1, 0), (1, 1)]
    assert not a_star(grid_neighbors([[0, 1], [1, 0]]), (0, 0), (1, 1)).success


def test_a_goal_may_be_a_question_and_nodes_need_no_order() -> None:
    graph = {"a": {None: 1.0}, None: {3: 1.0}}
    assert a_star(graph, "a", lambda node: isinstance(node, int)).nodes == ["a", None, 3]


@pytest.mark.parametrize("occupied", [[], [[]], [0.0, 1.0], ["free"]])
def test_grids_that_are_none_are_refused(occupied: object) -> None:
    with pytest.raises(ArgumentError, match="an array of True and False with at least one cell"):
        grid_neighbors(occupied)  # type: ignore[arg-type]


@pytest.mark.parametrize("cost", [-1.0, np.nan])
def test_costs_that_are_refused(cost: float) -> None:
    with pytest.raises(ArgumentError, match="the step from node 'a' costs"):
        a_star({"a": {"b": cost}}, "a", "b")
    with pytest.raises(ArgumentError, match="the cost to go from node 'a' costs"):
        a_star({"a": {"b": 1.0}}, "a", "b", {"a": cost})
