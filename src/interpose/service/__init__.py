"""Everything behind a surface: one engine for each place, one ledger, one queue of questions."""
