"""What is known of coding agents: a data file for each that has hooks, one for the others, and tables made of them.

`agent.py` is the schema and reads the files. Nothing that names an agent is written elsewhere, but for the codecs of
`surfaces/hosts`, for those whose hooks speak otherwise than others'.
"""

# What other rooms may import: modules, named and not imported, so that each is loaded by who needs it.
__all__ = ["agent", "hook_times", "known_agents", "off_flags", "off_variables", "switch_reader"]
