"""The words of a name: `deleteRepository`, `delete-repository` and `DELETE_REPOSITORY` say the same."""

from __future__ import annotations

from functools import lru_cache

from interpose.effects.late_patterns import late


def word_set(text: str) -> frozenset[str]:
    """A set of words, written as one text."""
    return frozenset(text.split())


_WORDS = late(r"[A-Z]{2,}(?=[A-Z][a-z]|[^A-Za-z0-9]|$)|[A-Z]?[a-z0-9]+|[A-Z]+|[0-9]+")
_LONGEST = 200
_JOINED = ("execute", "delete", "remove", "destroy", "transfer", "publish", "deploy", "revoke", "send", "drop", "run")
"""Verbs that are also found at the start of a name which is written as one word, such as `deleterepository`."""


@lru_cache(maxsize=2048)
def words_of(name: str) -> tuple[str, ...]:
    """The words of a name, in small letters. A long name is read as far as names go."""
    found = tuple(word.lower() for word in _WORDS.findall(name[:_LONGEST]))
    if len(found) != 1:
        return found
    for verb in _JOINED:
        rest = found[0].removeprefix(verb)
        if len(rest) > 2 and rest != found[0] and not rest.startswith(("er", "ed", "ing", "ner", "d")):
            return verb, rest
    return found


_FILES = word_set("file files fs filesystem dir dirs directory directories folder folders path paths")
_ABOUT_FILES = word_set(
    """
    info metadata history stat stats status size sizes exists permission permissions version versions url link
    tree count type types list lists id ids name names watch watcher comments diff changes
    """
)
"""What is told of a file without telling what is in it."""
_DOES = {
    verb: tool
    for tool, verbs in {
        "read": "read cat get view open show load head tail parse fetch retrieve dump print extract contents",
        "write": "write save append put create update store overwrite make touch set prepend upsert add export",
        "edit": "edit replace patch modify change insert rewrite sed",
        "delete": "delete remove rm del unlink trash erase wipe rmtree rmdir purge shred",
        "move": "move rename mv relocate",
        "copy": "copy cp duplicate clone",
    }.items()
    for verb in verbs.split()
}
_NO_FILE_VERBS = word_set(
    """
    list ls find search glob grep stat upload send share attach download sync compare diff lint format commit
    push pull pin star lock unlock import submit publish
    """
)


def file_tool(words: tuple[str, ...]) -> str:
    """The file tool that a name's words describe: `write` of `append_to_file`; empty if they describe none.

    `create_or_update_file` is one that writes; `get_file_info` only tells something about a file.
    """
    if _FILES.isdisjoint(words) or not _ABOUT_FILES.isdisjoint(words) or not _NO_FILE_VERBS.isdisjoint(words):
        return ""
    return next((_DOES[word] for word in words if word in _DOES), "")
