"""`builtin:security-audit`: may a file tool touch this path?

A path is looked up first: every spelling that it stands for, where its links lead included, is judged, and the worst
answer counts. A path means the same here as in a command: both ask `effects.paths` and the rule table. The guard of
commands reads their words and never looks at the disk: where the links of a command's files lead is judged here, too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from msgspec.structs import replace

from interpose.core.tools import seen_as
from interpose.core.types import SEVERITY_WEIGHT, Allow, Confirm, Deny, Effect, EffectKind, ToolCall
from interpose.effects.late_patterns import late
from interpose.effects.paths import (
    FileSystem,
    Lookup,
    Mark,
    Spellings,
    agent_directory_of,
    could_be_ours,
    could_find_ours,
    device_of,
    fires,
    holds_environment,
    holds_ours,
    is_above_ours,
    is_guarded,
    is_terminal,
    ours_of,
    persistence_of,
    project_of,
    protected_place_of,
    secret_of,
    tamper_of,
)
from interpose.effects.shell import analyse, protected_places
from interpose.reading.calls import home_directory, reading_of, starts_of
from interpose.rules.guards.command_rules import CommandRule, Word, rule_for
from interpose.rules.guards.effect_traits import traits_of
from interpose.rules.guards.file_accesses import KINDS, BadPath, Touch, TouchKind, touches_of
from interpose.rules.guards.own_resources import judge_named, judge_typed

ID = "builtin:security-audit"

SAFER = "Ask the user for the one value that is needed, or work with an example file that holds no secrets."
_SAFER_CHANGE = "Show the user the change and let them make it."

_UNASKED: frozenset[EffectKind] = frozenset(
    {"code.remote", "net.upload", "net.listen", "process.exec", "persistence", "guard.tamper", "secret.read"}
)
"""What a command that nobody starts must not do."""

_COMMANDS = frozenset({"exec", "process"})
"""Tools whose arguments are no paths: the guard of commands reads them."""
_TOUCHING: dict[EffectKind, TouchKind] = {"fs.read": "read", "fs.write": "write", "fs.permission": "write"}
_LINKS = (ID, "links")
_NAMED = (ID, "named")
_ALLOW = Allow()
_MOST_LINKS = 200
"""Files of a command whose links are followed."""
_INSIDE = Mark("is a directory in which the guard's own files lie", ours=True)
_TERMINAL = Mark("is a terminal or a keyboard of a person, or a way to it")
_KEYS_INSIDE = Mark("is a directory in which keys and tokens of the guard itself lie", ours=True)

Decision = Allow | Confirm | Deny


_ADDRESS = late(r"https?://[\w.:@-]+/[^%\\\s]*", re.IGNORECASE)


def _leads_nowhere(address: str, path: str) -> bool:
    """Whether an address that is taken for a path stays what it is, and no link of that name leads elsewhere."""
    return ".." not in address and path.endswith(f"/{address.replace('//', '/')}")


class SecurityAudit:
    """Judges the paths of file tools: what they read, write, edit, delete, move, copy and search.

    `lookup` is how paths are looked up: on this machine's file system unless told otherwise. Give it `Lexical()` where
    the tools run on another machine.
    """

    id = ID
    priority = 99
    guard = True

    def __init__(self, *, workspace: str = "", home: str | None = None, lookup: Lookup | None = None) -> None:
        self.workspace = workspace
        self.home = home_directory() if home is None else home
        self.lookup: Lookup = FileSystem() if lookup is None else lookup

    def __repr__(self) -> str:
        where = type(self.lookup).__name__
        return f"SecurityAudit(workspace={self.workspace!r}, home={self.home!r}, lookup={where}())"

    def intercept(self, call: ToolCall) -> Decision:
        """The decision on one call: the worst that any spelling of any of its paths deserves."""
        cwd = call.context.cwd or self.workspace or _here()
        if call.name == "exec":
            return self._judge_links(call, cwd)
        seen = seen_as(call)
        starts = tuple(dict.fromkeys((cwd, *starts_of(call, cwd, self.home))))
        carried = None if call.name in KINDS else reading_of(call, self.home).carried
        named = () if carried is None else tuple(Touch(file.path, file.kind, file.text) for file in carried.files)
        if seen.name not in KINDS:
            if seen.name in _COMMANDS:
                own = _worse(self._judge_links(call, cwd), judge_typed(call))
            else:
                own = judge_named(call, starts, self.home, self.lookup)
            return _worse(own, self._judge_named_files(named, starts, cwd))
        touches = touches_of(seen)
        if isinstance(touches, BadPath):
            if touches.missing and call.name not in KINDS:  # another's tool of such a name need not touch files
                own = judge_named(call, starts, self.home, self.lookup)
                return _worse(own, self._judge_named_files(named, starts, cwd))
            return Deny(
                f"The argument {touches.argument!r} of this {call.name} call {touches.reason}, "
                "so nobody can say what it would touch.",
                rule="bad-path",
                part=_plain(touches.argument),
            )
        # INVARIANT: the workspace comes from the context alone. An argument may move where a path starts, never what
        # counts as the project.
        scene = _Scene(cwd, self.home, project_of(self.workspace or cwd, self.home))
        decision: Decision = Allow()
        for touch in touches:
            for start in starts:
                spellings = self.lookup.spellings(touch.text, cwd=start, home=self.home, workspace=scene.workspace)
                decision = _worse(decision, scene.judge(touch, spellings, self.lookup))
        return decision

    def _judge_links(self, call: ToolCall, cwd: str) -> Decision:
        """The worst that a command does to files which have another name, as links had before it."""
        reading = reading_of(call, self.home)
        # What a command names is remembered. Where it leads is not: a link may be a new one.
        touches = reading.remember(_LINKS, lambda: _touches_of_command(reading.effects))
        words = reading.remember(_NAMED, lambda: protected_places.words_to_follow(reading.analysis.commands))
        decision = self._judge_named_links(words, cwd)
        if not touches:
            return decision
        scene = _Scene(cwd, self.home, project_of(self.workspace or cwd, self.home))
        for touch in touches:
            spellings = self.lookup.spellings(touch.text, cwd=cwd, home=self.home, workspace=scene.workspace)
            if len(spellings.paths) > 1:
                decision = _worse(decision, scene.judge_elsewhere(touch, spellings, self.lookup))
        return decision

    def _judge_named_links(self, words: tuple[str, ...], cwd: str) -> Decision:
        """A question about a word that leads, over links, to what guards an agent, if its program may change that."""
        for word in words:
            for path in self.lookup.spellings(word, cwd=cwd, home=self.home).paths[1:]:
                mark = protected_place_of(path, self.home, above=False)
                if mark is not None and not mark.private:
                    return Confirm(f"{_shown(word)} leads to {_shown(path)}, which {mark.reason}.", "guarded-place",
                                   "error", word, _SAFER_CHANGE)  # fmt: skip
        return _ALLOW

    def _judge_named_files(self, named: tuple[Touch, ...], starts: tuple[str, ...], cwd: str) -> Decision:
        """The worst of the files that a tool names which is no file tool by its name. What can't be looked up there
        need not be a path."""
        scene = _Scene(cwd, self.home, project_of(self.workspace or cwd, self.home))
        decision: Decision = Allow()
        for touch in named:
            for start in starts:
                spellings = self.lookup.spellings(touch.text, cwd=start, home=self.home, workspace=scene.workspace)
                decision = _worse(decision, scene.judge(touch, replace(spellings, trouble=None), self.lookup))
        return decision


class _Scene:
    """Where a call takes place, and what touching a path means there."""

    __slots__ = ("cwd", "home", "workspace")

    def __init__(self, cwd: str, home: str, workspace: str) -> None:
        self.cwd, self.home, self.workspace = cwd, home, workspace

    def judge(self, touch: Touch, spellings: Spellings, lookup: Lookup) -> Decision:
        """The worst that any spelling deserves."""
        decision: Decision = Allow()
        inside = self._is_inside(spellings.ends)
        for path in spellings.paths:
            if touch.kind == "read":
                decision = _worse(decision, self._read(touch, path, inside))
            else:
                decision = _worse(decision, self._change(touch, path, inside, lookup))
                if not inside or path in spellings.ends:
                    decision = _worse(decision, self._by_table(touch, path))
        trouble = spellings.trouble
        if trouble is None:
            return decision
        reason = f"Nobody can say where {_shown(touch.text)} leads: {trouble.reason}."
        if trouble.hopeless:
            return Deny(reason, "bad-path", "error", _plain(touch.text))
        return _worse(decision, Confirm(reason, "unclear-path", "warning", touch.text))

    def judge_elsewhere(self, touch: Touch, spellings: Spellings, lookup: Lookup) -> Decision:
        """What the other names of a path deserve. Its own was judged by who read it."""
        decision: Decision = Allow()
        inside = self._is_inside(spellings.ends)
        for path in spellings.paths:
            if path == touch.text:
                continue
            one = self._read(touch, path, inside) if touch.kind == "read" else self._change(touch, path, inside, lookup)
            decision = _worse(decision, one)
        return decision

    def _read(self, touch: Touch, path: str, inside: bool) -> Decision:
        if device_of(path):
            return Confirm(f"Reads {device_of(path)}, every file on it included.", "read-device", "error", touch.text)
        if _is_persons(path):
            return _question("terminal-input", "Reads", touch, path, _TERMINAL)
        if _is_open_file(path):
            return Confirm(
                f"Reads {_shown(touch.text)}, which is whatever the tool's process has open.",
                "unclear-path",
                "warning",
                touch.text,
            )
        # INVARIANT: before secrets. What gives power over the guard is refused, nobody is asked.
        if (own := ours_of(path)) is not None and own.private:
            return _refusal("Reads", touch, path, own)
        secret = self._secret(touch, path, inside)
        if secret is not None:
            return secret
        whole = bool(touch.details.get("recursive"))
        if (
            (whole and (holds_ours(path, self.home, reading=True) or is_above_ours(path, self.home)))
            or could_be_ours(path, self.home, whole=whole)
            or (touch.details.get("searched") and could_find_ours(path, self.home))
        ):
            return _question("guard-keys", "Reads", touch, path, _KEYS_INSIDE)
        if not inside and (mark := tamper_of(path, self.home)) and mark.strength == "key":
            # Agents keep tokens beside their settings, and the settings say what the guards look at.
            return _question("agent-settings", "Reads", touch, path, mark)
        return Allow()

    def _change(self, touch: Touch, path: str, inside: bool, lookup: Lookup) -> Decision:
        decision = self._secret(touch, path, inside) or Allow()
        if mark := tamper_of(path, self.home):
            decision = _worse(decision, _tampering(touch, path, mark))
            decision = _worse(decision, _switching(touch, path, lookup))
        elif mark := agent_directory_of(path, self.home, gone=touch.kind == "delete"):
            decision = _worse(decision, _tampering(touch, path, mark))
        if _is_open_file(path):
            reason = f"Writes to {_shown(touch.text)}, which is whatever the tool's process has open."
            decision = _worse(decision, Confirm(reason, "unclear-path", "warning", touch.text))
        if _is_persons(path):
            decision = _worse(decision, _question("terminal-input", "Writes to", touch, path, _TERMINAL))
        if touch.details.get("recursive") and holds_ours(path, self.home):
            decision = _worse(decision, _refusal("Takes away", touch, path, _INSIDE))
        elif touch.details.get("recursive") and (mark := holds_environment(path, self.home)) is not None:
            decision = _worse(decision, _tampering(touch, path, mark))
        elif touch.kind == "delete" and could_be_ours(path, self.home, whole=True):
            decision = _worse(decision, _question("guard-keys", "Takes away", touch, path, _KEYS_INSIDE))
        mark = persistence_of(path, self.home)
        if mark is not None and mark.strength == "key":
            decision = _worse(decision, _question("persistence", "Changes", touch, path, mark))
        elif reason := fires(path, touch.added, touch.removed, lambda: lookup.content(path), self._objection):
            decision = _worse(decision, _question("planted", "Writes", touch, path, Mark(reason)))
        return decision

    def _secret(self, touch: Touch, path: str, inside: bool) -> Decision | None:
        if touch.kind == "read" and _ADDRESS.fullmatch(touch.text) and _leads_nowhere(touch.text, path):
            return None  # a page of the web, whose name says nothing about files here
        mark = secret_of(path, self.home, inside)
        # Who changes a file in its place has seen what is in it.
        if mark is None or not is_guarded(mark, inside=inside, reading=touch.kind in ("read", "edit")):
            return None
        return Confirm(
            f"{_shown(touch.text)} contains sensitive data: it {_where(touch, path)}{mark.reason}.",
            "secret",
            "error",
            touch.text,
            SAFER,
        )

    def _by_table(self, touch: Touch, path: str) -> Decision:
        """What the same change would mean in a command."""
        kind: EffectKind = "fs.delete" if touch.kind == "delete" else "fs.write"
        effect = Effect(kind, path, details=touch.details)
        rule = rule_for(kind, traits_of(effect, self.cwd, self.home, self.workspace))
        return _by_rule(rule, rule.balanced, touch.text)

    def _objection(self, command: str, kinds: frozenset[EffectKind] = _UNASKED) -> str:
        for effect in analyse(command, cwd=self.cwd, home=self.home).effects:
            if effect.kind in kinds:
                rule = rule_for(effect.kind, traits_of(effect, self.cwd, self.home, self.workspace))
                if rule.balanced != "allow":
                    return rule.reason[:1].lower() + rule.reason[1:].rstrip(".")
        return ""

    def _is_inside(self, ends: tuple[str, ...]) -> bool:
        """Whether a path leads into the workspace, however it is read."""
        below = f"{self.workspace}/"
        return self.workspace != "" and ends != () and all(end.startswith(below) for end in ends)


def _touches_of_command(effects: Iterable[Effect]) -> tuple[Touch, ...]:
    """The files of a command, each once. What it deletes is the link itself."""
    touched = {
        (effect.resource, _TOUCHING[effect.kind])
        for effect in effects
        if effect.kind in _TOUCHING and effect.resource[:1] == "/" and not effect.resource.startswith("/dev/")
    }
    return tuple(Touch(path, kind) for path, kind in sorted(touched)[:_MOST_LINKS])


def _here() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 - a plain text, as the agent would say it
    except OSError:  # it was deleted
        return "/"


def _is_persons(path: str) -> bool:
    """Whether it is a terminal: the one of the tool's own process is the one at which the agent's person sits."""
    return path == "/dev/tty" or is_terminal(path)


def _is_open_file(path: str) -> bool:
    if path.startswith("/dev/fd/") or path == "/dev/stdin":
        return True
    return path.startswith("/proc/") and "/fd/" in path


def _tampering(touch: Touch, path: str, mark: Mark) -> Decision:
    if not mark.ours:
        return _question("guard-tamper", "Changes", touch, path, mark)
    return _refusal("Changes", touch, path, mark)


def _refusal(verb: str, touch: Touch, path: str, mark: Mark) -> Deny:
    return Deny(
        f"{verb} {_shown(touch.text)}, which {_where(touch, path)}{mark.reason}.",
        "guard-tamper",
        "critical",
        touch.text,
        SAFER if touch.kind == "read" else _SAFER_CHANGE,
    )


def _switching(touch: Touch, path: str, lookup: Lookup) -> Decision:
    """A change of an agent's settings that switches its hooks off is no question."""
    if not touch.added:
        return Allow()
    from interpose.effects.agents.switch_reader import switched_off_by

    found = switched_off_by(path, touch.added)
    if found is None and touch.removed:
        found = switched_off_by(path, lookup.content(path).replace(touch.removed, touch.added))
    if found is None:
        return Allow()
    return Deny(
        f"Writes {_plain(found.key)} into {_shown(touch.text)}, which switches the hooks of that agent off.",
        "guard-off",
        "critical",
        touch.text,
        _SAFER_CHANGE,
    )


