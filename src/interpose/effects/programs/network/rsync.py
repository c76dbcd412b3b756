"""rsync: copies here and to other machines, and what it removes on the way."""

from __future__ import annotations

from collections.abc import Sequence

from interpose.effects.frozen_values import words
from interpose.effects.handler_table import command
from interpose.effects.invocation import UNKNOWN, Invocation, Lowering, Stream, Word
from interpose.effects.programs.shared.options import parse
from interpose.effects.programs.shared.remote_operands import is_remote, upload
from interpose.effects.programs.shared.streams import informs
from interpose.effects.streams import joined

_VALUES = words(
    """
    -e -f -T -B -M -@ --rsync-path --files-from --exclude-from --include-from --exclude --include --filter
    --password-file --log-file --log-file-format --backup-dir --suffix --temp-dir --partial-dir --compare-dest
    --copy-dest --link-dest --chmod --chown --bwlimit --timeout --port --max-size --min-size --max-delete
    --out-format --info --debug --iconv --usermap --groupmap --block-size --compress-level --address --contimeout
    --sockopts --write-batch --read-batch --only-write-batch --protocol --remote-option --stop-after --modify-window
    """
)
_ALIASES = {"--rsh": "-e", "--dry-run": "-n", "--del": "--delete", "--archive": "-a", "--verbose": "-v"}
_DELETES = ("--delete", "--delete-before", "--delete-during", "--delete-delay", "--delete-after", "--delete-excluded")


@command("rsync", "openrsync")
def rsync(inv: Invocation, low: Lowering) -> None:
    opts = parse(
        inv.args,
        values=_VALUES,
        aliases=_ALIASES,
        long=("--help", "--version", "--list-only", "--remove-source-files", *_DELETES),
    )
    if informs(opts):
        return
    for shell in opts.values("-e"):
        low.shell(shell, via="rsync -e")
    for name, value in inv.env:
        if name == "RSYNC_RSH":
            low.shell(value, via="RSYNC_RSH")
    if opts.has("-n", "--list-only") or not opts.operands:
        return
    remote_command = opts.value("--rsync-path")
    if remote_command is not None:
        low.shell(remote_command, via="rsync --rsync-path")
    for file in opts.values("--files-from", "--exclude-from", "--include-from", "--password-file", "--read-batch"):
        low.read(file)
    for file in opts.values("--log-file", "--write-batch", "--only-write-batch"):
        low.write(file)
    *sources, target = opts.operands if len(opts.operands) > 1 else (*opts.operands, None)
    content = joined(_read(source, low) for source in sources if source is not None)
    if target is None:
        return
    _write(target, sources[0], content, low)
    _fill(target, sources, low)
    if opts.has(*_DELETES):
        _mirror(target, low)
    if opts.has("--remove-source-files", "--remove-sent-files"):
        for source in sources:
            if source is not None:
                _remove(source, "rsync-remove-source", "The source files are removed after they were copied", low)


def _read(source: Word, low: Lowering) -> Stream:
    if is_remote(source):
        low.emit("net.download", source.text, at=source)
        return Stream(None, frozenset({"remote"}))
    return low.read(source, recursive=True)


def _write(target: Word, source: Word | None, content: Stream, low: Lowering) -> None:
    if is_remote(target):
        upload(target, content, low, source)
        return
    if target.text.endswith(("/", ".")) and source is not None and not source.text.endswith("/"):
        name = source.text.rpartition("/")[2].rpartition(":")[2]
        low.write(
            Word(f"{target.text.rstrip('/')}/{name}", target.span, target.glob, target.quoted, target.taints),
            content,
            directory=True,
        )
        return
    low.write(target, content, directory=target.text.endswith("/"))


def _fill(target: Word, sources: Sequence[Word | None], low: Lowering) -> None:
    """A source with a slash at its end stands for what lies in it; another lands under its own name."""
    if is_remote(target):
        return
    for source in sources:
        name = source.text.rpartition("/")[2].rpartition(":")[2] if source is not None else ""
        if source is None or name in ("", ".", ".."):
            low.fill(target, everything=True)
            low.plant(target)
            continue
        single = source.known and not source.glob
        low.fill(target, name=name if single else "")
        low.plant(target, name if single else None)
        low.fill(Word(f"{target.text.rstrip('/')}/{name}", target.span, target.glob, target.quoted, target.taints))


def _mirror(target: Word, low: Lowering) -> None:
    _remove(target, "rsync-delete", "Whatever the source does not have is deleted in the target", low)


def _remove(place: Word, rule: str, reason: str, low: Lowering) -> None:
    if not is_remote(place):
        low.delete(place, recursive=True, rule=rule, reason=reason)
    low.emit(
        "data.destroy",
        place.text if is_remote(place) or UNKNOWN in place.text else low.path(place),
        at=place,
        rule=rule,
        reason=reason,
    )
