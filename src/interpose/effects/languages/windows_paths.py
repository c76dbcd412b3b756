"""Windows paths in the terms that our paths are judged in: a drive's root is a root, a profile is a home."""

from __future__ import annotations

from interpose.effects.invocation import Word

_HOME = ("%userprofile%", "%homepath%", "$env:userprofile", "$home", "%home%", "~")
_SYSTEM = ("windows", "program files", "program files (x86)", "programdata", "progra~1")


def posix(text: str, home: str) -> str:
    """The place that a Windows path stands for. Paths that already are POSIX stay as they are."""
    lowered = text.replace("\\", "/").lower()
    plain = text.replace("\\", "/")
    for name in _HOME:
        if lowered == name or lowered.startswith(name + "/"):
            return home + plain[len(name) :]
    for name in ("%systemroot%", "%windir%", "$env:systemroot", "$env:windir"):
        if lowered.startswith(name):
            return "/usr" + plain[len(name) :]
    for name in ("%systemdrive%", "$env:systemdrive", "$env:homedrive", "%homedrive%"):
        if lowered.startswith(name):
            return _on_drive("c", plain[len(name) :])
    for name in ("%temp%", "%tmp%", "$env:temp", "$env:tmp"):
        if lowered.startswith(name):
            return "/tmp" + plain[len(name) :]  # noqa: S108 - the place that is meant
    if len(text) >= 2 and text[1] == ":" and text[0].isalpha():
        return _on_drive(text[0].lower(), plain[2:])
    return plain


def _on_drive(drive: str, rest: str) -> str:
    rest = rest.strip()
    parts = [part for part in rest.split("/") if part and part != "."]
    if not parts or parts in (["*"], ["*.*"]):
        return "/" if not parts else "/*"
    head = parts[0].lower()
    if head in _SYSTEM:
        return "/".join(["/usr", *parts[1:]])
    if head == "users":
        return "/".join(["/home", *parts[1:]])
    return "/".join(["/mnt", drive, *parts])


def posix_word(word: Word, home: str) -> Word:
    """The same word with a path that we can judge."""
    return Word(posix(word.text, home), word.span, word.glob or "*" in word.text, word.quoted, word.taints)
