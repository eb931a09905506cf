"""Motions over time: of joints, of a frame, planned or recorded.

`trajectory` and `motion` are the base and what a motion gives. `joint`: point to point, splines, recordings, motions on
the manifold of configurations; `cartesian`: paths, blends and splines of a frame; `limits`: checks against a robot's
limits; `following`: from space to joints, and bases along paths; `planning`: time-optimal and online motions.
"""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
