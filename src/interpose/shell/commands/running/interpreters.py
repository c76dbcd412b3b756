"""Interpreters: a program after an option, a script file, or whatever flows in through stdin. Data first."""

from __future__ import annotations

import re

from msgspec import Struct

from interpose.shell.commands.data.migrations import TOOLS as MIGRATIONS
from interpose.shell.commands.shared.handler_table import Handler, command
from interpose.shell.commands.shared.options import Options, parse
from interpose.shell.commands.shared.word_sets import words
from interpose.shell.invocation import NOTHING, Invocation, Lowering, Stream, Word
from interpose.shell.languages import sed as sed_language

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
_LUA = Interpreter(language="lua", code=("-e",), values=("-l",), inform=("--version", "-v"))

INTERPRETERS: dict[str, Interpreter] = {
    **dict.fromkeys(("perl", "perl5", "raku", "rakudo", "cperl"), _PERL),
    **dict.fromkeys(("ruby", "jruby", "irb", "truffleruby", "mruby"), _RUBY),
    **dict.fromkeys(("node", "nodejs", "tsx", "ts-node", "ts-node-esm", "esno", "vite-node", "babel-node", "jiti"),
                    _NODE),
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
    **{name: Interpreter(language="literals", code=tuple(code.split())) for name, code in {
        "scala": "-e", "scala-cli": "-e", "guile": "-c", "sbcl": "--eval", "clisp": "-x", "ecl": "--eval",
        "clojure": "-e --eval", "clj": "-e --eval", "bb": "-e --eval", "ghc": "-e", "runghc": "-e", "ocaml": "-e",
        "racket": "-e --eval", "janet": "-e", "gosh": "-e", "csi": "-e", "kotlin": "-e", "nim": "--eval",
        "swipl": "-g -t", "octave": "--eval", "gnuplot": "-e", "maxima": "--batch-string",
    }.items()},
    "elixir": Interpreter(language="ruby", code=("-e", "--eval"), values=("-r", "-S", "-pa", "-pz", "--name",
        "--sname", "--cookie")),
}  # fmt: skip


def _interpret(spec: Interpreter) -> Handler:
    def run(inv: Invocation, low: Lowering) -> None:
        args = inv.args
        if spec.language == "javascript":
            args = tuple(Word("--print", word.span) if word.text == "-p" else word for word in args)
        options = parse(args, values=(*spec.code, *spec.values, *spec.files), attached=spec.attached, stop=True)
        code = options.values(*spec.code)
        if options.has(*spec.checks) or (options.has(*spec.inform) and not code and not options.operands):
            return
        for path in options.values(*spec.files):
            low.run_file(path, via=inv.name, language=spec.language)
        if code:
            _over_files(spec, options, inv, low)
            low.code(spec.language, _lines(code), via=inv.name)
        elif options.values(*spec.files) and spec.language in ("r", "tcl"):
            return
        else:
            run_script(inv, low, options.operands, spec.language)

    return run


def _over_files(spec: Interpreter, options: Options, inv: Invocation, low: Lowering) -> None:
    if not spec.loops or not options.has("-n", "-p", "-i"):
        return
    taints = inv.stdin.taints if inv.stdin else NOTHING
    program = "\n".join(code.text for code in options.values(*spec.code))
    added = sed_language.added_by(program) if _SUBSTITUTION.fullmatch(program) else None
    for path in options.operands:
        if options.has("-i"):
            low.write(path, in_place=True, added=added)
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
        if operands[0].text.startswith(("http://", "https://")):
            low.emit("code.remote", operands[0].text, at=operands[0])
        else:
            low.run_file(operands[0], via=inv.name, language=language)
            if operands[0].text.rpartition("/")[2] in MIGRATIONS:
                # `python manage.py flush`: a script that is a tool of its own.
                low.run(operands, via=inv.name)
    elif inv.stdin is not None:
        low.code(language, inv.stdin, via=inv.name)


