"""Build tools: they run the project's own code, which is honest work. What matters is code given in their place."""

from __future__ import annotations

from msgspec.structs import replace

from interpose.effects.handler_table import command
from interpose.effects.invocation import Invocation, Lowering, Stream, Word
from interpose.effects.programs.shared.options import parse

_MAKE_VALUES = (
    "-f", "--file", "--makefile", "-C", "--directory", "-I", "--include-dir", "-o", "-W", "--eval",
)  # fmt: skip


@command("make", "gmake", "bmake", "remake")
def make(inv: Invocation, low: Lowering) -> None:
    """Make runs recipes. Those of the project are its own; those given on the command line or made here are read."""
    opts = parse(inv.args, values=_MAKE_VALUES, attached=("-j", "-l", "-O"))
    if opts.has("--help", "-h", "--version", "-v"):
        return
    runs_project(inv, low)
    for word in opts.operands:
        name, equals, value = word.text.partition("=")
        if equals and name.rstrip(":?+!") in ("SHELL", ".SHELLFLAGS", "MAKESHELL"):
            _shell_of_recipes(replace(word, text=value), low)
    for variable, flags in inv.env:
        if variable in ("MAKEFLAGS", "GNUMAKEFLAGS") and "eval=" in flags.text:
            _recipes(flags.text.partition("eval=")[2], low)
    for code in opts.values("--eval"):
        _recipes(code.text, low)
    directory = opts.value("-C", "--directory")
    files = opts.values("-f", "--file", "--makefile")
    for file in files:
        stream = inv.stdin if file.text in ("-", "/dev/stdin") else low.read(file)
        _makefile(stream, low)
    if not files:
        _makefile(low.read(f"{directory.text}/Makefile" if directory is not None else "Makefile"), low)


def runs_project(inv: Invocation, low: Lowering) -> None:
    """The project's own code is run."""
    low.emit("process.exec", " ".join(word.text for word in (inv.argv0, *inv.args[:3])), project=True)


def _shell_of_recipes(value: Word, low: Lowering) -> None:
    if value.text.rpartition("/")[2] not in ("sh", "bash", "dash", "zsh", "ksh"):
        low.emit(
            "opaque", value.text, at=value, rule="make-shell", reason="Every recipe would be given to this program."
        )
        low.shell(value, via="make SHELL=")


def _makefile(stream: Stream | None, low: Lowering) -> None:
    if stream is None:
        return
    if stream.text is not None:
        _recipes(stream.text, low)
    elif "remote" in stream.taints or "decoded" in stream.taints:
        low.shell(stream, via="make")


def _recipes(text: str, low: Lowering) -> None:
    """Run every recipe of a makefile, whichever target is asked for."""
    code: list[str] = []
    for line in text.replace("\\\n", " ").split("\n"):
        if line.startswith("\t"):
            code.append(line.lstrip("\t@-+"))
        elif ":" in line and ";" in line:
            code.append(line.partition(";")[2])
        elif "$(shell " in line:
            code.append(line.partition("$(shell ")[2].rpartition(")")[0])
        elif "!=" in line:
            code.append(line.partition("!=")[2])
    if code:
        # In a makefile `$$` is the shell's dollar sign; make's own variables are not known here.
        low.shell("\n".join(line.replace("$$", "$") for line in code), via="make")


@command("just")
def just(inv: Invocation, low: Lowering) -> None:
    runs_project(inv, low)
    texts = [word.text for word in inv.args]
    for sign in ("-c", "--command"):
        if sign in texts:
            low.run(inv.args[texts.index(sign) + 1 :], via="just")
            return


@command("cmake")
def cmake(inv: Invocation, low: Lowering) -> None:
    texts = [word.text for word in inv.args]
    if texts[:1] == ["-E"] and len(texts) > 1:
        _cmake_tool(inv.args[1], inv.args[2:], low)
    elif "-P" in texts and texts.index("-P") + 1 < len(texts):
        low.read(inv.args[texts.index("-P") + 1])


_CMAKE_TOOLS = {"rm": "rm", "copy": "cp", "rename": "mv", "touch": "touch", "make_directory": "mkdir", "tar": "tar"}
_CMAKE_TOOLS |= {name: name for name in ("cat", "echo", "env", "time")}


def _cmake_tool(verb: Word, args: tuple[Word, ...], low: Lowering) -> None:
    """`cmake -E` is a small toolbox that works on every system."""
    if verb.text in _CMAKE_TOOLS:
        low.run((replace(verb, text=_CMAKE_TOOLS[verb.text]), *args), via="cmake -E")
    elif verb.text in ("remove", "remove_directory"):
        for path in args:
            if not path.text.startswith("-"):
                low.delete(path, recursive=verb.text == "remove_directory", forced=True)
    elif verb.text == "chdir" and len(args) > 1:
        low.run((Word("env"), Word("-C"), *args), via="cmake -E chdir")


@command("pytest", "py.test")
def pytest(inv: Invocation, low: Lowering) -> None:
    """pytest empties the directory of `--basetemp` before it starts."""
    runs_project(inv, low)
    for path in parse(inv.args, values=("--basetemp",), bundle=False).values("--basetemp"):
        low.delete(path, recursive=True)


_BUILD_OPTIONS = {"--run_under": "the test", "--workspace_status_command": "the build"}


@command("bazel", "bazelisk", "blaze")
def bazel(inv: Invocation, low: Lowering) -> None:
    runs_project(inv, low)
    opts = parse(inv.args, values=tuple(_BUILD_OPTIONS), bundle=False)
    for code in opts.values(*_BUILD_OPTIONS):
        low.shell(code, via="bazel")
    if opts.word(0) == "run" and len(opts.operands) > 1 and _deploys(opts.operands[1].text):
        low.emit("infra.destroy", opts.word(1), certainty="possible", rule="bazel-deploy",
                 reason="Runs a target that is named after a deployment.")  # fmt: skip


def _deploys(label: str) -> bool:
    return any(part in label.lower() for part in ("deploy", "publish", "release", "push"))
