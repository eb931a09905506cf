"""Controllers: one law a file, and what several laws stand on.

Laws of joints, of a frame and of forces; `linear_quadratic` regulators and filters; `adaptive` and `robust` laws;
`optimal` motions. A law is traced and compiled together with the plant; it uses `Robot`'s public methods, as
trajectories do.
"""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
