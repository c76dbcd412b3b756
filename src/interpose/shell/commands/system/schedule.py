"""Commands that run something later or somewhere else on this machine: cron, at, terminals kept open."""

from __future__ import annotations

import re
import shlex

from msgspec.structs import replace

from interpose.shell.commands.shared import typed_keys
from interpose.shell.commands.shared.handler_table import command
from interpose.shell.commands.shared.options import parse
from interpose.shell.commands.shared.streams import informs, standard_input
from interpose.shell.invocation import Invocation, Lowering, Stream, Word

_LATER = "Runs something later, when nobody looks."


@command("crontab", "fcrontab")
def crontab(inv: Invocation, low: Lowering) -> None:
    """The table of jobs: shown, replaced or removed."""
    opts = parse(inv.args, values=("-u", "-n", "-c"))
    if informs(opts) or opts.has("-l", "-V", "-T"):
        return
    if opts.has("-r"):
        low.emit("data.destroy", "crontab", rule="crontab-remove", reason="Removes all scheduled jobs of this user.",
                 instead="crontab -l")  # fmt: skip
        return
    low.emit("persistence", "crontab", rule="crontab", reason=_LATER)
    content = (
        standard_input(inv) if opts.word(0) == "-" else low.read(opts.operands[0]) if opts.operands else Stream("")
    )
    if content.text or "remote" in content.taints:
        low.shell(_jobs(content), via="cron")


def _jobs(table: Stream) -> Stream:
    """The commands of a crontab: what stands after the five fields of time, or after `@daily` and its kind."""
    if table.text is None:
        return table
    jobs: list[str] = []
    for line in table.text.splitlines():
        fields = line.split(None, 1 if line.lstrip().startswith("@") else 5)
        if fields and not line.lstrip().startswith("#") and len(fields) in (2, 6):
            jobs.append(fields[-1])
    return Stream("\n".join(jobs), table.taints)


@command("at", "batch")
def at(inv: Invocation, low: Lowering) -> None:
    """Jobs come from standard input or a file."""
    opts = parse(inv.args, values=("-f", "-q", "-t"))
    if informs(opts) or opts.has("-l", "-V", "-c"):
        return
    if opts.has("-d", "-r"):
        low.emit("data.destroy", opts.word(0), rule="jobs-remove", reason="Removes a scheduled job.")
        return
    low.emit("persistence", inv.name, rule="at-job", reason=_LATER)
    script = opts.value("-f")
    if script is not None:
        low.run_file(script, via=inv.name)
    elif inv.stdin is not None:
        low.shell(inv.stdin, via=inv.name)


_TMUX_RUNS = frozenset(
    {
        "new-session", "new", "new-window", "neww", "split-window", "splitw", "respawn-pane", "respawnp",
        "respawn-window", "respawnw", "display-popup", "popup", "run-shell", "run", "pipe-pane", "pipep",
    }
)  # fmt: skip
_TMUX_VALUES = tuple(f"-{letter}" for letter in "censtxyFlLSfTwhbBE")


@command("tmux", "byobu")
def tmux(inv: Invocation, low: Lowering) -> None:
    """A window runs a command; keys sent to one are typed into its shell."""
    opts = parse(inv.args, values=("-L", "-S", "-f", "-c", "-T"), stop=True)
    for code in opts.values("-c"):
        low.shell(code, via="tmux")
    for words in _commands(opts.operands):
        _tmux(words, low)


def _commands(words: tuple[Word, ...]) -> list[tuple[Word, ...]]:
    """tmux takes several commands in a row, separated by a word that is or ends in `;`."""
    found: list[tuple[Word, ...]] = []
    current: list[Word] = []
    for word in words:
        if word.text.endswith(";"):
            if len(word.text) > 1:
                current.append(Word(word.text[:-1], word.span, taints=word.taints))
            found.append(tuple(current))
            current = []
        else:
            current.append(word)
    return [*found, tuple(current)]


def _tmux(words: tuple[Word, ...], low: Lowering) -> None:
    if not words:
        return
    verb, rest = words[0].text, words[1:]
    if verb in _TMUX_RUNS:
        opts = parse(rest, values=_TMUX_VALUES, stop=True)
        if len(opts.operands) == 1:
            low.shell(opts.operands[0], via="tmux")
        elif opts.operands:
            low.run(opts.operands, via="tmux")
    elif verb in ("send-keys", "send"):
        opts = parse(rest, values=("-t", "-N", "-c"), stop=True)
        if opts.has("-X") or not opts.operands:
            if "pipe" in opts.word(0):  # of the commands of the copy mode, these hand the selection to a program
                low.shell(opts.operands[-1], via="tmux")
            return
        target = opts.value("-t")
        keys = tuple(map(_hexadecimal, opts.operands)) if opts.has("-H") else opts.operands
        typed_keys.types(low, target.text if target is not None else "", keys, target or words[0])
        typed_keys.run_typed(low, keys, "tmux", literal=opts.has("-l") or opts.has("-H"))
    elif verb in ("paste-buffer", "pasteb", "load-buffer", "loadb", "set-buffer", "setb"):
        target = parse(rest, values=("-t", "-b", "-s", "-w", "-n")).value("-t")
        if verb in ("paste-buffer", "pasteb"):
            typed_keys.types(low, target.text if target is not None else "", (), target or words[0])
    elif verb == "kill-server":
        low.emit(
            "process.kill", "tmux", rule="kill-terminals", reason="Ends every tmux session and all that runs in them."
        )
    elif verb.startswith("kill-"):
        low.emit("process.kill", "tmux", recoverable=True)
    else:
        _tmux_bound(verb, rest, low)


