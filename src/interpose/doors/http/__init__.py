"""The decision server: HTTP/1.1 on a loopback port and a Unix socket."""

# What other rooms may import: modules, named and not imported, so that each is loaded by who needs it.
__all__ = [
    "all_routes", "answering", "deciding", "figures", "governed_sessions", "incoming", "metrics",
    "operation_routes", "playground", "proving",
]  # fmt: skip
