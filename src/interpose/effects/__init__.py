"""What a call would do: text in, effects out. This floor imports nothing else of Interpose: see its README.md.

The names of this module are for programs that use the analysis alone; the other floors ask the rooms.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in `typing`, without importing it

if TYPE_CHECKING:
    from interpose.effects.shell import Analysis, analyse
    from interpose.effects.values import Certainty, Effect, EffectKind

__all__ = ["Analysis", "Certainty", "Effect", "EffectKind", "analyse"]


def __getattr__(name: str) -> object:
    """Imported when it is asked for: a hook that only needs a path must not load a parser."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    home = "shell" if name in ("Analysis", "analyse") else "values"
    return getattr(import_module(f"{__name__}.{home}"), name)
