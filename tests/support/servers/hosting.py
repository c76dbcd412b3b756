"""A service whose verdict a test chooses, for what hosts say and hear."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from msgspec.structs import replace

from interpose import Engine, create_interceptor_registry
from interpose.composition.service.activity import Activity
from interpose.composition.service.service import Service
from interpose.core.answers import Approved, Edited, Pending
from interpose.core.config.settings import ApprovalSettings, Config
from interpose.core.driving import drive
from interpose.core.types import (
    Allow,
    Command,
    Confirm,
    Context,
    Decision,
    Deny,
    Finding,
    Message,
    Params,
    PermissionRequest,
    Report,
    ToolCall,
    ToolOutcome,
    Transform,
    Verdict,
)
from interpose.doors.hooks.hosts.event_answer import answer
from interpose.doors.hooks.hosts.events import Host, HostFacts, Reply
from tests.support.case_files import read_cases

CASES = Path(__file__).parents[2] / "cases" / "hosts"
DENIED = "Interpose refused this (r1): Not here.\nSafer: do less"
QUESTION = "Interpose asks (r2): Really?\nSafer: do less"
WAITING = (
    f"{QUESTION}\nA person must agree first. The question waits as K3M9QX2A and stays open; the user answers it "
    "with `interpose approvals approve K3M9QX2A`. Make exactly the same call again after that: the approval counts "
    "once, for this call alone."
)
NOTICE = (
    "Interpose asks (r2): Really?\n"
    "Answer it in another terminal: interpose approvals approve K3M9QX2A (or: interpose approvals watch)"
)
WARNED = "Interpose notes (r3): Better not.\nBetter: do less"
WITHHELD = "Interpose withheld this result (r1): Not here.\nSafer: do less"
MESSAGE = (
    "Interpose refused this as it is: scripted:message.before (safer so) changed it. Send this instead:\nsafe words"
)
CHANGE = "Interpose: scripted:tool.before (safer so) changed it to:\necho safe"
BROKEN = "Interpose could not decide: the engine broke"


def unchanged(facts: HostFacts, arguments: str) -> str:
    why = f"scripted:tool.before (safer so) changed it. {facts.title} can't change this call on its way"
    return f"Interpose refused this as it is: {why}; make this one instead:\n{arguments}"


def unhidden(facts: HostFacts, tool: str, reason: str) -> str:
    return (
        f"Interpose: the last result of {tool} should not have been shown as it is ({reason}), and {facts.title} can't "
        "hide it. Don't repeat, store or send what it holds."
    )


class Queue:
    """Every question goes to a queue in which it waits, or in which a test has answered it."""

    def __init__(self) -> None:
        self.answer: Approved | Pending | Edited = Pending("K3M9QX2A")
        self.news = SimpleNamespace(take=lambda _source, _session: "")

    def waiting(self, _seconds: float, **_can: bool) -> Queue:
        return self

    async def confirm(self, request: PermissionRequest) -> Approved | Pending | Edited:
        answer = self.answer
        # As at a real desk: the call that a person wrote is the one that they agreed to.
        return Approved(answer.by) if isinstance(answer, Edited) and request.arguments == answer.arguments else answer


class Memory:
    """A store of sessions that forgets with the process."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}
        self.refused: dict[str, bytes] = {}

    def keep_refusal(self, place: str, body: bytes, *, now_ns: int) -> None:
        self.refused[place] = body

    def refusal(self, place: str) -> bytes | None:
        return self.refused.get(place)

    def forget_refusals(self, before_ns: int, most: int) -> int:
        return 0

    def load_session(self, session: str) -> Any:
        return self.kept.get(session)

    def save_session(self, session: str, body: bytes, *, version: int, now_ns: int) -> bool:
        kept = self.kept.get(session)
        if (kept.version if kept else 0) != version:
            return False
        self.kept[session] = SimpleNamespace(session=session, version=version + 1, updated_ns=now_ns, body=body)
        return True

    def sessions(self, *, since_ns: int = 0, limit: int = 1000, prefix: str = "") -> list[Any]:
        found = [kept for kept in self.kept.values() if kept.updated_ns >= since_ns and kept.session.startswith(prefix)]
        return sorted(found, key=lambda kept: -kept.updated_ns)[:limit]


class Recording:
    """Keeps what was recorded: the words `decided` and `finished` with what they were about."""

    def __init__(self) -> None:
        self.log: list[tuple[str, Any]] = []

    def decided(self, verdict: Verdict[ToolCall]) -> None:
        self.log.append(("decided", verdict))

    def finished(self, _verdict: Verdict[ToolCall], outcome: ToolOutcome, _after: Any) -> None:
        self.log.append(("finished", outcome))


