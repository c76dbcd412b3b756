"""The variables by which agents are told where their model is: read where the proxy starts, and set for its agent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from interpose.doors.proxy.upstreams import Upstream

VARIABLES: Mapping[str, tuple[str, ...]] = {
    "anthropic": ("ANTHROPIC_BASE_URL",),
    "openai": ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
    "gemini": ("GOOGLE_GEMINI_BASE_URL",),
    "azure": ("AZURE_OPENAI_ENDPOINT",),
    "copilot": ("COPILOT_PROVIDER_BASE_URL",),
}
"""By the name of the server: the first that is set says where it is, and all are set for the agent."""

BYPASSES = (
    "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY", "GOOGLE_GENAI_USE_VERTEXAI",
    "GOOGLE_GENAI_USE_GCA",
)  # fmt: skip
"""Variables that send an agent to another API than it has an address of ours for."""

_NO_PROXY = ("NO_PROXY", "no_proxy")


def addresses_from(
    flags: Mapping[str, str], configured: Mapping[str, str], environ: Mapping[str, str]
) -> dict[str, str]:
    """Where each model is: as the command line says, the configuration, the variables, or everybody's address."""
    from interpose.doors.proxy.upstreams import DEFAULTS

    told: dict[str, str] = {}
    for name, variables in VARIABLES.items():
        found = next((environ[variable] for variable in variables if environ.get(variable)), "")
        if found:
            told[name] = found
    return {**DEFAULTS, **told, **configured, **flags}


def exports(address: str, upstreams: Mapping[str, Upstream]) -> dict[str, str]:
    """The variables that lead to us."""
    return {
        variable: one.local(address) for name, one in upstreams.items() for variable in VARIABLES.get(name, ())
    }  # fmt: skip


def environment_for(environ: Mapping[str, str], address: str, upstreams: Mapping[str, Upstream]) -> dict[str, str]:
    """What an agent under the proxy is given: a proxy for the web must not stand between it and us."""
    past = {name: ",".join(filter(None, (environ.get(name, ""), "127.0.0.1"))) for name in _NO_PROXY}
    return {**environ, **past, **exports(address, upstreams)}
