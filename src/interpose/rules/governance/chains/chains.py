"""Chain rules: what must and should come before a command.

    read-only commands pass -> every rule that fits is evaluated -> what is missing -> block, redirect or warn

All rules are evaluated, so that none hides another behind its wildcard, and all that is missing is said at once. A
redirect is a refusal that names the command to use first: no command is turned into another.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from interpose.core.command_text import plain_command
from interpose.core.types import Command, ToolCall
from interpose.rules.governance.chains.command_names import command_fits_any, could_be_command
from interpose.rules.governance.chains.host_commands import commands_in, starts_commands
from interpose.rules.governance.chains.prerequisites import (
    PHASE,
    Circumstances,
    MissingPrerequisite,
    ProjectFiles,
    ProjectLook,
    expression_problem,
    glob_problem,
    missing_of,
    phase_of,
    prerequisite_problem,
)
from interpose.rules.governance.chains.state_expressions import StateExpressionError
from interpose.rules.governance.chains.state_writes import may_write_state, next_state, writes_state
from interpose.rules.governance.files.file_model import ChainForm, ChainsForm
from interpose.rules.governance.roles.bypasses import RULE as BYPASS_RULE
from interpose.rules.governance.roles.bypasses import Bypass
from interpose.rules.governance.rulings import RULE_PREFIX, Ruling
from interpose.rules.governance.sessions.sessions import GovernedSession, Validation

PREFIX = f"{RULE_PREFIX}chain/"
MOST_VALIDATIONS = 50
_SHOWN = 200

BypassOf = Callable[[str], Bypass | None]
"""The operator's word for a command or a rule, if there is one that counts in this session now."""


class ChainProblem(Struct, frozen=True):
    """What is wrong with a rule as it is written. `rule` is its place in the list."""

    rule: int
    id: str
    message: str


def nobody(_command: str) -> None:
    """No operator gave their word."""
    return


def chain_rulings(
    chains: ChainsForm,
    command: Command,
    project: str,
    session: GovernedSession | None,
    now_ns: int,
    files: ProjectFiles,
    *,
    bypass_of: BypassOf = nobody,
) -> tuple[Ruling, ...]:
    """What the rules say to a command, the refusals first. The first of them has the reasons of all."""
    rules = rules_for(chains, command.name)
    if not rules:
        return ()
    around = _around(chains, command.arguments, files.look(project), session, now_ns)
    subject = f"/{plain_command(command.name)[:_SHOWN]}"
    return _lifted(_told(rules, subject, around), command.name, bypass_of)


def rules_for(chains: ChainsForm, name: str) -> tuple[ChainForm, ...]:
    """The rules that hold for a command: none for one that only reads."""
    if command_fits_any(chains.read_only, name):
        return ()
    return tuple(
        rule
        for rule in chains.rules
        if rule.command is not None
        and could_be_command(rule.command, name)
        and not command_fits_any(rule.exceptions, name)
    )


def chains_concern(chains: ChainsForm, call: ToolCall, home: str) -> bool:
    """Whether a tool call is one that chains could say something about: most are none, and nothing is looked at."""
    if starts_commands(call):
        return True
    if not chains.state_file or not may_write_state(call, chains.state_tools, home):
        return False
    return any(rule.becomes for rule in chains.rules)


def call_chain_rulings(
    chains: ChainsForm,
    call: ToolCall,
    project: str,
    session: GovernedSession | None,
    now_ns: int,
    files: ProjectFiles,
    *,
    home: str,
    bypass_of: BypassOf = nobody,
) -> tuple[Ruling, ...]:
    """The same for a tool call: for the commands that it starts, and for what it makes of the state file."""
    found = [
        ruling
        for command in commands_in(call)
        for ruling in chain_rulings(chains, command, project, session, now_ns, files, bypass_of=bypass_of)
    ]
    if any(rule.becomes for rule in chains.rules) and chains.state_file:
        found += _state_rulings(chains, call, project, session, now_ns, files, home, bypass_of)
    return tuple(sorted(found, key=lambda ruling: ruling.said != "deny"))


def _state_rulings(
    chains: ChainsForm,
    call: ToolCall,
    project: str,
    session: GovernedSession | None,
    now_ns: int,
    files: ProjectFiles,
    home: str,
    bypass_of: BypassOf,
) -> list[Ruling]:
    file, tools = chains.state_file, chains.state_tools
    if not writes_state(call, project=project, state_file=file, state_tools=tools, home=home):
        return []
    look = files.look(project)
    now = look.state(file)
    after = next_state(call, state_file=file, state_tools=tools, now=now)
    around = _around(chains, "", look, session, now_ns)
    found: list[Ruling] = []
    for rule in chains.rules:
        if not rule.becomes or (not now.problem and _holds(rule.becomes, now.data)):
            continue  # it is so already
        # What can't be known may be it: better that somebody writes it in a way that can be read.
        if after.unknown or _holds(rule.becomes, after.data):
            told = _told((rule,), f"{rule.becomes} in {file}", around)
            if after.unknown:
                told = tuple(_unreadable(ruling, after.unknown) for ruling in told)
            found += _lifted(told, rule.id, bypass_of)
    return found


def _holds(expression: str, data: object) -> bool:
    from interpose.rules.governance.chains.state_conditions import holds  # few rulebooks compare states

    try:
        return holds(expression, data) is True
    except StateExpressionError:
        return True  # a rule that can't be read is no reason to go on; the loader says what is wrong with it


