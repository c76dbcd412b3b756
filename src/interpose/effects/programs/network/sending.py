"""Programs whose purpose is to hand files to somebody: to another person, a paste service or a store."""

from __future__ import annotations

from interpose.effects.frozen_values import words
from interpose.effects.handler_table import Handler, command
from interpose.effects.invocation import Invocation, Lowering
from interpose.effects.programs.shared.streams import standard_input
from interpose.effects.programs.shared.verbs import general

_ANY = frozenset({""})
_PUTS = words("cp mv put sync mirror pipe")

SENDERS: dict[str, frozenset[str]] = {
    "croc": words("send"), "wormhole": words("send tx"), "magic-wormhole": words("send tx"), "portal": words("send"),
    "ffsend": words("upload u up"), "sendme": words("send"), "dcp": words("send"), "toss": words("serve send"),
    "transfer": _ANY, "transfer.sh": _ANY, "pastebinit": _ANY, "wgetpaste": _ANY, "telegram-send": _ANY, "gist": _ANY,
    **dict.fromkeys(words("mc mcli s3cmd s4cmd s5cmd ossutil ossutil64 obsutil coscmd"), _PUTS | {"upload"}),
    "b2": words("upload-file upload_file file sync"), "gdrive": words("upload files sync"), "uplink": _PUTS,
    "slack": words("file upload"), "slackcat": _ANY, "dropbox_uploader": words("upload"), "ipfs": words("add"),
}  # fmt: skip
"""For each program the verbs under which it sends what it is given; an empty one: it always does."""


def _sender(verbs: frozenset[str]) -> Handler:
    def run(inv: Invocation, low: Lowering) -> None:
        general(inv, low)
        operands = [word for word in inv.args if word.text[:1] != "-"]
        if verbs is not _ANY:
            start = next((index for index, word in enumerate(operands[:2]) if word.text in verbs), None)
            if start is None:
                return
            operands = operands[start + 1 :]
        content = [low.read(word) for word in operands if "://" not in word.text and word.known]
        if inv.stdin is not None:
            content.append(standard_input(inv))
        low.emit("net.upload", inv.name, secret=any("secret" in stream.taints for stream in content))

    return run


for _name, _verbs in SENDERS.items():
    command(_name)(_sender(_verbs))
