"""What the entries of a call say: `decided` before the tool runs, `finished` when its outcome is known."""

from __future__ import annotations

from typing import Literal

from msgspec import Raw, Struct

from interpose.core.types import Certainty, EffectKind, Finding

OutcomeWord = Literal["success", "error", "denied"]


NOT_KEPT = Raw()
"""Stands for arguments or a result whose values are not kept."""


class SeenEffect(Struct, frozen=True, omit_defaults=True):
    """An effect as it is kept."""

    kind: EffectKind
    resource: str = ""
    certainty: Certainty = "proven"


class Said(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was said about a call or a result, in words that may quote it."""

    reason: str = ""
    questions: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    effects: tuple[SeenEffect, ...] = ()
    word: str = ""
    """What a person said to the agent, with a yes or with putting the answer off."""


NOTHING_SAID = Said()


class Decided(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The decision about a call. `arguments` are those that the tool gets, without their secrets.

    `original` are the arguments that came in, if they are others. `approval` is the id of a question that waits.
    """

    arguments: Raw = NOT_KEPT
    arguments_digest: str = ""
    original: Raw = NOT_KEPT
    original_digest: str = ""
    original_name: str = ""
    role: str = ""
    principal: str = ""
    cwd: str = ""
    trace_id: str = ""
    source: str = ""
    said: Said = NOTHING_SAID
    rewritten: bool = False
    approver: str = ""
    approval: str = ""
    elapsed_ns: int = 0
    policy: str = ""
    timings: tuple[tuple[str, int], ...] = ()
    claimed: str = ""
    claimed_session: str = ""
    claimed_principal: str = ""
    claimed_client: str = ""


class After(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What `tool.after` made of a result: handed on as it was, rewritten, or withheld from the agent."""

    result: Literal["passed", "rewritten", "withheld"] = "passed"
    rule: str = ""
    said: Said = NOTHING_SAID
    approver: str = ""
    elapsed_ns: int = 0
    policy: str = ""
    timings: tuple[tuple[str, int], ...] = ()


class Finished(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of a call. `bytes` is the length of what the agent got, of which `result` may be a part.

    `original` is what the tool gave, if the agent got something else.
    """

    outcome: OutcomeWord
    duration_ns: int = 0
    exit_code: int | None = None
    bytes: int = 0
    result: Raw = NOT_KEPT
    result_digest: str = ""
    original: Raw = NOT_KEPT
    original_digest: str = ""
    approver: str = ""
    after: After | None = None
