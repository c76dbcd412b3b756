"""Hot reload: changed rule files are compiled beside the running policy and swapped in whole, or not at all.

A file that was cut off can still be right YAML with fewer rules. Two things tell: it is the beginning of the text that
runs, or the text that runs ends with `...` (YAML's end of a document) and it does not.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Literal, Protocol

from msgspec import Struct
from msgspec.structs import replace

from interpose.core.errors import PolicyError
from interpose.core.interceptor import Registration
from interpose.core.late import late_logger
from interpose.rules.policy.compiled import Policy
from interpose.rules.policy.interceptor import registrations
from interpose.rules.policy.load import RulePlace, RuleText, load_texts, read
from interpose.rules.policy.rules import Level, PolicyProblem
from interpose.rules.policy.startup_memory import Memory

log = late_logger("interpose.policy")

_END = "\n..."
"""How YAML says that a document ends here."""

LOOK_SECONDS = 0.4

Register = Callable[[Policy], Sequence[Registration]]
Look = list[RuleText] | tuple[PolicyProblem, ...]
"""What was found at a place: its files, or why they can't be read."""
Looks = dict[RulePlace, Look]


class Rules(Struct, frozen=True):
    """Rules of one's own choice: from these places and packs (None: those that hold), registered like this."""

    places: tuple[RulePlace, ...] | None = None
    packs: tuple[str, ...] = ()
    register: Register = registrations


OnRefused = Callable[[str, tuple[PolicyProblem, ...]], None]


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
    problems: tuple[PolicyProblem, ...] = ()
    refused: tuple[PolicyProblem, ...] = ()
    """Attempts of a lower level to loosen, which were left out."""

    def __str__(self) -> str:
        from interpose.core.formats.counted import plural

        told = f"policy {self.revision}, {plural(self.rules, 'rule')}"
        if self.state == "current":
            return told
        problems = plural(len(self.problems), "problem")
        return f"{told}: the last good one, since the files have {problems}: {self.problems[0]}"


class PolicyReload:
    """A policy that follows its files.

    Loading raises PolicyError at the start, when there is nothing to fall back on, and never afterwards. `check` looks
    whether the files have changed; `watch` does that again and again in a thread of its own.
    """

    def __init__(
        self,
        registry: Registry,
        places: Sequence[RulePlace],
        *,
        packs: Sequence[str] = (),
        register: Register = registrations,
        memory: Memory | None = None,
        on_refused: OnRefused | None = None,
    ) -> None:
        """`on_refused` hears of attempts of a lower level to loosen, with the revision of the policy without them."""
        self._on_refused = on_refused
        self._registry, self._places, self._packs, self._register = registry, tuple(places), tuple(packs), register
        self._memory = memory
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._texts: Looks = {place: read([place]) for place in self._places}
        self._policy = self._load(self._texts)
        self._seen = self._texts
        registry.swap(register(self._policy))
        self._status = _status_of(self._policy)
        self._tell_refused()

    def _tell_refused(self) -> None:
        if self._on_refused is not None and self._policy.refused:
            self._on_refused(self._policy.revision, self._policy.refused)

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
            return self._take(self._look())

    def _take(self, found: Looks) -> PolicyStatus:
        if found == self._seen:
            return self._status
        self._seen = found
        problems = self._attempt(found)
        if problems:
            # A project file, which an agent can write, must not keep the changes of the others out by being broken.
            kept = {place: self._texts[place] if place.level is Level.PROJECT else found[place] for place in found}
            if kept not in (found, self._texts):
                self._attempt(kept)
            self._complain(problems)
        return self._status

    def _look(self) -> Looks:
        return {place: _look_at(place) for place in self._places}

    def _load(self, texts: Looks) -> Policy:
        found = [text for place in self._places for text in _readable(texts[place])]
        try:
            return load_texts(found, packs=self._packs, memory=self._memory)
        except PolicyError as error:
            raise PolicyError(_without_content(error.problems, found)) from None

    def _attempt(self, found: Looks) -> tuple[PolicyProblem, ...]:
        """Compile and swap in what was found. Nothing happens if there is anything wrong with it: that is returned."""
        try:
            if cut := _cut_off(self._texts, found):
                return cut
            policy = self._load(found)
            self._registry.swap(self._register(policy))
        except PolicyError as error:
            return error.problems
        except Exception as error:  # noqa: BLE001 - whatever a broken file does, the last good policy stays
            return (PolicyProblem("", 0, "", f"{type(error).__name__}: {error}"),)
        self._texts, self._policy, self._status = found, policy, _status_of(policy)
        log.info("%s loaded", self._status)
        self._tell_refused()
        return ()

    def _complain(self, problems: tuple[PolicyProblem, ...]) -> None:
        self._status = replace(self._status, state="broken", problems=problems)
        for problem in problems:
            log.error("not loaded, policy %s runs: %s", self._status.revision, problem)

    def watch(self, seconds: float = LOOK_SECONDS) -> threading.Thread:
        """Look for changes every so often, until `stop`. They hold after two looks: within a second."""
        thread = threading.Thread(target=self._watch, args=(seconds,), name="interpose-policy", daemon=True)
        thread.start()
        return thread

    def _watch(self, seconds: float) -> None:
        waiting: Looks = {}
        while not self._stopping.wait(seconds):
            with self._lock:
                found = self._look()
                # A file, or a set of them, that is being written is seen in the middle of it: only what was there at
                # two looks is taken, and exactly that.
                if found == waiting:
                    self._take(found)
            waiting = found

    def stop(self) -> None:
        """End `watch`."""
        self._stopping.set()


def _status_of(policy: Policy) -> PolicyStatus:
    return PolicyStatus(policy.revision, datetime.now(UTC), len(policy.rules), refused=policy.refused)


def _look_at(place: RulePlace) -> Look:
    try:
        return read([place])
    except PolicyError as error:
        return error.problems


def _readable(look: Look) -> list[RuleText]:
    if isinstance(look, tuple):
        raise PolicyError(look)
    return look


def _without_content(problems: tuple[PolicyProblem, ...], texts: Sequence[RuleText]) -> tuple[PolicyProblem, ...]:
    """INVARIANT: no error quotes a project's file. They go to whoever named a directory, who may not read its files."""
    of_projects = {text.file for text in texts if text.level is Level.PROJECT}
    return tuple(
        PolicyProblem(found.file, found.line, "", "this is no rule; `interpose policy lint` on the file says why")
        if found.file in of_projects
        else found
        for found in problems
    )


def _cut_off(running: Looks, found: Looks) -> tuple[PolicyProblem, ...]:
    """The files that look as if only their beginning were there."""
    before = {text.file: text.text.rstrip() for look in running.values() for text in _readable(look)}
    return tuple(
        PolicyProblem(
            text.file, text.text.count("\n") + 1, "", f"looks cut off: {why}; if it is meant, end it with `...`"
        )
        for look in found.values()
        for text in _readable(look)
        if (why := _why_cut(before.get(text.file, ""), text.text.rstrip()))
    )


def _why_cut(old: str, new: str) -> str:
    if new.endswith(_END):
        return ""
    if old.endswith(_END):
        return "the file ended with `...` before"
    return "it is the beginning of the file that runs" if len(new) < len(old) and old.startswith(new) else ""
