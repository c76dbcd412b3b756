"""AI rules: a judge that reads what rules can't say."""

# What the rest of the policy may import: modules, named and not imported, so that each is loaded by who needs it.
__all__ = ["interceptor", "judge"]
