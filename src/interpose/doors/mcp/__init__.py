"""The MCP gateway: agents on one side, MCP servers on the other, and every call through the one pipeline.

links       a peer and its frames: stdio, streamable HTTP, SSE         (knows nothing of Interpose)
eras        what the handshake era and the modern era say differently  (knows nothing of Interpose)
routing     which server a request is for, under which name            (server__name)
calls       what is judged: gate, server, gate, and every question on the way
gateway     all servers (supervised_server), all clients (conversation)
opening     all of it put together from a configuration
gate        what is asked before a request is passed on, and after     (the engine; knows nothing of links)
pins        what a server showed when it was first trusted             (knows nothing of links)
interceptor our pipeline for clients that speak the interceptor protocol
"""

__all__ = [
    "http_serving",
    "interceptor_methods",
    "interceptor_pipeline",
    "interceptor_serving",
    "opening",
    "stdio_client",
]
