"""Every way in which some tool could read the text of a path. Lexical: the file system is not consulted.

One tool expands `~` and `$HOME`, the next decodes `%2e`, a third runs on Windows and takes `\\` for a separator. Which
of them will get the path is not ours to guess, so each reading is judged and the worst of them counts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from urllib.parse import unquote

from interpose.effects.late_patterns import late
from interpose.effects.paths.resolve import UNKNOWN

MAX_READINGS = 96
"""More readings than that are nobody's honest path."""

_ROUNDS = 2
"""Undoing one disguise can show another: `%24HOME`, a full-width `％`."""

_PLAIN = late(r"/?(?:\.?[A-Za-z0-9_][A-Za-z0-9_.@+=, -]*/)*\.?[A-Za-z0-9_][A-Za-z0-9_.@+=, -]*")

_INVISIBLE = late(
    "[\x01-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)
_SLASHES = str.maketrans({"\u2044": "/", "\u2215": "/", "\u29f8": "/", "\u2216": "\\", "\u29f5": "\\", "\u29f9": "\\"})
_QUOTES = "\"'`"

_HOMES = frozenset({"home", "userprofile", "userhome", "homepath"})
_BELOW_HOME = {
    "appdata": "AppData/Roaming", "localappdata": "AppData/Local", "xdg_config_home": ".config",
    "xdg_data_home": ".local/share", "xdg_state_home": ".local/state", "xdg_cache_home": ".cache",
    "gnupghome": ".gnupg", "cargo_home": ".cargo", "kubeconfig": ".kube/config", "codex_home": ".codex",
    "claude_config_dir": ".claude", "docker_config": ".docker", "aws_shared_credentials_file": ".aws/credentials",
    "zdotdir": "",
}  # fmt: skip
_HERE = frozenset({"pwd", "cwd", "workspacefolder", "workspaceroot", "project_root"})
_ELSEWHERE = {"systemroot": "C:/Windows", "windir": "C:/Windows", "systemdrive": "C:", "homedrive": ""}
_VARIABLE = late(
    r"\$\{(?:env:)?(?P<braced>\w{1,64})(?::?[-=+?][^{}]{0,256})?\}|\$env:(?P<powershell>\w{1,64})|\$(?P<bare>[A-Za-z_]\w{0,63})"
    r"|%(?P<windows>[A-Za-z_]\w{0,63})%",
    re.IGNORECASE,
)

_FILE_URL = late(r"(?:[a-z][a-z0-9+.-]{0,30}:){0,3}file:", re.IGNORECASE)
_OTHER_URL = late(r"(?!https?:|ftps?:|wss?:|git:|ssh:|data:)[a-z][a-z0-9+.-]{1,40}://[^/]*(?=/)", re.IGNORECASE)
_PREFIXES = late(
    r"/{2,}[?.]/(?:unc/)?(?=.)|/{2,}wsl(?:\$|\.localhost)/[^/]+(?=/)|/{2,}[^/]+/(?P<drive>[a-z])\$(?=/)"
    r"|/System/Volumes/Data(?=/)",
    re.IGNORECASE,
)
_SHORT_NAME = late(r"(?P<stem>[^~/]{1,6})~\d(?P<extension>\.[^/.]{1,3})?(?=/|$)")
_BRACES = late(r"\{[^{}/]{0,256}\}")


class TooManyReadings(Exception):  # noqa: N818 - an answer, not a failure of ours
    """The text could be read in more ways than anybody would need."""


def is_plain(text: str) -> bool:
    """Whether a path can be read in one way only."""
    return (
        _PLAIN.fullmatch(text) is not None
        and text[-1] not in ". "
        and "./" not in text
        and " /" not in text
        and not text.startswith(("/proc/", "/private/", "/dev/", "/System/"))
    )


def readings(text: str, home: str) -> tuple[str, ...]:
    """Every reading of `text`, itself first. Raises `TooManyReadings`."""
    found = {text: None}
    for _ in range(_ROUNDS):
        before = len(found)
        for step in _STEPS:
            for known in tuple(found):
                for made in step(known, home):
                    found[made] = None
            if len(found) > MAX_READINGS:
                raise TooManyReadings
        if len(found) == before:
            break
    return tuple(found)


def _trimmed(text: str, _home: str) -> Iterator[str]:
    bare = text.strip().strip(_QUOTES).strip()
    if bare and bare != text:
        yield bare
    if bare[:1] in "@<" and bare[1:]:
        yield bare[1:].rstrip(">")


def _visible(text: str, _home: str) -> Iterator[str]:
    bare = _INVISIBLE.sub("", text)
    if bare and bare != text:
        yield bare


def _composed(text: str, _home: str) -> Iterator[str]:
    if not text.isascii():
        yield unicodedata.normalize("NFKC", text.translate(_SLASHES)).translate(_SLASHES)


def _decoded(text: str, _home: str) -> Iterator[str]:
    for _ in range(3):
        if "%" not in text:
            return
        decoded = unquote(text)
        if decoded == text:
            return
        text = decoded.partition("\0")[0]
        if not text:
            return
        yield text


def _local(text: str, _home: str) -> Iterator[str]:
    """The path of a file URL, with and without its host taken for a directory."""
    if "://" in text and ".." in text and text[0] != ".":
        # A tool that takes it for a path drops as many parts as it has dots.
        scheme, _, rest = text.partition("://")
        yield f"./{scheme}:/{rest.lstrip('/')}"
    found = _FILE_URL.match(text)
    if found is None:
        other = _OTHER_URL.match(text)
        if other is not None:
            yield text[other.end() :]
        return
    rest = unquote(text[found.end() :].replace("\\", "/")).partition("?")[0].partition("#")[0]
    bare = rest.lstrip("/")
    if not bare:
        return
    yield f"/{bare}"
    if rest.startswith("//") and not rest.startswith("///"):
        yield bare
        host, slash, path = bare.partition("/")
        if slash and not host.endswith(":"):
            yield f"/{path}"
    elif not rest.startswith("/"):
        yield rest
    if bare[1:2] in (":", "|"):
        yield f"{bare[0]}:{bare[2:]}"


def _expanded(text: str, home: str) -> Iterator[str]:
    if "$" not in text and "%" not in text:
        return
    expanded = _VARIABLE.sub(lambda match: _value(match, home), text)
    if expanded and expanded != text:
        yield expanded


def _value(match: re.Match[str], home: str) -> str:
    name = next(group for group in match.groups() if group is not None).lower()
    if name in _HOMES:
        return home
    if name in _BELOW_HOME:
        return f"{home}/{_BELOW_HOME[name]}".rstrip("/")
    if name in _HERE:
        return "."
    return _ELSEWHERE.get(name, UNKNOWN)


def _slashed(text: str, _home: str) -> Iterator[str]:
    """A path of Windows. One lone backslash inside a name is a letter: `process\\.env` is what a regex looks like."""
    if "\\" in text and (
        text.count("\\") > 1 or "/" in text or text[1:2] == ":" or text[0] in f".\\~%${UNKNOWN}" or "\\.." in text
    ):
        yield text.replace("\\", "/")


def _unprefixed(text: str, _home: str) -> Iterator[str]:
    found = _PREFIXES.match(text)
    if found is not None:
        drive, rest = found.group("drive"), text[found.end() :]
        yield f"{drive.upper()}:{rest}" if drive else rest


def _untailed(text: str, _home: str) -> Iterator[str]:
    """What Windows makes of names: no dots and blanks at their end, no streams."""
    if (
        ". " in text
        or "./" in text
        or " /" in text
        or (":" in text[2:] and "://" not in text)
        or text[-1:] in (".", " ")
    ):
        parts = text.split("/")
        kept = [_untailed_part(part, index) for index, part in enumerate(parts)]
        if any(kept) and kept != parts:
            yield "/".join(kept)


def _untailed_part(part: str, index: int) -> str:
    if not part.strip(". "):
        return part.rstrip(" ") or part
    stem = part if index == 0 and part[1:2] == ":" else part.partition(":")[0] or part
    return stem.rstrip(". ") or part


def _long(text: str, _home: str) -> Iterator[str]:
    """What a short name of DOS could stand for: `SSH~1` is `.ssh`."""
    if "~" in text[1:] and _SHORT_NAME.search(text):
        yield _SHORT_NAME.sub(r"\g<stem>*\g<extension>", text)
        yield _SHORT_NAME.sub(r".\g<stem>*", text)


def _braced(text: str, _home: str) -> Iterator[str]:
    if "{" in text and "${" not in text:
        wild = _BRACES.sub("*", text)
        if wild != text:
            yield wild


# The order in which tools undo things; each step sees all that those before it made.
_STEPS: tuple[Callable[[str, str], Iterator[str]], ...] = (
    _trimmed, _visible, _composed, _decoded, _local, _expanded, _slashed, _unprefixed, _untailed, _long, _braced,
)  # fmt: skip
