"""Images on the bodies of a robot: each kept once, and few enough bytes for a page."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import import_extra
from chasles.model.formats.mesh_surfaces import Texture

Floats = NDArray[np.float64]
Image = NDArray[np.uint8]

#: Bytes of all images of a robot together.
MOST_BYTES = 350_000
_WIDTHS = (1024, 512, 256, 128)  # pixels
_QUALITY = 80
_MOST_PIXELS = 16 * MOST_BYTES  # WebP hardly needs less than half a bit a pixel


class SurfaceTexture(NamedTuple):
    """Texture of a surface: places (m, 3, 2) of the triangles' corners in an image, and the index of that image."""

    uv: Floats
    image: int


@dataclass
class Images:
    """Images of a robot, without repetition."""

    pixels: list[Image] = field(default_factory=list)
    _known: dict[tuple[tuple[int, ...], bytes], int] = field(default_factory=dict)

    def coat(self, texture: Texture | None) -> SurfaceTexture | None:
        """Return the coat that a texture makes, and keep its image; None where there is no image."""
        if texture is None or texture.image is None:
            return None
        key = texture.image.shape, texture.image.tobytes()
        if key not in self._known:
            self._known[key] = len(self.pixels)
            self.pixels.append(texture.image)
        return SurfaceTexture(texture.uv, self._known[key])

    def encoded(self, most: int = MOST_BYTES) -> list[str]:
        """Return the images as WebP (base64), scaled down until they fit; empty if they do not fit at 128 pixels."""
        if not self.pixels:
            return []
        pillow = import_extra("PIL.Image", "pictures", "a page with textures")
        for width in _WIDTHS:
            if width > _WIDTHS[-1] and sum(_size(image, width) for image in self.pixels) > _MOST_PIXELS:
                continue
            data = [_webp(pillow.fromarray(image), width) for image in self.pixels]
            if sum(map(len, data)) <= most:
                return [base64.b64encode(image).decode("ascii") for image in data]
        return []


def _size(image: Image, width: int) -> float:
    """Return the number of pixels of an image that is scaled down to some width and height at most."""
    height, wide = image.shape[:2]
    return float(height * wide * min(1.0, width / max(height, wide)) ** 2)


def _webp(image: Any, width: int) -> bytes:
    image.thumbnail((width, width))
    stream = BytesIO()
    image.save(stream, "WEBP", quality=_QUALITY)
    return stream.getvalue()


def packed_coat(coat: SurfaceTexture) -> tuple[list[Any], list[bytes]]:
    """Return the description of a coat for a page, and its bytes: distinct places in 16 bits, and that of each corner.

    Returns
    -------
    tuple
        Index of the image, number of places, lowest corner of their box and spacing of its steps; places (2, count) and
        indices (m, 3), of 32 bits where there are more than 65,536 places.
    """
    uv = coat.uv.reshape(-1, 2)
    uv = uv - np.floor(uv.min(axis=0, initial=0.0))
    low, step = uv.min(axis=0) if len(uv) else np.zeros(2), (np.ptp(uv, axis=0) if len(uv) else np.zeros(2)) / 65_535.0
    steps = np.round((uv - low) / np.where(step > 0.0, step, 1.0)).astype("<u2")
    distinct, corners = np.unique(steps, axis=0, return_inverse=True)
    kind = "<u4" if len(distinct) > 65_536 else "<u2"
    described = [coat.image, len(distinct), low.tolist(), step.tolist()]
    return described, [np.ascontiguousarray(distinct.T).tobytes(), corners.astype(kind).tobytes()]
