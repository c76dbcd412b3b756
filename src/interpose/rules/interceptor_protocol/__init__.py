"""The interceptor protocol of MCP (SEP-1763, SEP-2624): its words, its chain, what plugins offer, and who is asked.

descriptors   what an interceptor says of itself, in all generations of the wire; the current one is written
invocations   what it is asked, and what it says
chains        the order in which interceptors are asked, and what counts      (the normative part of the proposal)
offering      interceptors of plugins that `interpose mcp interceptor-server` offers
remote_*      interceptors of other programs, as steps of our pipeline
"""

# What other rooms may import: modules, named and not imported, so that each is loaded by who needs it.
__all__ = ["chains", "descriptors", "invocations", "offering", "remote_steps"]
