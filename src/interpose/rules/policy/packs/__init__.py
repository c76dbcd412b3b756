"""The packs: ready policies that are switched on by name."""
