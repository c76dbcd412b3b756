"""git commands that talk to other repositories: what is published, what is overwritten there, and what they run."""

from __future__ import annotations

from msgspec.structs import replace

from interpose.effects.invocation import Lowering, Word
from interpose.effects.programs.git.calls import (
    GitCall,
    copied_name,
    informs,
    options,
    read_options,
    remember_copy,
    subcommand,
    suggest,
    switched,
    texts,
)
from interpose.effects.programs.git.config import sets
from interpose.effects.programs.git.programs import bypass, runs_program
from interpose.effects.programs.git.worktree import discard
from interpose.effects.programs.shared.options import Options

_PACK_PROGRAMS = ("--upload-pack", "--receive-pack", "--exec")
_OVERWRITES = "Overwrites what others have pushed: their commits are gone from the remote."
_DELETES = "Deletes branches or tags on the remote."


def _pack_programs(call: GitCall, opts: Options, low: Lowering) -> None:
    for code in opts.values(*_PACK_PROGRAMS):
        program = code.text.rsplit("/", 1)[-1]
        if program not in ("git-upload-pack", "git-receive-pack", "git-upload-archive"):
            runs_program(low, code, what=f"git {call.name} with a program of its own")


def _transport(word: Word, low: Lowering) -> None:
    """`ext::command` is a command that git runs in order to connect."""
    if word.text.startswith("ext::"):
        runs_program(low, replace(word, text=word.text[5:]), what="ext:: transport")


_PUSH_OPTIONS = options(
    flags="""
        --force --mirror --delete --prune --no-verify --force-with-lease --force-if-includes --dry-run --all
        --branches --tags --follow-tags --set-upstream --atomic --quiet --porcelain --progress --thin --signed
        --verbose --recurse-submodules
    """,
    values="-o --push-option --repo --receive-pack --exec",
    aliases="-f=--force -d=--delete -n=--dry-run -u=--set-upstream",
)


@subcommand("push")
def push(call: GitCall, low: Lowering) -> None:
    opts = read_options(call, _PUSH_OPTIONS)
    if informs(opts) or switched(opts, "--dry-run"):
        return
    _pack_programs(call, opts, low)
    if opts.has("--no-verify"):
        kept = [word for word in call.args if not word.text.startswith("--no-v")]
        bypass(low, "git push --no-verify", instead=suggest("git push", kept))
    repository, refspecs = opts.operands[:1], opts.operands[1:]
    for word in repository:
        _transport(word, low)
        if "://" in word.text or (":" in word.text and "/" not in word.text.partition(":")[0]):
            low.emit("net.upload", word.text, at=word, file=True, rule="git-push-elsewhere",
                     reason="Sends the history to an address, not to a remote that the repository knows.")  # fmt: skip
    remote = texts(repository) or (opts.value("--repo") or Word("")).text
    _publish(call, opts, remote, refspecs, low)


def _publish(call: GitCall, opts: Options, remote: str, refspecs: tuple[Word, ...], low: Lowering) -> None:
    everything = opts.has("--mirror", "--prune")
    forced = bool(switched(opts, "--force"))
    leased = bool(switched(opts, "--force-with-lease"))
    safer = suggest(
        "git push --force-with-lease", [word for word in call.args if not word.text.startswith(("--forc", "-f"))]
    )
    for word in refspecs or (Word(""),):
        source, colon, target = word.text.partition(":")
        name = (target if colon else source).lstrip("+").removeprefix("refs/heads/")
        resource = " ".join(part for part in (remote, name) if part)
        at = word if word.text else None
        if switched(opts, "--delete") or (colon and not source and target):
            low.emit("vcs.publish", resource, at=at, forced=True, deletes=True, rule="git-push-delete", reason=_DELETES)
        elif everything:
            low.emit("vcs.publish", resource, at=at, forced=True, everything=True, rule="git-push-mirror",
                     reason="Makes the remote a copy of this repository: what it has besides is deleted.")  # fmt: skip
        elif forced or source.startswith("+") or target.startswith("+"):
            low.emit(
                "vcs.publish",
                resource,
                at=at,
                forced=True,
                rule="git-push-force",
                reason=_OVERWRITES,
                instead=safer if forced else "",
            )
        elif leased:
            low.emit("vcs.publish", resource, at=at, leased=True, rule="git-push-lease", reason=_OVERWRITES)
        else:
            low.emit("vcs.publish", resource, at=at)


