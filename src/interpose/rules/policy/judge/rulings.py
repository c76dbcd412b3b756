"""What a judge says about a rule, and why one can't be asked."""

from __future__ import annotations

from msgspec import Struct

from interpose.rules.policy.rules import Rule


class Permits(Struct, frozen=True):
    """The operation is within the rule."""

    reason: str = ""


class Objects(Struct, frozen=True):
    """The operation breaks the rule. `quotes` are the texts to take out, for a rule that redacts."""

    reason: str = ""
    quotes: tuple[str, ...] = ()


class Failed(Struct, frozen=True):
    """The judge was not asked, did not answer in time, or answered something else than it was asked."""

    why: str


Ruling = Permits | Objects | Failed


class JudgedRule(Struct, frozen=True):
    """One rule with what was said about it."""

    rule: Rule
    ruling: Ruling


class JudgeError(Exception):
    """A judgement that failed. Its text never holds a key, and nothing that a provider wrote."""


class UnavailableError(JudgeError):
    """The provider can't be reached or refuses its work: the next judgement will most likely fail too."""


class MisansweredError(JudgeError):
    """This one answer is no good. It may be the operation's doing, so it says nothing about the provider."""
