"""`builtin:hidden-text`: results reach the agent without text that no person sees.

A page or a server can hide orders in letters that show nothing. It runs before secrets are looked for: one that was cut
in pieces by such letters is whole again.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from interpose.core.formats.nested_values import NestedWalk
from interpose.core.types import Allow, ToolOutcome, Transform

ID = "builtin:hidden-text"
RULE = "hidden-text"


class HiddenText:
    """Takes letters out of results that only a model reads, and codes that steer a terminal.

    Limits: orders in plain words pass, and so does text that is merely hard to see, as white on white in HTML.
    """

    id = ID
    priority = 95
    point = "tool.after"

    def __repr__(self) -> str:
        return "HiddenText()"

    def intercept(self, outcome: ToolOutcome) -> Allow | Transform[ToolOutcome]:
        """The result as a person would see it."""
        if outcome.denied:
            return Allow()
        walk = _Seen()
        result = walk.replaced(outcome.result)
        if not walk.taken:
            return Allow()
        letters = "letter" if walk.taken == 1 else "letters"
        return Transform(replace(outcome, result=result), f"took out {walk.taken} hidden {letters}", RULE)


class _Seen(NestedWalk):
    def __init__(self) -> None:
        super().__init__()
        self.taken = 0

    def begin_again(self) -> None:
        self.taken = 0

    def text(self, text: str, _name: str) -> str:
        if text.isascii() and "\x1b" not in text:
            return text
        from interpose.core.formats.unseen_text import without_unseen  # few results need it, and hooks are in a hurry

        seen, taken = without_unseen(text)
        self.taken += taken
        return seen

    def withhold(self, value: Any, _kind: str) -> Any:
        """Too deep to be looked into: whoever looks for secrets holds it back."""
        return value
