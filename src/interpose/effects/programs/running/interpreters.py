"""Interpreters: a program after an option, a script file, or whatever flows in through stdin. Data first."""

from __future__ import annotations

import re
from base64 import b64decode
from itertools import pairwise
from urllib.parse import unquote

from msgspec import Struct
from msgspec.structs import replace

from interpose.effects.frozen_values import words
from interpose.effects.handler_table import HANDLERS, Handler, command
from interpose.effects.invocation import NOTHING, UNKNOWN, Invocation, Lowering, Stream, Word
from interpose.effects.languages import sed as sed_language
from interpose.effects.programs.data.migrations import TOOLS as MIGRATIONS
from interpose.effects.programs.running.shells import code_behind
from interpose.effects.programs.shared.options import Options, parse

_SUBSTITUTION = re.compile(r"\s*s([/|#,!])(?:(?!\1)[^\\]|\\.)*\1(?:(?!\1)[^\\$@]|\\.)*\1[gimsx]*;?\s*")
"""A program of one substitution, which Perl and Ruby read as sed does."""


class Interpreter(Struct, frozen=True, kw_only=True):
    """How one interpreter reads its command line."""

    language: str
    code: tuple[str, ...]
    """Options whose value is program text; several are joined as lines."""
    values: tuple[str, ...] = ()
    """Other options with a value."""
    attached: tuple[str, ...] = ()
    """Short options whose value is optional and attached."""
    files: tuple[str, ...] = ()
    """Options whose value is a file that is run."""
    checks: tuple[str, ...] = ()
    """Options with which nothing runs."""
    loops: bool = False
    """`-n` and `-p` run the code over the files given, `-i` rewrites them."""
    inform: tuple[str, ...] = ("--help", "--version", "-h", "-V", "-v")
    bundle: bool = True
    """`-ne` is `-n -e`; False where long options have one dash (`erl -eval`)."""


_PERL = Interpreter(language="perl", code=("-e", "-E"), values=("-I",), attached=("-i", "-M", "-m", "-F", "-x", "-C",
    "-d", "-D"),
                    checks=("-c",), loops=True, inform=("--help", "--version", "-h", "-V", "-v"))  # fmt: skip
_RUBY = Interpreter(language="ruby", code=("-e",), values=("-I", "-C", "-r", "-E"), attached=("-i", "-F", "-x", "-K",
    "-W", "-T"),
                    checks=("-c",), loops=True, inform=("--help", "--version", "-h"))  # fmt: skip
_NODE = Interpreter(language="javascript", code=("-e", "--eval", "--print"), files=("-r", "--require", "--import"),
                    checks=("-c", "--check"),
                    values=("-C", "--conditions", "--loader", "--experimental-loader", "--env-file", "--input-type",
                            "--title", "--tsconfig", "-P", "--project", "-O", "--compiler-options", "--cwd",
                            "--test-reporter"))  # fmt: skip
_ENGINE = Interpreter(language="javascript", code=("-e", "--eval", "-c"), files=("-f",), values=("-m", "-I"))
"""Engines without Node's library."""
_LUA = Interpreter(language="lua", code=("-e",), values=("-l",), inform=("--version", "-v"))

