"""Who may do what with a file: modes, owners, access lists, attributes."""

from __future__ import annotations

from interpose.effects.handler_table import command
from interpose.effects.invocation import UNKNOWN, Invocation, Lowering, Word
from interpose.effects.programs.files.deletion import TREE
from interpose.effects.programs.shared.options import parse
from interpose.effects.programs.shared.streams import informs, says_nothing

_ALIASES = {"--recursive": "-R", "--changes": "-c", "--silent": "-f", "--quiet": "-f", "--verbose": "-v"}
_LONG = ("--help", "--version", "--no-preserve-root", "--preserve-root", "--dereference", "--no-dereference")


def state_mode(target: Word, mode: Word, low: Lowering, *, recursive: bool) -> None:
    """State that `target` gets `mode`, as typed."""
    low.permission(target, mode=mode.text, locked=_locks(mode.text), recursive=recursive or TREE in target.taints)


def _locks(mode: str) -> bool:
    """Whether a symbolic mode takes reading away from everybody."""
    for clause in mode.split(","):
        who, _, rights = clause.partition("-")
        if "r" in rights and ("a" in who or not who or {"u", "g", "o"} <= set(who)):
            return True
        if clause in ("=", "a=", "ugo="):
            return True
    return False


def _takes_rights(text: str) -> bool:
    """Whether a word such as `-x` or `-rwx` is a mode and no option."""
    return len(text) > 1 and text[0] == "-" and all(char in "rwxXst,+-=ugoa" for char in text[1:])


@command("chmod", "gchmod")
def chmod(inv: Invocation, low: Lowering) -> None:
    # `chmod -x file` gives a mode that looks like options: getopt would eat it.
    mode = next((word for word in inv.args if _takes_rights(word.text)), None)
    args = tuple(word for word in inv.args if word is not mode)
    opts = parse(args, values=("--reference",), aliases=_ALIASES, long=_LONG)
    if informs(opts):
        return
    says_nothing(opts, low)
    targets = opts.operands
    reference = opts.value("--reference")
    if reference is not None:
        mode = reference
    elif mode is None and targets:
        mode, targets = targets[0], targets[1:]
    if mode is None:
        return
    for target in targets:
        if reference is not None:
            low.permission(target, recursive=opts.has("-R"))
        else:
            state_mode(target, mode, low, recursive=opts.has("-R"))


@command("chown", "chgrp", "gchown", "gchgrp")
def chown(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, values=("--reference", "--from"), aliases=_ALIASES, long=_LONG)
    if informs(opts):
        return
    says_nothing(opts, low)
    owner = opts.value("--reference") or (opts.operands[0] if opts.operands else None)
    targets = opts.operands if opts.has("--reference") else opts.operands[1:]
    for target in targets:
        low.permission(target, owner=owner.text if owner else "", recursive=opts.has("-R") or TREE in target.taints,
                       own_home=owner is not None and _is_own_home(owner, low.path(target), low.home))  # fmt: skip


_FIRST_PERSON = 1000
"""Numbers of people's accounts begin here; those below are the system's."""


def _is_own_home(owner: Word, path: str, home: str) -> bool:
    """Whether somebody is given the home that is theirs: `chown -R alice /home/alice`."""
    user = owner.text.partition(":")[0].partition(".")[0]
    if path.rpartition("/")[0] in ("/home", "/Users") and user == path.rpartition("/")[2]:
        return True
    # Who runs this is not in the text: `$(whoami)`, `1000`, and names that are not the system's own.
    return path == home and (
        user in (UNKNOWN, home.rpartition("/")[2]) or (user.isdecimal() and int(user[:9]) >= _FIRST_PERSON)
    )


_ACL_VALUES = ("-m", "-M", "-x", "-X", "--restore")
_ACL_ALIASES = {
    "--recursive": "-R",
    "--modify": "-m",
    "--set": "-m",
    "--remove": "-x",
    "--modify-file": "-M",
    "--set-file": "-M",
    "--remove-file": "-X",
    "--remove-all": "-b",
    "--remove-default": "-k",
}


@command("setfacl")
def setfacl(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, values=_ACL_VALUES, aliases=_ACL_ALIASES, long=("--help", "--version", "--test"))
    if informs(opts) or opts.has("--test"):
        return
    entries = ",".join(word.text for word in opts.values("-m"))
    everybody = any(entry.startswith(("o::", "other:", "o:")) and "w" in entry for entry in entries.split(","))
    for file in opts.values("-M", "-X", "--restore"):
        low.read(file)
    for target in opts.operands:
        low.permission(target, acl=entries, open=everybody, recursive=opts.has("-R"))


@command("chattr")
def chattr(inv: Invocation, low: Lowering) -> None:
    flags = [word.text for word in inv.args if _is_attribute(word)]
    recursive = any(flag.startswith("-") and "R" in flag for flag in flags)
    attributes = " ".join(flags[:8])
    previous = ""
    for word in inv.args:
        # -v and -p take a number.
        if not _is_attribute(word) and previous not in ("-v", "-p"):
            low.permission(word, attributes=attributes, recursive=recursive)
        previous = word.text


def _is_attribute(word: Word) -> bool:
    return len(word.text) > 1 and word.text[0] in "+-="


@command("chflags", "chcon", "restorecon")
def labels(inv: Invocation, low: Lowering) -> None:
    opts = parse(
        inv.args,
        values=("-t", "-u", "-r", "-l", "--reference", "--type", "--user", "--role", "--range"),
        aliases=_ALIASES,
    )
    if informs(opts) or opts.has("-n"):
        return
    named = (
        opts.has("-t", "-u", "-l", "--reference", "--type", "--user", "--role", "--range") or inv.name == "restorecon"
    )
    for target in opts.operands if named else opts.operands[1:]:
        low.permission(target, recursive=opts.has("-R"))
