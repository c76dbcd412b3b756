"""Rule files of the user's own: put among those that hold, or taken out, whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from interpose.core.config.load import load
from interpose.core.config.settings import PolicySettings
from interpose.core.errors import PolicyError
from interpose.rules.policy.load import SUFFIXES, RulePlace, RuleText, load_texts, parsed, read
from interpose.rules.policy.rule_file_trust import SIGNATURE_SUFFIX
from interpose.rules.policy.rule_places import PACKS, shared_places, user_directory
from interpose.rules.policy.rules import PolicyProblem


class OwnRules(Struct, frozen=True):
    """A rule file of the user, and what became of it."""

    file: Path
    rules: tuple[str, ...]
    examples: int
    change: Literal["added", "replaced", "unchanged", "removed"]


def add_rules(given: Sequence[Path], *, environ: Mapping[str, str] = os.environ) -> list[OwnRules]:
    """Put copies of rule files where they hold for all that this user's agents do. Raises PolicyError and OSError.

    INVARIANT: all of them hold beside all other rules and their examples are as they say, or nothing is written: a file
    that does not load would make every call be refused.
    """
    policy = load(environ=environ).config.policy
    places: dict[Path, Path] = {}
    for file in given:
        _require_name(file)
        place = Path(policy.directory) / file.name
        if places.setdefault(place, file) != file:
            raise _problem(file, f"has the name of {places[place]}, and only one of them can hold")
    shared = shared_places(policy)
    texts = {place: _read_given(file, policy, shared) for place, file in places.items()}
    known = {str(file) for pair in places.items() for file in pair}
    others = [other for other in read(shared) if other.file not in known]
    load_texts([*others, *texts.values()])
    return [_put(place, text, _signature(places[place])) for place, text in texts.items()]


def _read_given(file: Path, policy: PolicySettings, shared: Sequence[RulePlace]) -> RuleText:
    signed = _signature(file).exists() or policy.require_signature
    (text,) = read([RulePlace(str(file), standing=shared[-1].standing if signed else None)])
    return text


def _signature(file: Path) -> Path:
    return file.with_name(file.name + SIGNATURE_SUFFIX)


def _put(place: Path, text: RuleText, signature: Path) -> OwnRules:
    rules = _held(text)
    before = place.read_text(encoding="utf-8") if place.exists() else None
    if before == text.text:
        change: Literal["added", "replaced", "unchanged"] = "unchanged"
    else:
        change = "added" if before is None else "replaced"
        _replace(place, text, signature.read_text("ascii") if signature.exists() else "")
    return OwnRules(place, tuple(rules), sum(rules.values()), change)


def _replace(place: Path, text: RuleText, signature: str) -> None:
    beside = _signature(place)
    beside.unlink(missing_ok=True)  # that of the old text would make the new one be refused
    write_whole(place, text.text)
    if signature:
        write_whole(beside, signature)


def remove_rules(file: Path) -> OwnRules:
    """Take a file out of the user's rules. Raises OSError."""
    try:
        (text,) = read([RulePlace(str(file))])
        rules = _held(text)
    except PolicyError:
        rules = {}  # what does not load goes all the same: it may be why nothing else does
    file.unlink()
    _signature(file).unlink(missing_ok=True)
    return OwnRules(file, tuple(rules), 0, "removed")


def own_files(environ: Mapping[str, str] = os.environ) -> list[Path]:
    """The rule files of this user, without the one that switches packs. Raises ConfigError and OSError."""
    directory = user_directory(environ)
    if not directory.is_dir():
        return []
    return sorted(file for file in directory.iterdir() if file.suffix in SUFFIXES and file.name != PACKS)


def _held(text: RuleText) -> dict[str, int]:
    """The rules of a file by id, with the number of their examples."""
    return {rule.id: len(rule.examples) for rule in parsed(text).rules}


def _require_name(given: Path) -> None:
    if given.name == PACKS:
        raise _problem(given, "is the name of the file that switches packs: give yours another one")
    if given.suffix not in SUFFIXES:
        raise _problem(given, f"must end with {' or '.join(SUFFIXES)}, or its rules are not looked for")


def _problem(file: Path, why: str) -> PolicyError:
    return PolicyError((PolicyProblem(str(file), 1, "", why),))


def write_whole(file: Path, text: str) -> None:
    """Replace a file whole: whoever reads it sees the old text or the new one, never a part."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    import tempfile  # only whoever changes rules writes, and it takes long to load

    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
