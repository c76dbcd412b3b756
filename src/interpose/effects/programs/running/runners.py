"""Tools of developers that run a command in some environment: versions, secrets, virtual machines, queues, watchers."""

from __future__ import annotations

from msgspec.structs import replace

from interpose.effects.handler_table import Handler, command
from interpose.effects.invocation import Invocation, Lowering, Word
from interpose.effects.programs.shared.options import parse
from interpose.effects.programs.shared.peel import run_inner
from interpose.effects.programs.shared.verbs import general

ALL = ""
"""Stands for tools that run what they are given without a word in front of it."""

RUNNERS: dict[str, dict[str, int]] = {
    "direnv": {"exec": 1}, "dotenv": {ALL: 0, "run": 0}, "dotenvx": {"run": 0}, "envchain": {ALL: 1},
    "aws-vault": {"exec": 1}, "chamber": {"exec": 1},
    "mise": {"exec": 0, "x": 0, "watch": 0}, "rtx": {"exec": 0, "x": 0}, "asdf": {"exec": 0},
    "pyenv": {"exec": 0}, "rbenv": {"exec": 0}, "nodenv": {"exec": 0}, "nvm": {"exec": 1}, "fnm": {"exec": 0},
    "volta": {"run": 0},
    "foreman": {"run": 0}, "honcho": {"run": 0}, "tox": {"exec": 0},
    "distrobox": {"enter": 1}, "toolbox": {"run": 0}, "flatpak-spawn": {ALL: 0},
    "apptainer": {"exec": 1, "run": 1}, "singularity": {"exec": 1, "run": 1},
    "multipass": {"exec": 1}, "limactl": {"shell": 1}, "lima": {ALL: 0}, "colima": {"ssh": 0}, "orb": {ALL: 0},
    "lxc-attach": {ALL: 0}, "machinectl": {"shell": 1},
    "pueue": {"add": 0}, "nq": {ALL: 0}, "tsp": {ALL: 0}, "sem": {ALL: 0},
    "watchexec": {ALL: 0}, "reflex": {ALL: 0}, "onchange": {ALL: 1},
    "winexe": {ALL: 1},
    "cross-env": {ALL: 0}, "cross-env-shell": {ALL: 0}, "ssh-agent": {ALL: 0},
}  # fmt: skip
"""For each tool the words behind which a command stands, and how many operands stand in between."""

_VALUES = ("-n", "--name", "-e", "--exts", "-w", "--watch", "-f", "--file", "-d", "--duration", "-t", "-a", "-i",
           "--ignore",
           "-g", "--group", "-r", "--regex", "--using", "-j", "--jobs", "--workdir", "--env")  # fmt: skip


def _runner(verbs: dict[str, int]) -> Handler:
    def run(inv: Invocation, low: Lowering) -> None:
        texts = [word.text for word in inv.args]
        verb = next((text for text in texts if not text.startswith("-")), "")
        if ALL not in verbs and verb not in verbs:
            general(inv, low)
            return
        if "--" in texts:
            run_inner(inv.args[texts.index("--") + 1 :], low, inv.name)
            return
        start = texts.index(verb) + 1 if verb in verbs and verb else 0
        operands = parse(inv.args[start:], values=_VALUES, stop=True).operands
        inner = operands[verbs[verb if verb in verbs else ALL] :]
        if inv.name.startswith("cross-env") and inner:
            low.run((Word("env"), *inner), via=inv.name)
        else:
            run_inner(inner, low, inv.name)

    return run


for _name, _verbs in RUNNERS.items():
    command(_name)(_runner(_verbs))

CODE: dict[str, tuple[str, ...]] = {
    "nodemon": ("-x", "--exec"),
    "chokidar": ("-c", "--command"),
    "cargo-watch": ("-s", "--shell"),
    "vagrant": ("-c", "--command"),
    "sg": ("-c",),
}
"""Options whose value is given to a shell."""


_AST_GREP = frozenset({"completions", "docs", "help", "lsp", "new", "run", "scan", "test"})
"""Verbs of another program that is called `sg`, too."""


def _coded(options: tuple[str, ...]) -> Handler:
    def run(inv: Invocation, low: Lowering) -> None:
        for code in parse(inv.args, values=(*options, "-e", "--ext", "-w", "--watch", "-i", "--ignore")).values(
            *options
        ):
            low.shell(code, via=inv.name)
        if inv.name == "sg":  # `sg GROUP COMMAND` is `sg GROUP -c COMMAND`
            words = parse(inv.args, values=options).operands
            if words and words[0].text not in _AST_GREP:
                for code in words[1:2]:
                    low.shell(code, via=inv.name)
        general(inv, low)

    return run


for _name, _options in CODE.items():
    command(_name)(_coded(_options))


@command("concurrently")
def concurrently(inv: Invocation, low: Lowering) -> None:
    values = ("-n", "--names", "-c", "--prefix-colors", "-p", "--prefix", "-m", "--max-processes", "-s", "--success")
    for code in parse(inv.args, values=values).operands:
        manager, found, script = code.text.partition(":")
        if found and manager in ("npm", "pnpm", "yarn", "bun"):
            low.run(
                (replace(code, text=manager), Word("run"), replace(code, text=script.partition(" ")[0])),
                via="concurrently",
            )
        else:
            low.shell(code, via="concurrently")


@command("start-stop-daemon")
def start_stop_daemon(inv: Invocation, low: Lowering) -> None:
    options = parse(inv.args, values=("-x", "--exec", "-a", "--startas", "-p", "--pidfile", "-u", "--user", "-c",
                                      "--chuid",
                                      "-n", "--name", "-d", "--chdir", "-s", "--signal"),
                    long=("--start", "--stop", "--background"))  # fmt: skip
    program = options.value("-a", "--startas") or options.value("-x", "--exec")
    if program is not None and options.has("-S", "--start"):
        run_inner((program, *options.operands), low, "start-stop-daemon")
