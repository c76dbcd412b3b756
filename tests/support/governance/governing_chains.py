"""Chain rules as an interceptor, for tests of what stands around them."""

from __future__ import annotations

from time import time_ns
from typing import Any

import msgspec

from interpose.core.types import Allow, Command, Deny, Finding, Report
from interpose.rules.governance.chains.chains import BypassOf, chain_rulings, nobody
from interpose.rules.governance.files.file_model import ChainsForm
from interpose.rules.governance.files.project_files import WalkedFiles

CHAINS = msgspec.convert(
    {
        "rules": [
            {"id": "ONE", "command": "deploy*", "must_before": [{"exists": "BUILD", "how": "run /build"}],
             "action": "redirect", "target": "/build"},
            {"id": "TWO", "command": "deploy", "should_before": [{"exists": "NOTES"}], "action": "warn"},
        ]
    },
    ChainsForm,
)  # fmt: skip


class ChainRules:
    """Says what these rules say."""

    def __init__(self, bypass_of: Any = None, chains: ChainsForm = CHAINS) -> None:
        self._bypass_of, self._chains = bypass_of, chains

    def intercept(self, command: Command) -> Allow | Report[Command]:
        session = command.context.session_id
        word: BypassOf = nobody if self._bypass_of is None else lambda name: self._bypass_of(name, session)
        rulings = chain_rulings(
            self._chains, command, command.context.cwd, None, time_ns(), WalkedFiles(), bypass_of=word
        )
        if not rulings:
            return Allow()
        denials = tuple(
            Deny(one.reason, one.rule, instead=one.instead, detail=one.evidence)
            for one in rulings
            if one.said == "deny"
        )
        notes = tuple(
            Finding(interceptor="", said="note", reason=one.reason, rule=one.rule, instead=one.instead)
            for one in rulings
            if one.said == "note"
        )
        return Report(denials, notes)
