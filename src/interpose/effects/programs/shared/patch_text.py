"""What a patch changes, whichever program applies it."""

from __future__ import annotations

import posixpath

from interpose.effects.invocation import Lowering, Stream
from interpose.effects.patches import patched


def apply_text(text: Stream, low: Lowering, directory: str = "", strip: int = 0) -> None:
    """Change the files that a patch names. Which names are meant is not always clear: all that may be are judged."""
    for file in patched(text.text or ""):
        shorter = file.path.split("/", strip)[-1] if not file.path.startswith("/") else file.path
        for path in dict.fromkeys((file.path, shorter)):
            place = posixpath.join(directory, path)
            if file.kind == "delete":
                low.delete(place)
            else:
                low.write(place, Stream(file.added, text.taints), in_place=file.kind == "edit")
