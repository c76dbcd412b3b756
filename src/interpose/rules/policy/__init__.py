"""Policies: rule files that are checked and compiled when they are loaded, and decide as one interceptor."""

# What other rooms may import: modules, named and not imported, so that each is loaded by who needs it.
__all__ = [
    "compiled",
    "evaluate",
    "examples",
    "file_format",
    "interceptor",
    "load",
    "own_rules",
    "pack_catalogue",
    "parsing",
    "reload",
    "rule_file_trust",
    "rule_places",
    "rules",
    "standing_answers",
    "startup_memory",
    "variables",
]
