"""Interpreters of languages without a parser here: where their code stands on the command line. Data first."""

from __future__ import annotations

from interpose.effects.handler_table import command
from interpose.effects.invocation import Invocation, Lowering, Word
from interpose.effects.programs.packages.build import runs_project
from interpose.effects.programs.running.interpreters import Interpreter, interpret
from interpose.effects.programs.shared.inline_code import run_inline
from interpose.effects.programs.shared.options import parse
from interpose.effects.programs.shared.verbs import general

_VALUES = ("-cp", "-classpath", "--classpath", "-I", "-L", "-l", "-pa", "-pz", "--name", "--sname", "--cookie")

_TABLE = """
    scala        scala amm                      -e -c --execute-code --code          -i -f
    scala        scala-cli                      -e --script-snippet --scala-snippet --java-snippet
    lisp         guile                          -c                                   -s -l
    lisp         sbcl ecl ccl abcl clasp        --eval -eval -e                      --load --script -load -l -shell
    lisp         clisp                          -x                                   -i
    lisp         clojure clj bb planck lumo joker deps.clj  -e --eval           -f --file -i --init
    lisp         racket                         -e --eval                      -f --load -r --script -t --require -u
    lisp         janet gosh fennel hy newlisp picolisp pil  -e -E -c --eval           -l --load
    lisp         csi csc                        -e -eval -p -print -P -pretty-print  -s -script -ss
    lisp         chez scheme mit-scheme petite  --eval -e                            --script --load
    haskell      ghc ghci runghc runhaskell     -e
    ocaml        ocaml utop                     -e                                   -init
    kotlin       kotlin kotlinc kotlinc-jvm kscript  -e -expression                  -script
    nim          nim                            --eval -e:
    prolog       swipl gprolog yap scryer-prolog  -g -t --query-goal --entry-goal --init-goal  -f -s -l --consult-file
    octave       octave octave-cli scilab scilab-cli freemat  --eval -e              -f
    calculator   matlab gnuplot                 -batch -r -e
    octave       maxima rmaxima                 --batch-string -r --run-string       -b --batch -p --preload-lisp
    octave       gp gap                         -c                                   -l
    calculator   dc                             -e --expression                      -f --file
    erlang       escript                        --eval
    ruby         crystal                        -e
    forth        gforth pforth vfx              -e --evaluate
    factor       factor                         -e -run
    rust         rust-script evcxr irust cargo-script  -e --expr --expression -l --loop
    go           yaegi gomacro gore gorun       -e
    d            rdmd ldmd2 dub                 --eval --loop
    c            tcc cling root picoc           -e
    csharp       dotnet-script csharprepl csi-roslyn fsi fsharpi scriptcs  -e --eval -eval  --use --load --exec
    java         jshell                         -e                                   --startup
    jvm-script   jrunscript bsh beanshell groovysh nashorn  -e -scripting  -f
    vlang        v vlang                        -e
    jvm-script   moon haxe pike io nickle squirrel sq rebol arturo gst  -e --eval --do -do
    raku         raku rakudo perl6              -e
    lua          luau tarantool resty nlua fengari tarantoolctl  -e
    ruby         pry mruby artichoke rbx        -e --exec
    tcl          tclsh8.6 tclsh8.5 wish8.6 jimsh expectk dtrace-expect  -e -c        -f
    python       blender                        --python-expr                        --python -P
    python       sage hython mayapy             -c
    lisp         gimp gimp-console              -b --batch
    calculator   r2 radare2 rizin frida         -c -e -C
    m4           m4 gm4
    roff         troff groff nroff gtroff
    erb          erb
"""
"""A language, the programs that read it, the options whose value is code, and the options whose value is a file."""


def _specs() -> dict[str, Interpreter]:
    found: dict[str, Interpreter] = {}
    for line in _TABLE.strip().splitlines():
        parts = [part.split() for part in line.strip().split("  ") if part.strip()]
        language, programs, *options = (parts[0], *parts[1:])
        code, files = [*options, [], []][:2]
        spec = Interpreter(language=language[0], code=tuple(code), files=tuple(files), bundle=False,
                           values=tuple(name for name in _VALUES if name not in (*code, *files)))  # fmt: skip
        found.update(dict.fromkeys(programs, spec))
    return found


for _name, _spec in _specs().items():
    command(_name)(interpret(_spec, __name__))


@command(
    "tex", "etex", "latex", "pdflatex", "pdftex", "xetex", "xelatex", "luatex", "lualatex", "luahbtex", "platex",
    "uplatex", "context", "latexmk", "tectonic", "dvilualatex", "pdfcsplain", "amstex", "texexec", "latexrun",
)  # fmt: skip
def typeset(inv: Invocation, low: Lowering) -> None:
    """An operand that starts with a backslash is the text itself; other operands are files."""
    values = (
        "-interaction",
        "-output-directory",
        "-jobname",
        "-fmt",
        "-output-format",
        "-e",
        "-r",
        "-outdir",
        "-usepretex",
    )
    opts = parse(inv.args, values=values, bundle=False)
    for code in opts.values("-e") if inv.name == "latexmk" else ():
        low.code("perl", code, via=inv.name)
    for name, value in opts.given:
        if value is not None and name.lstrip("-") in ("pdflatex", "latex", "xelatex", "lualatex", "usepretex"):
            low.shell(value, via=inv.name) if name.lstrip("-") != "usepretex" else low.code("tex", value, via=inv.name)
    text = [word for word in opts.operands if word.text.lstrip()[:1] in ("\\", "&")]
    if text:
        low.code("tex", text[0], via=inv.name)
    for word in opts.operands:
        if word not in text:
            low.run_file(word, via=inv.name, language="tex")
    if not opts.operands and inv.stdin is not None:
        low.code("tex", inv.stdin, via=inv.name)


_ERLANG = interpret(Interpreter(language="erlang", code=("-eval",), bundle=False, values=_VALUES), __name__)


@command("erl")
def erlang(inv: Invocation, low: Lowering) -> None:
    """`-eval CODE`, and `-run os cmd X`: a function with its arguments."""
    _ERLANG(inv, low)
    texts = [word.text for word in inv.args]
    for index, text in enumerate(texts):
        if text in ("-run", "-s") and texts[index + 1 : index + 3] == ["os", "cmd"] and index + 3 < len(texts):
            low.shell(inv.args[index + 3], via="erl -run")


@command("java")
def java(inv: Invocation, low: Lowering) -> None:
    """Runs a source file, a jar or a class; some of its options run a command when something goes wrong."""
    for word in inv.args:
        name, _, value = word.text.partition("=")
        if name in ("-XX:OnError", "-XX:OnOutOfMemoryError"):
            low.shell(Word(value, word.span, taints=word.taints), via="java")
    opts = parse(inv.args, values=("-cp", "-classpath", "--class-path", "-p", "--module-path", "-jar"), stop=True,
                 bundle=False)  # fmt: skip
    if opts.word(0).endswith(".java") or opts.word(0).startswith(("/dev/fd/", "/dev/stdin", "/proc/self/fd/")):
        low.run_file(opts.operands[0], via="java", language="java")
    else:
        low.emit("process.exec", inv.name, script=True)
    general(inv, low)


@command("zig")
def zig(inv: Invocation, low: Lowering) -> None:
    run_inline(inv, low)
    runs_project(inv, low)
