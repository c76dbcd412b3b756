"""The files that a tool names which is no file tool by its name: what it attaches, uploads, opens, or writes."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from interpose.core.tool_words import word_set
from interpose.reading.unknown_tools.arguments import Leaf
from interpose.reading.unknown_tools.tool_names import ToolWords

_WRITES = word_set(
    """
    write save append put create update store overwrite make touch set prepend upsert export download edit
    replace patch modify insert rewrite dump render generate record capture
    """
)
_SHOWS = word_set("cat read open load view show head tail less print type include attach upload send")
_BY_VALUE = ("/", "~/", "~\\", "./", "../", "file:", "FILE:", "File:", "\\\\")
_LISTS = frozenset({"list", "ls", "glob", "tree", "exists", "stat", "find"})
MOST_FILES = 300
"""How many files of one call are looked at. What names more is a question."""
_MOST_TEXTS = 20
_LONGEST = 4_096


class NamedFile(Struct, frozen=True):
    """A path that a call names, what is done with it, and the text that would be put there."""

    path: str
    kind: Literal["read", "write"]
    text: str = ""


def named_files(tool: ToolWords, leaves: tuple[Leaf, ...]) -> tuple[NamedFile, ...]:
    """Every path among the arguments, by the name of the argument or by what it looks like."""
    if not _LISTS.isdisjoint(tool.own):
        return ()
    # INVARIANT: each text is judged alone: one more beside it must not make it unreadable.
    contents = [leaf.text for leaf in leaves if leaf.name.is_content]
    writes = bool(contents) or not _WRITES.isdisjoint(tool.own)
    shows = not _SHOWS.isdisjoint(tool.own)
    found: dict[NamedFile, None] = {}
    for leaf in leaves:
        text = leaf.text.strip()
        if not text or len(text) > _LONGEST or text.split() != [text]:
            continue
        looks = text.startswith(_BY_VALUE) or text[1:3] in (":\\", ":/")
        looks = looks or (shows and text[0] == "." and text[1:2].isalpha() and not leaf.name.is_prose)
        if not looks and (not leaf.name.is_path or leaf.name.is_content or text.startswith(("http:", "https:"))):
            continue
        found[NamedFile(text, "read")] = None
        if leaf.name.is_destination or (
            writes and ((leaf.name.is_path and not leaf.name.is_url) or text[:5].lower() == "file:")
        ):
            found.update((NamedFile(text, "write", content), None) for content in (contents or [""])[:_MOST_TEXTS])
        if len(found) > MOST_FILES:
            break
    return tuple(found)
