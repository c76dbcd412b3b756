"""git commands that change commits, branches, tags and stashes: what of the history would be lost."""

from __future__ import annotations

from itertools import dropwhile

from msgspec.structs import replace

from interpose.effects.invocation import Lowering
from interpose.effects.programs.git.calls import (
    GitCall,
    informs,
    options,
    read_options,
    remember_copy,
    subcommand,
    suggest,
    switched,
    texts,
)
from interpose.effects.programs.git.programs import bypass, runs_program
from interpose.effects.programs.git.worktree import discard

_ABORT_REASON = "Discards the conflicts that were resolved so far and every change made meanwhile."

_COMMIT_OPTIONS = options(
    flags="""
        --no-verify --amend --all --patch --edit --dry-run --allow-empty --signoff --reset-author
        --allow-empty-message --status --only --include --quiet --verbose --post-rewrite --gpg-sign --short --branch
        --porcelain --long --null
    """,
    values="""
        -m -F -C -c -t --message --file --reuse-message --reedit-message --template --author --date --fixup --squash
        --cleanup --trailer --pathspec-from-file
    """,
    attached="-u -S",
    aliases="-n=--no-verify",
)


@subcommand("commit")
def commit(call: GitCall, low: Lowering) -> None:
    opts = read_options(call, _COMMIT_OPTIONS)
    if informs(opts):
        return
    for file in opts.values("-F", "--file"):
        if file.text != "-":
            low.read(call.at(file))
    if opts.has("--no-verify"):
        kept = [word for word in call.args if not word.text.startswith("--no-v") and word.text != "-n"]
        bypass(low, "git commit --no-verify", instead=suggest("git commit", kept) if len(kept) < len(call.args) else "")


_COMBINE = {
    "flags": """
        --abort --no-verify --continue --skip --quit --interactive --autosquash --autostash --rebase --ff-only --no-ff
        --squash --no-edit --no-commit --allow-unrelated-histories --stat --signoff --root --rebase-merges
        --update-refs --quiet --verbose --tags
    """,
    "values": """
        --exec -m -F -s -X --strategy --strategy-option --onto --message --file --upload-pack --whitespace --empty
        --cleanup --into-name --mainline
    """,
    "attached": "-S -r",
}
_COMBINE_OPTIONS = options(**_COMBINE)
_REBASE_OPTIONS = options(**_COMBINE, aliases="-x=--exec")


@subcommand("merge", "pull", "am", "rebase", "cherry-pick", "revert")
def combine(call: GitCall, low: Lowering) -> None:
    """Commands that make commits out of others: they run hooks, may be aborted, and some run commands between."""
    opts = read_options(call, _REBASE_OPTIONS if call.name == "rebase" else _COMBINE_OPTIONS)
    if informs(opts):
        return
    if opts.has("--no-verify"):
        bypass(low, f"git {call.name} --no-verify")
    if opts.has("--abort") and call.name != "revert":
        discard(call, low, f"unfinished {call.name}", rule=f"git-{call.name}-abort", reason=_ABORT_REASON)
    if call.name == "rebase":
        for code in opts.values("--exec"):
            low.shell(code, via="git rebase --exec")
    if call.name == "pull":
        for address in opts.operands[:1]:
            remember_copy(call, address, (replace(address, text="."),), low)
        low.emit("net.download", texts(opts.operands))
        for code in opts.values("--upload-pack"):
            runs_program(low, code, what="git pull --upload-pack")


_BRANCH_OPTIONS = options(
    flags="""
        --delete --force --move --copy --list --all --remotes --show-current --track --unset-upstream
        --edit-description --quiet --verbose --merged --no-merged --contains
    """,
    values="-u --set-upstream-to --sort --format --points-at --color",
    aliases="-d=--delete -f=--force",
)


@subcommand("branch")
def branch(call: GitCall, low: Lowering) -> None:
    opts = read_options(call, _BRANCH_OPTIONS)
    if informs(opts) or opts.has("--list", "-l"):
        return
    forced = bool(switched(opts, "--force"))
    if opts.has("-D") or (switched(opts, "--delete") and forced):
        discard(call, low, texts(opts.operands), forced=True, rule="git-branch-delete",
                instead=suggest("git branch -d", opts.operands),
                reason="Deletes branches even where their commits are merged nowhere.")  # fmt: skip
    elif switched(opts, "--delete"):
        discard(
            call,
            low,
            texts(opts.operands),
            recoverable=True,
            rule="git-branch-delete",
            reason="Deletes merged branches.",
        )
    elif forced and opts.operands:
        discard(call, low, texts(opts.operands), forced=True, rule="git-branch-force",
                reason="Moves a branch elsewhere: the commits it had may be reachable no more.")  # fmt: skip


