"""Settings of all tests."""

from __future__ import annotations

from hypothesis import settings

# an example may be the first to compile a function, which takes longer than hypothesis allows an example
settings.register_profile("chasles", deadline=None)
settings.load_profile("chasles")