class Scripted(Service):
    """A service that says what it is told to: allow, deny, ask, rewrite, rewrite-ask, redact, withhold, warn, error,
    model.

    `command` refuses commands alone."""

    def __init__(self, *, ask: str = "host") -> None:
        self.verdict = "allow"
        self.commands: list[tuple[str, str]] = []
        self.recorder, self.queue = Recording(), Queue()
        parts: dict[str, Any] = {
            "store": Memory(), "ledger": SimpleNamespace(open_call=lambda *_: ""),
            "desk": lambda: self.queue,
            "policies": SimpleNamespace(engine=self._chosen), "activity": Activity(),
        }  # fmt: skip
        super().__init__(Config(approvals=ApprovalSettings(ask=cast("Any", ask))), **parts)
        registry = create_interceptor_registry()
        for point, decide in (
            ("tool.before", self._on_call),
            ("tool.after", self._on_outcome),
            ("message.before", self._on_message),
            ("params.before", self._on_params),
            ("command.before", self._on_command),
        ):
            registry.add(id=f"scripted:{point}", name=point, priority=10, interceptor=_Intercepting(decide))
        registry.add(
            id="scripted:question", name="tool.before", priority=5, interceptor=_Intercepting(self._on_rewritten)
        )
        self._engine = Engine(registry, recorder=self.recorder)

    def _chosen(self, _context: Context) -> Engine:
        if self.verdict == "error":
            raise RuntimeError("the engine broke")
        return self._engine

    def _decision(self) -> Decision[Any]:
        match self.verdict:
            case "deny" | "withhold":
                return Deny("Not here.", rule="r1", instead="do less")
            case "ask":
                return Confirm("Really?", rule="r2", instead="do less")
            case _:
                return Allow()

    def _on_call(self, call: ToolCall) -> Decision[ToolCall]:
        if self.verdict in ("rewrite", "rewrite-ask"):
            return Transform(call.with_arguments({**call.arguments, "command": "echo safe"}), "safer so")
        return Allow() if self.verdict == "withhold" else self._decision()

    def _on_rewritten(self, _call: ToolCall) -> Decision[ToolCall]:
        return Confirm("Really?") if self.verdict == "rewrite-ask" else Allow()

    def _on_outcome(self, outcome: ToolOutcome) -> Decision[ToolOutcome]:
        if self.verdict == "redact":
            return Transform(replace(outcome, result=hidden(outcome.result)), "hid 1 secret")
        return self._decision() if self.verdict in ("withhold", "ask") else Allow()

    def _on_message(self, message: Message) -> Decision[Message]:
        if self.verdict == "rewrite":
            return Transform(replace(message, text="safe words"), "safer so")
        if self.verdict == "model":
            return Transform(replace(message, metadata={"hard": True}))
        return self._decision()

    def _on_params(self, params: Params) -> Decision[Params]:
        return Transform(replace(params, model="large")) if params.metadata.get("hard") else Allow()

    def _on_command(self, command: Command) -> Decision[Command] | Report[Command]:
        self.commands.append((command.name, command.arguments))
        if self.verdict == "warn":
            said = Finding(interceptor="", said="note", reason="Better not.", rule="r3", instead="do less")
            return Report(notes=(said,))
        return Deny("Not here.", rule="r1", instead="do less") if self.verdict == "command" else self._decision()


class _Intercepting:
    def __init__(self, decide: Callable[[Any], Decision[Any] | Report[Any]]) -> None:
        self._decide = decide

    def intercept(self, payload: Any) -> Decision[Any] | Report[Any]:
        return self._decide(payload)


def hidden(value: Any) -> Any:
    """The value without the word SECRET."""
    if isinstance(value, str):
        return value.replace("SECRET", "[hidden]")
    if isinstance(value, dict):
        return {key: hidden(item) for key, item in value.items()}
    return [hidden(item) for item in value] if isinstance(value, list) else value


def answered(service: Scripted, host: Host, body: bytes, *, event: str = "") -> Reply:
    """The reply to one event."""
    return drive(answer(service, host, body, event=event))


@cache
def fixtures(name: str) -> dict[str, Any]:
    """The file of a host's wire fixtures."""
    content: dict[str, Any] = read_cases(CASES / f"{name.replace('-', '_')}.yaml")
    return content


def event_of(base: dict[str, Any], case: dict[str, Any]) -> dict[str, Any]:
    """The whole event of a case."""
    return {key: value for key, value in {**base, **case["event"]}.items() if value != "$ABSENT"}


def events_of(name: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each case of a host with its whole event."""
    content = fixtures(name)
    return ((case, event_of(content["base"], case)) for case in content["cases"])


def shell_event(name: str, command: str, cwd: str) -> dict[str, Any]:
    """The event with which a host asks whether its shell may run a command."""
    _, raw = next(found for found in events_of(name) if found[0].get("verdict") == "deny")
    text = json.dumps(raw).replace('"/home/dev/proj"', json.dumps(cwd)).replace('"echo hi"', json.dumps(command))
    event: dict[str, Any] = json.loads(text)
    return event


def refuses(host: Host, reply: Reply) -> bool:
    """Whether this host keeps a call from running after this reply, as its contract says."""
    if reply.exit_code == 2:
        return bool(reply.stderr) and not reply.stdout and host.facts.setup.layout not in ("scripts", "plugin")
    return reply.exit_code == 0 and _word(reply) == "deny"


def asks(reply: Reply) -> bool:
    """Whether the host puts the call to its own person."""
    return reply.exit_code == 0 and _word(reply) == "ask"


def _word(reply: Reply) -> str:
    if not reply.stdout:
        return ""
    said = json.loads(reply.stdout)
    if said.get("cancel") is True:
        return "deny"
    specific = said.get("hookSpecificOutput", said)
    return str(specific.get("permissionDecision") or said.get("permission") or said.get("decision") or "")
