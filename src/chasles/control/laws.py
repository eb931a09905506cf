"""The laws that studies and commands offer: every class of the package that states its kind. There is no other list."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from chasles.control.robot_controller import RobotController, design_settings, keywords, rule_settings

#: What a study, a command or the law's rule gives, and nobody sets.
_NOT_SETTINGS = frozenset({"period", "delay", "supports", "inner"})


@cache
def laws() -> Mapping[str, type[RobotController]]:
    """Return the control laws by name.

    Examples
    --------
    >>> laws()["computed-torque"].__name__
    'ComputedTorque'
    """
    from chasles import control  # whose exports are the list

    exported = [getattr(control, name) for name in control.__all__]
    offered = [law for law in exported if isinstance(law, type) and issubclass(law, RobotController) and law.kind]
    return MappingProxyType({law.kind: law for law in offered})


def settings_of(law: type[RobotController]) -> tuple[str, ...]:
    """Return the names that `RobotController.tuned` takes for a law: its poles', its rule's, its constructor's.

    Examples
    --------
    >>> settings_of(laws()["pd-gravity"])[:5]
    ('frequency', 'damping', 'damping_times_period', 'margin', 'cap')
    """
    names = [*design_settings(law), *rule_settings(law), *keywords(law)]
    return tuple(name for name in dict.fromkeys(names) if name not in _NOT_SETTINGS)
