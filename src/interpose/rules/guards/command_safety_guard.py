"""`builtin:command-safety-guard`: what would this command do, and may it?

The shell analysis says what a command would do, the rule table what each of those effects means. This module only
combines: the most severe word of all effects wins, and the first effect in the text that earned it is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from interpose.core.tools import typed_of
from interpose.core.types import SEVERITY_WEIGHT, Allow, Confirm, Deny, Effect, Severity, ToolCall
from interpose.effects.paths import project_of
from interpose.effects.shell import analyse
from interpose.reading.calls import DEFAULT_CWD, Reading, home_directory, reading_of, sandbox_left_by
from interpose.rules.guards.command_rules import TOGETHER, CommandRule, Profile, Word, rule_for
from interpose.rules.guards.effect_traits import traits_of

if TYPE_CHECKING:
    from interpose.reading.unknown_tools import Carried, Script

ID = "builtin:command-safety-guard"

LONGEST_PART = 2000
"""Characters of a command that a decision repeats: it is sent, recorded and asked about beside the command itself."""

_WEIGHT: dict[Word, int] = {"allow": 0, "ask": 1, "deny": 2}
_COMMAND_TYPES = (str, list, tuple)


_ALLOW = Allow()
_BAD_COMMAND = Deny(
    "This exec call has no command text, so nobody can say what it would run.", rule="bad-command", part="command"
)


class CommandRuling(Struct, frozen=True):
    """What one effect means: the word, and why."""

    decision: Word
    rule: str
    severity: Severity
    reason: str
    instead: str
    effect: Effect


class Judgement(Struct, frozen=True):
    """The whole answer: the word, the ruling that decided it, every ruling that objected, and all effects."""

    decision: Word
    rule: str = ""
    severity: Severity = "info"
    reason: str = ""
    instead: str = ""
    span: tuple[int, int] = (0, 0)
    rulings: tuple[CommandRuling, ...] = ()
    effects: tuple[Effect, ...] = ()


class CommandSafetyGuard:
    """Judges the command of an `exec` call by its effects, and so what the call of an unknown tool carries."""

    id = ID
    priority = 100
    guard = True

    def __init__(self, *, profile: Profile = "balanced", workspace: str = "", home: str | None = None) -> None:
        if profile not in ("balanced", "strict"):
            raise ValueError(f"unknown profile {profile!r}: use 'balanced' or 'strict'")
        self.profile: Profile = profile
        self.workspace = workspace
        self.home = home_directory() if home is None else home

    def __repr__(self) -> str:
        return f"CommandSafetyGuard(profile={self.profile!r}, workspace={self.workspace!r}, home={self.home!r})"

    def intercept(self, call: ToolCall) -> Allow | Confirm | Deny:
        """The decision on one call. A command that is missing or no text is refused: nobody can say what would run."""
        reading = reading_of(call, self.home)
        context_cwd = call.context.cwd or self.workspace or DEFAULT_CWD
        # INVARIANT: the workspace comes from the context alone. An argument may move where the command starts, never
        # what counts as the project.
        workspace = self.workspace or context_cwd
        about = (ID, context_cwd, workspace, self.profile)
        decision = reading.remember(about, lambda: self._decide(reading, context_cwd, workspace))
        if call.context.unseen_input and type(decision) is Allow:
            return _typed_into(reading, call.context.unseen_input)
        return decision

    def _decide(self, reading: Reading, cwd: str, workspace: str) -> Allow | Confirm | Deny:
        """The worst that the call deserves: by its command, and by what it carries if nobody knows its tool."""
        decision = self._decide_command(reading, cwd, workspace)
        if (left := sandbox_left_by(reading.call)) is not None:
            # INVARIANT: an argument never loosens anything. One that takes a call out of its sandbox is a question.
            decision = worse(decision, _decision(self._judged((left,), cwd, reading.home, workspace), ""))
        if reading.carried is not None:
            for other in self._decide_carried(reading, reading.carried, cwd, workspace):
                decision = worse(decision, other)
        return decision

    def _decide_carried(
        self, reading: Reading, carried: Carried, cwd: str, workspace: str
    ) -> Iterator[Allow | Confirm | Deny]:
        """The decisions on the program texts that a call carries, and on what the words of its tool's name say."""
        yield _decision(self._judged(carried.effects, cwd, reading.home, workspace), "")
        for script in carried.scripts:
            for start in reading.starts(cwd):
                effects = reading.effects_of_script(script, start)
                if script.counts == "fatal" and not self._is_fatal(reading, script, start, workspace):
                    continue
                yield _decision(self._judged(effects, start, reading.home, workspace), script.text)

    def _is_fatal(self, reading: Reading, script: Script, start: str, workspace: str) -> bool:
        """Whether a text would be refused if it were a command."""
        effects = reading.effects_in(script.text, start)
        return self._judged(effects, start, reading.home, workspace).decision == "deny"

    def _decide_command(self, reading: Reading, cwd: str, workspace: str) -> Allow | Confirm | Deny:
        """The worst that the call's text deserves in any of the directories where it may start."""
        text = _text_of(reading)
        if not isinstance(text, str):
            return text
        judged = (
            self._judged(reading.effects_in(text, start), start, reading.home, workspace)
            for start in reading.starts(cwd)
        )
        judgement = max(judged, key=_heaviness)
        if reading.seen.name == "process" and all(_is_unclear(ruling) for ruling in judgement.rulings):
            return _ALLOW  # what is typed into a program need not be shell text
        return _decision(judgement, text)

    def judge(self, command: str, cwd: str, home: str, workspace: str = "") -> Judgement:
        """Everything there is to say about one command."""
        workspace = workspace or self.workspace or cwd
        return self._judged(analyse(command, cwd=cwd, home=home).effects, cwd, home, workspace)

    def _judged(self, effects: tuple[Effect, ...], cwd: str, home: str, workspace: str) -> Judgement:
        workspace = project_of(workspace, home)
        judgement = self._judge(effects, cwd, home, workspace)
        if judgement.instead and not self._allows(judgement.instead, cwd, home, workspace):
            return replace(judgement, instead="")
        return judgement

    def _allows(self, advice: str, cwd: str, home: str, workspace: str) -> bool:
        effects = analyse(advice, cwd=cwd, home=home).effects
        return self._judge(effects, cwd, home, workspace).decision == "allow"

    def _together(self, effects: tuple[Effect, ...]) -> CommandRuling | None:
        """The objection to effects that only matter together."""
        kinds = {effect.kind for effect in effects}
        for needed, rule in TOGETHER:
            if needed <= kinds:
                named = next(effect for effect in effects if effect.kind in needed and effect.kind != "privilege")
                return _ruling(named, rule, rule.strict if self.profile == "strict" else rule.balanced)
        return None

    def _judge(self, effects: tuple[Effect, ...], cwd: str, home: str, workspace: str) -> Judgement:
        strict = self.profile == "strict"
        worst: CommandRuling | None = None
        weight = 0
        objections: list[CommandRuling] = []
        for effect in effects:
            rule = rule_for(effect.kind, traits_of(effect, cwd, home, workspace))
            word: Word = rule.strict if strict else rule.balanced
            # A text constant that nobody may ever run (shell/last_look.py) is worth a word only if it were refused.
            if word == "allow" or (word == "ask" and "literal" in effect.details):
                continue
            ruling = _ruling(effect, rule, word)
            objections.append(ruling)
            if _heaviness(ruling) > weight:
                worst, weight = ruling, _heaviness(ruling)
        if worst is None:
            worst = self._together(effects)
            if worst is None:
                return Judgement("allow", effects=effects)
            objections.append(worst)
        return Judgement(
            worst.decision,
            worst.rule,
            worst.severity,
            worst.reason,
            worst.instead,
            worst.effect.span,
            tuple(objections),
            effects,
        )


