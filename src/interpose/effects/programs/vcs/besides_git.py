"""Version control besides git: what Mercurial, Subversion, Jujutsu, Fossil, Bazaar and Perforce lose or publish."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from msgspec import Struct

from interpose.effects.handler_table import Handler, command
from interpose.effects.invocation import Invocation, Lowering
from interpose.effects.programs.shared.forges import is_usual_forge
from interpose.effects.programs.shared.options import Options, parse

Fate = Literal["discard", "back", "publish", "overwrite"]
"""`back`: lost here, but the tool keeps a way back; `overwrite`: what others published is replaced."""


class Form(Struct, frozen=True):
    """One subcommand that loses or publishes something, and the options it needs for that."""

    fate: Fate
    reason: str
    needs: frozenset[str] = frozenset()
    unless: frozenset[str] = frozenset()
    to_commit: bool = False
    """Whether its words name the commit that is checked out, and not what is lost."""


def _form(fate: Fate, reason: str, needs: str = "", unless: str = "", *, to_commit: bool = False) -> Form:
    return Form(fate, reason, frozenset(needs.split()), frozenset(unless.split()), to_commit)


_UNCOMMITTED = "Discards changes that are not committed."
_HISTORY = "Removes commits from the history."
_UNKNOWN_FILES = "Deletes files that version control does not know."
_OVERWRITE = "Overwrites what others have published."
_PUBLISH = _form("publish", "Publishes commits.")

_HG: dict[str, tuple[Form, ...]] = {
    "update": (_form("discard", _UNCOMMITTED, "-C --clean", to_commit=True),),
    "revert": (_form("discard", _UNCOMMITTED, unless="-n --dry-run"),),
    "purge": (_form("discard", _UNKNOWN_FILES, unless="-p --print"),),
    "clean": (_form("discard", _UNKNOWN_FILES, unless="-p --print"),),
    "strip": (_form("discard", _HISTORY),),
    "debugstrip": (_form("discard", _HISTORY),),
    "prune": (_form("discard", _HISTORY),),
    "rollback": (_form("discard", _HISTORY, unless="-n --dry-run"),),
    "histedit": (_form("back", _HISTORY),),
    "shelve": (_form("discard", "Deletes shelved work.", "-d --delete --cleanup"),),
    "remove": (_form("discard", _UNCOMMITTED, "-f --force"),),
    "merge": (_form("discard", _UNCOMMITTED, "--abort"),),
    "rebase": (_form("discard", _UNCOMMITTED, "-a --abort"),),
    "push": (_form("overwrite", _OVERWRITE, "-f --force"), _PUBLISH),
    "email": (_PUBLISH,),
}
_HG |= {"up": _HG["update"], "checkout": _HG["update"], "co": _HG["update"], "rm": _HG["remove"]}

_SVN: dict[str, tuple[Form, ...]] = {
    "revert": (_form("discard", _UNCOMMITTED),),
    "cleanup": (_form("discard", _UNKNOWN_FILES, "--remove-unversioned --remove-ignored"),),
    "delete": (_form("discard", _UNCOMMITTED, "--force"),),
    "unlock": (_form("discard", "Breaks another person's lock.", "--force"),),
    "import": (_PUBLISH,),
    "commit": (_PUBLISH,),
}
_SVN |= {"ci": _SVN["commit"], **dict.fromkeys(("rm", "del", "remove"), _SVN["delete"])}

_JJ: dict[str, tuple[Form, ...]] = {
    "abandon": (_form("back", _HISTORY),),
    "restore": (_form("back", _UNCOMMITTED),),
    "undo": (_form("back", _HISTORY),),
    "op.abandon": (_form("discard", "Deletes the operations by which lost work could be had back."),),
    "operation.abandon": (_form("discard", "Deletes the operations by which lost work could be had back."),),
    "git.push": (_form("overwrite", "Deletes branches on the remote.", "--deleted --delete"), _PUBLISH),
}

_FOSSIL: dict[str, tuple[Form, ...]] = {
    "revert": (_form("discard", _UNCOMMITTED),),
    "clean": (_form("discard", _UNKNOWN_FILES, unless="-n --dry-run"),),
    "extras": (),
    "close": (_form("discard", _UNCOMMITTED, "-f --force"),),
    "purge": (_form("discard", _HISTORY),),
    "scrub": (_form("discard", "Deletes passwords and private data from the repository."),),
    "rm": (_form("discard", _UNCOMMITTED, "--hard"),),
    "push": (_PUBLISH,),
    "sync": (_PUBLISH,),
}

_BZR: dict[str, tuple[Form, ...]] = {
    "revert": (_form("discard", _UNCOMMITTED, unless="--dry-run"),),
    "uncommit": (_form("discard", _HISTORY, unless="--dry-run"),),
    "clean-tree": (_form("discard", _UNKNOWN_FILES, unless="--dry-run"),),
    "remove": (_form("discard", _UNCOMMITTED, "--no-backup --force"),),
    "push": (_form("overwrite", _OVERWRITE, "--overwrite"), _PUBLISH),
}

_P4: dict[str, tuple[Form, ...]] = {
    "revert": (_form("discard", _UNCOMMITTED, unless="-n"),),
    "clean": (_form("discard", _UNKNOWN_FILES, unless="-n"),),
    "sync": (_form("discard", _UNCOMMITTED, "-f"),),
    "obliterate": (_form("overwrite", "Removes files and their history from the server for good."),),
    "shelve": (_form("discard", "Deletes shelved work.", "-d"),),
    "client": (_form("discard", "Deletes a workspace.", "-d"),),
    "depot": (_form("overwrite", "Deletes a depot.", "-d"),),
    "submit": (_PUBLISH,),
}

_DARCS: dict[str, tuple[Form, ...]] = {
    "revert": (_form("discard", _UNCOMMITTED),),
    "obliterate": (_form("discard", _HISTORY),),
    "unrecord": (_form("discard", _HISTORY),),
    "push": (_PUBLISH,),
}

_CVS: dict[str, tuple[Form, ...]] = {"update": (_form("discard", _UNCOMMITTED, "-C"),), "commit": (_PUBLISH,)}

_TOOLS: dict[str, tuple[Mapping[str, tuple[Form, ...]], tuple[str, ...]]] = {
    "hg": (_HG, ("-R", "--repository", "--cwd", "--config", "-r", "--rev", "-m", "--message", "-b", "-I", "-X", "-B")),
    "sl": (_HG, ("-R", "--repository", "--cwd", "--config", "-r", "--rev", "-m", "--message")),
    "svn": (
        _SVN,
        ("-m", "--message", "-r", "--revision", "--username", "--password", "--config-option", "-F", "--depth"),
    ),
    "jj": (
        _JJ,
        ("-R", "--repository", "--at-operation", "--config", "--config-file", "-r", "--revision", "-m", "--remote"),
    ),
    "fossil": (_FOSSIL, ("-R", "-m", "--repository")),
    "bzr": (_BZR, ("-r", "-m", "-d", "--revision")),
    "brz": (_BZR, ("-r", "-m", "-d", "--revision")),
    "p4": (_P4, ("-c", "-p", "-u", "-P", "-H")),
    "darcs": (_DARCS, ("--repodir", "-m", "-p")),
    "cvs": (_CVS, ("-m", "-r")),
}


def _vcs(name: str) -> Handler:
    table, values = _TOOLS[name]

    def handler(inv: Invocation, low: Lowering) -> None:
        opts = parse(inv.args, values=values)
        if opts.has("--help"):
            return
        _SETTINGS.get(name, _nothing)(opts, low)
        path = f"{opts.word(0)}.{opts.word(1)}"
        depth = 2 if path in table else 1
        forms = table.get(path) or table.get(opts.word(0), ())
        for form in forms:
            if (not form.needs or opts.has(*form.needs)) and not opts.has(*form.unless):
                _state(name, form, depth, opts, low)
                return

    return handler


def _state(name: str, form: Form, depth: int, opts: Options, low: Lowering) -> None:
    what = " ".join(word.text for word in opts.operands[depth:])
    rule = f"{name}-{opts.word(depth - 1)}"
    match form.fate:
        case "discard":
            low.emit(
                "vcs.discard",
                "uncommitted changes" if form.to_commit or not what else what,
                rule=rule,
                reason=form.reason,
            )
        case "back":
            low.emit("vcs.discard", what or "commits", rule=rule, reason=form.reason, recoverable=True)
        case "publish":
            low.emit("vcs.publish", what)
            if name in ("hg", "sl", "fossil", "bzr", "brz", "darcs") and "://" in what and not is_usual_forge(what):
                low.emit("net.upload", what, file=True, rule=f"{name}-push-elsewhere",
                         reason="Sends the history to an address, not to one that the repository knows.")  # fmt: skip
        case "overwrite":
            low.emit("vcs.publish", what, rule=rule, reason=form.reason, forced=True)


def _nothing(opts: Options, low: Lowering) -> None:
    pass


def _hg_settings(opts: Options, low: Lowering) -> None:
    """Mercurial runs what its settings name: aliases, hooks, extensions, editors, ssh."""
    for setting in opts.values("--config"):
        key, _, value = setting.text.partition("=")
        program = key.startswith(("hooks.", "extensions.")) or value.startswith("!")
        if program or key in ("ui.ssh", "ui.editor", "ui.merge", "pager.pager", "ui.remotecmd"):
            low.emit(
                "opaque", setting.text, at=setting, rule="hg-runs-program", reason="Makes Mercurial run a program."
            )
            low.shell(value.lstrip("!"), via=f"hg --config {key}")


def _svn_settings(opts: Options, low: Lowering) -> None:
    for setting in opts.values("--config-option"):
        key, _, value = setting.text.partition("=")
        if ":tunnels:" in key or key.endswith(("editor-cmd", "diff-cmd", "diff3-cmd", "merge-tool-cmd")):
            low.emit(
                "opaque", setting.text, at=setting, rule="svn-runs-program", reason="Makes Subversion run a program."
            )
            low.shell(value, via="svn --config-option")
    if opts.word(0) in ("delete", "rm", "del", "remove"):
        for word in opts.operands[1:]:
            if "://" in word.text:
                low.emit("vcs.publish", word.text, at=word, forced=True, rule="svn-delete",
                         reason="Deletes from the repository that others use, at once.")  # fmt: skip


def _jj_settings(opts: Options, low: Lowering) -> None:
    for setting in opts.values("--config"):
        key, _, value = setting.text.partition("=")
        if key in ("ui.pager", "ui.editor", "ui.diff-editor", "ui.merge-editor") or key.startswith("aliases."):
            low.emit("opaque", setting.text, at=setting, rule="jj-runs-program", reason="Makes Jujutsu run a program.")
            low.shell(value.strip("\"'"), via=f"jj --config {key}")


_SETTINGS: dict[str, Callable[[Options, Lowering], None]] = {
    "hg": _hg_settings,
    "svn": _svn_settings,
    "jj": _jj_settings,
}

for _name in _TOOLS:
    command(_name)(_vcs(_name))


@command("bfg")
def bfg(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args)
    if inv.args and not opts.has("--help", "--version"):
        low.emit(
            "vcs.discard", "history", rule="git-rewrite-history", reason="Rewrites every commit of the repository."
        )


@command("repo")
def repo(inv: Invocation, low: Lowering) -> None:
    """The multi-repository tool: `repo forall -c code` runs code in each of them."""
    opts = parse(inv.args, values=("-c", "-g", "-j"))
    if opts.word(0) == "forall":
        for code in opts.values("-c"):
            low.shell(code, via="repo forall")
    elif opts.word(0) == "sync" and opts.has("--force-sync", "--force-remove-dirty"):
        low.emit("vcs.discard", "repositories", rule="repo-sync-force", reason=_UNCOMMITTED)
    elif opts.word(0) == "abandon":
        low.emit("vcs.discard", " ".join(word.text for word in opts.operands[1:]), rule="repo-abandon", reason=_HISTORY)
