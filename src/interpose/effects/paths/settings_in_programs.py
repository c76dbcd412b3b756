"""Settings of agents in the text of a program: how languages spell such a place, and calls that change files."""

from __future__ import annotations

import re

from interpose.effects.agents.known_agents import AGENTS
from interpose.effects.late_patterns import late


def _named_in_programs(pattern: str) -> str:
    """How a program spells a place: whole, or part by part in a call that joins them."""
    parts = [re.escape(part) for part in pattern.replace("%20", " ").strip("/").split("/")]
    return r"[^\w\n]{1,12}".join(parts)


_SETTINGS_IN_PROGRAMS = late(
    r"(?i)(?<![\w.])(?:"
    + "|".join(
        sorted(
            {
                _named_in_programs(pattern)
                for agent in AGENTS
                for pattern in (*agent.settings, *agent.servers, *agent.in_home)
            }
        )
    )
    + r")"
)
_CHANGING_CALLS = late(
    r"(?i)(?:write|unlink|remov|renam|delet|trunc|replac|cop(?:y|ies)|symlink|chmod|chown|rmtree|spurt|put_?contents)"
    r"|\b(?:spit|save|move|mv|rm|dump|outfile|link|output)\b|\bopen\b[^\n]{0,200}['\"](?:[wax]b?\+?|r\+b?)['\"]"
    r"|\.text\s{0,4}=(?!=)"
)
"""Names of calls that change files, in whatever language."""


def changes_settings(text: str) -> bool:
    """Whether a program names the settings of an agent and calls something that changes files."""
    return _SETTINGS_IN_PROGRAMS.search(text) is not None and _CHANGING_CALLS.search(text) is not None
