"""`interpose approvals watch`: each question as it comes. One key denies or defers it, and no single key approves.

A key can be typed by mistake, or by another program. So an approval takes a key and then the beginning of the
question's id. The default is to deny.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

from interpose.composition.service.question_views import AnsweredQuestion
from interpose.core.errors import ApprovalError, StoreError, text_of
from interpose.doors.cli import EXIT_INTERRUPTED
from interpose.doors.cli.approving.approvals_desk import AnyDesk
from interpose.doors.cli.approving.approvals_edit import call_text, edit_call
from interpose.doors.cli.approving.approvals_text import now, question_text
from interpose.doors.cli.explaining.call_arguments import UsageError
from interpose.doors.cli.explaining.verdict_text import Ink, visible
from interpose.doors.cli.shared.terminal import colours_wanted
from interpose.people.approvals.questions import Question
from interpose.people.approvals.scopes import ONCE, SESSION

POLL_SECONDS = 0.3
TYPED = 4
"""How much of a question's id an approval takes."""

Answer = Literal["once", "session", "no", "later", "quit"]
Key = Answer | Literal["edit"]

_KEYS: dict[str, Key] = {
    "y": "once", "s": "session", "e": "edit", "n": "no", "\r": "no", "\n": "no", "l": "later", "q": "quit",
    "\x04": "quit",
}  # fmt: skip


