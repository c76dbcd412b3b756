"""An HTTP/1.1 server. It knows nothing of Interpose: routes are handed to it."""

# What other rooms may import: modules, named and not imported, so that each is loaded by who needs it.
__all__ = ["json_body", "listener", "listener_state", "messages", "query", "tokens", "trust"]
