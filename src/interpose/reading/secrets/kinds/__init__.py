"""The tables: what secrets look like, a file for each family."""

from __future__ import annotations

from interpose.reading.secrets.kinds import ai, cloud, forges, messaging, payment, saas
from interpose.reading.secrets.kinds.kind import Kind, Named
from interpose.reading.secrets.kinds.named import NAMED
from interpose.reading.secrets.kinds.services import SERVICES

_OF_NO_VENDOR = (
    Kind("age-secret-key", r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}"),
    Kind("crypt-hash", r"\$(?:1|5|6|y|7|gy|apr1)\$[0-9A-Za-z./$=,-]{30,130}", needs="dlu", anywhere=True),
    Kind("bcrypt-hash", r"\$2[abxy]\$[0-9]{2}\$[0-9A-Za-z./]{53}", anywhere=True),
    Kind("argon2-hash", r"\$argon2(?:id|i|d)\$v=[0-9]+\$[mtp=0-9,]+\$[0-9A-Za-z+/]{8,}\$[0-9A-Za-z+/]{16,}",
         anywhere=True),
    Kind("jwk-private-key", r"\"d[\\ ]*\"\s*:[\s\\]*\"(?P<secret>[0-9A-Za-z_-]{40,})", anywhere=True),
    Kind("jwt", r"eyJ[0-9A-Za-z_-]{14,}\.eyJ[0-9A-Za-z_-]{14,}(?:\.[0-9A-Za-z_-]*={0,2})?"),
    Kind("openssh-key-body", r"b3BlbnNzaC1rZXktdjE[0-9A-Za-z+/=]{60,}"),
    Kind("wireguard-private-key", r"(?i:PrivateKey|PresharedKey)[ \t]*=[ \t]*(?P<secret>[0-9A-Za-z+/]{43}=)"),
)  # fmt: skip
"""Keys and signed tokens that belong to no vendor. Those that span lines are in `multiline`."""

# Order matters where two shapes cover the same text: the first one names it.
SHAPED: tuple[Kind, ...] = (
    *cloud.KINDS,
    *forges.KINDS,
    *payment.KINDS,
    *messaging.KINDS,
    *ai.KINDS,
    *saas.KINDS,
    *_OF_NO_VENDOR,
)

# `needed` is a module that is named and not imported.
__all__ = ["NAMED", "SERVICES", "SHAPED", "Kind", "Named", "needed"]
