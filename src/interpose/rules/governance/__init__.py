"""Roles, sessions, first tools, delegation, scopes, chains, stalls and budgets: who may do what, when, and how much."""

# What other rooms may import: modules, named and not imported, so that each is loaded by who needs it.
__all__ = [
    "budgets",
    "files",
    "governance_log",
    "governing_rules",
    "governor",
    "report",
    "roles",
    "rulings",
    "sessions",
]
