"""Managed markdown gets its frontmatter when it is written: who made it, in which session, what it is.

- A `write` of text without frontmatter gets that of the file that it replaces, or a new one.
- Text that brings its own keeps every line of it. Only what is missing is added, and `updated` is set anew, unless it
  was set just now: so an agent whose host can't rewrite calls gets through with what it was told to write.
- An `edit` gets one only where it replaces the very beginning of a file that has none. All others stay as they are.
- Frontmatter that is no plain YAML mapping is somebody else's: nothing of the call is touched.

INVARIANT: only the argument that holds the text is changed. No call gets an argument that it did not have.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from msgspec import Struct

from interpose.core.formats.yaml_text import YamlError, read_yaml
from interpose.core.tools import paths_of, plain_arguments, spellings
from interpose.core.types import ToolCall
from interpose.reading.calls import DEFAULT_CWD
from interpose.rules.governance.files.markdown_types import schema_of, title_of, type_of
from interpose.rules.governance.roles.path_globs import covers, parts_of
from interpose.rules.governance.sessions.uuid7 import uuid7

ReadText = Callable[[str], str | None]
"""The text of a file by its absolute path; None if there is none, or if it can't be read."""

MOST_LINES = 500
MOST_TEXT = 64_000
"""Longer frontmatter is none of ours."""
_MOST_CONTENT = 4_000_000
_NEW_SECONDS = 900
"""How long an agent may take to come back with what it was told to write."""
_FENCE = "---"
_EVERYWHERE = frozenset({"replaceall", "all", "global"})


class Frontmatter(Struct, frozen=True):
    """A text that begins with frontmatter: its lines without the fences, what they say, and what comes behind."""

    lines: tuple[str, ...]
    fields: dict[str, object]
    rest: str
    newline: str
    mark: str
    """A byte order mark, if the text begins with one."""


class _Facts(Struct, frozen=True):
    session: str
    agent: str
    now_ns: int
    path: str

    @property
    def now(self) -> str:
        return f"{datetime.fromtimestamp(self.now_ns // 1_000_000_000, UTC):%Y-%m-%dT%H:%M:%SZ}"


def with_frontmatter(
    paths: Iterable[str], call: ToolCall, session_id: str, agent: str, read_text: ReadText, now_ns: int
) -> ToolCall | None:
    """The call with frontmatter in what it writes; None if it stays as it is."""
    if call.name not in ("write", "edit"):
        return None
    named = paths_of(call)
    if len(named) != 1:  # several files at once: which text is whose is not ours to guess
        return None
    cwd = call.context.cwd or DEFAULT_CWD
    path = posixpath.normpath(posixpath.join(cwd, named[0]))
    if not is_managed(paths, path, cwd):
        return None
    facts = _Facts(session_id, agent, now_ns, _inside(path, cwd))
    whole = call.name == "write" or call.arguments.get("command") == "create"
    return _written(call, path, read_text, facts) if whole else _edited(call, path, read_text, facts)


def _written(call: ToolCall, path: str, read_text: ReadText, facts: _Facts) -> ToolCall | None:
    name = _argument(call, "content")
    if name is None:
        return None
    text = call.arguments[name]
    before = read_text(path)
    if _is_new(text, before, facts):
        return None
    made = framed(text, facts, before)
    return _with(call, name, made) if made is not None and made != text else None


def _is_new(text: str, before: str | None, facts: _Facts) -> bool:
    """Whether a text brings all of its frontmatter, with an `updated` that was set a short while ago, and not by what
    is there. So comes back what we told the agent of a host to write that can't rewrite its calls: setting it anew
    would refuse it for as long as the agent tries.
    """
    found = parsed(text) if has_fence(text) else None
    if found is None or any(name not in found.fields for name, _ in _fields(found, facts)):
        return False
    said = found.fields["updated"]
    there = parsed(before) if before is not None and has_fence(before) else None
    if not isinstance(said, str) or (there is not None and there.fields.get("updated") == said):
        return False
    try:
        age = facts.now_ns // 1_000_000_000 - datetime.fromisoformat(said).timestamp()
    except (ValueError, OverflowError):
        return False
    return -_NEW_SECONDS <= age <= _NEW_SECONDS  # clocks go back


def _edited(call: ToolCall, path: str, read_text: ReadText, facts: _Facts) -> ToolCall | None:
    old_name, new_name = _argument(call, "replaced"), _argument(call, "content")
    if old_name is None or new_name is None or any(_is_everywhere(*given) for given in call.arguments.items()):
        return None
    old, new, before = call.arguments[old_name], call.arguments[new_name], read_text(path)
    if not old or before is None or not before.startswith(old) or before.count(old, 0, _MOST_CONTENT) != 1:
        return None
    after = new + before[len(old) :]
    if has_fence(before) or has_fence(after):
        return None  # it has one, or is being given one by the edit itself
    made = framed(after, facts, None)
    if made is None or not made.endswith(after):
        return None
    return _with(call, new_name, made[: len(made) - len(after)] + new)


