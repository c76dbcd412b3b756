"""From the text of a path to one absolute, normalised spelling. Lexical: the file system is not consulted."""

from __future__ import annotations

import unicodedata
from urllib.parse import unquote

UNKNOWN = "\ufffc"
"""Stands for each part whose value cannot be known. The same character as in `interpose.effects.shell.UNKNOWN`."""

_PRIVATE = frozenset({"etc", "tmp", "var"})
"""What macOS keeps under /private and shows at the root as well."""


def resolve(text: str, cwd: str, home: str) -> str:
    """The absolute, normalised path that `text` names when used in `cwd`.

    Separators are `/`, a drive is written `C:/`. Parts that are UNKNOWN stay, and a path that starts with one stays
    relative, because the unknown part may be absolute. URLs that are not files are returned as they are.
    """
    text = _as_path(text)
    if text[:1] == "~":
        text = _expand_home(text, home)
    if not text:
        return cwd
    if text[0] == UNKNOWN:
        return _normalise_unknown(text)
    if text[0] != "/":
        if "://" in text:
            return text
        if _has_drive(text):
            return _normalise_drive(text)
        text = f"{cwd}/{text}"
        if text[0] != "/":
            return _normalise_unknown(text) if text[0] == UNKNOWN else _normalise_drive(text)
    if "//" not in text and "/." not in text and text[-1] != "/" and not text.startswith(("/proc/", "/private/")):
        return text
    return _normalise(text, cwd)


def _as_path(text: str) -> str:
    """Undo what only dresses a path up: forms of letters, file URLs, the separators of Windows."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    if text[:5].lower() == "file:":
        text = _path_of_file_url(text[7:]) if text[5:7] == "//" else unquote(text[5:])
    if "\\" in text and _is_windows(text):
        text = text.replace("\\", "/")
    return text


def _normalise(text: str, cwd: str) -> str:
    parts = _collapse(text.split("/"))
    if len(parts) > 2 and parts[0] == "proc":
        parts = _through_proc(parts, cwd)
    if len(parts) > 1 and parts[0] == "private" and parts[1] in _PRIVATE:
        parts = parts[1:]
    return "/" + "/".join(parts)


def _has_drive(text: str) -> bool:
    return text[1:2] == ":" and text[0].isalpha() and text[0].isascii()


def is_home(path: str, home: str) -> bool:
    """Whether a resolved path is a home directory, the user's or another's."""
    if path == home or path == "/root":
        return True
    parent, _, name = path.rpartition("/")
    return name != "" and (parent == "/home" or parent == "/Users" or parent[1:].lower() == ":/users")


def _path_of_file_url(rest: str) -> str:
    host, slash, path = rest.partition("/")
    path = unquote(path)
    if len(host) == 2 and host[1] == ":":
        return f"{host}/{path}"
    return path if path[1:2] == ":" else slash + path


def _is_windows(text: str) -> bool:
    return text[1:2] == ":" or text.startswith(("\\\\", "~\\", ".\\", "..\\", "\\"))


def _expand_home(text: str, home: str) -> str:
    user, slash, rest = text[1:].partition("/")
    if not user or user == "+" or user == "-":
        base = home if not user else "."
    elif user == "root":
        base = "/root"
    elif user.replace("-", "").replace("_", "").replace(".", "").isalnum():
        base = f"/home/{user}"
    else:
        return text
    return f"{base}{slash}{rest}"


def _collapse(parts: list[str]) -> list[str]:
    kept: list[str] = []
    for part in parts:
        if not part or part == ".":
            continue
        if part == "..":
            # What is left of `unknown/..` depends on how many parts the unknown text has.
            if kept and (UNKNOWN in kept[-1] or kept[-1] == ".."):
                kept.append(part)
            elif kept:
                kept.pop()
            continue
        kept.append(part)
    return kept


def _normalise_unknown(text: str) -> str:
    head, slash, rest = text.partition("/")
    if not slash:
        return head
    return "/".join([head, *_collapse([UNKNOWN, *rest.split("/")])[1:]]) if rest.strip("/") else f"{head}/"


def _normalise_drive(text: str) -> str:
    drive, _, rest = text.partition("/")
    # Windows ignores dots and spaces at the end of a name, and `name::$DATA` is the file itself.
    parts = [p.partition("::")[0].rstrip(" ") if p.strip(".") else p for p in rest.split("/")]
    return f"{drive[:1].upper()}{drive[1:]}/" + "/".join(_collapse(parts))


def _through_proc(parts: list[str], cwd: str) -> list[str]:
    """`/proc/self/root/etc` is `/etc`, `/proc/self/cwd/x` is `x` here; any number of times."""
    start = 0
    while len(parts) - start > 2 and parts[start] == "proc" and _is_process(parts[start + 1]):
        link = parts[start + 2]
        if link == "root":
            start += 3
        elif link == "cwd":
            return [*cwd.strip("/").split("/"), *parts[start + 3 :]]
        elif link == "task" and len(parts) - start > 4:
            parts = ["proc", *parts[start + 3 :]]
            start = 0
        else:
            break
    return parts[start:]


def _is_process(part: str) -> bool:
    return part.isdigit() or part in {"self", "thread-self", UNKNOWN, "*"}
