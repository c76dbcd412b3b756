"""How handlers speak: `CommandLowering` turns what one command states into effects, streams and changed state."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from interpose.effects.agents.known_agents import AGENTS
from interpose.effects.invocation import EMPTY_STREAM, NOTHING, PRINTABLE, UNKNOWN, Invocation, Stream, Word
from interpose.effects.languages import PROGRAMS, lower_of
from interpose.effects.late_patterns import late
from interpose.effects.paths import changes_settings, mentions_ours, protected_place_of, reads_whole_home
from interpose.effects.programs.shared.disk_space import ENDLESS
from interpose.effects.shell import second_looks, vanishing
from interpose.effects.shell.edited_files import EDITED, edited, language_of, runnable
from interpose.effects.shell.endless import state_endless
from interpose.effects.shell.file_lowering import HARMLESS, SAY_WHAT_LANDS, FileLowering
from interpose.effects.shell.last_look import computes, look
from interpose.effects.shell.state import Variable
from interpose.effects.streams import joined
from interpose.effects.syntax.budget import steps_of_program

if TYPE_CHECKING:
    from interpose.effects.shell.walk import CodeScope

_UNTRUSTED = frozenset({"remote", "decoded"})
_SCOPES: dict[str, CodeScope] = {
    **dict.fromkeys(("eval", "source", ".", "arithmetic"), "shell"),
    **dict.fromkeys(("trap", "alias", "fc", "mapfile", "readarray", "complete", "compgen", "bind"), "copy"),
}
"""Through these, code runs in the shell itself; through others it runs in a child."""


def _any_of(names: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, names)))


_STARTS_AGENTS = late(
    rf"(?s)\b(?:{_any_of(name for agent in AGENTS for name in agent.libraries)})"
    rf"\b.{{0,4000}}\b(?:{_any_of(name for agent in AGENTS for name in agent.library_calls)})\s{{0,8}}\("
)
"""Programs that run a coding agent as a library: named, and called."""
_TYPES_KEYS = late(
    r"TIOCSTI|0[xX]5412\b|\b21522\b|\b0o?52022\b|0[xX]80017472\b|\b(?:pyautogui|pynput|uinput|robotjs|nut-js|xtest_fake_input|XTestFakeKeyEvent|CGEventPost|keybd_event"
    r"|SendInput|SendKeys|pywinauto|libtmux|pyatspi|generateKeyboardEvent)\b"
    r"|\bdo script\b[^\n]{0,400}\bin (?:window|front|tab|selected)|\btell\b[^\n]{0,200}\bwrite text\b"
    r"|\bspawn\s+(?:tmux|screen|zellij|dtach|abduco)\b"
)
"""How programs type for a person: into a terminal, or into whatever window has the focus."""


_INTO_PROCESSES = late(
    r"\bremote_exec\(|(?s:/proc\b.{0,400}\bkill\()|(?s:\bkill\s{0,4}[('\"A-Z0-9-].{0,400}/proc\b)"
    r"|(?s:(?:\brange\(\s{0,4}\d|<=?\s{0,4}\d{4,}).{0,200}\bkill\()"
    r"|(?s:process_iter.{0,400}\.(?:kill|terminate|suspend|send_signal)\()"
    r"|(?s:\bpgrep\b.{0,400}\b(?:kill|killpg)\()|(?s:\b(?:kill|killpg)\(.{0,400}\bpgrep\b)"
    r"|\bptrace\(|process_vm_writev"
)


_JOINTS = late(r"(['\"])\s{0,4}(?:\+\+?|\.\.?|<>|~|\|\||\*)?\s{0,4}['\"](?=\w)")
"""Between two constants that a program puts together: `'inter' + 'pose'`."""


class CommandLowering(FileLowering):
    """The `Lowering` of one command."""

    __slots__ = ()

    def write(
        self, path: Word | str, content: Stream | None = None, *, added: str | None = None, **details: Any
    ) -> None:
        where = self.path(path) if "link" in details else self.place(path)
        if where in HARMLESS or where.startswith(("/dev/fd/", "/proc/self/fd/")):
            self.walker.feeds.feed(where, content or Stream(None, self.taints))
            return
        self._state("fs.write", where, path, details)
        if content is not None and ENDLESS in content.taints:
            self.emit("system", where, certainty="possible", at=path if isinstance(path, Word) else None,
                      rule="disk-fill", reason="Writes without an end, until the disk is full")  # fmt: skip
        self._meaning(where, path, details, content, gone=bool(details.keys() & {"link", "linked", "renamed"}))
        if "linked" in details and (mark := protected_place_of(details["linked"], self.walker.home)) is not None:
            self.emit("guard.tamper", details["linked"], certainty="possible",
                      at=path if isinstance(path, Word) else None, rule="guarded-place",
                      reason=f"With a second name it can be changed unseen, and it {mark.reason}")  # fmt: skip
        if self.inv.name not in SAY_WHAT_LANDS:
            self._plant_into(where, path)
        if isinstance(path, Word) and "output" in path.taints:
            self._plant_found(where, path)
        if content is not None and content.text:
            second_looks.at_planted(self, where, content.text, path if isinstance(path, Word) else None)
        if "link" in details and UNKNOWN not in where:
            self._remember_link(where, details["link"])
        files = self.walker.state.files
        if UNKNOWN not in where and not where.endswith("/"):
            new = content or Stream(None, self.taints)
            before = files.get(where)
            if details.get("append"):
                new = joined((before, new)) if before is not None else Stream(new.text, new.taints | {EDITED})
            elif details.get("in_place"):
                new = edited(before, new, added)
            files[where] = new

    def output(self, stream: Stream) -> None:
        self.printed = stream if self.printed is None else joined((self.printed, stream))

    # Code

    def shell(
        self, code: Word | Stream | str, *, via: str, args: tuple[Word, ...] | None = (), dialect: str = "bash"
    ) -> None:
        if dialect != "bash" and dialect in ("powershell", "cmd"):
            self.code(dialect, code, via=via)
            return
        text, taints = self._code_text(code, via)
        if text is not None:
            scope = _SCOPES.get(via, "child")
            if via == "trap":
                self.walker.traps.append((text, _span(code, self.inv), (*self.via, via), taints))
            self._add(self._each_reading(code, text, lambda text: self.walker.run_code(
                text, span=_span(code, self.inv), via=(*self.via, via), taints=taints, args=args,
                stdin=None if code is self.inv.stdin else self.inv.stdin, scope=scope, env=self.inv.env,
            )))  # fmt: skip
        else:
            # What the code prints is not known; the code itself is not printed.
            self._add(Stream(None, (taints - PRINTABLE) | {"shell"}))

    def _each_reading(self, code: Word | Stream | str, text: str, run: Callable[[str], Stream]) -> Stream:
        """Run code. Parts of its input that may be nothing are also left out; of words, the command saw to that."""
        if not isinstance(code, Stream) or UNKNOWN not in text:
            return run(text)
        bare = text.replace(UNKNOWN, "")
        return vanishing.either_way(self.walker, lambda: run(text), [lambda: run(bare)])

    def run(
        self,
        words: tuple[Word, ...],
        *,
        via: str,
        stdin: Stream | None = None,
        env: tuple[tuple[str, Word], ...] = (),
    ) -> None:
        if words:
            out = self.walker.invoke(
                words, stdin=self.inv.stdin if stdin is None else stdin, via=(*self.via, via), span=self.inv.span,
                env=(*self.inv.env, *env), piped=self.inv.piped_out, external=True,
            )  # fmt: skip
            self._add(out)

    def code(self, language: str, code: Word | Stream | str, *, via: str) -> None:
        text, _ = self._code_text(code, via)
        if text is None:
            return
        analyse = lower_of(language)
        first = len(self.walker.effects)

        def analysed(text: str) -> Stream:
            if analyse is not None:
                analyse(text, self, via)
            return EMPTY_STREAM

        outer = self.inv
        if code is outer.stdin:
            # The program was read from there: nothing is left for what it starts.
            self.inv = replace(outer, stdin=EMPTY_STREAM)
        if analyse is not None and self.walker.deeper(self.inv.span):
            self.walker.budget.spend(steps_of_program(text, language))
            self._each_reading(code, text, analysed)
            self.walker.depth -= 1
        if analyse is None or computes(language, text) or self._gave_up(first):
            look(text, self, via)
        self.inv = outer
        if language != "sql":
            self._state_mentioned(code, text, via, first)
        if language not in ("sql", "awk", "sed") and state_endless(text, self, via):
            self.output(Stream(taints=frozenset({ENDLESS})))
        if _INTO_PROCESSES.search(text):
            self.emit("guard.tamper", via, certainty="possible", rule="process-control",
                      reason="Ends processes as it finds them, or runs code inside another one")  # fmt: skip
        if _STARTS_AGENTS.search(text):
            self.emit("guard.tamper", via, certainty="possible", rule="nested-agent",
                      reason="Starts another agent by its library, which loads no hooks of its own accord")  # fmt: skip
        if _TYPES_KEYS.search(text):
            self.emit("guard.tamper", "terminal", certainty="possible", rule="terminal-input",
                      reason="Types into a terminal in which a person may be asked something")  # fmt: skip

    def _state_mentioned(self, code: Word | Stream | str, text: str, via: str, first: int) -> None:
        """State what a program names, in whatever way it is used and however it is put together."""
        at = code if isinstance(code, Word) else None
        if self._has_stated(first):
            return
        whole = _JOINTS.sub("", text)
        if mentions_ours(text) or (whole != text and mentions_ours(whole)):
            self.emit("guard.tamper", via, certainty="possible", at=at, ours=True,
                      reason="This program names files or orders of the guard itself")  # fmt: skip
        elif reads_whole_home(text):
            self.emit("guard.tamper", via, certainty="possible", at=at, rule="guard-keys",
                      reason="This program reads all of a home, with keys of the guard itself in it")  # fmt: skip
        elif changes_settings(whole):
            self.emit("guard.tamper", via, certainty="possible", at=at, rule="guarded-place",
                      reason="This program names an agent's settings, and does not only read")  # fmt: skip

    def _gave_up(self, first: int) -> bool:
        return any(effect.kind == "opaque" for effect in self.walker.effects[first:])

    def _has_stated(self, first: int) -> bool:
        return any(effect.kind == "guard.tamper" for effect in self.walker.effects[first:])

    def _code_text(self, code: Word | Stream | str, via: str) -> tuple[str | None, frozenset[str]]:
        """The known text of some code. What is not known of it is stated here."""
        text = code if isinstance(code, str) else code.text
        taints = NOTHING if isinstance(code, str) else code.taints
        at = code if isinstance(code, Word) else None
        if text is not None and UNKNOWN not in text and "remote" not in taints:
            return text, taints
        if taints & _UNTRUSTED:
            self.emit("code.remote", via, certainty="proven" if "remote" in taints else "possible", at=at,
                      rule="remote-code" if "remote" in taints else "decoded-code")  # fmt: skip
        elif text is None or not text.replace(UNKNOWN, "").strip():
            self.emit("opaque", via, certainty="unknown", at=at, rule="unknown-code",
                      reason="The code that runs cannot be known from the text")  # fmt: skip
            return None, taints
        return text, taints

    def run_file(self, path: Word | str, *, via: str, language: str = "bash") -> None:
        text = path if isinstance(path, str) else path.text
        if text.startswith(("http://", "https://", "ftp://")):
            self.emit("code.remote", text, at=path if isinstance(path, Word) else None)
            return
        where = self.path(path)
        content = self._descriptor(where)
        if content is None:
            content = second_looks.content_of(self.walker, where)
        if content is None:
            self._state("process.exec", where, path, {"script": True})
            self._run_namesakes(where, via, language)
            return
        at = path if isinstance(path, Word) else None
        if EDITED in content.taints:
            language = language_of(where, language) if where.endswith(f"/{via}") else language
            added = None if content.text is None else runnable(content.text, language, self.walker.budget)
            content = Stream(added, content.taints - {EDITED})
        if content.text is None and not content.taints & _UNTRUSTED:
            self.emit("opaque", where, certainty="unknown", at=at, rule="unknown-code",
                      reason="This command writes the script that it runs, and its content is not known")  # fmt: skip
            return
        self._run_content(content, via, language)

    def written(self, *names: str) -> tuple[Stream, ...]:
        return second_looks.written_as(self.walker, names)

    def known(self, path: Word | str) -> Stream | None:
        where = self.place(path)
        found = self._descriptor(where)
        return second_looks.content_of(self.walker, where) if found is None else found

    def suspect(self, code: Word | Stream | str, *, via: str, language: str = "bash", certain: bool = False) -> None:
        second_looks.at_doubtful(self, code, via, language, certain=certain)

    def _run_namesakes(self, where: str, via: str, language: str) -> None:
        """The directory is not known: a script of that name that was written earlier may be the one."""
        self.walker.doubt += 1
        for content in second_looks.namesakes(self.walker, where):
            self._run_content(content, via, language)
        self.walker.doubt -= 1

    def _run_content(self, content: Stream, via: str, language: str) -> None:
        language = _shebang(content.text or "") or language
        if language in ("bash", "sh"):
            self.shell(content, via=via, args=None)
        else:
            self.code(language, content, via=via)

    def _add(self, out: Stream) -> None:
        self.nested = out if self.nested is None else joined((self.nested, out))

    # State

    def set_cwd(self, path: Word | str) -> None:
        where = self.path(path)
        self.walker.state.cwds = (UNKNOWN if UNKNOWN in where else where,)

    def set_variable(self, name: str, value: Word) -> None:
        self.walker.expander.reference(name)
        base = name.partition("[")[0]
        if base == name:
            self.walker.assign(name, Variable(value.text, value.taints))
        else:
            self.walker.assign_element(base, name.partition("[")[2].removesuffix("]"), value)


def _span(code: Word | Stream | str, inv: Invocation) -> tuple[int, int]:
    return code.span if isinstance(code, Word) and code.span != (0, 0) else inv.span


def _shebang(text: str) -> str:
    """The language that a script's first line names, or an empty text."""
    if not text.startswith("#!"):
        return ""
    first = text[2:].partition("\n")[0].split()
    program = next((word for word in first if not word.startswith("-") and not word.endswith("/env")), "")
    name = program.rpartition("/")[2].rstrip("0123456789.")
    return PROGRAMS.get(name, name)
