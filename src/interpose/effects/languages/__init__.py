"""Program texts on a command line, lowered to the same effects. One module per language, imported when met."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from interpose.effects.invocation import Lowering

# The modules hold what commands and languages have in common; none is imported before it is met.
__all__ = [
    "LANGUAGES",
    "PROGRAMS",
    "Lower",
    "awk",
    "cmd",
    "decoding",
    "lower_of",
    "powershell",
    "powershell_tables",
    "sed",
    "windows_paths",
]

Lower = Callable[[str, Lowering, str], None]
"""Says what a program text would do: its code, where to say it, and the wrapper it came through."""

LANGUAGES: dict[str, str] = {
    "python": "interpose.effects.languages.python:lower",
    "javascript": "interpose.effects.languages.javascript:lower",
    "powershell": "interpose.effects.languages.powershell:lower",
    "cmd": "interpose.effects.languages.cmd:lower",
    "awk": "interpose.effects.languages.awk:lower",
    "sed": "interpose.effects.languages.sed:lower",
    "sql": "interpose.effects.languages.sql:lower",
    "perl": "interpose.effects.languages.generic:perl",
    "ruby": "interpose.effects.languages.generic:ruby",
    "php": "interpose.effects.languages.generic:php",
    "lua": "interpose.effects.languages.generic:lua",
    "r": "interpose.effects.languages.generic:r",
    "julia": "interpose.effects.languages.generic:julia",
    "tcl": "interpose.effects.languages.tcl:lower",
    "groovy": "interpose.effects.languages.generic:groovy",
    **dict.fromkeys(
        (
            "go",
            "rust",
            "java",
            "kotlin",
            "scala",
            "c",
            "csharp",
            "ocaml",
            "lisp",
            "erlang",
            "nim",
            "zig",
            "d",
            "swift",
            "forth",
            "factor",
        ),
        "interpose.effects.languages.foreign:lower",
    ),
    **dict.fromkeys(
        ("prolog", "octave", "jvm-script", "dart", "pascal", "vlang"),
        "interpose.effects.languages.foreign:lower_quoted",
    ),
    "haskell": "interpose.effects.languages.markup:haskell",
    "raku": "interpose.effects.languages.markup:raku",
    "m4": "interpose.effects.languages.markup:m4",
    "roff": "interpose.effects.languages.markup:roff",
    "tex": "interpose.effects.languages.markup:tex",
    "calculator": "interpose.effects.languages.markup:calculator",
    "erb": "interpose.effects.languages.markup:erb",
    "osascript": "interpose.effects.languages.applescript:lower",
    "commands": "interpose.effects.languages.command_texts:lower",
    "hcl": "interpose.effects.languages.command_texts:hcl",
    "manifest": "interpose.effects.languages.command_texts:manifest",
    "package": "interpose.effects.languages.command_texts:package",
}

PROGRAMS: dict[str, str] = {
    "sh": "bash", "zsh": "bash", "dash": "bash", "ksh": "bash", "ash": "bash", "node": "javascript",
    "bun": "javascript",
    "deno": "javascript", "tsx": "javascript", "ts-node": "javascript", "tclsh": "tcl", "wish": "tcl", "expect": "tcl",
    "Rscript": "r", "pwsh": "powershell", "luajit": "lua", "gawk": "awk", "mawk": "awk", "nawk": "awk",
    "rust-script": "rust", "guile": "lisp", "racket": "lisp", "sbcl": "lisp", "bb": "lisp", "clojure": "lisp",
    "escript": "erlang", "elixir": "ruby", "crystal": "ruby", "runghc": "haskell", "runhaskell": "haskell",
    "swipl": "prolog", "octave": "octave", "kotlin": "kotlin", "scala": "scala", "jshell": "java", "java": "java",
    "rakudo": "raku", "perl6": "raku", "uv": "python", "pypy": "python", "ipython": "python", "jruby": "ruby",
    "tcc": "c", "rdmd": "d", "gorun": "go", "yaegi": "go", "osascript": "osascript", "ocaml": "ocaml", "rake": "ruby",
}  # fmt: skip
"""The language that a program in a script's first line reads. Others are called as their language is."""

_loaded: dict[str, Lower] = {}


def lower_of(language: str) -> Lower | None:
    """The function that lowers programs of a language, or None for a language we do not know."""
    found = _loaded.get(language)
    if found is None and (place := LANGUAGES.get(language)):
        module, _, name = place.partition(":")
        found = getattr(import_module(module), name)
        _loaded[language] = found
    return found
