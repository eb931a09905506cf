"""Motion planning: paths without collisions, on graphs, grids and configuration spaces."""

from chasles.planning.graph_search import GraphPath, a_star, grid_neighbors
from chasles.planning.plan import plan
from chasles.planning.planned_path import PlannedPath
from chasles.planning.roadmap import Roadmap
from chasles.planning.space import ConfigurationSpace

__all__ = ["ConfigurationSpace", "GraphPath", "PlannedPath", "Roadmap", "a_star", "grid_neighbors", "plan"]
