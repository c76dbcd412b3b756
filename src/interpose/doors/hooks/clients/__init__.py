"""The programs that agents start or load, and what they need when no server answers."""

# What other rooms may import: modules, named and not imported, so that each is loaded by who needs it.
__all__ = [
    "child_process",
    "client_files",
    "fail_open_log",
    "on_demand",
    "plugins",
    "programs",
    "questions",
    "remote_desk",
]
