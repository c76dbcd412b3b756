"""Operands of the form `host:path`, and what is sent there or comes from there."""

from __future__ import annotations

from interpose.effects.invocation import Lowering, Stream, Word
from interpose.effects.programs.shared.transfer import holds_home, keeps_keys


def is_remote(word: Word) -> bool:
    """Whether a file operand names another machine. With a slash in front of the colon it is local, as for rsync."""
    text = word.text
    if text.startswith(("rsync://", "ssh://", "sftp://", "ftp://", "http://", "https://")):
        return True
    head, colon, _ = text.partition(":")
    # One letter in front of the colon is a Windows drive.
    return bool(colon) and "/" not in head and len(head) > 1


def upload(target: Word, content: Stream, low: Lowering, source: Word | None = None) -> None:
    """State that `content` goes to another machine. Nobody can say what a directory of keys holds."""
    unseen = source is not None and (keeps_keys(source.text) or holds_home(source, low))
    low.emit("net.upload", target.text, at=target, secret="secret" in content.taints, file=unseen)
