"""Geometry of rigid motion: compiled functions over batches."""

from chasles.geometry.batched import Batched, batched
from chasles.geometry.kinds import Kind
from chasles.geometry.vectors import angle_between, cross, skew, vee

__all__ = ["Batched", "Kind", "angle_between", "batched", "cross", "skew", "vee"]
