"""A lean HTTP/1.1 client. It knows nothing of Interpose, and goes nowhere that it was not told to go."""

# What other rooms may import: modules, named and not imported, so that each is loaded by who needs it.
__all__ = ["addresses", "client", "connection", "event_stream", "exchanges"]
