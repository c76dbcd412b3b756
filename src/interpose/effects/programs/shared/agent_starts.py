"""Agents that start agents: what another agent does is out of our sight, the more so when its own guards are off."""

from __future__ import annotations

import re

from interpose.effects.agents.agent import Agent
from interpose.effects.agents.known_agents import AGENT_OF, AGENTS, BY_NAME, PACKAGES
from interpose.effects.frozen_values import words
from interpose.effects.invocation import UNKNOWN, Invocation, Lowering, Word
from interpose.effects.late_patterns import late

OTHERS_TOO = frozenset(name for agent in AGENTS for name in agent.shared_names)
"""Names that other programs have as well, with handlers of their own or with plain words."""
_UNGUARDED = frozenset(
    {
        "--dangerously-skip-permissions", "--allow-dangerously-skip-permissions", "--enable-auto-mode", "--yolo",
        "--dangerously-bypass-approvals-and-sandbox", "--full-auto", "--yes-always", "--allow-all-tools",
        "--allow-all", "--dangerously-allow-all", "--skip-permissions-unsafe", "--auto-approve", "--force", "-f",
        "--always-approve", "--trust-all-tools", "--trust-tools", "--auto_run", "--no-confirm", "--non-interactive",
    }
)  # fmt: skip
_UNGUARDED_VALUES = frozenset({"bypassPermissions", "yolo", "danger-full-access", "never", "acceptEdits", "dontAsk"})
_VALUES = frozenset(
    {"--permission-mode", "--approval-mode", "--sandbox", "-s", "-a", "--ask-for-approval", "--sandbox_mode"}
)


_TASKS = frozenset({
    "-p", "--print", "--prompt", "exec", "e", "run", "--resume", "-r", "resume", "--continue", "-c", "--message", "-m",
    "-x", "--execute", "-t", "--task", "--text", "-q", "--query", "--no-interactive", "-i", "--instruction",
    "--instructions", "--message-file", "--prompt-interactive", "--output-format", "solve", "code", "--remote",
    "--teleport", "--cloud", "--remote-control", "remote-control", "--acp", "--experimental-acp",
})  # fmt: skip
"""What makes an agent start to work, rather than show or set something up."""
_STEERED = frozenset({("acp",), ("proto",), ("app-server",), ("mcp-server",), ("mcp", "serve")})
"""Verbs, with nothing behind them, by which another program steers an agent or gets its tools, past its hooks."""
_INFORM = frozenset({"--help", "-h", "--version", "help"})
_RECIPES = frozenset({"--recipe"})
"""What makes an agent do what a file of the project says. Such a file is judged like a script: by how it is started."""


def _hooks_off(inv: Invocation, low: Lowering, host: str, texts: list[str]) -> bool:
    """Whether an agent's hooks are switched off, for good or for this start."""
    from interpose.effects.agents.off_flags import is_off_command, off_flags_in  # most commands start no agent

    if is_off_command(host, texts):
        low.emit("guard.tamper", inv.name, wide=True, rule="guard-off",
                 reason="Switches the hooks of an agent off, which watch over what it does")  # fmt: skip
        return True
    for flag, _ in off_flags_in(host, texts):
        low.emit("guard.tamper", inv.name, rule="unguarded-agent",
                 reason=f"With {flag.shown} this agent does not run the hooks that watch over it")  # fmt: skip
        return True
    return False


_MESSAGES = frozenset({"--message", "-m"})
_TALKS = frozenset(program for agent in AGENTS if agent.rarely_works for program in agent.programs)
"""Agents with many commands that start no work: their hooks are what matters."""