INTERPRETERS: dict[str, Interpreter] = {
    **dict.fromkeys(("perl", "perl5", "cperl"), _PERL),
    **dict.fromkeys(("ruby", "jruby", "irb", "truffleruby"), _RUBY),
    **dict.fromkeys(("node", "nodejs", "tsx", "ts-node", "ts-node-esm", "esno", "vite-node", "babel-node", "jiti"),
                    _NODE),
    **dict.fromkeys(("iojs", "electron", "zx", "swc-node", "sucrase-node", "esr", "tsimp", "coffee", "lsc",
                     "bare"), _NODE),
    **dict.fromkeys(("qjs", "quickjs", "d8", "jsc", "js", "rhino", "gjs", "cjs", "njs", "mujs", "jjs", "hermes", "xst",
                     "graaljs", "v8", "spidermonkey", "txiki", "tjs", "llrt"), _ENGINE),
    **dict.fromkeys(("lua", "luajit", "lua5.1", "lua5.2", "lua5.3", "lua5.4", "texlua"), _LUA),
    **dict.fromkeys(
        ("R", "Rscript", "littler"),
        Interpreter(language="r", code=("-e", "--expr"), values=("-g", "--gui", "-d"), files=("-f", "--file"),
                    inform=("--help", "--version")),
    ),
    "julia": Interpreter(language="julia", code=("-e", "--eval", "-E", "--print"), files=("-L", "--load"),
                         values=("-p", "-t", "--threads", "--procs", "-J", "--sysimage", "-C", "-O", "-g", "-m"),
                         attached=("-i",)),
    "tclsh": Interpreter(language="tcl", code=()), "wish": Interpreter(language="tcl", code=()),
    "expect": Interpreter(language="tcl", code=("-c",), files=("-f",), values=("-b",), inform=("-v",)),
    "groovy": Interpreter(language="groovy", code=("-e",), values=("-c", "-cp", "-classpath", "--classpath", "-i")),
    "elixir": Interpreter(language="ruby", code=("-e", "--eval"), values=("-r", "-S", "-pa", "-pz", "--name",
        "--sname", "--cookie")),
}  # fmt: skip


def interpret(spec: Interpreter, family: str) -> Handler:
    """The handler of an interpreter. `family` is the module that holds its table."""

    def run(inv: Invocation, low: Lowering) -> None:
        args = inv.args
        if spec.language == "javascript":
            args = tuple(Word("--print", word.span) if word.text == "-p" else word for word in args)
        if not spec.bundle:
            args = tuple(_with_equals(word, spec.code) for word in args)
        options = _sorted(args, spec)
        code = options.values(*spec.code)
        # A perl or ruby that only checks a program still runs its BEGIN blocks.
        checks = options.has(*spec.checks) and not any("BEGIN" in word.text or "use " in word.text for word in code)
        if checks or (options.has(*spec.inform) and not code and not options.operands):
            return
        for path in options.values(*spec.files):
            _loads(path, spec.language, inv, low)
        for module in options.values("-M", "-m") if spec.language == "perl" else ():
            if any(mark in module.text for mark in ";({`"):
                low.code("perl", Word(f"use {module.text};", module.span, taints=module.taints), via=inv.name)
        if code:
            _over_files(spec, options, inv, low)
            if spec.language == "ruby" and "un" in [word.text for word in options.values("-r")]:
                # `ruby -run -e rm -- -rf x`: the library of that name has the commands of a shell.
                low.run((code[0], *options.operands), via=inv.name)
            # What a program is worth is printed: the reader knows it by the wrapper's name.
            prints = spec.language == "javascript" and options.has("--print", "-p")
            low.code(spec.language, _lines(code), via=f"{inv.name} -p" if prints else inv.name)
        elif options.values(*spec.files) and spec.language in ("r", "tcl"):
            return
        else:
            _run_operand(inv, low, options, spec)

    run.__module__ = family
    return run


def _loads(path: Word, language: str, inv: Invocation, low: Lowering) -> None:
    """A file that is run first: by its name, or a program in an address."""
    if path.text.startswith("data:"):
        kind, _, body = path.text.partition(",")
        text = unquote(body) if not kind.endswith(";base64") else _decoded(body)
        low.code(language, Word(text, path.span, taints=path.taints), via=inv.name)
    elif path.text.startswith(("http://", "https://")):
        low.emit("code.remote", path.text, at=path)
    else:
        low.run_file(path, via=inv.name, language=language)


def _decoded(body: str) -> str:
    try:
        return b64decode(unquote(body), validate=False).decode("utf-8", "replace")
    except ValueError:
        return UNKNOWN


def _with_equals(word: Word, code: tuple[str, ...]) -> Word:
    """`--eval:x` is `--eval=x` to some."""
    name, colon, value = word.text.partition(":")
    return Word(f"{name}={value}", word.span, taints=word.taints) if colon and name in code else word