def watch(desk: AnyDesk, by: str, awaited: Callable[[], str] = lambda: "waiting for questions; q ends") -> int:
    """Answer until somebody has enough. What is not answered stays in the queue, and is a no when its time is up.

    `awaited` says what is waited for, as of the desk's last look.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("watch needs a terminal: use list, approve and deny in scripts")
    prompt = _Prompt(desk, by, awaited, Ink(colours_wanted()))
    try:
        with _single_keys(), _interrupted(prompt):
            prompt.run()
    except KeyboardInterrupt:
        print()
        return EXIT_INTERRUPTED
    print()
    return 0


@contextmanager
def _single_keys() -> Iterator[None]:
    """Keys arrive one by one and are not shown, until the end, however it comes."""
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal)
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


@contextmanager
def _interrupted(prompt: _Prompt) -> Iterator[None]:
    """An interrupt that is lost on its way, as one that arrives while Python takes an object apart, counts all the
    same."""

    def handler(_number: int, _frame: object) -> None:
        prompt.interrupted = True
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class _Prompt:
    def __init__(self, desk: AnyDesk, by: str, awaited: Callable[[], str], ink: Ink) -> None:
        self._desk, self._by, self._awaited, self._ink = desk, by, awaited, ink
        self._left_for_later: set[str] = set()
        self._problem = self._told = ""
        self.interrupted = False

    def run(self) -> None:
        while True:
            if self.interrupted:
                raise KeyboardInterrupt
            question = self._next()
            if (waits := self._awaited()) != self._told:
                print(self._ink(visible(waits), "2"), flush=True)
                self._told = waits
            if question is None:
                if _key() == "quit":
                    return
            elif self._put(question) == "quit":
                return

    def _next(self) -> Question | None:
        try:
            waiting = self._desk.asked()
            self._problem = ""
        except StoreError as error:
            self._complain(text_of(error))
            return None
        self._left_for_later &= {question.id for question in waiting}
        return next((question for question in waiting if question.id not in self._left_for_later), None)

    def _complain(self, problem: str) -> None:
        """Say once what is wrong, not with each attempt."""
        if problem != self._problem:
            print(f"{self._ink('can not look', '31')}  {visible(problem)}", flush=True)
        self._problem = problem

    def _put(self, question: Question) -> Key | None:
        width = shutil.get_terminal_size((100, 24)).columns
        session = "  [s] this session" if question.session else ""
        print(f"\a\n{question_text(question, self._ink, now=now(), width=width)}\n", flush=True)
        # What was typed before the question was to be seen is no answer to it.
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
        menu = f"  [y] once{session}  [e] edit  [N] no  [l] later  [q] quit "
        print(menu, end="", flush=True)
        while True:
            key = _key()
            if key in ("once", "session") and (key == "once" or question.session):
                if self._confirmed(question, key):
                    break
                print(menu, end="", flush=True)
            elif key == "edit":
                if (done := self._edited(question)) is not None:
                    print(done, flush=True)
                    return key
                print(menu, end="", flush=True)
            elif key not in (None, "session"):
                break
            if self.interrupted:
                raise KeyboardInterrupt
            if (over := self._over(question)) is not None:
                print(over, flush=True)
                return None
        print(self._answer(question, key), flush=True)
        return key

    def _edited(self, question: Question) -> str | None:
        """What became of an edited call. None if the question stands as it was."""
        print(flush=True)
        try:
            arguments = edit_call(question)
        except UsageError as error:
            print(f"  {self._ink('not edited', '31')}  {visible(str(error))}", flush=True)
            return None
        self.interrupted = False  # Ctrl-C gives up the edit alone
        if arguments is None:
            print(f"  {self._ink('not edited', '2')}", flush=True)
            return None
        print(f"  it would run as  {call_text(arguments)}", flush=True)
        if not self._confirmed(question, "edit"):
            return self._over(question)
        try:
            done = self._desk.approve(question.id, self._by, ONCE, arguments=arguments)
        except (ApprovalError, StoreError) as error:
            print(f"  {self._ink('not done', '31')}  {visible(text_of(error))}", flush=True)
            return self._over(question)
        notes = done.notes if isinstance(done, AnsweredQuestion) else ()
        return "\n".join((self._ink("approved as edited", "32"), *(f"  note  {visible(note)}" for note in notes)))

    def _confirmed(self, question: Question, key: Key) -> bool:
        """Whether the beginning of the question's id is typed, and Enter. Anything else goes back."""
        wanted, typed = question.id[:TYPED], ""
        what = {"session": "for this session", "edit": "the edited call once"}.get(key, "once")
        print(f"\n  to approve {what}, type {wanted} and Enter: ", end="", flush=True)
        while True:
            piece = _typed()
            if self.interrupted:
                raise KeyboardInterrupt
            if piece is None:
                if self._over(question) is not None:
                    print(flush=True)
                    return False
                continue
            for letter in piece or "\x04":
                if letter in "\r\n":
                    print(flush=True)
                    return typed.lower() == wanted.lower()
                if not letter.isalnum() or len(typed) == TYPED:
                    print(flush=True)
                    return False
                typed += letter
                print(letter, end="", flush=True)

    def _answer(self, question: Question, key: Answer) -> str:
        try:
            match key:
                case "once" | "session":
                    self._desk.approve(question.id, self._by, SESSION if key == "session" else ONCE)
                    return self._ink("approved" if key == "once" else "approved for this session", "32")
                case "no":
                    self._desk.deny(question.id, self._by)
                    return self._ink("denied", "31")
                case "later" | "quit":
                    self._left_for_later.add(question.id)
                    return f"left: interpose approvals approve {question.id}"
        except (ApprovalError, StoreError) as error:
            return f"{self._ink('not done', '31')}  {visible(text_of(error))}"

    def _over(self, question: Question) -> str | None:
        """Why a question need not be answered any more."""
        try:
            seen = self._desk.question(question.id)
        except (ApprovalError, StoreError) as error:
            return visible(text_of(error))
        if seen.state == "waiting":
            return None
        return seen.state if seen.answer is None else f"{seen.state} by {visible(seen.answer.by)} meanwhile"


def _key() -> Key | None:
    """The next key, if one is pressed soon. Keys that mean nothing here are ignored.

    So is all that arrives in one piece: a text that was pasted, or the letters that stand for a function key.
    """
    pressed = _typed()
    return None if pressed is None else _KEYS.get(pressed.lower()) if pressed else "quit"


def _typed() -> str | None:
    """What is typed, if something is soon; empty at the end of what can be typed."""
    terminal = sys.stdin.fileno()
    ready, _, _ = select.select([terminal], [], [], POLL_SECONDS)
    return os.read(terminal, 1024).decode("latin-1") if ready else None
