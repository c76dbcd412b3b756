"""The MCP gateway: agents on one side, MCP servers on the other, and every call through the one pipeline.

links         a peer and its frames, and the two eras of the protocol   (knows nothing of Interpose)
servers       which server a request is for, and how each is kept running
clients       who asks, over which transport, in which conversation
calls         what is judged: gate, server, gate, and every question on the way
gate          what is asked before a request is passed on, and after    (the engine; knows nothing of links)
gateway       all servers, all clients
opening       all of it put together from a configuration
pins          what a server showed when it was first trusted            (knows nothing of links)
interceptors  our pipeline for clients that speak the interceptor protocol
"""

__all__ = ["clients", "interceptors", "opening"]