def state_agent(inv: Invocation, low: Lowering, host: str) -> bool:
    """State what starting an agent with these words means. Whether there was something to state."""
    texts = [word.text for word in inv.args]
    if _hooks_off(inv, low, host, texts):
        return True
    for word, after in zip(inv.args, [*texts[1:], ""], strict=False):
        name, _, value = word.text.partition("=")
        if word.text == "--":
            break
        if name in _UNGUARDED or (name in _VALUES and (value or after) in _UNGUARDED_VALUES):
            return _state_unguarded(inv, low, word)
    if texts[:1] != ["install"] and "-y" in texts:
        return _state_unguarded(inv, low, None)
    if _adds_server(texts) or _changes_settings(texts):
        low.emit("guard.tamper", inv.name, certainty="possible", rule="agent-settings",
                 reason="Changes an agent's settings, plugins or tool servers")  # fmt: skip
        return True
    if _installs_old(BY_NAME[host], texts):
        low.emit("guard.tamper", inv.name, certainty="possible", rule="agent-version",
                 reason="Installs a certain version of an agent: old ones run no hooks")  # fmt: skip
        return True
    if inv.name in _TALKS and "agent" in texts and not _MESSAGES.isdisjoint(texts):
        low.emit("guard.tamper", inv.name, certainty="possible", rule="nested-agent",
                 reason="Starts another agent, whose calls nobody here sees")  # fmt: skip
        return True
    if inv.name in _TALKS or any(text in _INFORM for text in texts) or any(text in _RECIPES for text in texts):
        return False
    prompted = (BY_NAME[host].one_shot or inv.name in OTHERS_TOO) and any(text[:1] != "-" for text in texts)
    piped = inv.stdin is not None and inv.stdin.text != "" and not any(text[:1] != "-" for text in texts)
    steered = tuple(text for text in texts if text[:1] != "-") in _STEERED
    if prompted or piped or steered or any(text.partition("=")[0] in _TASKS for text in texts):
        low.emit("guard.tamper", inv.name, certainty="possible", rule="nested-agent",
                 reason="Starts another agent, whose calls nobody here sees")  # fmt: skip
        return True
    return False


_VERSIONED = late(r"v?[0-9]+(?:\.[0-9A-Za-z-]+)*")


def _installs_old(agent: Agent, texts: list[str]) -> bool:
    """`install 1.0.30`, `upgrade v0.3`, `update --version=1.0`: a version is asked for that may run no hooks."""
    if _CHANGES_VERSION.isdisjoint(texts[:1]):
        return False
    said = [text.partition("=")[2] if text[:2] == "--" else text for text in texts[1:]]
    return any(_VERSIONED.fullmatch(text) and not _runs_hooks(agent, text.lstrip("v")) for text in said)


def _state_unguarded(inv: Invocation, low: Lowering, at: Word | None) -> bool:
    low.emit("guard.tamper", inv.name, at=at, rule="unguarded-agent",
             reason="Starts another agent that acts without asking anybody")  # fmt: skip
    return True


_CHANGES_VERSION = frozenset({"install", "update", "upgrade", "downgrade", "use", "rollback", "switch-version"})
_GROUPS_OF_CODE = frozenset({"mcp", "plugin", "plugins", "extension", "extensions"})
_ADDING = frozenset({"link", "add", "add-json", "add-from-claude-desktop", "import", "enable", "install"})
_TAKING_AWAY = frozenset({"disable", "remove", "rm", "uninstall", "unlink", "update", "upgrade"})


def _adds_server(texts: list[str]) -> bool:
    """`mcp add`, `plugin install` and their like; options of the agent may stand before and between."""
    words = [text for text in texts if not text.startswith("-")]
    group = next((word for word in words if word in _GROUPS_OF_CODE), None)
    if group is None:
        return False
    behind = words[words.index(group) + 1 :]
    changing = _ADDING if group == "mcp" else _ADDING | _TAKING_AWAY  # a plugin may be what watches
    return not any(text in _INFORM for text in texts) and any(
        word in changing or UNKNOWN in word for word in behind[:2]
    )


def _changes_settings(texts: list[str]) -> bool:
    """`config set`, and `settings NAME VALUE` without a verb."""
    words = [text for text in texts if not text.startswith("-")]
    if words[:1] == ["settings"]:
        return len(words) > 2 or not {"--delete", "-d", "set", "edit", "reset"}.isdisjoint(texts)
    return words[:1] == ["config"] and not {"set", "add", "remove", "unset", "edit", "import", "reset"}.isdisjoint(
        words[1:2]
    )