def _sorted(args: tuple[Word, ...], spec: Interpreter) -> Options:
    return parse(args, values=(*spec.code, *spec.values, *spec.files), attached=spec.attached, stop=True,
                 bundle=spec.bundle)  # fmt: skip


_VERBS = frozenset({"run", "exec", "script", "e", "r", "repl", "shell"})
"""What some interpreters want to hear before a script: `crystal run x.cr`."""


def _run_operand(inv: Invocation, low: Lowering, options: Options, spec: Interpreter) -> None:
    """A script, a line of code after `eval`, or stdin. What looks like code behind an option we don't know is code."""
    operands = options.operands
    if options.word(0) == "eval" and len(operands) > 1:
        low.code(spec.language, operands[1], via=inv.name)
        return
    if options.word(0) in _VERBS and len(operands) > 1 and not spec.loops:
        operands = _sorted(operands[1:], spec).operands
    if options.word(0).startswith(("(", "{")) and spec.language in ("lisp", "c"):
        low.code(spec.language, operands[0], via=inv.name)
        return
    run_script(inv, low, operands, spec.language)
    code_behind(operands, spec.code, low, inv.name, spec.language)
    if options.given or options.word(0) in _VERBS:
        for before, word in pairwise(options.operands):
            if before.text in spec.code:
                low.code(spec.language, word, via=inv.name)


_EMPTIES = re.compile(r"s([/|,#])\^?\.\*\$?\1\1[gms]{0,3}|undef(?: |\()?\$_\)?|\$_ ?= ?(?:\"\"|''|undef)")
"""Programs that leave nothing of each line."""


def _over_files(spec: Interpreter, options: Options, inv: Invocation, low: Lowering) -> None:
    if not spec.loops or not options.has("-n", "-p", "-i"):
        return
    taints = inv.stdin.taints if inv.stdin else NOTHING
    program = "\n".join(code.text for code in options.values(*spec.code))
    added = sed_language.added_by(program) if _SUBSTITUTION.fullmatch(program) else None
    for path in options.operands:
        if options.has("-i"):
            emptied = any(_EMPTIES.fullmatch(code.text.strip("; ")) for code in options.values(*spec.code))
            low.write(path, in_place=not emptied, emptied=emptied, added=added)
        else:
            taints |= low.read(path).taints
    low.output(Stream(taints=taints))


def _lines(parts: tuple[Word, ...]) -> Word:
    if len(parts) == 1:
        return parts[0]
    return Word(
        "\n".join(part.text for part in parts), parts[0].span, taints=NOTHING.union(*(part.taints for part in parts))
    )


def run_script(inv: Invocation, low: Lowering, operands: tuple[Word, ...], language: str) -> None:
    """The first operand is the script; without one, stdin is."""
    if operands and operands[0].text not in ("-", "/dev/stdin"):
        if operands[0].text.startswith(("http://", "https://", "data:")):
            _loads(operands[0], language, inv, low)
        else:
            low.run_file(operands[0], via=inv.name, language=language)
            if operands[0].text.rpartition("/")[2] in MIGRATIONS:
                # `python manage.py flush`: a script that is a tool of its own.
                low.run(operands, via=inv.name)
    elif inv.stdin is not None:
        low.code(language, inv.stdin, via=inv.name)


for _name, _spec in INTERPRETERS.items():
    command(_name)(interpret(_spec, __name__))


PYTHONS = ("python", "python2", "python2.7", "python3", *(f"python3.{minor}" for minor in range(20)), "pythonw",
           "pypy", "pypy3",
           *(f"pypy3.{minor}" for minor in range(7, 14)), "ipython", "ipython3", "bpython", "graalpy", "jython",
           "micropython", "py", "ptpython", *(f"python3.{minor}t" for minor in range(13, 16)))  # fmt: skip

LISTENING_MODULES = (
    "http.server",
    "SimpleHTTPServer",
    "CGIHTTPServer",
    "pyftpdlib",
    "smtpd",
    "aiosmtpd",
    "xmlrpc.server",
    "pydoc",
)
SCRIPT_MODULES = (
    "pdb",
    "cProfile",
    "profile",
    "trace",
    "runpy",
    "coverage",
    "kernprof",
    "viztracer",
    "debugpy",
    "scalene",
)