_TAG_OPTIONS = options(
    flags="--delete --force --list --annotate --sign --verify --merged --contains --create-reflog",
    values="-m -F -u --message --file --local-user --cleanup --sort --format --points-at --trailer",
    attached="-n",
    aliases="-d=--delete -f=--force -l=--list",
)


@subcommand("tag")
def tag(call: GitCall, low: Lowering) -> None:
    opts = read_options(call, _TAG_OPTIONS)
    if informs(opts) or opts.has("--list"):
        return
    if switched(opts, "--delete"):
        discard(
            call,
            low,
            texts(opts.operands),
            rule="git-tag-delete",
            reason="Deletes tags; there is no record of where they were.",
        )
    elif switched(opts, "--force") and opts.operands:
        discard(call, low, texts(opts.operands), forced=True, rule="git-tag-force",
                reason="Moves a tag; there is no record of where it was.")  # fmt: skip


@subcommand("stash")
def stash(call: GitCall, low: Lowering) -> None:
    verb = call.args[0].text if call.args else ""
    if verb not in ("drop", "clear") or informs(read_options(call)):
        return
    discard(call, low, texts(call.args[1:]) or "stashed changes", rule=f"git-stash-{verb}",
            reason="Deletes stashed work for good.", instead="git stash list")  # fmt: skip


_REFLOG_OPTIONS = options(
    flags="--dry-run --all",
    values="--expire --expire-unreachable",
    aliases="-n=--dry-run",
)


@subcommand("reflog")
def reflog(call: GitCall, low: Lowering) -> None:
    opts = read_options(call, _REFLOG_OPTIONS)
    if opts.word(0) in ("expire", "delete", "drop") and not opts.has("--dry-run") and not informs(opts):
        discard(call, low, texts(opts.operands[1:]) or "reflog", rule="git-reflog-expire",
                reason="The reflog is the way back to lost commits; this deletes it.")  # fmt: skip


_AGES = ("never", "day", "week", "month", "year")


_GC_OPTIONS = options(
    flags="--prune --aggressive --auto --quiet --force --dry-run --keep-largest-pack",
    values="--expire",
    aliases="-n=--dry-run",
)


@subcommand("gc", "prune")
def gc(call: GitCall, low: Lowering) -> None:
    opts = read_options(call, _GC_OPTIONS)
    if informs(opts) or opts.has("--dry-run"):
        return
    when = opts.value("--prune")
    at_once = call.name == "prune" or (when is not None and not any(age in when.text for age in _AGES))
    if at_once or call.setting("gc.pruneexpire") in ("now", "all"):
        discard(call, low, "unreachable commits", rule=f"git-{call.name}", instead="git gc",
                reason="Deletes commits that no branch reaches: there is no way back to them.")  # fmt: skip


_UPDATE_REF_OPTIONS = options(
    flags="--delete --stdin --no-deref --create-reflog",
    values="-m",
    aliases="-d=--delete",
)


@subcommand("update-ref", "symbolic-ref", "replace")
def update_ref(call: GitCall, low: Lowering) -> None:
    opts = read_options(call, _UPDATE_REF_OPTIONS)
    orders = call.inv.stdin.text or "" if opts.has("--stdin") and call.inv.stdin is not None else ""
    if (opts.has("--delete") or "delete " in orders) and not informs(opts):
        discard(call, low, texts(opts.operands), rule="git-update-ref",
                reason="Deletes a reference: its commits may be reachable no more.")  # fmt: skip


_FILTERS = ("--env-filter", "--tree-filter", "--index-filter", "--parent-filter", "--msg-filter", "--commit-filter",
            "--tag-name-filter", "--setup")  # fmt: skip


_REWRITE_OPTIONS = options(
    flags="--analyze --dry-run --force",
    values="""
        --env-filter --tree-filter --index-filter --parent-filter --msg-filter --commit-filter --tag-name-filter
        --setup --subdirectory-filter -d
    """,
)