def _state_extension(inv: Invocation, low: Lowering) -> None:
    """An editor loses the extension of an agent, or gets code from a file, which can type into its terminals."""
    for word, after in zip(inv.args, [*(each.text for each in inv.args[1:]), ""], strict=True):
        option, _, value = word.text.partition("=")
        named = (value or after).lower()
        if (option == "--install-extension" and named.endswith(".vsix")) or (
            option in ("--uninstall-extension", "--disable-extension") and any(name in named for name in _AGENT_NAMES)
        ):
            low.emit("guard.tamper", named, certainty="possible", at=word, rule="agent-settings",
                     reason="Changes what an editor runs beside an agent and its person")  # fmt: skip
            return


_AGENT_NAMES = {"interpose"} | frozenset(
    agent.name.partition("-")[0] for agent in AGENTS if len(agent.name) > 4 and not agent.only_app
)
_PACKAGE = late(
    r"(?:^|[/:])("
    + "|".join(sorted((re.escape(name) for agent in AGENTS for name in agent.packages), key=len, reverse=True))
    + r")(?:(?:@|==)([^/\n]*))?(?:/|$)",
    re.MULTILINE,
)
_INSTALLERS = words(
    "npm pnpm yarn bun pip pip3 uv pipx brew volta mise asdf npx bunx pnpx uvx conda mamba nix cargo go"
)
_INSTALLS = words("install i add in global upgrade use update pack rebuild link fetch download exec")
_PINNED = late(r"(?:[a-z]+:)?(@?[\w./-]+?)(?:\[[\w,]*\])?(?:@|==|===|~=|<=?|=)(v?[0-9][\w.*-]*)")
_VERSIONS = late(r"(?:.*/)?([\w-]+)/versions?/[^/]+")
"""Where agents keep each version of themselves as a program: `~/.local/share/claude/versions/1.0.30`."""
_EDITORS_WITH_AGENTS = frozenset(editor for agent in AGENTS for editor in agent.editors)
_LINK = late(
    r"(?im)^(?:--?[a-z-]+=)?(?:"
    + "|".join(sorted({*map(re.escape, _EDITORS_WITH_AGENTS), "vscode", "vscode-insiders", *map(re.escape, AGENT_OF)}))
    + r"):[^\s]{0,400}(?:mcp|prompt|install|extension|settings|command|task)"
)
"""A link that an editor or an agent takes as an order: `cursor://.../mcp/install?...`, `vscode:mcp/install?...`."""
_NEWEST = frozenset({"", "latest", "next", "beta", "stable", "canary", "nightly"})
_REMOVES = words("uninstall remove rm un unlink list ls info view show outdated audit why search")
_UNGUARDED_BY_ANY_NAME = late(
    r"--(?:dangerously-[a-z-]+|allow-dangerously-[a-z-]+|yolo|trust-all-tools|skip-permissions[a-z-]*|full-auto|yes-always"
    r"|bypass-(?:approvals|permissions)[a-z-]*|allow-all-tools|permission-mode=?bypass[A-Za-z]*)"
)
"""Options that only agents have, and that let them act without asking."""


