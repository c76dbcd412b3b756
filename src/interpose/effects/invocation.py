"""The values of the shell analysis: words, streams, invocations, and the `Lowering` through which a command speaks.

A command's handler (shell/commands/) gets an `Invocation` and a `Lowering` and says what the command would do:

    @command("rm")
    def rm(inv: Invocation, low: Lowering) -> None:
        opts = parse(inv.args, aliases={"--recursive": "-r", "-R": "-r", "--force": "-f"})
        for target in opts.operands:
            low.delete(target, recursive=opts.has("-r"), forced=opts.has("-f"))

Handlers never decide and never touch the machine. They state effects; the guard judges them.
"""

from __future__ import annotations

from typing import Any, Protocol

from msgspec import Struct

from interpose.effects.values import Certainty, EffectKind

UNKNOWN = "\ufffc"
"""Stands in a word's text for each part whose value cannot be known."""

NOTHING: frozenset[str] = frozenset()
MOVED = "moved:"
"""How the taint begins that says where a moved file lay."""
FOUND_PROCESSES = frozenset({"watcher", "our-process", "our-port"})
"""Taints of the numbers of processes that watch over an agent: see shared/watchers.py."""
OUR_NAMES = "our-names"
"""The taint of listed names among which those of our own private files are."""
SETTINGS_NAMES = "settings-names"
"""The taint of listed names among which those of agents' settings are."""
RANGE = frozenset({"range"})
"""Taints a word that stands for a long range of numbers or letters: `{2..32768}`."""
VARIABLE_NAMES = "variable-names"
"""The taint of the names of all variables: `${!name}` of each is the environment."""
SHOWN = "shown"
"""The taint of a secret that was taken out of its store: printing it is what matters."""
DUMP = "dump"
"""The taint of a whole environment. A part of it that somebody looked up is none."""
PRINTABLE = frozenset({SHOWN, DUMP})


class Word(Struct, frozen=True):
    """One argument after quote removal and expansion, as far as it can be known without running anything.

    `taints` say where unknown parts come from: `remote` (downloaded), `decoded` (base64 and the like), `secret`,
    `env` (an environment variable), `cloned` (from a repository that nobody knows), `input` (stdin, read),
    `output` (some command's output), `param` (positional),
    `shell` (printed by a shell that takes its orders from elsewhere).
    """

    text: str
    span: tuple[int, int] = (0, 0)
    glob: bool = False
    """An unquoted `*`, `?` or `[` is active in `text`."""
    quoted: bool = False
    taints: frozenset[str] = NOTHING

    @property
    def known(self) -> bool:
        """Whether `text` is exactly what the command gets (a glob is known, its matches are not)."""
        return UNKNOWN not in self.text


class Stream(Struct, frozen=True):
    """What flows through a pipe or lies in a file, as far as it is known. `text` is None when it is not."""

    text: str | None = None
    taints: frozenset[str] = NOTHING


EMPTY_STREAM = Stream(text="")


class Invocation(Struct, frozen=True):
    """One simple command that would run, after wrappers were peeled off."""

    name: str
    """Base name, as typed but without directory and `.exe`: `/usr/bin/rm` is `rm`."""
    args: tuple[Word, ...]
    span: tuple[int, int] = (0, 0)
    argv0: Word = Word("")
    stdin: Stream | None = None
    """What the command reads, or None when stdin is not redirected (the terminal)."""
    env: tuple[tuple[str, Word], ...] = ()
    """Assignments in front of the command."""
    piped_out: bool = False
    """Whether stdout goes into another command of the analysed text."""


