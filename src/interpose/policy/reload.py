"""Hot reload: changed rule files are compiled beside the running policy and swapped in whole, or not at all.

A file that was cut off can still be right YAML with fewer rules. Two things tell: it is the beginning of the text that
runs, or the text that runs ends with `...` (YAML's end of a document) and it does not.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Literal, Protocol

from msgspec import Struct

from interpose.errors import PolicyError
from interpose.interceptor import Registration
from interpose.policy.compiled import Policy
from interpose.policy.interceptor import registrations
from interpose.policy.load import Place, Text, load_texts, read
from interpose.policy.model import Problem

log = logging.getLogger("interpose.policy")

_END = "\n..."
"""How YAML says that a document ends here."""

Register = Callable[[Policy], Sequence[Registration]]


class Registry(Protocol):
    """Where a policy is swapped in."""

    def swap(self, entries: Sequence[Registration], /) -> None:
        """Put these in the place of those with the same ids, all at once."""


class PolicyStatus(Struct, frozen=True):
    """How the running policy stands. `problems` is why files that are newer than it were not taken."""

    revision: str
    loaded_at: datetime
    rules: int
    state: Literal["current", "broken"] = "current"
    problems: tuple[Problem, ...] = ()
    refused: tuple[Problem, ...] = ()
    """Attempts of a lower level to loosen, which were left out."""

    def __str__(self) -> str:
        told = f"policy {self.revision}, {self.rules} rules"
        if self.state == "current":
            return told
        return f"{told}: the last good one, since the files have {len(self.problems)} problem(s): {self.problems[0]}"


class PolicyReload:
    """A policy that follows its files.

    Loading raises PolicyError at the start, when there is nothing to fall back on, and never afterwards. `check` looks
    whether the files have changed; `watch` does that again and again in a thread of its own.
    """

    def __init__(
        self,
        registry: Registry,
        places: Sequence[Place],
        *,
        packs: Sequence[str] = (),
        register: Register = registrations,
    ) -> None:
        self._registry, self._places, self._packs, self._register = registry, tuple(places), tuple(packs), register
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._texts = read(self._places)
        self._policy = load_texts(self._texts, packs=self._packs)
        self._seen = self._texts
        registry.swap(register(self._policy))
        self._status = _status_of(self._policy)

    @property
    def policy(self) -> Policy:
        """The running policy."""
        return self._policy

    @property
    def status(self) -> PolicyStatus:
        """How it stands."""
        return self._status

    def check(self) -> PolicyStatus:
        """Take over changed files if they are whole and right. Never raises."""
        with self._lock:
            try:
                seen, self._seen = self._seen, []
                self._seen = texts = read(self._places)
                if texts == seen:
                    return self._status
                if cut := _cut_off(self._texts, texts):
                    raise PolicyError(cut)
                policy = load_texts(texts, packs=self._packs)
                entries = self._register(policy)
            except PolicyError as error:
                self._keep(error.problems)
            except Exception as error:  # noqa: BLE001 - whatever a broken file does, the last good policy stays
                self._keep((Problem("", 0, "", f"{type(error).__name__}: {error}"),))
            else:
                self._registry.swap(entries)
                self._texts, self._policy, self._status = texts, policy, _status_of(policy)
                log.info("%s loaded", self._status)
            return self._status

    def _keep(self, problems: tuple[Problem, ...]) -> None:
        status = self._status
        if status.problems == problems:
            return
        self._status = PolicyStatus(
            status.revision, status.loaded_at, status.rules, "broken", problems, status.refused
        )  # fmt: skip
        for problem in problems:
            log.error("the policy is not loaded, revision %s stays: %s", status.revision, problem)

    def watch(self, seconds: float = 1.0) -> threading.Thread:
        """Look for changes every so often, until `stop`."""
        thread = threading.Thread(target=self._watch, args=(seconds,), name="interpose-policy", daemon=True)
        thread.start()
        return thread

    def _watch(self, seconds: float) -> None:
        waiting: list[Text] | None = None
        while not self._stopping.wait(seconds):
            try:
                found = read(self._places)
            except PolicyError:
                found = None
            # A file that is being written is seen in the middle of it: only what was there at two looks is taken.
            if found == waiting:
                self.check()
            waiting = found

    def stop(self) -> None:
        """End `watch`."""
        self._stopping.set()


def _status_of(policy: Policy) -> PolicyStatus:
    return PolicyStatus(policy.revision, datetime.now(UTC), len(policy.rules), refused=policy.refused)


def _cut_off(running: Sequence[Text], texts: Sequence[Text]) -> tuple[Problem, ...]:
    """The files that look as if only their beginning were there."""
    before = {text.file: text.text.rstrip() for text in running}
    return tuple(
        Problem(text.file, text.text.count("\n") + 1, "", f"looks cut off: {why}; if it is meant, end it with `...`")
        for text in texts
        if (why := _why_cut(before.get(text.file, ""), text.text.rstrip()))
    )


def _why_cut(old: str, new: str) -> str:
    if new.endswith(_END):
        return ""
    if old.endswith(_END):
        return "the file ended with `...` before"
    return "it is the beginning of the file that runs" if len(new) < len(old) and old.startswith(new) else ""
