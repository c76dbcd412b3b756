"""Attempts of a project's rules to loosen what holds: they are refused when the rules are loaded, and recorded here.

Such a record looks like one of a call that was refused: its tool is `policy`, its arguments say which rule of which
file. Each attempt is recorded once, however many processes load the same rules.
"""

from __future__ import annotations

import hashlib
from pathlib import PurePath
from typing import TYPE_CHECKING

from interpose.core.errors import AuditUnavailableError, StoreError
from interpose.core.types import Allow, Context, Deny, ToolCall, ToolOutcome, Verdict, freeze
from interpose.core.types import refused as refusal

if TYPE_CHECKING:
    from interpose.engine.flow.run_parts import Recorder
    from interpose.record.store.protocols import Counters
    from interpose.rules.policy.rules import PolicyProblem

RULE = "project-loosening"
TOOL = "policy"
_MOST = 20


class LooseningRecords:
    """Called with what was refused, by whoever loaded rules. The rules hold whether it could be recorded or not."""

    def __init__(self, recorder: Recorder, counters: Counters) -> None:
        self._recorder, self._counters = recorder, counters

    def __call__(self, revision: str, refused: tuple[PolicyProblem, ...]) -> None:
        """Record those that nobody has recorded."""
        for problem in refused[:_MOST]:  # a file can try thousands of times
            if self._is_new(revision, problem):
                self._record(problem)

    def _is_new(self, revision: str, problem: PolicyProblem) -> bool:
        told = f"{revision}\n{problem}".encode("utf-8", "backslashreplace")
        name = f"loosening:{hashlib.blake2b(told, digest_size=16).hexdigest()}"
        try:
            return self._counters.spend(name, 1, budget=1) is not None
        except StoreError:
            return True  # twice is better than never

    def _record(self, problem: PolicyProblem) -> None:
        arguments = freeze({"file": problem.file, "line": problem.line, "rule": problem.rule})
        context = Context(cwd=str(PurePath(problem.file).parent), source=TOOL)
        call = ToolCall(TOOL, arguments, context=context)
        nothing: Verdict[ToolCall] = Verdict(outcome="deny", decision=Allow(), payload=call)
        verdict = refusal(nothing, Deny(str(problem), RULE))
        said = {"status": "blocked", "tool": TOOL, "reason": str(problem)}
        try:
            record = self._recorder.decided(verdict)
            self._recorder.finished(verdict, ToolOutcome(call, said, is_error=True, denied=True), None)
        except AuditUnavailableError:
            return  # while nothing can be recorded nothing runs, and the ledger's own alarm says so
        if record is not None:
            record.send()
