"""Planning: paths without collisions.

`graph_search`; a configuration `space` whose edges are proven free by `motion_bounds`; `trees`, `roadmap` and
`shortcuts`; the `planned_path` and its motion.
"""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
