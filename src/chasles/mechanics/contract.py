"""Documentation of a robot's computations, made from that of the algorithms.

An algorithm's docstring is the one contract of a computation. It is written for a kinematic tree and one sample; users
call a method of a robot with batches. So ``tree`` leaves the parameters, shapes get leading axes, the keywords that all
computations share are added, and the example calls the method.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

#: Keywords that every computation takes.
SHARED = """\
vary
    Values of robot parameters, by name, in place of the description's; see `RobotFunction`.
out
    Array, or tuple of arrays, for the results."""

_SECTION = re.compile(r"^(\w+)\n-+\n", re.MULTILINE)
_SHAPE = re.compile(r"(?<=[Ss]hape )\(([^()]*)\)")
_IMPORTS = (">>> from chasles.algorithms import", ">>> import numpy as np")


def contract(algorithm: Callable[..., Any], name: str, remark: str = "") -> str:
    """Return the documentation of the method that computes an algorithm for a robot.

    Parameters
    ----------
    algorithm
        Function of a kinematic tree.
    name
        Name of the method.
    remark
        Paragraph that the method adds to the algorithm's contract.

    Examples
    --------
    >>> from chasles import algorithms
    >>> said = contract(algorithms.gravity_torque, "gravity_torque").splitlines()
    >>> said[said.index("q") :][:2]
    ['q', '    Configuration, shape (..., nq), rad (m for prismatic joints).']
    >>> said[-2]
    '>>> arm.gravity_torque(np.zeros(2)).round(5)'
    """
    described = inspect.getdoc(algorithm)
    if described is None:  # Python was started with -OO, which leaves docstrings out
        return remark
    opening, *rest = _SECTION.split(described)
    sections = dict(zip(rest[::2], rest[1::2], strict=True))
    sections["Parameters"] = f"{_without_tree(sections['Parameters']).rstrip()}\n{SHARED}"
    for title in ("Parameters", "Returns"):
        sections[title] = _SHAPE.sub(lambda match: f"({_with_batch(match[1])})", sections[title])
    sections["Examples"] = _called_on_robot(sections["Examples"], algorithm.__name__, name)
    paragraphs = [opening.rstrip(), *([remark] if remark else [])]
    paragraphs += [f"{title}\n{'-' * len(title)}\n{text.rstrip()}" for title, text in sections.items()]
    return "\n\n".join(paragraphs)


def _without_tree(parameters: str) -> str:
    """Leave out the first parameter."""
    return re.sub(r"\Atree\n(?:    .*\n)+", "", parameters)


def _with_batch(shape: str) -> str:
    return f"..., {shape.removesuffix(',')}" if shape else "..."


def _called_on_robot(examples: str, algorithm: str, method: str) -> str:
    """Return the examples with a robot in place of its tree."""
    text = re.sub(r'build_tree\(load\(("\w+")\)((?:\.\w+\(.*\))?)\)', r"ch.load(\1)\2", examples)
    text = re.sub(r"build_tree\(assembled\((.*)\)\)", r"ch.Robot(\1)", text)
    text = text.replace("build_tree(", "ch.Robot(").replace("tree, q = ", "arm, q = ").replace("tree = ", "arm = ")
    text = re.sub(rf"\b{algorithm}\(tree, ", f"arm.{method}(", text)
    text = re.sub(r"\b(\w+)\(tree, ", r"arm.\1(", text)
    lines = [line for line in text.split("\n") if not line.startswith(_IMPORTS)]
    lines = [line for line in lines if line != ">>> from chasles.model import build_tree, load"]
    lines = [line.replace("import build_tree, load, ", "import load, ") for line in lines]
    first = next(k for k, line in enumerate(lines) if line.startswith(">>>"))
    numpy = [">>> import numpy as np"] if "np." in text else []
    return "\n".join([*lines[:first], ">>> import chasles as ch", *numpy, *lines[first:]])
