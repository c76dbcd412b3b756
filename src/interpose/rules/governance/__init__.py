"""Roles, sessions, first tools, delegation, scopes, chains, stalls and budgets: who may do what, when, and how much."""

# What other rooms may import: modules, named and not imported, so that each is loaded by who needs it.
__all__ = [
    "book_notes",
    "budgets",
    "bypasses",
    "checkpoints",
    "durations",
    "governance_log",
    "governing_rules",
    "governor",
    "halts",
    "load",
    "memory_sessions",
    "outcomes",
    "report",
    "role_check",
    "role_uses",
    "rulebook",
    "rulebooks",
    "rulings",
    "session_keeper",
    "session_keys",
    "session_views",
    "sessions",
]
