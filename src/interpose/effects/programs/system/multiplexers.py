"""Programs that keep terminals open: what runs in them, what is typed into them, what is read from them.

A verb is fine if it is known to only look or to open something new, or if it names a session: agents run servers that
way. Everything else is done to a terminal that a person may sit at, and is a question.
"""

from __future__ import annotations

import re
import shlex

from msgspec.structs import replace

from interpose.effects.frozen_values import words
from interpose.effects.handler_table import command
from interpose.effects.invocation import UNKNOWN, Invocation, Lowering, Stream, Word
from interpose.effects.programs.shared import typed_keys
from interpose.effects.programs.shared.options import Options, parse
from interpose.effects.programs.shared.watchers import names_watcher

_TMUX_RUNS = words(
    """
    new-session new new-window neww split-window splitw respawn-pane respawnp respawn-window respawnw display-popup
    popup run-shell run pipe-pane pipep
    """
)
_TMUX_LOOKS = words(
    """
    attach a at attach-session detach detach-client has has-session info kill-server list-buffers list-clients
    list-commands list-keys list-panes list-sessions list-windows load-buffer loadb ls lsb lsc lscm lsk lsp ls lsw
    refresh refresh-client save-buffer saveb server-info set-buffer setb show show-buffer showb show-environment showenv
    show-hooks show-messages showmsgs show-options show-window-options showw start start-server wait wait-for
    set-environment setenv
    """
)
"""Verbs that only look or open something, and those that other rules know."""
_TMUX_VALUES = tuple(f"-{letter}" for letter in "censtxyFlLSfTwhbBE")
_CODE_SETTINGS = words("default-command default-shell lock-command editor copy-command")
_SHARED_SETTINGS = words("synchronize-panes update-environment command-alias")
"""What sends keys to several windows, or gives them variables and commands of another meaning."""
_OWN_SETTINGS = ("/.tmux.conf", "/tmux/tmux.conf")
"""Files that tmux reads by itself: who changes one is asked about that."""
_FORMAT_CODE = re.compile(r"#\(([^)]{1,4096})")


@command("tmux", "byobu")
def tmux(inv: Invocation, low: Lowering) -> None:
    """A window runs a command; keys sent to one are typed into its shell."""
    opts = parse(inv.args, values=("-L", "-S", "-f", "-c", "-T"), stop=True)
    for code in opts.values("-c"):
        low.shell(code, via="tmux")
    for file in opts.values("-f"):
        _tmux_file(file, low)
    if opts.has("-C", "-CC") and inv.stdin is not None:
        _tmux_lines(inv.stdin, low)
    for given in _commands(opts.operands):
        if given and given[0].text in _ATTACHES and _is_driven(inv, low):
            typed_keys.state_typing(low, "tmux", given[0])
        _tmux(given, low)


_ATTACHES = words("attach attach-session a at")
_PTYS = ("script", "unbuffer", "expect", "asciinema", "ttyrec", "python", "socat", "empty", "faketty")


def _is_driven(inv: Invocation, low: Lowering) -> bool:
    """Whether a terminal that is joined gets its keys from a pipe, or from a program that plays the terminal."""
    return inv.stdin is not None or any(each.startswith(_PTYS) for each in low.via)


def _commands(given: tuple[Word, ...]) -> list[tuple[Word, ...]]:
    """tmux takes several commands in a row, separated by a word that is or ends in `;`."""
    found: list[tuple[Word, ...]] = []
    current: list[Word] = []
    for word in given:
        if word.text.endswith(";"):
            if len(word.text) > 1:
                current.append(Word(word.text[:-1], word.span, taints=word.taints))
            found.append(tuple(current))
            current = []
        else:
            current.append(word)
    return [*found, tuple(current)]