PYTHON_TOOLS = words("""
    pip pip3 pipx poetry pdm uv hatch flit twine pytest tox conda mamba alembic flask ansible interpose
""")
"""Commands that are packages of Python with modules of their own."""
OWN_MODULES = words("""
    script test time watch command code tree install link split sort join cut head tail view make patch at batch mount
    service host select run write kill date env expect comm find locate login mail nice open print read rename reset
    server service setup shell source start stop strings sync truncate type update upload users w which who
""")
"""Names of commands that a project's own modules have: `python -m script` does not record a terminal."""
CONSOLES = frozenset({"code", "asyncio", "IPython", "bpython", "ptpython", "idlelib"})
"""Modules that run what they read."""


@command(*PYTHONS)
def python(inv: Invocation, low: Lowering) -> None:
    options = parse(inv.args, values=("-c", "-m", "-W", "-X", "-Q", "--check-hash-based-pycs"), stop=True)
    code, module = options.value("-c"), options.value("-m")
    if module is not None:
        _python_module(inv, module, low)
    elif code is not None:
        if inv.name.startswith("ipython"):
            _escapes(code, low)
        low.code("python", _hooked(code, inv), via=inv.name)
    elif not options.has("--help", "--version", "-V", "-h") or options.operands:
        run_script(inv, low, options.operands, "python")
        code_behind(options.operands, ("-c",), low, inv.name, "python")


def _escapes(code: Word, low: Lowering) -> None:
    """IPython gives a line that starts with `!` to a shell."""
    for line in code.text.splitlines():
        if line.lstrip().startswith(("!", "%sx ", "%system ")):
            low.shell(
                Word(line.lstrip().lstrip("!").removeprefix("%sx ").removeprefix("%system "), code.span), via="ipython"
            )


def _hooked(code: Word, inv: Invocation) -> Word:
    """The program with what the environment makes of `breakpoint()`."""
    hook = dict(inv.env).get("PYTHONBREAKPOINT")
    if hook is None or not hook.text.replace(".", "_").isidentifier():
        return code
    return Word(f"import sys\nsys.breakpointhook = {hook.text}\n{code.text}", code.span, taints=code.taints)


RENAMED_MODULES = {
    "IPython": "ipython", "awscli": "aws", "azure": "az", "httpie": "http", "yt_dlp": "yt-dlp",
    "youtube_dl": "youtube-dl", "gallery_dl": "gallery-dl",
}  # fmt: skip
"""Modules that are programs of another name."""


def _python_module(inv: Invocation, module: Word, low: Lowering) -> None:
    start = next(index for index, word in enumerate(inv.args) if word is module or word.text.endswith(module.text)) + 1
    rest = inv.args[start:]
    name = module.text
    head = name.partition(".")[0]
    if name in LISTENING_MODULES:
        _listens(rest, low)
    elif name == "json.tool":
        _json_tool(inv, rest, low)
    elif name == "timeit":
        options = parse(rest, values=("-n", "-r", "-u", "-s", "--setup", "--number", "--repeat", "--unit"))
        for word in (*options.values("-s", "--setup"), *options.operands):
            low.code("python", word, via="timeit")
    elif head in CONSOLES:
        code = parse(rest, values=("-c", "-r"), stop=True).value("-c")
        if code is not None:
            low.code("python", code, via=name)
        else:
            run_script(inv, low, parse(rest, stop=True).operands, "python")
    elif name in SCRIPT_MODULES:
        _profiled(inv, name, rest, low)
    elif name in ("zipfile", "tarfile"):
        _unpacks(name, rest, low)
    elif name == "django":
        low.run((Word("django-admin", module.span), *rest), via="python -m")
    elif program := RENAMED_MODULES.get(head):
        low.run((Word(program, module.span), *rest), via="python -m")
    elif head in PYTHON_TOOLS or (name in HANDLERS and name not in OWN_MODULES):
        low.run((Word(head, module.span), *rest), via="python -m")


