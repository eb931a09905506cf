from chasles.planning.graph_search import GraphPath as GraphPath
from chasles.planning.graph_search import a_star as a_star
from chasles.planning.graph_search import grid_neighbors as grid_neighbors
from chasles.planning.plan import plan as plan
from chasles.planning.planned_path import PlannedPath as PlannedPath
from chasles.planning.roadmap import Roadmap as Roadmap
from chasles.planning.space import ConfigurationSpace as ConfigurationSpace

__all__: list[str]
