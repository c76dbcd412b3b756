"""What is known of a framework: what it can do with an answer. What it can't do raises when somebody asks for it."""

from __future__ import annotations

from msgspec import Struct

from interpose.core.errors import FrameworkLimitError

SOURCE = "framework:"
"""How the sources of calls begin that came from a framework."""


class FrameworkFacts(Struct, frozen=True, kw_only=True):
    """One framework. `name` is its word in records, `title` what people call it."""

    name: str
    title: str
    asks: str = ""
    """Its own way of asking a person, in its own word. Empty: it has none."""
    asks_rewritten: bool = True
    """Whether its person can be shown other arguments than the model's. If not, what would be changed and asked about
    is refused."""
    rewrites: bool = True
    """Whether other arguments than the model's can run. If not, a rewrite is a refusal that names the safer call."""
    messages: bool = False
    """Whether there is a place in which a message of the user can be judged, changed and refused."""

    def must_ask(self) -> None:
        """Raises FrameworkLimitError if the framework has no way of asking."""
        if not self.asks:
            raise FrameworkLimitError(
                f"{self.title} has no way of its own to ask a person: leave confirm out, or give a handler, or give a "
                "server, whose queue keeps the question"
            )

    def must_judge_messages(self) -> None:
        """Raises FrameworkLimitError if there is no place for messages."""
        if not self.messages:
            raise FrameworkLimitError(f"{self.title} has no place in which messages can be judged: leave messages out")
