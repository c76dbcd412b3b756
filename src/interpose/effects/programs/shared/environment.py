"""Environment variables that make other programs run code: in front of a command, exported, or given to `env`."""

from __future__ import annotations

from msgspec.structs import replace

from interpose.effects.agents.known_agents import AGENT_OF, MOVERS
from interpose.effects.agents.off_variables import moves_settings, off_variable
from interpose.effects.frozen_values import words
from interpose.effects.invocation import DUMP, Invocation, Lowering, Stream, Word
from interpose.effects.late_patterns import late
from interpose.effects.programs.shared.peel import base_name, run_inner

COMMANDS = words(
    """
    PROMPT_COMMAND GIT_SSH_COMMAND GIT_SSH GIT_EXTERNAL_DIFF GIT_PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_ASKPASS
    GIT_PROXY_COMMAND SSH_ASKPASS SUDO_ASKPASS SUDO_EDITOR PAGER MANPAGER EDITOR VISUAL FCEDIT BROWSER LESSOPEN
    LESSCLOSE RSYNC_RSH CVS_RSH SVN_SSH KUBE_EDITOR AWS_PAGER SYSTEMD_EDITOR SYSTEMD_PAGER PSQL_PAGER PSQL_EDITOR
    HGEDITOR RIPGREP_PREPROCESSOR GH_PAGER GH_EDITOR GH_BROWSER GLAB_PAGER BAT_PAGER DELTA_PAGER LESSEDIT
    KUBECTL_EXTERNAL_DIFF RSYNC_CONNECT_PROG RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTC RUSTDOC CCACHE_PREFIX
    CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER CC CXX CPP LD AR FC MANROFFSEQ SVN_EDITOR CVSEDITOR BORG_RSH
    BORG_PASSCOMMAND RESTIC_PASSWORD_COMMAND FZF_DEFAULT_COMMAND FZF_CTRL_T_COMMAND NNN_OPENER MOZ_PRINTER_COMMAND
    DOCKER_SSH_COMMAND npm_config_shell npm_config_editor npm_config_git npm_config_viewer npm_config_browser
    """
)
"""The value is a command that some program runs through a shell."""

PROMPTS = frozenset({"PS0", "PS1", "PS2", "PS4", "PROMPT", "RPROMPT"})
"""The value is expanded by the shell each time it is shown, command substitutions included."""

STARTUP_FILES = frozenset({"BASH_ENV", "ENV", "PYTHONSTARTUP", "ZDOTDIR", "R_PROFILE", "R_PROFILE_USER"})
"""The value names a file that is run when an interpreter starts."""

LIBRARIES = frozenset({
    "LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "DYLD_FORCE_FLAT_NAMESPACE", "GCONV_PATH", "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR", "PYTHONHOME", "OPENSSL_CONF", "OPENSSL_ENGINES", "OPENSSL_MODULES", "DOTNET_STARTUP_HOOKS",
    "BASH_LOADABLES_PATH", "NODE_REPL_EXTERNAL_MODULE", "PHP_INI_SCAN_DIR", "YARN_RC_FILENAME",
})  # fmt: skip
"""The value names code that is loaded into every program started."""

