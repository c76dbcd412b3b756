"""The pages of the documentation, which come with the program: what there is, and where. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

_PARTS = ("", "agents", "frameworks")
"""Where pages are that users read. Others, about decisions and releases, are for those who have the repository."""


def pages_directory() -> Path:
    """Where the pages are: in the package, or in the checkout that it runs from."""
    package = Path(__file__).parents[3]
    checkout = package.parents[1]
    is_checkout = not (package / "docs").is_dir() and (checkout / "pyproject.toml").is_file()
    return (checkout if is_checkout else package) / "docs"


def topics() -> dict[str, Path]:
    """The pages by topic: those about all agents and all frameworks are called so, others by their file."""
    found = [path for part in _PARTS for path in sorted((pages_directory() / part).glob("*.md"))]
    return {topic_of(path): path for path in found}


def topic_of(path: Path) -> str:
    """How a page is called."""
    return (path.parent.name if path.stem == "README" else path.stem).replace("_", "-")


def meant_topic(word: str) -> str:
    """The topic that is meant by a word, be it the name of the page's file."""
    name = word.lower().rpartition("/")[2].removesuffix(".md").replace("_", "-")
    return word.lower().rstrip("/").split("/")[-2] if name == "readme" and "/" in word else name


def title_of(path: Path) -> str:
    """The heading of a page."""
    with path.open(encoding="utf-8") as lines:
        return next(lines, "").removeprefix("# ").strip().replace("`", "")


def listing() -> str:
    """All topics with their titles, for people."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    found = topics()
    width = max(map(len, found), default=0) + 2
    yield "usage: interpose help TOPIC"
    for part in _PARTS:
        yield ""
        yield {"": "Pages", "agents": "Agents", "frameworks": "Agent frameworks"}[part]
        for topic, path in found.items():
            if path.parent == pages_directory() / part:
                yield f"  {topic:{width}} {title_of(path)}"
    yield ""
    yield "interpose --help lists the verbs, interpose VERB --help says everything about one."
