"""Was everything that bash did predicted?"""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from interpose.effects.invocation import UNKNOWN
from interpose.effects.shell import Analysis, analyse
from tests.differential.bash import Observed


class Comparison(Struct, frozen=True):
    """`predicted`: all of it; `opaque`: what was missed is covered by an opaque effect; `missed`: silently wrong."""

    outcome: Literal["predicted", "opaque", "missed"]
    missing: tuple[str, ...] = ()


def compare(script: str, observed: Observed, home: str) -> Comparison:
    analysis = analyse(script, cwd=home, home=home)
    missing = [repr(call) for call in observed.calls if not _call_predicted(call, analysis)]
    writes = {effect.resource for effect in analysis.effects if effect.kind == "fs.write"}
    missing += [f"file {name}" for name in observed.files if not _write_predicted(f"{home}/{name}", writes)]
    if not missing:
        return Comparison("predicted")
    covered = any(effect.kind in ("opaque", "code.remote") for effect in analysis.effects)
    return Comparison("opaque" if covered else "missed", tuple(missing))


def _call_predicted(call: tuple[str, ...], analysis: Analysis) -> bool:
    text = "\037".join(call[1:])
    return any(ran.name == call[0] and _fits(ran.args, text) for ran in analysis.commands)


def _fits(args: tuple[str, ...], text: str) -> bool:
    """Whether the real arguments are these.

    An unknown or glob word may be one or more words. That it may be none must have been predicted.
    """
    known = "\037".join(args)
    if known == text:
        return True
    loose = [arg for arg in args if _is_loose(arg)]
    if not loose or len(loose) > 4:
        return bool(loose)
    pieces = [".*" if _is_loose(arg) else re.escape(arg) for arg in args]
    return re.fullmatch("\037".join(pieces), text, re.DOTALL) is not None


def _is_loose(arg: str) -> bool:
    return UNKNOWN in arg or "*" in arg or arg.startswith("/dev/fd/")


def _write_predicted(path: str, writes: set[str]) -> bool:
    if path in writes:
        return True
    return any(UNKNOWN in write and _matches(write, path) for write in writes)


def _matches(pattern: str, path: str) -> bool:
    return re.fullmatch(".*".join(re.escape(piece) for piece in pattern.split(UNKNOWN)), path, re.DOTALL) is not None
