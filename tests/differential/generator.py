"""Random shell scripts over stub programs and relative files: every construct that can carry a command.

Scripts are only ever run in an empty directory with a PATH of stubs; they name no absolute path but /dev/null.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

STUBS = ("alpha", "beta", "gamma", "rm", "curl", "git", "chmod")
PRINTING = ("alpha", "beta", "gamma")
"""Stubs that print something; the others are silent, as the programs of that name are."""
FAILING = ("omega",)
"""Stubs that exit with 1, so that both sides of `&&` and `||` are met."""
RUNNERS = ("sudo", "doas", "busybox", "ssh", "su")
"""Stubs that run the command they are given, as the programs of that name do."""

Make = Callable[["Generator", int], str]

COMMANDS: dict[str, Make] = {}
WORDS: dict[str, Make] = {}


def command(name: str) -> Callable[[Make], Make]:
    def register(make: Make) -> Make:
        COMMANDS[name] = make
        return make

    return register


def word(name: str) -> Callable[[Make], Make]:
    def register(make: Make) -> Make:
        WORDS[name] = make
        return make

    return register


class Generator:
    """One script. `drawn` counts the constructs that went into it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.drawn: Counter[str] = Counter()
        self.variables: list[str] = []
        self.in_dash = 0
        self._names = 0

    def script(self) -> str:
        lines = [self.command(self.random.randint(1, 3)) for _ in range(self.random.randint(1, 4))]
        return "\n".join(lines) + "\nwait\n"

    def command(self, depth: int) -> str:
        """A complete command; at depth 0 a plain one."""
        if depth <= 0:
            return self.simple()
        name = self.random.choice(sorted(COMMANDS))
        self.drawn[name] += 1
        return COMMANDS[name](self, depth - 1)

    def line(self, depth: int) -> str:
        """A command that fits on one line."""
        for _ in range(8):
            state = self.drawn.copy(), list(self.variables)
            text = self.command(depth)
            if "\n" not in text:
                return text
            self.drawn, self.variables = state
        return self.simple()

    def portable(self, depth: int) -> str:
        """A command on one line that dash understands too."""
        first = f"{self.stub()} {self._portable_word()}"
        return first if depth <= 0 or self.random.random() < 0.5 else f"{first}; {self.stub()} {self._portable_word()}"

    def _portable_word(self) -> str:
        return self.random.choice((self.plain(), "'s q'", '"d q"', "b\\ s", "${NEVER_SET:-w}", "$(echo o)", "`echo p`"))

    def simple(self) -> str:
        parts = [self.stub()]
        parts.extend(self.word(0) for _ in range(self.random.randint(0, 2)))
        return " ".join(parts)

    def stub(self) -> str:
        return self.random.choice(STUBS if self.random.random() < 0.9 else FAILING)

    def word(self, depth: int) -> str:
        """An argument."""
        if self.random.random() < 0.5:
            return self.plain()
        name = self.random.choice(sorted(WORDS))
        self.drawn[name] += 1
        return WORDS[name](self, depth)

    def plain(self) -> str:
        return self.random.choice(("a", "b1", "-x", "--long", "k=v", "x/y", "1", "w.txt"))

    def name(self) -> str:
        self._names += 1
        return f"v{self._names}"

    def file(self) -> str:
        return f"f{self.random.randint(0, 9)}"

    def variable(self) -> str:
        """A variable that was assigned, or one that never was."""
        if self.variables and self.random.random() < 0.8:
            return self.random.choice(self.variables)
        return "NEVER_SET"


def quoted(text: str) -> str:
    """`text` as one single-quoted word."""
    return "'" + text.replace("'", "'\\''") + "'"
