"""A rulebook: what one `governance.yaml` says, checked and put together. Plain values; load.py makes them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Literal, TypeVar, cast

from msgspec import Struct

from interpose.core.types import EMPTY, Mode
from interpose.rules.governance.files.file_model import (
    AgentForm,
    BudgetForm,
    CeilingForm,
    ChainsForm,
    DelegationForm,
    FirstForm,
    FrontmatterForm,
    Patterns,
    SaveWorkForm,
    SessionsForm,
    StallsForm,
    ToolsForm,
    Unknown,
)

T = TypeVar("T")

RulebookLevel = Literal["organisation", "user", "project"]
"""Whose word it is. No level can take away what another one says."""

ROLE_KEYS = ("tools", "write", "commands", "first_tools", "delegates", "instead", "mode")
"""What a role takes from the role above it if it does not say it itself."""


class FileScope(Struct, frozen=True, kw_only=True):
    """A set of files. Globs are relative to the project's directory unless they begin with / or ~."""

    name: str
    paths: Patterns
    outside: Patterns = ()
    others: tuple[str, ...] = ()


class Role(Struct, frozen=True, kw_only=True):
    """A role with all that it has taken from the roles above it. Only the ceilings of those bind it."""

    name: str
    parents: tuple[str, ...] = ()
    """The nearest first."""
    tier: int = 0
    description: str = ""
    tools: ToolsForm = ToolsForm()
    ceilings: tuple[CeilingForm, ...] = ()
    """Its own and those of all roles above it."""
    write: tuple[str, ...] | None = None
    """Scopes that it may write; None is anything."""
    commands: tuple[str, ...] | None = None
    """Categories of commands, and commands by their words; None is anything."""
    first_tools: FirstForm | None = None
    delegates: DelegationForm | None = None
    instead: str = ""
    mode: Mode = "enforce"
    places: dict[str, str] = EMPTY
    """Where each key was written, for evidence: `write` is `governance.yaml:31: roles.researcher.write`. A key that was
    taken from a role above is where that role says it."""
    ceiling_places: tuple[str, ...] = ()
    """The same for each of the ceilings."""

    def place(self, key: str) -> str:
        """Where a key stands, or where the role does."""
        return self.places.get(key) or self.places.get("", f"roles.{self.name}")


class Rulebook(Struct, frozen=True, kw_only=True, dict=True):
    """All that one file says. Beside its fields it carries what was compiled of them, which is no part of its value."""

    file: str
    level: RulebookLevel = "user"
    mode: Mode = "enforce"
    revision: str = ""
    """A digest of the file and of the ready files that it includes."""
    unknown_role: Unknown = "deny"
    agents: tuple[AgentForm, ...] = ()
    roles: dict[str, Role] = EMPTY
    scopes: dict[str, FileScope] = EMPTY
    tools: dict[str, Patterns] = EMPTY
    """Its own groups of tools, each with all its members: no group is in a group any more."""
    spelled: dict[str, str] = EMPTY
    """Names of tools as the file spells them, where they are compared otherwise."""
    chains: ChainsForm = ChainsForm()
    sessions: SessionsForm = SessionsForm()
    stalls: StallsForm = StallsForm()
    budgets: tuple[BudgetForm, ...] = ()
    save_work: SaveWorkForm = SaveWorkForm()
    frontmatter: FrontmatterForm = FrontmatterForm()
    places: dict[str, str] = EMPTY
    """Where other keys were written: `unknown_role` is `governance.yaml:3: unknown_role`."""

    def place(self, key: str) -> str:
        """Where a key stands, or which file it is."""
        return self.places.get(key) or f"{self.file.rpartition('/')[2]}: {key}"

    def compiled(self, part: Hashable, make: Callable[[], T]) -> T:
        """A part of the file as it is used: made when the file is loaded (load.py), or when it is first asked for.

        INVARIANT: it depends on the file alone, and there are as many as the file has parts.
        """
        found = self.__dict__.get(cast("str", part))
        if found is None:
            found = self.__dict__[cast("str", part)] = make()
        return cast("T", found)


class Seat(Struct, frozen=True, kw_only=True):
    """What a rulebook makes of who acts."""

    book: Rulebook
    role: Role | None = None
    """None for whoever is none of the listed agents."""
    agent: str = ""
    """The id of the agent in its session; empty for a main agent."""
    name: str = ""
    """What kind of agent it is, or what it is called."""
    is_sub_agent: bool = False
    called: str = ""
    """What texts call it, where only a role is asked about and no agent acts."""

    @property
    def mode(self) -> Mode:
        """Whether its rules block. A file in `watch` blocks nobody, whatever its roles say."""
        return self.book.mode if self.role is None or self.book.mode == "watch" else self.role.mode
