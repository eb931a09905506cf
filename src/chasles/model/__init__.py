"""Description of a robot: links, joints, inertias, motors, frames; file formats; robots shipped with Chasles."""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
