"""Hooks in other programs' files: put there without touching anything else, taken out again to the byte, examined."""

# What other rooms may import: modules, named and not imported, so that each is loaded by who needs it.
__all__ = [
    "advice",
    "apply",
    "believed_files",
    "doctor",
    "found_agents",
    "gateway_plan",
    "host_version",
    "last_heard",
    "mcp_files",
    "own_environment",
    "own_places",
    "places",
    "plan",
    "records",
    "remedies",
    "removal",
    "running_agents",
    "situation",
    "summary",
    "unguarded",
    "unheard_sessions",
]
