"""Mark of tests that look at direct calls, which ``CHASLES_DIRECT_CALLS=0`` switches off."""

from __future__ import annotations

import pytest

from chasles.engine.cpython import objects
from chasles.engine.running.compiling import native_available

needs_direct_calls = pytest.mark.skipif(
    not (native_available() and objects.supported()), reason="there are no direct calls"
)
