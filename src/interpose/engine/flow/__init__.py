"""THE FLOW: one call from question to record, whoever runs it."""

# What other rooms may import: modules, named and not imported, so that each is loaded by who needs it.
__all__ = [
    "command_records",
    "governing",
    "handed_over",
    "hosted",
    "observing",
    "pending_calls",
    "refused_calls",
    "run_flow",
    "run_parts",
    "status_lines",
    "streamed_calls",
    "wire_log",
]
