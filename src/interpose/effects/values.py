"""What an analysis finds: one value for each thing that a call would do."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from interpose.effects.frozen_values import EMPTY, FrozenDict

EffectKind = Literal[
    "fs.read", "fs.write", "fs.delete", "fs.permission", "process.exec", "process.kill", "code.remote", "net.upload",
    "net.download", "net.listen", "privilege", "vcs.discard", "vcs.publish", "data.destroy", "infra.destroy",
    "package.install", "package.publish", "world.change", "persistence", "system", "secret.read", "guard.tamper",
    "opaque",
]  # fmt: skip
"""What a call would do. `opaque` is what cannot be known: text that does not parse, a computed command word."""

Certainty = Literal["proven", "possible", "unknown"]


class Effect(Struct, frozen=True):
    """One thing that a call would do: on which resource, how surely, because of which part of the text."""

    kind: EffectKind
    resource: str = ""
    certainty: Certainty = "proven"
    span: tuple[int, int] = (0, 0)
    details: FrozenDict = EMPTY
    via: tuple[str, ...] = ()