INTERPRETER_OPTIONS: dict[str, tuple[str, ...]] = {
    "NODE_OPTIONS": ("--require", "-r", "--import", "--loader", "--experimental-loader", "--eval", "-e"),
    "PERL5OPT": ("-M", "-m", "-d", "-e", "-I"),
    "RUBYOPT": ("-r", "-e", "-I"),
    "JAVA_TOOL_OPTIONS": ("-javaagent", "-agentlib", "-agentpath"),
    "GRADLE_OPTS": ("-javaagent", "-agentlib", "-agentpath", "-I", "--init-script"),
    "MAVEN_OPTS": ("-javaagent", "-agentlib", "-agentpath"),
    "JAVA_OPTS": ("-javaagent", "-agentlib", "-agentpath"),
    "SBT_OPTS": ("-javaagent", "-agentlib", "-agentpath"),
    "ERL_FLAGS": ("-eval", "-run", "-s"),
    "ERL_AFLAGS": ("-eval", "-run", "-s"),
    "ELIXIR_ERL_OPTIONS": ("-eval", "-run", "-s"),
    "GOFLAGS": ("-toolexec", "-exec", "-vettool", "--toolexec"),
    "PYTHONBREAKPOINT": ("os.", "subprocess.", "pty.", "builtins.", "antigravity"),
    "PYTHONWARNINGS": ("all:0:antigravity", "error::antigravity"),
    "_JAVA_OPTIONS": ("-javaagent", "-agentlib", "-agentpath"),
    "JDK_JAVA_OPTIONS": ("-javaagent", "-agentlib", "-agentpath"),
}
"""Options that an interpreter takes from its environment, and those among them that load or run code."""

PROGRAMS: dict[str, tuple[str, ...]] = {
    "PERL5DB": ("perl", "-e"),
    "LUA_INIT": ("lua", "-e"),
    **dict.fromkeys(("VIMINIT", "EXINIT", "GVIMINIT"), ("vim", "-c")),
    "MAKEFLAGS": ("make",),
    "GNUMAKEFLAGS": ("make",),
    "TAR_OPTIONS": ("tar",),
    "LESS": ("less", "--"),
    "FZF_DEFAULT_OPTS": ("fzf",),
}
"""The value is program text, or more arguments, for this command: it is judged as if it stood there."""

SOURCES = words(
    """
    PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_FIND_LINKS UV_INDEX_URL UV_EXTRA_INDEX_URL UV_DEFAULT_INDEX UV_INDEX
    UV_FIND_LINKS UV_PYTHON_INSTALL_MIRROR PDM_PYPI_URL PIPENV_PYPI_MIRROR NPM_CONFIG_REGISTRY YARN_REGISTRY
    YARN_NPM_REGISTRY_SERVER BUN_CONFIG_REGISTRY COREPACK_NPM_REGISTRY GOPROXY GOSUMDB RUSTUP_DIST_SERVER
    RUSTUP_UPDATE_ROOT HOMEBREW_BREW_GIT_REMOTE HOMEBREW_CORE_GIT_REMOTE HOMEBREW_BOTTLE_DOMAIN HOMEBREW_API_DOMAIN
    HOMEBREW_ARTIFACT_DOMAIN CONDA_CHANNEL_ALIAS CONDA_CHANNELS NVM_NODEJS_ORG_MIRROR NODEJS_ORG_MIRROR
    FNM_NODE_DIST_MIRROR ELECTRON_MIRROR PUPPETEER_DOWNLOAD_HOST PUPPETEER_DOWNLOAD_BASE_URL PLAYWRIGHT_DOWNLOAD_HOST
    PUB_HOSTED_URL FLUTTER_STORAGE_BASE_URL HEX_MIRROR HEX_MIRROR_URL JULIA_PKG_SERVER PYTHON_BUILD_MIRROR_URL
    DENO_REGISTRY_URL GEM_SOURCE NIX_CONFIG
    """
)
"""The value says where packages, or what installs them, come from: the same as an index given by an option."""
_USUAL_SOURCES = ("https://proxy.golang.org", "https://pypi.org/", "https://registry.npmjs.org", "https://goproxy.io")

UNCHECKED: dict[str, tuple[str, ...]] = {
    "NODE_TLS_REJECT_UNAUTHORIZED": ("0",),
    "NPM_CONFIG_STRICT_SSL": ("false", "0"),
    "YARN_STRICT_SSL": ("false", "0"),
    "PYTHONHTTPSVERIFY": ("0",),
    "PIP_TRUSTED_HOST": (),
    "UV_INSECURE_HOST": (),
    "GOINSECURE": (),
    "GONOSUMDB": (),
    "GONOSUMCHECK": (),
    "GOSUMDB": ("off",),
    "CARGO_HTTP_CHECK_REVOKE": ("false",),
}
"""With these values (an empty tuple: with any) packages are taken from whoever answers."""
_INSTALLERS = words(
    "pip pip3 pip2 uv uvx pipx poetry pdm pipenv npm npx pnpm yarn bun bunx go cargo gem bundle python python3"
)