def state_hidden_start(inv: Invocation, low: Lowering, said: str, *, known: bool) -> None:
    """State that an agent is started, or an old one installed, by another name than its own."""
    if (link := _LINK.search(said)) is not None:
        low.emit("guard.tamper", link[0][:200], certainty="possible", rule="agent-settings",
                 reason="Opens a link by which an editor or agent takes servers, prompts or extensions")  # fmt: skip
    elif inv.name == "exe" and inv.argv0.text.startswith("/proc/") and "/self/" not in inv.argv0.text:
        low.emit("guard.tamper", inv.argv0.text, certainty="possible", rule="nested-agent",
                 reason="Starts the program of a running process, which may be an agent")  # fmt: skip
    elif inv.name in OTHERS_TOO:
        _state_namesake(inv, low)
    elif inv.name.startswith(("python", "pypy")) and (module := _module(inv.args)) is not None:
        at, host = module
        state_agent(Invocation(inv.name, inv.args[at:], inv.span, inv.argv0, inv.stdin), low, host)
    elif inv.name in _EDITORS_WITH_AGENTS and inv.args and inv.args[0].text in ("agent", "chat"):
        low.emit("guard.tamper", inv.name, certainty="possible", rule="nested-agent",
                 reason="Starts another agent, whose calls nobody here sees")  # fmt: skip
    elif inv.name in _EDITORS_WITH_AGENTS and inv.args:
        _state_extension(inv, low)
    elif "/version" in inv.argv0.text and (kept := _VERSIONS.fullmatch(inv.argv0.text)) and kept[1] in AGENT_OF:
        state_agent(inv, low, AGENT_OF[kept[1]])
    else:
        found = _PACKAGE.search(said)
        if inv.name in _INSTALLERS and (at_pinned := _pinned_old(inv)) is not None:
            _state_version(inv.args[at_pinned].text, inv.args[at_pinned], low)
        elif found is not None:
            at = found.string.count("\n", 0, found.start(1))
            _state_package(inv, low, at, found)
    if not known and "--" in said and any(_UNGUARDED_BY_ANY_NAME.fullmatch(word.text) for word in inv.args):
        _state_unguarded(inv, low, None)


def _pinned_old(inv: Invocation) -> int | None:
    """Where a word asks for a version of an agent that may run no hooks: `codex@0.10`, `gptme==0.1`."""
    if {word.text for word in inv.args}.isdisjoint(_INSTALLS):
        return None
    for at, word in enumerate(inv.args):
        found = _PINNED.fullmatch(word.text)
        agent = PACKAGES.get(found[1]) if found is not None else None
        if found is not None and agent is not None and not _runs_hooks(agent, found[2].lstrip("v")):
            return at
    return None


def _state_version(resource: str, at: Word, low: Lowering) -> None:
    low.emit("guard.tamper", resource, certainty="possible", at=at, rule="agent-version",
             reason="Installs a certain version of an agent: old ones run no hooks")  # fmt: skip


def _state_namesake(inv: Invocation, low: Lowering) -> None:
    """A program that shares its name with an agent: only what such an agent is told counts."""
    given = {word.text.partition("=")[0] for word in inv.args}
    # `pi 'fix the tests'`, and not `pi 100`. The other `q` takes SQL.
    prompted = inv.name != "q" and any(" " in word.text.strip() for word in inv.args)
    if prompted or not given.isdisjoint(_TASKS | _UNGUARDED | _CHANGES_VERSION | {"chat", "session"}):
        state_agent(inv, low, AGENT_OF[inv.name])


def _module(args: tuple[Word, ...]) -> tuple[int, str] | None:
    """Where the words of an agent begin that Python runs as a module, and which agent that is."""
    for at, word in enumerate(args[:-1]):
        if word.text == "-m":
            name = args[at + 1].text.partition(".")[0].replace("_", "-")
            agent = PACKAGES.get(name)
            return None if agent is None else (at + 2, agent.name)
    return None


def _runs_hooks(agent: Agent, version: str) -> bool:
    """Whether a version is known to run hooks."""
    numbers = re.findall(r"[0-9]{1,9}", version)
    plain = re.fullmatch(r"[~^]?[0-9]{1,9}(?:\.[0-9]{1,9}){0,3}", version) is not None
    return plain and agent.hooks_since != () and tuple(map(int, numbers)) >= agent.hooks_since


def _state_package(inv: Invocation, low: Lowering, at: int, found: re.Match[str]) -> None:
    host = PACKAGES[found[1]].name
    before = {word.text for word in inv.args[:at]}
    if inv.name in _INSTALLERS and not before.isdisjoint(_INSTALLS):
        if (found[2] or "") not in _NEWEST and not _runs_hooks(PACKAGES[found[1]], found[2]):
            _state_version(found[0], inv.args[at], low)
    elif before.isdisjoint(_REMOVES):
        state_agent(Invocation(inv.name, inv.args[at + 1 :], inv.span, inv.argv0, inv.stdin), low, host)
