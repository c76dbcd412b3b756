"""git commands that change files: what of the work that is not committed yet would be lost."""

from __future__ import annotations

import posixpath
from typing import Any

from interpose.effects.frozen_values import words
from interpose.effects.invocation import Lowering, Word
from interpose.effects.programs.git.calls import (
    GitCall,
    informs,
    options,
    read_options,
    subcommand,
    suggest,
    switched,
    texts,
)
from interpose.effects.programs.shared.options import Options
from interpose.effects.programs.shared.patch_text import apply_text
from interpose.effects.programs.shared.streams import inputs

_PATHSPEC_FILE = "--pathspec-from-file"
_FILE_ENDINGS = words(
    """
    c cc cfg conf cpp cs css csv env ex go gradle h hpp html ini ipynb java js json jsx kt lock lua md mjs php pl proto
    py rb rs rst scss sh sql svelte swift tf toml ts tsx txt vue xml yaml yml
    """
)
"""`git checkout NAME` restores NAME when it is a file. Branches are rarely called like source files."""

UNCOMMITTED = "uncommitted changes"


def discard(call: GitCall, low: Lowering, resource: str, *, at: Word | None = None, **details: Any) -> None:
    """Uncommitted work or history is lost. With `--work-tree` at the root or home, everything there is at stake."""
    tree = low.path(call.work_tree) if call.work_tree else ""
    if tree and tree in ("/", low.home):
        details["wide"] = True
    low.emit("vcs.discard", resource, at=at, **details)


_RESET_OPTIONS = options(
    flags="--hard --merge --mixed --soft --keep --quiet --patch",
    values="--pathspec-from-file --unified --inter-hunk-context -U",
)


@subcommand("reset")
def reset(call: GitCall, low: Lowering) -> None:
    opts = read_options(call, _RESET_OPTIONS)
    if informs(opts):
        return
    for mode in ("--hard", "--merge"):
        if opts.has(mode):
            discard(call, low, _reset_away(texts(opts.operands)), rule=f"git-reset-{mode[2:]}",
                    instead="git stash", reason="Discards every change that is not committed.")  # fmt: skip
            return


def _reset_away(target: str) -> str:
    """What a hard reset discards. The commit that it goes back to stays; those that come after it may not."""
    here = target in ("", "HEAD", "@")
    return UNCOMMITTED if here else f"{UNCOMMITTED} and commits that {target} does not have"


_CHECKOUT_OPTIONS = options(
    flags="""
        --force --detach --track --guess --merge --quiet --progress --ours --theirs --overwrite-ignore
        --recurse-submodules --ignore-skip-worktree-bits --patch --overlay
    """,
    values="-b -B --orphan --conflict --pathspec-from-file --unified --inter-hunk-context -U",
    aliases="-f=--force -p=--patch",
)


@subcommand("checkout")
def checkout(call: GitCall, low: Lowering) -> None:
    opts = read_options(call, _CHECKOUT_OPTIONS)
    if informs(opts):
        return
    if switched(opts, "--force"):
        discard(call, low, texts(_checked_out_paths(call, opts)) or UNCOMMITTED, rule="git-checkout-force",
                instead="git stash", reason="Switches and discards every change that is not committed.")  # fmt: skip
        return
    paths = _checked_out_paths(call, opts)
    if paths and not opts.has("--ours", "--theirs"):
        _overwrites(call, low, paths, "git-checkout-paths")
    elif switched(opts, "--patch") or opts.has(_PATHSPEC_FILE):
        _overwrites(call, low, opts.values(_PATHSPEC_FILE), "git-checkout-paths")


def _checked_out_paths(call: GitCall, opts: Options) -> tuple[Word, ...]:
    if opts.has("-b", "-B", "--orphan"):
        return ()
    after = next((index for index, word in enumerate(call.args) if word.text == "--"), None)
    if after is not None:
        return call.args[after + 1 :]
    if len(opts.operands) > 1:
        return opts.operands[1:]
    return tuple(word for word in opts.operands if _is_path(word))


def _is_path(word: Word) -> bool:
    text = word.text
    if word.glob or text in (".", "..") or text.startswith(("./", "../", "/", ":", "~")) or text.endswith("/"):
        return True
    stem, dot, ending = text.rpartition(".")
    return bool(dot and stem) and ending in _FILE_ENDINGS


def _overwrites(call: GitCall, low: Lowering, paths: tuple[Word, ...], rule: str) -> None:
    discard(call, low, texts(paths) or UNCOMMITTED, at=paths[0] if paths else None, rule=rule,
            instead=suggest("git stash push --", paths) if paths else "git stash",
            reason="Overwrites files with an older version; changes not committed are lost.")  # fmt: skip


_RESTORE_OPTIONS = options(
    flags="""
        --worktree --staged --patch --quiet --progress --ours --theirs --merge --overlay --ignore-unmerged
        --recurse-submodules --ignore-skip-worktree-bits
    """,
    values="-s --source --conflict --unified --inter-hunk-context -U --pathspec-from-file",
    aliases="-S=--staged -W=--worktree -p=--patch",
)