def _listens(rest: tuple[Word, ...], low: Lowering) -> None:
    options = parse(rest, values=("-d", "--directory", "-b", "--bind", "-p", "--protocol"))
    port = next((word.text for word in options.operands if word.text.isdecimal()), "8000")
    low.emit("net.listen", port)
    for path in options.values("-d", "--directory"):
        low.read(path, recursive=True)


def _profiled(inv: Invocation, name: str, rest: tuple[Word, ...], low: Lowering) -> None:
    options = parse(rest, stop=True, values=("-o", "-s", "-m", "-c"))
    for word in options.values("-c") if name == "pdb" else ():
        said = word.text.lstrip("!").removeprefix("pp ").removeprefix("p ")
        low.code("python", Word(said, word.span, taints=word.taints), via=name)
    operands = options.operands[1:] if options.word(0) == "run" else options.operands
    if (module := options.value("-m")) is not None:
        _python_module(replace(inv, args=(module, *operands)), module, low)
    else:
        run_script(inv, low, operands, "python")


def _unpacks(name: str, rest: tuple[Word, ...], low: Lowering) -> None:
    options = parse(rest, values=("-e", "--extract", "-c", "--create"))
    archive = options.value("-e", "--extract")
    if archive is not None:
        into = options.operands[0] if options.operands else Word(".")
        low.run((Word("tar"), Word("-xf"), archive, Word("-C"), into), via=name)


def _json_tool(inv: Invocation, rest: tuple[Word, ...], low: Lowering) -> None:
    operands = parse(rest, values=("--indent",)).operands
    taints = inv.stdin.taints if inv.stdin else NOTHING
    if operands:
        taints = low.read(operands[0]).taints
    for path in operands[1:2]:
        low.write(path)
    low.output(Stream(taints=taints))


def _php(inv: Invocation, low: Lowering) -> None:
    options = parse(
        inv.args,
        values=(
            "-r",
            "--run",
            "-B",
            "-R",
            "-E",
            "-f",
            "--file",
            "-F",
            "-S",
            "-t",
            "-d",
            "-c",
            "-z",
            "--define",
            "--process-code",
            "--process-begin",
            "--process-end",
            "--process-file",
        ),
        stop=True,
    )
    code = options.values("-r", "--run", "-B", "-R", "-E", "--process-code", "--process-begin", "--process-end")
    for setting in options.values("-d", "--define"):
        key, _, value = setting.text.partition("=")
        if key in ("auto_prepend_file", "auto_append_file") and value:
            low.run_file(Word(value, setting.span, taints=setting.taints), via=inv.name, language="php")
    if address := options.value("-S"):
        low.emit("net.listen", address.text, at=address)
    elif code:
        low.code("php", _lines(code), via=inv.name)
        for each_line in options.values("-F"):
            low.run_file(each_line, via=inv.name, language="php")
    elif options.has("-a") and inv.stdin is not None:
        low.code("php", inv.stdin, via=inv.name)
    elif path := options.value("-f", "--file", "-F"):
        low.run_file(path, via=inv.name, language="php")
    elif not options.has(
        "-l", "-m", "-i", "-v", "-h", "--modules", "--info", "--version", "--help", "--rf", "--rc", "-a"
    ):
        run_script(inv, low, options.operands, "php")


command("php", "php5", "php7", "php7.4", "php8", *(f"php8.{minor}" for minor in range(8)), "php-cli", "php-cgi")(_php)


@command("osascript")
def osascript(inv: Invocation, low: Lowering) -> None:
    options = parse(inv.args, values=("-e", "-l", "-s"), stop=True)
    dialect = options.value("-l")
    language = "jvm-script" if dialect is not None and dialect.text.lower() == "javascript" else "osascript"
    code = options.values("-e")
    if code:
        low.code(language, _lines(code), via="osascript")
        if language == "jvm-script":
            low.code("javascript", _lines(code), via="osascript")
    else:
        run_script(inv, low, options.operands, language)
