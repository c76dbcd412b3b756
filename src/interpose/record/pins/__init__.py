"""Pins: what an MCP server showed when it was trusted. What it shows later is held until a person says yes.

definitions     what is compared: everything that a server says of a tool, in one exact form
oddities        what is odd about it: hidden text, orders to the model, names that look like others
pinned_server   what is known of one server, and what a listing or a person makes of it
pin_files       where that is kept, so that a change by anybody else shows
pin_desk        all of it: what the gateway asks, and what people say
"""

# What other rooms may import: modules, named and not imported, so that each is loaded by who needs it.
__all__ = [
    "definitions",
    "differences",
    "hidden_text",
    "oddities",
    "pin_desk",
    "pin_files",
    "pin_rows",
    "pinned_server",
]
