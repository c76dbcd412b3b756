"""AG2. See docs/frameworks/ag2.md."""

from interpose.surfaces.frameworks.ag2 import InterposeTurn, guard

__all__ = ["InterposeTurn", "guard"]
