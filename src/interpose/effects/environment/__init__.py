"""The environment that the running guard is in: what it is made of, whose it is, and whether it is as it was installed.

Nothing here is loaded for an ordinary call. `paths` asks when a path leads into the environment, `install` and `doctor`
ask for people.
"""

# What other rooms may import: modules, named and not imported, so that each is loaded by who needs it.
__all__ = ["facts", "protected", "unrecorded", "verified"]
