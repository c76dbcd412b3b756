"""Emacs Lisp given on the command line: calls that run, delete or write."""

from __future__ import annotations

import re

from interpose.effects.invocation import Lowering, Stream, Word

_TOKEN = re.compile(
    r"""\s+|;[^\n]*|(?P<open>\()|(?P<close>\))|"(?P<string>(?:[^"\\]|\\[\s\S])*)(?:"|\\?\Z)|(?P<atom>[^\s()";]+)|."""
)

MAX_TOKENS = 5000

_SHELL = frozenset(
    {"shell-command", "shell-command-to-string", "async-shell-command", "compile", "shell-command-on-region"}
)
_SHELL_LAST = frozenset(
    {"call-process-shell-command", "start-process-shell-command", "start-file-process-shell-command", "make-process"}
)
"""The command is the last text among their arguments."""
_CODE = frozenset({"read", "read-from-string", "eval", "car", "eval-string"})
_PROCESS = {
    "call-process": 4,
    "start-process": 2,
    "process-file": 4,
    "call-process-region": 6,
    "start-file-process": 2,
    "process-lines": 0,
}
"""How many arguments stand between the program and its own arguments."""
_DELETES = frozenset({"delete-file", "delete-directory", "move-file-to-trash"})
_WRITES = frozenset({"write-region", "write-file", "append-to-file", "copy-file", "rename-file", "make-symbolic-link"})
_READS = frozenset({"insert-file-contents", "find-file", "find-file-noselect", "insert-file", "load", "load-file"})


def lower_lisp(code: str, low: Lowering, via: str) -> None:
    """State what the calls in `code` do. Arguments that are no string literals count as unknown."""
    stack: list[list[str | None]] = []
    for count, token in enumerate(_TOKEN.finditer(code)):
        if count > MAX_TOKENS:
            low.emit("opaque", via, certainty="unknown", reason="This Lisp program is too long to be understood")
            return
        if token.group("open"):
            stack.append([])
        elif token.group("close"):
            if stack:
                _call(stack.pop(), low, via)
            if stack:
                stack[-1].append(None)
        elif token.group("string") is not None:
            text = re.sub(r"\\([\s\S])", r"\1", token.group("string"))
            if stack:
                stack[-1].append(f'"{text}')
        elif token.group("atom") and stack:
            stack[-1].append(token.group("atom"))


def _text(form: list[str | None], index: int) -> str | None:
    value = form[index] if index < len(form) else None
    return value[1:] if value is not None and value.startswith('"') else None


def _call(form: list[str | None], low: Lowering, via: str) -> None:
    name = (form[0] if form else None) or ""
    name = name.lstrip("'#")
    if name in _SHELL:
        code = next((text for at in range(1, len(form)) if (text := _text(form, at)) is not None), None)
        low.shell(code if code is not None else Stream(None, frozenset({"input"})), via=via)
    elif name in _SHELL_LAST:
        texts = [text for at in range(1, len(form)) if (text := _text(form, at)) is not None]
        low.shell(
            texts[0] if texts and name == "call-process-shell-command" else texts[-1] if texts else Stream(), via=via
        )
    elif name in _CODE and (code := _text(form, 1)) is not None and "(" in code:
        lower_lisp(code, low, via)
    elif name in _PROCESS:
        _process(form, _PROCESS[name], low, via)
    elif name in _DELETES:
        path = _text(form, 1)
        if path is not None:
            low.delete(path, recursive="t" in form[2:], forced=True)
    elif name in _WRITES:
        for at in range(1, len(form)):
            path = _text(form, at)
            if path is not None:
                low.write(path)
    elif name in _READS:
        path = _text(form, 1)
        if path is not None:
            low.read(path)


def _process(form: list[str | None], between: int, low: Lowering, via: str) -> None:
    texts = [text for at in range(1, len(form)) if (text := _text(form, at)) is not None]
    if between == 2 and len(texts) > 1:
        # start-process names the process before the program.
        texts = texts[1:]
    if texts:
        low.run(tuple(Word(text) for text in texts), via=via)
    else:
        low.shell(Stream(None, frozenset({"input"})), via=via)
