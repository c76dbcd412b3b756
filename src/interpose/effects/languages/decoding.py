"""Encodings that hide text, read without running anything. Bounded: a few bytes can unpack to gigabytes."""

from __future__ import annotations

import base64
import binascii
import bz2
import codecs
import lzma
import zlib
from collections.abc import Callable

from interpose.effects.invocation import UNKNOWN
from interpose.effects.languages.program_values import MAX_TEXT, ProgramValue


def _padded(data: bytes, block: int) -> bytes:
    data = bytes(byte for byte in data if byte not in b" \t\r\n")
    return data + b"=" * (-len(data) % block)


_READERS: dict[str, Callable[[bytes], bytes]] = {
    "b64": lambda data: base64.b64decode(_padded(data, 4).translate(bytes.maketrans(b"-_", b"+/"))),
    "b32": lambda data: base64.b32decode(_padded(data, 8), casefold=True),
    "hex": lambda data: binascii.unhexlify(bytes(byte for byte in data if byte not in b" \t\r\n")),
    "a85": base64.a85decode,
    "b85": base64.b85decode,
    "zlib": lambda data: zlib.decompressobj(wbits=47).decompress(data, MAX_TEXT),
    "bz2": lambda data: bz2.BZ2Decompressor().decompress(data, MAX_TEXT),
    "lzma": lambda data: lzma.LZMADecompressor().decompress(data, MAX_TEXT),
}

_BY_NAME = {
    "base64.b64decode": "b64", "base64.urlsafe_b64decode": "b64", "base64.standard_b64decode": "b64",
    "base64.decodebytes": "b64", "base64.decodestring": "b64", "binascii.a2b_base64": "b64", "base64.b32decode": "b32",
    "base64.b16decode": "hex", "binascii.unhexlify": "hex", "binascii.a2b_hex": "hex", "bytes.fromhex": "hex",
    "bytearray.fromhex": "hex", "base64.a85decode": "a85", "base64.b85decode": "b85", "zlib.decompress": "zlib",
    "gzip.decompress": "zlib", "bz2.decompress": "bz2", "lzma.decompress": "lzma", "base64": "b64", "base64url": "b64",
    "hex": "hex",
    "atob": "b64",
}  # fmt: skip


def decode(name: str, args: tuple[ProgramValue, ...]) -> ProgramValue:
    """The value of a decoding call. What cannot be read is tainted `decoded`: hidden on purpose, perhaps."""
    value = args[0] if args else ProgramValue()
    hidden = ProgramValue(taints=value.taints | {"decoded"})
    if UNKNOWN in value.text:
        return hidden
    if name == "codecs.decode":
        codec = args[1].text.replace("-", "").replace("_", "").lower() if len(args) > 1 else "utf8"
        if codec == "rot13":
            return ProgramValue(text=codecs.decode(value.text, "rot13"), taints=value.taints)
        name = {"hex": "hex", "base64": "base64", "zlib": "zlib.decompress"}.get(codec.removesuffix("codec"), "")
        if not name:
            return ProgramValue(text=value.text, taints=value.taints, name=value.name)
    try:
        raw = _READERS[_BY_NAME[name]](value.text.encode("latin-1", "replace"))
    except (KeyError, ValueError, binascii.Error, zlib.error, lzma.LZMAError, OSError, EOFError):
        return hidden
    return ProgramValue(text=raw[:MAX_TEXT].decode("latin-1"), name="bytes()", taints=value.taints)


def plain_text_of(text: str) -> str:
    """What a constant stands for that looks like base64 or hexadecimal digits, or an empty text if it is no text."""
    for name in ("hex", "b64"):
        try:
            raw = _READERS[name](text.encode("latin-1", "replace"))
        except (ValueError, binascii.Error):
            continue
        if b"\0" in raw[1::2][:8] and b"\0" not in raw[::2][:8]:
            raw = raw[::2]  # UTF-16, as PowerShell takes it
        plain = raw.decode("latin-1")
        if plain.isascii() and plain.replace("\n", " ").replace("\t", " ").isprintable():
            return plain.strip()
    return ""