def _question(rule: str, verb: str, touch: Touch, path: str, mark: Mark) -> Confirm:
    advice = SAFER if touch.kind == "read" else _SAFER_CHANGE
    return Confirm(
        f"{verb} {_shown(touch.text)}, which {_where(touch, path)}{mark.reason}.", rule, "error", touch.text, advice
    )


def _by_rule(rule: CommandRule, word: Word, text: str) -> Decision:
    match word:
        case "allow":
            return Allow()
        case "ask":
            return Confirm(rule.reason, rule.id, rule.severity, text, rule.instead)
        case "deny":
            return Deny(rule.reason, rule.id, rule.severity, text, rule.instead)


def _worse(one: Decision, other: Decision) -> Decision:
    if type(other) is Allow:
        return one
    return other if _weight(other) > _weight(one) else one


def _weight(decision: Decision) -> int:
    match decision:
        case Allow():
            return -1
        case Confirm(severity=severity):
            return SEVERITY_WEIGHT[severity]
        case Deny(severity=severity):
            return 4 + SEVERITY_WEIGHT[severity]


def _where(touch: Touch, path: str) -> str:
    """Where the path leads, if it does not say so itself."""
    return "" if path.rpartition("/")[2].lower() in touch.text.lower() else f"leads to {_plain(path)}, which "


def _shown(text: str) -> str:
    plain = _plain(text)
    return f'"{plain if len(plain) <= 300 else plain[:297] + "..."}"'


def _plain(text: str) -> str:
    """Text that can be shown and written anywhere: no half characters, nothing that moves a terminal's cursor."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in text)
