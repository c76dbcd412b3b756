"""JSON-RPC frames. Each is parsed whole and once; what is not ours to judge stays the bytes that came.

Parsed, not searched: a test for substrings is fooled by `"tools\\/call"` and by keys that stand twice.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, DecodeError, Raw, Struct, UnsetType
from msgspec.json import Decoder, Encoder

MAX_FRAME = 16 * 1024 * 1024
"""Bytes of one frame. A peer that sends more is cut off."""

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
HEADER_MISMATCH = -32020

RequestId = int | str


class Frame(Struct, frozen=True, omit_defaults=True):
    """One message. `params` and `result` are the bytes that came."""

    jsonrpc: str = ""
    id: RequestId | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


class BadFrameError(ValueError):
    """What came is no frame. The text says why, for the peer that sent it."""


class RpcError(Exception):
    """An error that a peer gets as the answer to its request."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


_decoder = Decoder(Frame, strict=True)
_encoder = Encoder()
encode = _encoder.encode


def parse(line: bytes) -> Frame:
    """The frame of these bytes. Raises BadFrameError."""
    if len(line) > MAX_FRAME:
        raise BadFrameError(f"a frame has {MAX_FRAME} bytes at most")
    try:
        if not line.isascii():
            line.decode("utf-8")  # what stays bytes is not looked into by the decoder
        frame = _decoder.decode(line)
    except (DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise BadFrameError(f"this is no JSON-RPC message: {error}") from None
    if frame.jsonrpc != "2.0":
        raise BadFrameError('this is no JSON-RPC message: "jsonrpc" must be "2.0"')
    return frame


def request(id: RequestId, method: str, params: Any = UNSET) -> bytes:
    """A request as bytes."""
    body: dict[str, Any] = {"jsonrpc": "2.0", "id": id, "method": method}
    if params is not UNSET:
        body["params"] = params
    return encode(body)


def notification(method: str, params: Any = UNSET) -> bytes:
    """A notification as bytes."""
    body: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    if params is not UNSET:
        body["params"] = params
    return encode(body)


def response(id: RequestId | None, result: Any) -> bytes:
    """An answer as bytes; `result` may be a Raw."""
    return encode({"jsonrpc": "2.0", "id": id, "result": result})


def failure(id: RequestId | None, code: int, message: str, data: Any = None) -> bytes:
    """An answer that says what was wrong."""
    error: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return encode({"jsonrpc": "2.0", "id": id, "error": error})
