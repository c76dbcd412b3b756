"""Editors: the files they open, and what they are told to do when nobody sits in front of them."""

from __future__ import annotations

from collections.abc import Callable

from interpose.effects.frozen_values import words
from interpose.effects.handler_table import command
from interpose.effects.invocation import UNKNOWN, Invocation, Lowering, Stream, Word
from interpose.effects.programs.shared.options import parse
from interpose.effects.programs.text.emacs_lisp import lower_lisp
from interpose.effects.programs.text.ex_commands import lower_ex, opened_by

_VIM_VALUES = words(
    """
    -c -S -s -u -U -i -w -W -T -t -q -r -P --cmd --servername --remote-send --remote-expr --listen --startuptime -l
    """
)


_SILENT = frozenset({"-es", "-Es", "-se", "-sE"})
"""Together these are flags of ex mode; alone, -s takes a script of keys."""
_NO_SCRIPT = frozenset({"NONE", "NORC", "DEFAULTS"})


@command(*words("vim vi nvim gvim mvim view rvim rview vimdiff gvimdiff ex elvis vile nvi"))
def vim(inv: Invocation, low: Lowering) -> None:
    args = tuple(word for word in inv.args if word.text not in _SILENT)
    silent = inv.name == "ex" or len(args) < len(inv.args)
    opts = parse(args, values=_VIM_VALUES - {"-s"} if inv.name == "ex" else _VIM_VALUES)
    if opts.has("--help", "--version", "-h"):
        return
    files = [word for word in opts.operands if not word.text.startswith("+")]
    for word in opts.operands:
        if word.text.startswith("+") and not word.text[1:].isdecimal():
            lower_ex(word.text[1:], files, low, inv.name)
    for option in ("--cmd", "-c"):
        for code in opts.values(option):
            _ex(code, files, low, f"{inv.name} {option}")
            files = [*files, *opened_by(code.text)]
    for script in opts.values("-l") if inv.name == "nvim" else ():
        low.run_file(script, via="nvim -l", language="lua")
    for script in opts.values("-S", "-l", "-u"):
        if script.text not in _NO_SCRIPT:
            _script(script, low, lambda text: lower_ex(text, [], low, f"{inv.name} -S"))
    for keys in opts.values("-s"):
        low.read(keys)
    for keys in opts.values("-w", "-W"):
        low.write(keys)
    if inv.stdin is not None and silent:
        _ex_stream(inv.stdin, files, low, f"{inv.name} <")
    for file in files:
        if file.text != "-":
            low.read(file)


def _ex(code: Word, files: list[Word], low: Lowering, via: str) -> None:
    if UNKNOWN in code.text:
        low.emit("opaque", via, certainty="unknown", at=code, reason="The editor's commands are computed")
    lower_ex(code.text, files, low, via)


def _ex_stream(stream: Stream, files: list[Word], low: Lowering, via: str) -> None:
    if stream.text is None:
        low.emit("opaque", via, certainty="unknown", reason="The editor's commands come from elsewhere")
        return
    lower_ex(stream.text, files, low, via)


def _script(script: Word, low: Lowering, lower: Callable[[str], None]) -> None:
    content = low.read(script)
    if content.text is not None:
        lower(content.text)
        return
    low.emit("opaque", low.path(script), certainty="unknown", at=script, rule="editor-script",
             reason="The editor runs a script whose content is not known")  # fmt: skip


@command("ed", "red")
def ed(inv: Invocation, low: Lowering) -> None:
    opts = parse(
        inv.args, values=("-p", "--prompt"), long=("--help", "--version", "--silent", "--quiet", "--restricted")
    )
    if opts.has("--help", "--version"):
        return
    files = [word for word in opts.operands if not word.text.startswith("!")]
    for word in opts.operands:
        if word.text.startswith("!"):
            low.shell(word.text[1:], via="ed !")
    for file in files:
        low.read(file)
    if inv.stdin is not None:
        _ex_stream(inv.stdin, files, low, "ed <")


_EMACS_VALUES = words(
    """
    -l --load --eval --execute -f --funcall --script -x --insert -d --display -t --chdir --init-directory -s
    --socket-name -a --alternate-editor -e
    """
)


@command("emacs", "emacs-nox", "emacsclient", "xemacs", "mg", "jmacs")
def emacs(inv: Invocation, low: Lowering) -> None:
    values = tuple(
        value for value in _EMACS_VALUES if value not in ("-e", "-s", "-a", "-d") or inv.name == "emacsclient"
    )
    opts = parse(_long_dashes(inv.args), values=values, long=("--help", "--version", "--batch"))
    if opts.has("--help", "--version"):
        return
    for code in opts.values("--eval", "--execute", "-e"):
        if not code.known:
            low.emit("opaque", inv.name, certainty="unknown", at=code, reason="The editor's commands are computed")
        lower_lisp(code.text, low, f"{inv.name} --eval")
    for script in opts.values("-l", "--load", "--script", "-x"):
        _script(script, low, lambda text: lower_lisp(text, low, f"{inv.name} --load"))
    alternate = opts.value("-a", "--alternate-editor")
    if alternate is not None and alternate.text:
        low.shell(alternate, via="emacsclient -a")
    for file in (*opts.operands, *opts.values("--insert")):
        if not file.text.startswith("+"):
            low.read(file)


def _long_dashes(args: tuple[Word, ...]) -> tuple[Word, ...]:
    """emacs takes `-eval` for `--eval`."""
    return tuple(
        Word(f"-{word.text}", word.span, word.glob, word.quoted, word.taints)
        if word.text in ("-batch", "-eval", "-load", "-script", "-execute", "-funcall", "-insert")
        else word
        for word in args
    )


@command(
    *words(
        """
    nano pico micro joe jed kak hx helix code code-insiders subl gedit kate mousepad codium cursor zed nvim-qt ne
    mcedit tilde
    """
    )
)
def other(inv: Invocation, low: Lowering) -> None:
    values = {
        "nano": words("-r -T -C -o -Q -s -Y -J -X"),
        "kak": ("-e", "-E", "-c", "-s", "-f", "-p"),
        "code": words(
            """
        --user-data-dir --extensions-dir --install-extension --uninstall-extension --locale --profile --category
        --add-mcp --log
        """
        ),
    }.get(inv.name, ())
    opts = parse(inv.args, values=values, long=("--help", "--version"))
    if opts.has("--help", "--version"):
        return
    speller = opts.value("-s") if inv.name == "nano" else None
    if speller is not None:
        low.shell(speller, via="nano -s")
    for extension in opts.values("--install-extension"):
        low.emit("package.install", extension.text, at=extension)
    for word in inv.args:
        if word.text.partition("=")[0] == "--add-mcp":
            low.emit("guard.tamper", inv.name, at=word, certainty="possible", rule="agent-settings",
                     reason="Gives an agent another tool server, past whoever watches the others")  # fmt: skip
    for file in opts.operands:
        if not file.text.startswith("+") and "://" not in file.text:
            low.read(file)
