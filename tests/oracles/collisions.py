"""Collisions of a robot with itself by coal, through Pinocchio."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray


def hits(file: str | Path, q: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether meshes of links without a joint between them overlap, of a URDF file at configurations (k, n): (k,)."""
    import pinocchio as pin

    model = pin.buildModelFromUrdf(str(file))
    assert model.nq == q.shape[1]
    shapes = pin.buildGeomFromUrdf(model, str(file), pin.COLLISION, package_dirs=[str(Path(file).parents[4])])
    shapes.addAllCollisionPairs()
    for pair in list(shapes.collisionPairs):
        a, b = (shapes.geometryObjects[k].parentJoint for k in (pair.first, pair.second))
        if a == b or model.parents[a] == b or model.parents[b] == a:
            shapes.removeCollisionPair(pair)
    data, found = model.createData(), shapes.createData()
    return np.array([pin.computeCollisions(model, data, shapes, found, row, True) for row in q])
