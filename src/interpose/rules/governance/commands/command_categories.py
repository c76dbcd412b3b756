"""Categories of commands: what a line does, by all commands in it and all their effects, never by its first word.

A line needs each category that something in it needs: `cat x; curl example.com -o y` needs `inspection`, `network` and
`filesystem`. What nobody can put anywhere needs `general`, and so does what is only known when it runs: give that to
roles that may do anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from interpose.core.formats.plain_text import one_line
from interpose.core.tools import typed_of
from interpose.core.types import Effect, EffectKind
from interpose.effects.paths import Place, place_of
from interpose.effects.programs import category_of
from interpose.effects.shell import Analysis, Ran
from interpose.reading.calls import DEFAULT_CWD, Reading, reading_of
from interpose.rules.governance.commands import command_words as told
from interpose.rules.governance.roles.agent_words import commands_told, subject_of
from interpose.rules.governance.roles.identity import host_of
from interpose.rules.governance.roles.name_patterns import fits, is_glob
from interpose.rules.governance.roles.role_tools import work_of
from interpose.rules.governance.roles.roles import instead_of
from interpose.rules.governance.rulings import RULE_PREFIX, Ruling

if TYPE_CHECKING:
    from interpose.core.types import ToolCall
    from interpose.rules.governance.files.rulebook import Role, Rulebook, Seat

COMMAND_RULE = f"{RULE_PREFIX}command"

_NEEDS = object()
_SHOWN = 80
_MOST_NAMED = 4
_PATH_SET = re.compile(r"(?<![A-Za-z0-9_$\{])PATH\+?=")
"""Where programs are looked for: behind it no name says which program runs."""
_LOOKS = frozenset({"--version", "-V", "--help", "version", "help"})
_PACKAGE_WRAPPERS = frozenset({"npx", "bunx", "uvx", "uv", "pipx", "poetry", "pdm", "hatch", "rye", "bundle"}) | (
    told.PACKAGE_RUNNERS
)
_ACTIVATE = ("venv/bin/activate", "venv/bin/activate.fish", "venv/Scripts/Activate.ps1")
_CHANGES = frozenset({"fs.write", "fs.delete"})
_HARMLESS_PLACES = frozenset({Place.IN_TEMP, Place.DEVICE_SAFE})

_BY_EFFECT: dict[EffectKind, tuple[str, ...]] = {
    "fs.read": (), "secret.read": (), "process.exec": (), "vcs.discard": ("git",),
    "fs.write": ("filesystem",), "fs.delete": ("filesystem",), "fs.permission": ("filesystem",),
    "process.kill": ("runtime",), "net.upload": ("network",), "net.download": ("network",), "net.listen": ("network",),
    "vcs.publish": ("network",), "package.install": ("network",), "package.publish": ("network",),
    "world.change": ("network",), "code.remote": ("general",), "privilege": ("general",), "data.destroy": ("general",),
    "infra.destroy": ("general",), "persistence": ("general",), "system": ("general",), "guard.tamper": ("general",),
    "opaque": ("general",),
}  # fmt: skip
"""What an effect needs besides what its command does."""


class CommandNeed(Struct, frozen=True):
    """What a part of a command line needs: one of these categories, or its words in the list."""

    categories: tuple[str, ...]
    part: str
    is_effect: bool = False
    """Whether it is an effect: allowing a command by its words allows no further effects."""


class CommandLimit(Struct, frozen=True):
    """A list of categories and commands, compiled."""

    allowed: tuple[str, ...]
    place: str
    patterns: tuple[str, ...]
    """Those of the list that are commands by their words."""

    @staticmethod
    def of(allowed: tuple[str, ...], place: str) -> CommandLimit:
        """The limit that a list of the file is."""
        return CommandLimit(allowed, place, tuple(one for one in allowed if " " in one or is_glob(one)))

    def is_met(self, need: CommandNeed) -> bool:
        """Whether it allows what a part of a command needs."""
        if any(category in self.allowed for category in need.categories):
            return True
        if need.is_effect:
            return False
        return any(fits(one, need.part) or fits(one, f"{need.part} ") for one in self.patterns)


BrokenLimit = tuple[CommandLimit, tuple[CommandNeed, ...]]
"""A limit, and what it does not allow."""


class RoleLimits:
    """What limits the commands of a role, compiled: its own list and those of its ceilings."""

    def __init__(self, role: Role) -> None:
        limits = [] if role.commands is None else [CommandLimit.of(role.commands, role.place("commands"))]
        for ceiling, place in zip(role.ceilings, role.ceiling_places, strict=True):
            if ceiling.commands is not None:
                limits.append(CommandLimit.of(ceiling.commands, f"{place}.commands"))
        self.role, self.limits = role, tuple(limits)

    def broken(self, call: ToolCall, home: str) -> tuple[BrokenLimit, ...]:
        """Which of them a call breaks. It depends on the call alone, whoever makes it."""
        needs = needs_of(call, home)
        if needs is None:
            return ()
        found = ((limit, tuple(need for need in needs if not limit.is_met(need))) for limit in self.limits)
        return tuple((limit, missing) for limit, missing in found if missing or not limit.allowed)


def role_limits(book: Rulebook, role: Role) -> RoleLimits:
    """The limits of a role of a rulebook, compiled."""
    found = book.compiled(("commands", role.name), lambda: RoleLimits(role))
    return found if found.role is role else RoleLimits(role)


def command_rulings(seat: Seat, call: ToolCall, home: str) -> tuple[Ruling, ...]:
    """What the categories of a role, and the ceilings above it, say about a command."""
    role = seat.role
    if role is None:
        return ()
    compiled = role_limits(seat.book, role)
    if not compiled.limits:
        return ()
    broken = reading_of(call, home).remember(compiled, lambda: compiled.broken(call, home))
    return tuple(_ruling(seat, role, limit, missing, host_of(call.context.source)) for limit, missing in broken)


def _only(allowed: tuple[str, ...]) -> str:
    return f"Run only {', '.join(commands_told(allowed))}"


def _ruling(seat: Seat, role: Role, limit: CommandLimit, missing: tuple[CommandNeed, ...], host: str) -> Ruling:
    allowed = limit.allowed
    by_commands = {need.categories for need in missing if not need.is_effect}
    told_apart = dict.fromkeys(
        f"{need.part} ({' or '.join(need.categories)})"
        for need in missing
        if not (need.is_effect and need.categories in by_commands)
    )
    parts = [*told_apart][:_MOST_NAMED]
    what = f"may not run {', '.join(parts)}" if parts else "may run no commands"
    more = f" and {len(told_apart) - len(parts)} more" if len(told_apart) > len(parts) else ""
    return Ruling(
        said="deny", rule=COMMAND_RULE,
        reason=f"{subject_of(seat)} {what}{more}",
        instead=instead_of(seat, role, host) if role.instead or not allowed else _only(allowed),
        evidence=f"{limit.place} is {', '.join(allowed) or 'empty'}", watch=seat.mode == "watch",
    )  # fmt: skip


def needs_of(call: ToolCall, home: str) -> tuple[CommandNeed, ...] | None:
    """All that a call needs to be run as a command. None: it runs no command."""
    reading = reading_of(call, home)
    return reading.remember(_NEEDS, lambda: _needs_of(reading))


def _needs_of(reading: Reading) -> tuple[CommandNeed, ...] | None:
    call, home = reading.call, reading.home
    if call.name == "process":
        typed = typed_of(call)
        return (CommandNeed(("general",), "what it types into a running program"),) if typed.strip() else None
    if reading.seen.name != "exec":
        if "exec" not in work_of(call, home):
            return None
        carried = tuple(_of_effects(reading.effects, (), call.context.cwd, home))
        return CommandNeed(("general",), f"the program that {one_line(call.name[:_SHOWN])} is given"), *carried
    if reading.script is None:
        return (CommandNeed(("general",), "a command that nobody can read"),)
    found = dict.fromkeys(
        need for text, analysis in _analyses(reading) for need in _needs(text, analysis, call.context.cwd, home)
    )
    return tuple(found)


def _analyses(reading: Reading) -> Iterator[tuple[str, Analysis]]:
    """The command, and all other ways in which the tool could understand its arguments."""
    yield reading.script[0] if reading.script else "", reading.analysis
    for script in reading.carried.scripts if reading.carried is not None else ():
        if script.counts != "fatal":
            yield script.text, reading.analysis_in(script.text, reading.call.context.cwd or DEFAULT_CWD)


def _needs(text: str, analysis: Analysis, cwd: str, home: str) -> Iterator[CommandNeed]:
    hijacked = _PATH_SET.search(text) is not None
    for ran in analysis.commands:
        categories = categories_of(ran, analysis.commands)
        if ran.name in told.ARCHIVERS and not any(effect.kind in _CHANGES for effect in analysis.effects):
            categories = ("inspection", *categories)
        if hijacked and categories:
            categories = ("general",)
        if categories:
            yield CommandNeed(categories, _shown(ran))
    yield from _of_effects(analysis.effects, analysis.commands, cwd, home)


def _of_effects(effects: Iterable[Effect], commands: tuple[Ran, ...], cwd: str, home: str) -> Iterator[CommandNeed]:
    for effect in effects:
        categories = _of_started(effect) if effect.kind == "process.exec" else _BY_EFFECT[effect.kind]
        if not categories or (effect.kind.startswith("fs.") and _is_passing(effect.resource, cwd, home)):
            continue
        if effect.kind == "package.install" and _is_own_tool(effect, commands):
            continue
        resource = effect.resource.removeprefix(f"{cwd or DEFAULT_CWD}/")
        named = one_line(resource[:_SHOWN])
        yield CommandNeed(categories, f"{effect.kind} {named}".rstrip(), is_effect=True)


def _of_started(effect: Effect) -> tuple[str, ...]:
    """A program that starts is one of the commands; a file of commands is none, and may hold any."""
    if effect.details.get("script"):
        return ("validation", "build", "runtime") if effect.resource.endswith(_ACTIVATE) else ("runtime",)
    return ("general",) if effect.details.get("rule") else ()


def _is_passing(path: str, cwd: str, home: str) -> bool:
    """Whether it is a temporary file, or a device that keeps nothing: everybody may write there."""
    place = place_of(path, cwd=cwd or DEFAULT_CWD, home=home, workspace=cwd or DEFAULT_CWD)
    return place in _HARMLESS_PLACES


def _is_own_tool(effect: Effect, commands: tuple[Ran, ...]) -> bool:
    """Whether `npx vitest` only looks for a program that tests or builds: it is installed in most projects."""
    return any(
        ran.via
        and ran.name == _unversioned(effect.resource)
        and set(categories_of(ran, commands)) <= {"validation", "build"}
        for ran in commands
    )


def _unversioned(package: str) -> str:
    """`vitest` of `vitest@1`, `biome` of `@biomejs/biome`."""
    return package[1:].partition("@")[0].rpartition("/")[2] if package[:1] == "@" else package.partition("@")[0]


def categories_of(ran: Ran, commands: tuple[Ran, ...] = ()) -> tuple[str, ...]:
    """The categories of one command, of which one is enough. Empty: it does nothing by itself.

    INVARIANT: a program that is called by its directory is what its name says only where programs of the system, or of
    the project's own tools, lie.
    """
    name, args = ran.name, ran.args
    if "/" in ran.program and not ran.program.startswith(told.SYSTEM_DIRECTORIES):
        if any(f"/{ran.program}".rpartition(name)[0].endswith(f"/{place}") for place in told.TOOL_DIRECTORIES):
            kept = _of_name(name, args, commands)
            return kept if set(kept) <= {"validation", "build", "runtime"} and kept else ("runtime",)
        return _of_name(name, args, commands) if name in told.OWN_SCRIPTS else ("runtime",)
    if ran.via and ran.via[-1] in told.RUNTIME and "." in name:
        return ("runtime",)  # `python manage.py migrate`
    return _of_name(name, args, commands)


def _of_name(name: str, args: tuple[str, ...], commands: tuple[Ran, ...]) -> tuple[str, ...]:
    if name in told.NEUTRAL:
        return ()
    if args and all(arg in _LOOKS for arg in args) and _is_known(name):
        return ("inspection",)
    if name == "git":
        return _of_git(args)
    if name in _PACKAGE_WRAPPERS and any(ran.via and ran.via[-1].split()[0] == name for ran in commands):
        return ()
    if name in told.CHECKERS and (found := _of_checker(name, args)):
        return found
    if name in told.SUBCOMMANDS and (found := _of_subcommand(name, args)):
        return found
    if name in told.PACKAGE_RUNNERS:
        return _of_package_script(args)
    if name in ("make", "gmake", "rake", "just", "task"):
        return _of_targets(args)
    if name in ("python", "python3", "python2") and args[:1] == ("-m",) and len(args) > 1:
        return _of_module(args[1], args[2:])
    if name in ("pip", "pip3"):
        return _of_module("pip", args)
    if name in _READ_PROGRAMS and any(arg.startswith(("-f", "--file")) for arg in args):
        return ("runtime",)
    if name in told.INSPECTION and (found := _more_than_looks(name, args)):
        return found
    return next(((category,) for category, names in _TABLES if name in names), (category_of(name) or "general",))


def _more_than_looks(name: str, args: tuple[str, ...]) -> tuple[str, ...]:
    """What a program that looks needs besides, by its words; empty if it only looks."""
    words = [arg for arg in args if not arg.startswith("-")]
    if name in told.MAY_FETCH and any("://" in word for word in words):
        return ("network",)
    if name == "pdftotext" and args[-1:] != ("-",):  # without a name it makes one of its own
        return ("filesystem",)
    if name == "hostname" and words:
        return ("general",)
    return ("general",) if _has_word(told.LOOKS_UNLESS.get(name, frozenset()), args) else ()


def _has_word(wanted: frozenset[str], args: tuple[str, ...]) -> bool:
    """Whether one of these options is there, also one that is cut short, or stands among others behind one dash."""
    for arg in args:
        said = arg.partition("=")[0]
        for one in wanted:
            is_letter = len(one) == 2 and one[0] == "-"
            if said == one or (is_letter and arg[:1] == "-" and arg[1:2] != "-" and one[1] in arg):
                return True
            if not is_letter and len(said) > _SHORTEST and one.startswith(said):
                return True
    return False


_SHORTEST = 4
"""Letters of a long option that nobody takes for another."""


_TABLES: tuple[tuple[str, frozenset[str]], ...] = (
    ("inspection", told.INSPECTION), ("validation", told.VALIDATION), ("filesystem", told.FILESYSTEM),
    ("build", told.BUILD), ("runtime", told.RUNTIME), ("network", told.NETWORK),
)  # fmt: skip


_READ_PROGRAMS = frozenset({"awk", "gawk", "mawk", "nawk", "sed", "gsed"})
"""What looks, unless its program stands in a file: such programs can start others."""


def _is_known(name: str) -> bool:
    if name == "git" or name in told.CHECKERS or any(name in names for _, names in _TABLES):
        return True
    return category_of(name) not in ("", "general")


def _of_git(args: tuple[str, ...]) -> tuple[str, ...]:
    """Git that only looks is inspection as well, unless it is given configuration: that can run programs."""
    index, is_plain = 0, True
    while index < len(args) and args[index].startswith("-"):
        option = args[index].partition("=")[0]
        is_plain = is_plain and option not in ("-c", "--exec-path", "--config-env")
        index += 2 if option in told.GIT_WITH_VALUE and "=" not in args[index] else 1
    verb, rest = (args[index], args[index + 1 :]) if index < len(args) else ("version", ())
    looks = verb in told.READ_ONLY_GIT or _git_lists(verb, rest)
    return ("inspection", "git") if looks and is_plain else ("git",)


def _git_lists(verb: str, rest: tuple[str, ...]) -> bool:
    """Verbs of git that look or change, by what stands behind them."""
    words = [word for word in rest if not word.startswith("-")]
    match verb:
        case "branch" | "tag":
            lists = {"-l", "--list", "-a", "--all", "-r", "--remotes", "-v", "-vv", "--show-current", "--merged",
                     "--no-merged", "--contains", "--no-contains", "--points-at", "-n"}  # fmt: skip
            return all(word in lists for word in rest if word.startswith("-")) and (
                not words or bool(lists & set(rest) - {"-v", "-vv", "-a", "-r", "-n"})
            )
        case "remote":
            return not words or words[0] in ("show", "get-url")
        case "stash" | "worktree" | "submodule" | "bisect" | "notes" | "lfs":
            return words[:1] in (["list"], ["show"], ["status"], ["log"], ["ls-files"])
        case "reflog":
            return words[:1] in ([], ["show"])
        case "config":
            return bool({"--get", "--get-all", "--list", "-l", "--get-regexp"} & set(rest)) or words[:1] in (
                ["get"],
                ["list"],
            )
        case _:
            return False


def _of_checker(name: str, args: tuple[str, ...]) -> tuple[str, ...]:
    """A program that looks or changes files, by its options."""
    checks = told.CHECKERS[name]
    if told.FIXING.isdisjoint(args) and (not checks or not checks.isdisjoint(args)):
        return ("validation",)
    return ("filesystem",) if name in told.FORMATTERS else ()


def _of_subcommand(name: str, args: tuple[str, ...]) -> tuple[str, ...]:
    words = [word for word in args if not word.startswith(("-", "+", ":"))]
    verbs = told.SUBCOMMANDS[name]
    several = name in ("gradle", "gradlew", "mvn", "mvnw")
    found = {_of_verb(word, verbs) for word in (words if several else words[:1])}
    return tuple(found) if len(found) == 1 and "" not in found else ()


def _of_verb(word: str, verbs: dict[told.Category, frozenset[str]]) -> str:
    return next((category for category, words in verbs.items() if word in words), "")


def _of_module(name: str, args: tuple[str, ...]) -> tuple[str, ...]:
    """What `python -m` runs."""
    if name == "pip" and args[:1] and args[0] in told.PIP_LOOKS and not _has_word(told.LOOKS_UNLESS["pip"], args):
        return ("inspection",)
    if name == "json.tool" and len(args) < 2:
        return ("inspection",)
    return (told.PYTHON_MODULES.get(name, "runtime"),)


def _of_package_script(args: tuple[str, ...]) -> tuple[str, ...]:
    """`npm test`, `yarn build`, `pnpm run lint`: the name of the script says what it is for."""
    words = [word for word in args if not word.startswith("-")]
    verb, rest = (words[0], words[1:]) if words else ("install", [])
    if not words and args and set(args) <= {"-v", "-h"}:
        return ("inspection",)
    if verb in told.ADDING:
        return ("build",)
    if verb in told.LOOKING_HERE or (verb in ("config", "pkg") and rest[:1] in (["get"], ["ls"], ["list"])):
        return ("inspection",)
    if verb in told.LOOKING_ELSEWHERE:
        return ("network",)
    if verb in told.SHARING:
        return ("network",)
    if verb in ("run", "run-script", "rum") and rest:
        verb = rest[0]
    return _of_script(verb)


def _of_script(name: str) -> tuple[str, ...]:
    first = name.partition(":")[0]
    for category, names in (
        ("validation", told.CHECKING_SCRIPTS), ("build", told.BUILDING_SCRIPTS), ("runtime", told.RUNNING_SCRIPTS),
    ):  # fmt: skip
        if name in names or first in names:
            return (category,)
    return ("runtime",)


def _of_targets(args: tuple[str, ...]) -> tuple[str, ...]:
    """What `make` makes: only looking, if all its targets do."""
    skip, targets = False, []
    for arg in args:
        if skip or arg.startswith("-") or "=" in arg:
            skip = not skip and arg in ("-C", "-f", "-I", "-o", "-W", "--file", "--directory")
            continue
        targets.append(arg)
    return ("validation",) if targets and all(_of_script(one) == ("validation",) for one in targets) else ("build",)


def _shown(ran: Ran) -> str:
    text = " ".join((ran.program if "/" in ran.program else ran.name, *ran.args))
    return one_line(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
