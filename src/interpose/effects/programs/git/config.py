"""git config and git credential: settings that outlive the command, and secrets that they show."""

from __future__ import annotations

import shlex

from msgspec.structs import replace

from interpose.effects.invocation import Lowering, Word
from interpose.effects.programs.git.calls import SUBCOMMANDS, GitCall, informs, options, read_options, subcommand
from interpose.effects.programs.git.programs import is_everyday, runs_program, use_of
from interpose.effects.programs.shared.forges import is_usual_forge

_CONFIG_OPTIONS = options(
    flags="""
        --get --get-all --get-regexp --get-urlmatch --get-color --get-colorbool --list --unset --unset-all
        --remove-section --rename-section --add --replace-all --global --system --local --worktree --show-origin
        --show-scope --name-only --null --all --append --edit
    """,
    values="-f --blob --default --type -t --value --url --comment",
    aliases="--file=-f --list=-l -e=--edit",
)
_READS = frozenset({"--get", "--get-all", "--get-regexp", "--get-urlmatch", "--get-color", "--get-colorbool", "-l"})
_UNSETS = frozenset({"--unset", "--unset-all", "--remove-section"})
_VERBS = frozenset({"get", "set", "unset", "list", "edit", "rename-section", "remove-section"})
_SECRET_PARTS = ("extraheader", "token", "password", "passwd", "secret", "smtppass")


@subcommand("config")
def config(call: GitCall, low: Lowering) -> None:
    opts = read_options(call, _CONFIG_OPTIONS)
    if informs(opts):
        return
    operands = opts.operands
    verb = ""
    if operands and operands[0].text in _VERBS:
        verb, operands = operands[0].text, operands[1:]
    file = opts.value("-f")
    key = operands[0].text if operands else ""
    if opts.has(*_READS) or verb in ("get", "list") or (not verb and len(operands) == 1 and not opts.has(*_UNSETS)):
        if file is not None:
            low.read(call.at(file))
        _reads(key, low)
        return
    if opts.has(*_UNSETS, "--rename-section") or verb in ("unset", "remove-section", "rename-section"):
        _unsets(key, low)
        return
    if file is not None:
        low.write(call.at(file), in_place=True)
    if len(operands) >= 2:
        sets(key, operands[1], call, low)


def _reads(key: str, low: Lowering) -> None:
    lowered = key.lower()
    if lowered.startswith("credential.") or any(part in lowered for part in _SECRET_PARTS):
        low.emit("secret.read", key, rule="git-credentials", reason="Shows how or with what git logs in.")


def _unsets(key: str, low: Lowering) -> None:
    if use_of(key) == "hooks" or key.lower() == "core":
        low.emit("guard.tamper", key, rule="hook-bypass", reason="Takes away where the project's git hooks are found.")


def sets(key: str, value: Word, call: GitCall, low: Lowering) -> None:
    """A setting is kept for all later git commands."""
    lowered = key.lower()
    if lowered.startswith("alias."):
        _plants_alias(key, value, call, low)
        return
    use = use_of(key)
    if use == "hooks":
        low.emit("persistence", key, at=value, rule="git-hooks-path",
                 reason="From now on git runs the hooks of another directory, or none.")  # fmt: skip
    elif use is not None and not is_everyday(value, use):
        low.emit("persistence", key, at=value, rule="git-program-setting",
                 reason="From now on git runs this program by itself.")  # fmt: skip
        low.shell(value, via=f"git config {key}")
    elif lowered.startswith("url.") and lowered.endswith("insteadof") and is_usual_forge(value.text.removesuffix(":")):
        _redirects(key, value, low)
    elif lowered == "http.sslverify" and value.text.lower() in ("false", "0", "no", "off"):
        low.emit("persistence", key, at=value, rule="git-tls-off",
                 reason="From now on git trusts any server that answers.")  # fmt: skip


def _redirects(key: str, value: Word, low: Lowering) -> None:
    """What is asked of a forge goes to another address."""
    address = key[4:].rpartition(".")[0]
    if not is_usual_forge(address) and ("://" in address or "@" in address):
        low.emit("persistence", key, at=value, rule="git-redirect",
                 reason="From now on git fetches from and pushes to another server than the address says.")  # fmt: skip


def _plants_alias(key: str, value: Word, call: GitCall, low: Lowering) -> None:
    """Plant now, fire later: what the alias would do is stated as if it were done."""
    if value.text.startswith("!"):
        low.emit("persistence", key, at=value, rule="git-shell-alias",
                 reason="From now on this git command runs a shell command.")  # fmt: skip
        low.shell(replace(value, text=value.text[1:]), via="git alias")
        return
    try:
        words = [replace(value, text=part) for part in shlex.split(value.text)]
    except ValueError:
        return
    if words and words[0].text != "config" and words[0].text in SUBCOMMANDS:
        SUBCOMMANDS[words[0].text](replace(call, name=words[0].text, args=tuple(words[1:])), low)


@subcommand("credential", "credential-store", "credential-cache", "credential-manager", "credential-osxkeychain")
def credential(call: GitCall, low: Lowering) -> None:
    if any(word.text in ("fill", "get") for word in call.args):
        low.emit("secret.read", "git credentials", rule="git-credentials", reason="Prints the passwords that git uses.")


_INIT_OPTIONS = options(
    flags="--bare --quiet",
    values="--template --separate-git-dir --object-format --ref-format -b --initial-branch",
)


@subcommand("init")
def init(call: GitCall, low: Lowering) -> None:
    opts = read_options(call, _INIT_OPTIONS)
    for template in opts.values("--template"):
        if template.text:
            runs_program(low, template, what="git init --template", shell=False)
    for word in opts.operands[:1]:
        low.write(call.at(word))
