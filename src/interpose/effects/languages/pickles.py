"""Pickled data: read op by op as Python would, without making anything of it."""

from __future__ import annotations

import pickletools

from interpose.effects.languages.program_values import ProgramValue, text_value

MAX_OPERATIONS = 2000
_TEXTS = frozenset({"STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE",
                    "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8"})  # fmt: skip


def pickled_calls(data: str) -> list[tuple[str, tuple[ProgramValue, ...]]]:
    """The functions that unpickling calls, each with the texts that stand before the call: `os.system`, `rm -rf /`."""
    found: list[tuple[str, tuple[ProgramValue, ...]]] = []
    texts: list[str] = []
    name = ""
    try:
        for count, (operation, argument, _) in enumerate(pickletools.genops(data.encode("latin-1", "replace"))):
            if count > MAX_OPERATIONS:
                break
            if operation.name in _TEXTS:
                texts.append(argument.decode("latin-1") if isinstance(argument, bytes) else str(argument))
            elif operation.name in ("GLOBAL", "INST"):
                name = str(argument).replace(" ", ".")
                texts = texts if operation.name == "INST" else []
            elif operation.name == "STACK_GLOBAL" and len(texts) > 1:
                name, texts = ".".join(texts[-2:]), []
            if operation.name in ("REDUCE", "INST", "OBJ", "NEWOBJ") and name:
                found.append((name, tuple(text_value(text) for text in texts)))
                texts = []
    except Exception:  # noqa: BLE001 - what is no pickle up to its end ran as far as it is one
        return found
    return found