def _tmux(given: tuple[Word, ...], low: Lowering) -> None:
    if not given:
        return
    verb, rest = given[0].text, given[1:]
    for word in rest:
        for code in _FORMAT_CODE.findall(word.text)[:16]:  # `#(command)` in whatever is shown
            low.shell(replace(word, text=code), via="tmux")
    if verb in _TMUX_RUNS:
        _tmux_run(given[0], rest, low)
    elif verb in ("send-keys", "send"):
        _tmux_send(given[0], rest, low)
    elif verb in ("paste-buffer", "pasteb"):
        target = parse(rest, values=("-t", "-b", "-s", "-w", "-n")).value("-t")
        typed_keys.types(low, target.text if target is not None else "", (), target or given[0])
    elif verb == "kill-server":
        low.emit(
            "process.kill", "tmux", rule="kill-terminals", reason="Ends every tmux session and all that runs in them."
        )
    elif verb in ("source-file", "source"):
        for file in parse(rest, values=("-t",)).operands:
            _tmux_file(file, low)
    elif verb in ("display-message", "display"):
        return
    elif not _tmux_bound(verb, rest, low) and verb not in _TMUX_LOOKS:
        opts = parse(rest, values=_TMUX_VALUES)
        _named_only(given[0], opts, low)
        if verb.startswith("kill-"):
            low.emit("process.kill", "tmux", recoverable=True)
            _state_ended(opts.values("-t"), low)


def _tmux_file(file: Word, low: Lowering) -> None:
    """A file of commands that tmux runs, at once or when it starts."""
    path = low.path(file)
    content = low.read(file)
    if path != "/dev/null" and (content.text is not None or not path.endswith(_OWN_SETTINGS)):
        _tmux_lines(content, low)


def _tmux_run(verb: Word, rest: tuple[Word, ...], low: Lowering) -> None:
    opts = parse(rest, values=_TMUX_VALUES, stop=True)
    if verb.text in ("run-shell", "run") and opts.has("-C"):
        for word in opts.operands:
            _tmux_text(word, low)
        return
    if verb.text in ("pipe-pane", "pipep") and any("I" in name for name, _ in opts.given):
        typed_keys.state_typing(low, "tmux", verb)
    elif verb.text in ("pipe-pane", "pipep") or verb.text.startswith("respawn"):
        _named_only(verb, opts, low)
    if len(opts.operands) == 1:
        low.shell(opts.operands[0], via="tmux")
    elif opts.operands:
        low.run(opts.operands, via="tmux")


def _tmux_send(verb: Word, rest: tuple[Word, ...], low: Lowering) -> None:
    opts = parse(rest, values=("-t", "-N", "-c"), stop=True)
    if opts.has("-X") or not opts.operands:
        if "pipe" in opts.word(0):  # of the commands of the copy mode, these hand the selection to a program
            _named_only(verb, opts, low)
            low.shell(opts.operands[-1], via="tmux")
        return
    target = opts.value("-t")
    keys = tuple(map(_hexadecimal, opts.operands)) if opts.has("-H") else opts.operands
    typed_keys.types(low, target.text if target is not None else "", keys, target or verb)
    typed_keys.run_typed(low, keys, "tmux", literal=opts.has("-l") or opts.has("-H"))


def _state_ended(names: tuple[Word, ...], low: Lowering) -> None:
    """A session ends that is called like a program which watches over the agent."""
    for name in names:
        if names_watcher(name.text):
            low.emit("guard.tamper", name.text, certainty="possible", at=name, rule="guard-kill",
                     reason="Ends a session that is called like what watches over the agent")  # fmt: skip


def _named_only(verb: Word, opts: Options, low: Lowering) -> None:
    """A terminal that is named is one that was opened for a purpose; others may be a person's."""
    targets = opts.values("-t", "-s") if verb.text not in ("rename-session", "rename") else opts.values("-t")
    if not targets or not all(typed_keys.is_named(target.text) for target in targets):
        typed_keys.state_foreign_terminal(low, verb)


def _tmux_bound(verb: str, rest: tuple[Word, ...], low: Lowering) -> bool:
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
        opts = parse(rest, values=("-t",), stop=True)
        if len(opts.operands) > 1 and opts.word(0) in _CODE_SETTINGS:  # what windows run, now or later
            low.shell(opts.operands[1], via="tmux")
            _named_only(Word("set"), opts, low)
        elif opts.word(0) in _SHARED_SETTINGS:
            _named_only(Word("set"), opts, low)
    else:
        return False
    return True


