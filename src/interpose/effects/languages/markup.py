"""Small languages in which a command hides between text: m4, roff, TeX, calculators, templates, Raku's quotes."""

from __future__ import annotations

import re

from interpose.effects.invocation import Lowering
from interpose.effects.languages import foreign
from interpose.effects.languages.generic import perl, ruby

_M4 = re.compile(r"\be?syscmd\(\s*[`\[({]*([^`'\[\]]{1,2000})")
_M4_FILE = re.compile(r"\bs?include\(\s*[`\[]*([^`'\[\]()]{1,300})")
_ROFF = re.compile(r"^[.'][ \t]*(?:sy|pso|pi|!)[ \t]+(.{1,2000})$", re.MULTILINE)
_ROFF_FILE = re.compile(r"^[.'][ \t]*(open|opena|so|mso|cf|trf)[ \t]+(?:\w+[ \t]+)?(\S{1,300})", re.MULTILINE)
_TEX = re.compile(r"\\(?:write\s*18|ShellEscape|shellescape|sys_shell_now:n|bashcmd|perlcmd|executeiffilenewer)\s*")
_TEX_PIPE = re.compile(r"\\(?:input|include|openin[^=]{0,20}=)\s*\{?\s*\|\s*\"?([^\"}\n]{1,2000})")
_TEX_FILE = re.compile(r"\\(?:input|include|verbatiminput|lstinputlisting|openin[^=]{0,20}=)\s*\{?([^\s|}\\]{1,300})")
_TEX_LUA = re.compile(r"\\(?:directlua|latelua|luaexec|luadirect)\s*")
_BANG = re.compile(r"(?:^|[;\n])[ \t]*!(?![=<>])[ \t]*([^\n]{1,2000})")
_PIPED = re.compile(r"""["'][ \t]*[|<][ \t]*([^"'\n]{1,2000})["']""")
_RAKU_WORDS = re.compile(r"\b(run|shell|Proc::Async\.new)\s*\(?\s*<([^<>]{1,400})>")

_COMMAND_STEPS = 20
"""Of each command that is found in a text, beside those of its words."""


def m4(code: str, low: Lowering, via: str) -> None:
    """`syscmd` and `esyscmd` run commands, `include` reads files."""
    for match in _M4.finditer(code):
        low.spend(_COMMAND_STEPS)
        low.shell(match[1].rstrip(") \n"), via=via)
    for match in _M4_FILE.finditer(code):
        low.read(match[1])


def roff(code: str, low: Lowering, via: str) -> None:
    """The requests that run a command or open a file."""
    for match in _ROFF.finditer(code):
        low.spend(_COMMAND_STEPS)
        low.shell(match[1], via=via)
    for match in _ROFF_FILE.finditer(code):
        if match[1].startswith("open"):
            low.write(match[2])
        else:
            low.read(match[2])


def tex(code: str, low: Lowering, via: str) -> None:
    """`\\write18` and its kin run commands, `\\directlua` runs Lua."""
    for match in _TEX.finditer(code):
        low.spend(_COMMAND_STEPS)
        low.shell(_group(code, match.end()), via=via)
    for match in _TEX_PIPE.finditer(code):
        low.shell(match[1], via=via)
    for match in _TEX_LUA.finditer(code):
        low.code("lua", _group(code, match.end()), via=via)
    for match in _TEX_FILE.finditer(code):
        low.read(match[1])


def _group(code: str, start: int) -> str:
    """What stands in braces from `start` on."""
    if code[start : start + 1] != "{":
        return code[start : start + 2000].partition("\n")[0]
    depth = 0
    for index in range(start, min(len(code), start + 4000)):
        if code[index] == "{":
            depth += 1
        elif code[index] == "}":
            depth -= 1
            if depth == 0:
                return code[start + 1 : index]
    return code[start + 1 : start + 4000]


def calculator(code: str, low: Lowering, via: str) -> None:
    """Programs in which a line that starts with `!` is a command: dc, gnuplot, Matlab, ftp's and debuggers' prompts."""
    for match in (*_BANG.finditer(code), *_PIPED.finditer(code)):
        low.spend(_COMMAND_STEPS)
        low.shell(match[1], via=via)
    low.code("octave", code, via=via)


def haskell(code: str, low: Lowering, via: str) -> None:
    """A line of its prompt that starts with `:!` is a command."""
    for line in code.split("\n"):
        if line.lstrip().startswith(":!"):
            low.spend(_COMMAND_STEPS)
            low.shell(line.lstrip()[2:], via=via)
    foreign.lower(code, low, via)


def erb(code: str, low: Lowering, via: str) -> None:
    """A template: what stands between its marks is Ruby."""
    start = code.find("<%")
    while start >= 0:
        end = code.find("%>", start)
        ruby(code[start + 2 : end if end >= 0 else len(code)].lstrip("-="), low, via)
        start = code.find("<%", end) if end >= 0 else -1


def raku(code: str, low: Lowering, via: str) -> None:
    """Raku reads like Perl, but words are quoted by angles."""
    perl(_RAKU_WORDS.sub(lambda match: f"system('{match[2]}'", code).replace("qqx", "qx"), low, via)
