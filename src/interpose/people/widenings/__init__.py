"""Kinds of calls: what one call could be widened to without becoming another thing, and whether a call is of a kind.

offered_kinds   the narrowest sensible widenings of a call, from its effects
counted_places  which numbers of a command name a thing, and which say how much
covering        whether a call is of a kind: its text but for one place, and every one of its effects
effect_words    what effects are, in words for people
"""

# Modules, named and not imported: few calls are ever asked about.
__all__ = ["covering", "effect_words", "kind_values", "offered_kinds"]
