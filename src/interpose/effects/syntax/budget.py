"""How much is looked at for one call. A count of steps, not of seconds: the same call always gets the same answer.

A step is what reading one word costs, some microseconds. What costs more counts more. Whoever has spent it all is
refused: nobody can say what a text does that was not read to its end, and padding must never turn a refusal into a
question.
"""

from __future__ import annotations

STEPS = 30_000
"""For one call. Honest commands take some tens, long scripts some thousands."""
COMMAND = 8
"""Of each command that runs, beside those of its words."""
EFFECT = 10
"""Of each effect: guards and rules look at it again and again."""
CHARACTERS = 64
"""Characters of a value that are one step."""
_PROGRAM = 4
"""Characters of a program in another language that are one step, before anything in it is followed."""
_PYTHON = 8
"""The same for Python, where each sign below is a step of its own: it is compiled, and dense text takes longest."""
_PYTHON_SIGNS = "([{,.=+\n"
_BRACE = 2
"""Steps of each brace beside f-strings, which are compiled one by one."""
_PATH, _SHORT_PATH = 4, 256
"""The same for a path that is longer than paths are."""
WILD_PATH = 10
"""Steps of a path that is not wholly known: it is tried on every name that means something."""


class ExhaustedError(Exception):
    """The analysis has used up its bounds."""


def steps_of_program(text: str, language: str = "") -> int:
    """What it takes to read a program in another language."""
    if language != "python":
        return len(text) // _PROGRAM
    formats = _BRACE * text.count("{") if 'f"' in text or "f'" in text else 0
    return len(text) // _PYTHON + formats + sum(text.count(sign) for sign in _PYTHON_SIGNS)


def steps_of_path(text: str) -> int:
    """What it takes to look at a path. Those that a system would open cost nothing beside what opens them."""
    return max(0, len(text) - _SHORT_PATH) // _PATH


class Budget:
    """The steps that are left. Shared by all that is read for one call."""

    __slots__ = ("left",)

    def __init__(self, steps: int = STEPS) -> None:
        self.left = steps

    def spend(self, steps: int = 1) -> None:
        """Take steps away. ExhaustedError when there are none left, now and for whoever asks again."""
        self.left -= steps
        if self.left < 0:
            raise ExhaustedError
