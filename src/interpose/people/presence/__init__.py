"""Who answers proves to be no agent: by their terminal, a passphrase, a one-time code, or as another user."""

# What other rooms may import: modules, named and not imported, so that each is loaded by who needs it.
__all__ = ["agents", "callers", "passphrase", "processes", "proof", "terminal"]
