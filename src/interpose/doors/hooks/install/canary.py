"""Two events that every hook must be able to answer: one to be refused, one to be let through. Neither is ever run."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from time import perf_counter
from typing import Any, Literal

from msgspec import Struct

from interpose.doors.hooks.hosts.events import Host, Reply
from interpose.record.ledger.canaries import SESSION

Answer = Literal["allowed", "refused", "unclear"]
_ANYTHING = "\0anything"


class CanaryAnswer(Struct, frozen=True):
    """What a hook answered, in the words of its host's contract. `said` is what a person would want to read of it."""

    answer: Answer
    said: str
    milliseconds: float
    exit_code: int


def canary(host: Host, command: str) -> bytes:
    """An event of this host that asks about a shell command."""
    return json.dumps(_filled(host.facts.setup.canary, {"COMMAND": command, "SESSION": SESSION})).encode()


def sent(host: Host, words: Sequence[str], command: str, seconds: float) -> CanaryAnswer:
    """What a hook's own command line answers to a canary."""
    body = canary(host, command)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    start = perf_counter()
    try:
        done = subprocess.run(  # noqa: S603 - it is the command line that the host runs for every call
            list(words), input=body, capture_output=True, timeout=seconds, check=False, cwd="/", env=environ
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return CanaryAnswer("unclear", str(error), (perf_counter() - start) * 1000, -1)
    took = (perf_counter() - start) * 1000
    reply = Reply(done.stdout, done.stderr.decode("utf-8", "replace").strip(), done.returncode)
    answer, said = understood(host, body, reply)
    return CanaryAnswer(answer, said, took, done.returncode)


def understood(host: Host, body: bytes, reply: Reply) -> tuple[Answer, str]:
    """What a reply means to its host, and the words in it."""
    event = host.read(json.loads(body))
    reply = _without_notice(host, reply)
    if _alike(host.allow(event), reply) is not None:
        return "allowed", ""
    asks = [host.ask(event, _ANYTHING)] if event.name in host.facts.asks else []
    for refusal in (host.deny(event, _ANYTHING), *asks, host.broken(_ANYTHING)):
        said = _alike(refusal, reply)
        if said is not None:
            return "refused", said
    shown = reply.stdout.decode("utf-8", "replace") or reply.stderr or "nothing"
    return "unclear", f"exit code {reply.exit_code}, {shown[:200]}"


def _without_notice(host: Host, reply: Reply) -> Reply:
    """What stands beside an answer for the host's person is no part of it."""
    key = host.facts.tells_person
    if not key or key.encode() not in reply.stdout:
        return reply
    try:
        said = json.loads(reply.stdout)
    except ValueError:
        return reply
    if isinstance(said, dict):
        said.pop(key, None)
    return Reply(json.dumps(said).encode(), reply.stderr, reply.exit_code)


def _alike(pattern: Reply, reply: Reply) -> str | None:
    """The text that stands where the pattern has any; None if the reply is another one."""
    if pattern.exit_code != reply.exit_code:
        return None
    if not pattern.stdout or not reply.stdout:
        return reply.stderr if not pattern.stdout and not reply.stdout.strip() else None
    try:
        return _same(json.loads(pattern.stdout), json.loads(reply.stdout))
    except ValueError:
        return None


def _same(pattern: Any, value: Any) -> str | None:
    if pattern == _ANYTHING:
        return value if isinstance(value, str) and value else None
    if isinstance(pattern, dict):
        if not isinstance(value, dict) or pattern.keys() != value.keys():
            return None
        found = [_same(pattern[key], value[key]) for key in pattern]
        return None if None in found else next((text for text in found if text), "")
    return "" if pattern == value else None


def _filled(template: Any, values: dict[str, str]) -> Any:
    if isinstance(template, str):
        return values.get(template, template)
    if isinstance(template, dict):
        return {key: _filled(value, values) for key, value in template.items()}
    if isinstance(template, list):
        return [_filled(value, values) for value in template]
    return template