@subcommand("restore")
def restore(call: GitCall, low: Lowering) -> None:
    opts = read_options(call, _RESTORE_OPTIONS)
    if informs(opts):
        return
    staged, worktree = switched(opts, "--staged"), switched(opts, "--worktree")
    touches_files = bool(worktree) if staged is not None or worktree is not None else True
    if touches_files and (opts.operands or opts.has(_PATHSPEC_FILE) or switched(opts, "--patch")):
        _overwrites(call, low, opts.operands or opts.values(_PATHSPEC_FILE), "git-restore")


_SWITCH_OPTIONS = options(
    flags="--force --discard-changes --detach --track --guess --merge --quiet --progress",
    values="-c -C --create --force-create --orphan --conflict",
    aliases="-f=--force --discard-changes=--force",
)


@subcommand("switch")
def switch(call: GitCall, low: Lowering) -> None:
    opts = read_options(call, _SWITCH_OPTIONS)
    if not informs(opts) and switched(opts, "--force"):
        discard(call, low, UNCOMMITTED, rule="git-switch-force", instead="git stash",
                reason="Switches and discards every change that is not committed.")  # fmt: skip


_CLEAN_OPTIONS = options(
    flags="--force --dry-run --interactive --quiet",
    values="-e --exclude",
    aliases="-f=--force -n=--dry-run -i=--interactive",
)


@subcommand("clean")
def clean(call: GitCall, low: Lowering) -> None:
    opts = read_options(call, _CLEAN_OPTIONS)
    if informs(opts) or switched(opts, "--dry-run") or switched(opts, "--interactive"):
        return
    unguarded = (call.setting("clean.requireforce") or "").lower() in ("false", "no", "off", "0")
    if switched(opts, "--force") or unguarded:
        kept = [word for word in call.args if not word.text.startswith("--f")]
        discard(call, low, texts(opts.operands) or "untracked files", rule="git-clean",
                instead=suggest("git clean -n", kept), reason="Deletes files that git does not know.")  # fmt: skip


_CHECKOUT_INDEX_OPTIONS = options(
    flags="--force --all",
    values="--prefix --stage",
    aliases="-f=--force",
)


@subcommand("checkout-index")
def checkout_index(call: GitCall, low: Lowering) -> None:
    opts = read_options(call, _CHECKOUT_INDEX_OPTIONS)
    if switched(opts, "--force") and not opts.has("--prefix"):
        _overwrites(call, low, opts.operands, "git-checkout-index")


_READ_TREE_OPTIONS = options(
    flags="--reset --dry-run",
    values="--prefix --index-output",
)


@subcommand("read-tree")
def read_tree(call: GitCall, low: Lowering) -> None:
    opts = read_options(call, _READ_TREE_OPTIONS)
    if opts.has("--reset") and opts.has("-u") and not opts.has("-n", "--dry-run"):
        _overwrites(call, low, (), "git-read-tree")


_RM_OPTIONS = options(
    flags="--force --dry-run --cached --quiet --ignore-unmatch --sparse",
    values="--pathspec-from-file",
    aliases="-f=--force -n=--dry-run",
)


@subcommand("rm")
def rm(call: GitCall, low: Lowering) -> None:
    opts = read_options(call, _RM_OPTIONS)
    if informs(opts) or switched(opts, "--dry-run") or switched(opts, "--cached"):
        return
    forced = bool(switched(opts, "--force"))
    # Without force git refuses to remove what is not committed, so the files can be had again.
    discard(call, low, texts(opts.operands), forced=forced, recoverable=not forced, rule="git-rm",
            instead=suggest("git rm --cached", opts.operands),
            reason="Deletes files even where their changes are not committed.")  # fmt: skip


_MV_OPTIONS = options(
    flags="--force --dry-run --verbose",
    aliases="-f=--force -n=--dry-run",
)


@subcommand("mv")
def mv(call: GitCall, low: Lowering) -> None:
    opts = read_options(call, _MV_OPTIONS)
    if informs(opts) or switched(opts, "--dry-run") or len(opts.operands) < 2:
        return
    low.write(call.at(opts.operands[-1]))
    low.fill(call.at(opts.operands[-1]))


@subcommand("clear", "clear-soft")
def clear(call: GitCall, low: Lowering) -> None:
    """git-extras: a hard reset and a clean in one."""
    discard(call, low, UNCOMMITTED, rule="git-reset-hard", instead="git stash",
            reason="Discards every change and every file that is not committed.")  # fmt: skip


_APPLY_OPTIONS = options(
    flags="--check --stat --numstat --summary --reverse --index --cached --apply",
    values="-p -C --exclude --include --directory --build-fake-ancestor",
)


@subcommand("apply")
def apply(call: GitCall, low: Lowering) -> None:
    opts = read_options(call, _APPLY_OPTIONS)
    text = inputs(call.inv, [call.at(patch) for patch in opts.operands], low)
    if opts.has("--check", "--stat", "--numstat", "--summary", "--cached") and not opts.has("--apply"):
        return
    if opts.has("-R", "--reverse") and not opts.operands and call.inv.stdin is not None:
        low.emit("vcs.discard", "changes", rule="git-apply-reverse",
                 reason="Takes back changes that may be committed nowhere")  # fmt: skip
    inside = opts.value("--directory")
    directory = posixpath.join(call.directory, "" if inside is None else inside.text)
    if text.text is None:
        low.plant(directory or ".")
    apply_text(text, low, directory)
