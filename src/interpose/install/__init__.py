"""Hooks in other programs' files: put there without touching anything else, taken out again to the byte, examined."""

# What other rooms may import: modules, named and not imported, so that each is loaded by who needs it.
__all__ = [
    "advice",
    "apply",
    "believed_files",
    "doctor",
    "last_heard",
    "places",
    "plan",
    "records",
    "removal",
    "running_agents",
    "situation",
    "unguarded",
]
