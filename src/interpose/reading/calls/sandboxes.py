"""Arguments by which a call asks its host to run it outside the host's sandbox.

Hosts name them differently (`dangerouslyDisableSandbox`, `sandbox_permissions: require_escalated`), so an argument is
known by what its name and its value say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from interpose.core.types import Effect, FrozenDict, ToolCall
from interpose.effects.late_patterns import late

_SWITCH = late(
    r"(?:\w*(?:disable|bypass|skip|escape|leave|without)\w*sandbox\w*|(?:no|un)sandbox\w*|\w*unsandboxed\w*|\w*sandbox(?:off|disabled|bypass)"
    r"|(?:with|require|request|use)?escalat\w*(?:permissions?|privileges?)?)"
)
"""Names that say it by themselves, in small letters without separators, if their value counts as true."""
_SETTING = late(r"(?:(?:use|in|with)?sandbox\w*|(?:required|requested|needed)?permissions?|isolation)")
_WITHOUT = frozenset({
    "requireescalated", "escalated", "dangerfullaccess", "fullaccess", "unsandboxed", "none", "off", "disabled", "all",
    "false",
})  # fmt: skip
"""Values of a setting about sandboxes that mean: none."""
_NOTHING = frozenset({"", "0", "false", "no", "off", "none", "null"})
_MOST = 64

LEAVES_SANDBOX = FrozenDict({
    "rule": "leaves-sandbox", "grants": True,
    "reason": "Asks to run outside the sandbox of its host, where nothing but this question holds it back",
})  # fmt: skip


def sandbox_left_by(call: ToolCall) -> Effect | None:
    """The effect of an argument that takes the call out of its host's sandbox, if there is one."""
    for key, value in _arguments(call.arguments):
        name = _plain(key)
        if (_SWITCH.fullmatch(name) and _is_true(value)) or (_SETTING.fullmatch(name) and _is_without(name, value)):
            return Effect("privilege", f"{key}={value}"[:200], details=LEAVES_SANDBOX)
    return None


def _arguments(arguments: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """The arguments, and those of one object among them: some hosts put theirs into `params`."""
    for key, value in list(arguments.items())[:_MOST]:
        yield key, value
        if isinstance(value, Mapping):
            for inner, held in list(value.items())[:_MOST]:
                yield str(inner), held


def _plain(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalnum())


def _is_true(value: object) -> bool:
    if isinstance(value, str):
        return value.strip().lower() not in _NOTHING
    return bool(value)


def _is_without(name: str, value: object) -> bool:
    if isinstance(value, list | tuple):
        return any(_is_without(name, each) for each in value)
    if isinstance(value, bool):
        return not value and "sandbox" in name
    if not isinstance(value, str) or (word := _plain(value)) not in _WITHOUT:
        return False
    # `permissions: none` asks for nothing; `sandbox: none` for no sandbox.
    return (
        word not in ("none", "off", "disabled", "false")
        if not name.startswith(("sandbox", "isolation"))
        else word != "all"
    )
