"""What happens to pins stands in the ledger: what was held, what people said to it, and pins that were tampered with.

Such a record looks like one of a call: its tool is `pins`, its arguments say which server and which definitions.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from interpose.core.errors import AuditUnavailableError, PinError
from interpose.core.types import Allow, Context, Deny, ToolCall, ToolOutcome, Verdict, freeze
from interpose.core.types import refused as refusal
from interpose.record.pins.pin_desk import PinDesk, PinEvent
from interpose.record.pins.pin_files import PinFiles

if TYPE_CHECKING:
    from interpose.core.config.settings import Config
    from interpose.engine.flow.run_parts import Recorder
    from interpose.record.ledger import Ledger
    from interpose.record.store.protocols import Store

RULE = "mcp-pins"
TOOL = "pins"
_MOST = 50


def open_pins(config: Config, store: Store, ledger: Ledger) -> PinDesk:
    """The pins of this user, kept beside what counts the uses of grants, and outside the store as that is."""
    files = PinFiles(pins_directory(config), ledger.keys.digests, store)
    return PinDesk(files, told=PinRecords(ledger.recorder))


def pins_directory(config: Config) -> Path:
    """Where pins are kept."""
    return Path(config.approvals.directory) / "pins"


class PinRecords:
    """Called with what happens. Pins hold whether it could be recorded or not; a yes that can't be recorded is none."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def __call__(self, event: PinEvent) -> None:
        """Record it."""
        items = [{"kind": kind, "name": name, "sha256": digest} for kind, name, digest in event.items[:_MOST]]
        arguments = freeze({"act": event.what, "server": event.server, "items": items, "count": len(event.items)})
        call = ToolCall(TOOL, arguments, context=Context(source=TOOL, principal=event.by))
        verdict: Verdict[ToolCall] = Verdict(outcome="allow", decision=Allow(), payload=call, approver=event.by)
        said: object = {"status": event.what}
        denied = event.what not in ("approved", "forgotten")
        if denied:
            why = event.why or f"{event.by} said no"
            verdict = refusal(verdict, Deny(f"{event.server}: {why}", RULE))
            said = {"status": "blocked", "tool": TOOL, "reason": why}
        try:
            record = self._recorder.decided(verdict)
            self._recorder.finished(verdict, ToolOutcome(call, said, is_error=denied, denied=denied), None)
        except AuditUnavailableError as error:
            if not denied:  # no record, no yes
                raise PinError(f"it could not be recorded, and does not count: {error}") from error
            return  # what is held stays held, and the ledger's own alarm says the rest
        if record is not None:
            record.send()
