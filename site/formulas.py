"""Formulas of pages: LaTeX between dollar signs becomes MathML, which browsers show without scripts or special fonts.

``$…$`` stands in a line of text, ``$$…$$`` in a paragraph of its own. Code, in blocks or between backticks, stays as it
is. Notebooks and code hosts show the LaTeX themselves. Brackets around matrices are borders, as only fonts for
mathematics have tall ones.
"""

from __future__ import annotations

import re

_PART = re.compile(
    r"(?P<code>^```.*?^```$|`[^`\n]+`)|\$\$(?P<paragraph>.+?)\$\$|\$(?P<inline>[^$\s](?:[^$]*?[^$\s])?)\$",
    re.MULTILINE | re.DOTALL,
)
_MATRIX = re.compile(r"<mo>&#x0005B;</mo><mtable>(.*?)</mtable><mo>&#x0005D;</mo>", re.DOTALL)
#: Functions before an argument without parentheses.
_FUNCTION = re.compile(r"(<mi>(?:cos|sin|log|exp|det)</mi>)(?=<m(?!o))")


def with_formulas(text: str) -> str:
    """Return the Markdown text of a page with its formulas as MathML."""
    return _PART.sub(_part, text)


def _part(match: re.Match[str]) -> str:
    if match["code"] is not None:
        return match[0]
    if match["paragraph"] is not None:
        return f'<div class="formula">{_mathml(match["paragraph"], "block")}</div>'
    return f'<span class="formula">{_mathml(match["inline"], "inline")}</span>'  # no block where a line begins with it


def _mathml(latex: str, display: str) -> str:
    from latex2mathml.converter import convert

    formula = str(convert(" ".join(latex.split()), display=display))
    formula = _MATRIX.sub(r'<mtable class="matrix">\1</mtable>', formula)
    return _FUNCTION.sub(r'\1<mspace width="0.17em"></mspace>', formula)