for _name, _spec in INTERPRETERS.items():
    command(_name)(_interpret(_spec))


PYTHONS = ("python", "python2", "python2.7", "python3", *(f"python3.{minor}" for minor in range(20)), "pythonw",
           "pypy", "pypy3",
           *(f"pypy3.{minor}" for minor in range(7, 14)), "ipython", "ipython3", "bpython", "graalpy", "jython",
           "micropython", "py")  # fmt: skip

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


@command(*PYTHONS)
def python(inv: Invocation, low: Lowering) -> None:
    options = parse(inv.args, values=("-c", "-m", "-W", "-X", "-Q", "--check-hash-based-pycs"), stop=True)
    code, module = options.value("-c"), options.value("-m")
    if module is not None:
        _python_module(inv, module, low)
    elif code is not None:
        low.code("python", code, via=inv.name)
    elif not options.has("--help", "--version", "-V", "-h") or options.operands:
        run_script(inv, low, options.operands, "python")


PROGRAM_MODULES = {
    **{name: name for name in words("""
        aider alembic ansible b2 bpython conan conda dotenv flask flit gsutil hatch honcho interpose ipython keyring
        litecli maturin mycli nah openhands pdm pgcli pip pipenv pipx platformio poetry pytest rye s3cmd salt sqlite3
        tox twine uv wormhole
    """)},
    "IPython": "ipython", "awscli": "aws", "azure": "az", "django": "django-admin", "httpie": "http",
    "yt_dlp": "yt-dlp", "youtube_dl": "youtube-dl", "gallery_dl": "gallery-dl",
}  # fmt: skip
"""Modules that are programs of that name. Any other module is the project's, whatever it is called."""


def _python_module(inv: Invocation, module: Word, low: Lowering) -> None:
    start = next(index for index, word in enumerate(inv.args) if word is module or word.text.endswith(module.text)) + 1
    rest = inv.args[start:]
    name = module.text
    if name in LISTENING_MODULES:
        port = next((word.text for word in rest if word.text.isdecimal()), "8000")
        low.emit("net.listen", port)
    elif name == "json.tool":
        _json_tool(inv, rest, low)
    elif name == "timeit":
        for word in parse(rest, values=("-n", "-r", "-u", "-s")).operands:
            low.code("python", word, via="timeit")
    elif name in SCRIPT_MODULES:
        operands = parse(rest, stop=True, values=("-o", "-s", "-m")).operands
        if operands and operands[0].text == "run":
            operands = operands[1:]
        run_script(inv, low, operands, "python")
    elif program := PROGRAM_MODULES.get(name.partition(".")[0]):
        low.run((Word(program, module.span), *rest), via="python -m")


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
        values=("-r", "--run", "-B", "-R", "-E", "-f", "--file", "-F", "-S", "-t", "-d", "-c", "-z"),
        stop=True,
    )
    code = options.values("-r", "--run", "-B", "-R", "-E")
    if address := options.value("-S"):
        low.emit("net.listen", address.text, at=address)
    elif code:
        low.code("php", _lines(code), via=inv.name)
    elif path := options.value("-f", "--file", "-F"):
        low.run_file(path, via=inv.name, language="php")
    elif not options.has(
        "-l", "-m", "-i", "-v", "-h", "--modules", "--info", "--version", "--help", "--rf", "--rc", "-a"
    ):
        run_script(inv, low, options.operands, "php")


command("php", "php7.4", "php8", "php8.0", "php8.1", "php8.2", "php8.3", "php8.4", "php-cli")(_php)


@command("osascript")
def osascript(inv: Invocation, low: Lowering) -> None:
    options = parse(inv.args, values=("-e", "-l", "-s"), stop=True)
    dialect = options.value("-l")
    language = "javascript" if dialect is not None and dialect.text.lower() == "javascript" else "osascript"
    code = options.values("-e")
    if code:
        low.code(language, _lines(code), via="osascript")
    else:
        run_script(inv, low, options.operands, language)
