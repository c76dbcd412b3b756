"""Arguments and results as JSON text, whatever is in them."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import json as fast


def compact_json(value: object, default: Callable[[object], object] | None = None) -> bytes:
    """The shortest JSON text of `value` in UTF-8. `default` stands in for values that have none.

    Half a character (a lone surrogate) is written as its escape. Raises ValueError for what cannot be written: values
    without a JSON form, and nesting without end.
    """
    try:
        try:
            return fast.encode(value, enc_hook=default)
        except UnicodeEncodeError:
            import json

            text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=default)
            return text.encode("utf-8", "backslashreplace")
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except Exception as error:  # noqa: BLE001 - a value of one's own may raise anything while it is written
        raise ValueError(f"it has no JSON form ({type(error).__name__})") from None