GIT_CODE_KEYS = ("core.pager", "core.editor", "core.sshcommand", "core.fsmonitor", "core.hookspath", "core.askpass",
                 "alias.", "diff.external", "credential.helper", "filter.", "sequence.editor",
                 "gpg.program")  # fmt: skip

HISTORY_OFF: dict[str, tuple[str, ...]] = {
    "HISTFILE": ("", "/dev/null"),
    "HISTSIZE": ("0",),
    "HISTFILESIZE": ("0",),
    "SAVEHIST": ("0",),
    "HISTIGNORE": ("*",),
}

_HOOKS_OFF = {"HUSKY": "0", "HUSKY_SKIP_HOOKS": "", "LEFTHOOK": "0", "SKIP": "", "OVERCOMMIT_DISABLE": "1"}
"""Variables by which hooks are skipped, and the value with which they are; an empty one: with any."""

_HOMES = frozenset({"HOME", "XDG_CONFIG_HOME"})
"""What moves the settings of everything that is started with it."""

SHELL_OWN = PROMPTS | HISTORY_OFF.keys() | {"PATH", "PROMPT_COMMAND"}
"""Variables that the shell itself looks at, exported or not."""

_LASTING = frozenset({"LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "BASH_ENV", "PATH"})
"""What a service manager, a multiplexer or a shell that keeps variables would hand to everything it starts."""
_SAID = late(r"(?m)^(?:--?[a-z-]{1,20}=)?(?:LD_|DYLD_|BASH_ENV|PATH)")
_KEEPS = late(r"(?m)^(?:set|setenv|set-environment|-\w*U\w*|--universal)$")
"""Verbs and options by which a variable is kept."""
_ANYONE_WRITES = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - judged, not used
_SHELLS = ("sh", "bash", "zsh", "dash", "ksh", "python", "python3", "perl", "ruby", "node")


def assign(name: str, value: Word, low: Lowering, running: str = "") -> None:
    """State what follows from giving `name` this value; `running` is the command that gets it, if known."""
    text = value.text
    if name in COMMANDS:
        _command_value(name, value, low)
    elif name in PROMPTS:
        if "$(" in text or "`" in text:
            low.shell(Word(f'printf %s "{text}"', value.span, taints=value.taints), via=name)
    elif name in STARTUP_FILES:
        _startup_file(name, value, low, running)
    elif name in LIBRARIES:
        if text:
            _code_from_environment(name, value, low)
    elif name in INTERPRETER_OPTIONS:
        if any(part.startswith(INTERPRETER_OPTIONS[name]) for part in text.split()):
            _code_from_environment(name, value, low)
    elif name in PROGRAMS:
        _program_value(name, value, low)
    elif name == "PATH":
        _search_path(value, low)
    elif name in HISTORY_OFF:
        if text in HISTORY_OFF[name]:
            history_off(low, value)
    else:
        _by_prefix(name, value, low, running)


def run_with(given: tuple[tuple[str, Word], ...], inner: tuple[Word, ...], low: Lowering, via: str) -> None:
    """Run a command with assignments in front of it."""
    for name, value in given:
        assign(name, value, low, base_name(inner[0]))
    run_inner(inner, low, via, given)


def state_given(inv: Invocation, low: Lowering, said: str) -> None:
    """Variables that load code, among the words of any command: it gives them to what is started later.

    `systemctl --user set-environment LD_PRELOAD=x`, `tmux setenv -g LD_PRELOAD x`, `set -Ux LD_PRELOAD x`.
    """
    if _KEEPS.search(said) and any(name in said for name in MOVERS):
        _state_kept(inv, low)
    if not _SAID.search(said):
        return
    for word, after in zip(inv.args, (*inv.args[1:], None), strict=False):
        said = word.text.partition("=")[2] if word.text[:1] == "-" else word.text  # `--env=LD_PRELOAD=x`
        name, equals, text = said.partition("=")
        if name not in _LASTING or (not equals and after is None):
            continue
        value = replace(word, text=text) if equals or after is None else after
        if name == "PATH":
            _search_path(value, low)
        elif value.text and value.text[:1] != "-":
            _code_from_environment(name, value, low)


def _state_kept(inv: Invocation, low: Lowering) -> None:
    """Variables that move an agent's settings, kept for what is started later: `tmux setenv -g CODEX_HOME /tmp/x`."""
    for word, after in zip(inv.args, (*inv.args[1:], None), strict=False):
        name, equals, text = word.text.partition("=")
        if name in MOVERS and (equals or after is not None):
            _agent_settings(name, replace(word, text=text) if equals or after is None else after, low, "")


def history_off(low: Lowering, at: Word | None = None) -> None:
    """The record of what was run is switched off or thrown away."""
    low.emit("guard.tamper", "shell history", at=at, rule="history-off",
             reason="Without its history, nobody sees what was run in the shell")  # fmt: skip


def _command_value(name: str, value: Word, low: Lowering) -> None:
    low.shell(value, via=name)
    parts = [word.rpartition("/")[2] for word in value.text.split(None, 3)[:2]]
    if name == "PROMPT_COMMAND" or any(word in _SHELLS for word in parts):
        _code_from_environment(name, value, low)


_LONGEST_SPLIT = 4096


def _split(text: str) -> list[str]:
    try:
        from shlex import split  # few commands need it

        return split(text) if len(text) <= _LONGEST_SPLIT else text.split()
    except ValueError:
        return text.split()


def _program_value(name: str, value: Word, low: Lowering) -> None:
    command = PROGRAMS[name]
    whole = len(command) > 1
    given: tuple[Word, ...] = (value,)
    if not whole:
        given = tuple(replace(value, text=part) for part in _split(value.text))
    low.spend(len(given))
    if whole or (given and given[0].text[:1] == "-"):
        low.run((*map(Word, command), *given), via=name)


def _source(name: str, value: Word, low: Lowering, running: str) -> bool:
    """Where packages come from, and whether anybody checks that."""
    from interpose.effects.programs.packages.addresses import foreign

    upper = name.upper()
    if upper in SOURCES or (upper.startswith("CARGO_") and upper.endswith(("_INDEX", "_REGISTRY", "_REPLACE_WITH"))):
        for part in value.text.replace("|", ",").replace(",", " ").split():
            address = part if "://" in part or name != "GOPROXY" else ""
            if foreign(address) and not address.startswith(_USUAL_SOURCES):
                low.emit("package.install", f"{name}={value.text}", at=value, foreign=True)
                return True
    allowed = UNCHECKED.get(upper)
    if allowed is not None and running in _INSTALLERS and (not allowed or value.text in allowed):
        low.emit("package.install", f"{name}={value.text}", at=value, foreign=True,
                 reason="Packages would be taken from whoever answers, unchecked")  # fmt: skip
    return upper in SOURCES or allowed is not None


def _startup_file(name: str, value: Word, low: Lowering, running: str) -> None:
    if not value.text or (
        name == "ENV" and (not any(mark in value.text for mark in "/$`") or running not in ("sh", "dash", "ksh", "ash"))
    ):
        return
    _code_from_environment(name, value, low)
    if name in ("ENV", "BASH_ENV") and ("$(" in value.text or "`" in value.text):
        low.shell(Word(f'printf %s "{value.text}"', value.span, taints=value.taints), via=name)
    elif name != "ZDOTDIR":
        language = "python" if name == "PYTHONSTARTUP" else "r" if name.startswith("R_") else "bash"
        low.run_file(value, via=name, language=language)


def _search_path(value: Word, low: Lowering) -> None:
    low.spend(value.text.count(":") // 4)
    for part in value.text.split(":"):
        if "\ufffc" in part:
            # What stood in PATH before comes first from here on: later entries only add commands.
            break
        if any(part == place or part.startswith(place + "/") for place in _ANYONE_WRITES):
            low.emit("persistence", part, certainty="possible", at=value, rule="path-hijack",
                     reason="Commands would be looked up first in a directory that anyone can write to")  # fmt: skip
            break


def _by_prefix(name: str, value: Word, low: Lowering, running: str) -> None:
    if name.startswith("BASH_FUNC_"):
        _code_from_environment(name, value, low)
        body = value.text.partition("{")[2].rpartition("}")
        low.shell(Word(body[0] + ";" + body[2].lstrip("; "), value.span, taints=value.taints), via="exported function")
        low.shell(Word(body[2].lstrip("; "), value.span, taints=value.taints), via="exported function")
    elif _source(name, value, low, running):
        return
    elif name.startswith("CARGO_") and name.endswith(("_RUNNER", "_LINKER", "_WRAPPER", "_RUSTC", "_RUSTDOC")):
        _command_value(name, value, low)
    elif name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG") and value.text not in ("", "/dev/null"):
        if low.known(value) is not None or value.text.startswith(_ANYONE_WRITES):
            _code_from_environment(name, value, low)
    elif name.startswith("GIT_CONFIG_KEY_") or name == "GIT_CONFIG_PARAMETERS":
        if any(key in value.text.lower() for key in GIT_CODE_KEYS):
            _code_from_environment(name, value, low)
    elif name.startswith("INTERPOSE_"):
        low.emit("guard.tamper", name, at=value, rule="own-settings",
                 reason="This changes how the guard itself works")  # fmt: skip
    elif name in MOVERS or off_variable(name, value.text) or (name in _HOMES and running in AGENT_OF):
        _agent_settings(name, value, low, running)
    elif _is_one_liner(value.text):
        _code_from_environment(name, value, low)
    elif running == "git" and name in _HOOKS_OFF and _HOOKS_OFF[name] in ("", value.text):
        low.emit("guard.tamper", name, at=value, rule="git-no-verify",
                 reason="The repository's hooks would be skipped")  # fmt: skip


def _agent_settings(name: str, value: Word, low: Lowering, running: str) -> None:
    """An agent without its hooks, or with the settings of another place, in which they are not."""
    if off_variable(name, value.text):
        low.emit("guard.tamper", name, at=value, rule="unguarded-agent",
                 reason=f"With {name} an agent does not run the hooks that watch over it")  # fmt: skip
    elif name in _HOMES or moves_settings(name, value.text, low.home):
        low.emit("guard.tamper", name, at=value, rule="agent-moved", certainty="proven" if running else "possible",
                 reason=f"{name} makes an agent read settings elsewhere, without the hooks of its own")  # fmt: skip


def _is_one_liner(text: str) -> bool:
    words = text.split(None, 2)
    return (
        len(words) > 2
        and words[0].rpartition("/")[2] in _SHELLS
        and words[1] in ("-c", "-e", "-lc", "-ec", "-E", "--eval", "-pe")
    )


def _code_from_environment(name: str, value: Word, low: Lowering) -> None:
    low.emit("opaque", f"{name}={value.text}", certainty="possible", at=value, rule="environment-code",
             reason=f"{name} makes other programs run code that this command does not show")  # fmt: skip


def show_environment(inv: Invocation, low: Lowering) -> None:
    """The whole environment is printed: for a filter to look something up, or for everybody to read."""
    # What is printed here and now is told here; the taint is for what may be printed later.
    low.output(Stream(taints=frozenset({"env", "secret", DUMP} if inv.piped_out else {"env", "secret"})))
    if not inv.piped_out:
        low.emit("secret.read", "environment", certainty="possible", rule="environment-dump",
                 reason="Prints the whole environment, with the tokens and passwords in it")  # fmt: skip
