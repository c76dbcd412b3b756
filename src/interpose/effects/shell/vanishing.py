"""Words that may be nothing: a command with words from outside is judged without them as well.

`bash $x -c '...'` with `x` unset is `bash -c '...'`, `find . -del${x}ete` is `find . -delete`. What is not known is
never known to be there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from interpose.effects.invocation import UNKNOWN, Stream, Word
from interpose.effects.shell.state import CUT
from interpose.effects.syntax.budget import EFFECT

if TYPE_CHECKING:
    from interpose.effects.shell.walk import Walker
    from interpose.effects.values import Effect

Fields = tuple[Word, ...]

MAX_ALONE = 3
"""Of so many words that may be missing each is also looked at as the only one that is."""

ONLY_TALK = frozenset({"echo", "test", "[", "true", ":"})
"""Commands that do nothing whatever their words are; what they print keeps its unknown parts."""
KEPT_TREES = ("/etc/", "/boot/", "/dev/", "/root/", "/proc/", "/sys/")


def judge(walker: Walker, fields: Fields, run: Callable[[Fields], Stream]) -> Stream:
    """What a command prints. What it would do without the words that may be nothing is added as possible."""
    places = [place for place, word in enumerate(fields) if _may_vanish(word, nullglob=walker.nullglob)]
    if not places or fields[0].text in ONLY_TALK:
        return run(fields)
    if any(CUT in fields[place].taints for place in places):
        walker.give_up("too-many-ways", "Its words depend on more choices than are looked at", fields[0].span)
    readings = (_without(fields, absent) for absent in _absent(fields, places))
    others = (partial(run, words) for words in readings if words and not _is_nameless(fields[0], words[0]))
    return either_way(walker, lambda: run(fields), others, rootless=any(_is_below(fields[place]) for place in places))


def either_way(
    walker: Walker, run: Callable[[], Stream], others: Iterable[Callable[[], Stream]], *, rootless: bool = False
) -> Stream:
    """What is printed. What only the others would do is possible, and takes nothing from what is certain.

    `rootless`: a path below an unknown directory is among the words.
    """
    first, before = len(walker.effects), walker.state
    walker.state = before.copy()
    outs = [run()]
    after, success, left = walker.state, walker.success, walker.left
    walker.doubt += 1
    for other in others:
        walker.state = before.copy()
        known = {meaning(effect) for effect in walker.effects[first:]}
        mark = len(walker.effects)
        outs.append(other())
        stated = walker.effects[mark:]
        walker.effects[mark:] = [
            effect
            for effect in stated
            if meaning(effect) not in known
            and not (rootless and is_install(effect, walker.home))
            # What can't even be read without a part of it was never meant to be without it.
            and not effect.details.get("unreadable")
        ]
        # Nobody looks at what was stated before: it costs what it took to state it.
        walker.budget.left += EFFECT * (len(stated) - (len(walker.effects) - mark))
        if not walker.state.same(after):
            after.merge(walker.state)
        success = success if walker.success == success else None
        left = left and walker.left
    walker.doubt -= 1
    walker.state, walker.success, walker.left = after, success, left
    return _printed(outs)


def _is_nameless(before: Word, now: Word) -> bool:
    """Whether one word that is not known takes the place of another one as the command: that says nothing new."""
    return now.text.strip(UNKNOWN) == "" and before.text.strip(UNKNOWN) == ""


def _printed(outs: list[Stream]) -> Stream:
    """What was printed. If only what is unknown differs, it is kept as it stands; else each of them may be read."""
    first = outs[0]
    taints = frozenset[str]().union(*(out.taints for out in outs))
    if first.text is not None and all(out.text is not None and _bare(out) == _bare(first) for out in outs[1:]):
        return Stream(first.text, taints)
    texts = dict.fromkeys(UNKNOWN if out.text is None else out.text for out in outs)
    return Stream("\n".join(texts), taints) if len(texts) > 1 else Stream(None, taints)


def _bare(out: Stream) -> str:
    return (out.text or "").replace(UNKNOWN, "")


def _may_vanish(word: Word, *, nullglob: bool) -> bool:
    """Whether a part of the word may be missing. `"$x"` alone stays a word, though an empty one."""
    if UNKNOWN in word.text:
        return not word.quoted or word.text.strip(UNKNOWN) != ""
    return nullglob and word.glob


def _absent(fields: Fields, places: list[int]) -> Iterator[tuple[int, ...]]:
    """Which words lose what is not known of them, each time. Of parts always all; of whole words all, one or none."""
    parts = tuple(place for place in places if _left_of(fields[place]))
    whole = [place for place in places if place not in parts]
    yield tuple(places)
    if parts and whole:
        yield parts
    if len(whole) > 1:
        yield from ((*parts, place) for place in whole[:MAX_ALONE])


def _left_of(word: Word) -> str:
    return word.text.replace(UNKNOWN, "") if UNKNOWN in word.text else ""


def _without(fields: Fields, absent: tuple[int, ...]) -> Fields:
    left: list[Word] = []
    for place, word in enumerate(fields):
        if place not in absent:
            left.append(word)
        elif text := _left_of(word):
            left.append(replace(word, text=text))
    return tuple(left)


def _is_below(word: Word) -> bool:
    return word.text.startswith(f"{UNKNOWN}/")


def is_install(effect: Effect, home: str) -> bool:
    """Whether this only puts a file where programs lie: what `$DESTDIR/usr/bin/x` is for without a directory."""
    plain = effect.kind == "fs.write" or (effect.kind == "fs.permission" and not effect.details.get("recursive"))
    return plain and not effect.resource.startswith((*KEPT_TREES, home))


def meaning(effect: Effect) -> tuple[object, ...]:
    """What an effect says, however sure it is."""
    return effect.kind, effect.resource, effect.details