def _tmux_text(word: Word, low: Lowering) -> None:
    """A command of tmux that is given as one word."""
    low.spend(len(word.text) // 16)
    try:
        parts = shlex.split(word.text)
    except ValueError:
        parts = word.text.split()
    for given in _commands(tuple(replace(word, text=part) for part in parts)):
        if len(given) != 1 or given[0].text != word.text:
            _tmux(given, low)


def _tmux_lines(content: Stream, low: Lowering) -> None:
    """Commands of tmux that come from a file or through a pipe."""
    if content.text is None or UNKNOWN in content.text:
        typed_keys.state_typing(low, "tmux")
        return
    for line in content.text.splitlines():
        if line.strip() and line.strip()[0] != "#":
            _tmux_text(Word(line.strip()), low)


def _hexadecimal(word: Word) -> Word:
    digits = word.text.removeprefix("0x")
    return replace(word, text=chr(int(digits, 16))) if re.fullmatch(r"[0-9A-Fa-f]{1,5}", digits) else word


_SCREEN_FINE = words("quit kill exec screen title number sessionname version info windows wall other next prev select")


@command("screen")
def screen(inv: Invocation, low: Lowering) -> None:
    """`screen -dmS name command`, and `-X stuff` that types into a window."""
    values = ("-S", "-c", "-e", "-h", "-p", "-r", "-s", "-t", "-T", "-L_")
    opts = parse(inv.args, values=values, stop=True)
    if opts.has("-ls", "-list", "-v", "-wipe"):
        return
    if opts.has("-X") and not {"quit", "kill"}.isdisjoint(word.text for word in inv.args):
        _state_ended(opts.values("-S", "-r"), low)
    for file in opts.values("-c"):
        if (
            ("/" in file.text or "rc" in file.text)
            and low.read(file).text is None
            and not low.path(file).endswith(("/.screenrc", "/dev/null"))
        ):
            typed_keys.state_foreign_terminal(low, file)
    if opts.has("-r", "-x", "-R", "-RR") and _is_driven(inv, low):
        typed_keys.state_typing(low, "screen", inv.args[0])
    if not opts.has("-X"):
        if opts.operands and not opts.has("-r", "-x", "-R"):
            low.run(opts.operands, via="screen")
        return
    session = opts.value("-S")
    _screen(opts.operands, session, low)


def _screen(given: tuple[Word, ...], session: Word | None, low: Lowering) -> None:
    """One command of screen, for a session that is running."""
    if not given:
        return
    verb = given[0].text
    if verb == "eval":
        for word in given[1:]:
            parts = word.text.split(None, 1)
            _screen(tuple(replace(word, text=part) for part in parts), session, low)
    elif verb in ("stuff", "paste", "readbuf"):
        typed_keys.types(low, session.text if session is not None else "", given[1:], session or given[0])
        if verb == "stuff":
            typed_keys.run_typed(low, given[1:], "screen", literal=True)
    elif verb in ("exec", "screen") and len(given) == 2:
        low.shell(given[1], via="screen")
    elif verb in ("exec", "screen"):
        low.run(given[1:], via="screen")
    elif verb in ("quit", "kill"):
        low.emit("process.kill", "screen", recoverable=True)
    elif verb not in _SCREEN_FINE:
        typed_keys.state_foreign_terminal(low, given[0])


_ZELLIJ_FINE = words(
    """
    ls list-sessions attach a setup options convert-config convert-layout convert-theme list-aliases kill-session k
    delete-session d delete-all-sessions kill-all-sessions ka da help plugin p
    """
)


@command("zellij", "dtach", "abduco")
def terminals(inv: Invocation, low: Lowering) -> None:
    """Other programs that keep a terminal: what follows `--` or the socket is run."""
    texts = [word.text for word in inv.args]
    if "--" in texts:
        low.run(inv.args[texts.index("--") + 1 :], via=inv.name)
    elif inv.name in ("dtach", "abduco") and len(inv.args) > 2:
        low.run(inv.args[2:], via=inv.name)
    elif inv.name == "dtach" and "-p" in texts:
        typed_keys.state_typing(low, inv.name, inv.args[0])
    elif inv.name == "zellij":
        opts = parse(
            inv.args, values=("-s", "--session", "-l", "--layout", "-c", "--config", "--config-dir"), stop=True
        )
        for file in opts.values("-l", "--layout", "-c", "--config"):
            if "/" in file.text or file.text.endswith(".kdl"):  # it says what runs in panes, and on which keys
                typed_keys.state_foreign_terminal(low, file)
        if opts.operands and opts.word(0) not in _ZELLIJ_FINE:
            typed_keys.state_foreign_terminal(low, opts.operands[0])