class Lowering(Protocol):
    """How a handler says what its command would do. Paths may be Words or plain text; they are resolved here.

    `read`, `write` and `delete` also derive what follows from the path alone: `secret.read`, `persistence`,
    `guard.tamper`, `system`. A handler must not do that itself.
    """

    @property
    def cwd(self) -> str:
        """The directory the command runs in (UNKNOWN when it cannot be known)."""

    @property
    def home(self) -> str:
        """The user's home directory."""

    @property
    def via(self) -> tuple[str, ...]:
        """The wrappers that the command came through, from the outside in."""

    def emit(
        self,
        kind: EffectKind,
        resource: str = "",
        *,
        certainty: Certainty = "proven",
        at: Word | None = None,
        **details: Any,
    ) -> None:
        """State an effect. `at` is the word that causes it (default: the whole command)."""

    def spend(self, steps: int) -> None:
        """Count work that effects don't show: nobody may keep us busy without an end."""

    def read(self, path: Word | str, **details: Any) -> Stream:
        """The command reads `path` (recursively with `recursive=True`). Returns what is known of its content."""

    def write(
        self, path: Word | str, content: Stream | None = None, *, added: str | None = None, **details: Any
    ) -> None:
        """The command creates, replaces or changes `path`. `append=True`, `in_place=True`, ... as details.

        `added`: of a change in place, everything that it may put into the file.
        """

    def fill(self, path: Word | str, *, name: str = "", everything: bool = False) -> None:
        """Files land in the directory `path`, or in its place: only one of this `name`, or whatever the source holds.

        `everything`: with directories whose names may begin with a dot. States nothing but `guard.tamper`.
        """

    def plant(self, directory: Word | str, name: str | None = None) -> None:
        """A tree lands in `directory`: one of this `name`, or whatever the source holds (None).

        States `guard.tamper` where something of ours could be among it, and nothing else.
        """

    def delete(self, path: Word | str, **details: Any) -> None:
        """The command removes `path`. Details: `recursive`, `forced`."""

    def permission(self, path: Word | str, **details: Any) -> None:
        """The command changes mode, owner or attributes. Details: `recursive`, `mode`, `owner`."""

    def reach(self, url: str, *, at: Word | None = None, socket: str = "") -> None:
        """The command sends a request, perhaps through a Unix socket. Orders to our own server are stated here."""

    def reach_raw(self, host: str, port: str, sent: Stream | None, *, at: Word | None = None, socket: str = "") -> None:
        """The command sends `sent` as it is (None: nothing). Orders to our own server are stated here."""

    def list_names(self, path: Word, *, below: bool = False) -> frozenset[str]:
        """The command prints the name of `path` or of what is in it (`below`: of all below it). The names' taints."""

    def path(self, word: Word | str) -> str:
        """The absolute, normalised path a word names (UNKNOWN parts kept)."""

    def output(self, stream: Stream) -> None:
        """What the command prints (default: unknown text with the taints of what it read)."""

    def shell(self, code: Word | Stream | str, *, via: str, args: tuple[Word, ...] = (), dialect: str = "bash") -> None:
        """The command runs `code` as a shell script. Tainted or unknown code becomes `code.remote` or `opaque`."""

    def run(
        self,
        words: tuple[Word, ...],
        *,
        via: str,
        stdin: Stream | None = None,
        env: tuple[tuple[str, Word], ...] = (),
    ) -> None:
        """The command runs another command given as words (`sudo`, `env`, `xargs`, ...), with assignments."""

    def code(self, language: str, code: Word | Stream | str, *, via: str) -> None:
        """The command runs a program text in `python`, `javascript`, `perl`, `ruby`, `php`, `lua`, `awk`, `sql`, ..."""

    def run_file(self, path: Word | str, *, via: str, language: str = "bash") -> None:
        """The command runs a script file: what was written to it earlier in the same text is analysed."""

    def written(self, *names: str) -> tuple[Stream, ...]:
        """What this text wrote earlier into files of these names.

        They are patterns for the last part of a path, or for all of it where they have a slash.
        """

    def known(self, path: Word | str) -> Stream | None:
        """What this text put into `path`, a process substitution or a descriptor; None where it says nothing."""

    def suspect(self, code: Word | Stream | str, *, via: str, language: str = "bash", certain: bool = False) -> None:
        """The command may run `code`, or not at all: only what would be a catastrophe is stated.

        `certain`: if it is code at all, then it runs.
        """

    def set_cwd(self, path: Word | str) -> None:
        """The rest of the text runs in another directory (`cd`, `pushd`)."""

    def set_variable(self, name: str, value: Word) -> None:
        """The command assigns a shell variable (`read`, `export`, `printf -v`)."""
