"""Which effects count where a text may be a command line or may be prose: only those that nobody would want.

Words that were never meant for a shell read like commands here and there (`make it so`, `find the best way`). What they
seem to do is no reason for a question, unless it is a catastrophe.
"""

from __future__ import annotations

from interpose.types import Effect, EffectKind

_NEEDED: dict[EffectKind, frozenset[str]] = {
    "fs.delete": frozenset({"recursive", "shredded"}),
    "fs.permission": frozenset({"recursive"}),
    "net.upload": frozenset({"secret"}),
    "net.listen": frozenset({"shell"}),
    "process.exec": frozenset({"wide"}),
    "process.kill": frozenset({"wide"}),
    "system": frozenset({"wide"}),
    "data.destroy": frozenset({"wide"}),
    "infra.destroy": frozenset({"wide"}),
    "guard.tamper": frozenset({"wide", "ours"}),
}
"""Effects that count only with one of these details."""
_ALWAYS: frozenset[EffectKind] = frozenset({"code.remote"})
_BEYOND = ("too-deep", "too-large", "too-complex")


def is_grave(effect: Effect) -> bool:
    """Whether an effect matters although its text may not be a command line."""
    if effect.kind in _ALWAYS:
        return True
    if effect.kind == "opaque":
        return is_beyond(effect)
    needed = _NEEDED.get(effect.kind)
    return needed is not None and not needed.isdisjoint(effect.details)


def is_beyond(effect: Effect) -> bool:
    """Whether this says that the text was not read to its end. INVARIANT: that is never taken for prose."""
    return effect.kind == "opaque" and effect.details.get("rule") in _BEYOND


def is_unwanted(effect: Effect) -> bool:
    """Whether nobody wants this from a command that runs by itself."""
    details = effect.details
    match effect.kind:
        case "code.remote" | "guard.tamper":
            return True
        case "net.upload":
            return "local" not in details and not details.keys().isdisjoint(("secret", "file", "env", "input", "raw"))
        case "net.listen":
            return "shell" in details or "public" in details
        case "persistence":
            return details.get("strength", "key") == "key" and "recoverable" not in details
        case "secret.read":
            return details.get("strength") != "faint"
        case _:
            return is_grave(effect)
