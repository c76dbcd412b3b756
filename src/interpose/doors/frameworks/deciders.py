"""Who decides about a framework's calls: an engine or a service in this process, or a server (server_decider.py).

All of them answer in the words of the hosted flow.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from interpose.core.types import Context, Message, ToolCall, ToolOutcome, Verdict
from interpose.doors.frameworks.facts import FrameworkFacts
from interpose.doors.frameworks.options import WAIT, GuardOptions
from interpose.engine.engine import Engine
from interpose.engine.flow.hosted import Abilities, Hosted, HostedAnswer, TheyAsk
from interpose.engine.flow.pending_calls import PendingCalls
from interpose.people.approvals import as_handler

if TYPE_CHECKING:
    from interpose.composition.service.service import Service
    from interpose.core.config.settings import Config
    from interpose.core.driving import Flow
    from interpose.engine.flow.run_parts import ToolRun


class Decider(Protocol):
    """Who decides. `key` names a call to both halves."""

    def before(self, call: ToolCall, key: str, /) -> Flow[HostedAnswer]:
        """What is to be done with a call."""
        ...

    def after(self, outcome: ToolOutcome, key: str, /) -> Flow[ToolRun]:
        """What the agent gets of its result."""
        ...

    def not_run(self, verdict: Verdict[ToolCall], reason: str, key: str, /) -> Flow[object]:
        """A call that was let through will not run."""
        ...

    def message(self, text: str, context: Context, /) -> Flow[Verdict[Message]]:
        """What is said about a message."""
        ...


class DecidesHere:
    """An engine or a service of this process."""

    def __init__(self, hosted: Callable[[Context], Hosted]) -> None:
        self._hosted = hosted

    def before(self, call: ToolCall, key: str, /) -> Flow[HostedAnswer]:
        """See Decider."""
        return self._hosted(call.context).before(call, key=key)

    def after(self, outcome: ToolOutcome, key: str, /) -> Flow[ToolRun]:
        """See Decider."""
        return self._hosted(outcome.call.context).after(outcome, key=key)

    def not_run(self, verdict: Verdict[ToolCall], reason: str, key: str, /) -> Flow[object]:
        """See Decider."""
        return self._hosted(verdict.payload.context).not_run(verdict, reason, key=key)

    def message(self, text: str, context: Context, /) -> Flow[Verdict[Message]]:
        """See Decider."""
        return self._hosted(context).message(text)


def decider(facts: FrameworkFacts, options: GuardOptions) -> Decider:
    """Who decides, by the options. Raises what opening it raises, and FrameworkLimitError."""
    if options.get("confirm") == "framework":
        facts.must_ask()
    if server := options.get("server"):
        from interpose.doors.frameworks.server_decider import server_decider

        return server_decider(server, facts, options)
    engine: object = options.get("engine")
    if isinstance(engine, Engine):
        return _of_engine(engine, facts, options)
    return _of_service(_service(options.get("config")) if engine is None else _given(engine), facts, options)


def _of_engine(engine: Engine, facts: FrameworkFacts, options: GuardOptions) -> DecidesHere:
    wanted = options.get("confirm")
    if wanted == "queue":
        raise ValueError("an engine has no queue of questions: give a server, or what open_service() returns")
    asks = wanted == "framework" or (wanted is None and engine.confirm is None and bool(facts.asks))
    handler = TheyAsk() if asks else as_handler(None if isinstance(wanted, str) else wanted)
    pending, can = PendingCalls(), _abilities(facts, asks=asks)
    return DecidesHere(lambda context: Hosted(engine.flow(context, confirm=handler), pending, context, can))


def _of_service(service: Service, facts: FrameworkFacts, options: GuardOptions) -> DecidesHere:
    """INVARIANT: where the operator says that questions go to the queue, or to nobody, the framework does not ask."""
    wanted = options.get("confirm")
    handler = None if wanted is None or isinstance(wanted, str) else as_handler(wanted)
    can, wait = _abilities(facts, asks=bool(facts.asks) and wanted != "queue"), options.get("wait", WAIT)
    return DecidesHere(lambda context: service.hosted(context, can, wait=wait, confirm=handler))


def _abilities(facts: FrameworkFacts, *, asks: bool) -> Abilities:
    return Abilities(
        ask=asks, holds=True, rewrite=facts.rewrites, rewrite_carried=facts.rewrites,
        asks_rewritten=facts.rewrites and facts.asks_rewritten,
    )  # fmt: skip


def _given(engine: object) -> Service:
    from interpose.composition.service.service import Service

    if not isinstance(engine, Service):
        raise TypeError(f"engine is what open_engine() or open_service() gives, not {engine!r}")
    return engine


_lock = threading.Lock()
_shared: list[Any] = []


def _service(config: Config | None) -> Service:
    """The service of a configuration; that of this user's own is shared by the whole process."""
    from interpose.composition.build import load_config, open_service

    if config is not None:
        return _kept(open_service(config))
    with _lock:
        if not _shared:
            _shared.append(_kept(open_service(load_config())))
        service: Service = _shared[0]
        return service


def _kept(service: Service) -> Service:
    """What is queued for the ledger is written when the process ends."""
    import atexit

    atexit.register(service.close)
    return service
