"""Adaptive controllers: what they do not know of the robot they find out while they control it."""

from chasles.control.adaptive.slotine_li import SlotineLi

__all__ = ["SlotineLi"]
