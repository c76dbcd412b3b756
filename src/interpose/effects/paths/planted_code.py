"""Text that fires by itself where it is written: scripts of packages, steps of build servers, hooks of a project.

A dangerous command in a file is data, and writing it is nobody's harm, unless the place makes it run. In the places
that honest work changes every day, only the text tells the two apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from interpose.effects.agents.known_agents import MOVERS
from interpose.effects.agents.off_variables import OFF_VARIABLES
from interpose.effects.late_patterns import late

Objects = Callable[..., str]
"""Says why a command that runs unasked would be wrong; empty if it would not."""

MAX_TEXT = 128 * 1024
_MAX_STEPS = 400

_UNICODE = late(r"\\u([0-9a-fA-F]{4})")
_LIFECYCLE = late(
    r'"(?P<name>(?:pre|post)?(?:install|prepare|prepublish)|(?:pre|post)-(?:install|update|autoload-dump)-cmd)"'
    r'\s{0,64}:\s{0,64}(?P<value>"(?:[^"\\]|\\.){0,4096}"|\[)'
)
_VERSION = late(r'"(?:[\^~<>=v* ]*\d|\*|latest|next|workspace:|npm:|file:|git|https?:|link:)')
_CUSTOMARY = frozenset({
    "husky", "husky install", "husky || true", "patch-package", "lefthook install", "simple-git-hooks", "tsc",
    "npm run build", "yarn build", "pnpm build", "pnpm run build", "yarn run build", "bun run build", "prisma generate",
    "nuxt prepare", "svelte-kit sync", "electron-builder install-app-deps", "playwright install", "ngcc",
    "is-ci || husky", "is-ci || husky install", "npm run prepare", "npm run compile", "tsc -b", "tsc -p .",
    "nuxi prepare",
})  # fmt: skip

_STEP = late(
    r"^(?P<indent>[ \t]*(?:-[ \t]+)?)"
    r"(?:run|script|before_script|after_script|command|commands|bash|pwsh|powershell|sh|entrypoint|entry|install|before_install|"
    r"steps)"
    r"[ \t]*:[ \t]*(?P<value>.*)$"
)
_BLOCK = late(r"^[|>][-+0-9]*[ \t]*(?:#.*)?$")
_KEY = late(r"^[\s-]*(?:[\w.-]{1,40}:\s)?\s*")
_EXPRESSION = late(r"\$\{\{[^}]{0,512}\}\}")
_ALL_SECRETS = late(r"\$\{\{\s*toJSON\(\s*secrets\s*\)", re.IGNORECASE)
_REACHES_OUT = late(
    r"(?i)\b(?:curl|wget|nc|ncat|netcat|socat|ssh|scp|ftp|telnet|aria2c|httpie|https?|iwr|irm|iex|invoke-\w+|base64|eval|"
    r"python\d?|node|perl|ruby|php|bash|sh|zsh)\b|/dev/(?:tcp|udp)/"
)
_FOLDER_OPEN = late(r'"runOn"\s{0,64}:\s{0,64}"folderOpen"')
_CONTAINER = late(
    r'"(?:initialize|onCreate|updateContent|postCreate|postStart|postAttach)Command"\s{0,64}:\s{0,64}"((?:[^"\\]|\\.){0,4096})"'
)
_SUBMODULE = late(r"(?m)^[ \t]{0,64}update[ \t]{0,64}=[ \t]{0,64}!")
_BUILD_CLASS = late(r"\bcmdclass\b")
_STARTS_PROCESS = late(
    r"\bos\.(?:system|popen|exec\w*|spawn\w*)\s*\(|\bsubprocess\b|\burllib\b|\brequests\b|\bsocket\b|\bexec\s*\(|\beval\s*\("
)
_INDEX = late(
    r"(?im)^[ \t\"<-]{0,64}(?:index-url|extra-index-url|registry|@[\w-]{1,64}:registry|index|url|find-links|"
    r"npmRegistryServer|default-index|distributionUrl|bundle_mirror\S{0,64})[\">]{0,2}[ \t]{0,64}[=:]?[ \t]{0,64}\"?"
    r"(?:sparse\+)?(https?\\?://[^\s\"<]+)"
)
_USUAL_INDEX = late(
    r"https?\\?://(?:pypi\.org|test\.pypi\.org|files\.pythonhosted\.org|registry\.npmjs\.org|registry\.yarnpkg\.com|"
    r"npm\.pkg\.github\.com|index\.crates\.io|github\.com/rust-lang/|services\.gradle\.org|repo1?\.maven\.(?:apache\.)?org|"
    r"maven\.google\.com|plugins\.gradle\.org|rubygems\.org|proxy\.golang\.org|api\.nuget\.org|conda\.anaconda\.org|"
    r"download\.pytorch\.org|localhost|127\.0\.0\.1)[/:]?"
)
_JENKINS = late(r"\b(?:sh|bat|powershell|pwsh)\b[ \t(]{0,8}(?:script[ \t]{0,8}:[ \t]{0,8})?['\"]{1,3}([^'\"]{1,4096})")
_TO_SHELL = late(r"(?i)\b(?:system|popen|execute|execsync|shell-command|call-process|start-process|run-shell|run)\b")
_ESCAPE = late(r"[ \t]{0,64}(?:(?:silent!? )?:?!|\\!|\.(?:shell|system) |(?:platform )?shell |exec )")
_MAX_TEXTS = 8
_LITERAL = late(r"\"([^\"\n]{3,4096})\"|'([^'\n]{3,4096})'")

_WORKFLOWS = (
    "/.github/workflows/", "/.github/actions/", "/.circleci/", "/.woodpecker/", "/.buildkite/", "/.gitea/workflows/",
    "/.forgejo/workflows/", "/.teamcity/",
)  # fmt: skip
_PIPELINES = frozenset({
    ".gitlab-ci.yml", ".travis.yml", "azure-pipelines.yml", "jenkinsfile", ".drone.yml", ".woodpecker.yml",
    "bitbucket-pipelines.yml", "appveyor.yml", ".cirrus.yml", "cloudbuild.yaml", "buildspec.yml",
    ".pre-commit-config.yaml", "lefthook.yml", ".lefthook.yml",
})  # fmt: skip
_HOOK_DIRECTORIES = ("/.husky/", "/.pre-commit-hooks/")
_HOOK_FILES = frozenset({".envrc", ".direnvrc"})
_ENVIRONMENT_FILES = frozenset({".envrc", ".direnvrc", ".env", "mise.toml", ".mise.toml", ".autoenv"})
"""Files of a project from which shells and agents take variables by themselves."""
_LOADED_FROM = late(
    r"\b(LD_PRELOAD|LD_AUDIT|LD_LIBRARY_PATH|DYLD_[A-Z_]+|BASH_ENV|PROMPT_COMMAND|ZDOTDIR|PYTHONSTARTUP|"
    + "|".join(sorted((*MOVERS, *OFF_VARIABLES)))
    + r")\b[\"']?[ \t]{0,64}[=:]"
)
_INDEX_FILES = frozenset({
    "pip.conf", "pip.ini", ".yarnrc", ".yarnrc.yml", ".bunfig.toml", "bunfig.toml", "uv.toml", ".npmrc", ".gemrc",
    "gradle-wrapper.properties", "maven-wrapper.properties",
})  # fmt: skip
_SETTINGS = (
    ".vimrc", ".exrc", ".nvimrc", "init.vim", "init.lua", ".gdbinit", ".lldbinit", ".sqliterc", ".psqlrc", ".irbrc",
    ".pryrc", ".rprofile", ".emacs", "init.el", ".pythonrc", ".pythonrc.py", ".tmux.conf", ".screenrc", ".guile",
    ".ghci", ".octaverc", ".juliarc.jl", ".perldb", ".mailrc", ".muttrc", ".lessfilter", ".replyrc",
)  # fmt: skip
_INDEX_PLACES = ("/.cargo/config.toml", "/.cargo/config", "/.m2/settings.xml", "/.bundle/config", "/.pip/pip.conf")


def fires(path: str, added: str, removed: str, current: Callable[[], str], objects: Objects) -> str:
    """Why the text would run or redirect something by itself once it is written to `path`; empty if it would not.

    `current` gives what the file holds now: what was there before is not planted by this call.
    """
    lower = path.lower()
    name = lower.rpartition("/")[2]
    if name in _ENVIRONMENT_FILES and (found := _LOADED_FROM.search(added[:MAX_TEXT])) is not None:
        return f"sets {found[1]}, which every program started here later obeys, an agent and its hooks included"
    if not added:
        return ""
    from interpose.effects.paths.planted_orders import frees  # for calls that write something

    if reason := frees(path, added[:MAX_TEXT], objects):
        return reason
    check = _check_for(lower, name)
    if check is None:
        return ""
    if len(added) > MAX_TEXT:
        return "is too long to be read before it runs by itself"
    if check is _package:
        return _package(added, removed, current)
    return check(added, objects)


def _check_for(lower: str, name: str) -> Callable[..., str] | None:
    if name in ("package.json", "composer.json"):
        return None if "/node_modules/" in lower else _package
    if name in _PIPELINES or any(place in lower for place in _WORKFLOWS):
        return _pipeline
    if name in _HOOK_FILES or any(place in lower for place in _HOOK_DIRECTORIES):
        return _hook
    if lower.endswith("/.vscode/tasks.json") or name == "devcontainer.json" or name == ".devcontainer.json":
        return _editor
    if name in _INDEX_FILES or lower.endswith(_INDEX_PLACES):
        return _index
    return _OTHER.get(name)


def _package(added: str, removed: str, current: Callable[[], str]) -> str:
    wanted = dict(_scripts(added))
    for name, value in _scripts(removed):
        if wanted.get(name) == value:
            del wanted[name]
    if wanted:
        for name, value in _scripts(current()):
            if wanted.get(name) == value:
                del wanted[name]
    if not wanted:
        return ""
    return f"would run its script {next(iter(wanted))!r} on every install"


def _scripts(text: str) -> Iterator[tuple[str, str]]:
    plain = _UNICODE.sub(lambda match: chr(int(match.group(1), 16)), text)
    for match in _LIFECYCLE.finditer(plain):
        value = match.group("value")
        if value.strip('"').strip() not in _CUSTOMARY and not _VERSION.match(value):
            yield match.group("name"), value


def _pipeline(added: str, objects: Objects) -> str:
    if _ALL_SECRETS.search(added):
        return "hands every secret of the repository to a step"
    steps = [step for step in _steps(added) if _REACHES_OUT.search(step)]
    if len(steps) > _MAX_STEPS:
        return "has more steps for the build servers than can be read"
    for step in steps:
        reason = objects(_EXPRESSION.sub("EXPRESSION", step))
        if reason:
            return f"has a step for the build servers that is dangerous: {reason}"
        if "secrets." in step and objects(_EXPRESSION.sub(_as_file, step)):
            return "has a step for the build servers that sends a secret away"
    return ""


def _as_file(expression: re.Match[str]) -> str:
    """A secret as a word that the analysis knows for one."""
    return "@/run/secrets/value" if "secrets." in expression.group() else "EXPRESSION"


def _steps(text: str) -> Iterator[str]:
    """What looks like a command: the steps as written, and each line alone, for a change may lie inside a step."""
    lines = text.split("\n")
    after = 0
    for index, line in enumerate(lines):
        found = _STEP.match(line) if index >= after else None
        if found is not None and _BLOCK.match(found.group("value")):
            block = _block(lines, index + 1, len(found.group("indent")))
            after = index + 1 + len(block)
            import textwrap  # few files have steps

            yield textwrap.dedent("\n".join(block))
        yield from _JENKINS.findall(line)
        bare = line[_end(line) :].strip()
        if bare:
            yield bare.strip("\"'") if bare[0] == bare[-1] and bare[0] in "\"'" else bare


def _end(line: str) -> int:
    found = _KEY.match(line)
    return found.end() if found else 0


def _block(lines: list[str], start: int, indent: int) -> list[str]:
    block: list[str] = []
    for index in range(start, len(lines)):
        line = lines[index]
        if line.strip() and len(line) - len(line.lstrip()) <= indent:
            break
        block.append(line)
    return block


def _hook(added: str, objects: Objects) -> str:
    reason = objects(added)
    return f"runs by itself in this project: {reason}" if reason else ""


def _editor(added: str, objects: Objects) -> str:
    if _FOLDER_OPEN.search(added):
        return "starts a task whenever the folder is opened"
    for match in _CONTAINER.finditer(added):
        reason = objects(match.group(1).replace('\\"', '"'))
        if reason:
            return f"runs whenever the container is made: {reason}"
    return ""


def _index(added: str, _objects: Objects) -> str:
    for match in _INDEX.finditer(added):
        if not _USUAL_INDEX.match(match.group(1)):
            return f"lets packages come from {match.group(1)}"
    return ""


def _setup(added: str, objects: Objects) -> str:
    if _BUILD_CLASS.search(added) and _STARTS_PROCESS.search(added):
        return "starts programs whenever the package is built or installed"
    return _module(added, objects)


def _module(added: str, objects: Objects) -> str:
    """Python that is run unasked, by a build or a test: the command lines that it starts."""
    if not _STARTS_PROCESS.search(added):
        return ""
    lines = (double or single for double, single in _LITERAL.findall(added))
    for _, line in zip(range(_MAX_STEPS), (line for line in lines if _REACHES_OUT.search(line)), strict=False):
        if reason := objects(line):
            return f"runs unasked: {reason}"
    return ""


def _settings(added: str, objects: Objects) -> str:
    """Settings of an editor, a debugger or a client: their own commands, and among them those for the shell."""
    for line in added.split("\n")[:_MAX_STEPS]:
        texts = [double or single for double, single in _LITERAL.findall(line)] if _TO_SHELL.search(line) else []
        if found := _ESCAPE.match(line):
            texts.append(line[found.end() :])
        for text in texts[:_MAX_TEXTS]:
            if reason := objects(text):
                return f"runs whenever its program starts: {reason}"
    return ""


def _modules(added: str, _objects: Objects) -> str:
    return "runs a command whenever submodules are updated" if _SUBMODULE.search(added) else ""


_OTHER: dict[str, Callable[..., str]] = {"setup.py": _setup, "conftest.py": _module, ".gitmodules": _modules,
                                         **dict.fromkeys(_SETTINGS, _settings)}  # fmt: skip
