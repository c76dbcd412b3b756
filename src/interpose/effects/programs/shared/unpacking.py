"""What comes out of an archive: the members that are named, or whatever is in it."""

from __future__ import annotations

from collections.abc import Sequence

from interpose.effects.invocation import Lowering, Stream, Word


def unpack_members(
    place: Word, members: Sequence[Word], content: Stream, low: Lowering, *, flat: bool = False, renamed: bool = False
) -> None:
    """State what lands in `place`. `flat`: without directories. `renamed`: under other names than those given."""
    for member in members:
        if member.known and not member.glob:
            low.write(_under(place, member, flat=flat), content, extracted=True)
        # `.claude` and `.claude/*` bring whatever the archive holds there.
        low.fill(_under(place, member, flat=flat))
        low.plant(_under(place, member, flat=flat))
    if renamed or not members or any(not word.known or word.glob or "*" in word.text for word in members):
        low.fill(place, everything=True)
    if renamed or not members or not all(word.known for word in members):
        low.plant(place)


def _under(place: Word, member: Word, *, flat: bool) -> Word:
    name = member.text.rstrip("/").rpartition("/")[2] if flat else member.text
    if place.text == "." or name.startswith(("/", "~")):
        return Word(name, member.span, member.glob, member.quoted, member.taints)
    taints = member.taints | place.taints
    return Word(f"{place.text.rstrip('/')}/{name}", member.span, place.glob, member.quoted, taints)
