"""Configuration: the model, where it is looked for, and how it is put together."""

# What other rooms may import: modules, named and not imported, so that each is loaded by who needs it.
__all__ = [
    "builtins",
    "gateway",
    "gateway_oauth",
    "gateway_servers",
    "ledger",
    "load",
    "notifications",
    "places",
    "problems",
    "proxy",
    "remote_interceptors",
    "render",
    "server_variables",
    "settings",
    "waiting_times",
]