def _tmux_bound(verb: str, rest: tuple[Word, ...], low: Lowering) -> None:
    """Commands of tmux that take other commands of tmux: on a key, in a hook, after a question."""
    if verb in ("if-shell", "if"):
        given = parse(rest, values=("-t",)).operands
        for word in given[:1]:
            low.shell(word, via="tmux")
        for word in given[1:]:
            _tmux_text(word, low)
    elif verb in ("set-hook", "bind-key", "bind", "confirm-before", "confirm", "command-prompt"):
        given = parse(rest, values=("-t", "-T", "-p", "-I", "-N", "-c"), stop=True).operands
        behind = given if verb.startswith("co") else given[1:]
        if len(behind) > 1:
            _tmux(behind, low)
        for word in behind[:1]:
            _tmux_text(word, low)
    elif verb in ("set", "set-option", "setw", "set-window-option"):
        _tmux_setting(parse(rest, values=("-t",), stop=True).operands, low)


def _tmux_text(word: Word, low: Lowering) -> None:
    """A command of tmux that is given as one word."""
    low.spend(len(word.text) // 16)
    try:
        parts = shlex.split(word.text)
    except ValueError:
        parts = word.text.split()
    for words in _commands(tuple(replace(word, text=part) for part in parts)):
        if len(words) != 1 or words[0].text != word.text:
            _tmux(words, low)


def _tmux_setting(words: tuple[Word, ...], low: Lowering) -> None:
    """What new windows run, and `#(command)` in what is shown."""
    if len(words) > 1 and words[0].text in ("default-command", "default-shell"):
        low.shell(words[1], via="tmux")
    for word in words[1:]:
        for code in re.findall(r"#\(([^)]{1,4096})", word.text)[:16]:
            low.shell(replace(word, text=code), via="tmux")


def _hexadecimal(word: Word) -> Word:
    digits = word.text.removeprefix("0x")
    return replace(word, text=chr(int(digits, 16))) if re.fullmatch(r"[0-9A-Fa-f]{1,5}", digits) else word


@command("screen")
def screen(inv: Invocation, low: Lowering) -> None:
    """`screen -dmS name command`, and `-X stuff` that types into a window."""
    values = ("-S", "-c", "-e", "-h", "-p", "-r", "-s", "-t", "-T", "-L_")
    opts = parse(inv.args, values=values, stop=True)
    if opts.has("-ls", "-list", "-v", "-wipe"):
        return
    if not opts.has("-X"):
        if opts.operands and not opts.has("-r", "-x", "-R"):
            low.run(opts.operands, via="screen")
        return
    words = opts.operands
    session = opts.value("-S")
    if words and words[0].text in ("stuff", "paste", "readbuf"):
        typed_keys.types(low, session.text if session is not None else "", words[1:], session or words[0])
    if words and words[0].text == "stuff":
        typed_keys.run_typed(low, words[1:], "screen", literal=True)
    elif words and words[0].text in ("exec", "screen"):
        low.run(words[1:], via="screen")
    elif words and words[0].text in ("quit", "kill"):
        low.emit("process.kill", "screen", recoverable=True)


@command("zellij", "dtach", "abduco")
def terminals(inv: Invocation, low: Lowering) -> None:
    """Other programs that keep a terminal: what follows `--` or the socket is run."""
    texts = [word.text for word in inv.args]
    if "action" in texts and ("write-chars" in texts or "write" in texts):
        typed_keys.types(low, "", (), inv.args[0])
    elif "--" in texts:
        low.run(inv.args[texts.index("--") + 1 :], via=inv.name)
    elif inv.name in ("dtach", "abduco") and len(inv.args) > 2:
        low.run(inv.args[2:], via=inv.name)


@command("pm2", "forever")
def keeper(inv: Invocation, low: Lowering) -> None:
    """Keeps a program running. `pm2 start 'npm run api'` gives the text to a shell."""
    opts = parse(inv.args, values=("--name", "-n", "-i", "--interpreter", "--cron", "--log", "--cwd"), stop=False)
    if opts.word(0) not in ("start", "restart") or len(opts.operands) < 2:
        return
    script = opts.operands[1]
    if any(sign in script.text for sign in " |;&<>"):
        low.shell(script, via=inv.name)
    elif "/" in script.text or "." in script.text:
        low.run_file(script, via=inv.name, language="python" if script.text.endswith(".py") else "javascript")