def _typed_into(reading: Reading, by: str) -> Allow | Confirm:
    """A question about a program that is told what to do by what is typed later, which nobody will see."""
    from interpose.effects.shell.terminal_programs import (
        waits_for_typing,  # few hosts need it, and hooks are in a hurry
    )

    text = reading.script[0] if reading.script is not None else ""
    for ran in reading.analysis.commands:
        if waits_for_typing(ran):
            reason = f"Opens {ran.name}, which does whatever is typed into it later: nobody is asked about {by}."
            start, end = ran.span
            return Confirm(reason, "unseen-input", "error", text[start : min(end, start + LONGEST_PART)])
    return _ALLOW


def _text_of(reading: Reading) -> str | Allow | Deny:
    """The shell text that a call would run or type into what runs, or the decision where there is none to judge."""
    seen = reading.seen
    if seen.name == "process":
        return typed_of(seen) or _ALLOW
    if seen.name != "exec":
        return _ALLOW
    if reading.script is not None and isinstance(seen.arguments.get("command", ""), _COMMAND_TYPES):
        return reading.script[0]
    return _BAD_COMMAND if seen is reading.call else _ALLOW  # another's tool of such a name need not run commands


def worse(one: Allow | Confirm | Deny, other: Allow | Confirm | Deny) -> Allow | Confirm | Deny:
    """The harsher of two decisions; the first of two that are alike."""
    return other if _harshness(other) > _harshness(one) else one


def _harshness(decision: Allow | Confirm | Deny) -> int:
    match decision:
        case Allow():
            return -1
        case Confirm(severity=severity):
            return SEVERITY_WEIGHT[severity]
        case Deny(severity=severity):
            return 4 + SEVERITY_WEIGHT[severity]


def _is_unclear(ruling: CommandRuling) -> bool:
    """Whether we did not understand. INVARIANT: what was not read to its end is another matter: it stays refused."""
    return ruling.effect.kind == "opaque" and ruling.decision != "deny"


def _heaviness(ruling: CommandRuling | Judgement) -> int:
    return _WEIGHT[ruling.decision] * 4 + SEVERITY_WEIGHT[ruling.severity]


def _ruling(effect: Effect, rule: CommandRule, word: Word) -> CommandRuling:
    # A catastrophe that is only possible is a question, not a refusal. What is opaque is never more than possible.
    decision: Word = "ask" if word == "deny" and effect.certainty != "proven" and effect.kind != "opaque" else word
    details = effect.details
    return CommandRuling(
        decision,
        details.get("rule") or rule.id,
        rule.severity,
        _sentence(details.get("reason", ""), effect.resource, rule.reason),
        details.get("instead") or rule.instead,
        effect,
    )


def _sentence(reason: str, resource: str, general: str) -> str:
    """A handler's reason as a sentence. One that starts small says what the resource is: `holds cloud credentials`."""
    if not reason:
        return general
    if reason[0].islower():
        reason = f"{general.rstrip('.')}: {resource} {reason}"
    return reason if reason.endswith(".") else f"{reason}."


def _decision(judgement: Judgement, command: str) -> Allow | Confirm | Deny:
    start, end = judgement.span
    part = command[start : min(end, start + LONGEST_PART)]
    match judgement.decision:
        case "allow":
            return Allow()
        case "ask":
            return Confirm(judgement.reason, judgement.rule, judgement.severity, part, judgement.instead)
        case "deny":
            return Deny(judgement.reason, judgement.rule, judgement.severity, part, judgement.instead)
