"""Pages and pictures are drawn by two programs, one in WebGL and one in NumPy, in the same light."""

from __future__ import annotations

from base64 import b64decode
from io import BytesIO
from typing import Any, get_args

import numpy as np
import pytest
from PIL import Image

import chasles as ch
from chasles.visual.raster import Camera
from chasles.visual.scene import THEMES, Theme


@pytest.mark.slow
def test_pages_and_pictures_show_robots_in_the_same_light(opened: Any) -> None:
    """Most pixels of ground, shadows and solids; pages round edges and draw the lines of the ground wider."""
    arm = ch.load("scara")
    q = arm.home + 0.3
    tab = opened(arm, q=q)
    tab.ask("page.gizmo.shown = false, page.scene.overlay = [], page.scene.marks = []")
    for name in get_args(Theme):
        png = tab.ask(f"page.scene.theme = '{name}', page.scene.paint(), page.scene.canvas.toDataURL()")
        with Image.open(BytesIO(b64decode(png.partition(",")[2]))) as image:
            on_page = np.asarray(image.convert("RGB"), dtype=int)
            camera = Camera(arm, q[None], image.size, name, oversampling=1)
        picture = camera.image(q).astype(int)
        camera.parts = []
        is_covered = (picture != camera.image(q)).any(axis=-1)
        plane, (*shade, opacity) = np.array(THEMES[name]["plane"]), THEMES[name]["shade"]
        in_shadow = 255.0 * (plane + opacity * (shade - plane))
        is_shadow = is_covered & (np.abs(picture - in_shadow).max(axis=-1) <= 2.0)
        difference = np.abs(on_page - picture).max(axis=-1)
        for area in (~is_covered, is_shadow, is_covered & ~is_shadow):
            assert area.mean() > 0.02
            assert np.median(difference[area]) <= 1.0
    assert tab.complaints() == []