def framed(text: str, facts: _Facts, before: str | None) -> str | None:
    """The text with its frontmatter; None if it must stay as it is. `before` is the text that it takes the place of."""
    if len(text) > _MOST_CONTENT:
        return None
    if not has_fence(text):
        kept = parsed(before) if before is not None and has_fence(before) else None
        mark, body = _split_mark(text)
        newline = "\r\n" if "\r\n" in body[:2000] else "\n"
        ours = kept if kept is not None and _is_ours(kept) else None
        lines, fields = (ours.lines, ours.fields) if ours is not None else ((), {})
        return _joined(Frontmatter(lines, fields, body, newline, mark), facts)
    found = parsed(text)
    return None if found is None else _joined(found, facts)


def _joined(found: Frontmatter, facts: _Facts) -> str | None:
    lines = list(found.lines)
    if _is_ours(found):
        _refresh(lines, facts.now)
    lines += [f"{name}: {value}" for name, value in _fields(found, facts) if name not in found.fields]
    # INVARIANT: what stood there says the same as before. Lines that mean something else by what comes behind them
    # (an end of a document, a text that goes on) are left alone.
    now = _read_lines(lines)
    if now is None or any(now.get(name) != value for name, value in found.fields.items() if name != "updated"):
        return None
    shown = found.newline.join((_FENCE, *lines, _FENCE))
    return f"{found.mark}{shown}{found.newline}{found.rest}"


def _fields(found: Frontmatter, facts: _Facts) -> list[tuple[str, str]]:
    kind = found.fields.get("type")
    kind = kind if isinstance(kind, str) else type_of(facts.path)
    return [
        ("id", uuid7(facts.now_ns)),
        ("title", quoted(title_of(found.rest, facts.path))),
        ("type", quoted(kind)),
        ("created", quoted(facts.now)),
        ("updated", quoted(facts.now)),
        ("parent_id", quoted(facts.session)),
        ("source_agent", quoted(facts.agent)),
        ("status", "active"),
        ("schema_type", schema_of(kind)),
    ]


def _is_ours(found: Frontmatter) -> bool:
    return "id" in found.fields and "type" in found.fields


def _refresh(lines: list[str], now: str) -> None:
    """Set `updated` anew where it stands on a line of its own. One that goes on below is somebody else's form."""
    for at, line in enumerate(lines):
        if line.startswith("updated:"):
            goes_on = at + 1 < len(lines) and lines[at + 1][:1] in (" ", "\t")
            if not goes_on:
                lines[at] = f"updated: {quoted(now)}"
            return


def has_fence(text: str) -> bool:
    """Whether a text begins as frontmatter does."""
    line = _split_mark(text[:16])[1].partition("\n")[0]
    return line.rstrip() == _FENCE


def parsed(text: str) -> Frontmatter | None:
    """The frontmatter that a text begins with; None if it is no plain mapping, too long, or has no end."""
    mark, body = _split_mark(text)
    head = body[:MOST_TEXT].split("\n", MOST_LINES)
    end = next((at for at, line in enumerate(head) if at and line.rstrip() == _FENCE), 0)
    if not end or end >= MOST_LINES:
        return None
    newline = "\r\n" if head[0].endswith("\r") else "\n"
    lines = tuple(line.removesuffix("\r") for line in head[1:end])
    length = sum(len(line) + 1 for line in head[: end + 1])
    fields = _read_lines(lines)
    return None if fields is None else Frontmatter(lines, fields, body[length:], newline, mark)


def _read_lines(lines: Iterable[str]) -> dict[str, object] | None:
    text = "".join(f"{line}\n" for line in lines)
    try:
        fields = read_yaml(text).data if text.strip() else {}
    except YamlError:
        return None
    return fields if isinstance(fields, dict) else None


def quoted(text: str) -> str:
    """A text as YAML reads it back, whatever it holds."""
    shown = "".join(
        f"\\{letter}" if letter in '"\\'
        else letter if letter.isprintable()
        else f"\\U{ord(letter):08x}"
        for letter in text[:500]
    )  # fmt: skip
    return f'"{shown}"'


def is_managed(paths: Iterable[str], path: str, project: str) -> bool:
    """Whether an absolute path is markdown that one of the globs means: inside the project, unless it begins with /."""
    if not path.endswith(".md"):
        return False
    inside = _inside(path, project)
    return any(
        covers(parts_of(glob), parts_of(path if glob.startswith("/") else inside))
        for glob in paths
        if glob.startswith("/") or inside != path
    )


def _inside(path: str, project: str) -> str:
    base = posixpath.normpath(project).rstrip("/") + "/"
    return path[len(base) :] if path.startswith(base) else path


def _argument(call: ToolCall, what: str) -> str | None:
    """The one argument with this that is a text; None if there is none, or more than one."""
    found = [name for name in spellings(call, what) if isinstance(call.arguments[name], str)]
    return found[0] if len(found) == 1 else None


def _is_everywhere(name: object, value: object) -> bool:
    """Whether an argument says that every such text is replaced."""
    return bool(value) and isinstance(name, str) and name.lower().replace("_", "") in _EVERYWHERE


def _with(call: ToolCall, name: str, text: str) -> ToolCall:
    return call.with_arguments(plain_arguments(call) | {name: text})


def _split_mark(text: str) -> tuple[str, str]:
    return ("\ufeff", text[1:]) if text.startswith("\ufeff") else ("", text)
