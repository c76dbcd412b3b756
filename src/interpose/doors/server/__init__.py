"""The server process: the API and the hooks' listener over one service, its signals and its alarms."""

# What other rooms may import: modules, named and not imported, so that each is loaded by who needs it.
__all__ = ["decision_server"]
