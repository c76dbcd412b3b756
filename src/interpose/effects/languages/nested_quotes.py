"""F-strings of newer Pythons, which may hold the quotes that they stand in: `f"{d["key"]}"`."""

from __future__ import annotations

_PREFIXES = frozenset({"f", "rf", "fr"})
_OPEN, _CLOSE = "([{", ")]}"
_MAX_DEPTH = 4


def plain_quotes(code: str, depth: int = 0) -> str:
    """The same program, with texts added up where f-strings were. Formats are left out: they hold no calls."""
    out: list[str] = []
    index = 0
    while index < len(code):
        char = code[index]
        if char == "#":
            end = code.find("\n", index)
            end = len(code) if end < 0 else end
            out.append(code[index:end])
        elif char.isalpha() or char == "_":
            end = index
            while end < len(code) and (code[end].isalnum() or code[end] == "_"):
                end += 1
            word = code[index:end]
            if word.lower() in _PREFIXES and code[end : end + 1] in ("'", '"') and depth < _MAX_DEPTH:
                text, end = _formatted(code, end, "r" if "r" in word.lower() else "", depth)
                out.append(text)
            else:
                out.append(word)
        elif char in "'\"":
            end = _end_of_string(code, index)
            out.append(code[index:end])
        else:
            end = index + 1
            out.append(char)
        index = end
    return "".join(out)


def _quote(code: str, index: int) -> str:
    return code[index] * 3 if code.startswith(code[index] * 3, index) else code[index]


def _end_of_string(code: str, index: int) -> int:
    quote = _quote(code, index)
    index += len(quote)
    while index < len(code) and not code.startswith(quote, index):
        index += 2 if code[index] == "\\" else 1
    return index + len(quote)


def _formatted(code: str, index: int, raw: str, depth: int) -> tuple[str, int]:
    """The sum that an f-string is, and where it ends."""
    quote = _quote(code, index)
    index += len(quote)
    parts: list[str] = []
    text: list[str] = []
    while index < len(code) and not code.startswith(quote, index):
        if code.startswith(("{{", "}}"), index) or code[index] == "\\":
            text.append(code[index : index + 2] if code[index] == "\\" else code[index])
            index += 2
        elif code[index] == "{":
            inner, index = _expression(code, index + 1)
            parts += [f"{raw}{quote}{''.join(text)}{quote}", f"str({plain_quotes(inner, depth + 1)})"]
            text = []
        else:
            text.append(code[index])
            index += 1
    parts.append(f"{raw}{quote}{''.join(text)}{quote}")
    return f"({' + '.join(parts)})", index + len(quote)


def _expression(code: str, index: int) -> tuple[str, int]:
    """What stands between braces, without its format, and where the brace behind it ends."""
    start, level, end = index, 0, -1
    while index < len(code):
        char = code[index]
        if char in "'\"" and end < 0:
            index = _end_of_string(code, index)
            continue
        if char in _OPEN:
            level += 1
        elif char in _CLOSE:
            if level == 0:
                return code[start : index if end < 0 else end].rstrip(" ="), index + 1
            level -= 1
        elif level == 0 and end < 0 and (char == ":" or (char == "!" and code[index + 1 : index + 2] != "=")):
            end = index
        index += 1
    return code[start:], index