_FETCH_OPTIONS = options(
    flags="--force --all --prune --tags --dry-run --heads --refs --depth",
    values="""
        --upload-pack --receive-pack --exec --depth --deepen --shallow-since --shallow-exclude --refmap -j --jobs -o
        --server-option --sort --negotiation-tip --filter
    """,
)


@subcommand("fetch", "ls-remote", "fetch-pack", "send-pack")
def fetch(call: GitCall, low: Lowering) -> None:
    opts = read_options(call, _FETCH_OPTIONS)
    if informs(opts):
        return
    _pack_programs(call, opts, low)
    for word in opts.operands[:1]:
        _transport(word, low)
    low.emit("net.download", texts(opts.operands))


_CLONE_OPTIONS = options(
    flags="""
        --recursive --recurse-submodules --bare --mirror --local --shared --no-checkout --sparse --single-branch
        --no-tags --quiet --progress --dissociate
    """,
    values="""
        -u --upload-pack -c --config -b --branch -o --origin --depth --template -j --jobs --reference
        --reference-if-able --separate-git-dir --filter --shallow-since --shallow-exclude --server-option
        --bundle-uri --revision
    """,
    aliases="-u=--upload-pack --config=-c",
)


@subcommand("clone")
def clone(call: GitCall, low: Lowering) -> None:
    opts = read_options(call, _CLONE_OPTIONS)
    if informs(opts):
        return
    _pack_programs(call, opts, low)
    for setting in opts.values("-c"):
        key, _, value = setting.text.partition("=")
        sets(key, replace(setting, text=value), call, low)
    for template in opts.values("--template"):
        if template.text:
            runs_program(low, template, what="git clone --template", shell=False)
    for word in opts.operands[:1]:
        _transport(word, low)
        low.emit("net.download", word.text, at=word)
    for directory in (*opts.operands[1:2], *opts.values("--separate-git-dir")):
        low.write(call.at(directory), directory=True)
        low.fill(call.at(directory))
        low.plant(call.at(directory))
    for address in opts.operands[:1]:
        if len(opts.operands) == 1:
            low.plant(call.at(Word(".", address.span)), copied_name(address))
        remember_copy(call, address, opts.operands[1:2], low)


_REMOTE_OPTIONS = options(
    flags="--push --add --delete --all --dry-run --mirror --fetch --tags",
    values="-t -m",
)


@subcommand("remote")
def remote(call: GitCall, low: Lowering) -> None:
    opts = read_options(call, _REMOTE_OPTIONS)
    if informs(opts):
        return
    if opts.word(0) in ("remove", "rm") and len(opts.operands) > 1:
        discard(call, low, texts(opts.operands[1:]), rule="git-remote-remove", instead="git remote -v",
                reason="Forgets a remote with all its tracking branches and settings.")  # fmt: skip
    elif opts.word(0) in ("add", "set-url"):
        for word in opts.operands[2:3]:
            _transport(word, low)
    elif opts.word(0) == "update":
        low.emit("net.download", texts(opts.operands[1:]))


_PUBLISH_OTHERWISE_OPTIONS = options(
    flags="--dry-run",
    values="--to --cc --prefix -P -m --smtp-server --to-cmd --cc-cmd --header-cmd",
    aliases="-n=--dry-run",
)


@subcommand("send-email", "imap-send", "bug", "svn", "p4", "subtree")
def publish_otherwise(call: GitCall, low: Lowering) -> None:
    opts = read_options(call, _PUBLISH_OTHERWISE_OPTIONS)
    if informs(opts) or opts.has("--dry-run"):
        return
    for code in opts.values("--to-cmd", "--cc-cmd", "--header-cmd"):
        runs_program(low, code, what="git send-email")
    server = opts.value("--smtp-server")
    if server is not None and server.text.startswith("/"):
        runs_program(low, server, what="git send-email --smtp-server")
    if call.name in ("send-email", "imap-send") or opts.word(0) in ("push", "dcommit", "submit"):
        low.emit("vcs.publish", texts(opts.operands))


@subcommand("daemon", "instaweb")
def serve(call: GitCall, low: Lowering) -> None:
    low.emit("net.listen", f"git {call.name}")
