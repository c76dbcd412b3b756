"""Which tools an agent may use at all, and what a sub-agent takes over from its parent."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from interpose.core.errors import ToolSetError
from interpose.core.tools import TOOL_GROUPS, normalize_tool_name


class _Kind(StrEnum):
    ALL = "all"
    NONE = "none"
    SPECIFIC = "specific"
    EXCEPT = "except"
    INHERIT = "inherit"
    INHERIT_EXCEPT = "inherit_except"


class ToolSet(Struct, frozen=True):
    """A set of tool names. Those that inherit must be resolved against their parent before they can be asked.

    INVARIANT: a resolved child never has a tool that its parent has not.
    """

    kind: _Kind
    names: frozenset[str] = frozenset()
    within: ToolSet | None = None

    @staticmethod
    def all() -> ToolSet:
        """Every tool."""
        return ToolSet(_Kind.ALL)

    @staticmethod
    def none() -> ToolSet:
        """No tool."""
        return ToolSet(_Kind.NONE)

    @staticmethod
    def specific(names: Iterable[str]) -> ToolSet:
        """These tools. A group such as `group:fs` stands for all of its tools."""
        return ToolSet(_Kind.SPECIFIC, _canonical(names))

    @staticmethod
    def except_(names: Iterable[str]) -> ToolSet:
        """Every tool but these."""
        return ToolSet(_Kind.EXCEPT, _canonical(names))

    @staticmethod
    def inherit() -> ToolSet:
        """The parent's tools."""
        return ToolSet(_Kind.INHERIT)

    @staticmethod
    def inherit_except(names: Iterable[str]) -> ToolSet:
        """The parent's tools but these."""
        return ToolSet(_Kind.INHERIT_EXCEPT, _canonical(names))

    @property
    def resolved(self) -> bool:
        """Whether `matches` can be asked."""
        return self.kind not in (_Kind.INHERIT, _Kind.INHERIT_EXCEPT)

    def resolve(self, parent: ToolSet) -> ToolSet:
        """This set under a parent. A parent that was never resolved itself has nothing to give."""
        if not parent.resolved:
            return ToolSet.none()
        match self.kind:
            case _Kind.INHERIT:
                return parent
            case _Kind.INHERIT_EXCEPT:
                return ToolSet(_Kind.EXCEPT, self.names, parent)
            case _Kind.ALL | _Kind.NONE | _Kind.SPECIFIC | _Kind.EXCEPT:
                return ToolSet(self.kind, self.names, parent)

    def matches(self, *names: str) -> bool:
        """Whether the set has this tool. One that is known by several names is in a list under any of them."""
        canonical = {normalize_tool_name(name) for name in names}
        if self.within is not None and not self.within.matches(*canonical):
            return False
        match self.kind:
            case _Kind.ALL:
                return True
            case _Kind.NONE:
                return False
            case _Kind.SPECIFIC:
                return not canonical.isdisjoint(self.names)
            case _Kind.EXCEPT:
                return canonical.isdisjoint(self.names)
            case _Kind.INHERIT | _Kind.INHERIT_EXCEPT:
                raise ToolSetError(f"a tool set of kind {self.kind.value!r} must be resolved against its parent first")


def _canonical(names: Iterable[str]) -> frozenset[str]:
    if isinstance(names, str):
        raise ToolSetError(f"a tool set takes a list of names, not the one text {names!r}")
    found: set[str] = set()
    for name in names:
        if name.startswith("group:") and name not in TOOL_GROUPS:
            raise ToolSetError(f"there is no group {name!r} of tools; groups: {', '.join(TOOL_GROUPS)}")
        found.update(TOOL_GROUPS.get(name) or (normalize_tool_name(name),))
    return frozenset(found)
