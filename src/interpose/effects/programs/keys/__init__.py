"""Programs that keep secrets and keys."""
