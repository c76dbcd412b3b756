"""What is known of a call when a person is asked about it: what it would do, and what it could be widened to."""

from __future__ import annotations

from msgspec import UNSET

from interpose.core.late import late_logger
from interpose.core.types import INTERCEPTOR_ERROR, EffectKind, Finding, PermissionRequest, ToolCall, thaw
from interpose.people.approvals.questions import Asking, ShownEffect
from interpose.people.widenings.covering import effects_of
from interpose.people.widenings.effect_words import effect_text
from interpose.people.widenings.offered_kinds import offered
from interpose.reading.secrets import Redactor

log = late_logger("interpose.approvals")

_RULES = ("guard", "cel")
"""Who asks for the same reason each time. A judge may have another one with each call."""
_FAILED = ":error"
_GUARDING = ("guard-", "agent-settings", "agent-moved", "git-hooks-path", "hook-bypass")
"""How rules begin that ask about what guards the agent."""
_KEPT_RULES = frozenset({"guard", "guarded", "persistence", "sandbox", "secret", "secrets", "terminal", "unclear"})
"""Words in the names of rules that ask about what is never handed over: they looked further than the call's words."""
_KEPT_EFFECTS: frozenset[EffectKind] = frozenset({"guard.tamper", "opaque", "persistence", "secret.read"})


def known_of(request: PermissionRequest, redactor: Redactor, *, hears: bool, rewrites: bool) -> Asking:
    """What a question says besides the call. A call that can't be read is asked about all the same."""
    call = request.subject
    if not isinstance(call, ToolCall):
        return Asking()
    try:
        effects = effects_of(call)
        kinds = offered(call) if _may_widen(request, call, redactor) else ()
    except Exception:  # noqa: BLE001 - hostile arguments: the person sees the call itself
        log.warning("what a call of %s would do can't be told", call.name)
        return Asking(hears=hears, rewrites=rewrites)
    # Whoever shows some of them shows each kind: an effect that matters is not hidden behind many that don't.
    first = {one.kind: one for one in reversed(effects)}
    foremost = dict.fromkeys((*(one for one in effects if first[one.kind] is one), *effects))
    shown = tuple(ShownEffect(one.kind, one.resource, one.certainty, effect_text(one)) for one in foremost)
    return Asking(effects=shown, kinds=kinds, hears=hears, rewrites=rewrites)


def _may_widen(request: PermissionRequest, call: ToolCall, redactor: Redactor) -> bool:
    """INVARIANT: nothing is widened about which somebody asks who failed, who judges each call anew, who wants certain
    people to agree, or who watches over what guards the agent; and a kind holds no secret, as it is kept."""
    for found in request.findings:
        failed = found.rule == INTERCEPTOR_ERROR or found.rule.endswith(_FAILED)
        if failed or found.kind not in _RULES or found.approvers is not UNSET or _is_of_guards(found):
            return False
    return bool(request.findings) and not redactor.redact_value(thaw(call.arguments))[1]


def _is_of_guards(found: Finding) -> bool:
    return found.rule.rpartition("/")[2].startswith(_GUARDING)


def is_ordinary(request: PermissionRequest) -> bool:
    """Whether the question may be put where we don't see who answers. What can't be read may not.

    INVARIANT: never what guards the agent, secrets, what runs later by itself, what leaves a sandbox or gives rights,
    what certain people must agree to, and what nobody could judge.
    """
    call = request.subject
    if not isinstance(call, ToolCall) or not request.findings:
        return False
    for found in request.findings:
        failed = found.rule == INTERCEPTOR_ERROR or found.rule.endswith(_FAILED)
        told = not _KEPT_RULES.isdisjoint(found.rule.rpartition("/")[2].split("-"))
        if failed or told or found.kind not in _RULES or found.approvers is not UNSET or _is_of_guards(found):
            return False
    try:
        effects = effects_of(call)
    except Exception:  # noqa: BLE001 - as above
        return False
    frees = any(one.kind == "privilege" and (one.details.get("grants") or one.details.get("shell")) for one in effects)
    return not frees and _KEPT_EFFECTS.isdisjoint(one.kind for one in effects)


def touches_guards(request: PermissionRequest) -> bool:
    """Whether a call would change what guards it, as far as that is known. One that can't be read may.

    INVARIANT: whoever asks has looked further than the words of the call, at links and at what an agent's settings are.
    """
    if any(map(_is_of_guards, request.findings)):
        return True
    call = request.subject
    if not isinstance(call, ToolCall):
        return False
    try:
        return any(effect.kind == "guard.tamper" for effect in effects_of(call))
    except Exception:  # noqa: BLE001 - as above
        return True
