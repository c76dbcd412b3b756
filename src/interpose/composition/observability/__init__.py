"""What a running server tells those who operate it: its log, its traces, its numbers."""

# What other rooms may import: modules, named and not imported, so that each is loaded by who needs it.
__all__ = ["program_log", "telemetry", "trace_context"]
