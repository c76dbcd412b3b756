"""A peer and its frames: over pipes, HTTP or a stream of events. Knows nothing of Interpose."""
