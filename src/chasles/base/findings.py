"""Findings: what a result calls for saying, as data; the sentence is made of the data, and nothing else decides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

Weight = Literal["note", "caution", "refusal"]


@dataclass(frozen=True)
class Rule:
    """A bound on a number, why it is there, and what to say where it is passed.

    Parameters
    ----------
    code
        Name by which programs and tests know the finding; never changed once released.
    limit
        Bound, in the unit of the value; NaN for facts that are always reported.
    because
        Source of the bound: a theorem, a rounding bound, a confidence level, the data that it was taken from.
    sentence
        Words with ``{value}``, ``{limit}`` and the names of further facts.
    weight
        ``"note"``, ``"caution"`` for what is probably wrong, or ``"refusal"``.
    """

    code: str
    limit: float
    because: str
    sentence: str
    weight: Weight = "note"

    def told(self, value: float, **facts: object) -> tuple[Finding, ...]:
        """Return the finding, whatever the value."""
        return (Finding(self, float(value), facts),)

    def above(self, value: float, **facts: object) -> tuple[Finding, ...]:
        """Return the finding if the value is above the limit; a value that is not finite is."""
        return () if value <= self.limit else self.told(value, **facts)

    def below(self, value: float, **facts: object) -> tuple[Finding, ...]:
        """Return the finding if the value is below the limit; a value that is not finite is."""
        return () if value >= self.limit else self.told(value, **facts)


@dataclass(frozen=True)
class Finding:
    """A rule that applies, with the value that it applies to.

    Parameters
    ----------
    rule
        The rule.
    value
        The value that passed the rule's limit.
    facts
        Further values in the sentence.

    Examples
    --------
    >>> rule = Rule("poorly-separated", 1e4, "half of the digits", "condition number {value:.2g}", "caution")
    >>> found = rule.above(3e5)[0]
    >>> str(found), found.record["code"]
    ('condition number 3e+05', 'poorly-separated')
    >>> rule.above(10.0)
    ()
    """

    rule: Rule
    value: float
    facts: Mapping[str, Any] = field(default_factory=dict)
    _OF_RULE: ClassVar = ("code", "weight", "value", "limit", "because", "sentence")

    @property
    def record(self) -> dict[str, object]:
        """Plain data: for JSON, tables and tests."""
        rule = self.rule
        of_rule = {"code": rule.code, "weight": rule.weight, "value": self.value, "limit": rule.limit}
        return {**of_rule, "because": rule.because, "sentence": str(self), **self.facts}

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Finding:
        """Return the finding of a record.

        >>> found = Rule("a", 1.0, "so it is", "{what}: {value:g}").told(2.0, what="set {a, b}")[0]
        >>> str(Finding.of_record(found.record)), Finding.of_record(found.record).record == found.record
        ('set {a, b}: 2', True)
        """
        code, weight, value, limit, because, sentence = (record[name] for name in cls._OF_RULE)
        rule = Rule(code, limit, because, sentence.replace("{", "{{").replace("}", "}}"), weight)
        return cls(rule, value, {name: fact for name, fact in record.items() if name not in cls._OF_RULE})

    def __str__(self) -> str:
        return self.rule.sentence.format(value=self.value, limit=self.rule.limit, **self.facts)


def of_weight(findings: Iterable[Finding], *weights: Weight) -> tuple[Finding, ...]:
    """Return the findings of these weights, in order."""
    return tuple(finding for finding in findings if finding.rule.weight in weights)


def codes(findings: Iterable[Finding]) -> list[str]:
    """Return the codes of findings, in order."""
    return [finding.rule.code for finding in findings]


def text(findings: Iterable[Finding]) -> str:
    """Return the sentences as a paragraph.

    >>> found = Rule("a", 0.0, "", "one thing").told(1.0) + Rule("b", 0.0, "", "another.").told(2.0)
    >>> text(found)
    'One thing. Another.'
    """
    said = [str(finding) for finding in findings]
    return " ".join(f"{one[:1].upper()}{one[1:]}{'' if one.endswith('.') else '.'}" for one in said)
