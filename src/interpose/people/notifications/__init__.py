"""Telling people of questions where they are: channels, what is written, when, and links by which they answer."""

# What other rooms may import: modules, named and not imported, so that each is loaded by who needs it.
__all__ = ["channel_answers", "links", "notifier", "standing"]
