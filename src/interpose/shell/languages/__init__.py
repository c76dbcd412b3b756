"""Program texts on a command line, lowered to the same effects. One module per language, imported when met."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from interpose.shell.invocation import Lowering

# The modules hold what commands and languages have in common; none is imported before it is met.
__all__ = [
    "LANGUAGES",
    "Lower",
    "awk",
    "cmd",
    "lower_of",
    "powershell",
    "powershell_tables",
    "sed",
    "windows_paths",
]

Lower = Callable[[str, Lowering, str], None]
"""Says what a program text would do: its code, where to say it, and the wrapper it came through."""

LANGUAGES: dict[str, str] = {
    "python": "interpose.shell.languages.python:lower",
    "javascript": "interpose.shell.languages.javascript:lower",
    "powershell": "interpose.shell.languages.powershell:lower",
    "cmd": "interpose.shell.languages.cmd:lower",
    "awk": "interpose.shell.languages.awk:lower",
    "sed": "interpose.shell.languages.sed:lower",
    "sql": "interpose.shell.languages.sql:lower",
    "perl": "interpose.shell.languages.generic:perl",
    "ruby": "interpose.shell.languages.generic:ruby",
    "php": "interpose.shell.languages.generic:php",
    "lua": "interpose.shell.languages.generic:lua",
    "r": "interpose.shell.languages.generic:r",
    "julia": "interpose.shell.languages.generic:julia",
    "tcl": "interpose.shell.languages.generic:tcl",
    "groovy": "interpose.shell.languages.generic:groovy",
    "literals": "interpose.shell.languages.literals:lower",
    "commands": "interpose.shell.languages.command_texts:lower",
    "hcl": "interpose.shell.languages.command_texts:hcl",
    "manifest": "interpose.shell.languages.command_texts:manifest",
    "package": "interpose.shell.languages.command_texts:package",
    "osascript": "interpose.shell.languages.generic:osascript",
}

_loaded: dict[str, Lower] = {}


def lower_of(language: str) -> Lower | None:
    """The function that lowers programs of a language, or None for a language we do not know."""
    found = _loaded.get(language)
    if found is None and (place := LANGUAGES.get(language)):
        module, _, name = place.partition(":")
        found = getattr(import_module(module), name)
        _loaded[language] = found
    return found