@subcommand("filter-branch", "filter-repo", "obliterate", "reauthor", "fast-import")
def rewrite(call: GitCall, low: Lowering) -> None:
    opts = read_options(call, _REWRITE_OPTIONS)
    if informs(opts) or opts.has("--analyze", "--dry-run") or call.name in ("reauthor", "fast-import"):
        return
    discard(call, low, texts(opts.operands) or "history", rule="git-rewrite-history",
            reason="Rewrites every commit; whoever has the old history can no longer work with it.")  # fmt: skip
    for code in opts.values(*_FILTERS):
        low.shell(code, via=f"git {call.name}")


_WORKTREE_OPTIONS = options(
    flags="--force --detach --lock --porcelain --dry-run",
    values="-b -B --expire --reason",
    aliases="-f=--force",
)


@subcommand("worktree")
def worktree(call: GitCall, low: Lowering) -> None:
    opts = read_options(call, _WORKTREE_OPTIONS)
    if informs(opts):
        return
    for place in opts.operands[1:2] if opts.word(0) == "add" else opts.operands[2:3] if opts.word(0) == "move" else ():
        low.fill(call.at(place))
        low.plant(call.at(place))
    if opts.word(0) == "remove" and switched(opts, "--force"):
        discard(call, low, texts(opts.operands[1:]), forced=True, rule="git-worktree-remove",
                instead=suggest("git worktree remove", opts.operands[1:]),
                reason="Deletes a working tree even where its changes are not committed.")  # fmt: skip


_SUBMODULE_OPTIONS = options(
    flags="--force --all --init --recursive --remote",
    values="--branch -b --name --reference --depth --jobs",
    aliases="-f=--force",
)


@subcommand("submodule")
def submodule(call: GitCall, low: Lowering) -> None:
    verb = next((index for index, word in enumerate(call.args) if not word.text.startswith("-")), None)
    if verb is None:
        return
    if call.args[verb].text == "foreach":
        code = tuple(dropwhile(lambda word: word.text.startswith("-"), call.args[verb + 1 :]))
        if len(code) == 1:
            low.shell(code[0], via="git submodule foreach")
        elif code:
            low.run(code, via="git submodule foreach")
        return
    opts = read_options(call, _SUBMODULE_OPTIONS)
    if opts.word(0) == "add":
        for place in opts.operands[2:3]:
            low.fill(call.at(place))
            low.plant(call.at(place))
        for address in opts.operands[1:2]:
            remember_copy(call, address, opts.operands[2:3], low)
    if informs(opts) or not switched(opts, "--force"):
        return
    if opts.word(0) in ("deinit", "update"):
        discard(call, low, texts(opts.operands[1:]) or "submodules", forced=True, rule="git-submodule-force",
                reason="Discards what was changed inside submodules.")  # fmt: skip


_EXTRAS = {"delete-branch": "a branch, here and on the remote", "delete-tag": "a tag, here and on the remote",
           "delete-submodule": "a submodule", "delete-merged-branches": "every merged branch",
           "delete-squashed-branches": "every squashed branch"}  # fmt: skip


@subcommand(*_EXTRAS)
def extras_delete(call: GitCall, low: Lowering) -> None:
    discard(call, low, texts(call.args), rule=f"git-{call.name}", reason=f"Deletes {_EXTRAS[call.name]}.")


_LARGE_FILES_OPTIONS = options(
    flags="--force --dry-run --everything",
    aliases="-f=--force",
)


@subcommand("annex", "lfs")
def large_files(call: GitCall, low: Lowering) -> None:
    opts = read_options(call, _LARGE_FILES_OPTIONS)
    verb = opts.word(0)
    if call.name == "annex" and verb in ("drop", "dropunused", "dropkey", "uninit") and switched(opts, "--force"):
        discard(
            call,
            low,
            texts(opts.operands[1:]),
            forced=True,
            rule="git-annex-drop",
            reason="Deletes what may be the last copy.",
        )
    elif call.name == "lfs" and verb == "migrate" and opts.word(1) in ("import", "export"):
        discard(call, low, "history", rule="git-rewrite-history", reason="Rewrites the commits that hold these files.")
    elif call.name == "lfs" and verb == "push":
        low.emit("vcs.publish", texts(opts.operands[1:3]))
