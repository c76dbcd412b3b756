"""What the docs derive from the files of agents: tables, the file that `install` writes, and a page to begin with.

    .venv/bin/python -m tests.architecture.agent_pages

writes all of it anew. The tests compare. Words between these parts are written by hand.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from unittest import mock

import interpose
from interpose.core.config.load import load
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.hooks.hosts.events import HostFacts
from interpose.doors.hooks.install.mcp_files import MCP_HOSTS
from interpose.doors.hooks.install.places import target_of
from interpose.doors.hooks.install.plan import plan_install
from interpose.effects.agents.hook_times import HOOK_TIMES
from interpose.effects.agents.known_agents import BY_NAME, HOST_NAMES
from tests.unit.doors.hooks.install.homes import VARIABLES

DOCS = Path(__file__).parents[2] / "docs"
FILE_BLOCK = re.compile(r"^```(?:json|sh)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
SHOWN_LAYOUTS = ("groups", "flat", "scripts")
"""Layouts whose file a page shows. A plugin is long, and the same everywhere."""
ENVIRONMENT = "/home/you/.local/share/interpose/env"
_YES = {True: "yes", False: "no"}
_KNOWN = {
    "run": "the real agent was run and watched",
    "source": "its shipped code was read",
    "docs": "its maker's documentation",
    "hearsay": "what others wrote about it; **experimental**",
}


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def hosts_table() -> list[str]:
    """The rows of docs/agents/README.md, one for each host."""
    return [_host_row(HOSTS[name].facts) for name in HOST_NAMES]


def _host_row(facts: HostFacts) -> str:
    results = "MCP tools" if facts.replaces_tools else _YES[bool(facts.replaces)]
    return _row(
        f"[{facts.title}]({facts.name}.md)", f"`{facts.name}`", facts.evidence, _YES[bool(facts.asks)],
        _YES[bool(facts.rewrites)], results,
    )  # fmt: skip


def switches_table() -> list[str]:
    """The rows of everything that switches hooks off."""
    return [_switches_row(name) for name in HOST_NAMES]


def _switches_row(name: str) -> str:
    agent = BY_NAME[name]
    keys = (row.spoken for row in agent.off_keys)
    options = (option.shown for option in agent.off_options)
    variables = (variable.name for variable in agent.off_variables)
    columns: tuple[Iterable[str], ...] = (keys, options, agent.off_commands, variables, agent.moved_by)
    cells = (", ".join(f"`{text.replace('`', '')}`" for text in column) for column in columns)
    return f"| {agent.title} | {' | '.join(cells)} |"


def times_table() -> list[str]:
    """The rows of docs/waiting.md."""
    return [_row(f"`{name}`", f"{time.waits:g} s", f"{time.longest} s") for name, time in HOOK_TIMES.items()]


def servers_table() -> list[str]:
    """The rows of docs/gateway-install.md."""
    rows: list[str] = []
    for host in MCP_HOSTS.values():
        of_user = [f"`{file.path}`" for file in host.files if file.scope == "user"]
        others = [f"{file.scope} `{file.path}`" for file in host.files if file.scope != "user"]
        rows.append(_row(f"`{host.name}`", ", ".join(dict.fromkeys((" or ".join(of_user), *others)))))
    return rows


TABLES = (
    ("agents/README.md", "| agent | `HOST` |", hosts_table),
    ("agents/README.md", "| agent | keys in its settings |", switches_table),
    ("waiting.md", "| host | waits |", times_table),
    ("gateway-install.md", "| agent | its file |", servers_table),
)


def table_in(text: str, head: str) -> tuple[int, int]:
    """Where the rows of the table with this head are."""
    start = text.index("\n", text.index("\n", text.index(head)) + 1) + 1
    end = start
    while text.startswith("|", end):
        end = text.index("\n", end) + 1
    return start, end


def written_for_you(name: str) -> dict[str, str]:
    """What `interpose install` writes in the home /home/you, where no file of this agent is: text by path."""
    plain = {key: value for key, value in os.environ.items() if key not in VARIABLES}
    with mock.patch.dict(os.environ, {**plain, "HOME": "/home/you"}, clear=True):
        plan = plan_install(target_of(HOSTS[name].facts, "user", Path("/home/you")), load())
    package = Path(interpose.__file__).parent
    return {
        str(change.path): (change.after or b"").decode()
        .replace(sys.executable, f"{ENVIRONMENT}/bin/python")
        .replace(str(package), f"{ENVIRONMENT}/lib/python3.13/site-packages/interpose")
        for change in plan.changes
    }  # fmt: skip


def file_shown(name: str) -> str:
    """The file of a host as its page shows it; of scripts any of them, as they are the same."""
    place = target_of(HOSTS[name].facts, "user", Path("/home/you"), {"HOME": "/home/you"}).path
    texts = {text for path, text in written_for_you(name).items() if Path(path).is_relative_to(place)}
    (text,) = texts
    return text


def new_page(name: str) -> str:
    """The page of a host that has none: everything that follows from its file. The rest is for its author."""
    return "\n".join(_page_lines(HOSTS[name].facts)) + "\n"


def _page_lines(facts: HostFacts) -> Iterator[str]:
    yield from (f"# {facts.title}", "", "TODO: what happens with a question, a rewrite and a result.", "")
    yield from ("## What holds", "", "| | |", "|---|---|")
    yield _row("known from", f"{_KNOWN[facts.evidence]} (`{facts.evidence}`)")
    for what, events in (
        ("asks a person in", facts.asks), ("runs rewritten arguments in", facts.rewrites),
        ("shows replaced results in", facts.replaces),
    ):  # fmt: skip
        yield _row(what, ", ".join(f"`{event}`" for event in events) or "no")
    yield from ("", "Calls still run unasked on:", "", *(f"- {each}" for each in facts.setup.opens_on))
    yield from ("", "## Modes", "", "| mode | its events say | what it makes of `ask` | what we answer | known from |")
    yield from ("|---|---|---|---|---|", "| any | nothing | has no such word | refused, waits in our queue | TODO |")
    yield from ("", "## Where its hooks are", "")
    for file in facts.setup.files:
        moved = f" (`{file.moved_by}` moves `{file.root}`)" if file.moved_by else ""
        yield f"- {file.scope}: `{file.path}`{moved}"
    if facts.setup.afterwards:
        yield from ("", facts.setup.afterwards)
    if facts.setup.layout in SHOWN_LAYOUTS:
        yield from ("", "The file as `interpose install` writes it for the home `/home/you`, where there was none:", "")
        yield from ("```json", file_shown(facts.name).rstrip("\n"), "```")


def main() -> None:
    """Write all of it."""
    for name, head, rows in TABLES:
        text = (DOCS / name).read_text(encoding="utf-8")
        start, end = table_in(text, head)
        written = "".join(f"{row}\n" for row in rows())
        (DOCS / name).write_text(text[:start] + written + text[end:], encoding="utf-8")
    for name in HOST_NAMES:
        page = DOCS / "agents" / f"{name}.md"
        text = page.read_text(encoding="utf-8") if page.exists() else new_page(name)
        if (shown := FILE_BLOCK.search(text)) and HOSTS[name].facts.setup.layout in SHOWN_LAYOUTS:
            text = text[: shown.start(1)] + file_shown(name) + text[shown.end(1) :]
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