def _unreadable(ruling: Ruling, why: str) -> Ruling:
    instead = "change the state file with the tool that writes or edits files, so that it can be read before"
    return replace(
        ruling,
        reason=f"{why}, and {ruling.reason}",
        instead=f"{ruling.instead}; or {instead}" if ruling.instead else instead,
    )


def _around(
    chains: ChainsForm, arguments: str, look: ProjectLook, session: GovernedSession | None, now_ns: int
) -> Circumstances:
    state = look.state(chains.state_file)
    phase = phase_of(arguments, state, chains.phase)
    return Circumstances(look=look, phase=phase, state_file=chains.state_file, session=session, now_ns=now_ns)


def _told(rules: tuple[ChainForm, ...], subject: str, around: Circumstances) -> tuple[Ruling, ...]:
    """What each rule says; the first refusal says what all refusals say."""
    refusals: list[Ruling] = []
    notes: list[Ruling] = []
    for rule in rules:
        if lacking := missing_of(rule.must_before, around):
            ruling = _ruling(rule, subject, lacking, around)
            (notes if rule.action == "warn" else refusals).append(ruling)
        if lacking := missing_of(rule.should_before, around):
            notes.append(_ruling(rule, subject, lacking, around, warns=True))
    if len(refusals) > 1:
        refusals[0] = replace(
            refusals[0],
            reason="; ".join(dict.fromkeys(one.reason for one in refusals)),
            instead="; then ".join(dict.fromkeys(one.instead for one in refusals if one.instead)),
            evidence="; ".join(one.evidence for one in refusals),
        )
    return (*refusals, *notes)


def _ruling(
    rule: ChainForm,
    subject: str,
    lacking: tuple[MissingPrerequisite, ...],
    around: Circumstances,
    *,
    warns: bool = False,
) -> Ruling:
    warns = warns or rule.action == "warn"
    needs = " and ".join(one.what for one in lacking)
    reason = f"{subject} {'should wait for' if warns else 'needs'} {needs}"
    ways = [one.how for one in lacking if one.how]
    if rule.action == "redirect" and rule.target:
        ways.insert(0, f"use {rule.target.replace(PHASE, around.phase)} first")
    return Ruling(
        said="note" if warns else "deny",
        rule=f"{PREFIX}{rule.id}",
        reason=f"{reason}. {rule.message}" if rule.message else reason,
        instead="; ".join(dict.fromkeys(ways)),
        evidence=f"{rule.id}: {needs}",
    )


def _lifted(rulings: tuple[Ruling, ...], name: str, bypass_of: BypassOf) -> tuple[Ruling, ...]:
    """An operator's word turns refusals into notes, and stands before them."""
    if all(ruling.said != "deny" for ruling in rulings) or (bypass := bypass_of(name)) is None:
        return rulings
    word = Ruling(
        said="note",
        rule=BYPASS_RULE,
        reason=f"{bypass.by} lets {bypass.command} pass until {bypass.until}: {bypass.reason}",
        evidence=f"bypass {bypass.id}",
    )
    return (word, *(replace(ruling, said="note") for ruling in rulings))


# --- what succeeded --------------------------------------------------------------------------------------------------


def validated_names(chains: ChainsForm) -> tuple[str, ...]:
    """The names of commands and tools whose success some rule asks for."""
    names: dict[str, None] = {}
    waiting = [form for rule in chains.rules for form in (*rule.must_before, *rule.should_before)]
    while waiting:
        form = waiting.pop()
        waiting.extend(form.one_of or ())
        if form.validated is not None:
            names[form.validated] = None
    return tuple(names)


def with_success(session: GovernedSession, chains: ChainsForm, names: tuple[str, ...], now_ns: int) -> GovernedSession:
    """The session in which these commands or tools succeeded now. Only those that a rule asks for are kept, each once.

    Names are as their host says them: those of the tool, and of the commands that it started (`commands_in`).
    """
    wanted = validated_names(chains)
    new = [name for name in dict.fromkeys(names) if command_fits_any(wanted, name)]
    if not new:
        return session
    kept = [one for one in session.validations if one.name not in new]
    validations = (*kept, *(Validation(name[:_SHOWN], now_ns) for name in new))
    return replace(session, validations=validations[-MOST_VALIDATIONS:])


# --- what is wrong with rules ----------------------------------------------------------------------------------------


def chain_problems(chains: ChainsForm) -> tuple[ChainProblem, ...]:
    """Everything about the rules that can't be meant so, for whoever loads them."""
    found: list[ChainProblem] = []
    seen: set[str] = set()
    for number, rule in enumerate(chains.rules):
        found += [ChainProblem(number, rule.id, problem) for problem in _problems(rule, chains.state_file)]
        if rule.id in seen:
            found.append(ChainProblem(number, rule.id, "another rule has this id"))
        seen.add(rule.id)
    if chains.state_file and (problem := glob_problem(chains.state_file)):
        found.append(ChainProblem(-1, "", f"state_file: {problem}"))
    return tuple(found)


def _problems(rule: ChainForm, state_file: str) -> list[str]:
    found = []
    if rule.command is None and not rule.becomes:
        found.append("it needs a `command` or `becomes`")
    if not rule.must_before and not rule.should_before:
        found.append("it needs something in `must_before` or `should_before`")
    if rule.action == "redirect" and not rule.target:
        found.append("`redirect` needs a `target`: the command to use first")
    if rule.target and rule.action != "redirect":
        found.append("`target` belongs to the action `redirect`")
    if rule.becomes and (problem := expression_problem(rule.becomes, state_file)):
        found.append(f"becomes: {problem}")
    for form in (*rule.must_before, *rule.should_before):
        if problem := prerequisite_problem(form, state_file):
            found.append(problem)
    return found
