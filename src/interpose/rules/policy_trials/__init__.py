"""Trying rules out: case files and examples, lint, what each rule says about one call, and the page of variables.

For people who write rules. No decision about a call stands on this room.
"""

# What other rooms may import: modules, named and not imported, so that each is loaded by who needs it.
